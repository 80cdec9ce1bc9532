// An invitation as a calendar's file (RFC 5545), as a value.

// The most bytes of a line, without its end (section 3.1).
const LINE = 75;

const escaped = text => text.replace(/[\\;,]/g, '\\$&').replace(/\r\n|\r|\n/g, '\\n');
const utc = date => `${date.toISOString().replace(/[-:]/g, '').slice(0, 15)}Z`;

/// A line in pieces that are short enough, each but the first after a space; no character is cut.
function folded(line) {
  const pieces = [''];
  let bytes = 0;
  for (const character of line) {
    const size = new TextEncoder().encode(character).length;
    if (bytes + size > LINE) {
      pieces.push(' ');
      bytes = 1;
    }
    pieces[pieces.length - 1] += character;
    bytes += size;
  }
  return pieces.join('\r\n');
}

/// The file of one call. `start`: a Date; `minutes`: how long; `now` and `id` make it one of its own.
/** @param {{ title: string, text: string, link: string, start: Date, minutes: number, now: Date, id: string }} call */
export function calendarFile({ title, text, link, start, minutes, now, id }) {
  const lines = [
    'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Tessera//Tessera//EN', 'METHOD:PUBLISH', 'BEGIN:VEVENT',
    `UID:${escaped(id)}`, `DTSTAMP:${utc(now)}`, `DTSTART:${utc(start)}`, `DTEND:${utc(new Date(start.getTime() + minutes * 60_000))}`,
    `SUMMARY:${escaped(title)}`, `DESCRIPTION:${escaped(text)}`, `LOCATION:${escaped(link)}`, `URL:${link.replace(/[\r\n]/g, '')}`,
    'END:VEVENT', 'END:VCALENDAR',
  ];
  return lines.map(line => `${folded(line)}\r\n`).join('');
}

/// The next full hour, in the form of an input of type datetime-local.
export function nextHour(now) {
  const next = new Date(now.getFullYear(), now.getMonth(), now.getDate(), now.getHours() + 1);
  const two = number => String(number).padStart(2, '0');
  return `${next.getFullYear()}-${two(next.getMonth() + 1)}-${two(next.getDate())}T${two(next.getHours())}:00`;
}
