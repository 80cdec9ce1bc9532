// The breakout groups as the page knows them: where the user is, what it is told, and what it asks for.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BreakoutState, clock } from '../../Sources/Web/breakout-state.js';

const group = (id, more = {}) => ({ id, name: `Group ${id}`, people: 0, listeners: [], ...more });
const message = (state, more = {}) => ({ type: 'breakout', state, mayChoose: false, mayMove: false, own: 0, groups: [group(1), group(2)], speakers: [], ...more });

test('a server without groups tells nothing', () => {
  const breakout = new BreakoutState();
  assert.deepEqual(breakout.take(undefined, 0), []);
  assert.deepEqual([breakout.exists, breakout.isOpen, breakout.place, breakout.group, breakout.remaining(0)], [false, false, 0, null, null]);
});

test('who is assigned stays in the room until the groups are open', () => {
  const breakout = new BreakoutState();
  assert.deepEqual(breakout.take(message('planned', { own: 2 }), 0), []);
  assert.deepEqual([breakout.place, breakout.exists, breakout.isOpen], [0, true, false]);
  const news = breakout.take(message('open', { own: 2 }), 0);
  assert.deepEqual(news.map(({ type, group }) => [type, group?.id]), [['moved', 2]]);
  assert.equal(breakout.place, 2);
});

test('who stays in the room is told of the opening and the end', () => {
  const breakout = new BreakoutState();
  assert.deepEqual(breakout.take(message('open'), 0).map(({ type }) => type), ['opened']);
  assert.deepEqual(breakout.take(message('none', { groups: [] }), 0).map(({ type }) => type), ['back']);
});

test('a moved user, a countdown and the way back are told once', () => {
  const breakout = new BreakoutState();
  breakout.take(message('open', { own: 1 }), 0);
  assert.deepEqual(breakout.take(message('open', { own: 2 }), 0).map(({ type, group }) => [type, group.id]), [['moved', 2]]);
  assert.deepEqual(breakout.take(message('ending', { own: 2, endsIn: 60 }), 1000).map(({ type }) => type), ['ending']);
  assert.deepEqual(breakout.take(message('ending', { own: 2, endsIn: 50 }), 11_000), []);
  assert.deepEqual(breakout.take({ type: 'breakout', state: 'none' }, 61_000).map(({ type }) => type), ['back']);
});

test('the time left is of the user\'s clock, and never below zero', () => {
  const breakout = new BreakoutState();
  breakout.take(message('open', { endsIn: 90 }), 5000);
  assert.deepEqual([5000, 5500, 94_000, 95_000, 200_000].map(now => breakout.remaining(now)), [90, 90, 1, 0, 0]);
  assert.deepEqual([0, 9, 60, 754].map(clock), ['0:00', '0:09', '1:00', '12:34']);
});

test('a group is told who listens, and all who speaks to all', () => {
  const breakout = new BreakoutState();
  breakout.take(message('open', { own: 1 }), 0);
  const told = message('open', { own: 1, groups: [group(1, { listeners: ['ann'] }), group(2)], speakers: ['bob'] });
  assert.deepEqual(breakout.take(told, 0), [{ type: 'listened', ids: ['ann'] }, { type: 'addressed', ids: ['bob'] }]);
  assert.deepEqual(breakout.take(told, 0), []);
  // Who comes to a group that is listened to is told, too.
  const moved = breakout.take({ ...told, own: 2, groups: [group(1), group(2, { listeners: ['ann'] })] }, 0);
  assert.deepEqual(moved.map(({ type }) => type), ['moved', 'listened']);
});

test('a moderator hears into several groups and looks into one', () => {
  const breakout = new BreakoutState();
  breakout.take(message('open', { listensTo: [2], looksInto: 2 }), 0);
  assert.deepEqual(breakout.listening(1), { groups: [1, 2], look: 2 });
  assert.deepEqual(breakout.listening(2), { groups: [], look: 2 });
  assert.deepEqual(breakout.looking(1), { groups: [2], look: 1 });
  assert.deepEqual(breakout.looking(2), { groups: [2] });
});

test('people are found in the groups to which they are assigned', () => {
  const breakout = new BreakoutState();
  breakout.take(message('planned', { groups: [group(1, { participants: ['ann'] }), group(2, { participants: ['bob'] })] }), 0);
  assert.deepEqual(['ann', 'bob', 'cy'].map(id => breakout.assigned(id)), [1, 2, 0]);
});
