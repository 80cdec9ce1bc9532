// Tells those who join that the call is recorded, before anything of theirs is sent.

const $ = id => document.getElementById(id);

/// Asks who joined without the lobby's sign; nothing is sent until the answer.
export function askConsent(call) {
  const dialog = $('consent');
  let wasRecorded = Boolean(call.recording);
  call.addEventListener('recording', () => {
    if (wasRecorded && !call.recording && dialog.open) dialog.close('send');
    wasRecorded = Boolean(call.recording);
  });
  dialog.returnValue = '';
  dialog.onclose = () => {
    if (dialog.returnValue === 'leave') call.leave();
    // Closed by the Escape key: nothing is sent.
    else call.consent(dialog.returnValue === 'send');
  };
  dialog.showModal();
  $('consent-title').focus();
}
