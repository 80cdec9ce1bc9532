// The bar of the call: its buttons, the badge of the recording and that of the link.

const $ = id => document.getElementById(id);

export function showControls({ audio, video, hand, screen }) {
  press('toggle-audio', audio, 'mic', audio ? 'Mute' : 'Unmute', audio ? 'Mute the microphone' : 'Switch the microphone on');
  press('toggle-video', video, 'camera', 'Camera', video ? 'Switch the camera off' : 'Switch the camera on');
  $('toggle-hand').setAttribute('aria-pressed', String(hand));
  $('toggle-screen').setAttribute('aria-pressed', String(Boolean(screen)));
  $('toggle-screen').hidden = !navigator.mediaDevices?.getDisplayMedia;
}

function press(id, isOn, iconName, text, action) {
  const button = $(id);
  button.classList.toggle('off', !isOn);
  button.setAttribute('aria-label', action);
  button.querySelector('use').setAttribute('href', `#icon-${iconName}${isOn ? '' : '-off'}`);
  button.querySelector('span').textContent = text;
}

/// `recording`: the one that runs or pauses; null: none does.
export function showRecording(recording) {
  $('recording-badge').hidden = !recording;
  $('recording-text').textContent = recording?.state === 'paused' ? 'Recording paused' : 'Recording';
  $('toggle-record').classList.toggle('on', Boolean(recording));
  $('toggle-record').setAttribute('aria-label', recording ? 'Stop recording' : 'Record the call');
  $('toggle-record').querySelector('span').textContent = recording ? 'Stop' : 'Record';
}

let lineState = null;

/// Shows what `Line.read` has measured; null hides it.
export function showLine(state) {
  lineState = state;
  $('line').hidden = !state;
  if (!state) return;
  $('line').textContent = state.words;
  $('line').setAttribute('aria-label', state.spoken);
  $('line').className = `badge line ${state.quality}`;
  if ($('line-details').open) showLineDetails();
}

function showLineDetails() {
  $('line-list').replaceChildren(...(lineState?.details ?? []).flatMap(([name, value]) => {
    const term = document.createElement('dt'), detail = document.createElement('dd');
    term.textContent = name;
    detail.textContent = value;
    return [term, detail];
  }));
}

export function toggleLineDetails() {
  if ($('line-details').open) return $('line-details').close();
  $('line-details').show();
  $('line').setAttribute('aria-expanded', 'true');
  $('line').focus();
  showLineDetails();
}
