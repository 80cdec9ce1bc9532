// The words of the dialogs that a call begins without, and of the pages beside the call's.

// Each import is the address of the file.
import de from './dialogs.de.json';
import en from './dialogs.en.json';

import { addWords } from '/assets/words.js';

/** @type {Promise<void> | null} */
let adding = null;

/// Adds them once. Where they do not come, the next call tries it again.
export const addDialogWords = () => adding ??= addWords({ en, de }).catch(error => {
  adding = null;
  throw error;
});
