// What `join` of the module for other sites rejects with.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { devices, pass, sockets } from './support/browser.js';

const { join } = await import('../../Sources/Web/tessera.js');
Object.defineProperty(globalThis, 'location', { value: { origin: 'https://portal.example' }, configurable: true });

/// How a join ends: the error, or null.
async function outcome(options, act) {
  sockets.length = 0;
  devices.delay = 10;
  /** @type {any} */
  let end;
  join(options).then(() => { end = null; }, error => { end = error; });
  await pass(30);
  await act?.();
  await pass(10);
  return end;
}

const WHERE = { server: 'https://meet.example', room: 'kitchen', name: 'Ada' };

test('a server that does not answer', async () => {
  const error = await outcome(WHERE, async () => {
    for (let turn = 0; turn < 100; turn += 1) {
      const socket = sockets.at(-1);
      if (socket.readyState !== 3) socket.dies();
      await pass(1000);
    }
  });
  assert.ok(error instanceof Error);
  assert.equal(error.code, 'unreachable');
  assert.equal(error.message, 'https://meet.example cannot be reached: check that the server runs, and that its http.allowedOrigins lists https://portal.example');
});

test('a server that refuses says why itself', async () => {
  const error = await outcome(WHERE, () => sockets[0].says({ type: 'error', code: 'wrong_pin', message: 'That is not the PIN.', fatal: true }));
  assert.ok(error instanceof Error);
  assert.deepEqual([error.code, error.message], ['wrong_pin', 'That is not the PIN.']);
});

test('a server that refuses without a word', async () => {
  const error = await outcome(WHERE, () => sockets[0].says({ type: 'error', code: 'forbidden', fatal: true }));
  assert.deepEqual([error.code, error.message], ['forbidden', 'the server refused the join (forbidden)']);
});

test('options that are missing or wrong open no device and no socket', async () => {
  for (const [options, code, words] of [
    [undefined, 'bad_message', 'room is missing'], [{ room: 'kitchen' }, 'bad_message', 'name is missing'], [{ ...WHERE, room: 7 }, 'bad_message', 'room is missing'],
    [{ ...WHERE, server: 'meet.example' }, 'bad_message', 'write https://HOST instead of meet.example'],
  ]) {
    const error = await outcome(options);
    assert.equal(error.code, code);
    assert.ok(error instanceof Error && error.message.includes(/** @type {string} */ (words)), error.message);
    assert.equal(sockets.length, 0);
  }
});
