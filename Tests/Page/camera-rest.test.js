import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CameraRest } from '../../Sources/Web/camera-rest.js';

/** Whether it rests after each of so many seconds. */
const seconds = (rest, count, carries, isWanted = true) => Array.from({ length: count }, () => rest.read({ carries, isWanted }));

test('a camera rests after six seconds on a line that carries the sound alone, and not after a dip', () => {
  const rest = new CameraRest();
  assert.ok(!seconds(rest, 5, 60_000).includes(true));
  assert.ok(!seconds(rest, 1, 200_000).includes(true));
  assert.deepEqual(seconds(rest, 6, 60_000), [false, false, false, false, false, true]);
});

test('where the browser does not say what the line carries it goes on', () => {
  assert.ok(!seconds(new CameraRest(), 100, null).includes(true));
});

test('it is tried again, after a time that doubles with each failure', () => {
  const rest = new CameraRest();
  const rests = [];
  for (let count = 0; count < 5; count += 1) {
    seconds(rest, 6, 60_000);
    let length = 0;
    do length += 1; while (rest.read({ carries: 60_000, isWanted: true }));
    rests.push(length);
  }
  assert.deepEqual(rests, [30, 60, 120, 240, 240]);
});

test('a try that lasts is no failure', () => {
  const rest = new CameraRest();
  seconds(rest, 6, 60_000);
  seconds(rest, 30, 60_000);
  assert.ok(!seconds(rest, 40, 500_000).includes(true));
  seconds(rest, 6, 60_000);
  assert.deepEqual(seconds(rest, 30, 60_000).slice(-2), [true, false]);
});

test('who switches the camera on again tries it at once', () => {
  const rest = new CameraRest();
  seconds(rest, 6, 60_000);
  assert.deepEqual(seconds(rest, 1, 60_000, false), [false]);
  assert.deepEqual(seconds(rest, 6, 60_000), [false, false, false, false, false, true]);
});
