// The module for pages that embed a call: `import { join } from 'https://SERVER/assets/tessera.js'`. It needs nothing of
// this server's own page, which uses it too. Embedding.md describes it.

import { Call } from './call.js';
import { Sending } from './sending.js';

export { Call, Sending };
export { MAX_FILE_BYTES, REACTIONS } from './channel.js';
export { listDevices, watchDevices, watchLevel } from './devices.js';

/// Joins a room and returns the `Call` once the server has let the user in. `camera` and `microphone`: whether to open
/// them, or a device's id. All other options are those of `Call`. Rejects with an Error that has the server's `code`.
export async function join({ camera = true, microphone = true, ...options }) {
  const sending = new Sending();
  await sending.open({ camera: choice(camera), microphone: choice(microphone) });
  sending.start();
  const call = new Call(sending, options);
  return new Promise((resolve, reject) => {
    call.addEventListener('entered', () => resolve(call));
    call.addEventListener('refused', ({ detail }) => {
      sending.stop();
      reject(Object.assign(new Error(detail.message ?? detail.code), detail));
    });
  });
}

const choice = wanted => (wanted === true ? '' : wanted || 'none');
