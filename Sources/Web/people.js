// The participants of the room, as announced by the server: the whole list at first, then changes, at most four times a
// second. Viewers are a number, except those who raise their hand.

export class People {
  constructor() {
    this.list = [];
    this.viewers = 0;
    /// Those of before a move, until all have had the time to come back.
    this.expected = new Map();
  }

  /// These people go and come back one by one, which is no news.
  expect() { for (const person of this.list) this.expected.set(person.id, person); }

  /// Ends that, and returns who has not come back.
  settle() {
    const left = [...this.expected.values()].filter(({ id }) => !this.find(id));
    this.expected.clear();
    return left;
  }

  /// Who has come and gone since a list.
  since(before) {
    const now = this.list, without = (all, others) => all.filter(({ id }) => !this.expected.has(id) && !others.some(other => other.id === id));
    return { joined: without(now, before), left: without(before, now) };
  }

  /// Takes the whole list of `joined` and `participants`.
  take({ participants, viewers }) {
    this.list = participants ?? [];
    this.viewers = viewers ?? 0;
  }

  /// Applies the changes of `participantsChanged`.
  change({ joined, changed, left, viewers }) {
    const others = new Map(changed.map(person => [person.id, person]));
    this.list = [...this.list.filter(person => !left.includes(person.id)).map(person => others.get(person.id) ?? person), ...joined];
    this.viewers = viewers;
  }

  /// Those who have raised a hand first, in the order in which they did; then the others as they came.
  get ordered() {
    const hands = this.list.filter(({ hand }) => hand).sort((one, other) => (one.handOrder ?? 0) - (other.handOrder ?? 0));
    return [...hands, ...this.list.filter(({ hand }) => !hand)];
  }

  /// Marks who speaks; null: nobody.
  speaks(id) { for (const person of this.list) person.speaking = person.id === id; }

  find(id) { return this.list.find(person => person.id === id); }
}

/// Whether somebody's audio or video is on, off, or missing: it is on, and nothing of it arrives.
export const arrival = (person, kind) => (!person[kind] || person[`${kind}Muted`] ? 'off' : person.missing?.includes(kind) ? 'missing' : 'on');
