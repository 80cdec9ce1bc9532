// Pictures and other files that the user sends to the chat, and files that come in. The server keeps pictures and shows
// them to who comes later; other files go to the pages of those who are in the call.

import { append, isAtEnd, sizeOf, toEnd } from '/assets/chat.js';
import { element, notice } from '/assets/elements.js';
import { Later } from '/assets/later.js';
import { isChatOpen } from '/assets/side.js';
import { MAX_FILE_BYTES } from '/assets/tessera.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

// ---- Files of the call

/// The entries of files that are on their way.
const entries = new Map();

/// Shows a file or its progress. Returns whether it is new.
export function showFile({ id, name, bytes, progress, url }, author) {
  const wasAtEnd = isAtEnd();
  const isNew = !entries.has(id);
  if (isNew) {
    const state = element('span', { className: 'file' });
    entries.set(id, state);
    append(author, null, '\n', state);
  }
  const state = entries.get(id), size = sizeOf(bytes);
  if (url) {
    const link = element('a', { href: url, download: name, className: 'link', textContent: name });
    link.dir = 'auto';
    state.replaceChildren(link, ` (${size})`);
  } else if (progress === null) state.textContent = t('file.lost', { name });
  else state.textContent = t('file.progress', { name, size, percent: Math.floor(progress * 100) });
  if (url || progress === null) entries.delete(id);
  if (wasAtEnd) toEnd();
  return isNew;
}

// ---- Sending

const sending = new Later(() => import('/assets/file-sending.js'));

/// Sends the files one after the other, to the receiver that the panel names. `call()`: the call that runs.
async function send(files, call) {
  const to = $('chat-to').value, script = await sending.get();
  // Another file may have been refused meanwhile, and its reason stays.
  await script?.sendFiles(files, call, to, { say, done: file => { if (sayer === file) say(''); }, mostBytes: MAX_FILE_BYTES });
}

/// The file that the status line is about.
let sayer = null;

function say(text, file = null) {
  const wasAtEnd = isAtEnd();
  sayer = file;
  $('chat-status').textContent = text;
  $('chat-status').hidden = !text;
  // The line takes its place from the messages.
  if (wasAtEnd) toEnd();
  if (text && !isChatOpen()) notice(text);
}

const hasFiles = transfer => transfer?.types.includes('Files');

/// Binds the ways to send a file: the button, a paste into the panel, and a drop on it.
export function bindFiles(call) {
  $('chat-text').oninput = () => say('');
  $('chat-file').onclick = () => $('file-input').click();
  $('file-input').onchange = () => {
    const files = [...$('file-input').files];
    // The same file may be chosen again.
    $('file-input').value = '';
    send(files, call);
  };
  $('chat').addEventListener('paste', event => {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    send(files, call);
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
    if (event.target.closest('#chat')) send([...event.dataTransfer.files], call);
  });
}
