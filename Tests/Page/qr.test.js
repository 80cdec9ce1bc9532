import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qrCode, qrPath } from '../../Sources/Web/qr.js';

const rowsOf = text => /** @type {boolean[][]} */ (qrCode(text));
const drawn = rows => rows.map(row => row.map(isDark => (isDark ? '#' : '.')).join(''));
/// FNV-1a of the drawing, 32 bits.
const digest = rows => [...drawn(rows).join('')].reduce((hash, module) => Math.imul(hash ^ module.charCodeAt(0), 0x01000193) >>> 0, 0x811C9DC5).toString(16);

// Codes that a reader of another make (zbar 0.23.92) has read, of which each has another form: one block and several, blocks of
// two lengths, with the version's own code, at the level L.
const READ = [
  ['https://meet.example/r/board', 29, '34342ed7'],
  [`https://meet.example/r/${'a'.repeat(60)}`, 37, 'e79845ed'],
  [`https://meet.example/r/board?token=${'0123456789abcdef'.repeat(14)}`, 65, 'f8a5e173'],
  [`https://meet.example/r/${'abcdefghij'.repeat(60)}`, 93, '5ace1eab'],
  [`https://meet.example/r/${'abcdefghij'.repeat(120)}`, 117, '3710f2df'],
];

test('codes are as a reader of another make has read them', () => {
  for (const [text, size, hash] of READ) {
    const rows = rowsOf(text);
    assert.equal(rows.length, size);
    assert.equal(digest(rows), hash, String(text));
  }
});

test('each code has its three corners, its timing, and its one dark module', () => {
  const corner = ['#######', '#.....#', '#.###.#', '#.###.#', '#.###.#', '#.....#', '#######'];
  for (const length of [1, 30, 100, 300, 700, 1200]) {
    const rows = drawn(rowsOf('x'.repeat(length))), size = rows.length;
    assert.equal((size - 17) % 4, 0);
    for (const [x, y] of [[0, 0], [size - 7, 0], [0, size - 7]]) assert.deepEqual(rows.slice(y, y + 7).map(row => row.slice(x, x + 7)), corner);
    assert.ok(/^\.(#\.)*$/.test(rows[6].slice(7, size - 7)));
    assert.equal(rows[size - 8][8], '#');
  }
});

test('a text that is too long has none', () => {
  assert.equal(rowsOf('x'.repeat(1269)).length, 117);
  assert.equal(qrCode('x'.repeat(1274)), null);
});

test('the path has one square for each dark module, and a quiet zone', () => {
  const rows = rowsOf('https://meet.example/r/board');
  const { path, width } = qrPath(rows);
  assert.equal(width, rows.length + 8);
  assert.equal(path.split('M').length - 1, rows.flat().filter(Boolean).length);
  assert.ok(path.startsWith('M4 4h1v1h-1z'));
});
