// The dialog that starts, pauses and stops the recording of the call, and the list of what this meeting has recorded.
// `recordings.js` loads it when it is opened first.

import markup from './recordings-dialog.html';

import { element } from '/assets/elements.js';
import { clock as length, hideTimeline, showTimeline } from '/assets/timeline.js';
import { addDialogs, explain, region, t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

// While the server completes a file.
const LOOK_AGAIN = 1500;

/** @type {import('./call.js').Call} */
let call;
/// {fetchList, mark, hasKeys} of recordings.js.
let book;
/// The timer of the next look at the list.
let timer;
/// The part that the player shows: {entry, part}; null: none.
let playing = null;

// ---- The dialog

export function openRecordings(newCall, newBook) {
  [call, book] = [newCall, newBook];
  say('');
  showState();
  $('recordings').showModal();
  list();
}

/// The recording has changed.
export function update() {
  showState();
  list();
}

/// The server has refused something.
export const refused = problem => say(explain(problem));

/// The call has ended.
export const end = () => clearTimeout(timer);

function showState() {
  const running = call.recording;
  const since = running && time(running.startedAt);
  const none = call.preRoll ? 'record.none.kept' : 'record.none';
  $('recordings-state').textContent = t(!running ? none : running.state === 'paused' ? 'record.isPaused' : 'record.since', { time: since, seconds: call.preRoll });
  $('record-start').hidden = Boolean(running);
  $('record-pause').hidden = running?.state !== 'recording';
  $('record-resume').hidden = running?.state !== 'paused';
  $('record-stop').hidden = $('record-mark-row').hidden = !running;
}

function say(text) {
  $('recordings-note').textContent = text;
  $('recordings-note').hidden = !text;
}

function bind() {
  for (const action of ['start', 'pause', 'resume', 'stop']) {
    $(`record-${action}`).onclick = () => {
      say('');
      call.record(action);
      // The button is gone in a moment.
      $('recordings-state').focus();
    };
  }
  $('record-mark').onclick = () => {
    say('');
    book.mark($('record-mark-text').value);
    $('record-mark-text').value = '';
  };
  $('record-mark-text').onkeydown = event => {
    if (event.key !== 'Enter') return;
    // The dialog is a form, which Enter would close.
    event.preventDefault();
    $('record-mark').click();
  };
  $('recordings').onclose = () => {
    clearTimeout(timer);
    stopPlayer();
  };
  $('recording-player').onended = () => { if (playing.part < parts(playing.entry)) watch(playing.entry, playing.part + 1); };
  $('recording-player').onerror = () => {
    if (!playing) return;
    say(t('record.notPlayed'));
    // The link may have ended: the list brings a new one.
    stopPlayer();
    list();
  };
}

// ---- The list

async function list() {
  clearTimeout(timer);
  const { answer, entries } = await book.fetchList();
  $('recordings-library').hidden = !book.hasKeys();
  if (!answer) say(t('record.unreachable'));
  else if (answer.status === 403) say(t('record.notYours'));
  $('recordings-title-list').hidden = !entries.length;
  const focused = document.activeElement?.closest?.('#recordings-list li')?.dataset.recording;
  $('recordings-list').replaceChildren(...entries.map(row));
  // The list is rebuilt: restore the keyboard focus.
  if (focused) $('recordings-list').querySelector(`[data-recording="${focused}"] button`)?.focus();
  const isUnfinished = entries.some(entry => !entry.url && entry.state !== 'failed' && !runs(entry));
  if (isUnfinished && $('recordings').open) timer = setTimeout(list, LOOK_AGAIN);
}

const runs = entry => call.recordings.some(each => each.id === entry.id);
const parts = entry => entry.parts ?? 1;
const link = (entry, part) => new URL(entry.url + (part > 1 ? `&part=${part}` : ''), call.server).href;

function row(entry) {
  const line = element('li', {}, element('span', { className: 'what', textContent: describe(entry) }));
  line.dataset.recording = entry.id;
  if (!entry.url) return line;
  const about = { time: time(entry.startedAt) };
  const select = element('select', { hidden: parts(entry) === 1 });
  select.setAttribute('aria-label', t('record.part.which', about));
  // More parts than anyone chooses from are read one after the other by the player.
  for (let part = 1; part <= Math.min(parts(entry), 200); part += 1) select.append(new Option(t('record.part', { part }), String(part)));
  const button = element('button', { type: 'button', textContent: t('record.watch') });
  button.setAttribute('aria-label', t('record.watch.which', about));
  button.onclick = () => watch(entry, Number(select.value));
  const save = element('a', { className: 'button', download: entry.file, href: link(entry, 1), textContent: t('record.download') });
  save.setAttribute('aria-label', t('record.download.which', about));
  select.onchange = () => { save.href = link(entry, Number(select.value)); };
  line.append(select, button, save);
  if (entry.tracks?.length) line.append(tracks(entry));
  return line;
}

/// What single participants sent, each as a file.
function tracks(entry) {
  const items = entry.tracks.map((track, index) => {
    const text = t(`record.track.${track.kind}`, { name: track.name, time: length(track.start) });
    return element('li', {}, element('a', { download: track.file, href: `${link(entry, 1)}&track=${index + 1}`, textContent: text }));
  });
  const summary = element('summary', { textContent: t('record.tracks', { count: entry.tracks.length }) });
  return element('details', {}, summary, element('ul', {}, ...items));
}

function describe(entry) {
  const values = { time: dayAndTime(entry.startedAt), length: length(entry.duration), size: size(entry.bytes) };
  const slow = Math.round(entry.frames?.overloadedSeconds ?? 0);
  const words = [t(entry.audioOnly ? 'record.entry.audio' : 'record.entry', values), slow ? t('record.overloaded', { count: slow }) : '', entry.error];
  if (entry.url) return words.filter(Boolean).join(' – ');
  if (entry.state === 'failed') return t('record.failed', { ...values, why: entry.error ?? '' });
  return t(runs(entry) ? 'record.entry.running' : 'record.entry.closing', values);
}

const time = date => new Date(date).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
const dayAndTime = date => new Date(date).toLocaleString(region, { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

function size(bytes = 0) {
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${value.toLocaleString(region, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}

// ---- The player

function watch(entry, part) {
  playing = { entry, part };
  const player = $('recording-player');
  player.hidden = false;
  player.src = link(entry, part);
  player.setAttribute('aria-label', t('record.player', { time: time(entry.startedAt) }));
  player.play().catch(() => {});
  player.focus();
  showTimeline(player, entry, part, link(entry, 1));
}

function stopPlayer() {
  playing = null;
  const player = $('recording-player');
  hideTimeline();
  player.pause();
  player.removeAttribute('src');
  player.load();
  player.hidden = true;
}

bind();
