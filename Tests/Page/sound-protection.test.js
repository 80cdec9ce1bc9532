import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SoundProtection } from '../../Sources/Web/sound-protection.js';

/** The answers of so many seconds. */
const seconds = (protection, count, losses) => Array.from({ length: count }, () => protection.read(losses)).at(-1);

test('a clean link is left as it is, and so is one of which nothing is known', () => {
  const protection = new SoundProtection();
  assert.deepEqual(seconds(protection, 60, { lossDown: 0.01, lossUp: 0.02 }), { wait: null, copies: false });
  assert.deepEqual(seconds(protection, 60, { lossDown: null, lossUp: null }), { wait: null, copies: false });
});

test('each direction is protected by its own loss, within seconds', () => {
  const protection = new SoundProtection();
  assert.deepEqual(seconds(protection, 3, { lossDown: 0.2, lossUp: 0 }), { wait: 140, copies: false });
  assert.deepEqual(seconds(protection, 3, { lossDown: 0.2, lossUp: 0.3 }), { wait: 140, copies: true });
});

test('a single bad second changes nothing, and protection ends where hardly anything is lost any more', () => {
  const protection = new SoundProtection();
  assert.deepEqual(protection.read({ lossDown: 0.2, lossUp: 0.2 }), { wait: null, copies: false });
  seconds(protection, 10, { lossDown: 0.2, lossUp: 0.2 });
  assert.deepEqual(seconds(protection, 20, { lossDown: 0.05, lossUp: 0.05 }), { wait: 140, copies: true });
  // A silent link says nothing of its loss.
  assert.deepEqual(seconds(protection, 20, { lossDown: null, lossUp: null }), { wait: 140, copies: true });
  assert.deepEqual(seconds(protection, 10, { lossDown: 0, lossUp: 0 }), { wait: null, copies: false });
});
