// What the user has chosen to see, as a value. A server to which the call comes knows nothing of it, or knows it already.

/**
 * @typedef {{ name: string, pin: string | null }} Own
 * @typedef {{ view?: string, name?: string, layout?: string, scope?: string, pin?: string[] }} Told
 * @typedef {{ type: string, [key: string]: any }} Message
 */

export class PictureChoice {
  /// The named view that the user gets; the room's layout; the user's own one, or null.
  view = 'main';
  /** @type {string | null} */
  layout = null;
  /** @type {Own | null} */
  mine = null;
  /// The view that the user has asked for and does not have yet.
  /** @type {string | null} */
  #asked = null;
  /// The own picture that a server cannot show before somebody is there: pins are of people who are.
  /** @type {(Own & { socket: any }) | null} */
  #owed = null;

  /// What the server shows now.
  /** @param {Told} told */
  take({ name, view, scope, pin }) {
    this.view = view ?? 'main';
    this.mine = own(scope, name, pin);
    if (!this.mine) this.layout = name ?? null;
    if (this.view === this.#asked) this.#asked = null;
  }

  /// The messages to the server of `socket` for the picture that the user has chosen, where its own is another one.
  /** @param {Told} welcome @returns {Message[]} */
  restore(welcome, socket) {
    const { mine } = this, there = own(welcome.scope, welcome.layout, welcome.pin);
    const messages = this.view === (welcome.view ?? 'main') ? [] : [{ type: 'view', name: this.view }];
    this.#owed = null;
    if (!mine || (mine.name === there?.name && mine.pin === there?.pin)) return messages;
    if (mine.pin) this.#owed = { ...mine, socket };
    return [...messages, request(mine)];
  }

  /// The people at the server of `socket` have come back one by one.
  /** @param {(id: string) => boolean} isThere @returns {Message[]} */
  arrived(socket, isThere) {
    const owed = this.#owed;
    if (!owed || owed.socket !== socket || !isThere(/** @type {string} */ (owed.pin))) return [];
    this.#owed = null;
    return [request(owed)];
  }

  /// `name` with that participant first; the room's layout without a name.
  /** @returns {Message} */
  choose(name, pinned = null) {
    this.#owed = null;
    return name ? request({ name, pin: pinned }) : { type: 'layout', scope: 'me' };
  }

  /** @param {string} name @returns {Message} */
  ask(name) {
    this.#asked = name;
    return { type: 'view', name };
  }

  /// Whether an error is about the view that was asked for.
  /** @param {string} code */
  isRefused(code) {
    if (!this.#asked || !['too_fast', 'overloaded'].includes(code)) return false;
    this.#asked = null;
    return true;
  }
}

/** @returns {Own | null} */
const own = (scope, name, pin) => (scope === 'me' ? { name, pin: pin?.[0] ?? null } : null);
/** @param {Own} own @returns {Message} */
const request = ({ name, pin }) => ({ type: 'layout', name, scope: 'me', pin: pin ? [pin] : [] });
