// The page of who watches a room without a seat in it, by HLS.

import * as address from '/assets/address.js';
import { addDialogWords } from '/assets/dialog-words.js';
import { Player } from '/assets/player.js';
import { t, translate } from '/assets/words.js';

const $ = id => document.getElementById(id);
const video = $('video');
let player = null;

await addDialogWords();
translate(document.body);
document.title = t('watch.title', { room: address.room });
$('room-name').textContent = address.room;
$('take-part').href = address.linkTo(address.room);

function streamURL(pin) {
  const url = new URL(`/hls/${encodeURIComponent(address.room)}/index.m3u8`, location.href);
  if (address.token()) url.searchParams.set('token', address.token());
  if (pin) url.searchParams.set('pin', pin);
  return url.href;
}

function say(text) { if ($('state').textContent !== text) $('state').textContent = text; }

function refused({ status, code, message }) {
  $('pin-form').hidden = !['pin_required', 'wrong_pin'].includes(code);
  say(code === 'pin_required' ? t('watch.pin') : code === 'wrong_pin' ? t('watch.pin.wrong') : status === 401 ? t('watch.token') : message);
}

function start(pin) {
  player?.stop();
  $('pin-form').hidden = true;
  if (!Player.isPossible) {
    // Browsers with a player of their own, such as Safari's on phones.
    video.src = streamURL(pin);
    video.play().catch(() => {});
    return;
  }
  player = new Player(video, streamURL(pin));
  player.addEventListener('state', ({ detail }) => say(detail === 'waiting' ? t('watch.waiting') : ''));
  player.addEventListener('refused', ({ detail }) => refused(detail));
  player.run();
  // For whoever looks at the delay from outside.
  window.tesseraPlayer = player;
}

$('pin-form').onsubmit = event => {
  event.preventDefault();
  start($('pin').value);
};
const showSound = () => { $('sound').hidden = !video.muted; };
video.onvolumechange = showSound;
$('sound').onclick = () => {
  video.muted = false;
  video.play().catch(() => {});
};
showSound();
start();
