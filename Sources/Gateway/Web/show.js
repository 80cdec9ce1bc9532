// Shows a call on the page: what each of its events changes.

import { addMessage } from '/assets/chat.js';
import { showControls, showLine, showRecording } from '/assets/controls.js';
import { notice } from '/assets/elements.js';
import { showNames } from '/assets/picture.js';
import { showPeople } from '/assets/roster.js';
import { isChatOpen, unread } from '/assets/side.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);

export function showCall(call) {
  const on = (types, handler) => types.split(' ').forEach(type => call.addEventListener(type, ({ detail }) => handler(detail)));
  const names = () => showNames(call.tiles, call.people, $('mix'));
  on('people speaker view', () => { showPeople(call); names(); });
  on('tiles', names);
  on('changed entered', () => showControls(call.sending));
  on('recording', () => showRecording(call.recording));
  on('line', showLine);
  on('stream', () => play(call.stream));
  on('problem', problem => notice(explain(problem)));
  // What is over needs no word: the notice of it goes.
  on('connection', state => notice(state === 'connected' ? null : t(`connection.${state}`), 0));
  on('chat', message => {
    const isNew = addMessage(message, message.name);
    if (isNew && !message.isEarlier && !isChatOpen() && message.from !== call.id) unread();
  });
  return { names };
}

function play(stream) {
  const mix = $('mix');
  // The audio and video tracks come one after the other into the same stream, and a second load would end the first
  // play().
  if (mix.srcObject !== stream) mix.srcObject = stream;
  mix.play().catch(error => {
    if (error.name !== 'NotAllowedError') return;
    // The browser requires a tap before it plays audio: show the picture until then.
    mix.muted = true;
    mix.play().catch(() => {});
    $('unmute-page').hidden = false;
  });
}
