import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarFile, nextHour } from '../../Sources/Web/calendar.js';

const CALL = {
  title: 'Call in the room board', text: 'Join: https://meet.example/r/board\nPIN: 4711', link: 'https://meet.example/r/board',
  start: new Date('2026-11-27T15:00:00Z'), minutes: 90, now: new Date('2026-11-26T17:05:09.123Z'), id: 'a-b@meet.example',
};

test('a call with its time, its link and its words', () => {
  assert.equal(calendarFile(CALL), [
    'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Tessera//Tessera//EN', 'METHOD:PUBLISH', 'BEGIN:VEVENT', 'UID:a-b@meet.example',
    'DTSTAMP:20261126T170509Z', 'DTSTART:20261127T150000Z', 'DTEND:20261127T163000Z', 'SUMMARY:Call in the room board',
    'DESCRIPTION:Join: https://meet.example/r/board\\nPIN: 4711', 'LOCATION:https://meet.example/r/board', 'URL:https://meet.example/r/board',
    'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n'));
});

test('what others have typed stays text, and lines are at most 75 bytes, without a cut character', () => {
  const file = calendarFile({ ...CALL, title: 'a;b,c\\d\r\nEND:VEVENT', text: 'Müller 🎥 '.repeat(40) });
  assert.ok(file.includes('SUMMARY:a\\;b\\,c\\\\d\\nEND:VEVENT\r\n'));
  for (const line of file.split('\r\n')) assert.ok(new TextEncoder().encode(line).length <= 75, line);
  assert.ok(file.replaceAll('\r\n ', '').includes(`DESCRIPTION:${'Müller 🎥 '.repeat(40)}\r\n`));
  assert.equal(file.match(/\nEND:VEVENT/g)?.length, 1);
});

test('the next hour, also at the end of a day', () => {
  assert.equal(nextHour(new Date(2026, 10, 26, 17, 5)), '2026-11-26T18:00');
  assert.equal(nextHour(new Date(2026, 11, 31, 23, 59)), '2027-01-01T00:00');
});
