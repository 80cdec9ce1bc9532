// The list of people in the side panel.

import { element, icon } from '/assets/elements.js';
import { ALL, loaded } from '/assets/groups.js';
import { hasMenu, personButton } from '/assets/hosts.js';
import { arrival } from '/assets/people.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// The shown rows by participant, with what they were made of.
const rows = new Map();

/// Shows the people of the call. A row that shows the same as before stays: a press on one of its buttons and the focus
/// outlive the changes of others.
export function showPeople(call) {
  const { people, id: ownId, me } = call;
  $('people-count').textContent = people.list.length + people.viewers;
  // Who is in a group sees those of the group; moderators see where everybody is.
  const isShown = person => call.isModerator || person.group === me?.group;
  const ordered = people.ordered.filter(isShown), hands = ordered.filter(({ hand }) => hand).length;
  const shown = ordered.map((person, index) => {
    const place = person.hand && hands > 1 ? index + 1 : null;
    const { speaking, ...lasting } = person;
    const state = JSON.stringify([lasting, call.id, call.isModerator, call.mine?.pin === person.id, place, groupOf(call, person)]);
    const { made } = rows.get(person.id)?.state === state ? rows.get(person.id) : { made: row(call, person, place) };
    const hadFocus = rows.get(person.id)?.made.contains(document.activeElement) && document.activeElement.className;
    rows.set(person.id, { state, made, hadFocus });
    made.classList.toggle('speaking', Boolean(speaking));
    return made;
  });
  for (const id of rows.keys()) if (!people.list.some(person => person.id === id && isShown(person))) rows.delete(id);
  // The number of viewers that are not in the list.
  if (people.viewers) shown.push(element('li', { className: 'viewers' }, t(people.find(ownId) ? 'people.viewers' : 'people.viewersAndYou', { count: people.viewers })));
  replaceRows($('people-list'), shown);
  for (const { made, hadFocus } of rows.values()) if (hadFocus && !made.contains(document.activeElement)) made.getElementsByClassName(hadFocus)[0]?.focus();
  showReceivers(call);
}

/// Makes these the rows of a list, without moving those that are in their place.
function replaceRows(list, shown) {
  for (const old of [...list.children]) if (!shown.includes(old)) old.remove();
  shown.forEach((row, index) => { if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null); });
}

/// The signs of somebody's hand and microphone, in the list and over the picture. `state`: what `arrival` says.
export const raised = () => icon('hand', t('hand.raised'));
export const microphone = state => icon(state === 'on' ? 'mic' : 'mic-off', t(`microphone.${state}`), state !== 'on');

/// `place`: of the raised hand; null: it is the only one, or down.
function row(call, person, place) {
  const name = person.id === call.id ? t('people.you', { name: person.name }) : person.name;
  const made = element('li', {}, element('span', { className: 'who', dir: 'auto', title: name, textContent: name }));
  made.dataset.participant = person.id;
  if (person.role !== 'participant') made.append(element('span', { className: 'role', textContent: t(`role.${person.role}`) }));
  const group = groupOf(call, person);
  if (group) made.append(element('span', { className: 'role', dir: 'auto', textContent: group }));
  if (person.hand) made.append(raised());
  if (place) made.append(element('span', { className: 'hand-place', title: t('hand.place', { place }) }, place));
  if (person.recorded === false) made.append(icon('record-off', t('unrecorded')));
  if (person.presenting) made.append(icon('screen', t('share.on')));
  const audio = arrival(person, 'audio'), video = arrival(person, 'video');
  made.append(
    microphone(audio),
    icon(video === 'on' ? 'camera' : 'camera-off', t(`camera.${video === 'missing' ? 'unseen' : video}`), video !== 'on'));
  if (person.role !== 'viewer') made.append(pin(call, person));
  if (hasMenu(call, person)) made.append(personButton(call, person));
  return made;
}

/// The name of the breakout group in which a person is, for moderators.
const groupOf = (call, { group }) => call.isModerator && call.breakout?.groups?.find(({ id }) => id === group)?.name;

function pin(call, { id, name }) {
  const isPinned = id === call.mine?.pin;
  const button = element('button', { type: 'button', className: 'plain pin', title: t(isPinned ? 'pin.back.title' : 'pin.title') }, icon('pin'));
  button.setAttribute('aria-label', t(isPinned ? 'pin.back' : 'pin', { name }));
  button.setAttribute('aria-pressed', String(isPinned));
  button.onclick = () => call.pin(id);
  return button;
}

/// Who can get a message of the chat.
function showReceivers(call) {
  const { people, id: ownId, me } = call;
  const mayWrite = person => person.id !== ownId && (call.isModerator || person.role === 'moderator' || person.group === me?.group);
  const to = $('chat-to');
  const chosen = to.value;
  to.replaceChildren(
    ...loaded()?.receivers(call) ?? [new Option(t('chat.everyone'), '')],
    ...people.list.filter(mayWrite).map(({ id, name }) => new Option(t('chat.only', { name }), id)));
  const isThere = () => [...to.options].some(option => option.value === chosen);
  // What is written for one person is not for everyone when that person leaves, or is in another group.
  if (chosen && chosen !== ALL && !isThere() && $('chat-text').value) to.append(new Option(t('chat.gone'), chosen));
  to.value = isThere() ? chosen : '';
}
