// The module for pages that embed a call: `import { join } from 'https://SERVER/assets/tessera.js'`. It needs nothing of
// this server's own page, which uses it too. Embedding.md describes it.

import { Call } from './call.js';
import { Sending } from './sending.js';

export { Call, Sending };
export { MAX_FILE_BYTES, REACTIONS } from './channel.js';
export { listDevices, watchDevices, watchLevel } from './devices.js';

/// Joins a room and returns the `Call` once the server has let the user in. `camera` and `microphone`: whether to open
/// them, or a device's id. All other options are those of `Call`. Rejects with an Error that has the server's `code`, and
/// a `message` that says what to do.
export async function join({ camera = true, microphone = true, ...options } = /** @type {Record<string, any>} */ ({})) {
  check(options);
  const sending = new Sending();
  await sending.open({ camera: choice(camera), microphone: choice(microphone) });
  sending.start();
  const call = new Call(sending, options);
  return new Promise((resolve, reject) => {
    call.addEventListener('entered', () => resolve(call));
    call.addEventListener('refused', ({ detail: { code, message } }) => {
      sending.stop();
      reject(failure(code, message || WORDS[code]?.(call.server) || `the server refused the join (${code})`));
    });
  });
}

const choice = wanted => (wanted === true ? '' : wanted || 'none');
const failure = (code, message) => Object.assign(new Error(message), { code });

/// What the server cannot say itself.
const WORDS = {
  unreachable: server => `${server} cannot be reached: check that the server runs, and that its http.allowedOrigins lists ${location.origin}`,
  busy: server => `${server} is busy: try again in a minute`,
};

/// Before a device opens.
/** @param {Record<string, any>} options */
function check({ room, name, server }) {
  for (const [key, value] of Object.entries({ room, name })) {
    if (typeof value !== 'string' || !value) throw failure('bad_message', `${key} is missing: join({ room: 'kitchen', name: 'Ada' })`);
  }
  if (server !== undefined && !/^https?:\/\/[^/]/.test(String(server))) throw failure('bad_message', `server is not an origin: write https://HOST instead of ${server}`);
}
