// @ts-nocheck
// What the page's scripts use of a browser, with the time in the test's hands: sockets, connections, devices and timers.

let now = 0, timers = [], number = 0;
export const sockets = [], connections = [];
/// How long a device takes to open, ms; null: it is refused. `made`, `screens`: the tracks of all that have been opened.
export const devices = { delay: 0, made: [], screens: [] };
/// What is at the other end of the sockets: `accepts(socket)`, `received(socket, message)`, `closed(socket)`; null: the test
/// itself.
export const network = { server: null };

export const clock = () => now;

/// Nothing is left of what was before.
export function reset() {
  timers = [];
  sockets.length = connections.length = devices.made.length = devices.screens.length = 0;
}

/// Lets time pass, and with it what waits for it.
export async function pass(milliseconds) {
  const end = now + milliseconds;
  for (;;) {
    // All that was promised meanwhile.
    await new Promise(setImmediate);
    let next = null;
    for (const one of timers) if (one.at <= end && (!next || one.at < next.at || (one.at === next.at && one.id < next.id))) next = one;
    if (!next) break;
    now = next.at;
    if (next.every === null) timers = timers.filter(one => one !== next);
    else next.at += next.every;
    next.act();
  }
  now = end;
}

const start = (act, after, every) => {
  number += 1;
  timers.push({ id: number, at: now + (after ?? 0), every, act });
  return number;
};
const stop = id => { timers = timers.filter(one => one.id !== id); };
globalThis.setTimeout = (act, after) => start(act, after, null);
globalThis.setInterval = (act, every) => start(act, every, every);
globalThis.clearTimeout = globalThis.clearInterval = stop;
Math.random = () => 0.5;
Object.defineProperty(globalThis, 'performance', { value: { now: clock }, configurable: true });

class Track extends EventTarget {
  constructor(kind) { super(); Object.assign(this, { kind, enabled: true, isStopped: false, muted: false }); }
  stop() { this.isStopped = true; }
  /// The device is unplugged.
  unplug() {
    this.isStopped = true;
    this.onended?.();
  }
  /// The system gives nothing of the device, or gives it again.
  pause(isPaused) {
    this.muted = isPaused;
    if (isPaused) this.onmute?.();
    else this.onunmute?.();
  }
  getSettings() { return {}; }
}

globalThis.MediaStream = class {
  constructor(tracks = []) { this.tracks = [...tracks]; }
  getTracks() { return [...this.tracks]; }
  getAudioTracks() { return this.tracks.filter(({ kind }) => kind === 'audio'); }
  getVideoTracks() { return this.tracks.filter(({ kind }) => kind === 'video'); }
  addTrack(track) { if (!this.tracks.includes(track)) this.tracks.push(track); }
  removeTrack(track) { this.tracks = this.tracks.filter(one => one !== track); }
};

globalThis.WebSocket = class {
  static OPEN = 1;
  constructor() {
    Object.assign(this, { readyState: 0, sent: [] });
    sockets.push(this);
    setTimeout(() => {
      if (this.readyState !== 0) return;
      if (network.server && !network.server.accepts(this)) return this.dies();
      this.readyState = 1;
      this.onopen?.();
    }, 5);
  }
  send(text) {
    const message = JSON.parse(text);
    this.sent.push(message);
    network.server?.received(this, message);
  }
  close() {
    this.readyState = 3;
    network.server?.closed(this);
  }
  says(message) { this.onmessage?.({ data: JSON.stringify(message) }); }
  dies() { this.readyState = 3; this.onclose?.(); }
  /// The last message of a type that the page has sent.
  last(type) { return this.sent.filter(message => message.type === type).at(-1); }
};

const leaves = track => Boolean(track?.enabled && !track.isStopped && !track.muted);

globalThis.RTCPeerConnection = class {
  constructor() {
    Object.assign(this, { signalingState: 'stable', connectionState: 'new', senders: [] });
    connections.push(this);
  }
  addTransceiver(track) {
    const sender = {
      track: typeof track === 'string' ? null : track, getParameters: () => ({}), setParameters: async () => {},
      replaceTrack: async next => {
        if (this.signalingState === 'closed') throw new Error('The connection is closed.');
        sender.track = next;
      },
    };
    this.senders.push(sender);
    return { sender, direction: '' };
  }
  getTransceivers() { return []; }
  getConfiguration() { return this.configuration ?? {}; }
  setConfiguration(configuration) { this.configuration = configuration; }
  createDataChannel() { return { readyState: 'open', send() {} }; }
  async createOffer() { return { sdp: 'offer' }; }
  async setLocalDescription(description) {
    this.localDescription = description;
    this.signalingState = 'have-local-offer';
  }
  async setRemoteDescription() {
    Object.assign(this, { signalingState: 'stable', connectionState: 'connected' });
    this.onconnectionstatechange?.();
    for (const kind of ['audio', 'video']) this.ontrack?.({ track: new Track(kind) });
  }
  async getStats() {
    const count = this.connectionState === 'connected' ? 9 : 0;
    const received = { type: 'inbound-rtp', packetsReceived: count, bytesReceived: count, packetsLost: 0, framesDecoded: count };
    return new Map(['audio', 'video'].map(kind => [kind, { ...received, kind }]));
  }
  close() { Object.assign(this, { signalingState: 'closed', connectionState: 'closed' }); }
  /// What leaves by microphone and camera: sound and pictures.
  get leaving() { return this.connectionState === 'closed' ? '' : this.senders.slice(0, 2).map(({ track }) => (leaves(track) ? track.kind : '')).filter(Boolean).join(' '); }
  /// Whether a screen leaves.
  get isSharing() { return this.connectionState !== 'closed' && leaves(this.senders[2]?.track); }
};

const getUserMedia = async ({ audio }) => {
  const { delay } = devices;
  await new Promise(done => setTimeout(done, delay ?? 0));
  if (delay === null) throw Object.assign(new Error('no'), { name: 'NotAllowedError' });
  const track = new Track(audio ? 'audio' : 'video');
  devices.made.push(track);
  return new MediaStream([track]);
};
const getDisplayMedia = async () => {
  await new Promise(done => setTimeout(done, devices.delay ?? 0));
  if (devices.delay === null) throw Object.assign(new Error('no'), { name: 'NotAllowedError' });
  const track = new Track('video');
  devices.screens.push(track);
  return new MediaStream([track]);
};
Object.defineProperty(globalThis, 'navigator', { value: { mediaDevices: { getUserMedia, getDisplayMedia } }, configurable: true });
const page = new EventTarget();
globalThis.addEventListener = page.addEventListener.bind(page);
globalThis.removeEventListener = page.removeEventListener.bind(page);
globalThis.dispatchEvent = page.dispatchEvent.bind(page);
globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'visible', createElement: () => ({ play: async () => {} }) });
globalThis.CustomEvent ??= class extends Event { constructor(type, { detail }) { super(type); this.detail = detail; } };
