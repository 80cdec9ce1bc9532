// Runs in the web client before its own scripts. The camera is a colour and the microphone a tone; the times of the shown frames and the levels
// of the played tones are recorded, whichever connection they come from. Times are in ms of the epoch.
(() => {
  const { colour, tone, tones } = window.WATCHED;
  const now = () => performance.timeOrigin + performance.now();
  const remote = new WeakSet(), elements = new Set(), sources = new Map();
  const watched = window.watched = { frames: [], levels: [], received: [], connections: [], messages: [], problems: [], meter: null };

  addEventListener('error', event => watched.problems.push(event.message));
  addEventListener('unhandledrejection', event => watched.problems.push(String(event.reason)));

  const NativeSocket = WebSocket;
  window.WebSocket = class extends NativeSocket {
    constructor(...all) {
      super(...all);
      this.addEventListener('message', ({ data }) => watched.messages.push({ at: now(), ...JSON.parse(data), socket: this }));
      this.addEventListener('close', ({ code }) => watched.messages.push({ at: now(), socket: this, type: 'closed', code }));
    }
  };

  const NativeConnection = RTCPeerConnection;
  window.RTCPeerConnection = class extends NativeConnection {
    constructor(...all) {
      super(...all);
      watched.connections.push(this);
      this.addEventListener('track', ({ track }) => { remote.add(track); attach(); });
    }
  };

  // The camera.
  const cameraTrack = () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 }), draw = canvas.getContext('2d');
    let count = 0;
    const paint = () => {
      draw.fillStyle = `rgb(${colour})`;
      draw.fillRect(0, 0, 320, 180);
      draw.fillStyle = '#fff';
      draw.fillRect(count++ * 8 % 304, 0, 16, 16);
    };
    paint();
    setInterval(paint, 66);
    return canvas.captureStream(15).getVideoTracks()[0];
  };
  const toneTrack = () => {
    const out = context.createMediaStreamDestination();
    const oscillator = new OscillatorNode(context, { frequency: tone });
    oscillator.connect(new GainNode(context, { gain: 0.2 })).connect(out);
    oscillator.start();
    return out.stream.getAudioTracks()[0];
  };
  const runs = async () => {
    const deadline = performance.now() + 2000;
    while (context.state !== 'running' && performance.now() < deadline) await new Promise(resolve => setTimeout(resolve, 20));
    return context.state === 'running';
  };
  const native = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async ({ audio, video }) => {
    const stream = new MediaStream();
    if (video) stream.addTrack(cameraTrack());
    if (audio && await runs()) stream.addTrack(toneTrack());
    // Without a sound card Firefox runs no audio context; its fake microphone has the tone.
    else if (audio) stream.addTrack((await native({ audio: { autoGainControl: false, echoCancellation: false, noiseSuppression: false } })).getAudioTracks()[0]);
    return stream;
  };

  // The picture: the frames of each remote video that is in the page and visible.
  const watchFrames = video => {
    const onFrame = () => {
      if (video.isConnected && video.checkVisibility()) watched.frames.push(now());
      video.requestVideoFrameCallback(onFrame);
    };
    video.requestVideoFrameCallback(onFrame);
  };
  const source = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, 'srcObject');
  Object.defineProperty(HTMLMediaElement.prototype, 'srcObject', {
    ...source,
    set(stream) {
      source.set.call(this, stream);
      if (!elements.has(this) && this instanceof HTMLVideoElement && this.id !== 'self-video' && this.id !== 'preview') watchFrames(this);
      elements.add(this);
      attach();
    },
  });

  // The sound: the remote tracks that some element plays now go through the meter.
  const context = new AudioContext({ sampleRate: 48000 });
  context.resume();
  const METER = `registerProcessor('meter', class extends AudioWorkletProcessor {
    constructor({ processorOptions }) {
      super();
      this.tones = processorOptions.tones;
      this.block = new Float32Array(960);
      this.count = 0;
    }
    process([input]) {
      const samples = input[0] ?? new Float32Array(128);
      for (const sample of samples) {
        this.block[this.count++] = sample;
        if (this.count === 960) {
          this.port.postMessage([currentTime, ...this.tones.map(tone => this.level(tone))]);
          this.count = 0;
        }
      }
      return true;
    }
    level(tone) {
      let real = 0, imaginary = 0;
      for (let i = 0; i < 960; i++) {
        const weight = 1 - Math.cos(2 * Math.PI * i / 960), angle = 2 * Math.PI * tone * i / sampleRate;
        real += this.block[i] * weight * Math.cos(angle);
        imaginary += this.block[i] * weight * Math.sin(angle);
      }
      return Math.hypot(real, imaginary) / 480;
    }
  });`;
  // How far (ms) the clock of the sound is behind that of the page: on a busy machine it stands still at times. Of the last second.
  const lately = [];
  let lag = 0;
  const startMeter = async () => {
    await context.audioWorklet.addModule(URL.createObjectURL(new Blob([METER], { type: 'text/javascript' })));
    const meter = new AudioWorkletNode(context, 'meter', { processorOptions: { tones } });
    // The least difference is that of the message that came fastest.
    let offset = Infinity;
    meter.port.onmessage = ({ data: [at, ...levels] }) => {
      const difference = now() - at * 1000;
      offset = Math.min(offset, difference);
      lately.push(difference);
      if (lately.length > 50) lately.shift();
      lag = Math.min(...lately) - offset;
      watched.levels.push([at * 1000 + offset, ...levels]);
    };
    meter.connect(new GainNode(context, { gain: 0 })).connect(context.destination);
    watched.meter = meter;
    attach();
  };
  if (context.audioWorklet) startMeter().catch(error => watched.problems.push(`meter: ${error}`));
  const attach = () => {
    if (!watched.meter) return;
    const played = new Set([...elements].filter(element => !element.muted && !element.paused && element.srcObject)
      .flatMap(element => element.srcObject.getAudioTracks()).filter(track => remote.has(track)));
    for (const [track, node] of sources) {
      if (played.has(track)) continue;
      node.disconnect();
      sources.delete(track);
    }
    for (const track of played) {
      if (sources.has(track)) continue;
      const node = context.createMediaStreamSource(new MediaStream([track]));
      node.connect(watched.meter);
      sources.set(track, node);
    }
  };
  setInterval(attach, 20);

  // Where there is no meter: the times at which a connection has received sound since the last look.
  const counts = new WeakMap();
  setInterval(async () => {
    for (const connection of watched.connections.filter(each => each.connectionState === 'connected')) {
      for (const entry of (await connection.getStats()).values()) {
        if (entry.type !== 'inbound-rtp' || entry.kind !== 'audio') continue;
        const real = entry.totalSamplesReceived - entry.concealedSamples, before = counts.get(connection) ?? 0;
        counts.set(connection, real);
        if (real - before > 4000) watched.received.push(now());
      }
    }
  }, 200);

  /// The time since which the times follow each other without a longer gap; null: they have ended.
  const run = (times, limit, end = now()) => {
    if (!times.length || end - times.at(-1) > limit) return null;
    let i = times.length - 1;
    while (i > 0 && times[i] - times[i - 1] <= limit) i -= 1;
    return times[i];
  };
  /// The times of the blocks in which all these tones are played.
  const heard = wanted => watched.meter
    ? watched.levels.filter(([, ...levels]) => wanted.every(each => levels[tones.indexOf(each)] > 0.02)).map(([at]) => at) : watched.received;
  const last = type => watched.messages.findLast(message => message.type === type);

  watched.state = wanted => {
    const joined = last('joined');
    return {
      id: joined?.you.id ?? null, name: joined?.you.name, role: joined?.you.role, joins: watched.messages.filter(({ type }) => type === 'joined').length,
      tiles: (watched.messages.findLast(({ type, socket }) => type === 'tiles' && socket === joined?.socket)?.tiles ?? []).map(tile => tile.participant), joinedAt: joined?.at ?? null,
      chat: (joined?.chat ?? []).map(({ text }) => text),
      line: last('line') && { ...last('line'), socket: undefined }, picture: run(watched.frames, 1000), sound: run(heard(wanted), watched.meter ? 400 : 1000, now() - lag), problems: watched.problems,
    };
  };
  /// The longest gaps in ms of the picture and of these tones since then.
  watched.gaps = (since, wanted) => {
    const longest = (times, end) => {
      const inside = [since, ...times.filter(at => at > since), Math.max(since, end)];
      return Math.max(...inside.slice(1).map((at, i) => at - inside[i]));
    };
    return [longest(watched.frames, now()), longest(heard(wanted), now() - lag)];
  };
})();
