// What the user is told beside the picture, as a value: notices come in, and what is shown now comes out. It has no clock,
// timer or element; times are in ms.
//
// Heavy notices are shown beside each other and stay until the user acts or their time ends. Light ones are shown one at
// a time: the others wait, or are merged with one of their kind.

/**
 * @typedef {'asked' | 'waiting' | 'connection' | 'recording' | 'problem' | 'told' | 'presents' | 'layout' | 'hands' | 'chat' | 'joined' | 'left'} Kind
 * @typedef {{ text: string, act: () => void }} Deed a button beside the sentence
 * @typedef {{ kind: Kind, key?: string, seconds?: number | null, text?: string, names?: string[], count?: number, message?: any, actions?: Deed[] }} Told
 *   `key`: of two notices with one key the second takes the first one's place; without it the kind is the key. `seconds`:
 *   null until it is ended. `names`, `count`: of those whom a light notice is about.
 * @typedef {{ kind: Kind, key: string, text: string | undefined, names: string[], count: number, message: any, actions: Deed[],
 *   number: number, change: number, left: number | null, since: number | null, shownAt: number | null, addedAt: number }} Notice
 *   `change` grows with each change of what it says; `left`: the rest of its time, `since` the moment it is shown from on.
 */

/// The kinds, the heaviest first, and how long each is shown, s.
/** @type {Record<Kind, { isHeavy: boolean, isUrgent: boolean, seconds: number | null }>} */
const KINDS = {
  asked: { isHeavy: true, isUrgent: true, seconds: 30 },
  waiting: { isHeavy: true, isUrgent: true, seconds: null },
  connection: { isHeavy: true, isUrgent: true, seconds: null },
  recording: { isHeavy: true, isUrgent: false, seconds: 8 },
  problem: { isHeavy: true, isUrgent: true, seconds: 10 },
  told: { isHeavy: true, isUrgent: false, seconds: 6 },
  presents: { isHeavy: false, isUrgent: false, seconds: 5 },
  layout: { isHeavy: false, isUrgent: false, seconds: 5 },
  hands: { isHeavy: false, isUrgent: false, seconds: 4 },
  chat: { isHeavy: false, isUrgent: false, seconds: 5 },
  joined: { isHeavy: false, isUrgent: false, seconds: 4 },
  left: { isHeavy: false, isUrgent: false, seconds: 4 },
};
const RANKS = Object.keys(KINDS);
/// Notices at once: more would cover the picture.
export const MOST_SHOWN = 3;
/// Notices at most, with those that wait: beyond that the lightest go.
export const MOST = 24;
/// What is merged while it is shown stays for so long at least, and altogether at most so long.
const LEAST = 2500, LONGEST = 15_000;
/// A light notice that has waited for so long is no news any more.
const STALE = 60_000;

export const isUrgent = kind => KINDS[kind].isUrgent;
export const isHeavy = kind => KINDS[kind].isHeavy;

export class Notices {
  /** @type {Notice[]} */
  #all = [];
  #number = 0;

  get count() { return this.#all.length; }

  /** @param {Told} told @param {number} now */
  add(told, now) {
    this.tick(now);
    const { kind, key = kind, text, names = [], count = names.length || 1, message = null, actions = [] } = told;
    const seconds = told.seconds === undefined ? KINDS[kind].seconds : told.seconds;
    const time = seconds === null ? null : seconds * 1000;
    const before = this.#all.find(notice => notice.key === key);
    if (!before) {
      this.#number += 1;
      this.#all.push({ kind, key, text, names: names.slice(0, 2), count, message, actions, number: this.#number, change: 0, left: time, since: null, shownAt: null, addedAt: now });
    } else if (isHeavy(kind)) {
      const isSame = before.text === text && before.actions.length === actions.length;
      Object.assign(before, { text, message, actions, left: time, since: before.since === null ? null : now, change: before.change + (isSame ? 0 : 1) });
    } else {
      const longer = [...before.names, ...names].slice(0, 2);
      Object.assign(before, { text, message, actions, names: longer, count: before.count + count, change: before.change + 1, addedAt: now });
      if (before.since !== null && before.shownAt !== null) {
        const rest = Math.max(this.#rest(before, now), LEAST);
        Object.assign(before, { since: now, left: Math.max(1, Math.min(rest, before.shownAt + LONGEST - now)) });
      }
    }
    while (this.#all.length > MOST) this.#all.splice(this.#all.indexOf(this.#byWeight().at(-1)), 1);
    this.#arrange(now);
  }

  /// Ends the notice with this key: the user has acted, or it is not true any more.
  end(key, now) {
    this.#all = this.#all.filter(notice => notice.key !== key);
    this.tick(now);
  }

  clear() { this.#all = []; }

  has(key) { return this.#all.some(notice => notice.key === key); }

  /// Ends those whose time is over.
  tick(now) {
    this.#all = this.#all.filter(notice => notice.left === null || notice.since === null || this.#rest(notice, now) > 0);
    this.#all = this.#all.filter(notice => notice.since !== null || isHeavy(notice.kind) || now - notice.addedAt < STALE);
    this.#arrange(now);
  }

  /// What is shown now, the heaviest first.
  get shown() { return this.#byWeight().filter(({ since }) => since !== null); }

  /// The time at which something of it ends; null: none does.
  get next() {
    const ends = this.#all.filter(({ since, left }) => since !== null && left !== null).map(({ since, left }) => since + left);
    return ends.length ? Math.min(...ends) : null;
  }

  #rest({ left, since }, now) { return since === null ? left : left - (now - since); }

  /// By weight; of one kind the newest heavy one and the oldest light one first, which waits longest.
  #byWeight() {
    const rank = ({ kind }) => RANKS.indexOf(kind);
    return [...this.#all].sort((a, b) => rank(a) - rank(b) || (isHeavy(a.kind) ? b.number - a.number : a.number - b.number));
  }

  /// Chooses what is shown: the heaviest, and one light one. The time of what has to wait again stands still.
  #arrange(now) {
    let hasLight = false;
    const shown = this.#byWeight().filter(({ kind }) => {
      if (isHeavy(kind)) return true;
      const isFirst = !hasLight;
      hasLight = true;
      return isFirst;
    }).slice(0, MOST_SHOWN);
    for (const notice of this.#all) {
      if (shown.includes(notice)) {
        notice.since ??= now;
        notice.shownAt ??= now;
      } else if (notice.since !== null) {
        if (notice.left !== null) notice.left = Math.max(1, this.#rest(notice, now));
        notice.since = null;
      }
    }
  }
}
