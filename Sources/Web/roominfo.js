// The room as the lobby shows it: who is in, and whether it is being recorded, streamed or kept.

import * as address from '/assets/address.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const EVERY = 10_000, TYPING = 500;
const MAX_NAMES = 5;
let timer = null, asked = 0, shown = null;

/// Starts to look at the room whose name is in the form; ends with the lobby.
export function watchRoom(delay = 0) {
  clearTimeout(timer);
  if ($('lobby').hidden) return;
  timer = setTimeout(async () => {
    const number = ++asked;
    const room = $('room').value.trim();
    const info = await look(room);
    if (number === asked) {
      show(info);
      shown = room;
    }
    watchRoom(EVERY);
  }, delay);
}

export const roomTyped = () => watchRoom(TYPING);

/// Whether the lobby says that this room is being recorded, streamed or kept.
export const isToldOf = room => shown === room && !$('room-recorded').hidden;

/// What the server tells of a room; {} where there is none yet, null where it tells nothing.
async function look(room) {
  if (!room || !$('room').validity.valid) return null;
  const headers = address.token() ? { Authorization: `Bearer ${address.token()}` } : {};
  const answer = await fetch(`/api/rooms/${encodeURIComponent(room)}`, { headers }).catch(() => null);
  if (answer?.status === 404) return {};
  return answer?.ok ? answer.json().catch(() => null) : null;
}

function show(info) {
  // Who is the host, or comes by a guest link, needs none.
  const needsPIN = Boolean(info?.pin) && !address.hostKeys.find($('room').value.trim()) && !address.token();
  if (needsPIN) $('pin-field').hidden = false;
  const names = (info?.participants ?? []).filter(({ role }) => role !== 'viewer').map(({ name }) => name);
  const more = names.length - MAX_NAMES;
  $('room-people').textContent = !info ? ''
    : !names.length ? t('room.empty')
      : more > 0 ? t('room.peopleMore', { names: names.slice(0, MAX_NAMES).join(', '), count: more }) : t('room.people', { names: names.join(', ') });
  $('room-recorded').hidden = !info?.recording && !info?.preRoll && !info?.streaming;
  $('room-recorded-text').textContent = info?.streaming ? t(info.recording ? 'room.recordedLive' : 'room.live')
    : info?.recording ? t('room.recorded') : t('room.kept', { seconds: info?.preRoll });
}
