// Tells the user that a device is on, and that the server gets nothing of it.

import { endNotice, tell } from '/assets/notice-board.js';
import { t } from '/assets/words.js';

const SECONDS = 30;

/** @param {import('./call.js').Call} call */
export function watchMissing(call) {
  let before = [];
  call.addEventListener('missing', ({ detail: kinds }) => {
    const words = kinds.length > 1 ? 'both' : kinds[0];
    // Opened again, a device that hangs or was taken by another program often works.
    if (words) {
      const again = { text: t('missing.again'), act: () => call.missing.forEach(kind => call.sending.reopen(kind)) };
      tell({ kind: 'problem', key: 'missing', text: t(`missing.${words}`), seconds: SECONDS, actions: [again] });
    } else {
      endNotice('missing');
      // What was switched off is no news to who did it.
      if (before.every(kind => call.sending[kind])) tell({ kind: 'told', key: 'missing', text: t('missing.over'), seconds: 4 });
    }
    before = kinds;
  });
}
