// Shows a call on the page: what each of its events changes.

import { watchBreakout } from '/assets/breakout.js';
import { addMessage } from '/assets/chat.js';
import { showControls, showLine, showRecording } from '/assets/controls.js';
import { notice } from '/assets/elements.js';
import { showFile } from '/assets/files.js';
import { showHosts } from '/assets/hosts.js';
import { showAlone } from '/assets/invite.js';
import { watchNews } from '/assets/news.js';
import { showNames } from '/assets/picture.js';
import { showReaction } from '/assets/reactions.js';
import { showPeople } from '/assets/roster.js';
import { showSelf } from '/assets/self.js';
import { isChatOpen, unread } from '/assets/side.js';
import { showData } from '/assets/stage.js';
import { watchUnrecorded } from '/assets/unrecorded.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/** @param {import('./call.js').Call} call */
export function showCall(call) {
  const on = (types, handler) => types.split(' ').forEach(type => call.addEventListener(type, ({ detail }) => handler(detail)));
  const names = () => showNames(call.tiles, call.people, $('mix'));
  const nameOf = id => call.people.find(id)?.name ?? t('host.somebody');
  on('people speaker view role breakout', () => { showPeople(call); names(); });
  on('tiles', names);
  on('people', () => showAlone(call));
  on('changed entered', () => showSelf(call.sending));
  on('data entered', () => showData(call));
  on('reaction', ({ from, reaction }) => showReaction(nameOf(from), reaction));
  on('file', file => { if (showFile(file, nameOf(file.from)) && !isChatOpen() && file.from !== call.id) unread(); });
  watchNews(call);
  watchBreakout(call);
  watchUnrecorded(call);
  on('people room role waitingPeople', () => showHosts(call));
  on('changed entered role room', () => showControls(call));
  on('recording', () => showRecording(call));
  on('pinTries', wrong => notice(t('host.pin.tried', { count: wrong, number: wrong }), 30));
  on('muted', by => notice(t('host.muted', { name: nameOf(by) })));
  on('asked', by => notice(t('host.asked', { name: nameOf(by) }), 30, { text: t('audio.off'), act: () => call.sending.setAudio(true) }));
  on('screenStopped', by => notice(t('host.screenStopped', { name: nameOf(by) })));
  on('role', role => notice(t(`role.now.${role}`), 10, isNowOnStage(call) ? { text: t('stage.speak'), act: () => call.sending.setAudio(true) } : null));
  on('line', showLine);
  on('stream', () => play(call.stream));
  on('problem', problem => notice(explain(problem)));
  // What is over needs no word: the notice of it goes, and no other.
  let isDown = false;
  on('connection', state => {
    const wasDown = isDown;
    isDown = state !== 'connected';
    if (isDown) notice(t(`connection.${state}`), 0);
    else if (wasDown) notice(null);
  });
  on('chat', message => {
    const isNew = addMessage(message, message.name);
    if (isNew && !message.isEarlier && !isChatOpen() && message.from !== call.id) unread();
  });
  return { names };
}

/// Who comes from the audience has the microphone off.
const isNowOnStage = call => call.role === 'participant' && !call.sending.audio;

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
