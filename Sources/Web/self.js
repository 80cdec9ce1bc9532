// The user's own camera over the picture: mirrored and without delay.

import { remember, remembered } from '/assets/pickers.js';
import { listDevices } from '/assets/tessera.js';

const $ = id => document.getElementById(id);
let sending = null;

export const isSelfShown = () => remembered('self') !== 'off';

export async function showSelf(now = sending) {
  sending = now;
  const track = sending?.cameraTrack;
  const isShown = Boolean(track) && sending.video && isSelfShown();
  $('self').hidden = !isShown;
  // The picture gives it a place beside itself.
  $('stage').classList.toggle('has-self', isShown);
  if (!isShown) {
    $('self-video').srcObject = null;
    return;
  }
  // The back camera shows what others see, not a mirror.
  $('self-video').classList.toggle('mirrored', track.getSettings().facingMode !== 'environment');
  if ($('self-video').srcObject !== sending.stream) $('self-video').srcObject = sending.stream;
  $('flip-camera').hidden = !(matchMedia('(pointer: coarse)').matches && (await listDevices('camera')).length > 1);
}

export function bindSelf(sending) {
  $('self-close').onclick = () => { setSelfShown(false); $('open-settings').focus(); };
  $('flip-camera').onclick = () => sending.flipCamera();
}

export function setSelfShown(isShown) {
  remember('self', isShown ? 'on' : 'off');
  $('show-self').checked = isShown;
  showSelf();
}
