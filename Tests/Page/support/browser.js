// @ts-nocheck
// What the page's scripts use of a browser, with the time in the test's hands: sockets, connections, devices and timers.

let now = 0, timers = [], number = 0;
export const sockets = [], connections = [];
/// How long a device takes to open, ms; null: it is refused.
export const devices = { delay: 0 };

/// Lets time pass, and with it what waits for it.
export async function pass(milliseconds) {
  const end = now + milliseconds;
  for (;;) {
    // All that was promised meanwhile.
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.id - b.id)[0];
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

class Track extends EventTarget {
  constructor(kind) { super(); Object.assign(this, { kind, enabled: true, isStopped: false }); }
  stop() { this.isStopped = true; }
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
    setTimeout(() => { if (this.readyState === 0) { this.readyState = 1; this.onopen?.(); } }, 5);
  }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; }
  says(message) { this.onmessage?.({ data: JSON.stringify(message) }); }
  dies() { this.readyState = 3; this.onclose?.(); }
  /// The last message of a type that the page has sent.
  last(type) { return this.sent.filter(message => message.type === type).at(-1); }
};

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
  get leaving() { return this.connectionState === 'closed' ? '' : this.senders.map(({ track }) => (track?.enabled && !track.isStopped ? track.kind : '')).filter(Boolean).join(' '); }
};

const getUserMedia = async ({ audio }) => {
  const { delay } = devices;
  await new Promise(done => setTimeout(done, delay ?? 0));
  if (delay === null) throw Object.assign(new Error('no'), { name: 'NotAllowedError' });
  return new MediaStream([new Track(audio ? 'audio' : 'video')]);
};
Object.defineProperty(globalThis, 'navigator', { value: { mediaDevices: { getUserMedia } }, configurable: true });
const page = new EventTarget();
globalThis.addEventListener = page.addEventListener.bind(page);
globalThis.removeEventListener = page.removeEventListener.bind(page);
globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'visible', createElement: () => ({ play: async () => {} }) });
globalThis.CustomEvent ??= class extends Event { constructor(type, { detail }) { super(type); this.detail = detail; } };
