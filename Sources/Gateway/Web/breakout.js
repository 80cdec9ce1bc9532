// What everybody is told of breakout groups: a badge that says where the user is and for how long, and notices. The panel
// comes when it is opened first.

import { clock } from '/assets/breakout-state.js';
import { Later } from '/assets/later.js';
import { tell } from '/assets/notice-board.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const panel = new Later(() => import('/assets/breakout-dialog.js'));
let timer;

/// Shows what the groups of a call do, until it ends.
/** @param {import('./call.js').Call} call */
export function watchBreakout(call) {
  const render = () => {
    showBadge(call);
    const isOffered = call.isModerator || (call.breakout.exists && call.breakout.mayMove);
    $('open-breakout').hidden = !isOffered;
    panel.loaded?.update(call, isOffered);
  };
  for (const type of ['breakout', 'people', 'role']) call.addEventListener(type, render);
  call.addEventListener('breakout', ({ detail }) => detail.forEach(each => tellNews(call, each)));
  call.addEventListener('problem', ({ detail }) => panel.loaded?.refused(detail));
  call.addEventListener('ended', () => clearInterval(timer));
  clearInterval(timer);
  timer = setInterval(() => showBadge(call), 1000);
  render();
}

/** @param {import('./call.js').Call} call @param {import('./breakout-state.js').News} news */
function tellNews(call, { type, group, ids = [] }) {
  const names = ids.map(id => call.people.find(id)?.name ?? t('host.somebody')).join(', ');
  // Where the user is now takes the place of where the user was. Who listens is told beside it.
  const say = (text, key = 'breakout', actions = []) => tell({ kind: 'told', key, text, seconds: 8, actions });
  if (type === 'moved') say(t('breakout.moved', { name: group?.name }));
  if (type === 'back') say(t('breakout.back'));
  if (type === 'opened') say(t('breakout.opened'));
  if (type === 'ending' && call.breakout.place) {
    const actions = call.breakout.mayMove ? [{ text: t('breakout.goBack'), act: () => call.breakOut('choose', { group: 0 }) }] : [];
    say(t('breakout.ending', { seconds: call.breakout.remaining(Date.now()) }), 'breakout', actions);
  }
  if (type === 'listened') say(t('breakout.listened', { names }), 'breakout.listened');
  if (type === 'addressed' && !ids.includes(call.id)) say(t('breakout.addressed', { names }), 'breakout.addressed');
}

function showBadge({ breakout }) {
  const seconds = breakout.remaining(Date.now()), isEnding = breakout.state === 'ending';
  const place = breakout.group?.name ?? t('breakout.main');
  $('breakout-badge').hidden = !breakout.isOpen;
  $('breakout-badge').classList.toggle('ending', isEnding);
  const text = seconds === null ? place : t(isEnding ? 'breakout.badge.ending' : 'breakout.badge', { name: place, time: clock(seconds) });
  if ($('breakout-text').textContent !== text) $('breakout-text').textContent = text;
}

/// `call()`: the call that runs.
export function bindBreakout(call) { $('open-breakout').onclick = async () => (await panel.get())?.openBreakout(call); }
