// The page of recordings after the call: those that this browser has keys of, and for administrators all of the server.

import { element } from '/assets/elements.js';
import { byDay, RecordingKeys } from '/assets/recording-keys.js';
import { clock as length, hideTimeline, showTimeline } from '/assets/timeline.js';
import { addDialogWords } from '/assets/dialog-words.js';
import { has, region, t, translate } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// How many are asked for at once, and how long a link for watching lives, in seconds.
const PAGE = 25, WATCHING = 4 * 3600;
/// The lives of shared links, in days. The server allows a week.
const LIVES = [1, 3, 7];
const keys = new RecordingKeys();
/// What is shown, the newest first; the administrator's token, while the list is the server's; and whether there are more.
let entries = [], token = null, isServer = false, isMore = false;

await addDialogWords();
translate(document);
document.title = t('library');

function say(text) { $('state').textContent = text; }

// ---- Requests

/// `init.json`: the body. Answers with {status, body}; status 0: the server cannot be reached.
/** @param {string} path @param {string | null | undefined} bearer @param {RequestInit & { json?: any }} init */
async function ask(path, bearer, { json = undefined, ...init } = {}) {
  const headers = { ...(bearer ? { Authorization: `Bearer ${bearer}` } : {}), ...(json ? { 'Content-Type': 'application/json' } : {}) };
  const answer = await fetch(path, { ...init, headers, ...(json ? { body: JSON.stringify(json) } : {}) }).catch(() => null);
  return { status: answer?.status ?? 0, body: await answer?.json().catch(() => null) };
}

const path = ({ id }) => `/api/recordings/${encodeURIComponent(id)}`;
/// What opens a recording: its key, or what the administrator has.
const bearer = ({ id }) => (isServer ? token : keys.all.find(each => each.id === id)?.key);

function explainRefusal({ status, body }) {
  const key = `library.refused.${status}`;
  say(has(key) ? t(key) : body?.error?.message ?? t('library.refused.0'));
}

// ---- The list

async function loadOwn() {
  isServer = false;
  const wanted = keys.all.slice(entries.length, entries.length + PAGE);
  const answers = await Promise.all(wanted.map(kept => ask(path(kept), kept.key)));
  answers.forEach(({ status, body }, index) => {
    if (status === 200) entries.push(body);
    // It was removed, or the server's tokens have changed.
    else if (status === 404 || status === 401) keys.forget(wanted[index].id);
  });
  isMore = wanted.length === PAGE && keys.all.length > entries.length;
  if (answers.some(({ status }) => !status)) return explainRefusal({ status: 0, body: null });
  say(entries.length ? '' : t('library.none'));
}

async function loadServer() {
  const before = entries.at(-1)?.id;
  const answer = await ask(`/api/recordings?limit=${PAGE}${before ? `&before=${encodeURIComponent(before)}` : ''}`, token);
  if (answer.status !== 200) return explainRefusal(answer);
  entries.push(...answer.body);
  isMore = answer.body.length === PAGE;
  say(entries.length ? '' : t('library.empty'));
}

async function load() {
  await (isServer ? loadServer() : loadOwn());
  draw();
}

const time = date => new Date(date).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
const day = ({ startedAt }) => new Date(startedAt).toLocaleDateString(region, { dateStyle: 'full' });
const title = entry => entry.title || entry.room || entry.id;

function draw() {
  const rooms = [...new Set(entries.map(({ room }) => room))].sort((one, other) => one.localeCompare(other, region));
  const wanted = rooms.includes($('room').value) ? $('room').value : '';
  $('room').replaceChildren(new Option(t('library.room.all'), ''), ...rooms.map(room => new Option(room, room, false, room === wanted)));
  $('room-row').hidden = rooms.length < 2;
  const shown = entries.filter(({ room }) => !wanted || room === wanted);
  $('days').replaceChildren(...byDay(shown, day).map(group => {
    const list = element('ul', {}, ...group.entries.map(row));
    return element('section', {}, element('h2', { textContent: group.day }), list);
  }));
  $('more').hidden = !isMore;
}

function row(entry) {
  const line = element('li', { className: 'row' });
  line.dataset.recording = entry.id;
  const isComplete = ['finished', 'failed'].includes(entry.state) && entry.bytes > 0;
  const about = { name: title(entry), time: time(entry.startedAt) };
  const name = element('h3', { textContent: title(entry), dir: 'auto' });
  const text = element('div', { className: 'what' }, name, element('p', { className: 'quiet', textContent: describe(entry, isComplete) }));
  line.append(picture(entry, isComplete), text);
  if (!isComplete) return line;
  const button = (key, which, act) => {
    const made = element('button', { type: 'button', textContent: t(key) });
    made.setAttribute('aria-label', t(which, about));
    made.onclick = act;
    return made;
  };
  const parts = element('select', { hidden: (entry.parts ?? 1) === 1 });
  parts.setAttribute('aria-label', t('record.part.which', about));
  for (let part = 1; part <= Math.min(entry.parts ?? 1, 200); part += 1) parts.append(new Option(t('record.part', { part }), String(part)));
  line.append(element('div', { className: 'row start tools' }, parts,
    button('library.watch', 'library.watch.which', () => watch(entry, Number(parts.value))),
    button('library.download', 'library.download.which', () => download(entry, Number(parts.value))),
    button('library.rename', 'library.rename.which', () => rename(entry, line)),
    button('library.share', 'library.share.which', () => share(entry, line)), remove(entry, about)));
  return line;
}

function describe(entry, isComplete) {
  const values = { time: time(entry.startedAt), room: entry.room, length: length(entry.duration), size: size(entry.bytes) };
  if (!isComplete) return t(entry.state === 'failed' ? 'library.failed' : 'library.running', values);
  const words = [t(entry.audioOnly ? 'library.entry.audio' : 'library.entry', values)];
  const slow = Math.round(entry.frames?.overloadedSeconds ?? 0);
  if (slow) words.push(t('record.overloaded', { count: slow }));
  return [...words, entry.error].filter(Boolean).join(' – ');
}

function size(bytes = 0) {
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${value.toLocaleString(region, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}

/// The picture comes once it is near the window: the server makes it then.
function picture(entry, isComplete) {
  const image = element('img', { alt: '', width: 160, height: 90, className: 'thumbnail' });
  if (!isComplete || entry.audioOnly) return image;
  const watcher = new IntersectionObserver(async ([seen]) => {
    if (!seen.isIntersecting) return;
    watcher.disconnect();
    const key = bearer(entry);
    const answer = await fetch(`${path(entry)}/thumbnail`, { headers: key ? { Authorization: `Bearer ${key}` } : {} }).catch(() => null);
    if (!answer?.ok) return;
    image.onload = () => URL.revokeObjectURL(image.src);
    image.src = URL.createObjectURL(await answer.blob());
  }, { rootMargin: '200px' });
  watcher.observe(image);
  return image;
}

// ---- What can be done with one

/// A link that needs no key; null: it was refused, which the page says.
async function link(entry, seconds) {
  const answer = await ask(`${path(entry)}/link`, bearer(entry), { method: 'POST', json: { seconds } });
  if (answer.status === 201) return { ...answer.body, url: new URL(answer.body.url, location.href).href };
  explainRefusal(answer);
  return null;
}

const ofPart = (url, part) => (part > 1 ? `${url}&part=${part}` : url);

async function watch(entry, part) {
  const made = await link(entry, WATCHING);
  if (!made) return;
  const player = $('recording-player');
  $('playing').hidden = false;
  $('playing-title').textContent = title(entry);
  hideTimeline();
  player.src = ofPart(made.url, part);
  player.setAttribute('aria-label', title(entry));
  player.onerror = () => say(t('record.notPlayed'));
  player.onended = () => { if (part < (entry.parts ?? 1)) watch(entry, part + 1); };
  player.play().catch(() => {});
  player.focus();
  $('playing').scrollIntoView({ block: 'nearest' });
  showTimeline(player, entry, part, made.url);
}

async function download(entry, part) {
  const made = await link(entry, WATCHING);
  if (!made) return;
  const name = entry.title ? `${entry.title.replace(/[\\/:*?"<>|]/g, '-')}${part > 1 ? `-${part}` : ''}${entry.file.slice(-4)}` : '';
  element('a', { href: ofPart(made.url, part), download: name }).click();
}

/// A form in the row of a recording, in place of the one that is open there. Escape closes it.
function form(line, ...content) {
  line.querySelector('form')?.remove();
  const made = element('form', { className: 'row start' }, ...content);
  made.onkeydown = event => {
    if (event.key !== 'Escape') return;
    made.remove();
    line.querySelector('.tools button').focus();
  };
  line.append(made);
  made.querySelector('input, select').focus();
  return made;
}

function rename(entry, line) {
  const field = element('input', { value: entry.title ?? '', maxLength: 100, dir: 'auto', placeholder: entry.room });
  field.setAttribute('aria-label', t('library.title'));
  form(line, field, element('button', { className: 'primary', textContent: t('library.rename.save') })).onsubmit = async event => {
    event.preventDefault();
    const answer = await ask(path(entry), bearer(entry), { method: 'PATCH', json: { title: field.value.trim() } });
    if (answer.status !== 200) return explainRefusal(answer);
    entry.title = answer.body.title;
    say(t('library.renamed', { name: title(entry) }));
    draw();
    $('days').querySelector(`[data-recording="${entry.id}"] .tools button`)?.focus();
  };
}

function share(entry, line) {
  const days = element('select', {}, ...LIVES.map(count => new Option(t('library.days', { count }), String(count))));
  days.setAttribute('aria-label', t('library.life'));
  const field = element('input', { readOnly: true, hidden: true });
  field.setAttribute('aria-label', t('link'));
  const make = element('button', { className: 'primary', textContent: t('library.share.make') });
  form(line, days, make, field).onsubmit = async event => {
    event.preventDefault();
    const made = await link(entry, Number(days.value) * 86_400);
    if (!made) return;
    field.hidden = false;
    field.value = made.url;
    field.select();
    const end = new Date(made.expiresAt).toLocaleString(region, { dateStyle: 'medium', timeStyle: 'short' });
    const isCopied = await navigator.clipboard?.writeText(made.url).then(() => true, () => false);
    say(t(isCopied ? 'library.shared.copied' : 'library.shared', { end }));
  };
}

/// What cannot be undone is done at the second press.
function remove(entry, about) {
  const button = element('button', { type: 'button', className: 'danger', textContent: t('library.remove') });
  button.setAttribute('aria-label', t('library.remove.which', about));
  let isSure = false;
  const reset = () => {
    isSure = false;
    button.textContent = t('library.remove');
    button.setAttribute('aria-label', t('library.remove.which', about));
  };
  button.onblur = reset;
  button.onclick = async () => {
    if (!isSure) {
      isSure = true;
      button.textContent = t('library.remove.sure');
      button.removeAttribute('aria-label');
      return;
    }
    const answer = await ask(path(entry), bearer(entry), { method: 'DELETE' });
    if (![204, 404].includes(answer.status)) return explainRefusal(answer);
    keys.forget(entry.id);
    entries = entries.filter(each => each !== entry);
    say(t('library.removed', { name: title(entry) }));
    draw();
  };
  return button;
}

// ---- The page

$('room').onchange = draw;
$('more').onclick = load;
$('administrator-form').onsubmit = event => {
  event.preventDefault();
  token = $('administrator-token').value || null;
  [isServer, entries, isMore] = [true, [], false];
  load();
};
load();
