// The user's picture, which others see while the camera is off. The page keeps it, small and square, and gives it to
// every seat.

import { Later } from '/assets/later.js';
import { remember, remembered } from '/assets/pickers.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const smaller = new Later(() => import('/assets/avatar-picture.js'));

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
      const script = await smaller.get();
      if (script) change(await script.small(file));
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
