// What is written for the chat is never lost: it is in the field, on its way, or shown to all.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ChatOutbox, MOST_BYTES } from '../../Sources/Web/chat-outbox.js';

test('the length is that of the bytes: three thousand Chinese characters are too long, and stay in the field', () => {
  const outbox = new ChatOutbox(), long = '語'.repeat(3000);
  assert.deepEqual(outbox.measure(long), { bytes: 9000, isNear: true, isTooLong: true });
  assert.equal(outbox.send(long, '', 0), false);
  assert.equal(outbox.refused(), null, 'it was not sent');
  assert.equal(outbox.send('語'.repeat(2730), '', 0), true);
  assert.equal(outbox.send('a'.repeat(MOST_BYTES), '', 0), true);
  assert.equal(outbox.send('a'.repeat(MOST_BYTES + 1), '', 0), false);
});

test('the count is there before the limit, and not for ordinary messages', () => {
  const outbox = new ChatOutbox();
  assert.equal(outbox.measure('Hello').isNear, false);
  assert.deepEqual(outbox.measure('é'.repeat(3300)), { bytes: 6600, isNear: true, isTooLong: false });
});

test('what is refused comes back with its receiver, and what was shown does not', () => {
  const outbox = new ChatOutbox();
  outbox.send('one', '', 0);
  outbox.send('two', 'p2', 10);
  outbox.shown({ text: 'one', to: undefined });
  assert.deepEqual(outbox.refused(), { text: 'two', to: 'p2', at: 10 });
  assert.equal(outbox.refused(), null);
});

test('the same text to two receivers is two messages', () => {
  const outbox = new ChatOutbox();
  outbox.send('hi', 'p2', 0);
  outbox.send('hi', '', 1);
  outbox.shown({ text: 'hi', to: undefined });
  assert.deepEqual(outbox.refused(), { text: 'hi', to: 'p2', at: 0 });
});

test('what never arrives comes back after a while, and at the end of the call', () => {
  const outbox = new ChatOutbox();
  outbox.send('lost', '', 0);
  outbox.send('late', '', 15_000);
  assert.deepEqual(outbox.overdue(19_999), []);
  assert.deepEqual(outbox.overdue(20_000).map(({ text }) => text), ['lost']);
  assert.deepEqual(outbox.close().map(({ text }) => text), ['late']);
  assert.deepEqual(outbox.close(), []);
});

test('what waits for a server that is away is not late: it is sent once', () => {
  const outbox = new ChatOutbox();
  outbox.send('waits', '', 0);
  outbox.resume(40_000);
  assert.deepEqual(outbox.overdue(40_000), []);
  outbox.shown({ text: 'waits', to: undefined });
  assert.deepEqual(outbox.overdue(99_000), []);
});

test('a server that answers nothing does not get message after message', () => {
  const outbox = new ChatOutbox();
  let sent = 0;
  for (let index = 0; index < 100; index += 1) sent += Number(outbox.send(`${index}`, '', index));
  assert.equal(sent, 20);
});
