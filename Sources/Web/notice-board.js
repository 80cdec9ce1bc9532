// The place for notices over the picture. `Notices` decides what is shown; this draws and speaks it.

import { element, tellBy } from '/assets/elements.js';
import { isUrgent, Notices } from '/assets/notices.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// The buttons of a notice that has just changed do nothing for so long, ms: the press was meant for what stood there.
const REST = 600;
/// The characters of a message that are shown.
const PREVIEW = 120;

const notices = new Notices();
/// What is drawn of each notice, by its key: its number, its change and its element.
const drawn = new Map();
/// The change of each notice that was spoken.
const spoken = new WeakMap();
let timer;

/// Tells something, see `Told` in notices.js.
export function tell(told) {
  notices.add(told, performance.now());
  draw();
}

/// What the notice was about is over.
export function endNotice(key) {
  notices.end(key, performance.now());
  draw();
}

export const hasNotice = key => notices.has(key);

export function clearNotices() {
  notices.clear();
  draw();
}

export function bindNotices() { tellBy({ tell, clear: clearNotices }); }

function draw() {
  clearTimeout(timer);
  const { shown } = notices;
  const hadFocus = $('notice').contains(document.activeElement);
  for (const key of [...drawn.keys()]) if (!shown.some(notice => notice.key === key)) drawn.delete(key);
  const elements = shown.map(notice => {
    const known = drawn.get(notice.key), isKnown = known?.number === notice.number;
    if (isKnown && known.change === notice.change) return known.made;
    const made = make(notice, isKnown);
    drawn.set(notice.key, { number: notice.number, change: notice.change, made });
    speak(notice);
    return made;
  });
  for (const old of [...$('notice').children]) if (!elements.includes(old)) old.remove();
  elements.forEach((made, index) => { if ($('notice').children[index] !== made) $('notice').insertBefore(made, $('notice').children[index] ?? null); });
  $('notice').hidden = !shown.length;
  // No other button gets the focus: the next press of a key would act on something else.
  if (hadFocus && !$('notice').contains(document.activeElement)) $('stage').focus();
  if (notices.next === null) return;
  timer = setTimeout(() => {
    notices.tick(performance.now());
    draw();
  }, Math.max(0, notices.next - performance.now()));
}

function make(notice, isChanged) {
  const made = element('div', { className: `notice of-${notice.kind}` }, element('span', { dir: 'auto', textContent: sentence(notice) }));
  const since = performance.now();
  const buttons = notice.actions.map(({ text, act }, index) => {
    const button = element('button', { type: 'button', className: index ? '' : 'primary', textContent: text });
    button.onclick = () => {
      if (isChanged && performance.now() < since + REST) return;
      endNotice(notice.key);
      act();
    };
    return button;
  });
  if (buttons.length) made.append(element('span', { className: 'buttons' }, ...buttons));
  return made;
}

/// Screen readers are told at once of what cannot wait. Recordings have a place of their own.
function speak(notice) {
  if (spoken.get(notice) === notice.change || notice.kind === 'recording') return;
  spoken.set(notice, notice.change);
  $(isUrgent(notice.kind) ? 'spoken-now' : 'spoken').textContent = sentence(notice);
}

/// The words of a notice that has no text of its own: who it is about, or what was written.
export function sentence({ kind, text, names, count, message }) {
  if (text !== undefined) return text;
  if (message) return said(message, count);
  if (count === 1) return t(`news.${kind}.name`, { name: names[0] });
  if (count === 2 && names.length === 2) return t(`news.${kind}.two`, { first: names[0], second: names[1] });
  return t(`news.${kind}.more`, { name: names[0], count: count - 1 });
}

function said({ name, text, to, picture }, count) {
  const characters = [...(text ?? '')];
  const values = { name, text: characters.length > PREVIEW ? `${characters.slice(0, PREVIEW).join('')} …` : characters.join('') };
  if (count > 1) return t('news.chat.more', { ...values, count, text: picture ? '' : values.text });
  return t(picture ? 'news.chat.picture' : to ? 'news.chat.private' : 'news.chat.text', values);
}
