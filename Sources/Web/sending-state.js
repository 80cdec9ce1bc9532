// What the user sends, as a value: events in, actions out. It has no device, track, connection or element. What is sent,
// shown and told is always derived from the same state, in whatever order its events come.

/// The kinds of what is sent, and the device of each.
export const DEVICES = Object.freeze({ audio: 'microphone', video: 'camera' });
const KINDS = Object.freeze(/** @type {Kind[]} */ (['audio', 'video']));

/**
 * @typedef {'audio' | 'video'} Kind
 * @typedef {'on' | 'opening' | 'paused' | 'off'} Shown
 * @typedef {{ code: string, device?: string, message?: string }} Problem
 * @typedef {{ type: 'open', kind: Kind, attempt: number, id: string, facing: string | null }
 *   | { type: 'take', kind: Kind }
 *   | { type: 'drop', kind: Kind }
 *   | { type: 'stop', kind: Kind }
 *   | { type: 'problem', problem: Problem }} Action
 *   `open`: opens a device, and reports `opened` or `failed` with the attempt. `take`: the track that was opened is that of
 *   the kind now, and one before it is stopped. `drop`: the track that was opened is stopped, since nobody wants it any more.
 *   `stop`: the track of the kind is stopped.
 * @typedef {{ isWanted: boolean, isOpen: boolean, isPaused: boolean, attempt: number | null, id: string }} Source
 *   `isWanted`: the user wants it to be sent; `isPaused`: the system gives nothing of the open device; `attempt`: of the
 *   opening that runs, or null.
 */

export class SendingState {
  /// lobby: no call; joining: the server has not let the user in yet; waiting: a moderator has to; call: in a room.
  /** @type {'lobby' | 'joining' | 'waiting' | 'call'} */
  #phase = 'lobby';
  /// Nothing is sent, since the user has not agreed to be recorded yet.
  #isHeld = false;
  #isAudience = false;
  /// The camera stays open, and nothing of it is sent: the line is too thin.
  #isResting = false;
  #attempts = 0;
  /** @type {Record<Kind, Source>} */
  #sources = { audio: closed(), video: closed() };

  // ---- What follows from the state

  /// Whether others hear or see it.
  /** @param {Kind} kind */
  isSent(kind) {
    const { isWanted, isOpen, isPaused } = this.#sources[kind];
    return isWanted && isOpen && !isPaused && this.isOnAir && !this.#rests(kind);
  }

  /// What the button says.
  /** @param {Kind} kind @returns {Shown} */
  shown(kind) {
    const { isWanted, isOpen, attempt } = this.#sources[kind];
    if (this.isSent(kind)) return 'on';
    if (!isWanted || !this.isOnAir) return 'off';
    return attempt !== null ? 'opening' : isOpen ? 'paused' : 'off';
  }

  /// What the buttons of the lobby say: what will be sent.
  /** @param {Kind} kind @returns {Shown} */
  chosen(kind) {
    const { isWanted, isOpen, attempt } = this.#sources[kind];
    if (!isWanted) return 'off';
    return isOpen ? 'on' : attempt !== null ? 'opening' : 'off';
  }

  /// Whether a device of the kind is being opened.
  /** @param {Kind} kind */
  isBusy(kind) { return this.#sources[kind].attempt !== null; }

  /// What the server is told.
  get told() { return { audio: this.isSent('audio'), video: this.isSent('video') }; }

  /// Whether what is wanted and open is sent.
  get isOnAir() { return this.#phase === 'call' && !this.#isHeld && !this.#isAudience; }
  get isHeld() { return this.#isHeld; }
  get isAudience() { return this.#isAudience; }
  get isResting() { return this.#isResting; }

  /// Whether the connection carries the track of the kind: a muted or held one too, as silence or black pictures. Of a
  /// camera that rests not even these.
  /** @param {Kind} kind */
  isCarried(kind) { return this.#sources[kind].isOpen && this.#phase === 'call' && !this.#isAudience && !this.#rests(kind); }

  /// Whether the track gives sound or pictures: what is sent, and the preview before a call.
  /** @param {Kind} kind */
  isEnabled(kind) { return this.isSent(kind) || this.#phase === 'lobby' || this.#phase === 'joining'; }

  /** @param {Kind} kind @param {number} attempt */
  isOpening(kind, attempt) { return this.#sources[kind].attempt === attempt; }

  // ---- The way in and out

  /// The user joins. What is still being opened is sent once it is open.
  join() { this.#phase = 'joining'; }

  /// A moderator has to let the user in, at first or again.
  wait() { if (this.#phase !== 'lobby') this.#phase = 'waiting'; }

  enter() { this.#phase = 'call'; }

  /// The server has not let the user in: the devices stay open for the lobby.
  refused() {
    this.#phase = 'lobby';
    this.#isHeld = this.#isAudience = this.#isResting = false;
  }

  /// The call is over.
  /** @returns {Action[]} */
  leave() {
    this.refused();
    return this.close();
  }

  // ---- The user

  /// Opens these devices in place of the present ones: an id, '' for any, 'none'. `audio`, `video`: whether each is to be
  /// sent. A microphone is opened all the same, a camera is not.
  /** @param {{ camera?: string, microphone?: string, audio?: boolean, video?: boolean }} devices @returns {Action[]} */
  open({ camera = '', microphone = '', audio = true, video = true }) {
    const ids = { audio: microphone, video: camera }, wanted = { audio, video };
    return KINDS.flatMap(kind => [...this.#stop(kind), ...this.#prepare(kind, ids[kind], wanted[kind])]);
  }

  /// Closes the devices. `want` opens them again.
  /** @returns {Action[]} */
  close() { return KINDS.flatMap(kind => this.#stop(kind)); }

  /// Turns a kind on or off. A microphone stays open while it is off, so that it is on again at once; a camera is closed,
  /// and its light with it.
  /** @param {Kind} kind @param {boolean} isOn @returns {Action[]} */
  want(kind, isOn) {
    const source = this.#sources[kind];
    if (isOn && (this.#isHeld || this.#isAudience)) return [];
    if (!isOn) {
      source.isWanted = false;
      return kind === 'video' ? this.#stop(kind) : [];
    }
    // Who switches it on by hand wants it sent, however thin the line is.
    if (kind === 'video') this.#isResting = false;
    if (source.isOpen || source.attempt !== null) {
      source.isWanted = true;
      return [];
    }
    return this.#open(kind, source.id === 'none' ? '' : source.id);
  }

  /// Off where it is on or about to be.
  /** @param {Kind} kind @returns {Action[]} */
  toggle(kind) { return this.want(kind, this.#isHeld || !this.#sources[kind].isWanted); }

  /// Takes another device; 'none': no device. Who is muted stays so with another microphone.
  /** @param {Kind} kind @param {string} id @returns {Action[]} */
  choose(kind, id) {
    const source = this.#sources[kind];
    source.id = id;
    if (id === 'none') return this.#stop(kind);
    if (this.#isAudience) return [];
    const staysOff = !source.isWanted && (source.isOpen || source.attempt !== null);
    const actions = this.#open(kind, id);
    source.isWanted = !staysOff;
    return actions;
  }

  /// Opens the device anew that is open.
  /** @param {Kind} kind @returns {Action[]} */
  reopen(kind) { return this.choose(kind, this.#sources[kind].id); }

  /// Takes the camera of the other side. Many phones open one camera at a time.
  /** @param {string} facing @returns {Action[]} */
  flip(facing) {
    if (this.#isAudience) return [];
    return [...this.#stop('video'), ...this.#open('video', this.#sources.video.id, facing)];
  }

  /// The camera rests, or is sent again. Nothing is opened or closed.
  /** @param {boolean} isResting @returns {Action[]} */
  rest(isResting) {
    this.#isResting = isResting && (this.#isResting || this.isSent('video'));
    return [];
  }

  /// Sends nothing until `release`.
  hold() { this.#isHeld = true; }

  /// Sends what is wanted, or turns it off.
  /** @param {boolean} sends @returns {Action[]} */
  release(sends) {
    if (!this.#isHeld) return [];
    this.#isHeld = false;
    return sends ? [] : KINDS.flatMap(kind => this.want(kind, false));
  }

  /// Who comes into the audience closes the devices; who leaves it opens them by hand.
  /** @param {boolean} isAudience @returns {Action[]} */
  sit(isAudience) {
    this.#isAudience = isAudience;
    return isAudience ? this.close() : [];
  }

  /** @param {Kind} kind */
  #rests(kind) { return kind === 'video' && this.#isResting; }

  // ---- The devices

  /** @param {Kind} kind @param {number} attempt @returns {Action[]} */
  opened(kind, attempt, isPaused = false) {
    const source = this.#sources[kind];
    if (source.attempt !== attempt) return [{ type: 'drop', kind }];
    source.attempt = null;
    source.isOpen = true;
    source.isPaused = isPaused;
    return [{ type: 'take', kind }];
  }

  /// The system gives nothing of the open device for now (a telephone call comes in, a switch at the headset), or gives it
  /// again.
  /** @param {Kind} kind @param {boolean} isPaused @returns {Action[]} */
  paused(kind, isPaused) {
    this.#sources[kind].isPaused = isPaused && this.#sources[kind].isOpen;
    return [];
  }

  /// Where another device of the kind is open, that one goes on.
  /** @param {Kind} kind @param {number} attempt @param {Problem} problem @returns {Action[]} */
  failed(kind, attempt, problem) {
    const source = this.#sources[kind];
    if (source.attempt !== attempt) return [];
    source.attempt = null;
    source.isWanted &&= source.isOpen;
    // The lobby shows it itself.
    return this.#phase === 'lobby' ? [] : [{ type: 'problem', problem }];
  }

  /// The device of the kind is gone.
  /** @param {Kind} kind @returns {Action[]} */
  ended(kind) {
    const source = this.#sources[kind];
    if (!source.isOpen) return [];
    source.isOpen = source.isPaused = false;
    // Another one that is being opened takes its place.
    source.isWanted &&= source.attempt !== null;
    return [{ type: 'stop', kind }, ...(this.#phase === 'lobby' ? [] : [/** @type {Action} */ ({ type: 'problem', problem: { code: 'gone', device: DEVICES[kind] } })])];
  }

  /** @param {Kind} kind @param {string} id @param {boolean} isWanted @returns {Action[]} */
  #prepare(kind, id, isWanted) {
    if (isWanted) return this.#open(kind, id);
    const source = this.#sources[kind];
    source.id = id;
    const actions = kind === 'audio' ? this.#open(kind, id) : [];
    source.isWanted = false;
    return actions;
  }

  /** @param {Kind} kind @param {string} id @returns {Action[]} */
  #open(kind, id, facing = null) {
    const source = this.#sources[kind];
    source.id = id;
    if (id === 'none') return [];
    source.isWanted = true;
    source.attempt = this.#attempts += 1;
    return [{ type: 'open', kind, attempt: source.attempt, id, facing }];
  }

  /// What is being opened is not wanted any more.
  /** @param {Kind} kind @returns {Action[]} */
  #stop(kind) {
    const source = this.#sources[kind], wasOpen = source.isOpen;
    source.isWanted = source.isOpen = source.isPaused = false;
    source.attempt = null;
    if (kind === 'video') this.#isResting = false;
    return wasOpen ? [{ type: 'stop', kind }] : [];
  }
}

/** @returns {Source} */
const closed = () => ({ isWanted: false, isOpen: false, isPaused: false, attempt: null, id: '' });
