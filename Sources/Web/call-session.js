// One call as a value: what its signalling sockets tell goes in, actions come out. It keeps the call across lost
// sockets, waiting rooms, dead servers and moves. It has no socket, connection, timer, clock or element: `Call` does what
// it says.
//
// Sockets have numbers that only grow. The connection for media belongs to the call, and in a move the next socket has one
// of its own until it takes over.

// Refused joins, since many come in at once, after which the user is told.
const PATIENCE = 10;
// How long after a move the others come one by one, ms.
const ALL_ARE_BACK = 15_000;
// The longest time that a server may give for a move, s; and how much later it may end the old connection, ms.
const LONGEST_MOVE = 120, GRACE = 2000;
// The clients of a room begin to move within this time, each at another moment, ms.
const SPREAD = 500;
// How much longer than it needs it the call keeps the old connection, for the others who have not changed over yet, ms.
const LINGER = 1500;
// Messages of the new server that wait for the change, and of the old one that wait for its failure.
const MAX_HELD = 1000;
// Messages that wait for the change and are no ordinary ones.
const DECIDING = ['moving', 'error'];

/**
 * @typedef {any} Message
 * @typedef {'joining' | 'waiting' | 'call' | 'refused' | 'ended'} Place
 * @typedef {{ number: number, isOpen: boolean, welcome: Message | null, held: { kind: string, message: Message }[] }} Next
 * @typedef {'begin' | 'deadline' | 'linger' | 'allAreBack'} Timer
 * @typedef {{ type: 'open', socket: number, takesSeat: boolean, within: number }
 *   | { type: 'connect', socket: number } | { type: 'retire', socket: number } | { type: 'close', socket: number }
 *   | { type: 'leave', socket: number }
 *   | { type: 'welcome', socket: number, message: Message, isBack: boolean, restores: boolean }
 *   | { type: 'begin', socket: number, message: Message, isFirst: boolean }
 *   | { type: 'goOn', socket: number, message: Message }
 *   | { type: 'silence' }
 *   | { type: 'take', kind: string, message: Message, isQuiet: boolean }
 *   | { type: 'history', message: Message }
 *   | { type: 'prepare', socket: number, message: Message }
 *   | { type: 'resumeNext' } | { type: 'answerNext', message: Message } | { type: 'arriveNext', kind: string, message: Message }
 *   | { type: 'use', socket: number, message: Message | null, isSeamless: boolean }
 *   | { type: 'giveUpNext', socket: number, mustBegin: boolean }
 *   | { type: 'closeOldMedia' } | { type: 'allAreBack' }
 *   | { type: 'timer', name: Timer, after: number | null }
 *   | { type: 'emit', event: string, detail?: any }
 *   | { type: 'refuse', code: string, message?: string }
 *   | { type: 'end', reason: string | null, message?: string }
 *   | { type: 'trouble', message: Message }} Action
 * @typedef {{ [Kind in Action['type']]: (action: Extract<Action, { type: Kind }>) => void }} Handlers
 *   `open` makes a socket, with the seat of the present one where it `takesSeat`; `connect` connects it. `retire`: it keeps
 *   its seat and does not come back. `welcome`: what the server says of the room; `isBack`: the others come back one by one;
 *   `restores`: the user's picture has to be asked for again. `begin` makes a connection, `goOn` keeps it. `silence`: the
 *   connection ends, and nothing is sent until `begin`. `take`: an ordinary message. `prepare` makes the next socket's
 *   connection; `use` makes that socket the call's, with what is prepared. `closeOldMedia` ends what `use` replaced.
 */

export class CallSession {
  /** @type {'joining' | 'waiting' | 'call' | 'over'} */
  #phase = 'joining';
  #hasBeenIn = false;
  #isRefused = false;
  /// Whether the call has a connection for media.
  #hasMedia = false;
  /// Whether the present socket is joined.
  #isJoined = false;
  #current = 0;
  #sockets = 0;
  /// The socket at the server to which the room moves. `isOpen`: it has been connected. `welcome`: what that server said.
  /** @type {Next | null} */
  #next = null;
  /// The socket that was left in a move, while it lingers.
  /** @type {{ number: number, hasMedia: boolean } | null} */
  #old = null;
  /// What the present server told of the people meanwhile: who changes over earlier has not left the room.
  /** @type {{ kind: string, message: Message }[]} */
  #frozen = [];
  /// The present server has given the seat to another one.
  #isReplaced = false;
  /// The next joined one is that of a server to which the call moved without a connection.
  #owesMoved = false;

  /// - Parameter random: numbers from 0 to 1.
  constructor(random = Math.random) { this.random = random; }

  get current() { return this.#current; }
  get next() { return this.#next?.number ?? null; }
  /// Whether a second `waiting` or `joined` concerns somebody who has been in the room.
  get hasBeenIn() { return this.#hasBeenIn; }
  /// Where the user is: what a page shows, and whether anything may be sent, follow from it.
  /** @returns {Place} */
  get place() { return this.#phase !== 'over' ? this.#phase : this.#isRefused ? 'refused' : 'ended'; }
  get isWaiting() { return this.#phase === 'waiting'; }
  get isOver() { return this.#phase === 'over'; }
  get isMoving() { return this.#next !== null; }

  /** @returns {Action[]} */
  start() { return [{ type: 'open', socket: 0, takesSeat: false, within: 0 }, { type: 'connect', socket: 0 }]; }

  /// A socket tells something: a message, or `lost`. `isConnected`, `isNextConnected`: the call's
  /// connection for media works, and that of the next socket.
  /** @param {number} socket @param {string} kind @param {any} message @returns {Action[]} */
  told(socket, kind, message, { isConnected = true, isNextConnected = false } = {}) {
    if (this.isOver) return [];
    if (socket === this.#next?.number) return this.#nextTold(this.#next, kind, message);
    if (socket !== this.#current) return [];
    if (this.#next && /^participants/.test(kind)) {
      if (this.#frozen.length < MAX_HELD) this.#frozen.push({ kind, message });
      return [];
    }
    switch (kind) {
      case 'joined': return this.#joined(message);
      case 'waiting': return message.people ? [take(kind, message)] : this.#waits();
      case 'moving': return this.#moving(message, isConnected);
      case 'left': return this.#left(message);
      case 'lost': return this.#lost(message, isNextConnected);
      case 'error': return this.#failed(message);
      default: return [take(kind, message)];
    }
  }

  /// The next connection has picture and sound, and the others of the room are there.
  /** @param {number} socket @returns {Action[]} */
  flowing(socket) { return this.#next?.number === socket ? this.#changeOver(true, true, true) : []; }

  /// What the next server answered is of no use.
  /** @param {number} socket @returns {Action[]} */
  nextFailed(socket) { return this.#next?.number === socket ? this.#stay() : []; }

  /** @param {Timer} name @returns {Action[]} */
  timer(name) {
    if (this.isOver) return [];
    if (name === 'linger') return this.#endOld();
    if (name === 'allAreBack') return [{ type: 'allAreBack' }];
    if (name === 'deadline') return this.#next ? this.#stay() : [];
    if (name !== 'begin' || !this.#next || this.#next.isOpen) return [];
    this.#next.isOpen = true;
    return [{ type: 'connect', socket: this.#next.number }];
  }

  /// The user leaves.
  /** @returns {Action[]} */
  leave() {
    if (this.isOver) return [];
    return [{ type: 'leave', socket: this.#current }, ...this.#end(null)];
  }

  // ---- The call's own socket

  /** @param {Message} message @returns {Action[]} */
  #joined(message) {
    const isFirst = !this.#hasBeenIn, wasWaiting = this.isWaiting;
    const hadMedia = this.#hasMedia, isBack = Boolean(message.isSameSeat) && !message.resumed;
    const begins = !message.resumed || !hadMedia;
    this.#phase = 'call';
    this.#hasBeenIn = this.#hasMedia = this.#isJoined = true;
    /** @type {Action[]} */
    const actions = [
      { type: 'welcome', socket: this.#current, message, isBack, restores: isBack && hadMedia },
      ...(isBack ? [timer('allAreBack', ALL_ARE_BACK)] : []), emit('connection', 'connected'),
      begins ? { type: 'begin', socket: this.#current, message, isFirst } : { type: 'goOn', socket: this.#current, message },
    ];
    // The page that waited shows the call again.
    if (wasWaiting && !isFirst) actions.push(emit('admitted', message.room));
    if (this.#owesMoved) actions.push(emit('moved', { isSeamless: false }));
    this.#owesMoved = false;
    return actions;
  }

  /// A moderator has to let the user in: at first, or since the seat was lost.
  /** @returns {Action[]} */
  #waits() {
    this.#phase = 'waiting';
    this.#hasMedia = this.#owesMoved = false;
    return [...this.#endOld(), { type: 'silence' }, emit('waiting')];
  }

  /** @param {Message} message @returns {Action[]} */
  #left({ reason }) {
    // By the next socket, where the room is still here after all.
    if (this.#next && reason === 'replaced') {
      this.#isReplaced = true;
      return [];
    }
    return this.#end(reason);
  }

  /** @param {{ attempt: number, wait: number | null, hasMoved: boolean }} loss @returns {Action[]} */
  #lost({ attempt, wait, hasMoved }, isNextConnected) {
    this.#isJoined = false;
    /** @type {Action[]} */
    const actions = hasMoved && !this.#next ? [emit('moving', { within: 0 })] : [];
    // The next socket goes on alone, and comes back by itself.
    if (this.#next) return [...actions, ...this.#changeOver(false, this.#next.welcome !== null, isNextConnected)];
    if (hasMoved) this.#owesMoved = true;
    if (this.isWaiting) return actions;
    if (this.#hasMedia) return [...actions, emit('connection', attempt > 1 ? 'lost' : hasMoved ? 'moving' : 'reconnecting')];
    if (wait && attempt <= PATIENCE) return [...actions, emit('delayed', Math.ceil(wait))];
    return [...actions, ...this.#refuse(wait ? 'busy' : 'unreachable')];
  }

  /** @param {Message} message @returns {Action[]} */
  #failed(message) {
    if (!this.#hasBeenIn) return this.#refuse(message.code, message.message);
    if (message.fatal || this.isWaiting) return this.#end(message.code, message.message);
    return [{ type: 'trouble', message }];
  }

  /** @returns {Action[]} */
  #refuse(code, message) {
    this.#phase = 'over';
    this.#isRefused = true;
    return [{ type: 'close', socket: this.#current }, { type: 'refuse', code, message }];
  }

  /** @returns {Action[]} */
  #end(reason, message) {
    /** @type {Action[]} */
    const actions = this.#endOld();
    if (this.#next) actions.push({ type: 'leave', socket: this.#next.number }, { type: 'giveUpNext', socket: this.#next.number, mustBegin: false });
    this.#next = null;
    this.#phase = 'over';
    return [...actions, timer('begin', null), timer('deadline', null), timer('allAreBack', null), { type: 'close', socket: this.#current }, { type: 'end', reason, message }];
  }

  // ---- The way to another server

  /// The room moves to another server, and this one ends the connection within so many seconds.
  /** @param {Message} message @returns {Action[]} */
  #moving({ within }, isConnected) {
    if (this.#next || !this.#isJoined) return [];
    const seconds = Math.min(LONGEST_MOVE, Math.max(1, Number(within) || 1));
    this.#sockets += 1;
    this.#next = { number: this.#sockets, isOpen: false, welcome: null, held: [] };
    /** @type {Action[]} */
    const actions = [
      emit('moving', { within: seconds }), { type: 'open', socket: this.#sockets, takesSeat: true, within: seconds },
      timer('begin', this.random() * Math.min(SPREAD, seconds * 100)), timer('deadline', seconds * 1000 + GRACE),
      timer('allAreBack', seconds * 1000 + ALL_ARE_BACK),
    ];
    // There is no picture to keep.
    return isConnected ? actions : [...actions, ...this.#changeOver(false, false, false)];
  }

  /// A message of the next server.
  /** @param {Next} next @returns {Action[]} */
  #nextTold(next, kind, message) {
    if (kind === 'joined') return this.#nextJoined(next, message);
    if (kind === 'answer') return [{ type: 'answerNext', message }];
    if (kind === 'left' || (kind === 'error' && (message.fatal || !next.welcome))) return this.#stay();
    if (kind === 'lost' || next.held.length >= MAX_HELD) return [];
    next.held.push({ kind, message });
    return /^participants/.test(kind) ? [{ type: 'arriveNext', kind, message }] : [];
  }

  /** @param {Next} next @param {Message} message @returns {Action[]} */
  #nextJoined(next, message) {
    if (message.resumed && next.welcome) return [{ type: 'resumeNext' }];
    if (!message.resumed) {
      next.welcome = message;
      next.held = [];
      return [{ type: 'prepare', socket: next.number, message }];
    }
    // The server that has the call has it still: nothing moves, and the seat is this socket's now.
    const left = this.#current;
    this.#current = next.number;
    this.#finish();
    return [
      { type: 'use', socket: next.number, message: null, isSeamless: true }, timer('begin', null), timer('deadline', null), { type: 'close', socket: left },
      ...this.#joined(message), emit('moved', { isSeamless: true }),
    ];
  }

  /// The next connection becomes that of the call. Without `hasMedia` it has none, and the call comes back in the ordinary
  /// way.
  /** @returns {Action[]} */
  #changeOver(isSeamless, hasMedia, isConnected) {
    const next = this.#next, left = this.#current;
    if (!next) return [];
    /** @type {Action[]} */
    const actions = [...this.#endOld(), timer('begin', null), timer('deadline', null)];
    this.#current = next.number;
    this.#finish();
    actions.push({ type: 'use', socket: next.number, message: hasMedia ? next.welcome : null, isSeamless });
    if (hasMedia) {
      this.#isJoined = true;
      actions.push({ type: 'welcome', socket: next.number, message: next.welcome, isBack: true, restores: false }, timer('allAreBack', ALL_ARE_BACK), { type: 'history', message: next.welcome }, emit('seat'), emit('room'));
      actions.push(...next.held.filter(({ kind }) => !DECIDING.includes(kind)).map(({ kind, message }) => take(kind, message)));
      actions.push(emit('connection', isConnected ? 'connected' : 'moving'), emit('moved', { isSeamless }));
    } else {
      this.#owesMoved = true;
      actions.push(emit('connection', 'moving'));
      if (!next.isOpen) actions.push({ type: 'connect', socket: next.number });
    }
    this.#old = { number: left, hasMedia };
    actions.push({ type: 'retire', socket: left }, timer('linger', isSeamless ? LINGER : 0));
    // The room may move on already.
    const deciding = hasMedia ? next.held.filter(({ kind }) => DECIDING.includes(kind)) : [];
    return [...actions, ...deciding.flatMap(({ kind, message }) => this.told(this.#current, kind, message, { isConnected }))];
  }

  /// The move has failed. The call stays as it is until the server ends it.
  /** @returns {Action[]} */
  #stay() {
    const next = this.#next, frozen = this.#frozen;
    if (!next) return [];
    const isReplaced = this.#isReplaced;
    this.#finish();
    /** @type {Action[]} */
    const actions = [timer('begin', null), timer('deadline', null), { type: 'giveUpNext', socket: next.number, mustBegin: next.welcome !== null }];
    if (isReplaced) return [...actions, ...this.#end('replaced')];
    return [...actions, ...frozen.map(({ kind, message }) => take(kind, message, true))];
  }

  #finish() {
    this.#next = null;
    this.#frozen = [];
    this.#isReplaced = false;
  }

  /** @returns {Action[]} */
  #endOld() {
    const old = this.#old;
    if (!old) return [];
    this.#old = null;
    return [timer('linger', null), { type: 'leave', socket: old.number }, ...(old.hasMedia ? [/** @type {Action} */ ({ type: 'closeOldMedia' })] : [])];
  }
}

/** @returns {Action} */
const timer = (name, after) => ({ type: 'timer', name, after });
/** @returns {Action} */
const emit = (event, detail = undefined) => ({ type: 'emit', event, ...(detail === undefined ? {} : { detail }) });
/** @returns {Action} */
const take = (kind, message, isQuiet = false) => ({ type: 'take', kind, message, isQuiet });
