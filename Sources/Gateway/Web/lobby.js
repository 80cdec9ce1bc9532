// The lobby: name, room, and a look at one's own camera and microphone.

import * as address from '/assets/address.js';
import { watchLevel } from '/assets/devices.js';
import { fillPickers, remember, remembered } from '/assets/pickers.js';
import { isToldOf, roomTyped, watchRoom } from '/assets/roominfo.js';
import { Sending } from '/assets/sending.js';
import { explain, t } from '/assets/words.js';

const $ = id => document.getElementById(id);

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
    for (const id of ['camera', 'microphone']) $(id).onchange = () => { remember(id, $(id).value); this.preview(); };
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
    $('name').value = address.query.get('name') ?? remembered('name');
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
    const { sending } = this;
    const problems = await sending.open({
      camera: $('camera').value || remembered('camera'), microphone: $('microphone').value || remembered('microphone'),
    });
    $('preview').srcObject = sending.stream;
    $('preview-note').textContent = [...problems.map(explain), ...(sending.cameraTrack || problems.length ? [] : [t('camera.isOff')])].join(' ');
    // Somebody may have joined before the devices were open.
    if (!$('join').disabled) this.showLevel();
    await fillPickers($('camera'), $('microphone'), sending);
  }

  /// Something was plugged in or unplugged: a first camera or microphone is taken at once.
  async devicesChanged() {
    if ($('lobby').hidden) return;
    const { cameraTrack, audioTrack } = this.sending;
    const isMissing = (track, id) => !track && $(id).value !== 'none';
    if (isMissing(cameraTrack, 'camera') || isMissing(audioTrack, 'microphone')) await this.preview();
    else await fillPickers($('camera'), $('microphone'), this.sending);
  }

  showLevel() {
    this.stopMeter();
    this.stopMeter = watchLevel(this.sending.stream, level => { $('preview-level').value = level; });
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
