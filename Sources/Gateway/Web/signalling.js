// The signalling socket: JSON objects both ways, with automatic reconnection.

// The longest times before the first attempt to come back, before the next one, and before any; and after a move, where
// the other server waits already.
const FIRST_RETRY = 300, SECOND_RETRY = 1000, LAST_RETRY = 5000, MOVED_RETRY = 500;
// The time for a socket to open, and for the first message after that: a join may wait five seconds for its turn.
const OPEN_WITHIN = 6000, REOPEN_WITHIN = 2500;
const ANSWER_WITHIN = 15000;
// The time for a sign of life of a server in doubt.
const SIGN_WITHIN = 2000;
// Reasons of `left` after which the client may join again at once, and those after which another server has the seat.
const COMES_BACK = ['moved', 'draining', 'timeout', 'failed'], KEEPS_SEAT = ['moved', 'draining'];
// Errors after which a later join may succeed.
const COMES_AGAIN = ['too_fast', 'overloaded'];

/// The milliseconds before an attempt to come back, of which `attempt` failed. The clients of a lost server have lost it
/// at the same moment, and any part of the time is as likely, so that they do not come back at the same moment.
export const retryDelay = (attempt, random = Math.random()) => random * (attempt ? Math.min(SECOND_RETRY * 2 ** (attempt - 1), LAST_RETRY) : FIRST_RETRY);

export class Signalling extends EventTarget {
  /// `join` is the first message, without its type; `url` the address of /signal. `seat`: the signalling whose seat this
  /// one takes over; it ends where it does not get the seat.
  constructor(url, join, seat = null) {
    super();
    this.url = url;
    this.join = join;
    this.id = seat?.id;
    this.resume = seat?.resume ?? null;
    this.needsSeat = Boolean(seat);
    /// The connection for media is of no use to the next server, even if that has media of this seat: a move that failed
    /// may have left some there.
    this.mustBegin = false;
    this.attempt = 0;
    this.closed = false;
    this.joined = false;
    this.queue = [];
    this.online = () => { if (!this.joined) this.reopen(); };
    addEventListener('online', this.online);
  }

  open() {
    clearTimeout(this.timer);
    this.joined = false;
    const socket = this.socket = new WebSocket(this.url);
    // Who is in a call tries soon again: the machine that should answer may be gone.
    this.expect(this.resume ? Math.min(OPEN_WITHIN, REOPEN_WITHIN * (1 + this.attempt)) : OPEN_WITHIN);
    socket.onopen = () => {
      this.expect(ANSWER_WITHIN);
      socket.send(JSON.stringify({ type: 'join', ...this.join, ...(this.resume ? { resume: this.resume } : {}) }));
    };
    socket.onmessage = ({ data }) => {
      clearTimeout(this.patience);
      this.trust();
      this.receive(JSON.parse(data));
    };
    socket.onclose = () => this.lost();
  }

  /// Gives the socket up where nothing comes of it in time: a server that is down may answer nothing at all.
  expect(milliseconds) {
    clearTimeout(this.patience);
    this.patience = setTimeout(() => { this.drop(); this.lost(); }, milliseconds);
  }

  /// Asks for a sign of life; any message is one. Without it a new socket takes this one's place: sockets of dead machines
  /// stay open.
  doubt() {
    if (!this.joined || this.doubts) return;
    this.doubts = setTimeout(() => { this.trust(); this.reopen(); }, SIGN_WITHIN);
    this.send({ type: 'ping' }, false);
  }

  trust() {
    clearTimeout(this.doubts);
    this.doubts = null;
  }

  drop() {
    this.trust();
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
  }

  /// Replaces a socket that seems dead by a new one at once.
  reopen() {
    if (this.closed || !this.socket) return;
    this.drop();
    this.open();
  }

  receive(message) {
    if (message.type === 'joined') {
      // In the same seat all may be as it was, or (`fresh`) the server has only the ticket and no connection for media.
      const isSameSeat = Boolean(this.resume) && message.you.id === this.id;
      const resumed = isSameSeat && !message.fresh && !this.mustBegin;
      this.mustBegin = false;
      this.id = message.you.id;
      this.resume = message.you.resume ?? null;
      this.joined = true;
      this.attempt = 0;
      this.emit('joined', { ...message, resumed, isSameSeat });
      for (const text of this.queue.splice(0)) this.socket.send(text);
      return;
    }
    // An older server knows no `ping`, and says so.
    if (message.type === 'pong' || (message.code === 'bad_message' && / ping;/.test(message.message))) return;
    if (message.type === 'error' && !this.joined && (COMES_AGAIN.includes(message.code) || (this.resume && message.retryAfter))) {
      this.wait = message.retryAfter ?? 2;
      this.socket.close();
      return;
    }
    if (message.type === 'error' && !this.joined && this.resume) {
      // The seat has ended: join again, with a new connection.
      this.resume = null;
      if (this.needsSeat) {
        this.close();
        return this.emit('error', message);
      }
      this.expect(ANSWER_WITHIN);
      this.socket.send(JSON.stringify({ type: 'join', ...this.join }));
      return;
    }
    if (message.type === 'left' && COMES_BACK.includes(message.reason)) {
      if (!KEEPS_SEAT.includes(message.reason)) this.resume = null;
      this.hasMoved = message.reason === 'moved';
      this.mustBegin = true;
      this.drop();
      this.lost();
      return;
    }
    if (message.type === 'left' || (message.type === 'error' && message.fatal)) this.closed = true;
    this.emit(message.type, message);
  }

  lost() {
    clearTimeout(this.patience);
    this.trust();
    this.joined = false;
    if (this.closed) return;
    const delay = this.wait ? this.wait * 1000 * (1 + Math.random()) : this.hasMoved ? Math.random() * MOVED_RETRY : retryDelay(this.attempt);
    this.attempt += 1;
    const [wait, hasMoved] = [this.wait ? delay / 1000 : null, this.hasMoved];
    this.wait = this.hasMoved = null;
    this.emit('lost', { attempt: this.attempt, wait, hasMoved });
    if (!this.closed) this.timer = setTimeout(() => this.open(), delay);
  }

  /// Messages that stay valid wait for the socket; offers and candidates (`isLasting` false) do not.
  send(message, isLasting = true) {
    const text = JSON.stringify(message);
    if (this.joined && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (isLasting && this.queue.length < 200) this.queue.push(text);
  }

  /// Ends the seat.
  leave() {
    this.send({ type: 'leave' }, false);
    this.close();
  }

  /// Keeps the seat as long as the socket lasts, and does not come back.
  retire() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  close() {
    this.closed = true;
    this.joined = false;
    this.trust();
    clearTimeout(this.timer);
    clearTimeout(this.patience);
    removeEventListener('online', this.online);
    this.socket?.close();
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
