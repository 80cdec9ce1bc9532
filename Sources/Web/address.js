// The settings in the page's address.

import { HostKeys } from '/assets/host-keys.js';

export const query = new URLSearchParams(location.search);
// A token is a key: it is removed from the address bar, so that it is not copied from there, and kept only for this
// tab.
if (query.has('token')) {
  sessionStorage.setItem('tessera.token', query.get('token'));
  query.delete('token');
  history.replaceState(null, '', `${location.pathname}${query.toString() ? `?${query}` : ''}${location.hash}`);
}

export const token = () => sessionStorage.getItem('tessera.token');
export const keepToken = text => sessionStorage.setItem('tessera.token', text);
export const forgetToken = () => sessionStorage.removeItem('tessera.token');

const roomInPath = location.pathname.match(/^\/(?:r|watch)\/([^/]+)$/)?.[1];
/// The room that the address names; undefined where it names none.
export const room = query.get('room') ?? (roomInPath && decodeURIComponent(roomInPath));

/// Whether the page is a part of another one, in a frame, and shows the picture and few buttons.
export const isEmbedded = query.get('embed') === '1';

/// The name that the address gives, or that was typed in this tab before; undefined: none.
export const name = () => query.get('name') ?? sessionStorage.getItem('tessera.name') ?? undefined;

/// The address of the room that the user is in now, without the name: who copies it invites others under theirs.
export function leaveName(room, name) {
  sessionStorage.setItem('tessera.name', name);
  query.delete('name');
  if (!isEmbedded) history.replaceState(null, '', `/r/${encodeURIComponent(room)}${query.toString() ? `?${query}` : ''}`);
}

/// A frame may have no store.
const store = (() => { try { return localStorage; } catch { return null; } })();
/// The rooms whose host the user is.
export const hostKeys = new HostKeys(store);

/// What this browser calls itself to a guest link that is for a number of guests: who comes back does not count again.
function visit() {
  try {
    const known = store?.getItem('tessera.visit') ?? [...crypto.getRandomValues(new Uint8Array(12))].map(byte => byte.toString(16).padStart(2, '0')).join('');
    store?.setItem('tessera.visit', known);
    return known;
  } catch {
    return undefined;
  }
}

/// The options of a `Call`.
export function callOptions(room, name, pin) {
  /** @type {Record<string, any>} */
  const options = { room, name, ...(pin ? { pin } : {}) };
  for (const key of ['layout', 'role']) if (query.get(key)) options[key] = query.get(key);
  if (token()) Object.assign(options, { token: token(), visit: visit() });
  const hostKey = hostKeys.find(room);
  if (hostKey) options.hostKey = hostKey;
  return options;
}

/// The address of a room's page, without the settings of this one.
export const linkTo = room => new URL(`/r/${encodeURIComponent(room)}`, location.href).href;

/// The address of the page that plays a room's stream.
export const linkToWatch = room => new URL(`/watch/${encodeURIComponent(room)}`, location.href).href;
