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

/// The button of a device. `state`: on, opening or off. Nothing is sent while a device opens.
export function press(id, state, iconName, text, action) {
  const button = $(id), isOn = state === 'on';
  button.classList.toggle('off', state === 'off');
  button.classList.toggle('opening', state === 'opening');
  button.setAttribute('aria-busy', String(state === 'opening'));
  button.setAttribute('aria-label', action);
  button.querySelector('use').setAttribute('href', `#icon-${iconName}${isOn ? '' : '-off'}`);
  button.querySelector('span').textContent = text;
}

/// Shows one of the page's parts: lobby, waiting, call or ended.
export function show(part) {
  for (const id of ['lobby', 'waiting', 'call', 'ended']) $(id).hidden = id !== part;
}

let noticeTimer;

/// Shows a sentence over the picture, for some seconds or (0) until the next one; null hides it. `action`: {text, act} of
/// a button beside it.
export function notice(text, seconds = 6, action = null) {
  clearTimeout(noticeTimer);
  $('notice').textContent = text ?? '';
  $('notice').hidden = !text;
  if (text && action) {
    const button = element('button', { type: 'button', className: 'primary', textContent: action.text });
    button.onclick = () => { notice(null); action.act(); };
    $('notice').append(button);
  }
  if (text && seconds) noticeTimer = setTimeout(() => notice(null), seconds * 1000);
}
