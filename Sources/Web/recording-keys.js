// The keys by which hosts find their recordings after the call: kept in this browser, one for each recording.

const NAME = 'tessera.recordings';
/// The most recordings that are kept: the newest.
export const MOST = 300;

/** @typedef {{ id: string, room: string, startedAt: string, key: string, keyExpiresAt: string }} Kept */

export class RecordingKeys {
  /** @param {Pick<Storage, 'getItem' | 'setItem'>} storage @param {() => number} now in milliseconds since 1970 */
  constructor(storage = localStorage, now = () => Date.now()) {
    this.storage = storage;
    this.now = now;
  }

  /// Those that are still valid, the newest first.
  /** @returns {Kept[]} */
  get all() {
    let kept = [];
    try {
      kept = JSON.parse(this.storage.getItem(NAME) ?? '[]');
    } catch { /* A browser without storage, or what another program wrote. */ }
    const isKept = each => [each?.id, each?.room, each?.startedAt, each?.key].every(text => typeof text === 'string');
    return (Array.isArray(kept) ? kept : []).filter(each => isKept(each) && Date.parse(each.keyExpiresAt) > this.now());
  }

  /// Keeps the keys of a meeting's recordings; those without one are of other hosts.
  keep(entries) {
    const found = entries.filter(entry => entry.key).map(({ id, room, startedAt, key, keyExpiresAt }) => ({ id, room, startedAt, key, keyExpiresAt }));
    if (found.length) this.write([...found, ...this.all.filter(each => !found.some(({ id }) => id === each.id))]);
  }

  forget(id) { this.write(this.all.filter(each => each.id !== id)); }

  write(kept) {
    kept.sort((one, other) => Date.parse(other.startedAt) - Date.parse(one.startedAt));
    try {
      this.storage.setItem(NAME, JSON.stringify(kept.slice(0, MOST)));
    } catch { /* The recordings can be had during the meeting. */ }
  }
}

/// The entries of each day, in their order: [{day, entries}]. `dayOf` gives the name of an entry's day.
export function byDay(entries, dayOf) {
  const days = [];
  for (const entry of entries) {
    const day = dayOf(entry);
    if (days.at(-1)?.day !== day) days.push({ day, entries: [] });
    days.at(-1).entries.push(entry);
  }
  return days;
}
