// The settings in the page's address.

export const query = new URLSearchParams(location.search);
// A token is a key: it is removed from the address bar, so that it is not copied from there, and kept only for this
// tab.
if (query.has('token')) {
  sessionStorage.setItem('tessera.token', query.get('token'));
  query.delete('token');
  history.replaceState(null, '', `${location.pathname}${query.toString() ? `?${query}` : ''}${location.hash}`);
}

export const token = () => sessionStorage.getItem('tessera.token');
export const forgetToken = () => sessionStorage.removeItem('tessera.token');

const roomInPath = location.pathname.match(/^\/r\/([^/]+)$/)?.[1];
/// The room that the address names; undefined where it names none.
export const room = query.get('room') ?? (roomInPath && decodeURIComponent(roomInPath));

/// The first message to the server, without its type.
export function joinRequest(room, name) {
  const request = { room, name, deltas: true };
  for (const key of ['layout', 'role']) if (query.get(key)) request[key] = query.get(key);
  if (token()) request.token = token();
  return request;
}

/// The address of the signalling socket.
export function signalAddress() {
  const address = new URL('/signal', location.href);
  address.protocol = address.protocol.replace('http', 'ws');
  return address.href;
}

/// The address of a room's page, without the settings of this one.
export const linkTo = room => new URL(`/r/${encodeURIComponent(room)}`, location.href).href;
