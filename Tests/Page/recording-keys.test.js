// The keys of recordings that a browser keeps.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { byDay, MOST, RecordingKeys } from '../../Sources/Web/recording-keys.js';

const DAY = 86_400_000;

function storage(text = null) {
  return { text, getItem() { return this.text; }, setItem(_, value) { this.text = value; } };
}

const entry = (number, { key = `recording.${number}`, end = 90 } = {}) => ({
  id: `r${number}`, room: 'standup', startedAt: new Date(number * DAY).toISOString(), state: 'recording', bytes: 5,
  ...(key ? { key, keyExpiresAt: new Date((number + end) * DAY).toISOString() } : {}),
});
const ids = keys => keys.all.map(({ id }) => id);

test('what has a key is kept, the newest first, and nothing else of it', () => {
  const store = storage();
  const keys = new RecordingKeys(store, () => 10 * DAY);
  keys.keep([entry(1), entry(3), entry(2, { key: '' })]);
  keys.keep([entry(2), entry(3, { key: 'recording.new' })]);
  assert.deepEqual(ids(keys), ['r3', 'r2', 'r1']);
  assert.deepEqual(Object.keys(keys.all[0]).sort(), ['id', 'key', 'keyExpiresAt', 'room', 'startedAt']);
  assert.equal(keys.all[0].key, 'recording.new');
  keys.forget('r2');
  assert.deepEqual(ids(new RecordingKeys(store, () => 10 * DAY)), ['r3', 'r1']);
});

test('keys end with their time', () => {
  let now = 10 * DAY;
  const keys = new RecordingKeys(storage(), () => now);
  keys.keep([entry(1), entry(5)]);
  now = 92 * DAY;
  assert.deepEqual(ids(keys), ['r5']);
});

test('the newest stay where there are too many', () => {
  const keys = new RecordingKeys(storage(), () => 10 * DAY);
  keys.keep(Array.from({ length: MOST + 20 }, (_, number) => entry(number)));
  assert.equal(keys.all.length, MOST);
  assert.equal(keys.all.at(-1).id, 'r20');
});

test('a browser without storage, and rubbish in it, are no recordings', () => {
  for (const text of ['', 'null', '5', '{}', '[null, 1, {"id": 5}, {"id": "x"}]', '[{"id": "a", "room": "b", "startedAt": "c", "key": "d"}]']) {
    assert.deepEqual(ids(new RecordingKeys(storage(text), () => 0)), [], text);
  }
  const broken = { getItem() { throw new Error('no'); }, setItem() { throw new Error('no'); } };
  const keys = new RecordingKeys(broken, () => 0);
  keys.keep([entry(1)]);
  assert.deepEqual(ids(keys), []);
});

test('days have their recordings in order', () => {
  const list = [['c', 2], ['b', 2], ['a', 1], ['z', 2]].map(([id, day]) => ({ id, day }));
  assert.deepEqual(byDay(list, ({ day }) => day).map(({ day, entries }) => [day, entries.map(({ id }) => id).join('')]), [[2, 'cb'], [1, 'a'], [2, 'z']]);
});
