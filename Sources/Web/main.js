// The page from the lobby on: it shows the call or the end, and binds the elements to what they do. `start.js` loads it.

import * as address from '/assets/address.js';
import { bindAttention, setTitle } from '/assets/attention.js';
import { bindAvatar, sendAvatar } from '/assets/avatar.js';
import { clearMessages } from '/assets/chat.js';
import { bindChatForm } from '/assets/chat-form.js';
import { askConsent } from '/assets/consent.js';
import { showLine, toggleLineDetails } from '/assets/controls.js';
import { notice, show } from '/assets/elements.js';
import { bindFiles } from '/assets/files.js';
import { bindHosts } from '/assets/hosts.js';
import { openLayouts } from '/assets/layouts.js';
import { bindInvitation } from '/assets/invite.js';
import { lobby, sending } from '/assets/lobby.js';
import { bindNotices } from '/assets/notice-board.js';
import { followOrientation, wantedView } from '/assets/orientation.js';
import { zoom } from '/assets/picture.js';
import { followPlace } from '/assets/place.js';
import { bindPushToTalk } from '/assets/push-to-talk.js';
import { bindReactions } from '/assets/reactions.js';
import { bindRecordings, followRecording, mark, openRecordings } from '/assets/recordings.js';
import { bindSelf } from '/assets/self.js';
import { applySettings, bindSettings } from '/assets/settings.js';
import { actionOf } from '/assets/shortcuts.js';
import { showCall, tellMutedSpeech } from '/assets/show.js';
import { bindSide, isSideOpen, showSide, unread } from '/assets/side.js';
import { bindStage, toggleFullScreen } from '/assets/stage.js';
import { followStreaming } from '/assets/streaming.js';
import { Call } from '/assets/tessera.js';
import { bindUnrecorded, isUnwilling } from '/assets/unrecorded.js';
import { explain, has, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/** @type {Call | null} */
let call = null;
let shown = null;

function openLobby() {
  show('lobby');
  lobby.open();
}

// ---- From the lobby to the end

/// `isTold`: the user knows that the call is recorded or streamed.
export function join(room, name, pin, isTold) {
  sending.start();
  call = new Call(sending, { ...address.callOptions(room, name, pin), view: wantedView(), recorded: !isUnwilling(), isTold });
  followPlace(call, showPart);
  lobby.called(call);
  followOrientation(call);
  call.addEventListener('waiting', waiting);
  call.addEventListener('delayed', ({ detail }) => lobby.showWait(t('join.delayed', { seconds: detail })));
  call.addEventListener('refused', ({ detail }) => refused(detail));
  call.addEventListener('entered', ({ detail }) => entered(detail));
  call.addEventListener('seat', () => sendAvatar(call));
  call.addEventListener('consent', () => askConsent(call));
  call.addEventListener('hostKey', ({ detail }) => address.hostKeys.keep(call.room, detail));
  call.addEventListener('ended', ({ detail }) => ended(detail));
  followRecording(call);
  followStreaming(call);
  shown = showCall(call);
}

function showPart(part) {
  show(part);
  // The button that had the focus is gone. A page in a frame takes the focus from nobody.
  if (part === 'call' && document.hasFocus()) $('call-title').focus();
}

/// A moderator has to let the user in; also in the middle of a call, after the seat was lost.
function waiting() {
  closeDialogs();
  notice(null);
  $('waiting-title').focus();
}

/// The question about a recording stays: it is about what is sent later.
function closeDialogs() { document.querySelectorAll('dialog[open]:not(#consent)').forEach(dialog => dialog.close()); }

function refused(problem) {
  // A guest link is for one room, and for a time.
  if (problem.code === 'unauthorized' || (problem.code === 'forbidden' && address.token()?.startsWith('guest.'))) address.forgetToken();
  lobby.showRefusal(problem);
}

function entered(room) {
  lobby.close();
  address.leaveName(room, $('name').value);
  setTitle(t('title', { room }));
  $('call-title').textContent = t('title', { room });
  applySettings(call);
  showSide(null);
  clearMessages();
  unread(0);
  showLine(null);
  $('unmute-page').hidden = true;
  $('mix').muted = false;
}

/// `end`: {reason, message}; null: the user left.
function ended(end) {
  $('ended-title').textContent = t(end ? 'ended.call' : 'ended.left');
  $('ended-text').textContent = !end ? '' : has(`ended.${end.reason}`) ? t(`ended.${end.reason}`) : explain({ code: end.reason, message: end.message });
  document.querySelectorAll('dialog[open]').forEach(dialog => dialog.close());
  notice(null);
  // Who has waited in vain may join again.
  lobby.close();
  $('ended-title').focus();
}

// Who is about to join finds the socket open.
for (const type of ['pointermove', 'pointerdown', 'focusin', 'input']) $('join-form').addEventListener(type, () => Call.openAhead());
$('rejoin').onclick = openLobby;
$('stop-waiting').onclick = () => call.leave();

// ---- The bar

$('toggle-audio').onclick = () => sending.toggleAudio();
$('toggle-video').onclick = () => sending.toggleVideo();
$('toggle-screen').onclick = () => sending.toggleScreen();
$('toggle-hand').onclick = () => sending.toggleHand();
$('toggle-record').onclick = openRecordings;
bindRecordings();
$('leave').onclick = () => call.leave();
$('line').onclick = toggleLineDetails;
$('line-details').onclose = () => $('line').setAttribute('aria-expanded', 'false');
$('open-layout').onclick = () => openLayouts(call);

bindStage();
bindReactions(() => call);
bindSelf(sending);
bindInvitation(() => (call?.connection ? call : null));
bindSettings(sending, lobby, () => (call?.connection ? call : null));
bindUnrecorded(() => (call?.connection ? call : null));
bindAvatar(() => (call?.connection ? call : null));
tellMutedSpeech(sending);

// ---- People and chat

bindNotices();
bindAttention();
bindSide();
bindHosts(() => call);
bindChatForm(() => call);
bindFiles(() => call);

// ---- The picture

$('unmute-page').onclick = () => { $('mix').muted = false; $('mix').play().catch(() => {}); $('unmute-page').hidden = true; };
$('stage').onclick = event => {
  if (event.target.closest('button, dialog')) return;
  const box = $('stage').getBoundingClientRect();
  zoom(call.tiles, $('mix'), event.clientX - box.left, event.clientY - box.top);
  shown.names();
};
$('mix').onresize = () => shown?.names();
new ResizeObserver(() => shown?.names()).observe($('stage'));

// ---- Keys

addEventListener('keydown', event => {
  if (event.key === 'Escape' && !$('call').hidden && !document.querySelector('dialog:modal')) {
    if ($('line-details').open) $('line-details').close();
    else if ($('reaction-menu').open) { $('reaction-menu').close(); $('open-reactions').focus(); }
    else if (isSideOpen()) showSide(null);
    return;
  }
  if ($('call').hidden || event.target.matches('input, select, textarea')) return;
  const action = actionOf(event);
  if (action === 'audio' && !call.isViewer) sending.toggleAudio();
  if (action === 'video' && !call.isViewer) sending.toggleVideo();
  if (action === 'hand') sending.toggleHand();
  if (action === 'fullScreen') toggleFullScreen();
  if (action === 'mark') mark('');
});
bindPushToTalk(sending, () => !$('call').hidden && !call.isViewer);
// A press of the space bar speaks, and does not press again the button that was clicked last.
document.querySelector('.bar').addEventListener('click', event => { if (event.detail) event.target.closest('[id^=toggle-]')?.blur(); });
