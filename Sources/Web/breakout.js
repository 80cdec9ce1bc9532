// What everybody is told of breakout groups: a badge that says where the user is and for how long, and notices. `groups.js`
// loads it with the first word of groups, or when a moderator is to make some.

import { openPanel, refused, showClock, updatePanel } from '/assets/breakout-panel.js';
import { BreakoutState, clock } from '/assets/breakout-state.js';
import { element, icon } from '/assets/elements.js';
import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

/** @typedef {{ tell: typeof import('./notice-board.js').tell, showPeople: typeof import('./roster.js').showPeople, ALL: string }} Page */

/// The groups of one call, as they are shown.
export class Groups {
  breakout = new BreakoutState();
  /// The message of the server that is shown.
  known = null;

  /// `page`: what the parts of the page that are there before do.
  /** @param {import('./call.js').Call} call @param {Page} page */
  constructor(call, page) {
    this.call = call;
    this.page = page;
  }

  get isModerator() { return this.call.isModerator; }
  get people() { return this.call.people; }
  /// Whether the user has anything to choose.
  get isOffered() { return this.isModerator || (this.breakout.exists && this.breakout.mayMove); }

  ask(action, fields = {}) { this.call.send({ type: 'breakout', action, ...fields }); }
  /// `which`: a recording's {id}, or the {group} to record.
  record(action, which) { this.call.send({ type: 'record', action, ...which }); }
}

/** @type {Groups | null} */
let current = null;
let timer;

const text = element('span', { id: 'breakout-text', dir: 'auto' });
const badge = element('div', { id: 'breakout-badge', className: 'badge', hidden: true }, icon('people'), ' ', text);
$('locked-badge').after(badge);
const button = element('button', { id: 'open-breakout', type: 'button', className: 'wide', hidden: true, textContent: t('breakout') });
button.setAttribute('aria-haspopup', 'dialog');
button.onclick = () => { if (current) openPanel(current); };
$('open-invite').after(button);

/// Shows what the server has told of the groups of a call, and follows the call until it ends.
/** @param {import('./call.js').Call} call @param {Page} page */
export function follow(call, page) {
  if (current?.call !== call) watch(call, page);
  const { known, breakout } = /** @type {Groups} */ (current);
  if (call.breakout === known) return;
  /** @type {Groups} */ (current).known = call.breakout;
  const news = breakout.take(call.breakout, call.breakout?.at);
  show();
  // Who is shown, and who gets what is written, depends on the group.
  page.showPeople(call);
  for (const each of news) tellNews(call, each);
}

/// Lets a moderator make and change groups, and others choose one.
export function open(call, page) {
  follow(call, page);
  openPanel(/** @type {Groups} */ (current));
}

/** @param {import('./call.js').Call} call @param {Page} page */
function watch(call, page) {
  current = new Groups(call, page);
  const ifCurrent = act => event => { if (current?.call === call) act(event.detail); };
  for (const type of ['people', 'role']) call.addEventListener(type, ifCurrent(show));
  call.addEventListener('problem', ifCurrent(refused));
  call.addEventListener('ended', ifCurrent(end));
  clearInterval(timer);
  timer = setInterval(showBadge, 1000);
  show();
}

function end() {
  current = null;
  clearInterval(timer);
  badge.hidden = button.hidden = true;
}

function show() {
  if (!current) return;
  showBadge();
  button.hidden = !current.isOffered;
  updatePanel(current);
}

function showBadge() {
  if (!current) return;
  const { breakout } = current;
  const seconds = breakout.remaining(Date.now()), isEnding = breakout.state === 'ending';
  const place = breakout.group?.name ?? t('breakout.main');
  badge.hidden = !breakout.isOpen;
  badge.classList.toggle('ending', isEnding);
  const words = seconds === null ? place : t(isEnding ? 'breakout.badge.ending' : 'breakout.badge', { name: place, time: clock(seconds) });
  if (text.textContent !== words) text.textContent = words;
  showClock(breakout.isOpen && seconds !== null ? clock(seconds) : '');
}

/** @param {import('./call.js').Call} call @param {import('./breakout-state.js').News} news */
function tellNews(call, { type, group, ids = [] }) {
  if (!current) return;
  const { breakout, page } = current;
  const names = ids.map(id => call.people.find(id)?.name ?? t('host.somebody')).join(', ');
  // Where the user is now takes the place of where the user was. Who listens is told beside it.
  const say = (text, key = 'breakout', actions = []) => page.tell({ kind: 'told', key, text, seconds: 8, actions });
  if (type === 'moved') say(t('breakout.moved', { name: group?.name }));
  if (type === 'back') say(t('breakout.back'));
  if (type === 'opened') say(t('breakout.opened'));
  if (type === 'ending' && breakout.place) {
    const actions = breakout.mayMove ? [{ text: t('breakout.goBack'), act: () => current?.ask('choose', { group: 0 }) }] : [];
    say(t('breakout.ending', { seconds: breakout.remaining(Date.now()) }), 'breakout', actions);
  }
  if (type === 'listened') say(t('breakout.listened', { names }), 'breakout.listened');
  if (type === 'addressed' && !ids.includes(call.id)) say(t('breakout.addressed', { names }), 'breakout.addressed');
}

// ---- Chat

/// Those of the chat's receivers who are several.
export function receivers(call) {
  const its = current?.call === call ? current : null, breakout = its?.breakout;
  return [
    new Option(breakout?.group ? t('breakout.chat', { name: breakout.group.name }) : t('chat.everyone'), ''),
    ...(call.isModerator && breakout?.isOpen ? [new Option(t('breakout.chat.all'), its?.page.ALL)] : []),
  ];
}

/// The author of a message to all groups.
export const toAll = name => t('breakout.chat.toAll', { name });
