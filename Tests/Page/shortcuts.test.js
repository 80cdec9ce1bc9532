import assert from 'node:assert/strict';
import { test } from 'node:test';

import { actionOf } from '../../Sources/Web/shortcuts.js';

const press = (key, code, held = {}) => actionOf({ key, code, ...held });

test('a letter has its action, large or small, wherever it lies on the keyboard', () => {
  const actions = { m: 'audio', v: 'video', h: 'hand', f: 'fullScreen', k: 'mark' };
  for (const [key, action] of Object.entries(actions)) {
    assert.equal(press(key, `Key${key.toUpperCase()}`), action);
    assert.equal(press(key.toUpperCase(), `Key${key.toUpperCase()}`), action, 'Caps Lock, or Shift');
  }
  assert.equal(press('m', 'Semicolon'), 'audio', 'AZERTY');
  assert.equal(press(',', 'KeyM'), undefined, 'AZERTY');
  assert.equal(press('v', 'Period'), 'video', 'Dvorak');
  assert.equal(press('k', 'KeyV'), 'mark', 'Dvorak');
});

test('where letters are of another script the place of the key counts', () => {
  // Cyrillic, Greek, Hebrew, Arabic.
  for (const key of ['ь', 'Ь', 'μ', 'צ', 'ة']) assert.equal(press(key, 'KeyM'), 'audio');
  assert.equal(press('м', 'KeyV'), 'video');
  assert.equal(press('х', 'BracketLeft'), undefined);
});

test('other keys, and commands of the browser, do nothing', () => {
  for (const [key, code] of [['x', 'KeyX'], ['Enter', 'Enter'], [' ', 'Space'], ['1', 'Digit1'], ['F', ''], ['Dead', 'KeyM'], ['', 'KeyM']]) {
    assert.equal(press(key, code), key === 'F' ? 'fullScreen' : undefined, key);
  }
  for (const held of ['ctrlKey', 'metaKey', 'altKey']) assert.equal(press('m', 'KeyM', { [held]: true }), undefined);
  assert.equal(press('toString', 'KeyM'), undefined);
});
