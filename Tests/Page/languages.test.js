// The language of the words, and the region whose clock is shown.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { choose } from '../../Sources/Web/languages.js';

const KNOWN = ['en', 'de'];
const clock = region => new Date(2026, 0, 1, 23, 13).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });

test('the clock is that of the region, not that of the language', () => {
  const british = choose([null, 'en-GB', 'en-US', 'en'], KNOWN);
  assert.deepEqual(british, { language: 'en', region: 'en-GB' });
  assert.equal(clock(british.region), '23:13');
  assert.ok(/11:13.PM/.test(clock(choose(['en-US', 'en'], KNOWN).region)));
  assert.deepEqual(choose(['de-AT', 'de'], KNOWN), { language: 'de', region: 'de-AT' });
});

test('who reads a foreign language keeps the clock of the own region', () => {
  const french = choose([null, 'fr-FR', 'fr', 'en'], KNOWN);
  assert.deepEqual(french, { language: 'en', region: 'fr-FR' });
  assert.equal(clock(french.region), '23:13');
});

test('the address goes first, and what is no tag is passed over', () => {
  assert.deepEqual(choose(['de', 'en-GB'], KNOWN), { language: 'de', region: 'de' });
  for (const rubbish of ['', '%', '-', 'de_DE', 'x'.repeat(5000), 'en-', '../x']) {
    assert.deepEqual(choose([rubbish, 'en-GB'], KNOWN), { language: 'en', region: 'en-GB' }, rubbish);
  }
  assert.deepEqual(choose([null, undefined], KNOWN), { language: 'en', region: 'en' });
  clock(choose(['constructor', 'tlh'], KNOWN).region);
});
