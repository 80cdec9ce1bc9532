import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostKeys } from '../../Sources/Web/host-keys.js';

function store(text = null) {
  return { text, getItem() { return this.text; }, setItem(name, value) { this.text = value; } };
}

test('a key is kept by room, replaced, and forgotten', () => {
  const kept = store();
  const keys = new HostKeys(kept);
  keys.keep('board', 'one');
  keys.keep('daily', 'two');
  keys.keep('board', 'three');
  assert.equal(new HostKeys(kept).find('board'), 'three');
  assert.equal(new HostKeys(kept).find('daily'), 'two');
  keys.keep('board', null);
  assert.equal(keys.find('board'), null);
  assert.equal(keys.find('daily'), 'two');
});

test('the keys of the latest fifty rooms are kept', () => {
  const keys = new HostKeys(store());
  for (let number = 0; number < 60; number += 1) keys.keep(`r${number}`, `k${number}`);
  assert.equal(keys.find('r9'), null);
  assert.equal(keys.find('r10'), 'k10');
  assert.equal(keys.find('r59'), 'k59');
});

test('what is no list of keys counts as none, and a store that is full or closed is done without', () => {
  for (const text of ['', '{', '{}', '7', '[7,["a"],["room",1],null]']) assert.equal(new HostKeys(store(text)).find('room'), null, text);
  const full = { getItem: () => '[]', setItem() { throw new Error('full'); } };
  const keys = new HostKeys(full);
  keys.keep('board', 'one');
  assert.equal(keys.find('board'), 'one');
  const none = new HostKeys(null);
  none.keep('board', 'one');
  assert.equal(none.find('board'), 'one');
});
