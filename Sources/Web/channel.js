// Reactions and files between pages, over one data channel that the server relays by its label. The server does not say
// who sent a message, so `from` is what the sender claims; only participants of the room are believed.

const LABEL = 'tessera.page';
// The sizes and rates that this module sends, and takes.
export const MAX_FILE_BYTES = 8 << 20;
const PART_BYTES = 16_384 - 16;
// 128 KiB a second: a receiver gets the parts at the pace of its line, and the server queues 1 MiB for it at most.
const PART_EVERY = 125;
const MAX_NAME = 120;
// Files that come in at once, and for how long a part may be missing.
const MAX_INCOMING = 4;
const PART_TIMEOUT = 20_000;
// Files that are kept for the user, the oldest removed first.
const MAX_KEPT = 8;
// Reactions a second that are shown, of all participants together.
const MAX_REACTIONS = 10;
export const REACTIONS = ['👍', '👏', '❤️', '😂', '😮', '🎉'];

export class Channel {
  /** @param {import('./call.js').Call} call */
  constructor(call) {
    this.call = call;
    /// The data channel that sends, and those whose messages are taken: two while the call moves to another server.
    this.channel = null;
    this.heard = new Set();
    this.incoming = new Map();
    this.kept = [];
    this.reactions = [];
    this.isSending = false;
  }

  open(pc) { this.take(this.make(pc)); }

  /// The data channel of a connection, whose messages are taken at once; `take` sends by it.
  make(pc) {
    const channel = pc.createDataChannel(LABEL);
    this.heard.add(channel);
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }) => {
      if (!this.heard.has(channel)) return;
      if (typeof data === 'string') this.told(data);
      else this.part(new Uint8Array(data));
    };
    // The server closes the channel of who reads too slowly. Files that were on their way are lost.
    channel.onclose = () => {
      if (channel !== this.channel || pc.signalingState === 'closed') return;
      for (const id of [...this.incoming.keys()]) this.drop(id);
      this.open(pc);
    };
    return channel;
  }

  take(channel) {
    this.channel = channel;
    this.heard = new Set([channel]);
  }

  close() {
    this.channel = null;
    this.heard.clear();
    for (const file of this.incoming.values()) clearTimeout(file.timer);
    this.incoming.clear();
    this.kept.splice(0).forEach(url => URL.revokeObjectURL(url));
  }

  get isOpen() { return this.channel?.readyState === 'open'; }

  // ---- Reactions

  react(reaction) {
    if (!REACTIONS.includes(reaction) || !this.isOpen) return;
    this.channel.send(JSON.stringify({ reaction, from: this.call.id }));
    this.show(this.call.id, reaction);
  }

  show(from, reaction) {
    const now = performance.now();
    this.reactions = this.reactions.filter(at => at > now - 1000);
    if (this.reactions.length >= MAX_REACTIONS) return;
    this.reactions.push(now);
    this.call.emit('reaction', { from, reaction });
  }

  told(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (!message || !this.call.people.find(message.from) || message.from === this.call.id) return;
    if (REACTIONS.includes(message.reaction)) this.show(message.from, message.reaction);
    else if (message.file) this.announced(message.from, message.file);
  }

  // ---- Files: an announcement, then parts of 16 bytes of id and the content

  /// Sends a file to everyone in the room. Returns false where it is too large or another is on its way.
  async sendFile(file) {
    if (file.size > MAX_FILE_BYTES || !file.size || this.isSending || !this.isOpen) return false;
    this.isSending = true;
    const { channel } = this;
    const id = crypto.getRandomValues(new Uint8Array(8)).reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '');
    const name = file.name.slice(-MAX_NAME);
    const head = new TextEncoder().encode(id);
    const report = (progress, url) => this.call.emit('file', { id, from: this.call.id, name, bytes: file.size, progress, url });
    try {
      const content = new Uint8Array(await file.arrayBuffer());
      channel.send(JSON.stringify({ file: { id, name, bytes: content.length }, from: this.call.id }));
      for (let at = 0; at < content.length; at += PART_BYTES) {
        const part = content.subarray(at, at + PART_BYTES);
        const message = new Uint8Array(16 + part.length);
        message.set(head);
        message.set(part, 16);
        while (channel.bufferedAmount > 4 * PART_BYTES) await pause();
        channel.send(message);
        report((at + part.length) / content.length, at + part.length === content.length ? this.keep(content) : null);
        await pause();
      }
      return true;
    } catch {
      report(null);
      return true;
    } finally {
      this.isSending = false;
    }
  }

  announced(from, { id, name, bytes }) {
    if (typeof id !== 'string' || !/^[0-9a-f]{16}$/.test(id) || this.incoming.has(id) || this.incoming.size >= MAX_INCOMING) return;
    if (!Number.isInteger(bytes) || bytes < 1 || bytes > MAX_FILE_BYTES || typeof name !== 'string') return;
    const file = { id, from, name: name.slice(-MAX_NAME), bytes, content: new Uint8Array(bytes), length: 0 };
    this.incoming.set(id, file);
    this.report(file, 0);
    this.expect(file);
  }

  part(message) {
    const id = String.fromCharCode(...message.subarray(0, 16)), file = this.incoming.get(id), content = message.subarray(16);
    if (!file) return;
    if (file.length + content.length > file.bytes) return this.drop(id);
    file.content.set(content, file.length);
    file.length += content.length;
    if (file.length < file.bytes) {
      this.report(file, file.length / file.bytes);
      return this.expect(file);
    }
    clearTimeout(file.timer);
    this.incoming.delete(id);
    this.report(file, 1, this.keep(file.content));
  }

  expect(file) {
    clearTimeout(file.timer);
    file.timer = setTimeout(() => this.drop(file.id), PART_TIMEOUT);
  }

  drop(id) {
    const file = this.incoming.get(id);
    clearTimeout(file.timer);
    this.incoming.delete(id);
    this.report(file, null);
  }

  /// `progress`: 0 to 1; null: the file is lost. `url`: of the whole file.
  report({ id, from, name, bytes }, progress, url = null) { this.call.emit('file', { id, from, name, bytes, progress, url }); }

  /// The address of a file for this page alone. Its type is that of unknown bytes, so that no browser runs it.
  keep(content) {
    const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
    this.kept.push(url);
    if (this.kept.length > MAX_KEPT) URL.revokeObjectURL(this.kept.shift());
    return url;
  }
}

const pause = () => new Promise(resolve => setTimeout(resolve, PART_EVERY));
