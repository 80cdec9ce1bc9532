// The picture's place on the page: full screen, a window of its own, the loudspeaker, and what stands there without one.

import { remember, remembered } from '/assets/pickers.js';
import { listDevices } from '/assets/tessera.js';

const $ = id => document.getElementById(id);

export const hasLoudspeakers = () => 'setSinkId' in HTMLMediaElement.prototype;

/// Plays the call by a loudspeaker; the remembered one, where none is given.
export async function useLoudspeaker(id = remembered('loudspeaker')) {
  if (!hasLoudspeakers()) return;
  const known = (await listDevices('loudspeaker')).some(device => device.id === id);
  await $('mix').setSinkId(known ? id : '').catch(() => {});
}

export function chooseLoudspeaker(id) {
  remember('loudspeaker', id);
  return useLoudspeaker(id);
}

export function toggleFullScreen() {
  if (document.fullscreenElement) return document.exitFullscreen();
  // Phones of Apple give the whole screen to a video alone.
  if (!$('call').requestFullscreen) return $('mix').webkitEnterFullscreen?.();
  return $('call').requestFullscreen().catch(() => {});
}

/// Shows the picture in a small window above all others, or back in the page.
export function togglePictureInPicture() {
  if (document.pictureInPictureElement) return document.exitPictureInPicture();
  return $('mix').requestPictureInPicture().catch(() => {});
}

export function bindStage() {
  $('full-screen').onclick = toggleFullScreen;
  $('full-screen').hidden = !document.fullscreenEnabled && !$('mix').webkitEnterFullscreen;
  document.addEventListener('fullscreenchange', () => $('full-screen').setAttribute('aria-pressed', String(Boolean(document.fullscreenElement))));
  $('picture-in-picture').onclick = togglePictureInPicture;
  $('picture-in-picture').hidden = !document.pictureInPictureEnabled;
  for (const type of ['enterpictureinpicture', 'leavepictureinpicture']) {
    $('mix').addEventListener(type, () => $('picture-in-picture').setAttribute('aria-pressed', String(type === 'enterpictureinpicture')));
  }
}

/// Without a picture from the server the stage says so instead of a picture that stands still.
export function showData(call) {
  $('mix').classList.toggle('hidden-picture', call.data === 'audio');
  $('sound-only').hidden = call.data !== 'audio';
  $('data').value = call.data;
}
