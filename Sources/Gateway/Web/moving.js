// A call that moves to another server: it goes on as it is while a second connection is made, and changes over once that
// one has picture and sound.

import { Line } from './line.js';
import { People } from './people.js';
import { Signalling } from './signalling.js';

// The clients of a room begin within this time, each at another moment.
const SPREAD = 500;
const LOOK_EVERY = 50;
// Packets of audio after which it plays: the browser's buffer then has some.
const ENOUGH_PACKETS = 5;
// How long there may be sound and no picture: on a narrow line the server sends a still every few seconds.
const PICTURE_WITHIN = 3000;
// How long a call with picture and sound waits for the others of the room, as the largest part of the time for the move;
// and for the media of the last one. Those that change over together miss nobody.
const COMPANY_WITHIN = 3000, COMPANY_SHARE = 1 / 3, SETTLING = 300;
// How much later than announced the server may end the old connection.
const GRACE = 2000;
// Messages of the new server that wait for the change.
const MAX_HELD = 1000;

export class Successor {
  /// `within`: the seconds until the server ends the present connection. `call` is told by `call.changeOver` that this one
  /// takes the call over, or by `call.stay` that it cannot.
  constructor(call, within) {
    this.call = call;
    this.within = within;
    this.held = [];
    this.people = new People();
    /// Who should be there before the call changes over.
    this.missing = new Set(call.people.list.map(({ id }) => id).filter(id => id !== call.id));
    this.connection = this.welcome = this.preview = null;
    this.isOver = false;
    this.signalling = new Signalling(call.signalling.url, call.signalling.join, call.signalling);
    this.opening = setTimeout(() => this.signalling.open(), Math.random() * Math.min(SPREAD, within * 100));
    this.deadline = setTimeout(() => this.fail(), within * 1000 + GRACE);
  }

  /// A message of the new server.
  receive(type, message) {
    if (type === 'joined') this.joined(message);
    else if (type === 'answer') this.answered(message.sdp);
    else if (type === 'left' || (type === 'error' && (message.fatal || !this.welcome))) this.fail();
    else if (type !== 'lost' && this.held.length < MAX_HELD) {
      this.held.push({ type, message });
      if (type === 'participants') this.arrived(() => this.people.take(message));
      if (type === 'participantsChanged') this.arrived(() => this.people.change(message));
    }
  }

  arrived(change) {
    change();
    for (const { id } of this.people.list) this.missing.delete(id);
    this.call.payPicture(this.signalling, this.people);
  }

  async joined(message) {
    const { call } = this;
    if (message.resumed && this.connection) return this.connection.resumed();
    // The server that has the call has it still: nothing moves, and the seat is this socket's now.
    if (message.resumed) return call.keep(this, message);
    this.drop();
    this.welcome = message;
    this.held = [];
    this.arrived(() => this.people.take(message));
    call.restorePicture(message, this.signalling);
    const connection = this.connection = call.makeConnection(this.signalling, message.iceServers ?? []);
    call.connection.successor = connection;
    this.channel = call.channel.make(connection.pc);
    connection.addEventListener('remote', () => this.show());
    call.sendState(this.signalling);
    this.owesScreen = Boolean(call.sending.screen);
    await connection.offer();
    await this.wait(connection);
  }

  async answered(sdp) {
    try {
      await this.connection?.answered(sdp);
    } catch {
      return this.fail();
    }
    if (this.owesScreen && !this.isOver) this.call.sendPresent(this.signalling);
    this.owesScreen = false;
  }

  /// Browsers decode a picture that some element shows.
  show() {
    this.preview ??= Object.assign(document.createElement('video'), { muted: true, playsInline: true });
    this.preview.srcObject = this.connection.remote;
    this.preview.play().catch(() => {});
    this.preview.requestVideoFrameCallback?.(() => { this.hasPicture = true; });
  }

  /// Changes over once picture and sound come, and the others of the room are there.
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
    // Its first reading, so that the next one shows figures at once.
    const line = new Line(connection.pc);
    if (!isOver()) await line.read();
    if (!isOver()) this.call.changeOver(this, { line, isSeamless: true });
  }

  fail() { if (!this.isOver) this.call.stay(this); }

  /// Ends the timers; what there is of a connection is the call's from now on.
  finish() {
    this.isOver = true;
    clearTimeout(this.opening);
    clearTimeout(this.deadline);
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
