// Who is in the room, as the server tells it: all of it at first, then what changes, at most four times a second. Viewers are a number,
// but for those who raise their hand.

export class People {
  constructor() {
    this.list = [];
    this.viewers = 0;
  }

  /// `joined` and `participants` tell everything.
  take({ participants, viewers }) {
    this.list = participants ?? [];
    this.viewers = viewers ?? 0;
  }

  /// `participantsChanged` tells what is different since then.
  change({ joined, changed, left, viewers }) {
    const others = new Map(changed.map(person => [person.id, person]));
    this.list = [...this.list.filter(person => !left.includes(person.id)).map(person => others.get(person.id) ?? person), ...joined];
    this.viewers = viewers;
  }

  find(id) { return this.list.find(person => person.id === id); }
}
