// What surrounds the picture: people, chat, layouts, names over tiles. Text from others goes in as text, never as markup.

const $ = id => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function icon(name, isOff = false) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `/assets/icons.svg#${name}`);
  if (isOff) svg.classList.add('off');
  svg.append(use);
  return svg;
}

export function showPeople(participants, ownId) {
  $('people-count').textContent = participants.length;
  $('people').replaceChildren(...participants.map(person => {
    const who = element('span', { className: 'who', textContent: person.name + (person.id === ownId ? ' (you)' : '') });
    const row = element('li', { className: person.speaking ? 'speaking' : '' }, who);
    if (person.role !== 'participant') row.append(element('span', { className: 'role', textContent: person.role }));
    if (person.hand) row.append(icon('hand'));
    if (person.presenting) row.append(icon('screen'));
    row.append(icon(person.audio ? 'mic' : 'mic-off', !person.audio), icon(person.video ? 'camera' : 'camera-off', !person.video));
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

export async function showLayouts(current, choose) {
  const response = await fetch('/api/layouts');
  const layouts = response.ok ? await response.json() : [];
  $('layouts').replaceChildren(...layouts.map(layout => {
    const button = element('button', { type: 'button' }, layout.name, element('small', { textContent: layout.description ?? '' }));
    button.setAttribute('aria-pressed', String(layout.name === current));
    button.onclick = () => choose(layout.name, document.querySelector('[name=scope]:checked').value);
    return button;
  }));
}

let openTab = null;
export function showSide(tab) {
  openTab = openTab === tab ? null : tab;
  $('side').hidden = !openTab;
  for (const name of ['people', 'chat']) {
    $(name).hidden = openTab !== name;
    $(`tab-${name}`).setAttribute('aria-selected', String(openTab === name));
  }
  if (openTab === 'chat') {
    unread(0);
    $('chat-text').focus();
  }
}

export const isChatOpen = () => openTab === 'chat';

let count = 0;
export function unread(value = count + 1) {
  count = value;
  $('unread').textContent = count;
  $('unread').hidden = count === 0;
}

let noticeTimer;
export function notice(text, seconds = 6) {
  clearTimeout(noticeTimer);
  $('notice').textContent = text ?? '';
  $('notice').hidden = !text;
  if (text && seconds) noticeTimer = setTimeout(() => notice(null), seconds * 1000);
}
