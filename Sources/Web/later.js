// Parts of the page that a call begins without: the script of each comes when it is needed first, and their words.

import { addDialogWords } from '/assets/dialog-words.js';
import { notice } from '/assets/elements.js';
import { t } from '/assets/words.js';

/// The user is told that something is on its way after so long, ms.
const PATIENCE = 600;

/// Does what shows words of the dialogs, once they are there.
/** @param {(...given: any[]) => void} act */
export const withWords = act => async (...given) => {
  try {
    await addDialogWords();
  } catch {
    return notice(t('later.failed'));
  }
  act(...given);
};

/** @template Script */
export class Later {
  /** @type {Promise<Script> | null} */
  #loading = null;
  #load;
  /// The script, once it is there.
  /** @type {Script | null} */
  loaded = null;

  /** @param {() => Promise<Script>} load */
  constructor(load) { this.#load = load; }

  /// Loads the script and the words before they are needed. What does not come is tried again the next time.
  async prepare() {
    try {
      const [script] = await Promise.all([this.#loading ??= this.#load(), addDialogWords()]);
      this.loaded = script;
    } catch {
      this.#loading = null;
    }
  }

  /// Returns the script, or tells the user that it cannot be loaded and returns null.
  /** @returns {Promise<Script | null>} */
  async get() {
    const timer = setTimeout(() => notice(t('later.loading')), PATIENCE);
    await this.prepare();
    clearTimeout(timer);
    if (!this.loaded) notice(t('later.failed'));
    return this.loaded;
  }
}
