// The panel of breakout groups: moderators make, fill, open and close them, and others choose theirs. `breakout.js` loads it
// when it is opened first.

import markup from './breakout-dialog.html';

import { element } from '/assets/elements.js';
import { addDialogs, explain, t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

const MOST = 50, USUAL_MINUTES = 15, COUNTDOWN = 60;

/// Shows what has changed. `isOffered`: whether the user has anything to do here.
/** @param {import('./call.js').Call} call */
export function update(call, isOffered) {
  if (!isOffered) $('breakout').close();
  if ($('breakout').open) show(call);
}

/// The server has refused something.
export function refused(problem) { if ($('breakout').open) $('breakout-note').textContent = explain(problem); }

function show(call) {
  const { breakout, isModerator } = call;
  $('breakout-make').hidden = !isModerator || breakout.isOpen;
  $('breakout-make-button').textContent = t(breakout.exists ? 'breakout.makeAgain' : 'breakout.make');
  $('breakout-groups').hidden = !breakout.exists;
  for (const id of ['breakout-fill', 'breakout-choice-row', 'breakout-time']) $(id).hidden = !isModerator || !breakout.exists;
  $('breakout-may-choose').checked = breakout.mayChoose;
  $('breakout-open').textContent = t(breakout.isOpen ? 'breakout.setEnd' : 'breakout.open');
  $('breakout-running').hidden = !isModerator || !breakout.isOpen;
  $('breakout-speak').setAttribute('aria-pressed', String(breakout.speaksToAll));
  $('breakout-speak').textContent = t(breakout.speaksToAll ? 'breakout.speak.end' : 'breakout.speak');
  showGroups(call);
}

/// Rows by key, with what they were made of: one that shows the same as before stays, and with it its focus.
const rows = new Map();

function kept(key, state, make) {
  const text = JSON.stringify(state);
  if (rows.get(key)?.text !== text) rows.set(key, { text, made: make() });
  return rows.get(key).made;
}

function showGroups(call) {
  const { breakout } = call;
  const sections = [0, ...breakout.groups.map(({ id }) => id)].map(id => section(call, id));
  place($('breakout-groups'), sections);
}

function place(list, shown) {
  for (const old of [...list.children]) if (!shown.includes(old)) old.remove();
  shown.forEach((row, index) => { if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null); });
}

function section(call, id) {
  const { breakout, isModerator } = call;
  const group = breakout.find(id);
  const name = group?.name ?? t('breakout.main');
  const made = kept(`group ${id}`, [id, isModerator], () => {
    const head = element('div', { className: 'row start' }), list = element('ul');
    const section = element('section', {}, head, list);
    section.dataset.group = String(id);
    return section;
  });
  const [head, list] = made.children;
  place(head, [title(call, id, name), ...(isModerator ? hostButtons(call, group, name) : choice(call, id, name))]);
  const people = group ? (group.participants ?? []).map(each => call.people.find(each)).filter(Boolean)
    : call.people.list.filter(person => person.role !== 'viewer' && !breakout.assigned(person.id));
  // Without names there are numbers only.
  const isCounted = group && !group.participants;
  place(list, isCounted ? [kept(`count ${id}`, group.people, () => element('li', { textContent: t('breakout.people', { count: group.people }) }))]
    : people.map(person => personRow(call, person, id)));
  return made;
}

function title(call, id, name) {
  if (!call.isModerator || id === 0) {
    return kept(`title ${id}`, name, () => element('h3', { textContent: name, dir: 'auto' }));
  }
  const input = kept(`title ${id}`, 'input', () => {
    const made = element('input', { maxLength: 64, required: true });
    made.setAttribute('aria-label', t('breakout.name', { number: id }));
    made.onchange = () => { if (made.value.trim()) call.breakOut('rename', { group: id, name: made.value.trim() }); };
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

function hostButtons(call, group, name) {
  const { breakout } = call;
  if (!breakout.isOpen) return [];
  const id = group?.id ?? 0;
  const buttons = [];
  if (id !== breakout.place) {
    buttons.push(
      toggle(`listen ${id}`, 'breakout.listen', t('breakout.listen.to', { name }), breakout.listensTo.includes(id), () => call.breakOut('listen', call.breakout.listening(id))),
      toggle(`look ${id}`, 'breakout.look', t('breakout.look.into', { name }), breakout.looksInto === id, () => call.breakOut('listen', breakout.looking(id))),
      ...choice(call, id, name));
  }
  if (group) {
    const isOn = Boolean(group.recording);
    buttons.push(toggle(`record ${id}`, isOn ? 'breakout.record.stop' : 'breakout.record', t(isOn ? 'breakout.record.stop.of' : 'breakout.record.of', { name }), isOn,
      () => (group.recording ? call.record('stop', { id: group.recording }) : call.record('start', { group: id }))));
  }
  return buttons;
}

/// The button with which the user goes to a group itself.
function choice(call, id, name) {
  const { breakout } = call;
  if (!breakout.mayMove || id === breakout.own) return [];
  return [kept(`go ${id}`, name, () => {
    const made = element('button', { type: 'button', textContent: t('breakout.go') });
    made.setAttribute('aria-label', t('breakout.go.to', { name }));
    made.dataset.action = 'go';
    made.onclick = () => call.breakOut('choose', { group: id });
    return made;
  })];
}

function personRow(call, person, id) {
  const options = call.isModerator ? [[0, t('breakout.main')], ...call.breakout.groups.map(group => [group.id, group.name])] : [];
  return kept(`person ${person.id}`, [person.name, id, options], () => {
    const made = element('li', {}, element('span', { className: 'who', dir: 'auto', textContent: person.name }));
    made.dataset.participant = person.id;
    if (!call.isModerator) return made;
    const select = element('select');
    select.setAttribute('aria-label', t('breakout.place', { name: person.name }));
    select.append(...options.map(([number, name]) => new Option(String(name), String(number))));
    select.value = String(id);
    select.onchange = () => call.breakOut('assign', { places: { [person.id]: Number(select.value) } });
    made.append(select);
    return made;
  });
}

/** @type {() => import('./call.js').Call | null} */
let current = () => null;

/// `call()`: the call that runs.
export function openBreakout(call) {
  current = call;
  const now = current();
  if (!now) return;
  rows.clear();
  $('breakout-note').textContent = '';
  $('breakout').showModal();
  show(now);
}

/// Asks the server of the call that runs.
const ask = (action, fields = {}) => current()?.breakOut(action, fields);

$('breakout-count').max = String(MOST);
$('breakout-minutes').placeholder = String(USUAL_MINUTES);
$('breakout-make-button').onclick = () => {
  const count = $('breakout-count');
  if (!count.reportValidity()) return;
  const names = Array.from({ length: Number(count.value) }, (_, index) => t('breakout.group', { number: index + 1 }));
  ask('make', { names, mayChoose: current()?.breakout.mayChoose });
};
$('breakout-fill').onclick = () => ask('fill');
$('breakout-may-choose').onchange = () => ask('allowChoice', { mayChoose: $('breakout-may-choose').checked });
$('breakout-open').onclick = () => {
  const minutes = $('breakout-minutes');
  if (!minutes.reportValidity()) return;
  ask(current()?.breakout.isOpen ? 'setEnd' : 'open', minutes.value ? { endsIn: Number(minutes.value) * 60 } : {});
};
$('breakout-call-back').onclick = () => ask('callBack', { countdown: COUNTDOWN });
$('breakout-close').onclick = () => ask('close');
$('breakout-speak').onclick = () => ask('speakToAll', { on: !current()?.breakout.speaksToAll });
