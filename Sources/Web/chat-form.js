// The field of the chat: it counts what is near the limit, and gets back what the server has not taken.

import { ChatOutbox, MOST_BYTES } from '/assets/chat-outbox.js';
import { ALL } from '/assets/groups.js';
import { tell } from '/assets/notice-board.js';
import { isChatOpen, showSide } from '/assets/side.js';
import { explain, region, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// How often late messages are looked for, ms.
const LOOK_EVERY = 2000;

let outbox = new ChatOutbox();

/// `call()`: the call that runs.
export function bindChatForm(call) {
  $('chat-text').addEventListener('input', showLength);
  $('chat-form').onsubmit = event => {
    event.preventDefault();
    const text = $('chat-text').value.trim(), to = $('chat-to').value;
    if (!text) return;
    if (!outbox.send(text, to, performance.now())) return say(t(outbox.measure(text).isTooLong ? 'chat.tooLong' : 'chat.waits'));
    call().chat(text, to === ALL ? '' : to, to === ALL);
    $('chat-text').value = '';
    say('');
    showLength();
  };
}

/** @param {import('./call.js').Call} call */
export function followChat(call) {
  outbox = new ChatOutbox();
  let isDown = false;
  const timer = setInterval(() => { if (!isDown) for (const late of outbox.overdue(performance.now())) giveBack(late, t('chat.late')); }, LOOK_EVERY);
  call.addEventListener('connection', ({ detail }) => {
    isDown = detail !== 'connected';
    if (!isDown) outbox.resume(performance.now());
  });
  call.addEventListener('chat', ({ detail }) => { if (detail.from === call.id && !detail.picture) outbox.shown(detail.all ? { ...detail, to: ALL } : detail); });
  call.addEventListener('chatRefused', ({ detail }) => {
    const pending = outbox.refused();
    if (pending) giveBack(pending, explain(detail));
  });
  call.addEventListener('ended', () => {
    clearInterval(timer);
    // A field that is kept for the next call.
    for (const pending of outbox.close()) giveBack(pending, '');
  });
}

/// Puts a text back into the field, before what was typed meanwhile, for the same receiver.
function giveBack({ text, to }, why) {
  const field = $('chat-text');
  field.value = field.value ? `${text} ${field.value}` : text;
  const receiver = $('chat-to');
  const isThere = [...receiver.options].some(({ value }) => value === to);
  // A text for one person is never for everyone, even where that person has left. All groups are everyone once they end.
  if (!isThere && to !== ALL) receiver.append(new Option(t('chat.gone'), to));
  receiver.value = isThere || to !== ALL ? to : '';
  showLength();
  if (!why) return;
  const words = t('chat.notSent', { why });
  say(words);
  if (!isChatOpen()) tell({ kind: 'problem', key: 'chat', text: words, actions: [{ text: t('news.show'), act: () => showSide('chat') }] });
}

function showLength() {
  const { bytes, isNear, isTooLong } = outbox.measure($('chat-text').value.trim());
  $('chat-length').hidden = !isNear;
  $('chat-length').textContent = isNear ? t('chat.length', { bytes: bytes.toLocaleString(region), most: MOST_BYTES.toLocaleString(region) }) : '';
  $('chat-length').classList.toggle('error', isTooLong);
  $('chat-text').setAttribute('aria-invalid', String(isTooLong));
}

function say(text) {
  $('chat-status').textContent = text;
  $('chat-status').hidden = !text;
}
