// The words of the page, in the language of the browser: one file for each, words.LANGUAGE.json. Those of the dialogs come
// later (`dialog-words.js`).

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

/// Adds words of other files, by their languages, and fills the elements that wait for them.
/** @param {Record<string, string>} files */
export async function addWords(files) {
  const more = await fetch(files[language]).then(answer => (answer.ok ? answer.json() : Promise.reject(new Error(files[language]))));
  Object.assign(words, more);
  translate(document, key => key in more);
}

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

/// Adds dialogs to the page, with the words that are there; others come by `addWords`.
/** @param {string} markup of the page's own */
export function addDialogs(markup) {
  const made = document.createElement('template');
  made.innerHTML = markup;
  translate(made.content);
  document.getElementById('call').append(made.content);
}

/// Fills the elements of the page that there are words for: `data-t` has the key of the text, `data-t-title` and the like
/// that of an attribute.
export function translate(root, isWanted = has) {
  document.documentElement.lang = language;
  document.documentElement.dir = t('direction');
  for (const element of root.querySelectorAll('[data-t]')) if (isWanted(element.dataset.t)) element.textContent = t(element.dataset.t);
  for (const name of ['title', 'aria-label', 'placeholder']) {
    for (const element of root.querySelectorAll(`[data-t-${name}]`)) {
      const key = element.getAttribute(`data-t-${name}`);
      if (isWanted(key)) element.setAttribute(name, t(key));
    }
  }
}
