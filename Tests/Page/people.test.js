import assert from 'node:assert/strict';
import { test } from 'node:test';
import { People } from '../../Sources/Gateway/Web/people.js';

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
