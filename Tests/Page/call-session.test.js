// A call across lost sockets, waiting rooms, dead servers and moves. Times are random half-way.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CallSession } from '../../Sources/Web/call-session.js';

/// A session, what it asked for, and the timers that run.
class Simulation {
  constructor() {
    this.session = new CallSession(() => 0.5);
    this.timers = new Map();
    this.done = [];
    this.act(this.session.start());
  }

  act(actions) {
    for (const action of actions) {
      if (action.type !== 'timer') this.done.push(action);
      else if (action.after === null) this.timers.delete(action.name);
      else this.timers.set(action.name, action.after);
    }
    return this;
  }

  told(socket, kind, message = {}, facts = {}) { return this.act(this.session.told(socket, kind, message, facts)); }

  /// The timer of this name is over, which was to take so long.
  passes(name, after) {
    assert.equal(this.timers.get(name), after, `${name}: ${[...this.timers]}`);
    this.timers.delete(name);
    return this.act(this.session.timer(name));
  }

  /// What was asked for since the last question: events by name, other actions by type and socket.
  did(...expected) {
    const name = ({ type, event, detail, socket, kind, reason, code }) => [
      type === 'emit' ? `(${event}${event === 'connection' ? ` ${detail}` : ''})` : type, socket, kind, reason, code].filter(part => part !== undefined).join(' ');
    assert.deepEqual(this.done.splice(0).map(name), expected);
    return this;
  }

  /// In the room by socket 0.
  static inCall() {
    return new Simulation().told(0, 'joined', seat()).forget();
  }

  forget() {
    this.done = [];
    this.timers.clear();
    return this;
  }

  /// At the moment when socket 1 has got the seat at the other server.
  static inMove() {
    return Simulation.inCall().told(0, 'moving', { within: 10 }).passes('begin', 250).told(1, 'joined', returned()).forget();
  }

  detail(event) { return [...this.done].reverse().find(action => action.event === event)?.detail; }
}

const seat = () => ({ you: { id: 'p1' }, room: 'r', isSameSeat: false, resumed: false });
const resumed = () => ({ ...seat(), isSameSeat: true, resumed: true });
/// The server has the ticket and no media of it.
const returned = () => ({ ...seat(), isSameSeat: true, resumed: false });
const loss = (attempt = 1, fields = {}) => ({ attempt, wait: null, hasMoved: false, ...fields });

test('a join makes a connection', () => {
  const call = new Simulation().did('open 0', 'connect 0');
  call.told(0, 'joined', seat());
  assert.equal(call.done[2].isFirst, true);
  call.did('welcome 0', '(connection connected)', 'begin 0');
});

test('a server that cannot be reached is told at once, and a busy one after ten attempts', () => {
  new Simulation().forget().told(0, 'lost', loss()).did('close 0', 'refuse unreachable');
  const call = new Simulation().forget();
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    call.told(0, 'lost', loss(attempt, { wait: 1.2 }));
    assert.equal(call.detail('delayed'), 2);
    call.did('(delayed)');
  }
  call.told(0, 'lost', loss(11, { wait: 1.2 })).did('close 0', 'refuse busy');
});

test('who is refused hears nothing more', () => {
  const call = new Simulation().forget().told(0, 'error', { code: 'wrong_pin', message: 'no' }).did('close 0', 'refuse wrong_pin');
  call.told(0, 'joined', seat()).told(0, 'lost', loss()).did();
});

test('a lost socket comes back with the same connection', () => {
  Simulation.inCall().told(0, 'lost', loss()).did('(connection reconnecting)').told(0, 'lost', loss(2)).did('(connection lost)')
    .told(0, 'joined', resumed()).did('welcome 0', '(connection connected)', 'goOn 0');
});

test('a server that knows only the ticket gets a new connection and the user\'s picture, and who comes back one by one is no news', () => {
  const call = Simulation.inCall().told(0, 'lost', loss()).forget().told(0, 'joined', returned());
  const [welcome, , begin] = call.done;
  assert.deepEqual([welcome.isBack, welcome.restores, begin.isFirst], [true, true, false]);
  call.did('welcome 0', '(connection connected)', 'begin 0').passes('allAreBack', 15_000).did('allAreBack');
});

test('a seat that has ended is another one, with a new connection', () => {
  const call = Simulation.inCall().told(0, 'lost', loss()).forget().told(0, 'joined', seat());
  assert.equal(call.done[0].isBack, false);
  call.did('welcome 0', '(connection connected)', 'begin 0');
});

test('who waits to be let in sends nothing, and is in the room once admitted', () => {
  const call = new Simulation().forget().told(0, 'waiting').did('silence', '(waiting)');
  assert.ok(call.session.isWaiting);
  call.told(0, 'joined', seat()).did('welcome 0', '(connection connected)', 'begin 0');
  assert.ok(!call.session.isWaiting);
});

test('who is not let in is refused', () => {
  new Simulation().told(0, 'waiting').forget().told(0, 'error', { code: 'refused', message: 'no' }).did('close 0', 'refuse refused');
});

test('who waits again, after a restart, sends nothing, and a second admission brings the call back', () => {
  const call = Simulation.inCall().told(0, 'lost', loss()).forget().told(0, 'waiting').did('silence', '(waiting)');
  call.told(0, 'joined', seat());
  assert.equal(call.done[2].isFirst, false);
  call.did('welcome 0', '(connection connected)', 'begin 0', '(admitted)');
  // And a third time.
  call.told(0, 'waiting').did('silence', '(waiting)').told(0, 'joined', seat()).did('welcome 0', '(connection connected)', 'begin 0', '(admitted)');
});

test('whose socket is lost while waiting, at first or again, goes on waiting', () => {
  new Simulation().told(0, 'waiting').forget().told(0, 'lost', loss()).told(0, 'lost', loss(2)).did();
  Simulation.inCall().told(0, 'waiting').forget().told(0, 'lost', loss()).did().told(0, 'waiting').did('silence', '(waiting)');
});

test('who came back and is not let in has left the call', () => {
  Simulation.inCall().told(0, 'waiting').forget().told(0, 'error', { code: 'refused', message: 'no' }).did('close 0', 'end refused');
});

test('the people who wait are an ordinary message', () => {
  const call = Simulation.inCall().told(0, 'waiting', { people: [] }).did('take waiting');
  assert.ok(!call.session.isWaiting);
});

test('an error in the call is told, and a fatal one ends it', () => {
  Simulation.inCall().told(0, 'error', { code: 'bad_message' }).did('trouble').told(0, 'error', { code: 'slow', fatal: true }).did('close 0', 'end slow');
});

test('the server ends the call', () => {
  Simulation.inCall().told(0, 'left', { reason: 'removed' }).did('close 0', 'end removed').told(0, 'lost', loss()).did();
});

test('a move makes the second connection before the first one ends, which lingers', () => {
  const call = Simulation.inCall().told(0, 'moving', { within: 10 });
  assert.deepEqual(call.detail('moving'), { within: 10 });
  call.did('(moving)', 'open 1').told(0, 'moving', { within: 10 }).did();
  assert.equal(call.timers.get('deadline'), 12_000);
  call.passes('begin', 250).did('connect 1').told(1, 'joined', returned()).did('prepare 1');
  call.told(1, 'answer', { sdp: '' }).did('answerNext');
  assert.equal(call.session.current, 0);
  call.act(call.session.flowing(1));
  assert.deepEqual(call.detail('moved'), { isSeamless: true });
  call.did('use 1', 'welcome 1', 'history', '(seat)', '(room)', '(connection connected)', '(moved)', 'retire 0');
  assert.equal(call.session.current, 1);
  // What the old one says does not matter any more.
  call.told(0, 'left', { reason: 'moved' }).told(0, 'lost', loss()).did();
  call.passes('linger', 1500).did('leave 0', 'closeOldMedia');
  assert.deepEqual([...call.timers.keys()], ['allAreBack']);
  // And another move.
  call.told(1, 'moving', { within: 1 }).did('(moving)', 'open 2').passes('begin', 50).did('connect 2');
});

test('a second move ends what lingers of the first', () => {
  const call = Simulation.inMove();
  call.act(call.session.flowing(1)).forget().told(1, 'moving', { within: 10 }).told(2, 'joined', returned()).forget();
  call.act(call.session.flowing(2));
  assert.deepEqual(call.done.slice(0, 3).map(({ type, socket }) => [type, socket]), [['leave', 0], ['closeOldMedia', undefined], ['use', 2]]);
});

test('the times of a move have a limit', () => {
  assert.deepEqual([0, 'x', 1e9].map(within => Simulation.inCall().told(0, 'moving', { within }).timers.get('deadline')), [3000, 3000, 122_000]);
});

test('what the next server tells waits for the change, and what the present one tells of people is dropped with it', () => {
  const call = Simulation.inMove();
  call.told(0, 'participantsChanged', {}).did().told(0, 'chat', {}).did('take chat').told(1, 'chat', {}).did().told(1, 'participants', {}).did('arriveNext participants');
  call.act(call.session.flowing(1)).did(
    'use 1', 'welcome 1', 'history', '(seat)', '(room)', 'take chat', 'take participants', '(connection connected)', '(moved)', 'retire 0');
});

test('a room that moves on before the call has changed over is followed, and an error of its server is told', () => {
  const call = Simulation.inMove();
  call.told(1, 'moving', { within: 10 }).told(1, 'error', { code: 'too_fast' }).did().act(call.session.flowing(1));
  call.did(
    'use 1', 'welcome 1', 'history', '(seat)', '(room)', '(connection connected)', '(moved)', 'retire 0', '(moving)', 'open 2', 'trouble');
  assert.equal(call.session.next, 2);
});

test('no more than a thousand messages wait', () => {
  const call = Simulation.inMove();
  for (let count = 0; count < 1100; count += 1) call.told(1, 'chat', {}).told(0, 'participants', {});
  call.did();
  const failed = call.session.timer('deadline');
  assert.equal(failed.filter(({ type }) => type === 'take').length, 1000);
  const other = Simulation.inMove();
  for (let count = 0; count < 1100; count += 1) other.told(1, 'chat', {});
  assert.equal(other.session.flowing(1).filter(({ type }) => type === 'take').length, 1000);
});

test('a move that does not succeed leaves the call as it is, with what was told of the people', () => {
  const call = Simulation.inMove();
  call.told(0, 'participantsChanged', {}).told(0, 'participants', {});
  call.timers.set('deadline', 12_000);
  call.passes('deadline', 12_000);
  assert.equal(call.done[0].mustBegin, true);
  assert.ok(call.done.slice(1).every(({ isQuiet }) => isQuiet));
  call.did('giveUpNext 1', 'take participantsChanged', 'take participants').told(0, 'chat').did('take chat');
  // A server that said nothing has no media of this seat.
  const early = Simulation.inCall().told(0, 'moving', { within: 10 }).forget().told(1, 'error', { code: 'unauthorized' });
  assert.equal(early.done[0].mustBegin, false);
  early.did('giveUpNext 1');
});

test('a refused or useless answer of the next server ends the move', () => {
  Simulation.inMove().told(1, 'left', { reason: 'closed' }).did('giveUpNext 1');
  Simulation.inMove().told(1, 'error', { code: 'bad_sdp', fatal: true }).did('giveUpNext 1');
  // One that does not matter does not.
  Simulation.inMove().told(1, 'error', { code: 'too_fast' }).did();
  const call = Simulation.inMove();
  call.act(call.session.nextFailed(1)).did('giveUpNext 1');
  call.act(call.session.nextFailed(1)).act(call.session.flowing(1)).did();
});

test('the next socket is lost and comes back by itself', () => {
  Simulation.inMove().told(1, 'lost', loss()).did().told(1, 'joined', resumed()).did('resumeNext').told(1, 'joined', returned()).did('prepare 1');
});

test('the present server dies in the middle of a move: the next one takes over as it is', () => {
  const call = Simulation.inMove().told(0, 'lost', loss(), { isNextConnected: true });
  assert.deepEqual(call.detail('moved'), { isSeamless: false });
  call.did('use 1', 'welcome 1', 'history', '(seat)', '(room)', '(connection connected)', '(moved)', 'retire 0').passes('linger', 0).did('leave 0', 'closeOldMedia');
  Simulation.inMove().told(0, 'lost', loss()).did('use 1', 'welcome 1', 'history', '(seat)', '(room)', '(connection moving)', '(moved)', 'retire 0');
});

test('the present server dies before the next one has answered: the call comes back there', () => {
  const call = Simulation.inCall().told(0, 'moving', { within: 10 }).forget().told(0, 'lost', loss());
  call.did('use 1', '(connection moving)', 'connect 1', 'retire 0').passes('linger', 0).did('leave 0');
  call.told(1, 'joined', returned());
  assert.deepEqual(call.detail('moved'), { isSeamless: false });
  call.did('welcome 1', '(connection connected)', 'begin 1', '(moved)');
  // It is told once.
  call.told(1, 'lost', loss()).told(1, 'joined', resumed()).did('(connection reconnecting)', 'welcome 1', '(connection connected)', 'goOn 1');
});

test('a call without picture changes over at once', () => {
  Simulation.inCall().told(0, 'moving', { within: 10 }, { isConnected: false }).did('(moving)', 'open 1', 'use 1', '(connection moving)', 'connect 1', 'retire 0');
});

test('a server that ended first, since the room has moved, is a move without a connection', () => {
  const call = Simulation.inCall().told(0, 'lost', loss(1, { hasMoved: true }));
  assert.deepEqual(call.detail('moving'), { within: 0 });
  call.did('(moving)', '(connection moving)').told(0, 'joined', returned()).did('welcome 0', '(connection connected)', 'begin 0', '(moved)');
});

test('a server that has the call still keeps it, by the new socket', () => {
  const call = Simulation.inCall().told(0, 'moving', { within: 10 }).forget().told(0, 'left', { reason: 'replaced' }).did();
  call.told(1, 'joined', resumed()).did('use 1', 'close 0', 'welcome 1', '(connection connected)', 'goOn 1', '(moved)');
  assert.equal(call.session.current, 1);
});

test('who was replaced, and whose move then fails, has left', () => {
  Simulation.inMove().told(0, 'left', { reason: 'replaced' }).told(1, 'left', { reason: 'closed' }).did('giveUpNext 1', 'close 0', 'end replaced');
});

test('a replacement without a move ends the call', () => {
  Simulation.inCall().told(0, 'left', { reason: 'replaced' }).did('close 0', 'end replaced');
});

test('who lost the seat at both servers waits, and what lingered has ended', () => {
  const call = Simulation.inMove();
  call.act(call.session.flowing(1)).forget().told(1, 'lost', loss()).forget().told(1, 'waiting').did('leave 0', 'closeOldMedia', 'silence', '(waiting)');
});

test('the user leaves: all sockets and connections end, and no timer is left', () => {
  const call = Simulation.inMove();
  call.act(call.session.leave()).did('leave 0', 'leave 1', 'giveUpNext 1', 'close 0', 'end ');
});

test('nothing happens after the end', () => {
  const call = Simulation.inCall();
  call.act(call.session.leave()).forget();
  for (const kind of ['joined', 'waiting', 'moving', 'left', 'lost', 'error', 'chat']) call.told(0, kind, { within: 3, ...loss() });
  for (const name of /** @type {const} */ (['begin', 'deadline', 'linger', 'allAreBack'])) call.act(call.session.timer(name));
  call.act(call.session.leave()).act(call.session.flowing(1)).did();
});

test('a message of a socket that is not known is ignored', () => {
  Simulation.inCall().told(7, 'left', { reason: 'removed' }).told(7, 'joined', seat()).did();
});
