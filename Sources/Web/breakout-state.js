// The breakout groups of a room as the server tells them: a value, without page, socket and clock. Times are in ms.

/** @typedef {{ id: number, name: string, people: number, participants?: string[], listeners: string[], recording?: string }} Group */
/** @typedef {{ type: 'opened' | 'moved' | 'back' | 'ending' | 'listened' | 'addressed', group?: Group, ids?: string[] }} News */

export class BreakoutState {
  constructor() {
    /// none, planned, open or ending.
    this.state = 'none';
    /** @type {Group[]} */
    this.groups = [];
    /// The number of the user's group, 0: none.
    this.own = 0;
    this.mayChoose = this.mayMove = false;
    /// When everybody is back; null: as long as a moderator wants.
    /** @type {number | null} */
    this.endsAt = null;
    /// The moderators whom all groups hear.
    /** @type {string[]} */
    this.speakers = [];
    /// Of a moderator: the groups it hears beside its own, the one it looks into, and whether all hear it.
    /** @type {number[]} */
    this.listensTo = [];
    /** @type {number | null} */
    this.looksInto = null;
    this.speaksToAll = false;
  }

  get exists() { return this.state !== 'none'; }
  get isOpen() { return this.state === 'open' || this.state === 'ending'; }
  /// The number of the group in which the user is now.
  get place() { return this.isOpen ? this.own : 0; }
  /// The group in which the user is; null: the room itself.
  get group() { return this.find(this.place); }
  find(id) { return this.groups.find(group => group.id === id) ?? null; }

  /// Takes a `breakout` message; nothing where a server knows no groups. Returns what the user is to be told.
  /** @param {any} message @param {number} now @returns {News[]} */
  take(message, now) {
    const before = { state: this.state, place: this.place, group: this.group, speakers: this.speakers };
    const known = message ?? {};
    this.state = known.state ?? 'none';
    this.groups = known.groups ?? [];
    this.own = known.own ?? 0;
    this.mayChoose = Boolean(known.mayChoose);
    this.mayMove = Boolean(known.mayMove);
    this.endsAt = known.endsIn === undefined ? null : now + known.endsIn * 1000;
    this.speakers = known.speakers ?? [];
    this.listensTo = known.listensTo ?? [];
    this.looksInto = known.looksInto ?? null;
    this.speaksToAll = Boolean(known.speaksToAll);
    return this.newsSince(before);
  }

  /** @returns {News[]} */
  newsSince(before) {
    /** @type {News[]} */
    const news = [];
    const wasOpen = before.state === 'open' || before.state === 'ending';
    if (this.place !== before.place) news.push(this.group ? { type: 'moved', group: this.group } : { type: 'back' });
    else if (this.isOpen && !wasOpen) news.push({ type: 'opened' });
    else if (!this.isOpen && wasOpen) news.push({ type: 'back' });
    if (this.state === 'ending' && before.state !== 'ending') news.push({ type: 'ending' });
    const earlier = this.place === before.place ? before.group?.listeners ?? [] : [];
    const listeners = (this.group?.listeners ?? []).filter(id => !earlier.includes(id));
    if (listeners.length) news.push({ type: 'listened', ids: listeners });
    const speakers = this.speakers.filter(id => !before.speakers.includes(id));
    if (speakers.length) news.push({ type: 'addressed', ids: speakers });
    return news;
  }

  /// The seconds until everybody is back; null: no end.
  remaining(now) { return this.endsAt === null ? null : Math.max(0, Math.ceil((this.endsAt - now) / 1000)); }

  /// The group to which a moderator has assigned a person, 0: none.
  assigned(id) { return this.groups.find(group => group.participants?.includes(id))?.id ?? 0; }

  /// The members of `listen` after a press on a group's switch.
  listening(id) {
    const groups = this.listensTo.includes(id) ? this.listensTo.filter(each => each !== id) : [...this.listensTo, id].sort((a, b) => a - b);
    return { groups, ...(this.looksInto === null ? {} : { look: this.looksInto }) };
  }

  /// The members of `listen` after a press on a group's picture.
  looking(id) { return { groups: this.listensTo, ...(this.looksInto === id ? {} : { look: id }) }; }
}

/// A time as minutes and seconds.
export const clock = seconds => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
