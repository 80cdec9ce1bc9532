// The module as embedding pages use it, from the first socket to the last track, in a browser of the test's making.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connections, devices, pass, sockets } from './support/browser.js';
import '../../Sources/Web/moving.js';
import { followPlace } from '../../Sources/Web/place.js';

const { Call, Sending } = await import('../../Sources/Web/tessera.js');
const OFF = { audio: 'off', video: 'off' }, ON = { audio: 'on', video: 'on' };

function joined(fields = {}, id = 'p1') {
  return {
    type: 'joined', room: 'r', you: { id, role: 'participant', resume: { id, secret: 's' } }, participants: [{ id }], layout: 'grid', view: 'main', scope: 'room',
    pin: [], chat: [], settings: {}, ...fields,
  };
}

/** @type {InstanceType<typeof Call> | null} */
let last = null;

/// A user who joins with devices that take so long to open.
class User {
  constructor(delay, options = {}) {
    // The one of the test before.
    last?.leave();
    devices.delay = delay;
    sockets.length = connections.length = 0;
    this.events = [];
    this.sending = new Sending();
    this.opening = this.sending.open({});
    this.sending.start();
    this.call = new Call(this.sending, { server: 'http://server', room: 'r', name: 'Ada', ...options });
    last = this.call;
    for (const type of ['entered', 'waiting', 'admitted', 'refused', 'ended', 'consent', 'moving', 'moved', 'connection']) {
      this.call.addEventListener(type, ({ detail }) => this.events.push(type === 'connection' ? detail : type));
    }
  }

  /// A server answers the offer of a join before it says `joined`; `isOld`: one that does not.
  async hears(message, socket = sockets.length - 1, isOld = false) {
    const answers = message.type === 'joined' && !isOld && sockets[socket].last('join')?.offer;
    if (answers) {
      sockets[socket].says({ type: 'answer', sdp: '' });
      await pass(1);
    }
    sockets[socket].says(message);
    if (message.type === 'joined' && !answers) {
      await pass(1);
      sockets[socket].says({ type: 'answer', sdp: '' });
    }
    await pass(10);
    return this;
  }

  /// In the room, with both devices open.
  static async inCall(options) {
    const user = new User(10, options);
    await pass(30);
    await user.hears(joined());
    return user.forget();
  }

  forget() { this.events = []; return this; }

  /// Button, server and wire say the same.
  says(shown) {
    assert.deepEqual(this.sending.shown, shown);
    const leaving = Object.keys(shown).filter(kind => shown[kind] === 'on').join(' ');
    assert.equal(connections.map(one => one.leaving).filter(Boolean).join(' | '), leaving);
    const told = sockets.at(-1)?.last('state');
    if (told && this.call.connection) assert.deepEqual([told.audio, told.video], [shown.audio === 'on', shown.video === 'on']);
    return this;
  }

  did(...events) {
    assert.deepEqual(this.events.splice(0), events);
    return this;
  }
}

test('the first offer goes with the join, and nothing is sent by it before the user is in', async () => {
  const user = new User(10);
  await pass(30);
  assert.equal(sockets[0].last('join').offer, 'offer');
  assert.deepEqual(connections.map(one => one.leaving), ['']);
  await user.hears(joined());
  user.says(ON);
  assert.equal(connections.length, 1);
  assert.equal(sockets[0].last('offer'), undefined);
});

test('a server that does not answer it is offered anew, and so is one that lets the user wait', async () => {
  const old = new User(10);
  await pass(30);
  await old.hears(joined(), 0, true);
  old.says(ON);
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['closed', 'connected']);
  assert.equal(sockets[0].sent.filter(({ type }) => type === 'offer').length, 1);
  const waiting = new User(10);
  await pass(30);
  await waiting.hears({ type: 'waiting' });
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['closed']);
  await waiting.hears(joined(), 0, true);
  waiting.says(ON);
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['closed', 'connected']);
});

test('who is to come later joins again and offers anew; a refusal closes the connection', async () => {
  const user = new User(10);
  await pass(10);
  sockets[0].says({ type: 'error', code: 'overloaded', message: 'later', retryAfter: 1, fatal: true });
  sockets[0].dies();
  await pass(2500);
  assert.deepEqual([sockets.length, sockets[1].last('join').offer], [2, undefined]);
  await user.hears(joined());
  user.says(ON);
  const refused = new User(10);
  await pass(30);
  await refused.hears({ type: 'error', code: 'forbidden', message: 'no', fatal: true });
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['closed']);
});

test('a call takes the socket that was opened ahead, and no old one', async () => {
  for (const [age, count] of [[1, 1], [1000, 1], [21_000, 2]]) {
    last?.leave();
    sockets.length = connections.length = 0;
    Call.openAhead('http://server');
    Call.openAhead('http://server');
    await pass(age);
    const ahead = sockets[0];
    assert.equal(sockets.length, 1);
    last = new Call(new Sending(), { server: 'http://server', room: 'r', name: 'Ada' });
    await pass(20);
    assert.equal(sockets.length, count);
    assert.equal(ahead.last('join')?.offer, count === 1 ? 'offer' : undefined);
    assert.equal(sockets.at(-1).last('join').offer, 'offer');
  }
});

test('a server that refuses the socket that is opened ahead is asked once', async () => {
  last?.leave();
  sockets.length = connections.length = 0;
  for (let count = 0; count < 100; count += 1) {
    Call.openAhead('http://server');
    await pass(50);
    sockets[0].dies();
  }
  assert.equal(sockets.length, 1);
  last = new Call(new Sending(), { server: 'http://server', room: 'r', name: 'Ada' });
  await pass(20);
  assert.equal(sockets[1].last('join').offer, 'offer', 'the call opens one of its own');
});

test('relays that the server names are offered behind the first offer', async () => {
  const user = new User(10), iceServers = [{ urls: ['turn:turn.example'], username: 'u', credential: 'c' }];
  await pass(30);
  await user.hears(joined({ iceServers }));
  await pass(10);
  assert.deepEqual(connections[0].configuration.iceServers, iceServers);
  assert.equal(sockets[0].sent.filter(({ type }) => type === 'offer').length, 1);
});

test('a join before the devices are open sends them once they are', async () => {
  const user = new User(1000);
  await pass(20);
  await user.hears(joined());
  user.did('connected', 'entered').says({ audio: 'opening', video: 'opening' });
  await pass(1000);
  user.says({ audio: 'on', video: 'opening' });
  await pass(1000);
  user.says(ON);
});

test('devices that are refused after the join are off', async () => {
  const user = new User(null);
  await pass(1);
  await user.hears(joined());
  user.says(OFF);
  assert.deepEqual((await user.opening).map(({ code, device }) => [code, device]), [['denied', 'microphone'], ['denied', 'camera']]);
});

test('a second wait ends the connection, and the second admission sends again', async () => {
  const user = await User.inCall();
  sockets[0].dies();
  await pass(400);
  await user.hears({ type: 'error', code: 'unauthorized', message: 'no seat' });
  assert.equal(sockets[1].last('join').resume, undefined);
  await user.hears({ type: 'waiting' });
  user.did('reconnecting', 'waiting').says(OFF);
  assert.equal(user.call.connection, null);
  user.sending.toggleAudio();
  await pass(10);
  user.says(OFF);
  await user.hears(joined({}, 'p2'));
  user.did('connected', 'admitted', 'connected').says({ audio: 'off', video: 'on' });
});

test('a press shorter than the device takes leaves the microphone muted, also on stage', async () => {
  const user = await User.inCall();
  await user.hears({ type: 'role', role: 'viewer' });
  user.says(OFF);
  await user.hears({ type: 'role', role: 'participant' });
  devices.delay = 400;
  user.sending.setAudio(true);
  await pass(100);
  user.says({ audio: 'opening', video: 'off' });
  user.sending.setAudio(false);
  await pass(1000);
  user.says(OFF);
  user.sending.setAudio(true);
  await pass(0);
  user.says({ audio: 'on', video: 'off' });
});

test('a host mutes while the microphone opens', async () => {
  const user = new User(1000);
  await pass(20);
  await user.hears(joined());
  await user.hears({ type: 'muted', by: 'h' });
  await pass(3000);
  user.says({ audio: 'off', video: 'on' });
});

test('a recorded room gets silence and black pictures until the answer', async () => {
  const user = new User(10, { isTold: false });
  await pass(30);
  await user.hears(joined({ willRecord: true }));
  user.did('connected', 'entered', 'consent').says(OFF);
  assert.ok(connections[0].senders[0].track && user.call.isHeld);
  await user.call.consent(true);
  user.says(ON);
});

test('a move changes over without a gap, and ends the old connection later', async () => {
  const user = await User.inCall();
  await user.hears({ type: 'moving', within: 10 });
  await pass(300);
  await user.hears(joined({ fresh: true }));
  assert.deepEqual(sockets[1].last('join').resume, { id: 'p1', secret: 's' });
  await pass(1000);
  user.did('moving', 'connected', 'moved');
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['connected', 'connected']);
  await pass(1500);
  assert.ok(sockets[0].last('leave'));
  assert.deepEqual(connections.map(({ connectionState }) => connectionState), ['closed', 'connected']);
  user.says(ON);
});

test('in a move people go and come back without a word, also where it fails; who does not come back has left', async () => {
  const people = names => names.map(name => ({ id: name, name })), told = [];
  const user = new User(10);
  user.call.addEventListener('joins', ({ detail }) => told.push(...['joined', 'left'].flatMap(kind => detail[kind].map(({ name }) => `${name} ${kind}`))));
  await pass(30);
  await user.hears(joined({ participants: people(['p1', 'Bo', 'Cy']) }));
  await user.hears({ type: 'moving', within: 10 });
  await pass(300);
  // The next server refuses: the call stays, and sees the others go.
  await user.hears({ type: 'error', code: 'not_found', message: 'no such room', fatal: true });
  await user.hears({ type: 'participantsChanged', joined: [], changed: [], left: ['Bo', 'Cy'], viewers: 0 }, 0);
  await user.hears({ type: 'left', reason: 'moved' }, 0);
  sockets[0].dies();
  await pass(1000);
  await user.hears(joined({ fresh: true, isSameSeat: true, participants: people(['p1']) }));
  await user.hears({ type: 'participantsChanged', joined: people(['Bo']), changed: [], left: [], viewers: 0 });
  await user.hears({ type: 'participantsChanged', joined: [], changed: [], left: ['Bo'], viewers: 0 });
  await user.hears({ type: 'participantsChanged', joined: people(['Bo']), changed: [], left: [], viewers: 0 });
  assert.deepEqual(told, []);
  await pass(16_000);
  assert.deepEqual(told, ['Cy left']);
});

test('after a move that ends with another seat nobody is told as gone whose id is another one', async () => {
  const told = [], user = new User(10);
  user.call.addEventListener('joins', ({ detail }) => told.push(detail));
  await pass(30);
  await user.hears(joined({ participants: [{ id: 'p1', name: 'Ada' }, { id: 'b1', name: 'Bo' }] }));
  await user.hears({ type: 'moving', within: 10 });
  await pass(300);
  await user.hears({ type: 'error', code: 'not_found', message: 'no such room', fatal: true });
  await user.hears({ type: 'left', reason: 'moved' }, 0);
  sockets[0].dies();
  await pass(1000);
  await user.hears(joined({ participants: [{ id: 'p2', name: 'Ada' }, { id: 'b2', name: 'Bo' }] }, 'p2'));
  await pass(40_000);
  assert.deepEqual(told, []);
});

test('muting in the middle of a move is for both connections', async () => {
  const user = await User.inCall();
  await user.hears({ type: 'moving', within: 10 });
  await pass(300);
  sockets[1].says(joined({ fresh: true }));
  await pass(5);
  user.sending.toggleAudio();
  await pass(5);
  assert.deepEqual(sockets.map(socket => socket.last('state').audio), [false, false]);
  assert.deepEqual(connections.map(one => one.leaving), ['video', 'video']);
});

test('what was switched while the socket was away is told as it is, and not as it was', async () => {
  const user = await User.inCall();
  sockets[0].dies();
  user.sending.toggleAudio();
  user.sending.toggleVideo();
  user.sending.toggleAudio();
  await pass(400);
  await user.hears({ type: 'error', code: 'unauthorized', message: 'no seat' });
  sockets[1].sent.length = 0;
  await user.hears(joined({}, 'p2'));
  const states = sockets[1].sent.filter(({ type }) => type === 'state');
  assert.ok(states.length && states.every(({ audio, video }) => audio && !video));
  user.says({ audio: 'on', video: 'off' });
});

test('where the user is decides the page, and an admission that is over shows nothing', async () => {
  const user = await User.inCall();
  const parts = [];
  followPlace(user.call, part => parts.push(part));
  await user.hears({ type: 'waiting' });
  sockets[0].says(joined({}, 'p2'));
  sockets[0].says({ type: 'waiting' });
  await pass(1000);
  assert.deepEqual(parts, ['waiting', 'call', 'waiting']);
  user.says(OFF);
  await user.hears({ type: 'error', code: 'refused', fatal: true });
  assert.deepEqual([parts.at(-1), user.call.place], ['ended', 'ended']);
});

test('who is refused at the door is in the lobby again', async () => {
  const user = new User(10);
  await pass(30);
  const parts = [];
  followPlace(user.call, part => parts.push(part));
  await user.hears({ type: 'waiting' });
  await user.hears({ type: 'error', code: 'refused', fatal: true });
  assert.deepEqual([parts, user.call.place], [['waiting', 'lobby'], 'refused']);
});

test('what the server does not get of what is sent is told, once, until it comes or is switched off', async () => {
  const user = await User.inCall();
  const told = [];
  user.call.addEventListener('missing', ({ detail }) => told.push(detail.join(' ')));
  const people = (missing, other) => user.hears({ type: 'participants', viewers: 0, participants: [{ id: 'p1', ...missing }, { id: 'p2', ...other }] });
  await people({}, { missing: ['audio', 'video'] });
  assert.deepEqual(told, [], 'it is somebody else');
  await people({ missing: ['audio'] });
  await people({ missing: ['audio'], hand: true });
  assert.deepEqual([told, user.call.missing], [['audio'], ['audio']]);
  // Opened again, the microphone has another track.
  const before = connections[0].senders[0].track;
  user.sending.reopen('audio');
  await pass(20);
  assert.ok(connections[0].senders[0].track !== before && /** @type {any} */ (before).isStopped);
  user.says(ON);
  await people({});
  await people({ missing: ['audio', 'video'] });
  user.sending.toggleAudio();
  assert.deepEqual([told.splice(0), user.call.missing], [['audio', '', 'audio video', 'video'], ['video']]);
  // The microphone that is off is not missing, whatever the server has said.
  await people({ missing: ['audio'] });
  assert.deepEqual(told, ['']);
});

test('what the server gets is told by it', async () => {
  const user = await User.inCall();
  assert.equal(user.call.received, null);
  await user.hears({ type: 'line', heard: 'silence', seen: 'pictures' });
  assert.deepEqual(user.call.received, { audio: 'silence', video: 'pictures' });
});

test('a microphone that the system pauses is not shown as sent, and goes on by itself', async () => {
  const user = await User.inCall();
  const microphone = devices.made.filter(({ kind }) => kind === 'audio').at(-1);
  microphone.pause(true);
  user.says({ audio: 'paused', video: 'on' });
  microphone.pause(false);
  user.says(ON);
});

test('a host keeps the key that the server tells, and forgets one that is good no more', async () => {
  const user = new User(10, { hostKey: 'old' });
  const keys = [];
  user.call.addEventListener('hostKey', ({ detail }) => keys.push(detail));
  await pass(30);
  assert.equal(sockets[0].last('join').hostKey, 'old');
  await user.hears(joined());
  assert.deepEqual(keys.splice(0), [null], 'the room has other hosts by now');
  await user.hears({ type: 'role', role: 'moderator', hostKey: 'new' });
  assert.deepEqual(keys.splice(0), ['new']);
  sockets[0].dies();
  await pass(400);
  await user.hears(joined({ you: { id: 'p1', role: 'moderator', resume: { id: 'p1', secret: 's' } } }), 1);
  assert.equal(sockets[1].last('join').hostKey, 'new');
  assert.deepEqual(keys.splice(0), [], 'another server knows the digest alone');
  await user.hears({ type: 'role', role: 'participant' });
  assert.deepEqual(keys.splice(0), [null]);
});

test('who comes in muted shows the microphone off, switches it on, and stays muted where only presenters speak', async () => {
  const user = new User(10);
  const told = [];
  user.call.addEventListener('keptMuted', ({ detail }) => told.push(detail));
  await pass(30);
  await user.hears(joined({ settings: { muteOnEntry: true } }));
  user.says({ audio: 'off', video: 'on' });
  assert.deepEqual(told.splice(0), ['entry']);
  user.sending.toggleAudio();
  await pass(10);
  user.says(ON);
  await user.hears({ type: 'muted', reason: 'policy' });
  user.says({ audio: 'off', video: 'on' });
  assert.deepEqual(told.splice(0), ['policy']);
});

test('the host is not muted on entry', async () => {
  const user = new User(10);
  await pass(30);
  await user.hears(joined({ settings: { muteOnEntry: true }, you: { id: 'p1', role: 'moderator', resume: { id: 'p1', secret: 's' } } }));
  user.says(ON);
});

test('a host switches the camera off, and asks for it', async () => {
  const user = await User.inCall();
  const told = [];
  for (const type of ['videoStopped', 'askedForVideo']) user.call.addEventListener(type, ({ detail }) => told.push(`${type} ${detail}`));
  await user.hears({ type: 'asked', action: 'stopVideo', by: 'h' });
  user.says({ audio: 'on', video: 'off' });
  await user.hears({ type: 'asked', action: 'video', by: 'h' });
  user.says({ audio: 'on', video: 'off' });
  assert.deepEqual(told, ['videoStopped h', 'askedForVideo h']);
});

test('somebody is put into the spotlight for everyone, and the layout comes back after it', async () => {
  const user = await User.inCall();
  await user.hears({ type: 'layout', name: 'panel', scope: 'room', view: 'main', pin: [] });
  user.call.spotlight('p2');
  assert.deepEqual(sockets[0].last('layout'), { type: 'layout', scope: 'room', name: 'speaker', pin: ['p2'] });
  await user.hears({ type: 'participants', participants: [{ id: 'p1' }, { id: 'p2', pinned: true }] });
  await user.hears({ type: 'layout', name: 'speaker', scope: 'room', view: 'main', pin: [] });
  user.call.spotlight('p1');
  user.call.spotlight(null);
  assert.deepEqual(sockets[0].last('layout'), { type: 'layout', scope: 'room', name: 'panel', pin: [] });
});

test('who only watches keeps the key', async () => {
  const user = new User(10, { hostKey: 'mine', role: 'viewer' });
  const keys = [];
  user.call.addEventListener('hostKey', ({ detail }) => keys.push(detail));
  await pass(30);
  await user.hears(joined({ you: { id: 'p1', role: 'viewer', resume: { id: 'p1', secret: 's' } } }));
  assert.deepEqual(keys, []);
});

test('the end of the call ends sockets, connections and devices', async () => {
  const user = await User.inCall();
  const tracks = user.sending.stream.getTracks();
  await user.hears({ type: 'left', reason: 'removed' });
  user.did('ended').says(OFF);
  assert.ok(tracks.every(track => /** @type {any} */ (track).isStopped));
  assert.equal(connections[0].connectionState, 'closed');
  await pass(60_000);
  assert.equal(sockets.length, 1);
});
