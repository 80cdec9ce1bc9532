// How the signalling socket is opened, believed, given up and opened again, as a value: events in, actions out. It has no
// socket, timer or clock. `Signalling` does what it says.

// The longest times before the first attempt to come back, before the next one, and before any; and after a move, where
// the other server waits already. All in ms.
const FIRST_RETRY = 300, SECOND_RETRY = 1000, LAST_RETRY = 5000, MOVED_RETRY = 500;
// The time for a socket to open, and for the first message after that: a join may wait five seconds for its turn.
const OPEN_WITHIN = 6000, REOPEN_WITHIN = 2500;
const ANSWER_WITHIN = 15000;
// The time without a message after which who waits to be let in doubts the server, and the time for a sign of life then.
const SILENCE_LIMIT = 4000, SIGN_WITHIN = 2000;
// Messages that wait for the socket.
const MAX_QUEUED = 200;
// Reasons of `left` after which the client may join again at once, and those after which another server has the seat.
const COMES_BACK = ['moved', 'draining', 'timeout', 'failed'], KEEPS_SEAT = ['moved', 'draining'];
// Errors after which a later join may succeed.
const COMES_AGAIN = ['too_fast', 'overloaded'];

/// The milliseconds before an attempt to come back, of which `attempt` failed. The clients of a lost server have lost it
/// at the same moment, and any part of the time is as likely, so that they do not come back at the same moment.
export const retryDelay = (attempt, random = Math.random()) => random * (attempt ? Math.min(SECOND_RETRY * 2 ** (attempt - 1), LAST_RETRY) : FIRST_RETRY);

/**
 * @typedef {{ id: string, secret: string }} Ticket
 * @typedef {{ type: string, [key: string]: any }} Message
 * @typedef {{ type: 'connect' } | { type: 'drop' }
 *   | { type: 'join', resume: Ticket | null }
 *   | { type: 'send', message: Message }
 *   | { type: 'timer', name: 'patience' | 'sign' | 'retry', after: number | null }
 *   | { type: 'tell', event: string, detail: any }} Action
 *   `connect`: opens a socket in place of the one before. `drop`: closes the socket, of which nothing is heard any more.
 *   `timer`: sets the timer of this name, or ends it (null).
 */

export class SignallingState {
  /// `seat`: {id, resume} of the signalling whose seat this one takes over; it ends where it does not get the seat.
  constructor({ seat = null, random = Math.random } = {}) {
    this.random = random;
    /** @type {string | undefined} */
    this.id = seat?.id;
    /** @type {Ticket | null} */
    this.resume = seat?.resume ?? null;
    this.needsSeat = Boolean(seat);
    /// The connection for media is of no use to the next server, even if that has media of this seat: a move that failed
    /// may have left some there.
    this.mustBegin = false;
    /// `isWaiting`: a moderator has to let the user in.
    this.isJoined = this.isWaiting = this.isClosed = false;
    /// Whether there has been a socket.
    this.isOpen = false;
    /** @type {Message[]} */
    this.queue = [];
    this.attempt = 0;
    this.isInDoubt = false;
    /// The seconds that a busy server asked for, and whether the room has moved; until the next attempt.
    this.wait = null;
    this.hasMoved = false;
  }

  /** @returns {Action[]} */
  open() {
    this.isJoined = this.isWaiting = false;
    this.isOpen = true;
    // Who is in a call tries soon again: the machine that should answer may be gone.
    return [timer('retry', null), { type: 'connect' }, timer('patience', this.resume ? Math.min(OPEN_WITHIN, REOPEN_WITHIN * (1 + this.attempt)) : OPEN_WITHIN)];
  }

  /// The socket is open.
  /** @returns {Action[]} */
  opened() { return [timer('patience', ANSWER_WITHIN), { type: 'join', resume: this.resume }]; }

  /** @param {Message} message @returns {Action[]} */
  heard(message) {
    const actions = this.#receive(message);
    return [timer('patience', this.isWaiting ? SILENCE_LIMIT : null), ...this.#trust(), ...actions];
  }

  /// The socket is closed.
  /** @returns {Action[]} */
  lost() {
    const actions = [timer('patience', null), ...this.#trust()];
    this.isJoined = false;
    if (this.isClosed) return actions;
    const { wait, hasMoved } = this;
    const delay = wait ? wait * 1000 * (1 + this.random()) : hasMoved ? this.random() * MOVED_RETRY : retryDelay(this.attempt, this.random());
    this.attempt += 1;
    this.wait = null;
    this.hasMoved = false;
    // The timer first: who hears of the loss may end it all.
    return [...actions, timer('retry', delay), tell('lost', { attempt: this.attempt, wait: wait ? delay / 1000 : null, hasMoved })];
  }

  /** @param {string} name @returns {Action[]} */
  timer(name) {
    if (this.isClosed) return [];
    if (name === 'retry') return this.open();
    // A server that is down may answer nothing at all.
    if (name === 'patience') return this.isWaiting ? this.doubt() : [{ type: 'drop' }, ...this.lost()];
    // Sockets of dead machines stay open.
    return this.reopen();
  }

  /// The browser has a network again.
  online() { return this.isJoined ? [] : this.reopen(); }

  /// Asks for a sign of life; any message is one. Without it a new socket takes this one's place.
  /** @returns {Action[]} */
  doubt() {
    if (!(this.isJoined || this.isWaiting) || this.isInDoubt) return [];
    this.isInDoubt = true;
    return [timer('sign', SIGN_WITHIN), { type: 'send', message: { type: 'ping' } }];
  }

  /// Replaces a socket that seems dead by a new one at once.
  /** @returns {Action[]} */
  reopen() { return this.isClosed || !this.isOpen ? [] : [...this.#trust(), { type: 'drop' }, ...this.open()]; }

  /// Messages that stay valid wait for the socket; offers and candidates (`isLasting` false) do not.
  /** @param {Message} message @returns {Action[]} */
  send(message, isLasting = true) {
    if (this.isJoined) return [{ type: 'send', message }];
    if (isLasting && this.queue.length < MAX_QUEUED) this.queue.push(message);
    return [];
  }

  /// Keeps the seat as long as the socket lasts, and does not come back.
  /** @returns {Action[]} */
  retire() {
    this.isClosed = true;
    return [timer('retry', null)];
  }

  /// Ends the socket; with `leave` the seat too.
  /** @returns {Action[]} */
  close({ leave = false } = {}) {
    const words = leave ? this.send({ type: 'leave' }, false) : [];
    this.isClosed = true;
    this.isJoined = false;
    return [...words, ...this.#trust(), timer('retry', null), timer('patience', null), { type: 'drop' }];
  }

  /** @returns {Action[]} */
  #trust() {
    this.isInDoubt = false;
    return [timer('sign', null)];
  }

  /** @param {Message} message @returns {Action[]} */
  #receive(message) {
    const { type } = message;
    if (this.isClosed && type !== 'left') return [];
    // An older server knows no `ping`, or takes none of who waits, and says so.
    if (type === 'pong' || (message.code === 'bad_message' && (this.isWaiting || / ping;/.test(message.message)))) return [];
    // To a moderator it tells who waits.
    this.isWaiting = type === 'waiting' && !this.isJoined;
    if (type === 'joined') return this.#joined(message);
    if (type === 'error' && !this.isJoined) {
      if (COMES_AGAIN.includes(message.code) || (this.resume && message.retryAfter)) {
        this.wait = message.retryAfter ?? 2;
        return [{ type: 'drop' }, ...this.lost()];
      }
      if (this.resume) return this.#seatEnded(message);
    }
    if (type === 'left' && COMES_BACK.includes(message.reason)) {
      if (!KEEPS_SEAT.includes(message.reason)) this.resume = null;
      this.hasMoved = message.reason === 'moved';
      this.mustBegin = true;
      return [{ type: 'drop' }, ...this.lost()];
    }
    if (type === 'left' || (type === 'error' && message.fatal)) this.isClosed = true;
    return [tell(type, message)];
  }

  /** @param {Message} message @returns {Action[]} */
  #joined(message) {
    // In the same seat all may be as it was, or (`fresh`) the server has only the ticket and no connection for media.
    const isSameSeat = Boolean(this.resume) && message.you.id === this.id;
    const resumed = isSameSeat && !message.fresh && !this.mustBegin;
    this.mustBegin = false;
    this.id = message.you.id;
    this.resume = message.you.resume ?? null;
    this.isJoined = true;
    this.attempt = 0;
    // What has waited first: who hears of the seat may say something newer of the same.
    return [...this.queue.splice(0).map(each => /** @type {Action} */ ({ type: 'send', message: each })), tell('joined', { ...message, resumed, isSameSeat })];
  }

  /// Joins again, with a new connection.
  /** @param {Message} message @returns {Action[]} */
  #seatEnded(message) {
    this.resume = null;
    if (this.needsSeat) return [...this.close(), tell('error', message)];
    return [timer('patience', ANSWER_WITHIN), { type: 'join', resume: null }];
  }
}

/** @returns {Action} */
const timer = (name, after) => ({ type: 'timer', name, after });
/** @returns {Action} */
const tell = (event, detail) => ({ type: 'tell', event, detail });
