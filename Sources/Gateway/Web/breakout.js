// The breakout groups: a panel in which moderators make, fill, open and close them, and others choose theirs; and the badge
// that says where the user is, and for how long.

import { clock } from '/assets/breakout-state.js';
import { element, notice } from '/assets/elements.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const MOST = 50, USUAL_MINUTES = 15, COUNTDOWN = 60;
let timer;

/// Shows what the groups of a call do, until it ends.
/** @param {import('./call.js').Call} call */
export function watchBreakout(call) {
  const render = () => show(call);
  for (const type of ['breakout', 'people', 'role']) call.addEventListener(type, render);
  call.addEventListener('breakout', ({ detail }) => detail.forEach(each => tell(call, each)));
  call.addEventListener('problem', ({ detail }) => { if ($('breakout').open) $('breakout-note').textContent = explain(detail); });
  call.addEventListener('ended', () => clearInterval(timer));
  clearInterval(timer);
  timer = setInterval(() => showBadge(call), 1000);
  render();
}

const namesOf = (call, ids) => ids.map(id => call.people.find(id)?.name ?? t('host.somebody')).join(', ');

/** @param {import('./call.js').Call} call @param {import('./breakout-state.js').News} news */
function tell(call, news) {
  const names = namesOf(call, news.ids ?? []);
  if (news.type === 'moved') notice(t('breakout.moved', { name: news.group?.name }), 8);
  if (news.type === 'back') notice(t('breakout.back'), 8);
  if (news.type === 'opened') notice(t('breakout.opened'), 6);
  if (news.type === 'ending' && call.breakout.place) {
    const action = call.breakout.mayMove ? { text: t('breakout.goBack'), act: () => call.breakOut('choose', { group: 0 }) } : null;
    notice(t('breakout.ending', { seconds: call.breakout.remaining(Date.now()) }), 12, action);
  }
  if (news.type === 'listened') notice(t('breakout.listened', { names }), 8);
  if (news.type === 'addressed' && !news.ids?.includes(call.id)) notice(t('breakout.addressed', { names }), 8);
}

function showBadge(call) {
  const { breakout } = call;
  const seconds = breakout.remaining(Date.now());
  const place = breakout.group?.name ?? t('breakout.main');
  $('breakout-badge').hidden = !breakout.isOpen;
  $('breakout-badge').classList.toggle('ending', breakout.state === 'ending');
  const text = seconds === null ? place : t(breakout.state === 'ending' ? 'breakout.badge.ending' : 'breakout.badge', { name: place, time: clock(seconds) });
  if ($('breakout-text').textContent !== text) $('breakout-text').textContent = text;
}

// ---- The panel

function show(call) {
  const { breakout, isModerator } = call;
  showBadge(call);
  const isOffered = isModerator || (breakout.exists && breakout.mayMove);
  $('open-breakout').hidden = !isOffered;
  if (!isOffered && $('breakout').open) $('breakout').close();
  if (!$('breakout').open) return;
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
      toggle(`listen ${id}`, 'breakout.listen', t('breakout.listen.to', { name }), breakout.listensTo.includes(id), () => call.breakOut('listen', breakout.listening(id))),
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

/// `call()`: the call that runs.
export function bindBreakout(call) {
  $('open-breakout').onclick = () => {
    rows.clear();
    $('breakout-note').textContent = '';
    $('breakout').showModal();
    show(call());
  };
  $('breakout-count').max = String(MOST);
  $('breakout-minutes').placeholder = String(USUAL_MINUTES);
  $('breakout-make-button').onclick = () => {
    const count = $('breakout-count');
    if (!count.reportValidity()) return;
    const names = Array.from({ length: Number(count.value) }, (_, index) => t('breakout.group', { number: index + 1 }));
    call().breakOut('make', { names, mayChoose: call().breakout.mayChoose });
  };
  $('breakout-fill').onclick = () => call().breakOut('fill');
  $('breakout-may-choose').onchange = () => call().breakOut('allowChoice', { mayChoose: $('breakout-may-choose').checked });
  $('breakout-open').onclick = () => {
    const minutes = $('breakout-minutes');
    if (!minutes.reportValidity()) return;
    call().breakOut(call().breakout.isOpen ? 'setEnd' : 'open', minutes.value ? { endsIn: Number(minutes.value) * 60 } : {});
  };
  $('breakout-call-back').onclick = () => call().breakOut('callBack', { countdown: COUNTDOWN });
  $('breakout-close').onclick = () => call().breakOut('close');
  $('breakout-speak').onclick = () => call().breakOut('speakToAll', { on: !call().breakout.speaksToAll });
}
