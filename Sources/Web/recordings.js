// What everyone is told of the recording of the call, and the keys that its hosts find it by afterwards. The dialog comes
// when it is opened first.

import { notice } from '/assets/elements.js';
import { Later } from '/assets/later.js';
import { announce } from '/assets/news.js';
import { RecordingKeys } from '/assets/recording-keys.js';
import { region, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const keys = new RecordingKeys();
const dialog = new Later(() => import('/assets/recordings-dialog.js'));

let call = null;
/// The recording as last shown.
let known = null, knownAll = [];

/// Shows and speaks what the recording of this call does, until the call ends.
export function followRecording(newCall) {
  call = newCall;
  known = null;
  knownAll = [];
  call.addEventListener('recording', () => {
    const word = change(known, call.recording);
    known = call.recording;
    knownAll = call.recordings.map(each => each.id);
    // Who joins is told by the lobby or is asked.
    if (word && call.connection) tell(t(word), true);
    if ($('recordings')?.open) dialog.loaded?.update();
    // A host finds the recording after the call, even without having opened the list.
    else if (word === 'record.started' && call.connection && call.mayRecord) fetchList();
  });
  call.addEventListener('entered', () => { if (call.recording && !call.isHeld) tell(t('record.since', { time: time(call.recording.startedAt) }), true); });
  call.addEventListener('entered', () => { if (call.recording && call.mayRecord) fetchList(); });
  call.addEventListener('problem', ({ detail }) => { if ($('recordings')?.open) dialog.loaded?.refused(detail); });
  call.addEventListener('ended', () => dialog.loaded?.end());
}

function change(before, now) {
  if (!now) return before ? 'record.ended' : null;
  if (call.recordings.some(each => !knownAll.includes(each.id))) return 'record.started';
  // Another one goes on.
  if (before?.id !== now.id) return before?.state === now.state ? null : now.state === 'paused' ? 'record.nowPaused' : 'record.goesOn';
  if (before.state === now.state) return null;
  return now.state === 'paused' ? 'record.nowPaused' : 'record.goesOn';
}

/// `isHeavy`: what it says concerns everyone, and stands beside other notices.
function tell(text, isHeavy = false) {
  if (isHeavy) announce({ kind: 'recording', text });
  else notice(text);
  $('recording-spoken').textContent = text;
}

export async function openRecordings() { (await dialog.get())?.openRecordings(call, { fetchList, mark, hasKeys }); }

export function bindRecordings() { showLibrary(); }

const hasKeys = () => keys.all.length > 0;

function showLibrary() { $('ended-recordings').hidden = !hasKeys(); }

/// Sets a mark in the recording: a chapter with this title, or with the user's name.
export function mark(text) {
  if (!call.recording || !call.mayRecord) return;
  call.mark(text.trim() || t('record.mark.by', { name: call.me?.name ?? '' }));
  tell(t('record.marked'));
}

/// The meeting's recordings, whose keys this browser keeps where they are the user's own: {answer, entries}.
async function fetchList() {
  const { room, id, secret } = call.seat;
  const address = new URL(`/api/rooms/${encodeURIComponent(room)}/recordings`, call.server);
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${id}.${secret}` } }).catch(() => null);
  const entries = answer?.ok ? await answer.json().catch(() => []) : [];
  if (address.origin === location.origin) keys.keep(entries);
  showLibrary();
  return { answer, entries };
}

const time = date => new Date(date).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
