// Shows a call on the page: what each of its events changes.

import { addMessage } from '/assets/chat.js';
import { followChat } from '/assets/chat-form.js';
import { showControls, showLine, showRecording } from '/assets/controls.js';
import { showFile } from '/assets/files.js';
import { followGroups, loaded } from '/assets/groups.js';
import { showHosts } from '/assets/hosts.js';
import { showAlone } from '/assets/invite.js';
import { Later } from '/assets/later.js';
import { layoutTitle } from '/assets/layouts.js';
import { announce, watchNews } from '/assets/news.js';
import { endNotice, tell } from '/assets/notice-board.js';
import { showNames } from '/assets/picture.js';
import { watchPresenters } from '/assets/presenters.js';
import { showReaction } from '/assets/reactions.js';
import { showPeople } from '/assets/roster.js';
import { showSelf } from '/assets/self.js';
import { isChatOpen, unread } from '/assets/side.js';
import { showData } from '/assets/stage.js';
import { watchUnrecorded } from '/assets/unrecorded.js';
import { watchWaiting } from '/assets/waiting.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const seldom = new Later(() => import('/assets/told.js'));
/// The events that it tells.
const SELDOM = ['missing', 'pinTries', 'screenStopped', 'videoStopped', 'askedForVideo', 'cameraRests'];

/** @param {import('./call.js').Call} call */
export function showCall(call) {
  const on = (types, handler) => types.split(' ').forEach(type => call.addEventListener(type, ({ detail }) => handler(detail)));
  const names = () => showNames(call.tiles, call.people, $('mix'));
  const nameOf = id => call.people.find(id)?.name ?? t('host.somebody');
  on('people speaker view role', () => { showPeople(call); names(); });
  on('tiles', names);
  on('people role waitingPeople', () => showAlone(call));
  on('changed entered', () => showSelf(call.sending));
  on('data entered', () => showData(call));
  on('reaction', ({ from, reaction }) => showReaction(nameOf(from), reaction));
  on('file', file => { if (showFile(file, nameOf(file.from)) && !isChatOpen() && file.from !== call.id) unread(); });
  watchNews(call);
  watchWaiting(call);
  watchPresenters(call);
  followChat(call);
  watchUnrecorded(call);
  on('breakout', () => followGroups(call));
  for (const type of SELDOM) on(type, async detail => /** @type {any} */ (await seldom.get())?.[type](detail, { call, nameOf, tell, endNotice, announce }));
  on('people room role waitingPeople', () => showHosts(call));
  on('changed entered role room missing', () => showControls(call));
  on('recording', () => showRecording(call));
  on('muted', by => tell({ kind: 'told', key: 'muted', text: t('host.muted', { name: nameOf(by) }) }));
  on('asked', by => announce({ kind: 'asked', text: t('host.asked', { name: nameOf(by) }), actions: [{ text: t('audio.off'), act: () => call.sending.setAudio(true) }] }));
  // What is done needs no word any more.
  on('changed', () => { if (call.sending.shown.audio !== 'off') for (const key of ['asked', 'muted', t('audio.youAreMuted')]) endNotice(key); });
  on('layoutChosen', ({ by, name }) => tell({ kind: 'layout', text: t('layout.changed', { name: call.people.find(by)?.name ?? t('news.somebody'), layout: layoutTitle(name) }) }));
  on('role', role => tell({ kind: 'told', key: 'role', text: t(`role.now.${role}`), seconds: 10, actions: isNowOnStage(call) ? [{ text: t('stage.speak'), act: () => call.sending.setAudio(true) }] : [] }));
  on('keptMuted', reason => tell({ kind: 'told', key: 'muted', text: t(`muted.${reason}`) }));
  on('line', state => {
    showLine(state);
    // Over a line that has become thin the sentence about it would come late.
    if (state.provesRoom) seldom.prepare();
  });
  on('stream', () => play(call.stream));
  on('problem', problem => tell({ kind: 'problem', key: `problem ${problem.code} ${problem.device ?? ''}`, text: explain(problem) }));
  // What is over needs no word: the notice of it goes, and no other.
  let isLoud = false;
  on('connection', state => {
    if (state === 'connected') {
      isLoud = false;
      return endNotice('connection');
    }
    // One tone for a loss, however often the page tries; none where it is back in a moment.
    const isLoss = ['interrupted', 'broken', 'lost'].includes(state), told = { kind: 'connection', text: t(`connection.${state}`) };
    if (isLoss && !isLoud) announce(told);
    else tell(told);
    isLoud ||= isLoss;
  });
  on('chat', message => {
    const isNew = addMessage(message, authorOf(call, message));
    if (isNew && !message.isEarlier && !isChatOpen() && message.from !== call.id) unread();
  });
  return { names };
}

/// A private message names both ends, and one of a host to all groups says so.
function authorOf(call, { from, to, all, name }) {
  if (!to) return (all && loaded()?.toAll(name)) || name;
  if (from !== call.id) return t('chat.private', { name });
  return t('chat.privateTo', { name, to: call.people.find(to)?.name ?? t('news.somebody') });
}

/// Tells who speaks while muted. What listens comes with the first mute.
/** @param {import('./sending.js').Sending} sending */
export function tellMutedSpeech(sending) {
  const listen = async () => {
    if (!isMuted(sending)) return;
    sending.removeEventListener('changed', listen);
    await import('/assets/voice.js').then(({ MutedSpeech }) => new MutedSpeech(sending), () => sending.addEventListener('changed', listen));
  };
  sending.addEventListener('changed', listen);
}

const isMuted = ({ connection, audio, audioTrack }) => connection && !audio && audioTrack;

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
