// When the socket is opened, believed and given up. Times are random half-way.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { retryDelay, SignallingState } from '../../Sources/Web/signalling-state.js';

const TICKET = { id: 'p1', secret: 's1' };
const JOINED = { type: 'joined', you: { id: 'p1', resume: TICKET } };

class Socket {
  constructor(options = {}) {
    this.state = new SignallingState({ random: () => 0.5, ...options });
    this.timers = new Map();
    this.done = [];
    this.act(this.state.open());
  }

  act(actions) {
    for (const action of actions) {
      if (action.type !== 'timer') this.done.push(action);
      else if (action.after === null) this.timers.delete(action.name);
      else this.timers.set(action.name, action.after);
    }
    return this;
  }

  hears(message) { return this.act(this.state.heard(message)); }
  opens() { return this.act(this.state.opened()); }
  loses() { return this.act(this.state.lost()); }

  passes(name, after) {
    assert.equal(this.timers.get(name), after, `${name}: ${[...this.timers]}`);
    this.timers.delete(name);
    return this.act(this.state.timer(name));
  }

  did(...expected) {
    const name = ({ type, event, resume, message }) => [type, event, resume && 'with the ticket', message?.type].filter(Boolean).join(' ');
    assert.deepEqual(this.done.splice(0).map(name), expected);
    return this;
  }

  static joined() {
    const socket = new Socket().opens().hears(JOINED);
    socket.done = [];
    return socket;
  }
}

test('a socket is opened and joins', () => {
  const socket = new Socket().did('connect').opens().did('join').hears(JOINED).did('tell joined');
  assert.ok(socket.state.isJoined);
  assert.equal(socket.timers.size, 0);
});

test('a socket that does not open, or is not answered, is given up', () => {
  const socket = new Socket().did('connect').passes('patience', 6000).did('drop', 'tell lost');
  socket.passes('retry', 150).did('connect').opens().did('join').passes('patience', 15_000).did('drop', 'tell lost');
});

test('who is in a call tries sooner, and then less often', () => {
  const socket = Socket.joined().loses().did('tell lost');
  for (const [retry, patience] of [[150, 5000], [500, 6000], [1000, 6000], [2000, 6000], [2500, 6000], [2500, 6000]]) {
    socket.passes('retry', retry).did('connect').passes('patience', patience).did('drop', 'tell lost');
  }
  // With success the count begins anew.
  socket.passes('retry', 2500).opens().hears(JOINED).loses();
  assert.equal(socket.timers.get('retry'), 150);
});

test('any part of the time to come back is as likely', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 9].map(attempt => retryDelay(attempt, 1)), [300, 1000, 2000, 4000, 5000, 5000]);
  assert.deepEqual([0, 1, 9].map(attempt => retryDelay(attempt, 0)), [0, 0, 0]);
});

test('the same seat goes on with its connection', () => {
  const socket = Socket.joined().loses().passes('retry', 150).opens().did('tell lost', 'connect', 'join with the ticket').hears(JOINED);
  assert.deepEqual([socket.done[0].detail.isSameSeat, socket.done[0].detail.resumed], [true, true]);
});

test('a server that has only the ticket, or may have media of a failed move, gets a new connection', () => {
  const fresh = Socket.joined().loses().hears({ ...JOINED, fresh: true });
  assert.deepEqual([fresh.done[1].detail.isSameSeat, fresh.done[1].detail.resumed], [true, false]);
  const socket = Socket.joined();
  socket.state.mustBegin = true;
  socket.loses().hears(JOINED).loses().hears(JOINED);
  assert.deepEqual([socket.done[1].detail.resumed, socket.done[3].detail.resumed], [false, true]);
});

test('a seat that has ended is joined again without the ticket, on the same socket', () => {
  const socket = Socket.joined().loses().passes('retry', 150).opens().hears({ type: 'error', code: 'unauthorized' });
  socket.did('tell lost', 'connect', 'join with the ticket', 'join').hears({ type: 'joined', you: { id: 'p2', resume: TICKET } });
  assert.equal(socket.done[0].detail.isSameSeat, false);
});

test('a socket that is there for a seat ends without it', () => {
  const socket = new Socket({ seat: { id: 'p1', resume: TICKET } }).opens().did('connect', 'join with the ticket');
  socket.hears({ type: 'error', code: 'unauthorized' }).did('drop', 'tell error');
  assert.equal(socket.timers.size, 0);
});

test('a busy server is asked again after the time that it says, and half of that', () => {
  const socket = new Socket().opens().hears({ type: 'error', code: 'too_fast', retryAfter: 3 });
  assert.equal(socket.done.at(-1).detail.wait, 4.5);
  socket.did('connect', 'join', 'drop', 'tell lost').passes('retry', 4500).did('connect');
  // An ordinary loss again.
  socket.loses();
  assert.equal(socket.done.at(-1).detail.wait, null);
});

test('whose time has run out or whose room has moved comes back, with the ticket where another server has the seat', () => {
  for (const [reason, ticket, retry] of [['moved', TICKET, 250], ['draining', TICKET, 150], ['timeout', null, 150], ['failed', null, 150]]) {
    const socket = Socket.joined().hears({ type: 'left', reason }).did('drop', 'tell lost').passes('retry', retry).opens();
    assert.deepEqual(socket.done.at(-1).resume, ticket);
  }
});

test('whoever was removed does not come back', () => {
  const socket = Socket.joined().hears({ type: 'left', reason: 'removed' }).did('tell left').loses().did();
  assert.equal(socket.timers.size, 0);
  const fatal = Socket.joined().hears({ type: 'error', code: 'slow', fatal: true }).did('tell error').loses().did();
  assert.equal(fatal.timers.size, 0);
});

test('a server in doubt has two seconds for any word', () => {
  const socket = Socket.joined().act([]);
  socket.act(socket.state.doubt()).did('send ping').act(socket.state.doubt()).did();
  socket.hears({ type: 'pong' }).did();
  assert.equal(socket.timers.size, 0);
  socket.act(socket.state.doubt()).did('send ping').hears({ type: 'error', code: 'bad_message', message: 'unknown type ping; known: …' }).did();
  socket.act(socket.state.doubt()).did('send ping').passes('sign', 2000).did('drop', 'connect');
});

test('a network that is back opens a socket at once, where none is joined', () => {
  const socket = Socket.joined();
  socket.act(socket.state.online()).did().loses().did('tell lost').act(socket.state.online()).did('drop', 'connect');
  assert.ok(!socket.timers.has('retry'));
});

test('messages wait for the socket in their order, offers do not, and two hundred at most', () => {
  const socket = Socket.joined().loses().did('tell lost');
  socket.act(socket.state.send({ type: 'offer' }, false));
  for (let count = 0; count < 300; count += 1) socket.act(socket.state.send({ type: 'chat' }));
  socket.did().hears(JOINED);
  assert.equal(socket.done.filter(({ message }) => message?.type === 'chat').length, 200);
  assert.equal(socket.done.at(-1).type, 'tell', 'who hears of it may say something newer');
});

test('who leaves says so, and nothing more happens', () => {
  const socket = Socket.joined();
  socket.act(socket.state.close({ leave: true })).did('send leave', 'drop');
  socket.hears({ type: 'chat' }).loses().act(socket.state.online()).act(socket.state.doubt()).did();
  for (const name of ['patience', 'sign', 'retry']) socket.act(socket.state.timer(name));
  socket.did();
});

test('who is retired keeps the seat as long as the socket lasts', () => {
  const socket = Socket.joined();
  socket.act(socket.state.retire()).did().act(socket.state.send({ type: 'state' })).did('send state').loses().did();
  assert.equal(socket.timers.size, 0);
});

test('who waits to be let in is told, and waits as long as the server answers', () => {
  const socket = new Socket().opens().hears({ type: 'waiting' }).did('connect', 'join', 'tell waiting');
  assert.ok(!socket.state.isJoined);
  for (let count = 0; count < 400; count += 1) socket.passes('patience', 4000).did('send ping').hears({ type: 'pong' }).did();
  socket.hears(JOINED).did('tell joined').hears({ type: 'waiting', people: [] }).did('tell waiting');
  assert.equal(socket.timers.size, 0);
});

test('who waits to be let in comes back to wait where the server says nothing', () => {
  const socket = new Socket().opens().hears({ type: 'waiting' }).did('connect', 'join', 'tell waiting');
  socket.passes('patience', 4000).did('send ping').act(socket.state.doubt()).did();
  socket.passes('sign', 2000).did('drop', 'connect').passes('patience', 6000).did('drop', 'tell lost').act(socket.state.doubt()).did();
  socket.passes('retry', 150).did('connect').opens().hears({ type: 'waiting' }).did('join', 'tell waiting').passes('patience', 4000).did('send ping');
});

test('an older server refuses the ping of who waits, and that is a sign of life', () => {
  const socket = new Socket().opens().hears({ type: 'waiting' }).passes('patience', 4000);
  socket.did('connect', 'join', 'tell waiting', 'send ping').hears({ type: 'error', code: 'bad_message', message: 'wait until you are let in' }).did();
  assert.deepEqual([...socket.timers], [['patience', 4000]]);
  socket.hears({ type: 'error', code: 'refused', fatal: true, message: '' }).did('tell error');
  assert.equal(socket.timers.size, 0);
});
