// The keys by which the user is the host of rooms, as this browser keeps them: the latest rooms first. Without the store,
// as in a frame that may have none, they last as long as the page.

// Rooms whose keys are kept: more than somebody hosts within a key's time.
const MOST = 50;
const ITEM = 'tessera.hosts';

export class HostKeys {
  /** @param {{ getItem(name: string): string | null, setItem(name: string, text: string): void } | null} store */
  constructor(store) {
    this.store = store;
    /** @type {[string, string][]} */
    this.own = [];
  }

  /** @returns {[string, string][]} */
  read() {
    try {
      const all = JSON.parse(this.store?.getItem(ITEM) ?? '[]');
      return all.filter(each => Array.isArray(each) && each.length === 2 && each.every(text => typeof text === 'string'));
    } catch {
      return this.own;
    }
  }

  /** @param {string} room */
  find(room) { return (this.store ? this.read() : this.own).find(([name]) => name === room)?.[1] ?? null; }

  /// Keeps the key of a room; null forgets it.
  /** @param {string} room @param {string | null} key */
  keep(room, key) {
    const others = (this.store ? this.read() : this.own).filter(([name]) => name !== room);
    this.own = (key ? [/** @type {[string, string]} */ ([room, key]), ...others] : others).slice(0, MOST);
    try {
      this.store?.setItem(ITEM, JSON.stringify(this.own));
    } catch {
      // A full or closed store: the page remembers.
      this.store = null;
    }
  }
}
