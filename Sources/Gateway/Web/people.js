// The participants of the room, as announced by the server: the whole list at first, then changes, at most four times a
// second. Viewers are a number, except those who raise their hand.

export class People {
  constructor() {
    this.list = [];
    this.viewers = 0;
    /// Who was in the room before a move, until all are back.
    this.expected = new Set();
  }

  /// These people come back one by one, which is no news.
  expect() { for (const { id } of this.list) this.expected.add(id); }

  /// Who has come and gone since a list.
  since(before) {
    const left = before.filter(person => !this.find(person.id));
    const joined = this.list.filter(({ id }) => !before.some(person => person.id === id) && !this.expected.delete(id));
    return { joined, left };
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
