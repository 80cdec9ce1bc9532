// What happens beside the picture: people who come and go, hands, chat. Each has a short tone and a word, which the user
// switches off.

import { notice } from '/assets/elements.js';
import { remember, remembered } from '/assets/pickers.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
export const KINDS = ['joins', 'hands', 'chat'];
/// The tones of each kind, in Hz.
const TONES = { joins: [523, 659], left: [659, 523], hands: [784, 988], chat: [880] };
const TONE_SECONDS = 0.12, VOLUME = 0.06, PAUSE = 700;

const isOn = kind => remembered(`news.${kind}`) !== 'off';
let context = null, last = -Infinity;

function play(tones) {
  if (performance.now() < last + PAUSE) return;
  last = performance.now();
  context ??= new AudioContext();
  tones.forEach((frequency, index) => {
    const start = context.currentTime + index * TONE_SECONDS;
    const tone = new OscillatorNode(context, { frequency }), volume = new GainNode(context, { gain: 0 });
    volume.gain.setValueAtTime(VOLUME, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + TONE_SECONDS);
  });
}

/// Tells the user, and the desktop where this tab is hidden and the user has allowed it.
function tell(kind, text, tones = TONES[kind]) {
  if (!isOn(kind)) return;
  play(tones);
  if (text) notice(text, 4);
  if (text && document.hidden && remembered('news.desktop') === 'on' && window.Notification?.permission === 'granted') {
    new Notification(text, { tag: `tessera-${kind}`, silent: true });
  }
}

export function watchNews(call) {
  let hands = new Set();
  call.addEventListener('joins', ({ detail: { joined, left } }) => {
    const others = joined.filter(({ id }) => id !== call.id);
    if (others.length) tell('joins', sentence('news.joined', others));
    else if (left.length) tell('joins', sentence('news.left', left), TONES.left);
  });
  call.addEventListener('people', () => {
    const now = new Set(call.people.list.filter(person => person.hand && person.id !== call.id && call.breakout.isNear(person)).map(({ id }) => id));
    const raised = call.people.list.filter(({ id }) => now.has(id) && !hands.has(id));
    hands = now;
    if (raised.length) tell('hands', sentence('news.hand', raised));
  });
  call.addEventListener('chat', ({ detail }) => {
    if (!detail.isEarlier && detail.from !== call.id) tell('chat', document.hidden ? t('news.chat', { name: detail.name }) : null);
  });
}

const sentence = (key, people) => (people.length === 1 ? t(`${key}.name`, { name: people[0].name }) : t(key, { count: people.length }));

/// Binds the switches in the settings.
export function bindNews() {
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
