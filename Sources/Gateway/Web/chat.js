// The chat panel: the messages, and the pictures that the user sends. Text from others is inserted as text, never as
// markup.

import { element, notice } from '/assets/elements.js';
import { isChatOpen } from '/assets/side.js';
import { language, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// What the server takes.
const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const MAX_BYTES = 8 << 20;

// ---- The messages

/// The ids of the shown messages: one may come in the history and as an event.
const shown = new Set();

export function clearMessages() {
  say('');
  shown.clear();
  $('messages').replaceChildren();
}

const isAtEnd = () => $('messages').scrollHeight - $('messages').scrollTop - $('messages').clientHeight < 40;
const toEnd = () => { $('messages').scrollTop = $('messages').scrollHeight; };

/// Shows a message of the server, unless it is shown already. Returns whether it is new.
export function addMessage(message, name) {
  if (shown.has(message.id)) return false;
  shown.add(message.id);
  const wasAtEnd = isAtEnd();
  const time = new Date(message.at ?? Date.now()).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });
  $('messages').append(element('li', {},
    element('b', { dir: 'auto', textContent: message.to ? t('chat.private', { name }) : name }), element('time', { textContent: time }),
    `\n${message.text}`, ...(message.picture ? [picture(message.picture, name)] : [])));
  if (wasAtEnd) toEnd();
  return true;
}

/// A small form of the picture; a click opens it in a tab of its own.
function picture({ url, bytes }, name) {
  const size = bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  // Only the server's own pictures are loaded, whatever a message says.
  if (!/^\/images\/[a-z0-9]+\.[a-z]+$/.test(url)) return element('em', { textContent: t('picture.of', { size }) });
  const image = element('img', { alt: t('picture.from', { name, size }), loading: 'lazy' });
  const link = element('a', { href: url, target: '_blank', rel: 'noopener noreferrer', title: t('picture.open') }, image);
  image.onload = () => { if (link.dataset.wasAtEnd) toEnd(); };
  image.onerror = () => link.replaceWith(element('em', { textContent: t('picture.gone') }));
  if (isAtEnd()) link.dataset.wasAtEnd = true;
  image.src = url;
  return link;
}

// ---- Sending pictures

/// Sends the pictures among `files`, one after the other, to the receiver that the panel names. `seat()`: the room, and
/// the id and secret of the user's seat there.
async function send(files, seat) {
  const to = $('chat-to').value;
  for (const file of files) {
    const name = file.name || t('picture.this');
    const problem = !TYPES.includes(file.type) ? t('picture.type') : file.size > MAX_BYTES ? t('picture.large') : null;
    if (!problem) say(t('picture.sending', { file: name }));
    const why = problem ?? await upload(file, seat(), to);
    say(why ? t('picture.notSent', { file: name, why }) : '');
  }
}

/// Returns the reason where the picture was not sent.
async function upload(file, { room, id, secret }, to) {
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

function say(text) {
  const wasAtEnd = isAtEnd();
  $('chat-status').textContent = text;
  $('chat-status').hidden = !text;
  // The line takes its place from the messages.
  if (wasAtEnd) toEnd();
  if (text && !isChatOpen()) notice(text);
}

const hasFiles = transfer => transfer?.types.includes('Files');

/// Binds the ways to send a picture: the button, a paste into the panel, and a drop on it.
export function bindPictures(seat) {
  $('chat-text').oninput = () => say('');
  $('chat-picture').onclick = () => $('picture-file').click();
  $('picture-file').onchange = () => {
    const files = [...$('picture-file').files];
    // The same file may be chosen again.
    $('picture-file').value = '';
    send(files, seat);
  };
  $('chat').addEventListener('paste', event => {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    send(files, seat);
  });
  const mark = isOver => $('chat').classList.toggle('dropping', isOver);
  // Everywhere in the call, since the browser would leave the page for a file that is dropped beside the panel.
  $('call').addEventListener('dragover', event => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    const isInside = Boolean(event.target.closest('#chat'));
    event.dataTransfer.dropEffect = isInside ? 'copy' : 'none';
    mark(isInside);
  });
  $('call').addEventListener('dragleave', event => { if (!event.relatedTarget?.closest?.('#chat')) mark(false); });
  $('call').addEventListener('drop', event => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    mark(false);
    if (event.target.closest('#chat')) send([...event.dataTransfer.files], seat);
  });
}
