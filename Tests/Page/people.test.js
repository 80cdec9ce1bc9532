import assert from 'node:assert/strict';
import { test } from 'node:test';
import { People } from '../../Sources/Web/people.js';

test('raised hands come first, in the order in which they were raised', () => {
  const people = new People();
  people.take({ participants: [{ id: 'a', hand: true, handOrder: 2 }, { id: 'b' }, { id: 'c', hand: true, handOrder: 1 }, { id: 'd' }], viewers: 0 });
  assert.deepEqual(people.ordered.map(({ id }) => id), ['c', 'a', 'b', 'd']);
  people.change({ joined: [{ id: 'e', hand: true, handOrder: 3 }], changed: [{ id: 'c' }], left: ['b'], viewers: 0 });
  assert.deepEqual(people.ordered.map(({ id }) => id), ['a', 'e', 'c', 'd']);
  // An older server has no order.
  people.take({ participants: [{ id: 'x' }, { id: 'y', hand: true }, { id: 'z', hand: true }], viewers: 0 });
  assert.deepEqual(people.ordered.map(({ id }) => id), ['y', 'z', 'x']);
});

test('those of before a move go and come back without a word, and who has not come back is told at the end', () => {
  const people = new People(), change = (joined, left) => {
    const before = people.list;
    people.change({ joined: joined.map(id => ({ id })), changed: [], left, viewers: 0 });
    const told = people.since(before);
    return [told.joined, told.left].map(all => all.map(({ id }) => id).join(' '));
  };
  assert.deepEqual(change(['me', 'bo', 'cy'], []), ['me bo cy', '']);
  people.expect();
  // The list of the next server.
  people.take({ participants: [{ id: 'me' }], viewers: 0 });
  assert.deepEqual(change(['bo'], []), ['', '']);
  assert.deepEqual(change([], ['bo']), ['', '']);
  assert.deepEqual(change(['bo', 'new'], []), ['new', '']);
  assert.deepEqual(change([], ['new']), ['', 'new']);
  assert.deepEqual(people.settle().map(({ id }) => id), ['cy']);
  assert.deepEqual(change(['cy'], ['bo']), ['cy', 'bo']);
  assert.deepEqual(people.settle(), []);
});
