// The sign and the words that say that the call is streamed live, to another server or to players of HLS.

import { announce } from '/assets/news.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// Shows and speaks whether this call is streamed, until it ends.
export function followStreaming(call) {
  let known = null;
  call.addEventListener('streaming', () => {
    $('streaming-badge').hidden = !call.streaming;
    const isNews = known !== null && known !== call.streaming;
    known = call.streaming;
    // Who joins is told by the lobby or is asked.
    if (isNews) tell(t(call.streaming ? 'live.started' : 'live.ended'));
  });
  call.addEventListener('entered', () => { if (call.streaming && !call.isHeld) tell(t('live.now')); });
}

function tell(text) {
  announce({ kind: 'recording', key: 'streaming', text });
  $('streaming-spoken').textContent = text;
}
