// On the air is what the page shows: in ten thousand orders of presses, slow and refused devices, losses, restarts, moves,
// admissions and removals (support/orders.js).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';

const ORDERS = 10_000, PROGRAMS = 2;
const program = new URL('./support/orders.js', import.meta.url).pathname;

/// Runs the orders from one number up to another. Returns what the program says of one that failed.
const run = (first, end) => new Promise(done => {
  const child = spawn(process.execPath, [program, String(first), String(end)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', text => { said += text; });
  child.on('close', code => done(code ? said || `orders ${first} to ${end} ended with ${code}` : ''));
});

test('in ten thousand orders, what is sent is what the page shows, and who waits sends nothing', async () => {
  const size = ORDERS / PROGRAMS;
  const failures = await Promise.all(Array.from({ length: PROGRAMS }, (_, part) => run(part * size, (part + 1) * size)));
  assert.equal(failures.filter(Boolean).join('\n'), '');
});
