// On the air is what the page says, in every order in which devices, servers, hosts and fingers act.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SendingState } from '../../Sources/Web/sending-state.js';

/** @typedef {import('../../Sources/Web/sending-state.js').Kind} Kind */
/** @type {Kind[]} */
const KINDS = ['audio', 'video'];
const OFF = { audio: false, video: false }, BOTH = { audio: true, video: true };

/// A user whose devices open when the test says so.
class User {
  constructor() {
    this.state = new SendingState();
    this.openings = { audio: [], video: [] };
    this.tracks = { audio: 0, video: 0 };
    this.dropped = 0;
    this.problems = [];
  }

  do(actions) {
    for (const { type, ...action } of actions) {
      if (type === 'open') this.openings[action.kind].push(action);
      else if (type === 'take') this.tracks[action.kind] = 1;
      else if (type === 'stop') this.tracks[action.kind] = 0;
      else if (type === 'drop') this.dropped += 1;
      else this.problems.push(action.problem.code);
    }
    return this;
  }

  opens(kind) { return this.do(this.state.opened(kind, this.openings[kind].shift().attempt)); }
  fails(kind, code = 'denied') { return this.do(this.state.failed(kind, this.openings[kind].shift().attempt, { code })); }
  want(kind, isOn) { return this.do(this.state.want(kind, isOn)); }
  toggle(kind) { return this.do(this.state.toggle(kind)); }

  /// In the lobby, with these devices chosen and not open yet.
  static inLobby(devices = {}) {
    const user = new User();
    return user.do(user.state.open(devices));
  }

  /// In a call with both devices open.
  static inCall() {
    const user = User.inLobby().opens('audio').opens('video');
    user.state.join();
    user.state.enter();
    return user;
  }

  says(audio, video, told) {
    assert.deepEqual({ audio: this.state.shown('audio'), video: this.state.shown('video') }, { audio, video });
    assert.deepEqual(this.state.told, told);
    for (const kind of KINDS) {
      // The invariant of all of this: what is said is what leaves.
      const leaves = this.state.isCarried(kind) && this.state.isEnabled(kind) && this.tracks[kind] === 1;
      assert.equal(told[kind], leaves, `${kind} leaves: ${leaves}`);
      assert.equal(this.state.shown(kind) === 'on', leaves);
    }
    return this;
  }
}

test('nothing is sent in the lobby, where the preview shows it', () => {
  const user = User.inLobby().opens('audio').opens('video').says('off', 'off', OFF);
  assert.ok(user.state.isEnabled('audio') && user.state.isEnabled('video'));
  assert.ok(!user.state.isCarried('audio') && !user.state.isCarried('video'));
});

test('who joins with open devices is heard and seen', () => {
  User.inCall().says('on', 'on', BOTH);
});

test('who joins before the devices are open is heard and seen once they are, and says so not before', () => {
  const user = User.inLobby();
  user.state.join();
  user.says('off', 'off', OFF);
  user.state.enter();
  user.says('opening', 'opening', OFF);
  user.opens('audio').says('on', 'opening', { audio: true, video: false });
  user.opens('video').says('on', 'on', BOTH);
});

test('what the browser refuses after the join is off, and the user is told', () => {
  const user = User.inLobby();
  user.state.join();
  user.state.enter();
  user.fails('audio').says('off', 'opening', OFF);
  user.fails('video', 'inUse').says('off', 'off', OFF);
  assert.deepEqual(user.problems, ['denied', 'inUse']);
  // A press tries again.
  user.toggle('audio').says('opening', 'off', OFF).opens('audio').says('on', 'off', { audio: true, video: false });
});

test('what the browser refuses in the lobby is the lobby\'s to show', () => {
  const user = User.inLobby().fails('audio');
  assert.deepEqual(user.problems, []);
  user.state.join();
  user.opens('video');
  user.state.enter();
  user.says('off', 'on', { audio: false, video: true });
});

test('who leaves the call before the devices are open leaves none of them open', () => {
  const user = User.inLobby();
  user.state.join();
  user.state.enter();
  user.do(user.state.leave());
  user.opens('audio').opens('video').says('off', 'off', OFF);
  assert.equal(user.dropped, 2);
});

test('push to talk that is released while the device opens leaves it muted', () => {
  const user = User.inLobby({ camera: 'none', microphone: 'none' });
  user.state.join();
  user.state.enter();
  user.says('off', 'off', OFF).want('audio', true).says('opening', 'off', OFF);
  user.want('audio', false).says('off', 'off', OFF);
  user.opens('audio').says('off', 'off', OFF);
  assert.equal(user.tracks.audio, 1, 'open for the next press');
  user.want('audio', true).says('on', 'off', { audio: true, video: false });
  user.want('audio', false).says('off', 'off', OFF);
  assert.deepEqual(user.openings.audio, []);
});

test('push to talk that is pressed again while the device opens speaks, with one device', () => {
  const user = User.inLobby({ camera: 'none', microphone: 'none' });
  user.state.join();
  user.state.enter();
  user.want('audio', true).want('audio', false).want('audio', true);
  assert.equal(user.openings.audio.length, 1);
  user.opens('audio').says('on', 'off', { audio: true, video: false });
});

test('two quick presses of the camera leave it off, and its light', () => {
  const user = User.inCall().toggle('video').says('on', 'off', { audio: true, video: false });
  user.toggle('video').toggle('video').opens('video').says('on', 'off', { audio: true, video: false });
  assert.equal(user.tracks.video, 0);
  assert.equal(user.dropped, 1);
});

test('three quick presses of the camera leave it on, by the last opening', () => {
  const user = User.inCall().toggle('video').toggle('video').toggle('video').toggle('video');
  user.opens('video').says('on', 'opening', { audio: true, video: false });
  user.opens('video').says('on', 'on', BOTH);
  assert.equal(user.dropped, 1);
});

test('a host who mutes while the microphone opens is obeyed', () => {
  const user = User.inLobby();
  user.state.join();
  user.state.enter();
  user.want('audio', false).opens('audio').opens('video').says('off', 'on', { audio: false, video: true });
});

test('a muted microphone is carried as silence, and on again at once', () => {
  const user = User.inCall().toggle('audio').says('off', 'on', { audio: false, video: true });
  assert.ok(user.state.isCarried('audio') && !user.state.isEnabled('audio'));
  user.toggle('audio').says('on', 'on', BOTH);
});

test('nothing is sent to who waits to be let in', () => {
  const user = User.inLobby().opens('audio').opens('video');
  user.state.join();
  user.state.wait();
  user.says('off', 'off', OFF);
  assert.ok(!user.state.isCarried('audio') && !user.state.isCarried('video'));
  assert.ok(!user.state.isEnabled('audio') && !user.state.isEnabled('video'), 'not by a connection that is forgotten, either');
  user.state.enter();
  user.says('on', 'on', BOTH);
});

test('who loses the seat and waits again sends nothing until the second admission, which gives back what was wanted', () => {
  const user = User.inCall().toggle('audio');
  user.state.wait();
  user.says('off', 'off', OFF);
  user.state.enter();
  user.says('off', 'on', { audio: false, video: true });
});

test('a device that opens while the user waits is sent at the admission', () => {
  const user = User.inLobby();
  user.state.join();
  user.state.wait();
  user.opens('audio').fails('video').says('off', 'off', OFF);
  user.state.enter();
  user.says('on', 'off', { audio: true, video: false });
});

test('who is not let in has the preview again', () => {
  const user = User.inLobby().opens('audio').opens('video');
  user.state.join();
  user.state.wait();
  user.state.refused();
  user.says('off', 'off', OFF);
  assert.ok(user.state.isEnabled('video') && user.tracks.video);
});

test('the audience has the devices closed, and on stage opens them by hand', () => {
  const user = User.inLobby().opens('audio').opens('video');
  user.state.join();
  user.state.enter();
  user.do(user.state.sit(true)).says('off', 'off', OFF);
  assert.deepEqual(user.tracks, { audio: 0, video: 0 });
  user.toggle('audio').toggle('video').says('off', 'off', OFF);
  assert.deepEqual(user.openings, { audio: [], video: [] });
  user.do(user.state.sit(false)).says('off', 'off', OFF);
  user.toggle('audio').opens('audio').says('on', 'off', { audio: true, video: false });
  user.do(user.state.sit(true)).says('off', 'off', OFF);
  assert.equal(user.tracks.audio, 0);
});

test('who goes back into the audience while a device opens does not send it', () => {
  const user = User.inLobby({ camera: 'none', microphone: 'none' });
  user.state.join();
  user.state.enter();
  user.do(user.state.sit(true)).do(user.state.sit(false)).want('audio', true).do(user.state.sit(true)).opens('audio').says('off', 'off', OFF);
  assert.equal(user.dropped, 1);
  user.do(user.state.sit(false)).says('off', 'off', OFF);
});

test('a short press of push to talk on stage, from the audience, leaves the microphone muted', () => {
  const user = User.inLobby();
  user.opens('audio').opens('video');
  user.state.join();
  user.state.enter();
  user.do(user.state.sit(true)).do(user.state.sit(false)).want('audio', true).want('audio', false).opens('audio').says('off', 'off', OFF);
});

test('a device that is unplugged is off, and the user is told', () => {
  const user = User.inCall();
  user.do(user.state.ended('audio')).says('off', 'on', { audio: false, video: true });
  user.do(user.state.ended('audio'));
  assert.deepEqual(user.problems, ['gone']);
  user.toggle('audio').says('opening', 'on', { audio: false, video: true }).opens('audio').says('on', 'on', BOTH);
});

test('a microphone that the system pauses is not sent, and can be switched off meanwhile', () => {
  const user = User.inCall();
  user.do(user.state.paused('audio', true)).says('paused', 'on', { audio: false, video: true });
  user.do(user.state.paused('audio', false)).says('on', 'on', BOTH);
  user.do(user.state.paused('audio', true)).toggle('audio').do(user.state.paused('audio', false)).says('off', 'on', { audio: false, video: true });
  // Another one is not paused, and one that opens may be.
  user.do(user.state.paused('audio', true)).do(user.state.choose('audio', 'other'));
  user.opens('audio').toggle('audio').says('on', 'on', BOTH);
  user.do(user.state.reopen('audio')).do(user.state.opened('audio', user.openings.audio.shift().attempt, true)).says('paused', 'on', { audio: false, video: true });
  user.do(user.state.ended('audio')).do(user.state.paused('audio', true)).says('off', 'on', { audio: false, video: true });
});

test('a device that is unplugged while muted is opened by the next unmuting', () => {
  const user = User.inCall().toggle('audio');
  user.do(user.state.ended('audio')).says('off', 'on', { audio: false, video: true });
  user.toggle('audio').says('opening', 'on', { audio: false, video: true });
  user.fails('audio', 'missing').says('off', 'on', { audio: false, video: true });
  assert.deepEqual(user.problems, ['gone', 'missing']);
});

test('a device that is unplugged while another opens in its place does not end that one', () => {
  const user = User.inCall();
  user.do(user.state.choose('audio', 'other')).do(user.state.ended('audio')).says('opening', 'on', { audio: false, video: true });
  user.opens('audio').says('on', 'on', BOTH);
});

test('another device takes the place of the first once it is open, and a refused one does not', () => {
  const user = User.inCall();
  user.do(user.state.choose('video', 'other')).says('on', 'on', BOTH);
  assert.equal(user.openings.video[0].id, 'other');
  user.fails('video', 'inUse').says('on', 'on', BOTH);
  user.do(user.state.choose('video', 'other')).opens('video').says('on', 'on', BOTH);
});

test('who is muted stays so with another microphone, and muting while it opens counts', () => {
  const user = User.inCall().toggle('audio');
  user.do(user.state.choose('audio', 'other')).opens('audio').says('off', 'on', { audio: false, video: true });
  user.toggle('audio').do(user.state.choose('audio', 'third')).want('audio', false).opens('audio').says('off', 'on', { audio: false, video: true });
});

test('the choice of no device closes it, and the next press opens any', () => {
  const user = User.inCall();
  user.do(user.state.choose('audio', 'none')).says('off', 'on', { audio: false, video: true });
  user.toggle('audio');
  assert.equal(user.openings.audio[0].id, '');
  user.opens('audio').says('on', 'on', BOTH);
});

test('the last of two choices counts, in whatever order the devices open', () => {
  const user = User.inCall();
  user.do(user.state.choose('video', 'one')).do(user.state.choose('video', 'two'));
  const [one, two] = user.openings.video;
  user.do(user.state.opened('video', two.attempt)).do(user.state.opened('video', one.attempt)).says('on', 'on', BOTH);
  assert.equal(user.dropped, 1);
});

test('the other camera of a phone is opened after the first is closed', () => {
  const user = User.inCall();
  user.do(user.state.flip('environment')).says('on', 'opening', { audio: true, video: false });
  assert.equal(user.openings.video[0].facing, 'environment');
  user.opens('video').says('on', 'on', BOTH);
  user.do(user.state.flip('user')).fails('video', 'inUse').says('on', 'off', { audio: true, video: false });
});

test('nothing is sent until the user agrees to be recorded', () => {
  const user = User.inLobby().opens('audio');
  user.state.join();
  user.state.hold();
  user.state.enter();
  user.says('off', 'off', OFF).opens('video').says('off', 'off', OFF);
  user.toggle('audio').want('video', true).says('off', 'off', OFF);
  user.do(user.state.release(true)).says('on', 'on', BOTH);
});

test('who is muted by a host before the answer stays muted after it', () => {
  const user = User.inCall();
  user.state.hold();
  user.want('audio', false).do(user.state.release(true)).says('off', 'on', { audio: false, video: true });
});

test('who does not agree is off with the camera closed, and may turn on each by hand', () => {
  const user = User.inLobby().opens('audio');
  user.state.join();
  user.state.hold();
  user.state.enter();
  user.do(user.state.release(false)).opens('video').says('off', 'off', OFF);
  assert.deepEqual([user.tracks.video, user.dropped], [0, 1]);
  user.toggle('audio').says('on', 'off', { audio: true, video: false });
});

test('who turns a device off in the lobby comes in without it, and the next press turns it on', () => {
  const user = User.inLobby().opens('audio').opens('video');
  const { state } = user;
  assert.deepEqual([state.chosen('audio'), state.chosen('video')], ['on', 'on']);
  user.toggle('audio').toggle('video');
  assert.deepEqual([state.chosen('audio'), state.chosen('video'), user.tracks.audio, user.tracks.video], ['off', 'off', 1, 0], 'the light of the camera is off');
  state.join();
  state.enter();
  user.says('off', 'off', OFF).toggle('audio').says('on', 'off', { audio: true, video: false });
  user.toggle('video').says('on', 'opening', { audio: true, video: false }).opens('video').says('on', 'on', BOTH);
});

test('another device in the lobby keeps what is off, and a camera that is off is not opened', () => {
  const user = new User(), { state } = user;
  user.do(state.open({ audio: false, video: false, camera: 'one' }));
  assert.deepEqual([user.openings.audio.length, user.openings.video.length], [1, 0]);
  assert.deepEqual([state.chosen('audio'), state.isBusy('audio'), state.isBusy('video')], ['off', true, false]);
  user.opens('audio');
  assert.equal(state.chosen('audio'), 'off');
  user.toggle('video');
  assert.deepEqual([state.chosen('video'), user.openings.video[0].id], ['opening', 'one']);
  user.opens('video');
  assert.deepEqual([state.chosen('video'), state.isBusy('video')], ['on', false]);
});

test('after a call the next one begins with what the lobby opens', () => {
  const user = User.inCall().toggle('audio');
  user.do(user.state.leave()).says('off', 'off', OFF);
  user.do(user.state.open({ camera: 'none' })).opens('audio');
  user.state.join();
  user.state.enter();
  user.says('on', 'off', { audio: true, video: false });
});

test('in a thousand random orders the page says what leaves', () => {
  let seed = 22;
  const random = below => { seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648; return Math.floor(seed / 65_536) % below; };
  const kind = () => KINDS[random(2)];
  const any = list => list[random(list.length)];
  for (let round = 0; round < 1000; round += 1) {
    const user = User.inLobby({ camera: any(['', 'none']), microphone: any(['', 'none']), audio: Boolean(random(4)), video: Boolean(random(4)) });
    const { state } = user;
    const events = [
      () => user.want(kind(), Boolean(random(2))), () => user.toggle(kind()), () => user.do(state.choose(kind(), any(['a', 'none']))),
      () => user.do(state.flip('user')), () => { const one = kind(); if (user.openings[one].length) user.opens(one); },
      () => { const one = kind(); if (user.openings[one].length) user.fails(one); }, () => { const one = kind(); if (user.tracks[one]) user.do(state.ended(one)); },
      () => state.join(), () => state.wait(), () => state.enter(), () => state.hold(), () => user.do(state.release(Boolean(random(2)))),
      () => user.do(state.sit(Boolean(random(2)))), () => user.do(state.leave()),
    ];
    for (let step = 0; step < 40; step += 1) {
      any(events)();
      user.says(state.shown('audio'), state.shown('video'), state.told);
      // What nobody waits for is not shown as opening.
      for (const one of KINDS) assert.ok(state.shown(one) !== 'opening' || user.openings[one].length);
    }
  }
});

test('a camera that rests stays open, sends nothing, and is sent again when it is said or switched on', () => {
  const user = User.inCall();
  user.do(user.state.rest(true)).says('on', 'paused', { audio: true, video: false });
  assert.deepEqual([user.tracks.video, user.state.isCarried('video')], [1, false]);
  // Said every second.
  user.do(user.state.rest(true)).says('on', 'paused', { audio: true, video: false });
  user.do(user.state.rest(false)).says('on', 'on', BOTH);
  user.do(user.state.rest(true)).want('video', true).says('on', 'on', BOTH);
  // Whoever sees that it is paused switches it off by the button, and on again by the next press.
  user.do(user.state.rest(true)).toggle('video').says('on', 'off', { audio: true, video: false });
  user.toggle('video').opens('video').says('on', 'on', BOTH);
});

test('only a camera that is sent can rest, and the next call begins without a rest', () => {
  const user = User.inCall().toggle('video');
  user.do(user.state.rest(true));
  assert.equal(user.state.isResting, false);
  user.toggle('video').opens('video').do(user.state.rest(true)).do(user.state.leave());
  user.do(user.state.open({})).opens('audio').opens('video');
  user.state.join();
  user.state.enter();
  user.says('on', 'on', BOTH);
});
