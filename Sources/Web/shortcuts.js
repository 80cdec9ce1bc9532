// The keys of the call, as a value: which action a key asks for.

const ACTIONS = Object.freeze({ m: 'audio', v: 'video', h: 'hand', f: 'fullScreen', k: 'mark' });
const LETTER = /^\p{L}$/u, LATIN = /^\p{Script=Latin}$/u;

/// The action of a key: by its letter, large or small; in other scripts, where no key has that letter, by the key's place on
/// the keyboard. Undefined where it has none, and while a key for commands is held.
/** @param {{ key: string, code: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean }} event @returns {string | undefined} */
export function actionOf({ key, code, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey || !LETTER.test(key)) return undefined;
  const letter = LATIN.test(key) ? key.toLowerCase() : code.replace(/^Key/, '').toLowerCase();
  return Object.hasOwn(ACTIONS, letter) ? ACTIONS[/** @type {keyof typeof ACTIONS} */ (letter)] : undefined;
}
