// What the page's parts make elements with. Text from others is inserted as text, never as markup.

const $ = id => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/// An icon of the page's SVG symbols; without a meaning it is hidden from screen readers.
export function icon(name, meaning, isOff = false) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `#icon-${name}`);
  if (meaning) {
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', meaning);
  } else svg.setAttribute('aria-hidden', 'true');
  if (isOff) svg.classList.add('off');
  svg.append(use);
  return svg;
}

/// The button of a device. `state`: on, off, opening or paused (nothing is sent), or missing (nothing arrives).
export function press(id, state, iconName, text, action) {
  const button = $(id), isOn = state === 'on';
  button.classList.toggle('off', state === 'off');
  button.classList.toggle('opening', ['opening', 'paused'].includes(state));
  button.classList.toggle('missing', state === 'missing');
  button.setAttribute('aria-busy', String(state === 'opening'));
  button.setAttribute('aria-label', action);
  button.querySelector('use').setAttribute('href', `#icon-${iconName}${isOn ? '' : '-off'}`);
  button.querySelector('span').textContent = text;
}

/// Shows one of the page's parts: lobby, waiting, call or ended.
export function show(part) {
  for (const id of ['lobby', 'waiting', 'call', 'ended']) $(id).hidden = id !== part;
}

/// Where `notice` tells its sentences. The lobby has no such place, and does not load it.
let board = { tell: _ => {}, clear: () => {} };
export const tellBy = given => { board = given; };

/// Tells a sentence over the picture, for some seconds or (0) until it is ended; null ends all that is told. `action`:
/// {text, act} of a button beside it. What is heavier, or of some kind, goes to `tell` of notice-board.js.
export function notice(text, seconds = 6, action = null) {
  if (!text) return board.clear();
  board.tell({ kind: 'told', key: text, text, seconds: seconds || null, actions: action ? [action] : [] });
}
