// The lobby: name, room, and a look at one's own camera and microphone.

import * as address from '/assets/address.js';
import { chime } from '/assets/chime.js';
import { watchLevel } from '/assets/devices.js';
import { press } from '/assets/elements.js';
import { fillLoudspeakers, fillPickers, isOff, keepOff, remember, remembered } from '/assets/pickers.js';
import { isToldOf, roomTyped, watchRoom } from '/assets/roominfo.js';
import { Sending } from '/assets/sending.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const DEVICES = { audio: 'microphone', video: 'camera' };

class Lobby {
  /** @param {import('./sending.js').Sending} sending */
  constructor(sending) {
    this.sending = sending;
    /// Called with a room, a name, a PIN, and whether the user was told that the room is recorded.
    /** @type {(room: string, name: string, pin: string, isTold: boolean) => void} */
    this.join = () => {};
    /// Called with each call that begins.
    /** @type {(call: import('./call.js').Call) => void} */
    this.called = () => {};
    this.stopMeter = () => {};
    this.metered = null;
    this.problems = [];
    for (const [kind, id] of Object.entries(DEVICES)) {
      $(id).onchange = () => this.choose(kind, $(id).value);
      $(`lobby-${kind}`).onclick = () => this.turn(kind, sending.chosen[kind] === 'off');
    }
    sending.addEventListener('changed', () => this.show());
    $('loudspeaker').onchange = () => remember('loudspeaker', $('loudspeaker').value);
    $('test-loudspeaker').onclick = () => this.test();
    $('room').oninput = roomTyped;
    $('join-form').onsubmit = event => {
      event.preventDefault();
      remember('name', $('name').value);
      remember('room', $('room').value);
      this.submit(isToldOf($('room').value.trim()));
    };
  }

  /// Opens the devices; joins at once where the address asks for it.
  async open() {
    $('name').value = address.name() ?? remembered('name');
    $('room').value = address.room ?? remembered('room');
    const opening = this.preview();
    watchRoom();
    if (address.query.get('join') === '1' && $('room').value) {
      if (!$('name').value) $('name').value = t('guest');
      await opening;
      // Nobody has read the sign: the call asks.
      this.submit(false);
    }
  }

  async preview() {
    this.stopMeter();
    this.metered = null;
    await this.opened(this.sending.open({
      camera: $('camera').value || remembered('camera'), microphone: $('microphone').value || remembered('microphone'),
      audio: !isOff('audio'), video: !isOff('video'),
    }));
  }

  /// Turns the microphone or the camera on or off for the call. Which device it is stays as it was chosen; without one, any.
  async turn(kind, isOn) {
    keepOff(kind, !isOn);
    if (isOn && $(DEVICES[kind]).value === 'none') remember(DEVICES[kind], '');
    await this.opened(kind === 'audio' ? this.sending.setAudio(isOn) : this.sending.setVideo(isOn));
  }

  /// Who takes a camera, or a microphone after none, wants it to be sent.
  async choose(kind, id) {
    const had = remembered(DEVICES[kind]);
    remember(DEVICES[kind], id);
    if (id !== 'none' && (kind === 'video' || had === 'none')) keepOff(kind, false);
    await this.preview();
  }

  /// What comes while devices open, and after it.
  async opened(opening) {
    this.problems = [];
    this.show();
    this.problems = await opening;
    await fillPickers($('camera'), $('microphone'), this.sending);
    await fillLoudspeakers($('loudspeaker'));
    this.show();
  }

  /// Shows what the devices do.
  show() {
    if ($('lobby').hidden) return;
    const { sending } = this, { chosen, isBusy } = sending;
    if ($('preview').srcObject !== sending.stream) $('preview').srcObject = sending.stream;
    press('lobby-audio', chosen.audio, 'mic', t(`microphone.${chosen.audio}`), t(`audio.${chosen.audio}.action`));
    press('lobby-video', chosen.video, 'camera', t(`camera.${chosen.video}`), t(`camera.${chosen.video}.action`));
    $('preview-busy').hidden = !isBusy;
    for (const id of ['camera', 'microphone']) {
      $(id).setAttribute('aria-busy', String(isBusy));
      if (isBusy && !$(id).options.length) $(id).replaceChildren(new Option('…', ''));
    }
    const isDark = !sending.cameraTrack && !this.problems.length;
    $('preview-note').textContent = [...this.problems.map(explain), ...(isBusy ? [t('device.opening')] : isDark ? [t('camera.isOff')] : [])].join(' ');
    // Somebody may have joined before the devices were open.
    if (!$('join').disabled && this.metered !== sending.audioTrack) this.showLevel();
  }

  /// Plays a few tones by the chosen loudspeaker.
  async test() {
    $('test-loudspeaker').disabled = true;
    await chime($('loudspeaker').value).catch(() => {});
    $('test-loudspeaker').disabled = false;
  }

  /// Something was plugged in or unplugged: a first camera or microphone is taken at once.
  async devicesChanged() {
    if ($('lobby').hidden) return;
    const { cameraTrack, audioTrack } = this.sending;
    const isMissing = (track, kind) => !track && !isOff(kind) && $(DEVICES[kind]).value !== 'none';
    if (isMissing(cameraTrack, 'video') || isMissing(audioTrack, 'audio')) return this.preview();
    await fillPickers($('camera'), $('microphone'), this.sending);
    await fillLoudspeakers($('loudspeaker'));
  }

  showLevel() {
    this.stopMeter();
    this.metered = this.sending.audioTrack;
    // Who is muted sees no level, as nobody hears it.
    this.stopMeter = watchLevel(this.sending.stream, level => { $('preview-level').value = this.sending.chosen.audio === 'off' ? 0 : level; });
  }

  submit(isTold) {
    $('join').disabled = true;
    $('join-error').hidden = true;
    this.stopMeter();
    if ($('token').value) address.keepToken($('token').value.trim());
    this.join($('room').value.trim(), $('name').value.trim(), $('pin').value.trim(), isTold);
  }

  /// The server lets the user in later.
  showWait(text) {
    $('join-error').textContent = text;
    $('join-error').hidden = false;
  }

  /// The server does not let the user in; where a PIN or a token is missing or wrong, there is a field for it. Neither
  /// gets into the address.
  showRefusal({ code, message }) {
    this.showWait(explain({ code, message }));
    const field = { pin_required: 'pin', wrong_pin: 'pin', unauthorized: 'token' }[code];
    if (field) {
      $(`${field}-field`).hidden = false;
      $(field).value = '';
      $(field).focus();
    }
    $('join').disabled = false;
    this.showLevel();
  }

  /// The user is in the call.
  close() {
    for (const field of ['pin', 'token']) $(field).value = '';
    $('join').disabled = false;
    $('join-error').hidden = true;
  }
}

/// What the page sends, in the lobby and in all calls.
export const sending = new Sending();
export const lobby = new Lobby(sending);
