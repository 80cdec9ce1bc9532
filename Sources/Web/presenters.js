// Who presents: a badge with a button for the user's own screen, and a word when somebody begins.

import { announce } from '/assets/news.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// Presenters who are kept in mind.
const MOST = 200;

/** @param {import('./call.js').Call} call */
export function watchPresenters(call) {
  /// Who presented when last seen; null: nothing was seen yet. Who goes to another server with the room, and comes back,
  /// does not begin anew.
  let known = null;
  const show = () => {
    const list = call.people.list.filter(({ id }) => id !== call.id);
    const presenters = list.filter(({ presenting }) => presenting);
    const isMine = Boolean(call.sending.screen);
    showBadge(isMine, presenters);
    const begun = known === null ? [] : presenters.filter(({ id }) => !known.has(id));
    const gone = [...known ?? []].filter(id => !list.some(person => person.id === id));
    if (list.length || known) known = new Set([...gone, ...presenters.map(({ id }) => id)].slice(-MOST));
    if (!begun.length) return;
    const names = begun.map(({ name }) => name);
    announce(isMine ? { kind: 'presents', text: t('presents.overYou', { name: names.at(-1) }) } : { kind: 'presents', names });
  };
  for (const type of ['people', 'changed', 'seat']) call.addEventListener(type, show);
  for (const type of ['ended', 'waiting']) call.addEventListener(type, () => showBadge(false, []));
  $('stop-presenting').onclick = () => call.sending.stopScreen();
}

function showBadge(isMine, others) {
  $('presenting-badge').hidden = !isMine && !others.length;
  $('stop-presenting').hidden = !isMine;
  const names = others.map(({ name }) => name);
  const text = isMine ? t('presents.you')
    : names.length === 1 ? t('news.presents.name', { name: names[0] })
      : names.length === 2 ? t('news.presents.two', { first: names[0], second: names[1] })
        : names.length ? t('news.presents.more', { name: names[0], count: names.length - 1 }) : '';
  if ($('presenting-text').textContent !== text) $('presenting-text').textContent = text;
}
