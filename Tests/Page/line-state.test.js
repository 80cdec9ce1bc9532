// What the badge of the link says, second by second.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LineState } from '../../Sources/Web/line-state.js';

const FULL = { mode: 'full', rung: 720, reason: '', reasonCode: '', estimate: 2_300_000 };
const REDUCED = { ...FULL, mode: 'reduced', rung: 360 };

/// A link with a browser at its end: 100 packets and 25 pictures a second.
class Link {
  constructor(server = FULL) {
    this.state = new LineState();
    this.now = { at: 0, down: 0, up: 0, lost: 0, received: 0, alive: 0, frozen: 0, decoded: 0 };
    this.figures = { lossUp: 0, roundTrip: 0.04, reportAge: 800, framesPerSecond: 25 };
    this.circumstances = { isConnected: true, data: 'full' };
    if (server) this.says(server);
    this.read();
    this.second();
  }

  says(message) { this.state.served(message, this.now.at); return this; }
  read() { return (this.last = this.state.read({ ...this.now }, { ...this.figures }, { ...this.circumstances })); }

  /// A second with so much of what a second has. Returns what the badge says.
  second({ packets = 100, pictures = 25, lost = 0, frozen = 0, reports = true } = {}) {
    const { now } = this;
    Object.assign(now, {
      at: now.at + 1000, down: now.down + packets * 1000, up: now.up + 20_000, lost: now.lost + lost, received: now.received + packets,
      alive: now.alive + packets, frozen: now.frozen + frozen, decoded: now.decoded + pictures,
    });
    this.figures.reportAge = reports ? 800 : this.figures.reportAge + 1000;
    return this.read()?.code ?? null;
  }

  seconds(count, what) { return Array.from({ length: count }, () => this.second(what)); }
}

const NOTHING = { packets: 0, pictures: 0, reports: false };

test('a good link is good, and its figures are those of the last second', () => {
  const link = new Link();
  assert.deepEqual(link.seconds(4), Array(4).fill('good'));
  assert.equal(link.last.quality, 'good');
  assert.deepEqual([link.last.down, link.last.up, link.last.lossDown, link.last.roundTrip, link.last.estimate], [800, 160, 0, 0.04, 2300]);
});

test('a server that stands still is told within two seconds, and nothing of before is shown as if it were now', () => {
  const link = new Link();
  link.figures.lossUp = 0.3;
  assert.equal(link.second(), 'bad');
  link.says(FULL);
  assert.deepEqual(link.seconds(3, NOTHING).slice(1), ['silent', 'silent']);
  assert.equal(link.last.estimate, null, 'of a link that carries nothing');
  assert.deepEqual(link.seconds(7, NOTHING), Array(7).fill('silent'));
  assert.equal(link.last.quality, 'poor');
  // Neither the loss of before, nor the sentence about a slow line, nor an estimate.
  assert.deepEqual([link.last.loss, link.last.lossDown, link.last.lossUp, link.last.roundTrip, link.last.down], [0, null, null, null, 0]);
  assert.deepEqual([link.last.estimate, link.last.reason, link.last.framesPerSecond], [null, null, 0]);
  // It is back: a moment's freeze, and not the loss of ten seconds.
  link.figures.lossUp = 0;
  assert.equal(link.second({ lost: 1000, frozen: 10 }), 'froze');
  link.says(FULL);
  assert.deepEqual(link.seconds(3), Array(3).fill('good'));
});

test('a picture that stands still beside sound is never a good line', () => {
  for (const server of [FULL, { ...REDUCED, reasonCode: 'server_busy' }]) {
    const link = new Link(server);
    const codes = link.seconds(8, { packets: 50, pictures: 0 });
    assert.deepEqual(codes.slice(2), Array(6).fill('frozen'));
    assert.equal(link.last.quality, 'poor');
    assert.equal(link.second(), server === FULL ? 'good' : 'busy');
  }
});

test('what has no picture has none that stands still', () => {
  const still = { packets: 50, pictures: 0 };
  const saving = new Link();
  saving.circumstances.data = 'audio';
  assert.deepEqual(saving.seconds(8, still), Array(8).fill('good'));
  assert.deepEqual(new Link({ ...FULL, mode: 'audio', rung: 0 }).seconds(8, still), Array(8).fill('audio'));
  assert.deepEqual(new Link({ ...REDUCED, rung: 0 }).seconds(8, still), Array(8).fill('good'), 'a client without a picture');
  // Stills come every 7 s at least, until they do not.
  const stills = new Link({ ...FULL, mode: 'stills', rung: 0 });
  assert.deepEqual(stills.seconds(17, still), Array(17).fill('stills'));
  assert.equal(stills.second(still), 'frozen');
});

test('a connection that is gone says so at once', () => {
  const link = new Link();
  link.circumstances.isConnected = false;
  assert.equal(link.second(NOTHING), 'gone');
  assert.equal(link.last.quality, 'poor');
});

test('a busy server, a picture that is getting larger and a thin line are three sentences', () => {
  const codes = Object.entries({ server_busy: 'busy', line_worse: 'reduced', '': 'climbing', line_better: 'climbing' });
  for (const [reasonCode, code] of codes) assert.equal(new Link({ ...REDUCED, reasonCode }).second(), code, reasonCode);
  // The first seconds are no fault of anybody.
  assert.equal(new Link(REDUCED).last.quality, 'good');
  // Nor is a small picture that the user has asked for.
  const link = new Link({ ...REDUCED, reasonCode: 'line_worse' });
  link.circumstances.data = 'less';
  assert.equal(link.second(), 'less');
});

test('loss is told before the size of the picture, and reports about it age', () => {
  const link = new Link({ ...REDUCED, reasonCode: 'server_busy' });
  assert.equal(link.second({ packets: 97, lost: 3 }), 'loss');
  assert.equal(link.second({ packets: 80, lost: 20 }), 'bad');
  link.figures.lossUp = 0.2;
  assert.equal(link.second({ reports: false }), 'bad');
  assert.deepEqual(link.seconds(5, { reports: false }).slice(-1), ['busy']);
  assert.deepEqual([link.last.lossUp, link.last.roundTrip], [null, null]);
});

test('an estimate of which nothing was heard for long is not shown', () => {
  const link = new Link();
  link.seconds(5);
  assert.equal(link.last.estimate, null);
  link.says(FULL).second();
  assert.equal(link.last.estimate, 2300);
});

test('ten good seconds prove once that the line has room, a poor one or a thin way does not', () => {
  const proofs = (link, count) => Array.from({ length: count }, () => (link.second(), link.last.provesRoom)).filter(Boolean).length;
  const link = new Link();
  assert.equal(proofs(link, 8), 0);
  assert.equal(proofs(link, 30), 1);
  link.second({ lost: 20 });
  assert.equal(proofs(link, 9), 0);
  assert.equal(proofs(link, 30), 1, 'and again after a bad moment');
  const thinUp = new Link();
  thinUp.figures.mayUp = 200;
  assert.equal(proofs(thinUp, 30), 0);
  assert.equal(proofs(thinUp.says({ ...FULL, asked: 150_000 }), 30), 1, 'the server asks for no more');
  const down = estimate => {
    const thin = new Link();
    return Array.from({ length: 30 }, () => proofs(thin.says({ ...FULL, estimate }), 1)).filter(Boolean).length;
  };
  assert.deepEqual([down(200_000), down(400_000)], [0, 1]);
});
