// The settings of the call: devices, data, the own camera, sounds and notices.

import { query } from '/assets/address.js';
import { notice } from '/assets/elements.js';
import { withWords } from '/assets/later.js';
import { bindNews } from '/assets/news.js';
import { fillLoudspeakers, fillPickers, remember, remembered } from '/assets/pickers.js';
import { isSelfShown, setSelfShown } from '/assets/self.js';
import { chooseLoudspeaker, hasLoudspeakers, useLoudspeaker } from '/assets/stage.js';
import { watchDevices } from '/assets/tessera.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const KINDS = { camera: 'video', microphone: 'audio' };

/// `call()`: the call that runs; null in the lobby.
export function bindSettings(sending, lobby, call) {
  const fill = async () => {
    await fillPickers($('call-camera'), $('call-microphone'), sending);
    if (hasLoudspeakers()) await fillLoudspeakers($('call-loudspeaker'));
  };
  const use = (device, id) => {
    remember(device, id);
    return device === 'loudspeaker' ? chooseLoudspeaker(id) : sending.switchDevice(KINDS[device], id);
  };
  $('open-settings').onclick = withWords(async () => {
    await fill();
    $('settings').showModal();
  });
  for (const device of ['camera', 'microphone', 'loudspeaker']) $(`call-${device}`).onchange = ({ target }) => use(device, target.value);
  $('call-loudspeaker').closest('label').hidden = !hasLoudspeakers();
  $('data').onchange = () => {
    remember('data', $('data').value);
    call().saveData($('data').value);
  };
  $('show-self').checked = isSelfShown();
  $('show-self').onchange = () => setSelfShown($('show-self').checked);
  bindNews();
  watchDevices(async (added, removed) => {
    if (!call()) return lobby.devicesChanged();
    await fill();
    // A loudspeaker that is gone leaves the default one, and one that is back is taken again.
    if ([...added, ...removed].some(({ device }) => device === 'loudspeaker')) useLoudspeaker();
    const found = added.find(({ id, device }) => id !== 'default' && device !== 'loudspeaker') ?? added.find(({ id }) => id !== 'default');
    if (found?.label) notice(t('device.new', { label: found.label }), 12, { text: t('device.use'), act: () => use(found.device, found.id) });
  });
}

/// A call begins with what the address says (`?mode=`), or with what the user has chosen before.
export function applySettings(call) {
  useLoudspeaker();
  const data = { audio: 'audio', low: 'less', auto: 'full' }[query.get('mode')] ?? remembered('data');
  if (['less', 'audio'].includes(data)) call.saveData(data);
}
