// Tells those who join that the call is recorded or streamed, or kept for a recording that may start, before anything of theirs is sent.

import { choose } from '/assets/unrecorded.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// Asks who joined without the lobby's sign; nothing is sent until the answer.
export function askConsent(call) {
  const dialog = $('consent');
  const isTaken = () => Boolean(call.recording || call.streaming);
  let wasTaken = isTaken();
  const changed = () => {
    if (wasTaken && !isTaken() && !call.preRoll && dialog.open) dialog.close('send');
    explain(call);
    wasTaken = isTaken();
  };
  call.addEventListener('recording', changed);
  call.addEventListener('streaming', changed);
  dialog.returnValue = '';
  dialog.onclose = () => {
    if (dialog.returnValue === 'leave') call.leave();
    else {
      // Before anything is sent.
      if (dialog.returnValue === 'unrecorded') choose(false, call);
      // Closed by the Escape key: nothing is sent.
      call.consent(['send', 'unrecorded'].includes(dialog.returnValue));
    }
  };
  explain(call);
  dialog.showModal();
  $('consent-title').focus();
}

function explain({ recording, preRoll, streaming }) {
  const words = streaming ? (recording ? 'both' : 'live') : !recording && preRoll ? 'kept' : 'now';
  $('consent-title').textContent = t(`consent.title.${words}`, { seconds: preRoll });
  $('consent-text').textContent = t(`consent.text.${words}`);
}
