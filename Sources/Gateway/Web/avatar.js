// The user's picture, which others see while the camera is off. The page keeps it, small and square, and gives it to
// every seat.

import { remember, remembered } from '/assets/pickers.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// Of the kept picture, in pixels: the server makes no larger one of it.
const SIDE = 256;

/// `call()`: the call that runs; null in the lobby.
export function bindAvatar(call) {
  const change = picture => {
    remember('avatar', picture);
    show();
    if (call()) send(call(), picture);
  };
  $('avatar-choose').onclick = () => $('avatar-file').click();
  $('avatar-file').onchange = async () => {
    const [file] = $('avatar-file').files;
    // The same file may be chosen again.
    $('avatar-file').value = '';
    if (!file) return;
    try {
      change(await small(file));
    } catch {
      say(t('avatar.unreadable'));
    }
  };
  $('avatar-remove').onclick = () => {
    change('');
    $('avatar-choose').focus();
  };
  show();
}

/// A new seat gets the picture.
export function sendAvatar(call) {
  if (remembered('avatar')) send(call, remembered('avatar'));
}

function show() {
  const picture = remembered('avatar');
  if (picture) $('avatar-shown').src = picture;
  for (const id of ['avatar-shown', 'avatar-remove']) $(id).hidden = !picture;
  say(t('avatar.hint'));
}

function say(text) { $('avatar-note').textContent = text; }

/// The middle of a picture as a small JPEG, upright as its camera was held (EXIF).
async function small(file) {
  const bitmap = await createImageBitmap(file), side = Math.min(bitmap.width, bitmap.height);
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [SIDE, SIDE];
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, SIDE, SIDE);
  pen.drawImage(bitmap, (bitmap.width - side) / 2, (bitmap.height - side) / 2, side, side, 0, 0, SIDE, SIDE);
  bitmap.close();
  return canvas.toDataURL('image/jpeg', .85);
}

async function send({ seat: { room, id, secret }, isViewer }, picture) {
  if (!id || isViewer) return;
  const address = `/api/rooms/${encodeURIComponent(room)}/participants/${encodeURIComponent(id)}/avatar`;
  const headers = { Authorization: `Bearer ${id}.${secret}` };
  try {
    const body = Uint8Array.from(atob(picture.split(',')[1] ?? ''), letter => letter.charCodeAt(0));
    const answer = await fetch(address, picture ? { method: 'PUT', headers, body } : { method: 'DELETE', headers });
    if (!answer.ok) say(t('avatar.notTaken', { why: (await answer.json()).error.message }));
  } catch {
    say(t('avatar.notTaken', { why: t('picture.unreachable') }));
  }
}
