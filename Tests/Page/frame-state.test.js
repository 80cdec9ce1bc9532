// What the page takes of the page that frames it, and tells it.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { FrameState, permits } from '../../Sources/Web/frame-state.js';

const OWN = 'https://meet.example', PORTAL = 'https://portal.example';
const policy = list => `default-src 'self'; img-src 'self' data:; frame-ancestors ${list}`;

test('the pages that the server lets frame it may command, and no others', () => {
  const listed = policy(`'self' ${PORTAL} http://[::1]:8081`);
  for (const origin of [PORTAL, 'http://[::1]:8081', OWN]) assert.ok(permits(listed, origin, OWN), origin);
  for (const origin of ['https://evil.example', 'http://portal.example', 'https://portal.example:444', 'https://portal.example.evil.example', 'null', '']) {
    assert.ok(!permits(listed, origin, OWN), origin);
  }
  assert.ok(!permits(policy('\'none\''), OWN, OWN));
  assert.ok(permits(policy('*'), 'https://any.example', OWN));
  assert.ok(!permits(policy('*'), 'null', OWN), 'a sandboxed document is everybody\'s');
});

test('without the server\'s word nobody commands, and of two policies both count', () => {
  for (const none of [null, '', 'default-src \'self\'']) assert.ok(!permits(none, PORTAL, OWN), String(none));
  assert.ok(permits(`${policy(PORTAL)}, ${policy('*')}`, PORTAL, OWN));
  assert.ok(!permits(`${policy(PORTAL)}, ${policy('\'none\'')}`, PORTAL, OWN));
  assert.ok(!permits(`${policy(PORTAL)}, upgrade-insecure-requests`, PORTAL, OWN));
});

test('messages of others are no messages', () => {
  const state = new FrameState();
  for (const data of [undefined, null, 'mute', 7, [], {}, { command: 'mute' }]) assert.equal(state.heard(data, 'call', 0), null);
});

test('a command with its fields', () => {
  const state = new FrameState();
  assert.deepEqual(state.heard({ tessera: 1, command: 'camera', on: false, more: 'x', id: 7 }, 'call', 0), { command: 'camera', id: 7, fields: { on: false } });
  assert.deepEqual(state.heard({ tessera: 1, command: 'layout', name: null }, 'call', 0), { command: 'layout', fields: { name: null } });
  assert.deepEqual(state.heard({ tessera: 1, command: 'join', name: 'Ada' }, 'lobby', 0), { command: 'join', fields: { name: 'Ada' } });
});

test('what cannot be done is said, with the id of the command', () => {
  for (const [message, phase, code] of /** @type {any[]} */ ([
    [{ tessera: 2, command: 'mute' }, 'call', 'version'], [{ tessera: '1', command: 'mute' }, 'call', 'version'],
    [{ tessera: 1, command: 'format' }, 'call', 'command'], [{ tessera: 1, command: 'toString' }, 'call', 'command'], [{ tessera: 1 }, 'call', 'command'],
    [{ tessera: 1, command: ['mute'] }, 'call', 'command'],
    [{ tessera: 1, command: 'camera' }, 'call', 'field'], [{ tessera: 1, command: 'camera', on: 1 }, 'call', 'field'],
    [{ tessera: 1, command: 'layout', name: 'x'.repeat(65) }, 'call', 'field'], [{ tessera: 1, command: 'layout', name: 'grid', scope: 'all' }, 'call', 'field'],
    [{ tessera: 1, command: 'join', name: '' }, 'lobby', 'field'],
    [{ tessera: 1, command: 'mute' }, 'lobby', 'phase'], [{ tessera: 1, command: 'unmute' }, 'waiting', 'phase'], [{ tessera: 1, command: 'join' }, 'call', 'phase'],
  ])) {
    const told = /** @type {any} */ (new FrameState().heard({ ...message, id: 'a1' }, phase, 0));
    assert.deepEqual([told.tessera, told.event, told.code, told.id], [1, 'error', code, 'a1'], JSON.stringify(message));
    assert.ok(told.message.length < 300);
  }
  const long = /** @type {any} */ (new FrameState().heard({ tessera: 1, command: 'y'.repeat(1e6), id: 'x'.repeat(1e6) }, 'call', 0));
  assert.ok(JSON.stringify(long).length < 400, 'nothing of any length comes back');
});

test('twenty commands at once, and then five a second', () => {
  const state = new FrameState();
  const taken = (count, now) => Array.from({ length: count }, () => state.heard({ tessera: 1, command: 'mute' }, 'call', now)).filter(Boolean).length;
  assert.equal(taken(50, 0), 20);
  assert.equal(taken(50, 1000), 5);
  assert.equal(taken(50, 60_000), 20);
});

test('nothing is told before a hello, and a state at its changes only', () => {
  const state = new FrameState();
  assert.equal(state.tells('joined', { id: 'p1' }), null);
  assert.deepEqual(state.hello({ phase: 'call' }), { tessera: 1, event: 'state', phase: 'call' });
  assert.deepEqual(state.tells('muted', { muted: true }, true), { tessera: 1, event: 'muted', muted: true });
  assert.equal(state.tells('muted', { muted: true }, true), null);
  assert.deepEqual(state.tells('muted', { muted: false }, true), { tessera: 1, event: 'muted', muted: false });
  assert.deepEqual(state.tells('speaker', { id: null }), { tessera: 1, event: 'speaker', id: null });
  assert.deepEqual(state.tells('speaker', { id: null }), { tessera: 1, event: 'speaker', id: null });
});

test('the frames of the guide may use what the page uses', async () => {
  const guide = await readFile(new URL('../../Sources/Gateway/Gateway.docc/Embedding.md', import.meta.url), 'utf8');
  const frames = [...guide.matchAll(/<iframe [^>]*allow="([^"]*)"/g)].map(([, allowed]) => allowed.split('; '));
  assert.ok(frames.length >= 2);
  // Without the last one phones go dark in the middle of a call.
  for (const allowed of frames) for (const use of ['camera', 'microphone', 'autoplay', 'screen-wake-lock']) assert.ok(allowed.includes(use), `${use}: ${allowed}`);
});
