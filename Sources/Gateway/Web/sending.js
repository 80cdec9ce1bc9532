// What the user sends: microphone and camera, and beside them a screen.

import { openDevices } from './devices.js';
import { TabSound } from './sound.js';

// Larger screens are scaled down, since no picture of a room shows more of them. Their frames are few and sharp.
const SCREEN = { frameRate: { max: 15 }, width: { max: 1920 }, height: { max: 1080 } };

/// Events: `changed`, after every change; `sharing`, when the screen begins (detail true) or ends; `problem`, with
/// {code, device, message}.
export class Sending extends EventTarget {
  constructor() {
    super();
    this.stream = new MediaStream();
    [this.audio, this.video, this.hand] = [true, true, false];
    /// The ids of the wanted devices; '': any, 'none': none.
    this.wanted = { camera: '', microphone: '' };
    /// What `release` sends again, {audio, video}; null: nothing is held back.
    this.held = null;
    /// The track of the shared screen.
    this.screen = null;
    /// The sound of the shared tab; null where there is none.
    this.sound = null;
    /// The call's connection, which takes the tracks; null before and after a call.
    this.connection = null;
  }

  get audioTrack() { return this.stream.getAudioTracks()[0] ?? null; }
  get cameraTrack() { return this.stream.getVideoTracks()[0] ?? null; }
  /// What the audio section carries.
  get sentAudio() { return this.sound?.track ?? this.audioTrack; }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  /// Closes the open devices and opens these. Returns the problem of each one that does not open.
  async open(devices) {
    this.stopDevices();
    this.wanted = { ...this.wanted, ...devices };
    const opened = await openDevices(devices);
    this.stream = opened.stream;
    this.stream.getTracks().forEach(track => this.watch(track));
    return opened.problems;
  }

  /// At the start of a call everything is sent that is open.
  start() {
    this.audio = Boolean(this.audioTrack);
    this.video = Boolean(this.cameraTrack);
  }

  /// Sends silence and black pictures until `release`.
  hold() {
    this.held = { audio: this.audio, video: this.video };
    [this.audio, this.video] = [false, false];
    this.stream.getTracks().forEach(track => { track.enabled = false; });
    this.emit('changed');
  }

  /// Sends what was held back, or turns it off.
  async release(sends) {
    const { held } = this;
    this.held = null;
    if (!held || !this.connection) return;
    if (sends) {
      ({ audio: this.audio, video: this.video } = held);
      this.stream.getAudioTracks().forEach(track => { track.enabled = this.audio; });
      this.stream.getVideoTracks().forEach(track => { track.enabled = true; });
    } else {
      this.remove('video');
      await this.connection.sendVideo(null);
    }
    this.emit('changed');
  }

  /// Ends everything that is sent.
  stop() {
    this.held = null;
    this.connection = null;
    this.endScreen();
    this.stopDevices();
  }

  stopDevices() { this.stream.getTracks().forEach(track => track.stop()); }

  /// Closes the devices and ends the screen. `setAudio` and `toggleVideo` open the devices again.
  async close() {
    if (this.screen) await this.stopScreen();
    this.stopDevices();
    this.stream = new MediaStream();
    this.audio = this.video = false;
    await this.connection?.sendAudio(null);
    await this.connection?.sendVideo(null);
    this.emit('changed');
  }

  /// A device that is unplugged ends its track.
  watch(track) {
    track.onended = () => {
      if (!this.stream.getTracks().includes(track)) return;
      this.stream.removeTrack(track);
      this[track.kind] = false;
      if (!this.connection) return;
      if (track.kind === 'audio') this.sendMicrophone(null);
      else this.connection.sendVideo(null);
      this.emit('problem', { code: 'gone', device: track.kind === 'audio' ? 'microphone' : 'camera' });
      this.emit('changed');
    };
  }

  add(track) {
    this.watch(track);
    this.stream.addTrack(track);
  }

  /// Stops and removes the tracks of a kind. The camera's light goes off only when its track is stopped.
  remove(kind) {
    this.stream.getTracks().filter(track => track.kind === kind).forEach(track => { track.stop(); this.stream.removeTrack(track); });
  }

  toggleAudio() { return this.setAudio(!this.audio); }

  async setAudio(isOn) {
    if (this.held && !isOn) this.held.audio = false;
    if (this.held || isOn === this.audio) return;
    if (isOn && !this.audioTrack) {
      const opened = await openDevices({ camera: 'none', microphone: '' });
      const track = opened.stream.getAudioTracks()[0];
      if (!track) return this.emit('problem', opened.problems[0]);
      this.add(track);
      await this.sendMicrophone(track);
    }
    this.audio = isOn;
    this.stream.getAudioTracks().forEach(track => { track.enabled = this.audio; });
    this.emit('changed');
  }

  async toggleVideo() {
    if (this.held) return;
    if (this.video) {
      this.remove('video');
      this.video = false;
      await this.connection.sendVideo(null);
    } else {
      const opened = await openDevices({ microphone: 'none', camera: this.wanted.camera === 'none' ? '' : this.wanted.camera });
      const track = opened.stream.getVideoTracks()[0];
      if (!track) return this.emit('problem', opened.problems[0]);
      this.add(track);
      this.video = true;
      await this.connection.sendVideo(track);
    }
    this.emit('changed');
  }

  toggleHand() {
    this.hand = !this.hand;
    this.emit('changed');
  }

  /// The microphone is mixed with the sound of the shared tab.
  async sendMicrophone(track) {
    this.sound?.setMicrophone(track);
    await this.connection.sendAudio(this.sound?.track ?? track);
  }

  async toggleScreen() {
    if (this.screen) return this.stopScreen();
    let shared;
    try {
      // Without the sound of the whole system, in which the others would hear themselves.
      shared = await navigator.mediaDevices.getDisplayMedia({ video: SCREEN, audio: true, systemAudio: 'exclude' });
    } catch (error) {
      if (error.name !== 'NotAllowedError') this.emit('problem', { code: 'screen', message: error.message });
      return;
    }
    // Somebody may have left the call while the browser asked.
    if (!this.connection) return shared.getTracks().forEach(track => track.stop());
    this.screen = shared.getVideoTracks()[0];
    this.screen.contentHint = 'detail';
    this.screen.onended = () => this.stopScreen();
    const [sound] = shared.getAudioTracks();
    if (sound) {
      this.sound = new TabSound(sound);
      await this.sendMicrophone(this.audioTrack);
    }
    await this.connection.sendScreen(this.screen);
    this.emit('sharing', true);
    this.emit('changed');
  }

  async stopScreen() {
    if (!this.screen) return;
    this.endScreen();
    this.emit('sharing', false);
    await this.connection?.sendScreen(null);
    await this.connection?.sendAudio(this.audioTrack);
    this.emit('changed');
  }

  endScreen() {
    this.screen?.stop();
    this.sound?.close();
    this.screen = this.sound = null;
  }

  /// Changes between the cameras of the front and the back.
  async flipCamera() {
    this.facing = (this.facing ?? this.cameraTrack?.getSettings().facingMode) === 'environment' ? 'user' : 'environment';
    // Many phones open one camera at a time.
    this.remove('video');
    const opened = await openDevices({ microphone: 'none', facing: this.facing });
    const track = opened.stream.getVideoTracks()[0] ?? null;
    if (track) this.add(track);
    this.video = Boolean(track);
    await this.connection?.sendVideo(track);
    if (!track) this.emit('problem', opened.problems[0]);
    this.emit('changed');
  }

  /// Replaces the device of a kind ('audio' or 'video') during a call by the one with this id; 'none': by nothing.
  async switchDevice(kind, id) {
    this.wanted[kind === 'video' ? 'camera' : 'microphone'] = id;
    const opened = await openDevices(kind === 'video' ? { camera: id, microphone: 'none' } : { microphone: id, camera: 'none' });
    const track = opened.stream.getTracks()[0] ?? null;
    if (!track && id !== 'none') return this.emit('problem', opened.problems[0]);
    // Who is muted stays so with another microphone.
    const isMuted = kind === 'audio' && !this.audio && Boolean(this.audioTrack);
    this.remove(kind);
    if (track) this.add(track);
    this[kind] = Boolean(track) && !isMuted;
    if (track) track.enabled = this[kind];
    if (kind === 'audio') await this.sendMicrophone(track);
    else await this.connection.sendVideo(track);
    this.emit('changed');
  }
}
