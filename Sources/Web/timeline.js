// The timeline of a recording under its player: who spoke when, and the chapters as marks and as a list.

import { element } from '/assets/elements.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const MAX_LANES = 6, MAX_SPEECHES = 2000;
let shown = 0;

/// Shows the part `part` of a recording, from 1 on. `address`: of its file.
export async function showTimeline(player, entry, part, address) {
  const number = ++shown;
  hide();
  const answer = await fetch(address.replace('/file?', '/timeline?')).catch(() => null);
  const timeline = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!timeline || number !== shown || player.hidden) return;
  const files = entry.files ?? [];
  const start = files.slice(0, part - 1).reduce((sum, file) => sum + (file.duration ?? 0), 0);
  const length = files.length > 1 ? files[part - 1]?.duration ?? 0 : timeline.duration;
  if (length > 0) draw(player, timeline, start, length);
}

export function hideTimeline() {
  shown += 1;
  hide();
}

function hide() { $('recording-timeline').hidden = true; }

function draw(player, { speakers, chapters }, start, length) {
  const percent = seconds => `${Math.min(100, Math.max(0, (seconds - start) / length * 100))}%`;
  const seek = at => {
    player.currentTime = Math.max(0, at - start);
    player.play().catch(() => {});
  };
  const inside = chapters.filter(({ at }, index) => at < start + length && (chapters[index + 1]?.at ?? Infinity) > start);
  const names = [...new Set(speakers.map(({ participant }) => participant))];
  const speeches = speakers.filter(speech => speech.end > start && speech.start < start + length).slice(0, MAX_SPEECHES).map(speech => {
    const lane = names.indexOf(speech.participant) % MAX_LANES;
    const bar = element('span', { className: `speech lane-${lane}`, title: t('record.speaks', { name: speech.name }) });
    Object.assign(bar.style, { left: percent(speech.start), right: `calc(100% - ${percent(speech.end)})` });
    return bar;
  });
  const marks = inside.map(({ at, title, isMark }) => {
    const mark = element('span', { className: isMark ? 'mark set' : 'mark', title });
    mark.style.left = percent(at);
    return mark;
  });
  const now = element('span', { className: 'now' });
  player.ontimeupdate = () => { now.style.left = percent(start + player.currentTime); };
  player.ontimeupdate();
  // The list below says the same to the keyboard and to screen readers.
  const bar = $('recording-bar');
  bar.replaceChildren(...speeches, ...marks, now);
  bar.onclick = event => {
    const { left, width } = bar.getBoundingClientRect();
    seek(start + (event.clientX - left) / width * length);
  };
  $('recording-chapters').replaceChildren(...inside.map(({ at, title }) => {
    const button = element('button', { type: 'button' }, element('span', { className: 'time', textContent: clock(Math.max(0, at - start)) }), title);
    button.dir = 'auto';
    button.onclick = () => seek(at);
    return element('li', {}, button);
  }));
  $('recording-timeline').hidden = false;
}

/// 4:05 or 1:02:03.
export function clock(seconds = 0) {
  const whole = Math.round(seconds), pad = number => String(number).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}
