// What the user is seldom told: that nothing arrives of a device, what hosts have done, and that somebody tries PINs. It
// comes with the first of these events; each has its function here, by its name.

import { notice } from '/assets/elements.js';
import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

/// `call`, who somebody is, and the place of notices.
/** @typedef {{ call: import('./call.js').Call, nameOf: (id: string) => string, tell: typeof import('./notice-board.js').tell, endNotice: (key: string) => void, announce: typeof import('./news.js').announce }} Page */

const SECONDS = 30;
let before = [];

/// A device is on, and the server gets nothing of it.
/** @param {string[]} kinds @param {Page} page */
export function missing(kinds, { call, tell, endNotice }) {
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
}

/** @param {number} wrong */
export const pinTries = wrong => notice(t('host.pin.tried', { count: wrong, number: wrong }), 30);

/** @param {string} by @param {Page} page */
export const screenStopped = (by, { nameOf }) => notice(t('host.screenStopped', { name: nameOf(by) }));

/** @param {string} by @param {Page} page */
export const videoStopped = (by, { nameOf, tell }) => tell({ kind: 'told', key: 'video', text: t('host.videoStopped', { name: nameOf(by) }) });

/** @param {string} by @param {Page} page */
export function askedForVideo(by, { call, nameOf, announce }) {
  const action = { text: t('camera.off.action'), act: () => call.sending.setVideo(true) };
  announce({ kind: 'asked', key: 'askedForVideo', text: t('host.askedForVideo', { name: nameOf(by) }), actions: [action] });
}

/// The line is too thin for the camera, or it is tried again.
/** @param {boolean} rests @param {Page} page */
export function cameraRests(rests, { call, tell }) {
  const action = { text: t('camera.restsNot'), act: () => call.sending.setVideo(true) };
  tell(rests ? { kind: 'problem', key: 'cameraRests', text: t('camera.rests'), actions: [action] } : { kind: 'told', key: 'cameraRests', text: t('camera.isBack') });
}
