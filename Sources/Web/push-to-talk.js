// Push to talk, by the space bar.

/// Who is muted speaks as long as the space bar is held.
/** @param {import('./sending.js').Sending} sending @param {() => boolean} isInCall */
export function bindPushToTalk(sending, isInCall) {
  let isHeld = false;
  const release = () => {
    if (isHeld) sending.setAudio(false);
    isHeld = false;
  };
  addEventListener('keydown', event => {
    if (event.key !== ' ' || !isInCall() || event.target.closest?.('button, input, select, textarea, a, dialog, [role=tab]')) return;
    event.preventDefault();
    if (event.repeat || isHeld || sending.shown.audio !== 'off') return;
    isHeld = true;
    sending.setAudio(true);
  });
  addEventListener('keyup', event => { if (event.key === ' ') release(); });
  // A key that is released in another window is not told.
  addEventListener('blur', release);
}
