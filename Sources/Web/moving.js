// The media of a call that moves to another server: a second connection is made while the call goes on as it is, and the
// session is told once that one has picture and sound. The script comes while the line has room, or with the first move: it
// imports nothing of the call's, so that both stay one file.

const LOOK_EVERY = 50;
// Packets of audio after which it plays: the browser's buffer then has some.
const ENOUGH_PACKETS = 5;
// How long there may be sound and no picture: on a narrow line the server sends a still every few seconds.
const PICTURE_WITHIN = 3000;
// How long a call with picture and sound waits for the others of the room, as the largest part of the time for the move;
// and for the media of the last one. Those that change over together miss nobody.
const COMPANY_WITHIN = 3000, COMPANY_SHARE = 1 / 3, SETTLING = 300;

export class Successor {
  /// `socket`: the number of `signalling` in the call's session. `within`: the seconds until the server ends the present
  /// connection.
  /** @param {import('./call.js').Call} call @param {number} socket @param {import('./signalling.js').Signalling} signalling @param {number} within */
  constructor(call, socket, signalling, within) {
    this.call = call;
    this.socket = socket;
    this.signalling = signalling;
    this.within = within;
    this.people = call.makePeople();
    /// Who should be there before the call changes over.
    this.missing = new Set(call.people.list.map(({ id }) => id).filter(id => id !== call.id));
    /** @type {import('./connection.js').Connection | null} */
    this.connection = null;
    this.channel = null;
    /** @type {HTMLVideoElement | null} */
    this.preview = null;
    /// Has read once, so that its next reading shows figures.
    /** @type {import('./line.js').Line | null} */
    this.line = null;
    this.isOver = this.hasPicture = false;
  }

  arrived(kind, message) {
    if (kind === 'participantsChanged') this.people.change(message);
    else this.people.take(message);
    for (const { id } of this.people.list) this.missing.delete(id);
    this.call.choice.arrived(this.signalling, id => Boolean(this.people.find(id))).forEach(each => this.signalling.send(each));
  }

  /// A new connection, to a server that has said what the room is like there.
  async prepare(message) {
    const { call, signalling } = this;
    this.drop();
    this.arrived('participants', message);
    call.choice.restore(message, signalling).forEach(each => signalling.send(each));
    const connection = this.connection = call.makeConnection(signalling, message.iceServers ?? []);
    if (call.connection) call.connection.successor = connection;
    this.channel = call.channel.make(connection.pc);
    connection.addEventListener('remote', () => this.show());
    call.sendState(signalling);
    await connection.offer();
    await this.wait(connection);
  }

  async answered({ sdp }) {
    const { connection, call } = this;
    try {
      await connection?.answered(sdp);
    } catch {
      return call.act(call.session.nextFailed(this.socket));
    }
    if (!connection?.owesScreen) return;
    // The call may have changed over meanwhile.
    call.sendPresent(this.signalling);
    connection.owesScreen = false;
  }

  /// Browsers decode a picture that some element shows.
  show() {
    if (!this.connection) return;
    this.preview ??= Object.assign(document.createElement('video'), { muted: true, playsInline: true });
    this.preview.srcObject = this.connection.remote;
    this.preview.play().catch(() => {});
    this.preview.requestVideoFrameCallback?.(() => { this.hasPicture = true; });
  }

  /// Tells the session once picture and sound come, and the others of the room are there.
  async wait(connection) {
    const isOver = () => this.isOver || connection !== this.connection;
    const until = async (condition, limit = Infinity) => {
      const started = performance.now();
      while (!isOver() && performance.now() < started + limit && !await condition()) await pause(LOOK_EVERY);
    };
    await until(async () => (await connection.received()).packets >= ENOUGH_PACKETS);
    if (this.call.data !== 'audio') await until(async () => this.hasPicture || (await connection.received()).pictures > 0, PICTURE_WITHIN);
    if (this.missing.size) {
      await until(() => !this.missing.size, Math.min(COMPANY_WITHIN, this.within * 1000 * COMPANY_SHARE));
      await until(() => false, SETTLING);
    }
    const line = this.call.makeLine(connection.pc);
    if (!isOver()) await line.read();
    if (isOver()) return;
    this.line = line;
    this.call.act(this.call.session.flowing(this.socket));
  }

  /// What there is of a connection is the call's from now on.
  finish() {
    this.isOver = true;
    if (this.preview) this.preview.srcObject = null;
  }

  drop() {
    if (this.call.connection) this.call.connection.successor = null;
    this.connection?.close();
    this.connection = null;
    this.hasPicture = false;
  }

  /// Gives up. The seat there ends by itself: the ticket of a seat that was left is good for nothing any more.
  close() {
    this.finish();
    this.signalling.close();
    this.drop();
  }
}

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
