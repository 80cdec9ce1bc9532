// The signalling socket: JSON objects both ways, with automatic reconnection.

// However long the server was away, the page is back soon after it: within 2.3 s, with the random part.
const RETRY_DELAYS = [300, 1000, 1500];
// The time for a socket to open, and for the first message after that: a join may wait five seconds for its turn.
const OPEN_WITHIN = 6000;
const ANSWER_WITHIN = 15000;
// Reasons of `left` after which the client may join again at once.
const COMES_BACK = ['draining', 'timeout', 'failed'];
// Errors after which a later join may succeed.
const COMES_AGAIN = ['too_fast', 'overloaded'];

export class Signalling extends EventTarget {
  /// `join` is the first message, without its type; `url` the address of /signal.
  constructor(url, join) {
    super();
    this.url = url;
    this.join = join;
    this.resume = null;
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
    this.expect(OPEN_WITHIN);
    socket.onopen = () => {
      this.expect(ANSWER_WITHIN);
      socket.send(JSON.stringify({ type: 'join', ...this.join, ...(this.resume ? { resume: this.resume } : {}) }));
    };
    socket.onmessage = ({ data }) => {
      clearTimeout(this.patience);
      this.receive(JSON.parse(data));
    };
    socket.onclose = () => this.lost();
  }

  /// Gives the socket up where nothing comes of it in time: a server that is down may answer nothing at all.
  expect(milliseconds) {
    clearTimeout(this.patience);
    this.patience = setTimeout(() => { this.drop(); this.lost(); }, milliseconds);
  }

  drop() {
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
      const resumed = Boolean(this.resume) && message.you.id === this.id;
      this.id = message.you.id;
      this.resume = message.you.resume ?? null;
      this.joined = true;
      this.attempt = 0;
      this.emit('joined', { ...message, resumed });
      for (const text of this.queue.splice(0)) this.socket.send(text);
      return;
    }
    if (message.type === 'error' && !this.joined && COMES_AGAIN.includes(message.code)) {
      this.wait = message.retryAfter ?? 2;
      this.socket.close();
      return;
    }
    if (message.type === 'error' && !this.joined && this.resume) {
      // The seat has ended: join again, with a new connection.
      this.resume = null;
      this.expect(ANSWER_WITHIN);
      this.socket.send(JSON.stringify({ type: 'join', ...this.join }));
      return;
    }
    if (message.type === 'left' && COMES_BACK.includes(message.reason)) {
      this.resume = null;
      this.socket.close();
      return;
    }
    if (message.type === 'left' || (message.type === 'error' && message.fatal)) this.closed = true;
    this.emit(message.type, message);
  }

  lost() {
    clearTimeout(this.patience);
    this.joined = false;
    if (this.closed) return;
    // A random part, so that the clients of a lost server do not all reconnect at the same moment.
    const delay = this.wait
      ? this.wait * 1000 * (1 + Math.random())
      : RETRY_DELAYS[Math.min(this.attempt, RETRY_DELAYS.length - 1)] * (0.5 + Math.random());
    this.attempt += 1;
    const wait = this.wait ? delay / 1000 : null;
    this.wait = null;
    this.emit('lost', { attempt: this.attempt, wait });
    if (!this.closed) this.timer = setTimeout(() => this.open(), delay);
  }

  /// Messages that stay valid wait for the socket; offers and candidates (`isLasting` false) do not.
  send(message, isLasting = true) {
    const text = JSON.stringify(message);
    if (this.joined && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (isLasting && this.queue.length < 200) this.queue.push(text);
  }

  close() {
    this.closed = true;
    this.joined = false;
    clearTimeout(this.timer);
    clearTimeout(this.patience);
    removeEventListener('online', this.online);
    this.socket?.close();
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
