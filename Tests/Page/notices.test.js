// What is told beside the picture: which sentence is shown when, and that none is lost for a lighter one.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MOST, MOST_SHOWN, Notices } from '../../Sources/Web/notices.js';

/** @type {import('../../Sources/Web/notices.js').Kind[]} */
const KINDS = ['asked', 'waiting', 'connection', 'recording', 'problem', 'told', 'presents', 'layout', 'hands', 'chat', 'joined', 'left'];
const keys = notices => notices.shown.map(({ key }) => key);
const act = () => {};
const unmute = [{ text: 'Unmute', act }];

test('a request to unmute stays for its thirty seconds, whoever joins meanwhile', () => {
  const notices = new Notices();
  notices.add({ kind: 'asked', text: 'Ada asks', actions: unmute }, 0);
  for (let now = 1900; now < 29_000; now += 1000) {
    notices.add({ kind: 'joined', names: [`Cy ${now}`] }, now);
    assert.equal(keys(notices)[0], 'asked');
    assert.equal(notices.shown[0].actions.length, 1);
  }
  notices.tick(30_000);
  assert.ok(!notices.has('asked'));
});

test('camera and microphone unplugged at once are two sentences', () => {
  const notices = new Notices();
  for (const device of ['camera', 'microphone']) notices.add({ kind: 'problem', key: `gone ${device}`, text: device }, 0);
  assert.deepEqual(keys(notices).sort(), ['gone camera', 'gone microphone']);
});

test('a lost connection is told until it is back, and its end ends no other notice', () => {
  const notices = new Notices();
  notices.add({ kind: 'connection', text: 'lost' }, 0);
  notices.add({ kind: 'hands', names: ['Bo'] }, 10);
  notices.add({ kind: 'recording', text: 'recorded' }, 20);
  assert.deepEqual(keys(notices), ['connection', 'recording', 'hands']);
  notices.tick(600_000);
  assert.deepEqual(keys(notices), ['connection']);
  notices.add({ kind: 'asked', text: 'asked', actions: unmute }, 600_000);
  notices.end('connection', 600_001);
  assert.deepEqual(keys(notices), ['asked']);
});

test('those who join while another is told are merged into one sentence, which ends', () => {
  const notices = new Notices();
  notices.add({ kind: 'joined', names: ['Ada'] }, 0);
  for (const [index, name] of ['Bo', 'Cy', 'Dee'].entries()) notices.add({ kind: 'joined', names: [name] }, 1000 * (index + 1));
  const [one] = notices.shown;
  assert.deepEqual([one.names, one.count, one.change], [['Ada', 'Bo'], 4, 3]);
  // For a while after the last one, and not for ever: somebody joins each second.
  notices.tick(5400);
  assert.ok(notices.has('joined'));
  notices.tick(5500);
  assert.ok(!notices.has('joined'));
  for (let now = 10_000; now < 24_900; now += 100) notices.add({ kind: 'joined', names: ['Eve'] }, now);
  assert.equal(notices.shown[0].count, 149);
  notices.tick(25_000);
  assert.ok(!notices.has('joined'));
});

test('light notices are shown one at a time, each for all of its time', () => {
  const notices = new Notices();
  notices.add({ kind: 'joined', names: ['Ada'] }, 0);
  // The raised hand is heavier: the other one waits with the rest of its time.
  notices.add({ kind: 'hands', names: ['Bo'] }, 1000);
  notices.add({ kind: 'left', names: ['Cy'] }, 1000);
  assert.deepEqual(keys(notices), ['hands']);
  assert.equal(notices.next, 5000);
  notices.tick(5000);
  assert.deepEqual(keys(notices), ['joined']);
  assert.equal(notices.next, 8000);
  notices.tick(8000);
  assert.deepEqual(keys(notices), ['left']);
  notices.tick(12_000);
  assert.equal(notices.count, 0);
  assert.equal(notices.next, null);
});

test('what waits too long to be news is dropped, and what is heavy is not', () => {
  const notices = new Notices();
  for (const kind of KINDS.slice(0, 3)) notices.add({ kind, text: kind, seconds: null, actions: unmute }, 0);
  notices.add({ kind: 'joined', names: ['Ada'] }, 0);
  notices.add({ kind: 'recording', text: 'recorded' }, 0);
  assert.deepEqual(keys(notices), ['asked', 'waiting', 'connection']);
  notices.tick(70_000);
  for (const key of ['asked', 'waiting', 'connection']) notices.end(key, 70_000);
  assert.deepEqual(keys(notices), ['recording']);
  assert.equal(notices.next, 78_000, 'its time begins when it is shown');
});

test('a second one of the same takes the place of the first, and says whether it says something else', () => {
  const notices = new Notices();
  const waits = (text, actions) => notices.add({ kind: 'waiting', text, actions }, 0);
  waits('Dee waits', [{ text: 'Admit', act }, { text: 'Refuse', act }]);
  assert.equal(notices.shown[0].change, 0);
  waits('Dee waits', [{ text: 'Admit', act }, { text: 'Refuse', act }]);
  assert.equal(notices.shown[0].change, 0);
  waits('2 wait', [{ text: 'Admit all', act }, { text: 'Show', act }]);
  assert.deepEqual([notices.count, notices.shown[0].change, notices.shown[0].text], [1, 1, '2 wait']);
});

test('whatever comes, they are bounded, and the heaviest are shown', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    let state = seed;
    const random = below => { state = (state * 48_271) % 2_147_483_647; return state % below; };
    const notices = new Notices();
    const kinds = KINDS;
    let now = 0;
    for (let step = 0; step < 500; step += 1) {
      now += random(1500);
      const kind = kinds[random(kinds.length)];
      if (random(8) === 0) notices.end(kind, now);
      else notices.add({ kind, key: ['problem', 'told'].includes(kind) ? `${kind} ${random(40)}` : kind, text: 'x', names: [`N${step}`] }, now);
      assert.ok(notices.count <= MOST && notices.shown.length <= MOST_SHOWN);
      assert.ok(notices.shown.length > 0 || notices.count === 0, 'none waits where none is shown');
      for (const heavy of ['asked', 'waiting', 'connection']) assert.ok(!notices.has(heavy) || keys(notices).includes(heavy), `${heavy} is not shown`);
      assert.ok(notices.shown.filter(({ kind }) => kinds.indexOf(kind) > 5).length <= 1);
      assert.ok(notices.next === null || notices.next > now);
    }
  }
});
