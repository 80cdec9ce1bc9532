// The messages of the chat panel. Text from others is inserted as text, never as markup; only addresses of the web become
// links.

import { element } from '/assets/elements.js';
import { region, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
/// The ids of the shown messages: one may come in the history and as an event.
const shown = new Set();

export function clearMessages() {
  shown.clear();
  $('messages').replaceChildren();
}

export const sizeOf = bytes => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

export const isAtEnd = () => $('messages').scrollHeight - $('messages').scrollTop - $('messages').clientHeight < 40;
export const toEnd = () => { $('messages').scrollTop = $('messages').scrollHeight; };

/// Shows a message of the server, unless it is shown already. Returns whether it is new.
export function addMessage(message, author) {
  if (shown.has(message.id)) return false;
  shown.add(message.id);
  const wasAtEnd = isAtEnd();
  append(author, message.at, '\n', ...linked(message.text), ...(message.picture ? [picture(message.picture, message.name)] : []));
  if (wasAtEnd) toEnd();
  return true;
}

/// Adds an entry with its author and time. Returns it.
export function append(author, at, ...content) {
  const time = new Date(at ?? Date.now()).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
  const made = element('li', {}, element('b', { dir: 'auto', textContent: author }), element('time', { textContent: time }), ...content);
  $('messages').append(made);
  return made;
}

/// The parts of a text, with links for addresses of http and https. What ends a sentence or a bracket ends no address.
function linked(text) {
  return text.split(/(https?:\/\/[^\s<>"'`]+)/).flatMap((part, index) => {
    if (index % 2 === 0) return part ? [part] : [];
    const shown = part.replace(/[.,;:!?)\]}…]+$/, '');
    if (!isAddress(shown)) return [part];
    const link = element('a', { href: shown, target: '_blank', rel: 'noopener noreferrer nofollow', className: 'link', textContent: shown });
    return [link, part.slice(shown.length)].filter(Boolean);
  });
}

function isAddress(text) {
  try {
    return Boolean(new URL(text));
  } catch {
    return false;
  }
}

/// A small form of the picture; a click opens it in a tab of its own.
function picture({ url, bytes }, name) {
  const size = sizeOf(bytes);
  // Only the server's own pictures are loaded, whatever a message says.
  if (!/^\/images\/[a-z0-9]+\.[a-z]+$/.test(url)) return element('em', { textContent: t('picture.of', { size }) });
  const image = element('img', { alt: t('picture.from', { name, size }), loading: 'lazy' });
  const link = element('a', { href: url, target: '_blank', rel: 'noopener noreferrer', title: t('picture.open') }, image);
  image.onload = () => { if (link.dataset.wasAtEnd) toEnd(); };
  image.onerror = () => link.replaceWith(element('em', { textContent: t('picture.gone') }));
  if (isAtEnd()) link.dataset.wasAtEnd = true;
  image.src = url;
  return link;
}
