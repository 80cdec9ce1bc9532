// Tells moderators who waits to be let in, wherever they look: a notice that lets in or refuses, a number at the button of
// the people and in the tab's title.

import { setWaiting } from '/assets/attention.js';
import { announce } from '/assets/news.js';
import { endNotice, hasNotice, tell } from '/assets/notice-board.js';
import { showSide } from '/assets/side.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/** @param {import('./call.js').Call} call */
export function watchWaiting(call) {
  let known = new Set();
  const show = () => {
    const people = call.isModerator ? call.waiting : [];
    const isNews = people.some(({ id }) => !known.has(id));
    known = new Set(people.map(({ id }) => id));
    showCount(people.length);
    if (!people.length) return endNotice('waiting');
    const told = { kind: 'waiting', text: sentence(people), actions: actions(call, people) };
    if (isNews) announce(told);
    // Who has looked at it is not told again of those who wait still.
    else if (hasNotice('waiting')) tell(told);
  };
  for (const type of ['waitingPeople', 'role']) call.addEventListener(type, show);
  call.addEventListener('ended', () => showCount(0));
}

const sentence = people => (people.length === 1 ? t('host.waits', { name: people[0].name }) : t('host.waiting', { count: people.length }));

function actions(call, people) {
  const show = { text: t('news.show'), act: showWaiting };
  if (people.length > 1) return [{ text: t('host.admitAll'), act: () => call.moderate('admit') }, show];
  const [{ id }] = people;
  return [{ text: t('host.admit'), act: () => call.moderate('admit', id) }, { text: t('host.refuse'), act: () => call.moderate('refuse', id) }];
}

function showWaiting() {
  showSide('people');
  $('waiting-people').scrollIntoView({ block: 'start' });
  $('waiting-list').querySelector('button')?.focus();
}

function showCount(count) {
  setWaiting(count);
  $('waiting-badge').textContent = count;
  $('waiting-badge').hidden = count === 0;
  if (count) $('open-people').setAttribute('aria-label', t('people.waiting', { count }));
  else $('open-people').removeAttribute('aria-label');
}
