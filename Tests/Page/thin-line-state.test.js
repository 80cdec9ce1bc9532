// What the user's own side does about a bad line, second by second.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ThinLineState } from '../../Sources/Web/thin-line-state.js';

/// A user with a camera that is switched on, and does what the state says.
class User {
  state = new ThinLineState();
  at = 0;
  isOn = true;
  isResting = false;
  rests = [];

  second({ mayUp = /** @type {number | null} */ (500), lossUp = /** @type {number | null} */ (0), lossDown = 0, roundTrip = 0.1 } = {}) {
    this.at += 1000;
    this.plan = this.state.read({ mayUp, lossUp, lossDown, roundTrip }, { isSent: this.isOn && !this.isResting, isResting: this.isResting }, this.at);
    if (this.plan.rests !== this.isResting) this.rests.push([this.at / 1000, this.plan.rests]);
    this.isResting = this.plan.rests && this.isOn;
    return this.plan;
  }

  seconds(count, line) {
    for (let second = 0; second < count; second += 1) this.second(line);
    return this;
  }
}

const THIN = { mayUp: 60 };

test('the camera rests on a thin way up, after some seconds, and not in one bad moment', () => {
  const user = new User().seconds(10).seconds(3, THIN).seconds(10);
  assert.deepEqual(user.rests, []);
  user.seconds(6, THIN);
  assert.deepEqual(user.rests, [[29, true]]);
});

test('a queue that stands on the way up is a thin line, whatever the browser takes it for, and gets no copies', () => {
  for (const mayUp of [300, null]) {
    const queue = { mayUp, lossUp: 0.2, roundTrip: 1.1 }, user = new User().seconds(10);
    for (let second = 0; second < 12 && !user.isResting; second += 1) {
      user.second(queue);
      assert.ok(user.isResting || !user.plan.hasCopies);
    }
    assert.ok(user.isResting && user.rests[0][0] <= 17, JSON.stringify(user.rests));
    assert.equal(user.plan.speech, 16);
  }
  // By satellite, or with the loss of a radio link, nothing stands in a queue.
  for (const line of [{ roundTrip: 0.9 }, { lossUp: 0.2, roundTrip: 0.3 }]) assert.deepEqual(new User().seconds(60, line).rests, []);
});

test('a browser at its least rests the camera where reports are still late after some seconds', () => {
  const least = { mayUp: 93 }, full = { ...least, roundTrip: 1.05 };
  // As seen at 60 kbit/s: the round trip is known late.
  assert.deepEqual(new User().seconds(10).seconds(3, least).seconds(5, full).rests, [[16, true]]);
  // At 150: the queue of the old rate is gone by then, while the estimate stays.
  assert.deepEqual(new User().seconds(10).seconds(2, least).seconds(2, full).seconds(60, { ...least, roundTrip: 0.13 }).rests, []);
  // Far away, and nothing stands in a queue.
  assert.deepEqual(new User().seconds(10, { roundTrip: 0.9 }).seconds(60, { ...least, roundTrip: 0.95 }).rests, []);
});

test('it is tried again after 30 s, and in vain twice as late each time, up to five minutes', () => {
  const user = new User().seconds(1500, THIN);
  const resting = user.rests.filter(([, rests]) => rests).map(([at]) => at), back = user.rests.filter(([, rests]) => !rests).map(([at]) => at);
  assert.deepEqual(back.map((at, index) => at - resting[index]), [30, 60, 120, 240, 300, 300, 300].slice(0, back.length));
  assert.ok(back.length >= 5);
});

test('once a camera was sent for a minute, it rests for 30 s again', () => {
  const user = new User().seconds(200, THIN).seconds(200);
  assert.equal(user.isResting, false);
  user.rests = [];
  user.seconds(40, THIN);
  assert.deepEqual(user.rests.map(([, rests]) => rests), [true, false]);
  assert.equal(user.rests[1][0] - user.rests[0][0], 30);
});

test('who switches the camera on while it rests is obeyed until it is switched off', () => {
  const user = new User().seconds(8, THIN);
  assert.ok(user.isResting);
  user.isResting = false;
  user.seconds(300, THIN);
  assert.equal(user.rests.length, 1);
  user.isOn = false;
  user.seconds(2, THIN);
  user.isOn = true;
  assert.ok(user.seconds(8, THIN).isResting);
});

test('who switches the camera off while it rests leaves no rest behind', () => {
  const user = new User().seconds(8, THIN);
  user.isOn = user.isResting = false;
  user.seconds(5, THIN);
  assert.equal(user.plan.rests, false);
});

test('a browser that does not say what the way up carries sends on', () => {
  const user = new User().seconds(60, { mayUp: null, lossUp: null });
  assert.deepEqual([user.rests, user.plan], [[], { rests: false, hasCopies: false, wait: null, speech: null }]);
});

test('speech goes up twice from three lost of a hundred on, and once again after half a calm minute', () => {
  const user = new User().seconds(20, { lossUp: 0.02 });
  assert.equal(user.plan.hasCopies, false);
  assert.equal(user.seconds(20, { lossUp: 0.06 }).plan.hasCopies, true);
  assert.equal(user.seconds(20, { lossUp: 0.02 }).plan.hasCopies, true);
  assert.equal(user.seconds(30).plan.hasCopies, true);
  assert.equal(user.seconds(30).plan.hasCopies, false);
});

test('a way up that loses much beside little room is thin, whatever the browser takes it to carry', () => {
  const user = new User().seconds(20, { mayUp: 120, lossUp: 0.05 });
  assert.equal(user.plan.rests, false);
  assert.equal(user.seconds(20, { mayUp: 120, lossUp: 0.3 }).plan.rests, true);
  const roomy = new User().seconds(60, { mayUp: 250, lossUp: 0.3 });
  assert.deepEqual(roomy.rests, []);
});

test('on a thin way up speech goes up twice only while the camera rests', () => {
  const user = new User().seconds(30, { mayUp: 110, lossUp: 0.05 });
  assert.deepEqual([user.plan.rests, user.plan.hasCopies], [false, false]);
  user.seconds(8, { mayUp: 60, lossUp: 0.05 });
  assert.deepEqual([user.plan.rests, user.plan.hasCopies], [true, true]);
});

test('one bad second changes nothing', () => {
  const user = new User().seconds(5).seconds(1, { lossUp: 0.2, lossDown: 0.5 }).seconds(1);
  assert.deepEqual(user.plan, { rests: false, hasCopies: false, wait: null, speech: null });
});

test('the sound is waited for where copies come late, and speech takes less on a thin way up', () => {
  const user = new User().seconds(20, { lossDown: 0.3 });
  assert.equal(user.plan.wait, 140);
  assert.equal(user.seconds(80).plan.wait, null);
  assert.equal(user.seconds(8, THIN).plan.speech, 16);
  assert.equal(user.seconds(60, { mayUp: 120 }).plan.speech, 16);
  assert.equal(user.seconds(31).plan.speech, null);
});
