// The page: it shows the lobby, the call or the end, and binds the elements to what they do.

import * as address from '/assets/address.js';
import { Call } from '/assets/call.js';
import { bindPictures, clearMessages } from '/assets/chat.js';
import { showLine, toggleLineDetails } from '/assets/controls.js';
import { Lobby } from '/assets/lobby.js';
import { isSideOpen, notice, showLayouts, showSide, toggleSide, unread, zoom } from '/assets/panels.js';
import { Sending } from '/assets/sending.js';

const $ = id => document.getElementById(id);
const sending = new Sending();
const lobby = new Lobby(sending, join);
let call = null;

function show(page) {
  for (const id of ['lobby', 'call', 'ended']) $(id).hidden = id !== page;
}

function openLobby() {
  show('lobby');
  lobby.open();
}

// ---- From the lobby to the end

function join(room, name) {
  sending.start();
  call = new Call(room, name, sending);
  call.addEventListener('waiting', ({ detail }) => lobby.showWait(detail));
  call.addEventListener('refused', ({ detail }) => { lobby.showRefusal(detail); show('lobby'); });
  call.addEventListener('entered', ({ detail }) => entered(detail));
  call.addEventListener('ended', ({ detail }) => ended(detail));
}

function entered(room) {
  lobby.close();
  history.replaceState(null, '', `/r/${encodeURIComponent(room)}${location.search}`);
  document.title = `${room} – Tessera`;
  $('link').value = address.linkTo(room);
  show('call');
  showSide(null);
  clearMessages();
  unread(0);
  showLine(null);
  $('unmute-page').hidden = true;
  $('mix').muted = false;
}

const REASONS = {
  removed: 'A moderator has removed you from the call.',
  room_ended: 'The room was closed for everyone.',
  replaced: 'You have joined from another window or device.',
};

function ended(reason) {
  $('ended-title').textContent = reason ? 'The call ended' : 'You left the call';
  $('ended-text').textContent = reason ? REASONS[reason] ?? String(reason) : '';
  document.querySelectorAll('dialog[open]').forEach(dialog => dialog.close());
  notice(null);
  show('ended');
  $('ended-title').focus();
}

$('rejoin').onclick = openLobby;

// ---- The bar

$('toggle-audio').onclick = () => sending.toggleAudio();
$('toggle-video').onclick = () => sending.toggleVideo();
$('toggle-screen').onclick = () => sending.toggleScreen();
$('toggle-hand').onclick = () => sending.toggleHand();
$('toggle-record').onclick = () => call.toggleRecording();
$('leave').onclick = () => call.leave();
$('line').onclick = toggleLineDetails;
$('line-details').onclose = () => $('line').setAttribute('aria-expanded', 'false');
$('open-layout').onclick = async () => {
  const choose = (name, scope) => {
    call.chooseLayout(name, scope);
    $('layout-menu').close();
  };
  await showLayouts(call.layout, call.mine?.name, choose, address.token());
  $('layout-menu').showModal();
};

// ---- Settings

$('open-settings').onclick = async () => {
  await sending.fillSelects($('call-camera'), $('call-microphone'));
  $('settings').showModal();
};
$('call-camera').onchange = () => sending.switchDevice('video', $('call-camera').value);
$('call-microphone').onchange = () => sending.switchDevice('audio', $('call-microphone').value);
$('copy-link').onclick = async () => {
  $('link').select();
  // Without HTTPS there is no clipboard object, but the old command copies the selection.
  const isCopied = await navigator.clipboard?.writeText($('link').value).then(() => true, () => false) || document.execCommand('copy');
  $('copy-link').textContent = isCopied ? 'Copied' : 'Copy it from the field';
  setTimeout(() => { $('copy-link').textContent = 'Copy link'; }, 2000);
};

// ---- People and chat

for (const name of ['people', 'chat']) {
  $(`open-${name}`).onclick = () => toggleSide(name);
  $(`tab-${name}`).onclick = () => showSide(name);
  $(`tab-${name}`).onkeydown = ({ key }) => {
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
    const other = name === 'people' ? 'chat' : 'people';
    showSide(other);
    $(`tab-${other}`).focus();
  };
}
$('side-close').onclick = () => showSide(null);
$('chat-form').onsubmit = event => {
  event.preventDefault();
  const text = $('chat-text').value.trim();
  if (!text) return;
  const to = $('chat-to').value;
  call.send({ type: 'chat', text, ...(to ? { to } : {}) });
  $('chat-text').value = '';
};
bindPictures(() => call.seat);

// ---- The picture

$('unmute-page').onclick = () => { $('mix').muted = false; $('mix').play().catch(() => {}); $('unmute-page').hidden = true; };
$('stage').onclick = event => {
  if (event.target.closest('button, dialog')) return;
  const box = $('stage').getBoundingClientRect();
  zoom(call.tiles, $('mix'), event.clientX - box.left, event.clientY - box.top);
  call.showNames();
};
$('mix').onresize = () => call?.showNames();
new ResizeObserver(() => call?.showNames()).observe($('stage'));

// ---- Keys, and the end of the page

addEventListener('keydown', event => {
  if (event.key === 'Escape' && !$('call').hidden && !document.querySelector('dialog:modal')) {
    if ($('line-details').open) $('line-details').close();
    else if (isSideOpen()) showSide(null);
    return;
  }
  if ($('call').hidden || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select, textarea')) return;
  const action = { m: 'toggleAudio', v: 'toggleVideo', h: 'toggleHand' }[event.key];
  if (action) sending[action]();
});
addEventListener('pagehide', () => { if (call?.connection) call.send({ type: 'leave' }); });
openLobby();
