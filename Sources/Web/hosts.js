// What a moderator has: a button for each person and one for the room, and who waits to be let in. Their menus come when
// one is opened first.

import { element, icon } from '/assets/elements.js';
import { openGroups } from '/assets/groups.js';
import { Later } from '/assets/later.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const menus = new Later(() => import('/assets/host-menus.js'));

/// The button of a person's menu, in the list of people.
export function personButton(call, { id, name }) {
  const button = element('button', { type: 'button', className: 'plain more', title: t('host.menu.title') }, icon('more'));
  button.setAttribute('aria-label', t('host.menu', { name }));
  button.setAttribute('aria-haspopup', 'dialog');
  button.onclick = async () => (await menus.get())?.openPerson(call, id);
  return button;
}

export const hasMenu = (call, person) => call.isModerator && person.id !== call.id;

// ---- The room

/// Shows what concerns moderators, and hides it from others.
/** @param {import('./call.js').Call} call */
export function showHosts(call) {
  $('open-room').hidden = !call.isModerator;
  const { locked } = call.settings;
  menus.loaded?.update(call);
  $('locked-badge').hidden = !locked;
  showWaiting(call);
}

function showWaiting(call) {
  const people = call.isModerator ? call.waiting : [];
  $('waiting-people').hidden = !people.length;
  $('waiting-count').textContent = people.length ? t('host.waiting', { count: people.length }) : '';
  $('admit-all').hidden = people.length < 2;
  $('waiting-list').replaceChildren(...people.map(({ id, name, removed }) => {
    const button = (key, action) => {
      const made = element('button', { type: 'button', textContent: t(key) });
      made.setAttribute('aria-label', t(`${key}.name`, { name }));
      made.dataset.action = action;
      made.onclick = () => call.moderate(action, id);
      return made;
    };
    return element('li', {}, element('span', { className: 'who', dir: 'auto', title: name, textContent: name }),
      ...(removed ? [element('span', { className: 'role', textContent: t('host.wasRemoved') })] : []),
      button('host.admit', 'admit'), button('host.refuse', 'refuse'), button('host.refuseAddress', 'refuseAddress'));
  }));
}

/// `call()`: the call that runs.
export function bindHosts(call) {
  $('open-room').onclick = async () => (await menus.get())?.openRoom(call, openGroups);
  $('admit-all').onclick = () => call().moderate('admit');
}
