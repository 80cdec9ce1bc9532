// The bar of the call: its buttons, the badge of the recording and that of the link.

import { press } from '/assets/elements.js';
import { Later } from '/assets/later.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// Shows the buttons that the user's role allows, and what they have switched on.
/** @param {import('./call.js').Call} call */
export function showControls(call) {
  const { hand, screen, shown } = call.sending;
  for (const id of ['toggle-audio', 'toggle-video', 'toggle-screen']) $(id).hidden = call.isViewer;
  if (!navigator.mediaDevices?.getDisplayMedia || !(screen || call.may('share'))) $('toggle-screen').hidden = true;
  $('chat-closed').hidden = call.may('chat');
  for (const id of ['chat-to', 'chat-text', 'chat-file']) $(id).disabled = !call.may('chat');
  $('toggle-record').hidden = !call.mayRecord;

  // What does not arrive is not shown as if others heard it.
  const audio = call.missing.includes('audio') ? 'missing' : shown.audio, video = call.missing.includes('video') ? 'missing' : shown.video;
  press('toggle-audio', audio, 'mic', t(`audio.${audio}`), t(`audio.${audio}.action`));
  press('toggle-video', video, 'camera', t(['opening', 'missing', 'paused'].includes(video) ? `camera.${video}` : 'camera'), t(`camera.${video}.action`));
  $('toggle-hand').setAttribute('aria-pressed', String(hand));
  $('toggle-screen').setAttribute('aria-pressed', String(Boolean(screen)));
}

export function showRecording({ recording }) {
  $('recording-badge').hidden = !recording;
  const state = t(recording?.state === 'paused' ? 'record.paused' : 'record.running');
  $('recording-text').textContent = state;
  $('toggle-record').classList.toggle('on', Boolean(recording));
  $('toggle-record').setAttribute('aria-label', recording ? state : t('record.title'));
  $('toggle-record').querySelector('span').textContent = t('record');
}

const details = new Later(() => import('/assets/line-details.js'));
let lineState = null;

/// Shows what `Line.read` has measured; null hides it.
export function showLine(state) {
  lineState = state;
  $('line').hidden = !state;
  if (!state) return;
  const words = t(`line.${state.code}`, { loss: percent(state.loss) });
  $('line').textContent = words;
  $('line').setAttribute('aria-label', t('line.spoken', { words }));
  $('line').className = `badge line ${state.quality}`;
  if ($('line-details').open) showDetails();
}

const showDetails = () => details.loaded?.showLineDetails(lineState, percent);
const percent = share => (share === null ? '–' : `${(share * 100).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`);
export async function toggleLineDetails() {
  if ($('line-details').open) return $('line-details').close();
  if (!await details.get()) return;
  $('line-details').show();
  $('line').setAttribute('aria-expanded', 'true');
  $('line').focus();
  showDetails();
}
