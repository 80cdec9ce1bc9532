// The signalling socket: JSON objects both ways, and a connection that comes back by itself.

const RETRY_DELAYS = [300, 1000, 2000, 4000, 8000];

export class Signalling extends EventTarget {
  /// `join` is the first message, without its type; `url` the address of /signal.
  constructor(url, join) {
    super();
    this.url = url;
    this.join = join;
    this.resume = null;
    this.attempt = 0;
    this.closed = false;
    this.queue = [];
  }

  open() {
    clearTimeout(this.timer);
    this.socket = new WebSocket(this.url);
    this.joined = false;
    this.socket.onopen = () => {
      this.socket.send(JSON.stringify({ type: 'join', ...this.join, ...(this.resume ? { resume: this.resume } : {}) }));
    };
    this.socket.onmessage = ({ data }) => this.receive(JSON.parse(data));
    this.socket.onclose = () => this.lost();
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
    if (message.type === 'error' && !this.joined && this.resume) {
      // The seat is gone: join afresh, with a new connection.
      this.resume = null;
      this.socket.send(JSON.stringify({ type: 'join', ...this.join }));
      return;
    }
    if (message.type === 'left' || (message.type === 'error' && message.fatal)) this.closed = true;
    this.emit(message.type, message);
  }

  lost() {
    if (this.closed) return;
    const delay = RETRY_DELAYS[Math.min(this.attempt, RETRY_DELAYS.length - 1)];
    this.attempt += 1;
    this.emit('lost', { attempt: this.attempt });
    this.timer = setTimeout(() => this.open(), delay);
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.joined && this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (this.queue.length < 200) this.queue.push(text);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
