// Tells the user that a device is on, and that the server gets nothing of it.

import { notice } from '/assets/elements.js';
import { t } from '/assets/words.js';

const SECONDS = 30;

/** @param {import('./call.js').Call} call */
export function watchMissing(call) {
  let before = [];
  call.addEventListener('missing', ({ detail: kinds }) => {
    const words = kinds.length > 1 ? 'both' : kinds[0];
    // Opened again, a device that hangs or was taken by another program often works.
    if (words) notice(t(`missing.${words}`), SECONDS, { text: t('missing.again'), act: () => call.missing.forEach(kind => call.sending.reopen(kind)) });
    // What was switched off is no news to who did it.
    else if (before.every(kind => call.sending[kind])) notice(t('missing.over'), 4);
    before = kinds;
  });
}
