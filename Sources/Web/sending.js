// What the user sends: microphone and camera, and beside them a screen. `SendingState` decides; this opens the devices, and
// gives their tracks to the call's connection.

import { openDevices } from './devices.js';
import { DEVICES, SendingState } from './sending-state.js';
import { TabSound } from './sound.js';

// Larger screens are scaled down, since no picture of a room shows more of them. Their frames are few and sharp.
const SCREEN = { frameRate: { max: 15 }, width: { max: 1920 }, height: { max: 1080 } };

/// Events: `changed`, after every change; `sharing`, when the screen begins (detail true) or ends; `problem`, with
/// {code, device, message}.
export class Sending extends EventTarget {
  constructor() {
    super();
    /// The tracks of the open devices.
    this.stream = new MediaStream();
    this.state = new SendingState();
    this.hand = false;
    /// The track of the shared screen.
    /** @type {MediaStreamTrack | null} */
    this.screen = null;
    /// The sound of the shared tab; null where there is none.
    /** @type {TabSound | null} */
    this.sound = null;
    /// The call's connection, which carries the tracks; null before and after a call, and while the user waits to be let in.
    /** @type {import('./connection.js').Connection | null} */
    this.connection = null;
    /// Which camera of a phone: user or environment.
    this.facing = null;
  }

  /// Whether microphone and camera are sent; false too while they open, and while nothing may be sent.
  get audio() { return this.state.isSent('audio'); }
  get video() { return this.state.isSent('video'); }
  /// The same for the buttons: on, opening, paused (by the system) or off.
  get shown() { return { audio: this.state.shown('audio'), video: this.state.shown('video') }; }
  /// What the buttons of the lobby say.
  get chosen() { return { audio: this.state.chosen('audio'), video: this.state.chosen('video') }; }
  /// Whether a device is being opened.
  get isBusy() { return this.state.isBusy('audio') || this.state.isBusy('video'); }
  get isHeld() { return this.state.isHeld; }

  get audioTrack() { return this.stream.getAudioTracks()[0] ?? null; }
  get cameraTrack() { return this.stream.getVideoTracks()[0] ?? null; }
  /// What the sections of the connection carry. The microphone is mixed with the sound of the shared tab.
  get sentAudio() { return this.sound?.track ?? (this.state.isCarried('audio') ? this.audioTrack : null); }
  get sentVideo() { return this.state.isCarried('video') ? this.cameraTrack : null; }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  // ---- The way in and out

  /// Closes the open devices and opens these. Returns the problem of each one that does not open.
  async open(devices) {
    this.stream.getTracks().forEach(track => this.remove(track.kind));
    this.stream = new MediaStream();
    const problems = await this.act(this.state.open(devices));
    // That no device can be opened is one problem.
    return problems.filter(({ code }, index) => code !== 'insecure' || index === 0);
  }

  /// At the start of a call everything is sent that is open, or will be.
  start() { this.state.join(); }

  /// The server has not let the user in.
  async refused() {
    this.state.refused();
    await this.act([]);
  }

  /// A moderator has to let the user in: nothing is sent until then.
  async wait() {
    this.state.wait();
    this.connection = null;
    await this.act([]);
  }

  /// The user is in the room. `connect` makes the connection, with what is to be sent.
  enter({ isHeld = false, isAudience = false } = {}) {
    this.state.enter();
    if (isHeld) this.state.hold();
    return this.sit(isAudience);
  }

  /// The user comes into the audience, or leaves it.
  async sit(isAudience) {
    const actions = this.state.sit(isAudience);
    await Promise.all([this.act(actions), isAudience ? this.stopScreen() : null]);
  }

  /// Sends silence and black pictures until `release`.
  hold() {
    this.state.hold();
    return this.act([]);
  }

  /// Sends what was held back, or turns it off.
  release(sends) { return this.act(this.state.release(sends)); }

  /// Closes the devices and ends the screen. `setAudio` and `toggleVideo` open the devices again.
  async close() {
    if (this.screen) await this.stopScreen();
    await this.act(this.state.close());
  }

  /// Ends everything that is sent.
  stop() {
    this.connection = null;
    this.endScreen();
    this.act(this.state.leave());
  }

  // ---- Microphone and camera

  toggleAudio() { return this.act(this.state.toggle('audio')); }
  setAudio(isOn) { return this.act(this.state.want('audio', isOn)); }
  setVideo(isOn) { return this.act(this.state.want('video', isOn)); }
  toggleVideo() { return this.act(this.state.toggle('video')); }

  /// Changes between the cameras of the front and the back.
  flipCamera() {
    this.facing = (this.facing ?? this.cameraTrack?.getSettings().facingMode) === 'environment' ? 'user' : 'environment';
    return this.act(this.state.flip(this.facing));
  }

  /// Replaces the device of a kind ('audio' or 'video') by the one with this id; 'none': by nothing.
  switchDevice(kind, id) { return this.act(this.state.choose(kind, id)); }
  /// Opens the device of a kind anew.
  reopen(kind) { return this.act(this.state.reopen(kind)); }

  /// The camera is not sent for a while, since the line is too thin, or is sent again.
  rest(isResting) { return this.act(this.state.rest(isResting)); }

  toggleHand() {
    this.hand = !this.hand;
    this.emit('changed');
  }

  /// Does what the state asks for, and what follows from it; devices are opened one after the other, since each may ask the
  /// user. Returns the problems of those that do not open.
  /** @param {import('./sending-state.js').Action[]} actions @returns {Promise<import('./sending-state.js').Problem[]>} */
  async act(actions, track = null) {
    const problems = [];
    const openings = [];
    for (const action of actions) {
      if (action.type === 'open') openings.push(action);
      else if (action.type === 'take') this.take(track);
      else if (action.type === 'drop') track?.stop();
      else if (action.type === 'stop') this.remove(action.kind);
      else this.emit('problem', action.problem);
    }
    const following = this.follow();
    for (const { kind, attempt, id, facing } of openings) {
      // Another choice may have come meanwhile.
      if (!this.state.isOpening(kind, attempt)) continue;
      const opened = await openDevices({ camera: 'none', microphone: 'none', facing, [DEVICES[kind]]: id });
      const [track] = opened.stream.getTracks();
      problems.push(...opened.problems);
      const problem = opened.problems[0] ?? { code: 'failed', device: DEVICES[kind] };
      await this.act(track ? this.state.opened(kind, attempt, isPaused(track)) : this.state.failed(kind, attempt, problem), track);
    }
    await following;
    return problems;
  }

  /// Tracks and connection become what the state says, and everybody is told.
  async follow() {
    for (const track of this.stream.getTracks()) track.enabled = this.state.isEnabled(/** @type {'audio' | 'video'} */ (track.kind));
    const { connection, sentVideo, sentAudio } = this;
    if (this.sound) this.sound.setMicrophone(this.state.isCarried('audio') ? this.audioTrack : null);
    const changes = connection ? [connection.sendAudio(sentAudio), connection.sendVideo(sentVideo)] : [];
    // At once: a track waits for its turn behind an offer.
    this.emit('changed');
    // Of a connection that has ended meanwhile.
    await Promise.all(changes).catch(error => { if (connection === this.connection) throw error; });
  }

  /** @param {MediaStreamTrack} track */
  take(track) {
    this.remove(track.kind);
    const kind = /** @type {'audio' | 'video'} */ (track.kind);
    // A device that is unplugged ends its track.
    track.onended = () => { if (this.stream.getTracks().includes(track)) this.act(this.state.ended(kind)); };
    track.onmute = track.onunmute = () => { if (this.stream.getTracks().includes(track)) this.act(this.state.paused(kind, isPaused(track))); };
    this.stream.addTrack(track);
  }

  /// The camera's light goes off only when its track is stopped.
  remove(kind) {
    this.stream.getTracks().filter(track => track.kind === kind).forEach(track => { track.stop(); this.stream.removeTrack(track); });
  }

  // ---- The screen

  async toggleScreen() {
    if (this.screen) return this.stopScreen();
    let shared;
    try {
      // Without the sound of the whole system, in which the others would hear themselves.
      shared = await navigator.mediaDevices.getDisplayMedia(/** @type {any} */ ({ video: SCREEN, audio: true, systemAudio: 'exclude' }));
    } catch (error) {
      if (error.name !== 'NotAllowedError') this.emit('problem', { code: 'screen', message: error.message });
      return;
    }
    // Somebody may have left the call or the stage while the browser asked.
    if (!this.connection || this.state.isAudience || this.screen) return shared.getTracks().forEach(track => track.stop());
    this.screen = shared.getVideoTracks()[0];
    this.screen.contentHint = 'detail';
    this.screen.onended = () => this.stopScreen();
    const [sound] = shared.getAudioTracks();
    if (sound) this.sound = new TabSound(sound);
    await this.connection.sendScreen(this.screen);
    this.emit('sharing', true);
    await this.follow();
  }

  async stopScreen() {
    if (!this.screen) return;
    this.endScreen();
    this.emit('sharing', false);
    await this.connection?.sendScreen(null);
    await this.follow();
  }

  endScreen() {
    this.screen?.stop();
    this.sound?.close();
    this.screen = this.sound = null;
  }
}

/// Whether the system gives nothing of a microphone. Tracks of cameras are muted as soon as a frame is late.
const isPaused = track => track.kind === 'audio' && Boolean(track.muted);
