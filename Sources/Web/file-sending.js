// Sends files and pictures to the chat. `files.js` loads it with the first one.

import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

/// The pictures that the server takes, and their size.
const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const MAX_BYTES = 8 << 20;

/// Sends the files one after the other to a participant, or to everyone ('').
/// - `call()`: the call that runs.
/// - `say(text, file)`: tells the user about a file; `done(file)`: it is sent. `mostBytes`: of a file that is no picture.
export async function sendFiles(files, call, to, { say, done, mostBytes }) {
  for (const file of files) {
    const name = file.name || t('picture.this');
    const isPicture = TYPES.includes(file.type);
    if (isPicture && file.size <= MAX_BYTES) say(t('picture.sending', { file: name }), file);
    const why = isPicture ? await sendPicture(file, call().seat, to) : await sendFile(file, call(), to, mostBytes);
    if (why) say(t('picture.notSent', { file: name, why }), file);
    else done(file);
  }
}

/// Returns the reason where the file was not sent.
async function sendFile(file, call, to, mostBytes) {
  if (to) return t('file.everyone');
  if (file.size > mostBytes) return t('file.large');
  if (!file.size) return t('file.empty');
  return await call.channel.sendFile(file) ? null : t('file.busy');
}

/// Returns the reason where the picture was not sent.
async function sendPicture(file, { room, id, secret }, to) {
  if (file.size > MAX_BYTES) return t('picture.large');
  if (!id) return t('picture.lost');
  const address = `/api/rooms/${encodeURIComponent(room)}/chat/pictures${to ? `?to=${encodeURIComponent(to)}` : ''}`;
  try {
    const answer = await fetch(address, {
      method: 'POST', headers: { Authorization: `Bearer ${id}.${secret}`, 'Content-Type': file.type }, body: file,
    });
    if (answer.ok) return null;
    const { error } = await answer.json();
    return error.message;
  } catch {
    return t('picture.unreachable');
  }
}
