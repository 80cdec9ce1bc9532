// What happens beside the picture: people who come and go, hands, chat, and what needs the user. Each has a short tone, a
// word, a count in the tab's title, and a notice of the desktop, which the user switches off.

import { noteMissed } from '/assets/attention.js';
import { endNotice, sentence, tell } from '/assets/notice-board.js';
import { isHeavy } from '/assets/notices.js';
import { remember, remembered } from '/assets/pickers.js';
import { isChatOpen, showSide, whenChatOpens } from '/assets/side.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// The switches. What is for `heavy` is shown all the same, without its tone.
export const KINDS = ['heavy', 'joins', 'hands', 'chat'];
/// The tones of each kind of notice, in Hz.
const TONES = {
  asked: [880, 1175], waiting: [659, 880, 659], connection: [392, 330], recording: [440, 440], presents: [523, 784],
  hands: [784, 988], chat: [880], joined: [523, 659], left: [659, 523],
};
/// Whose notices are not shown either without their switch.
const SWITCHES = { joined: 'joins', left: 'joins', hands: 'hands', chat: 'chat' };
const TONE_SECONDS = 0.12, VOLUME = 0.06;
/// The least time between two tones, and between two of one heavy kind, ms: who comes and goes at the door again and again
/// makes no alarm of it.
const PAUSE = 700, PAUSE_OF_KIND = 5000;

const isOn = kind => remembered(`news.${kind}`) !== 'off';
let context = null, last = -Infinity;
const lastOf = new Map();

function play(kind) {
  const now = performance.now();
  // A heavy one does not wait for the tone of a light one.
  if (isHeavy(kind) ? now < (lastOf.get(kind) ?? -Infinity) + PAUSE_OF_KIND : now < last + PAUSE) return;
  last = now;
  lastOf.set(kind, now);
  context ??= new AudioContext();
  TONES[kind].forEach((frequency, index) => {
    const start = context.currentTime + index * TONE_SECONDS;
    const tone = new OscillatorNode(context, { frequency }), volume = new GainNode(context, { gain: 0 });
    volume.gain.setValueAtTime(VOLUME, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + TONE_SECONDS);
  });
}

/// Tells the user with a tone, and the desktop where this tab is hidden and the user has allowed it. `isShown`: whether it
/// needs a notice over the picture.
export function announce(told, isShown = true) {
  const { kind } = told, isWanted = isOn(SWITCHES[kind] ?? 'heavy');
  if (!isWanted && SWITCHES[kind]) return;
  if (isShown) tell(told);
  // Who waits is counted as long as they do.
  if (kind !== 'waiting') noteMissed();
  if (!isWanted) return;
  if (TONES[kind]) play(kind);
  if (document.hidden && remembered('news.desktop') === 'on' && window.Notification?.permission === 'granted') {
    const { names = [], count = names.length || 1, message = null } = told;
    try {
      const note = new Notification(sentence({ kind, text: told.text, names, count, message }), { tag: `tessera-${kind}`, silent: true });
      note.onclick = () => { window.focus(); note.close(); };
    } catch {
      // Chrome on Android has notices for service workers alone.
    }
  }
}

export function watchNews(call) {
  let hands = new Set();
  const named = people => people.map(({ name }) => name);
  call.addEventListener('joins', ({ detail: { joined, left } }) => {
    const others = joined.filter(({ id }) => id !== call.id);
    if (others.length) announce({ kind: 'joined', names: named(others) });
    if (left.length) announce({ kind: 'left', names: named(left) });
  });
  call.addEventListener('people', () => {
    const now = new Set(call.people.list.filter(person => person.hand && person.id !== call.id && person.group === call.me?.group).map(({ id }) => id));
    const raised = call.people.list.filter(({ id }) => now.has(id) && !hands.has(id));
    hands = now;
    if (raised.length) announce({ kind: 'hands', names: named(raised) });
  });
  call.addEventListener('chat', ({ detail }) => {
    if (detail.isEarlier || detail.from === call.id) return;
    announce({ kind: 'chat', message: detail, actions: [{ text: t('news.show'), act: () => showSide('chat') }] }, !isChatOpen() || document.hidden);
  });
}

/// Binds the switches in the settings.
export function bindNews() {
  whenChatOpens(() => endNotice('chat'));
  for (const kind of KINDS) {
    $(`news-${kind}`).checked = isOn(kind);
    $(`news-${kind}`).onchange = () => remember(`news.${kind}`, $(`news-${kind}`).checked ? 'on' : 'off');
  }
  const desktop = $('news-desktop');
  desktop.closest('label').hidden = !window.Notification;
  desktop.checked = remembered('news.desktop') === 'on' && window.Notification?.permission === 'granted';
  desktop.onchange = async () => {
    if (desktop.checked) desktop.checked = await Notification.requestPermission() === 'granted';
    remember('news.desktop', desktop.checked ? 'on' : 'off');
  };
}
