// The panels around the picture: people, layouts, names over tiles. Text from others is inserted as text, never
// as markup.

const $ = id => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
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

/// The number of viewers that are not in the list.
function watching(people, ownId) {
  const text = people.viewers === 1 ? '1 viewer' : `${people.viewers} viewers`;
  return people.find(ownId) ? text : `${text} (you among them)`;
}

/// `pinned`: the participant that is large in the user's own view; `pin(id)` makes another one large, or none where it
/// was that one.
export function showPeople(people, ownId, pinned, pin) {
  const focused = document.activeElement?.closest?.('#people-list [data-participant]')?.dataset.participant;
  $('people-count').textContent = people.list.length + people.viewers;
  const rows = people.list.map(person => {
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
    if (person.role !== 'viewer') {
      const isPinned = person.id === pinned;
      const button = element('button', { type: 'button', className: 'plain pin', title: isPinned ? 'As everyone sees it' : 'Large, only for me' });
      button.setAttribute('aria-label', isPinned ? `${person.name}: as everyone sees it` : `${person.name}: large, only for me`);
      button.setAttribute('aria-pressed', String(isPinned));
      const mark = icon('pin', '');
      mark.setAttribute('aria-hidden', 'true');
      button.append(mark);
      button.onclick = () => pin(person.id);
      row.append(button);
    }
    return row;
  });
  if (people.viewers) rows.push(element('li', { className: 'viewers', textContent: watching(people, ownId) }));
  $('people-list').replaceChildren(...rows);
  // The list is rebuilt at every change: restore the keyboard focus.
  if (focused) $('people-list').querySelector(`[data-participant="${focused}"] .pin`)?.focus();
  const to = $('chat-to');
  const chosen = to.value;
  to.replaceChildren(new Option('Everyone', ''), ...people.list.filter(p => p.id !== ownId).map(p => new Option(`Only ${p.name}`, p.id)));
  to.value = [...to.options].some(option => option.value === chosen) ? chosen : '';
}

/// The scale and the corner of the displayed canvas in the stage.
function placement(tiles, video) {
  const scale = Math.min(video.clientWidth / tiles.width, video.clientHeight / tiles.height);
  return { scale, left: (video.clientWidth - tiles.width * scale) / 2, top: (video.clientHeight - tiles.height * scale) / 2 };
}

let zoomed = null;

/// Enlarges a tapped tile to the stage, on this screen only; the next tap shows the whole picture again. Needed for
/// phones held upright, where the picture with all tiles is small. `showNames` then places the picture and its names.
export function zoom(tiles, video, x, y) {
  if (!tiles || !video.videoWidth) return;
  const { scale, left, top } = placement(tiles, video);
  const inside = tile => x >= left + tile.x * scale && x < left + (tile.x + tile.width) * scale && y >= top + tile.y * scale && y < top + (tile.y + tile.height) * scale;
  const hit = tiles.tiles.length > 1 && !zoomed ? [...tiles.tiles].reverse().find(inside) : null;
  zoomed = hit?.participant ?? null;
}

function place(tiles, video) {
  const tile = zoomed && tiles?.tiles.find(tile => tile.participant === zoomed);
  if (!tile) zoomed = null;
  video.classList.toggle('zoomed', Boolean(tile));
  if (!tile) {
    video.style.transform = '';
    return;
  }
  const { scale, left, top } = placement(tiles, video);
  const larger = Math.min(video.clientWidth / (tile.width * scale), video.clientHeight / (tile.height * scale));
  const middleX = left + (tile.x + tile.width / 2) * scale, middleY = top + (tile.y + tile.height / 2) * scale;
  video.style.transform = `translate(${video.clientWidth / 2 - middleX * larger}px, ${video.clientHeight / 2 - middleY * larger}px) scale(${larger})`;
}

/// Shows names over the tiles whose picture has none, positioned on the displayed canvas.
export function showNames(tiles, people, video) {
  const overlay = $('overlay');
  place(tiles, video);
  if (!tiles || !video.videoWidth || zoomed) return overlay.replaceChildren();
  const { scale, left, top } = placement(tiles, video);
  overlay.replaceChildren(...tiles.tiles.filter(tile => tile.label === false).map(tile => {
    const name = people.find(tile.participant)?.name ?? '';
    const label = element('span', { textContent: name });
    label.style.left = `${left + tile.x * scale + 8}px`;
    label.style.top = `${top + (tile.y + tile.height) * scale - 32}px`;
    return label;
  }));
}

/// `own`: the layout of the user's own view; null: the room's view.
export async function showLayouts(current, own, choose, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const layouts = await fetch('/api/layouts', { headers }).then(response => (response.ok ? response.json() : [])).catch(() => []);
  if (!layouts.length) $('layouts').replaceChildren(element('p', { textContent: 'The layouts could not be listed.' }));
  if (!layouts.length) return;
  const back = element('button', { type: 'button', id: 'layout-back' }, 'As everyone sees it', element('small', { textContent: 'Ends the picture that is only for you.' }));
  back.onclick = () => choose(current, 'me');
  $('layouts').replaceChildren(...(own ? [back] : []), ...layouts.map(layout => {
    const button = element('button', { type: 'button' }, title(layout.name), element('small', { textContent: layout.description ?? '' }));
    button.dataset.layout = layout.name;
    button.setAttribute('aria-pressed', String(layout.name === (own ?? current)));
    button.onclick = () => choose(layout.name, document.querySelector('[name=scope]:checked').value);
    return button;
  }));
}

const title = name => (name[0].toUpperCase() + name.slice(1)).replaceAll('-', ' ');

let openTab = null;

/// Opens a tab of the side panel; null closes it and returns the focus to the button of the bar.
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
    // On a phone the keyboard would cover the messages.
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
