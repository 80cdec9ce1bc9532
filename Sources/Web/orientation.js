// The page's view follows the way its screen is held: an upright picture on a phone held upright.

import * as address from '/assets/address.js';

const upright = matchMedia('(orientation: portrait)');
const phone = matchMedia('(pointer: coarse), (max-width: 600px)');
// A phone that is turned reports a few sizes before it rests.
const REST = 400;
// Until the server has answered, or after a refusal without a time.
const PATIENCE = 5000;

/// The view that suits the screen; a link that names one keeps it.
export const wantedView = () => address.query.get('view') ?? (upright.matches && phone.matches ? 'portrait' : 'main');

/// Keeps a call's view with the screen for as long as the call lasts. A refused view is asked for again later.
export function followOrientation(call) {
  let timer = null;
  const later = time => { clearTimeout(timer); timer = setTimeout(follow, time); };
  function follow() {
    if (call.view === wantedView() || !call.connection) return;
    call.takeView(wantedView());
    later(PATIENCE);
  }
  const turned = () => later(REST);
  for (const query of [upright, phone]) query.addEventListener('change', turned);
  for (const type of ['entered', 'room', 'view']) call.addEventListener(type, turned);
  call.addEventListener('viewRefused', ({ detail }) => later(detail.retryAfter ? 1000 * detail.retryAfter * (1 + Math.random()) : PATIENCE));
  const stop = () => {
    clearTimeout(timer);
    for (const query of [upright, phone]) query.removeEventListener('change', turned);
  };
  for (const type of ['refused', 'ended']) call.addEventListener(type, stop);
}
