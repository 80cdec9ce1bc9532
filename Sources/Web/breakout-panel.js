// The panel of breakout groups: moderators make, fill, open and close them, and others choose theirs.

import markup from './breakout-panel.html';

import { element } from '/assets/elements.js';
import { addDialogs, explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

const MOST = 50, USUAL_MINUTES = 15, COUNTDOWN = 60;
/** @typedef {import('./breakout.js').Groups} Groups */
/// Those that are shown.
/** @type {Groups | null} */
let current = null;

/** @param {Groups} groups */
export function openPanel(groups) {
  current = groups;
  rows.clear();
  $('breakout-note').textContent = '';
  $('breakout').showModal();
  show(groups);
}

/// Shows what has changed.
/** @param {Groups} groups */
export function updatePanel(groups) {
  if (!groups.isOffered) $('breakout').close();
  if ($('breakout').open) show(groups);
}

/// The time until everybody is back, in the panel too: it covers the badge.
/** @param {string} time */
export function showClock(time) { if ($('breakout-clock').textContent !== time) $('breakout-clock').textContent = time; }

/// The server has refused something.
export function refused(problem) { if ($('breakout').open) $('breakout-note').textContent = explain(problem); }

/** @param {Groups} groups */
function show(groups) {
  const { breakout, isModerator } = groups;
  $('breakout-make').hidden = !isModerator || breakout.isOpen;
  $('breakout-make-button').textContent = t(breakout.exists ? 'breakout.makeAgain' : 'breakout.make');
  $('breakout-groups').hidden = !breakout.exists;
  for (const id of ['breakout-fill', 'breakout-choice-row', 'breakout-time']) $(id).hidden = !isModerator || !breakout.exists;
  $('breakout-may-choose').checked = breakout.mayChoose;
  $('breakout-open').textContent = t(breakout.isOpen ? 'breakout.setEnd' : 'breakout.open');
  $('breakout-running').hidden = !isModerator || !breakout.isOpen;
  $('breakout-speak').setAttribute('aria-pressed', String(breakout.speaksToAll));
  $('breakout-speak').textContent = t(breakout.speaksToAll ? 'breakout.speak.end' : 'breakout.speak');
  showGroups(groups);
}

/// Rows by key, with what they were made of: one that shows the same as before stays, and with it its focus.
const rows = new Map();

function kept(key, state, make) {
  const text = JSON.stringify(state);
  if (rows.get(key)?.text !== text) rows.set(key, { text, made: make() });
  return rows.get(key).made;
}

function showGroups(groups) {
  const { breakout } = groups;
  const sections = [0, ...breakout.groups.map(({ id }) => id)].map(id => section(groups, id));
  place($('breakout-groups'), sections);
}

function place(list, shown) {
  for (const old of [...list.children]) if (!shown.includes(old)) old.remove();
  shown.forEach((row, index) => { if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null); });
}

function section(groups, id) {
  const { breakout, isModerator } = groups;
  const group = breakout.find(id);
  const name = group?.name ?? t('breakout.main');
  const made = kept(`group ${id}`, [id, isModerator], () => {
    const head = element('div', { className: 'row start' }), list = element('ul', { className: 'entries' });
    const section = element('section', {}, head, list);
    section.dataset.group = String(id);
    return section;
  });
  const [head, list] = made.children;
  place(head, [title(groups, id, name), ...(isModerator ? hostButtons(groups, group, name) : choice(groups, id, name))]);
  const people = group ? (group.participants ?? []).map(each => groups.people.find(each)).filter(Boolean)
    : groups.people.list.filter(person => person.role !== 'viewer' && !breakout.assigned(person.id));
  // Without names there are numbers only.
  const isCounted = group && !group.participants;
  place(list, isCounted ? [kept(`count ${id}`, group.people, () => element('li', { textContent: t('breakout.people', { count: group.people }) }))]
    : people.map(person => personRow(groups, person, id)));
  return made;
}

function title(groups, id, name) {
  if (!groups.isModerator || id === 0) {
    return kept(`title ${id}`, name, () => element('h3', { textContent: name, dir: 'auto' }));
  }
  const input = kept(`title ${id}`, 'input', () => {
    const made = element('input', { maxLength: 64, required: true });
    made.setAttribute('aria-label', t('breakout.name', { number: id }));
    made.onchange = () => { if (made.value.trim()) groups.ask('rename', { group: id, name: made.value.trim() }); };
    return made;
  });
  if (document.activeElement !== input) input.value = name;
  return input;
}

function toggle(key, text, label, isOn, act) {
  return kept(key, [text, label, isOn], () => {
    const made = element('button', { type: 'button', textContent: t(text) });
    made.setAttribute('aria-label', label);
    made.setAttribute('aria-pressed', String(isOn));
    made.dataset.action = text;
    made.onclick = act;
    return made;
  });
}

function hostButtons(groups, group, name) {
  const { breakout } = groups;
  if (!breakout.isOpen) return [];
  const id = group?.id ?? 0;
  const buttons = [];
  if (id !== breakout.place) {
    buttons.push(
      toggle(`listen ${id}`, 'breakout.listen', t('breakout.listen.to', { name }), breakout.listensTo.includes(id), () => groups.ask('listen', groups.breakout.listening(id))),
      toggle(`look ${id}`, 'breakout.look', t('breakout.look.into', { name }), breakout.looksInto === id, () => groups.ask('listen', breakout.looking(id))),
      ...choice(groups, id, name));
  }
  if (group) {
    const isOn = Boolean(group.recording);
    buttons.push(toggle(`record ${id}`, isOn ? 'breakout.record.stop' : 'breakout.record', t(isOn ? 'breakout.record.stop.of' : 'breakout.record.of', { name }), isOn,
      () => (group.recording ? groups.record('stop', { id: group.recording }) : groups.record('start', { group: id }))));
  }
  return buttons;
}

/// The button with which the user goes to a group itself.
function choice(groups, id, name) {
  const { breakout } = groups;
  if (!breakout.mayMove || id === breakout.own) return [];
  return [kept(`go ${id}`, name, () => {
    const made = element('button', { type: 'button', textContent: t('breakout.go') });
    made.setAttribute('aria-label', t('breakout.go.to', { name }));
    made.dataset.action = 'go';
    made.onclick = () => groups.ask('choose', { group: id });
    return made;
  })];
}

function personRow(groups, person, id) {
  const options = groups.isModerator ? [[0, t('breakout.main')], ...groups.breakout.groups.map(group => [group.id, group.name])] : [];
  return kept(`person ${person.id}`, [person.name, id, options], () => {
    const made = element('li', {}, element('span', { className: 'who', dir: 'auto', textContent: person.name }));
    made.dataset.participant = person.id;
    if (!groups.isModerator) return made;
    const select = element('select');
    select.setAttribute('aria-label', t('breakout.place', { name: person.name }));
    select.append(...options.map(([number, name]) => new Option(String(name), String(number))));
    select.value = String(id);
    select.onchange = () => groups.ask('assign', { places: { [person.id]: Number(select.value) } });
    made.append(select);
    return made;
  });
}

$('breakout-count').max = String(MOST);
$('breakout-minutes').placeholder = String(USUAL_MINUTES);
$('breakout-make-button').onclick = () => {
  const count = $('breakout-count');
  if (!count.reportValidity()) return;
  const names = Array.from({ length: Number(count.value) }, (_, index) => t('breakout.group', { number: index + 1 }));
  current?.ask('make', { names, mayChoose: current.breakout.mayChoose });
};
$('breakout-fill').onclick = () => current?.ask('fill');
$('breakout-may-choose').onchange = () => current?.ask('allowChoice', { mayChoose: $('breakout-may-choose').checked });
$('breakout-open').onclick = () => {
  const minutes = $('breakout-minutes');
  if (!minutes.reportValidity()) return;
  current?.ask(current.breakout.isOpen ? 'setEnd' : 'open', minutes.value ? { endsIn: Number(minutes.value) * 60 } : {});
};
$('breakout-call-back').onclick = () => current?.ask('callBack', { countdown: COUNTDOWN });
$('breakout-close').onclick = () => current?.ask('close');
$('breakout-speak').onclick = () => current?.ask('speakToAll', { on: !current.breakout.speaksToAll });
