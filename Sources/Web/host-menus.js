// The menus of a moderator: for each person, and for the room. `hosts.js` loads them when one is opened first.

import markup from './host-menus.html';

import * as address from '/assets/address.js';
import { element } from '/assets/elements.js';
import { addDialogs, t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

/// What can be done to a participant, and when.
/** @type {[string, (person: any) => boolean][]} */
const ACTIONS = [
  ['mute', person => person.role !== 'viewer' && person.audio],
  ['askToUnmute', person => person.role !== 'viewer' && !person.audio],
  ['stopVideo', person => person.role !== 'viewer' && person.video],
  ['askForVideo', person => person.role !== 'viewer' && !person.video],
  ['stopScreen', person => person.presenting],
  ['lowerHand', person => person.hand],
  ['stage', person => person.role === 'viewer'],
  ['audience', person => person.role === 'participant'],
];
// Settings of the room that are a switch: what presenters and moderators keep for themselves.
const POLICY = ['share', 'chat', 'unmute'];
const ROLES = ['moderator', 'presenter', 'participant'];
const MAX_VOLUME = 2;

/// A button that does what cannot be undone at the second press.
function grave(key, act) {
  const button = element('button', { type: 'button', className: 'danger', textContent: t(key) });
  let isSure = false;
  const reset = () => { isSure = false; button.textContent = t(key); };
  button.onclick = () => {
    if (isSure) return act();
    isSure = true;
    button.textContent = t('host.sure', { what: t(key) });
  };
  button.onblur = reset;
  return button;
}

// ---- One person

let shownPerson = null;

export function openPerson(call, id) {
  const person = call.people.find(id);
  if (!person) return;
  shownPerson = id;
  const act = (action, fields) => {
    call.moderate(action, id, fields);
    $('person-menu').close();
  };
  const button = (key, action, fields) => {
    const made = element('button', { type: 'button', textContent: t(key) });
    made.dataset.action = fields?.role ?? action;
    made.onclick = () => act(action, fields);
    return made;
  };
  const remove = grave('host.remove', () => act('remove'));
  remove.dataset.action = 'remove';
  const recorded = person.unrecordedBy?.includes('host') || person.recorded;
  $('person-title').textContent = person.name;
  $('person-actions').replaceChildren(
    ...(person.role === 'viewer' ? [] : [spotlight(call, person)]),
    ...ACTIONS.filter(([, isFitting]) => isFitting(person)).map(([action]) => button(`host.${action}`, action)),
    ...(person.role === 'viewer' ? [] : ROLES.filter(role => role !== person.role).map(role => button(`host.make.${role}`, 'role', { role }))),
    ...(person.role === 'viewer' || !recorded ? [] : [button(person.recorded ? 'host.leaveOut' : 'host.record', 'recorded', { recorded: !person.recorded })]),
    remove);
  $('person-volume').value = person.volume ?? 1;
  $('person-volume').max = MAX_VOLUME;
  $('person-volume').onchange = () => call.moderate('volume', id, { volume: Number($('person-volume').value) });
  $('person-volume').closest('label').hidden = person.role === 'viewer';
  $('person-menu').showModal();
}

/// The person large for everybody, or as the room was before.
function spotlight(call, { id, pinned }) {
  const button = element('button', { type: 'button', textContent: t(pinned ? 'host.unspotlight' : 'host.spotlight') });
  button.dataset.action = 'spotlight';
  button.onclick = () => {
    call.spotlight(pinned ? null : id);
    $('person-menu').close();
  };
  return button;
}

// ---- The room

/// `call()`: the call that runs.
let call = () => null;
/// Opens the panel of breakout groups.
let openGroups = _ => {};

export function openRoom(current, groups) {
  [call, openGroups] = [current, groups];
  update(call());
  $('room-menu').showModal();
}

/// Shows what the room's settings are, and closes what is not for the user any more.
/** @param {import('./call.js').Call} call */
export function update(call) {
  if (!call.isModerator && $('room-menu').open) $('room-menu').close();
  if ($('person-menu').open && !(call.isModerator && call.people.find(shownPerson))) $('person-menu').close();
  const { locked, layoutLocked, admit, pin, hls } = call.settings;
  $('room-muteOnEntry').checked = Boolean(call.settings.muteOnEntry);
  for (const name of POLICY) $(`room-${name}`).checked = call.settings[name] === 'presenters';
  $('room-locked').checked = Boolean(locked);
  $('room-layout-locked').checked = Boolean(layoutLocked);
  $('room-admit').checked = admit === 'moderator';
  $('room-watch').hidden = !hls;
  $('watch-link').value = $('watch-open').href = address.linkToWatch(call.room);
  $('room-pin-clear').hidden = !pin;
  $('room-pin').placeholder = t(pin ? 'host.pin.set' : 'host.pin.none');
}

function bind() {
  const act = action => () => { call().moderate(action); $('room-menu').close(); };
  $('room-breakout').onclick = () => {
    $('room-menu').close();
    openGroups(call());
  };
  $('mute-all').onclick = act('muteAll');
  $('lower-hands').onclick = act('lowerHands');
  $('room-locked').onchange = () => call().changeRoom({ locked: $('room-locked').checked });
  $('room-layout-locked').onchange = () => call().changeRoom({ layoutLocked: $('room-layout-locked').checked });
  $('room-admit').onchange = () => call().changeRoom({ admit: $('room-admit').checked ? 'moderator' : 'anyone' });
  $('room-muteOnEntry').onchange = () => call().changeRoom({ muteOnEntry: $('room-muteOnEntry').checked });
  for (const name of POLICY) $(`room-${name}`).onchange = () => call().changeRoom({ [name]: $(`room-${name}`).checked ? 'presenters' : 'everyone' });
  const setPIN = pin => {
    call().changeRoom({ pin });
    call().knownPIN = pin || null;
    $('room-pin').value = '';
  };
  $('room-pin-set').onclick = () => { if ($('room-pin').value && $('room-pin').reportValidity()) setPIN($('room-pin').value); };
  // Six digits: the server looks at 20 wrong ones a minute, whoever sends them. The field keeps it, to be passed on.
  $('room-pin-make').onclick = () => {
    const pin = String(crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000).padStart(6, '0');
    setPIN(pin);
    $('room-pin').value = pin;
    $('room-pin').select();
  };
  $('room-pin-clear').onclick = () => setPIN('');
  const end = grave('host.end', act('end'));
  end.id = 'end-room';
  $('room-actions').append(end);
}

bind();
