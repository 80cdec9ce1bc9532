// @ts-nocheck
// A server with one room, as far as `/signal` is concerned: seats with tickets, a waiting room, moves between two nodes,
// restarts. It answers as Signalling.md says, and knows what it was told.

import { clock, sockets } from './browser.js';

const SEAT_KEPT = 15_000;

export class World {
  constructor() {
    this.isUp = true;
    /// Whether tickets are good at another node, or after a restart.
    this.isCluster = false;
    /// anyone or moderator.
    this.admits = 'anyone';
    this.isRecorded = false;
    this.node = 0;
    this.seats = [];
    this.waiting = new Set();
    /// The ids of tickets that are good for nothing.
    this.void = new Set();
    this.ids = 0;
    this.answerDelay = 5;
    /// The node is new enough to answer the offer of a join.
    this.answersJoins = true;
    /// The next node refuses who comes.
    this.refusesMoves = false;
  }

  /// The seat of the page at the node that has the room.
  get seat() { return this.seats.findLast(({ node, socket }) => node === this.node && socket?.readyState === 1) ?? null; }
  get isWaiting() { return [...this.waiting].some(({ readyState }) => readyState === 1); }

  // ---- What sockets tell

  accepts() { return this.isUp; }

  closed(socket) {
    this.waiting.delete(socket);
    for (const seat of this.seats) if (seat.socket === socket) Object.assign(seat, { socket: null, lostAt: clock() });
  }

  received(socket, message) {
    if (!this.isUp || socket.readyState !== 1) return;
    this.expire();
    const seat = this.seats.find(one => one.socket === socket);
    switch (message.type) {
      case 'join': return this.join(socket, message);
      case 'offer':
        if (!seat) return;
        seat.hasMedia = true;
        return this.says(socket, { type: 'answer', sdp: '' }, this.answerDelay);
      case 'state':
        if (seat) Object.assign(seat, { audio: message.audio, video: message.video });
        return;
      case 'present':
        if (seat) seat.isPresenting = message.on;
        return;
      case 'leave':
        this.waiting.delete(socket);
        if (seat) this.end(seat);
        if (seat?.node === this.node) this.void.add(seat.id);
        return;
      case 'ping': return this.says(socket, { type: 'pong' });
      default:
    }
  }

  join(socket, { resume, offer }) {
    if (!resume) return this.admits === 'anyone' ? this.enter(socket, this.answersJoins && Boolean(offer)) : this.wait(socket);
    const seat = this.seats.find(({ id, node }) => id === resume.id && node === this.node);
    if (seat) {
      if (seat.socket && seat.socket !== socket) {
        this.says(seat.socket, { type: 'left', reason: 'replaced' });
        seat.socket.goes = true;
      }
      Object.assign(seat, { socket, lostAt: null });
      return this.welcome(seat, !seat.hasMedia);
    }
    const isElsewhere = this.seats.some(({ id }) => id === resume.id);
    if (!this.isCluster || this.void.has(resume.id) || (isElsewhere && this.refusesMoves)) {
      return this.says(socket, { type: 'error', code: 'unauthorized', message: 'join anew', fatal: false });
    }
    this.sit(socket, resume.id);
  }

  wait(socket) {
    this.waiting.add(socket);
    this.says(socket, { type: 'waiting' });
  }

  enter(socket, answers = false) {
    this.ids += 1;
    this.sit(socket, `p${this.ids}`, answers);
  }

  sit(socket, id, answers = false) {
    const role = this.seats.find(seat => seat.id === id)?.role ?? 'participant';
    const seat = { id, socket, node: this.node, role, hasMedia: answers, audio: null, video: null, isPresenting: false, lostAt: null };
    this.seats.push(seat);
    if (answers) this.says(socket, { type: 'answer', sdp: '' });
    this.welcome(seat, true, answers ? this.answerDelay : 2);
  }

  welcome({ id, role, socket }, fresh, after = 2) {
    this.says(socket, {
      type: 'joined', room: 'r', you: { id, role, resume: { id, secret: 's' } }, ...(fresh ? { fresh } : {}), participants: [{ id }], layout: 'grid', view: 'main',
      scope: 'room', pin: [], chat: [], settings: {}, ...(this.isRecorded ? { willRecord: true } : {}),
    }, after);
  }

  says(socket, message, after = 2) { setTimeout(() => { if (socket.readyState === 1) socket.says(message); }, after); }

  // ---- What happens

  /// Seats end whose sockets were lost, and old ones of rooms that have moved away.
  expire() { for (const seat of [...this.seats]) if (seat.lostAt !== null && clock() - seat.lostAt > SEAT_KEPT) this.end(seat); }

  end(seat) { this.seats.splice(this.seats.indexOf(seat), 1); }

  cut() { for (const socket of [...sockets]) if (socket.readyState === 1) { this.closed(socket); socket.dies(); } }

  stop() {
    this.isUp = false;
    this.cut();
    this.seats.length = 0;
    this.waiting.clear();
  }

  start() { this.isUp = true; }

  /// The room moves to another node.
  move(within) {
    const old = this.node;
    this.node += 1;
    for (const seat of this.seats.filter(({ node, socket }) => node === old && socket)) {
      this.says(seat.socket, { type: 'moving', within });
      setTimeout(() => {
        if (!this.seats.includes(seat)) return;
        this.end(seat);
        if (seat.socket?.readyState === 1) seat.socket.says({ type: 'left', reason: 'moved' });
      }, within * 1000);
    }
  }

  /// The node that has the room ends, before anybody is at the next one.
  die() {
    this.node += 1;
    for (const seat of [...this.seats]) {
      this.end(seat);
      if (seat.socket?.readyState === 1) this.says(seat.socket, { type: 'left', reason: 'moved' }, 0);
    }
  }

  admit() {
    for (const socket of this.waiting) if (socket.readyState === 1) this.enter(socket);
    this.waiting.clear();
  }

  refuse() {
    for (const socket of this.waiting) this.says(socket, { type: 'error', code: 'refused', message: 'no', fatal: true });
    this.waiting.clear();
  }

  tell(message) { if (this.seat) this.says(this.seat.socket, message); }

  remove() {
    const { seat } = this;
    if (!seat) return;
    this.void.add(seat.id);
    this.end(seat);
    this.says(seat.socket, { type: 'left', reason: 'removed' });
  }

  mute() {
    if (!this.seat) return;
    this.seat.audio = false;
    this.tell({ type: 'muted', by: 'h' });
  }

  stopScreen() {
    if (!this.seat) return;
    this.seat.isPresenting = false;
    this.tell({ type: 'asked', action: 'stopScreen', by: 'h' });
  }

  role(role) {
    if (!this.seat) return;
    this.seat.role = role;
    if (role === 'viewer') this.seat.isPresenting = false;
    this.tell({ type: 'role', role });
  }
}
