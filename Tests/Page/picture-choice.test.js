// What the user has chosen to see, at a server that does not know it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PictureChoice } from '../../Sources/Web/picture-choice.js';

const HERE = {}, THERE = {};
const OTHERS = { view: 'main', layout: 'grid', scope: 'room', pin: [] };
const has = (...people) => id => people.includes(id);

function chosen(told) {
  const choice = new PictureChoice();
  choice.take(told);
  return choice;
}

test('the room\'s layout is kept beside the user\'s own', () => {
  const choice = chosen({ name: 'grid', scope: 'room' });
  choice.take({ name: 'speaker', scope: 'me', pin: ['ann'], view: 'portrait' });
  assert.deepEqual([choice.view, choice.layout, choice.mine], ['portrait', 'grid', { name: 'speaker', pin: 'ann' }]);
});

test('a server that shows the same already is asked for nothing', () => {
  assert.deepEqual(chosen({ name: 'grid', scope: 'room' }).restore(OTHERS, THERE), []);
  assert.deepEqual(chosen({ name: 'speaker', scope: 'me', pin: ['ann'] }).restore({ ...OTHERS, layout: 'speaker', scope: 'me', pin: ['ann'] }, THERE), []);
});

test('the view and the own layout are asked for again', () => {
  assert.deepEqual(chosen({ name: 'speaker', scope: 'me', pin: [], view: 'portrait' }).restore(OTHERS, THERE), [
    { type: 'view', name: 'portrait' }, { type: 'layout', name: 'speaker', scope: 'me', pin: [] }]);
});

test('a pin is asked for again once its person is there, once, and at that server alone', () => {
  const choice = chosen({ name: 'speaker', scope: 'me', pin: ['ann'] });
  const wanted = { type: 'layout', name: 'speaker', scope: 'me', pin: ['ann'] };
  assert.deepEqual(choice.restore(OTHERS, THERE), [wanted]);
  assert.deepEqual(choice.arrived(THERE, has('bob')), []);
  assert.deepEqual(choice.arrived(HERE, has('ann')), []);
  assert.deepEqual(choice.arrived(THERE, has('bob', 'ann')), [wanted]);
  assert.deepEqual(choice.arrived(THERE, has('bob', 'ann')), []);
});

test('what the user chooses meanwhile counts', () => {
  const choice = chosen({ name: 'speaker', scope: 'me', pin: ['ann'] });
  choice.restore(OTHERS, THERE);
  assert.deepEqual(choice.choose(null), { type: 'layout', scope: 'me' });
  assert.deepEqual(choice.arrived(THERE, has('ann')), []);
});

test('an error about a view that was asked for is told apart from others', () => {
  const choice = chosen({ name: 'grid', scope: 'room' });
  assert.ok(!choice.isRefused('too_fast'));
  assert.deepEqual(choice.ask('portrait'), { type: 'view', name: 'portrait' });
  assert.ok(!choice.isRefused('bad_message'));
  assert.ok(choice.isRefused('overloaded'));
  assert.ok(!choice.isRefused('overloaded'));
  choice.ask('portrait');
  choice.take({ name: 'grid', scope: 'room', view: 'portrait' });
  assert.ok(!choice.isRefused('too_fast'));
});
