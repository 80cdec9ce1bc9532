// The signalling socket: JSON objects both ways, with automatic reconnection. `SignallingState` decides; this has the
// socket and the timers.

import { SignallingState } from './signalling-state.js';

export { retryDelay } from './signalling-state.js';

/// How long a socket waits for a join, ms: the server closes it after half a minute.
const FRESH = 20_000;
/// The socket that was opened ahead of a join.
/** @type {{ url: string, socket: WebSocket, since: number } | null} */
let ahead = null;

/// Opens a socket that the next call to this address finds open: for who is about to join. One in this time, however often
/// the user moves, and whatever became of it.
/** @param {string} url */
export function openAhead(url) {
  if (ahead?.url === url && performance.now() - ahead.since < FRESH) return;
  ahead?.socket.close();
  ahead = { url, socket: new WebSocket(url), since: performance.now() };
}

/** @param {string} url */
function takeAhead(url) {
  const found = ahead;
  ahead = null;
  if (found?.url === url && found.socket.readyState <= WebSocket.OPEN && performance.now() - found.since < FRESH) return found.socket;
  found?.socket.close();
  return new WebSocket(url);
}

export class Signalling extends EventTarget {
  /// `join` is the first message, without its type; `url` the address of /signal. `seat`: the signalling whose seat this
  /// one takes over; it ends where it does not get the seat.
  constructor(url, join, seat = null) {
    super();
    this.url = url;
    this.join = join;
    this.state = new SignallingState({ seat });
    /// The offer that goes with the first join; null: none.
    /** @type {Promise<string | null> | null} */
    this.proposal = null;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.timers = new Map();
    this.online = () => this.act(this.state.online());
    addEventListener('online', this.online);
  }

  get id() { return this.state.id; }
  get resume() { return this.state.resume; }
  get joined() { return this.state.isJoined; }

  open() { this.act(this.state.open()); }
  doubt() { this.act(this.state.doubt()); }
  reopen() { this.act(this.state.reopen()); }

  /// Messages that stay valid wait for the socket; offers and candidates (`isLasting` false) do not.
  send(message, isLasting = true) { this.act(this.state.send(message, isLasting)); }

  /// Ends the seat.
  leave() { this.act(this.state.close({ leave: true })); }

  /// Keeps the seat as long as the socket lasts, and does not come back.
  retire() { this.act(this.state.retire()); }

  close() { this.act(this.state.close()); }

  /** @param {import('./signalling-state.js').Action[]} actions */
  act(actions) {
    for (const action of actions) {
      if (action.type === 'connect') this.connect();
      else if (action.type === 'drop') this.drop();
      else if (action.type === 'join') this.enter(action.resume);
      else if (action.type === 'send') this.write(action.message);
      else if (action.type === 'timer') this.set(action.name, action.after);
      else this.dispatchEvent(new CustomEvent(action.event, { detail: action.detail }));
    }
    if (this.state.isClosed) removeEventListener('online', this.online);
  }

  connect() {
    const socket = this.socket = takeAhead(this.url);
    socket.onopen = () => this.act(this.state.opened());
    if (socket.readyState === WebSocket.OPEN) queueMicrotask(() => socket.onopen?.(new Event('open')));
    socket.onmessage = ({ data }) => this.act(this.state.heard(JSON.parse(data)));
    socket.onclose = () => this.act(this.state.lost());
  }

  async enter(resume) {
    const { socket, proposal } = this;
    this.proposal = null;
    const offer = resume ? null : await proposal;
    // Another socket joins by itself.
    if (socket === this.socket) this.write({ type: 'join', ...this.join, ...(resume && { resume }), ...(offer && { offer }) });
  }

  drop() {
    if (!this.socket) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
  }

  write(message) { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message)); }

  set(name, after) {
    clearTimeout(this.timers.get(name));
    if (after !== null) this.timers.set(name, setTimeout(() => this.act(this.state.timer(name)), after));
  }
}
