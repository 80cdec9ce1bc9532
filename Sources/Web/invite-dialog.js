// The invitation: the room's link or a guest link, to copy, to share, as a QR code, by mail, and for calendars. `invite.js`
// loads it when it is opened first.

import markup from './invite-dialog.html';

import * as address from '/assets/address.js';
import { calendarFile, nextHour } from '/assets/calendar.js';
import { GuestLinks } from '/assets/guest-links.js';
import { qrCode, qrPath } from '/assets/qr.js';
import { addDialogs, t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

const SVG = 'http://www.w3.org/2000/svg';

/** @type {() => import('./call.js').Call | null} */
let current = () => null;
let room = '', guestLink = null, guests = null;

/// The room's PIN, where the user knows it: it has been typed in this page. The server tells nobody.
const knownPIN = () => (current()?.settings.pin ? current()?.knownPIN ?? null : null);

/// What the mail and the calendar say. A guest link needs no PIN.
function text() {
  const link = $('link').value, pin = knownPIN();
  const words = [t('invite.text', { room, link })];
  if (!guestLink && pin) words.push(t('invite.pin', { pin }));
  else if (!guestLink && current()?.settings.pin) words.push(t('invite.pinFollows'));
  if (guestLink) words.push(t('invite.guest'));
  return words.join('\n');
}

function show() {
  $('link').value = guestLink ?? address.linkTo(room);
  const subject = t('invite.subject', { room });
  $('mail-link').href = `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text())}`;
  $('share-link').hidden = !navigator.share;
  $('share-link').onclick = () => navigator.share({ title: subject, text: text(), url: $('link').value }).catch(() => {});
  $('invite-pin').textContent = guestLink || !knownPIN() ? '' : t('invite.pin', { pin: knownPIN() });
  // A bare link is of no use to who has no token.
  $('invite-token').hidden = Boolean(guestLink) || !address.token();
  drawCode();
}

function drawCode() {
  const rows = qrCode($('link').value);
  $('invite-code').hidden = !rows;
  if (!rows) return;
  const { path, width } = qrPath(rows);
  const svg = document.createElementNS(SVG, 'svg'), ground = document.createElementNS(SVG, 'rect'), dark = document.createElementNS(SVG, 'path');
  svg.setAttribute('viewBox', `0 0 ${width} ${width}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', t('invite.code'));
  svg.setAttribute('shape-rendering', 'crispEdges');
  for (const side of ['width', 'height']) ground.setAttribute(side, String(width));
  // Readers need dark on light, whatever the page's colours are.
  ground.setAttribute('fill', '#fff');
  dark.setAttribute('fill', '#000');
  dark.setAttribute('d', path);
  svg.append(ground, dark);
  $('invite-code').replaceChildren(svg);
}

function saveCalendar() {
  const start = new Date($('invite-start').value);
  if (Number.isNaN(start.getTime())) return $('invite-start').reportValidity();
  const file = calendarFile({
    title: t('invite.subject', { room }), text: text(), link: $('link').value, start, minutes: Number($('invite-minutes').value), now: new Date(),
    id: `${crypto.getRandomValues(new Uint32Array(3)).join('-')}@${location.hostname}`,
  });
  const url = URL.createObjectURL(new Blob([file], { type: 'text/calendar;charset=utf-8' }));
  Object.assign(document.createElement('a'), { href: url, download: 'call.ics' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/// `call()`: the call that runs.
export function openInvitation(call) {
  if (!call()) return;
  current = call;
  guests ??= new GuestLinks(() => current(), link => { guestLink = link; show(); });
  if (room !== call().room) [room, guestLink] = [call().room, null];
  $('invite-start').value = nextHour(new Date());
  show();
  $('invite').showModal();
  guests.show();
}

$('save-calendar').onclick = saveCalendar;
$('copy-link').onclick = async () => {
  $('link').select();
  // Without HTTPS there is no clipboard object, but the old command copies the selection.
  const isCopied = await navigator.clipboard?.writeText($('link').value).then(() => true, () => false) || document.execCommand('copy');
  $('copy-link').textContent = t(isCopied ? 'link.copied' : 'link.copyByHand');
  setTimeout(() => { $('copy-link').textContent = t('link.copy'); }, 2000);
};
