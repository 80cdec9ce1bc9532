// The words of the page, in the language of the browser: one file for each, words.LANGUAGE.json.

// Each import is the address of the file.
import de from './words.de.json';
import en from './words.en.json';

import { choose } from '/assets/languages.js';

const FILES = { en, de };
const wanted = [new URLSearchParams(location.search).get('lang'), ...navigator.languages];

/// The language of the words, and the tag by which times and numbers are written.
export const { language, region } = choose(wanted, Object.keys(FILES));

const answer = await fetch(FILES[language]);
if (!answer.ok) window.tesseraReload();
const words = await answer.json();
const plural = new Intl.PluralRules(language);

/// The words for a key, with {name} replaced by `values.name`. `values.count` chooses KEY.one or KEY.other.
export function t(key, values = {}) {
  const text = words[values.count === undefined ? key : `${key}.${plural.select(values.count)}`] ?? words[`${key}.other`] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

/// Whether there are words for a key.
export const has = key => key in words;

/// A sentence for a problem of the call: {code, device, message}.
/** @param {{ code: string, device?: string, message?: string }} problem */
export function explain({ code, device, message }) {
  const key = [`problem.${code}.${device}`, `problem.${code}`].find(has);
  return key ? t(key, { message }) : t('problem.other', { message: message ?? code });
}

/// Fills the elements of the page: `data-t` has the key of the text, `data-t-title` and the like that of an attribute.
export function translate(root) {
  document.documentElement.lang = language;
  document.documentElement.dir = t('direction');
  for (const element of root.querySelectorAll('[data-t]')) element.textContent = t(element.dataset.t);
  for (const name of ['title', 'aria-label', 'placeholder']) {
    for (const element of root.querySelectorAll(`[data-t-${name}]`)) element.setAttribute(name, t(element.getAttribute(`data-t-${name}`)));
  }
}
