// @ts-nocheck
// Orders of what people, devices, servers and lines do, each by its number: on the air is what the page shows. The module
// runs with all its parts, in a browser of the test's making, with a server that answers as Signalling.md says.
//
// `node Tests/Page/support/orders.js 17` runs one order and says what happens in it; `… 0 10000` runs those below 10,000.
// As a program of its own, since the hooks of `node:test` make promises three times as slow.

import assert from 'node:assert/strict';

import '../../../Sources/Web/moving.js';
import { followPlace } from '../../../Sources/Web/place.js';
import { bindPushToTalk } from '../../../Sources/Web/push-to-talk.js';
import { clock, connections, devices, network, pass, reset } from './browser.js';
import { World } from './world.js';

const { Call, Sending } = await import('../../../Sources/Web/tessera.js');
// The link is not measured.
globalThis.setInterval = () => 0;
const STEPS = 12;
const KINDS = ['audio', 'video'];
// After each happening, ms; the last one is longer than a seat is kept.
const PAUSES = [0, 0, 0, 1, 1, 10, 10, 100, 100, 500, 500, 2500, 2500, 16_000];

/// Numbers below a limit, the same ones for the same seed (mulberry32).
function numbers(seed) {
  let state = seed;
  return below => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

/// The page as main.js makes it: what it shows comes by events alone.
class Page {
  constructor() {
    this.sending = new Sending();
    this.shown = { audio: 'off', video: 'off' };
    this.sending.addEventListener('changed', () => { this.shown = { ...this.sending.shown }; });
    this.call = null;
    this.isAsked = false;
    this.openLobby({});
  }

  /// What the user, or a host, has switched off is off until the user switches it on.
  off(...kinds) { for (const kind of kinds) this.mustBeOff.add(kind); }
  on(...kinds) { for (const kind of kinds) this.mustBeOff.delete(kind); }

  /// A button does what it says: who sees an open device switches it off, and one that is opening too.
  press(kind) {
    if (this.shown[kind] === 'off') this.on(kind);
    else this.off(kind);
    if (kind === 'audio') this.sending.toggleAudio();
    else this.sending.toggleVideo();
  }

  choose(kind, id) {
    // Who is muted stays so with another microphone.
    if (id === 'none') this.off(kind);
    else if (kind === 'video' || !this.sending.audioTrack) this.on(kind);
    this.sending.switchDevice(kind, id);
  }

  openLobby(chosen) {
    this.part = 'lobby';
    this.mustBeOff = new Set();
    this.sending.open(chosen);
  }

  join(isTold) {
    if (this.part !== 'lobby' || (this.call && this.call.place === 'joining')) return;
    this.sending.start();
    this.call = new Call(this.sending, { server: 'http://server', room: 'r', name: 'Ada', isTold });
    followPlace(this.call, part => { this.part = part; });
    this.isAsked = false;
    this.call.addEventListener('consent', () => { this.isAsked = true; });
    this.call.addEventListener('muted', () => this.off('audio'));
    this.call.addEventListener('role', ({ detail }) => { if (detail === 'viewer') this.off(...KINDS); });
  }

  get isInCall() { return this.part === 'call'; }
}

let page;
bindPushToTalk({
  get shown() { return page.sending.shown; },
  setAudio: isOn => {
    if (isOn) page.on('audio');
    return page.sending.setAudio(isOn);
  },
}, () => page.isInCall);

/// The space bar, which speaks where the page is muted, and is heard by nobody once it is released.
let isSpeaking = false;
function space(isDown, event = Object.assign(new Event(isDown ? 'keydown' : 'keyup', { cancelable: true }), { key: ' ' })) {
  const begins = isDown && !isSpeaking && page.isInCall && page.shown.audio === 'off';
  dispatchEvent(event);
  if (!isDown && isSpeaking) page.off('audio');
  isSpeaking = isDown && (isSpeaking || begins);
}

/// What leaves by each open connection: kinds, or ''.
const leaving = () => connections.filter(({ connectionState }) => connectionState !== 'closed').map(one => one.leaving);
/// The kinds that the page shows as on.
const shownOn = ({ audio, video }) => (audio === 'on' ? (video === 'on' ? 'audio video' : 'audio') : video === 'on' ? 'video' : '');

/// All that may happen, each as often as it is listed.
function happenings(world, random) {
  const any = list => list[random(list.length)];
  const kind = () => any(KINDS);
  const live = () => devices.made.filter(({ isStopped }) => !isStopped);
  const inCall = act => () => { if (page.isInCall) act(); };
  return {
    'mute or unmute': inCall(() => page.press('audio')),
    'camera on or off': inCall(() => page.press('video')),
    'camera twice': inCall(() => { page.press('video'); page.press('video'); }),
    'space down': () => space(true),
    'space up': () => space(false),
    'a short word': async () => { space(true); await pass(random(200)); space(false); },
    'window left': () => space(false, new Event('blur')),
    'another device': inCall(() => page.choose(kind(), any(['a', 'none']))),
    'line too thin for the camera': inCall(() => page.sending.rest(true)),
    'line carries the camera again': inCall(() => page.sending.rest(false)),
    'other camera': inCall(() => { page.on('video'); page.sending.flipCamera(); }),
    'opened again': inCall(() => page.call.missing.forEach(each => page.sending.reopen(each))),
    'screen': inCall(() => page.sending.toggleScreen()),
    'screen ended in the browser': () => devices.screens.filter(({ isStopped }) => !isStopped).at(-1)?.unplug(),
    'screen stopped by a host': () => world.stopScreen(),
    'sound only': inCall(() => { page.off('video'); page.call.saveData('audio'); }),
    'all data': inCall(() => page.call.saveData('full')),
    'consent': () => { if (page.isAsked && page.call.isHeld) page.call.consent(true); },
    'no consent': () => { if (page.isAsked && page.call.isHeld) { page.off(...KINDS); page.call.consent(false); } },
    'join': () => page.join(Boolean(random(4))),
    'leave': () => { if (['waiting', 'call'].includes(page.part) && !random(3)) page.call.leave(); },
    'lobby again': () => { if (page.part === 'ended') page.openLobby({ camera: any(['', 'none']), microphone: any(['', 'none']) }); },
    'devices quick': () => { devices.delay = 0; },
    'devices slow': () => { devices.delay = any([50, 400, 3000]); },
    'devices refused': () => { devices.delay = null; },
    'unplugged': () => any(live())?.unplug(),
    'system pauses': () => live().find(track => track.kind === 'audio')?.pause(true),
    'system goes on': () => live().find(track => track.kind === 'audio')?.pause(false),
    'cut': () => world.cut(),
    'server stops': () => world.stop(),
    'server starts': () => world.start(),
    'tickets last': () => { world.isCluster = true; },
    'room moves': () => { if (world.isUp) world.move(any([1, 10])); },
    'another device or a screen in a move': async () => {
      if (!world.isUp) return;
      world.move(10);
      await pass(random(1000));
      if (!page.isInCall) return;
      if (random(2)) page.choose(kind(), 'a');
      else page.sending.toggleScreen();
    },
    'node dies': () => { if (world.isUp) world.die(); },
    'next node refuses': () => { world.refusesMoves = !world.refusesMoves; },
    'joins are answered or not': () => { world.answersJoins = !world.answersJoins; },
    'slow answers': () => { world.answerDelay = any([5, 500]); },
    'waiting room': () => { world.admits = any(['anyone', 'moderator']); },
    'recorded': () => { world.isRecorded = !world.isRecorded; },
    'admitted': () => world.admit(),
    'refused': () => { if (!random(3)) world.refuse(); },
    'muted by a host': () => world.mute(),
    'to the audience': () => world.role('viewer'),
    'to the stage': () => world.role('participant'),
    'removed': () => { if (!random(3)) world.remove(); },
  };
}

/// What holds at every moment. Plain comparisons, since this is done a hundred thousand times.
function check() {
  const { part, shown, sending } = page, now = sending.shown;
  const fail = words => assert.fail(`${words}; the part ${part}, microphone ${shown.audio}, camera ${shown.video}`);
  if (shown.audio !== now.audio || shown.video !== now.video) fail(`a change is not shown: microphone ${now.audio}, camera ${now.video}`);
  const on = shownOn(shown);
  for (const sent of leaving()) {
    // Of two connections, in a move, one may not have all yet.
    if (sent && !on.includes(sent)) fail(`sent is ${sent}`);
    if (sent && part !== 'call') fail('something is sent');
  }
  if (on && part !== 'call') fail('something is shown as sent');
  for (const kind of page.mustBeOff) if (shown[kind] !== 'off') fail(`${kind} was switched off`);
  for (const one of connections) if (one.isSharing && (!sending.screen || part !== 'call' || sending.state.isAudience)) fail('a screen is sent');
  for (const track of devices.screens) if (!track.isStopped && track !== sending.screen) fail('a screen is shared that nobody has');
  if (sending.screen && ['lobby', 'ended'].includes(part)) fail('the screen outlives the call');
  const own = sending.stream.getTracks();
  let hasCamera = false;
  for (const track of devices.made) {
    if (track.isStopped) continue;
    if (!own.includes(track)) fail(`a track of ${track.kind} is live that nobody has`);
    if (part === 'ended') fail('a device outlives the call');
    hasCamera ||= track.kind === 'video';
  }
  if (part === 'call' && hasCamera && shown.video === 'off' && sending.state.isOnAir) fail('the light of the camera is on');
}

/// What holds once all that was begun is done.
async function settle(world, note) {
  space(false);
  world.start();
  world.refusesMoves = false;
  world.admits = 'anyone';
  devices.delay ??= 0;
  // Longer than a move, and than a lost socket and a slow device take.
  await pass(12_000);
  note('all is over');
  if (world.isWaiting) {
    assert.equal(page.part, 'waiting', 'who waits sees the waiting page');
    check();
    world.admit();
    await pass(1500);
  }
  check();
  const { seat } = world;
  if (['lobby', 'ended'].includes(page.part) && page.call?.place !== 'joining') return assert.equal(seat, null, 'the server has a seat of who is gone');
  assert.equal(page.part, 'call', 'who is in the room sees the room');
  assert.ok(seat, 'the server knows who is in the room');
  if (page.call.isHeld) await page.call.consent(true);
  if (seat.role === 'viewer') {
    world.role('participant');
    await pass(20);
  }
  agree(world);
  // The buttons do what they say, however the call has gone until now.
  for (const track of devices.made) if (track.muted) track.pause(false);
  devices.delay = 5;
  for (const isOn of [true, false, true]) {
    page[isOn ? 'on' : 'off'](...KINDS);
    await Promise.all([page.sending.setAudio(isOn), page.sending.setVideo(isOn), pass(50)]);
    assert.deepEqual(page.shown, isOn ? { audio: 'on', video: 'on' } : { audio: 'off', video: 'off' });
    agree(world);
  }
}

/// Page, wire and server say the same.
function agree(world) {
  check();
  const { seat } = world, on = shownOn(page.shown);
  assert.deepEqual(leaving(), [on], 'what is sent is what the page shows');
  assert.equal(KINDS.filter(kind => seat[kind]).join(' '), on, 'the server is told what is sent');
  const hasScreen = Boolean(page.sending.screen);
  assert.deepEqual(connections.filter(({ connectionState }) => connectionState !== 'closed').map(({ isSharing }) => isSharing), [hasScreen], 'the screen is sent');
  assert.equal(seat.isPresenting, hasScreen, 'the server is told of the screen');
}

async function run(number, note = () => {}) {
  const random = numbers(number + 1);
  reset();
  devices.delay = 0;
  const world = new World();
  network.server = world;
  page = new Page();
  const acts = Object.entries(happenings(world, random));
  try {
    for (let step = 0; step < STEPS; step += 1) {
      // Most orders begin with a join.
      const [name, act] = step === 0 && random(8) ? ['join', () => page.join(Boolean(random(4)))] : acts[random(acts.length)];
      await act();
      await pass(PAUSES[random(PAUSES.length)]);
      note(`${name}: ${page.part}, microphone ${page.shown.audio}, camera ${page.shown.video}, ${world.seat ? 'in the room' : world.isWaiting ? 'waiting' : 'not there'}`);
      check();
    }
    await settle(world, note);
  } finally {
    page.call?.leave();
    page.sending.stop();
    network.server = null;
    await pass(0);
  }
}

const [first, end] = process.argv.slice(2).map(Number);
const say = text => console.log(`${(clock() / 1000).toFixed(3)} s  ${text}`);
let number = first;
const failed = error => {
  console.log(`${error.stack}\norder ${number}, to be seen by: node Tests/Page/support/orders.js ${number}`);
  process.exit(1);
};
// Of the module's own work, which nobody waits for.
process.on('unhandledRejection', failed);
process.on('uncaughtException', failed);
for (; number < (end ?? first + 1); number += 1) await run(number, end === undefined ? say : undefined).catch(failed);
