// What surrounds the picture: people, chat, layouts, names over tiles. Text from others goes in as text, never as markup.

const $ = id => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function icon(name, meaning, isOff = false) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', meaning);
  if (isOff) svg.classList.add('off');
  svg.append(use);
  return svg;
}

export function showPeople(participants, ownId) {
  $('people-count').textContent = participants.length;
  $('people-list').replaceChildren(...participants.map(person => {
    const who = element('span', { className: 'who', textContent: person.name + (person.id === ownId ? ' (you)' : '') });
    const row = element('li', { className: person.speaking ? 'speaking' : '' }, who);
    row.dataset.participant = person.id;
    if (person.role !== 'participant') row.append(element('span', { className: 'role', textContent: person.role }));
    if (person.hand) row.append(icon('hand', 'hand raised'));
    if (person.presenting) row.append(icon('screen', 'shares the screen'));
    const hears = person.audio && !person.audioMuted, shows = person.video && !person.videoMuted;
    row.append(
      icon(hears ? 'mic' : 'mic-off', hears ? 'microphone on' : 'muted', !hears),
      icon(shows ? 'camera' : 'camera-off', shows ? 'camera on' : 'camera off', !shows));
    return row;
  }));
  const to = $('chat-to');
  const chosen = to.value;
  to.replaceChildren(new Option('Everyone', ''), ...participants.filter(p => p.id !== ownId).map(p => new Option(`Only ${p.name}`, p.id)));
  to.value = [...to.options].some(option => option.value === chosen) ? chosen : '';
}

export function addMessage({ name, text, at, isPrivate }) {
  const list = $('messages');
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const time = new Date(at ?? Date.now()).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  list.append(element('li', {}, element('b', { textContent: name + (isPrivate ? ' (private)' : '') }), element('time', { textContent: time }), `\n${text}`));
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

/// Names over the tiles whose picture carries none, placed where the browser shows the canvas.
export function showNames(tiles, participants, video) {
  const overlay = $('overlay');
  if (!tiles || !video.videoWidth) return overlay.replaceChildren();
  const scale = Math.min(video.clientWidth / tiles.width, video.clientHeight / tiles.height);
  const left = (video.clientWidth - tiles.width * scale) / 2, top = (video.clientHeight - tiles.height * scale) / 2;
  overlay.replaceChildren(...tiles.tiles.filter(tile => tile.label === false).map(tile => {
    const name = participants.find(person => person.id === tile.participant)?.name ?? '';
    const label = element('span', { textContent: name });
    label.style.left = `${left + tile.x * scale + 8}px`;
    label.style.top = `${top + (tile.y + tile.height) * scale - 32}px`;
    return label;
  }));
}

export const clearMessages = () => $('messages').replaceChildren();

export async function showLayouts(current, choose) {
  const layouts = await fetch('/api/layouts').then(response => (response.ok ? response.json() : [])).catch(() => []);
  if (!layouts.length) $('layouts').replaceChildren(element('p', { textContent: 'The layouts could not be listed.' }));
  if (!layouts.length) return;
  $('layouts').replaceChildren(...layouts.map(layout => {
    const button = element('button', { type: 'button' }, title(layout.name), element('small', { textContent: layout.description ?? '' }));
    button.dataset.layout = layout.name;
    button.setAttribute('aria-pressed', String(layout.name === current));
    button.onclick = () => choose(layout.name, document.querySelector('[name=scope]:checked').value);
    return button;
  }));
}

const title = name => (name[0].toUpperCase() + name.slice(1)).replaceAll('-', ' ');

let openTab = null;

/// Opens a tab of the side panel; null closes it and gives the focus back to the button of the bar.
export function showSide(tab) {
  if (!tab && openTab) $(`open-${openTab}`).focus();
  openTab = tab;
  $('side').hidden = !openTab;
  for (const name of ['people', 'chat']) {
    $(name).hidden = openTab !== name;
    $(`tab-${name}`).setAttribute('aria-selected', String(openTab === name));
    $(`tab-${name}`).tabIndex = openTab === name ? 0 : -1;
    $(`open-${name}`).setAttribute('aria-expanded', String(openTab === name));
  }
  if (openTab === 'chat') {
    unread(0);
    $('messages').scrollTop = $('messages').scrollHeight;
    // On a phone the keyboard would cover what was said.
    if (!matchMedia('(pointer: coarse)').matches) $('chat-text').focus();
  }
}

export const toggleSide = tab => showSide(openTab === tab ? null : tab);
export const isSideOpen = () => openTab !== null;
export const isChatOpen = () => openTab === 'chat';

let count = 0;
export function unread(value = count + 1) {
  count = value;
  $('unread').textContent = count;
  $('unread').hidden = count === 0;
  $('open-chat').setAttribute('aria-label', count ? `Chat, ${count} unread` : 'Chat');
}

let noticeTimer;
export function notice(text, seconds = 6) {
  clearTimeout(noticeTimer);
  $('notice').textContent = text ?? '';
  $('notice').hidden = !text;
  if (text && seconds) noticeTimer = setTimeout(() => notice(null), seconds * 1000);
}
