// Which part of the page belongs to where the user is.

/** @type {Record<import('./call-session.js').Place, string>} */
const PARTS = { joining: 'lobby', waiting: 'waiting', call: 'call', refused: 'lobby', ended: 'ended' };

/// Shows the part of the page for where the user is, from now on. The call's own state decides, which also decides what is
/// sent, and no event by itself: who waits sees the page for that, who is in the room sees the room.
/** @param {import('./call.js').Call} call @param {(part: string) => void} show */
export function followPlace(call, show) { call.addEventListener('place', ({ detail }) => show(PARTS[detail])); }
