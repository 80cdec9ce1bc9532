// What the page draws over the picture, and a tile that is enlarged.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import './support/addresses.js';
import { People } from '../../Sources/Web/people.js';

/// An element as far as the page needs it here.
class Made {
  /** @type {any[]} */
  children = [];
  /** @type {Record<string, string>} */
  attributes = {};
  /** @type {Record<string, string>} */
  style = {};
  classes = new Set();
  constructor(tag) { this.tag = tag; }
  get classList() { return { add: name => this.classes.add(name), toggle: (name, isOn) => (isOn ? this.classes.add(name) : this.classes.delete(name)) }; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this.attributes[name] = value; }
}

const overlay = new Made('div');
Object.assign(globalThis, {
  document: { getElementById: id => (id === 'overlay' ? overlay : new Made('div')), createElement: tag => new Made(tag), createElementNS: (_, tag) => new Made(tag) },
});
const { showNames, zoom } = await import('../../Sources/Web/picture.js');

/** @type {any} */
const video = Object.assign(new Made('video'), { videoWidth: 1280, clientWidth: 640, clientHeight: 360 });
const tile = (participant, more = {}) => ({ participant, x: 0, y: 0, width: 1280, height: 720, label: false, signs: false, ...more });
const canvas = (...tiles) => ({ width: 1280, height: 720, tiles });
const people = (...list) => {
  const made = new People();
  made.take({ participants: list.map(one => ({ name: one.id, audio: true, video: true, ...one })), viewers: 0 });
  return made;
};

/// The labels: each a list of the words of its signs, and its text.
function drawn(tiles, list) {
  showNames(tiles, list, video);
  return overlay.children.map(label => label.children.map(child => child.attributes?.['aria-label'] ?? child));
}

test('a label has the signs of a muted microphone and of a raised hand before the name', () => {
  const one = canvas(tile('ann'));
  assert.deepEqual(drawn(one, people({ id: 'ann' })), [['ann']]);
  assert.deepEqual(drawn(one, people({ id: 'ann', audio: false })), [['microphone.off', 'ann']]);
  assert.deepEqual(drawn(one, people({ id: 'ann', audioMuted: true, hand: true })), [['microphone.off', 'hand.raised', 'ann']]);
  assert.deepEqual(drawn(one, people({ id: 'ann', missing: ['audio'] })), [['microphone.missing', 'ann']]);
  // Signs for screen readers, and a label whose direction is that of the name.
  const [label] = overlay.children;
  assert.deepEqual([label.dir, label.children[0].attributes.role, label.children[0].children[0].attributes.href], ['auto', 'img', '#icon-mic-off']);
});

test('tiles whose picture has names get no label, and of two tiles the screen gets no signs', () => {
  assert.deepEqual(drawn(canvas(tile('ann', { label: true })), people({ id: 'ann', audio: false })), []);
  assert.deepEqual(drawn(canvas(tile('ann', { label: undefined })), people({ id: 'ann', audio: false })), []);
  const two = canvas(tile('ann', { source: 'screen' }), tile('ann'));
  assert.deepEqual(drawn(two, people({ id: 'ann', presenting: true, audio: false, hand: true })), [['picture.screen'], ['microphone.off', 'hand.raised', 'ann']]);
  // The screen is in the camera's place.
  assert.deepEqual(drawn(canvas(tile('ann')), people({ id: 'ann', presenting: true, audio: false })), [['microphone.off', 'picture.screen']]);
  assert.deepEqual(drawn(canvas(tile('gone')), people()), [['']]);
  assert.deepEqual(drawn(null, people()), []);
});

test('an enlarged tile fills the stage, and its label moves with it', () => {
  const half = { y: 180, width: 640, height: 360 }, two = canvas(tile('ann', { x: 0, ...half }), tile('bo', { x: 640, ...half }));
  const list = people({ id: 'ann' }, { id: 'bo' }), places = () => overlay.children.map(({ style }) => [style.left, style.top]);
  showNames(two, list, video);
  assert.deepEqual([video.style.transform, places()], ['', [['8px', '238px'], ['328px', '238px']]]);
  zoom(two, video, 400, 180);
  showNames(two, list, video);
  assert.deepEqual([video.style.transform, places()], ['translate(-640px, -180px) scale(2)', [['-632px', '328px'], ['8px', '328px']]]);
  assert.ok(video.classes.has('zoomed'));
  zoom(two, video, 10, 10);
  showNames(two, list, video);
  assert.deepEqual([video.style.transform, places()[0]], ['', ['8px', '238px']]);
});
