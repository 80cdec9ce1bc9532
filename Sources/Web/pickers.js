// The choice of devices: the lists of the lobby and of the call, and what is remembered.

import { listDevices } from '/assets/devices.js';
import { t } from '/assets/words.js';

export const remembered = key => localStorage.getItem(`tessera.${key}`) ?? '';
export const remember = (key, value) => localStorage.setItem(`tessera.${key}`, value);

/// What the user has turned off in the lobby, for as long as the tab is open: it is no choice of a device.
export const isOff = kind => sessionStorage.getItem(`tessera.off.${kind}`) === 'yes';
export const keepOff = (kind, isNowOff) => sessionStorage.setItem(`tessera.off.${kind}`, isNowOff ? 'yes' : '');

/// Fills a <select> with the devices of a kind, "none" last; keeps the choice.
async function fill(select, device, chosen) {
  const options = (await listDevices(device)).map(({ id, label }, index) => new Option(label || t('device.number', { number: index + 1 }), id));
  if (!options.length) options.push(new Option(t('device.default'), ''));
  options.push(new Option(t(`${device}.none`), 'none'));
  select.replaceChildren(...options);
  if (options.some(option => option.value === chosen)) select.value = chosen;
}

/// Fills a <select> with the loudspeakers, the remembered one chosen.
export async function fillLoudspeakers(select) {
  const options = (await listDevices('loudspeaker')).map(({ id, label }, index) => new Option(label || t('device.number', { number: index + 1 }), id));
  select.replaceChildren(...(options.length ? options : [new Option(t('device.default'), '')]));
  if (options.some(({ value }) => value === remembered('loudspeaker'))) select.value = remembered('loudspeaker');
}

/// Fills two <select>s with the devices, those in use chosen.
export async function fillPickers(camera, microphone, sending) {
  // A camera that is off, and no problem, is the one that was chosen, or any.
  const inUse = (track, device, isOff) => track?.getSettings().deviceId ?? (remembered(device) || (isOff ? '' : 'none'));
  await fill(camera, 'camera', inUse(sending.cameraTrack, 'camera', isOff('video')));
  await fill(microphone, 'microphone', inUse(sending.audioTrack, 'microphone', false));
}
