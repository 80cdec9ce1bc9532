// One call: what the server tells of the room, and what the page tells the server.

import * as address from '/assets/address.js';
import { addMessage } from '/assets/chat.js';
import { Connection } from '/assets/connection.js';
import { showControls, showLine, showRecording } from '/assets/controls.js';
import { Line } from '/assets/line.js';
import { isChatOpen, notice, showNames, showPeople, unread } from '/assets/panels.js';
import { People } from '/assets/people.js';
import { Signalling } from '/assets/signalling.js';

const $ = id => document.getElementById(id);

/// Events: `entered`, once; `waiting` and `refused`, before that, with a sentence for people; `ended`, with the server's
/// reason.
export class Call extends EventTarget {
  constructor(room, name, sending) {
    super();
    this.sending = sending;
    this.people = new People();
    /// `mine`: the user's own view, {name, pin}; null: the room's view.
    this.tiles = this.layout = this.mine = this.recording = null;
    this.connection = this.line = this.timer = this.awake = null;
    this.listeners = new AbortController();
    this.signalling = new Signalling(address.signalAddress(), address.joinRequest(room, name));
    this.listen();
    this.signalling.open();
  }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  listen() {
    const on = (type, handler) => this.signalling.addEventListener(type, ({ detail }) => handler(detail));
    on('joined', message => this.joined(message));
    on('answer', ({ sdp }) => this.connection?.answered(sdp).catch(error => notice(`The server's answer does not fit: ${error.message}`)));
    on('participants', message => { this.people.take(message); this.refresh(); });
    on('participantsChanged', message => { this.people.change(message); this.refresh(); });
    on('tiles', message => { this.tiles = message; this.refresh(); });
    on('speaker', ({ participant }) => { for (const person of this.people.list) person.speaking = person.id === participant; this.refresh(); });
    on('layout', message => { this.layout = message.name ?? message.layout; });
    on('recording', message => this.recordingChanged(message.recording === undefined ? message : message.recording));
    on('chat', message => this.chatted(message));
    on('line', message => { if (this.line) this.line.server = message; });
    on('left', ({ reason }) => this.end(reason));
    on('lost', message => this.lost(message));
    on('error', message => this.failed(message));
    const { signal } = this.listeners;
    this.sending.addEventListener('changed', () => { this.sendState(); this.refresh(); }, { signal });
    this.sending.addEventListener('sharing', ({ detail }) => this.send({ type: 'present', on: detail }), { signal });
    this.sending.addEventListener('problem', ({ detail }) => notice(detail), { signal });
    document.addEventListener('visibilitychange', () => this.stayAwake(), { signal });
  }

  send(message) { this.signalling.send(message); }

  // ---- The way in and out

  async joined(message) {
    this.people.take(message);
    this.layout = message.layout;
    this.recordingChanged(message.recording);
    this.room = message.room;
    notice(null);
    if (this.connection) for (const missed of message.chat ?? []) this.chatted(missed);
    if (message.resumed && this.connection) {
      this.sendState();
      this.refresh();
      return this.connection.resumed();
    }
    const layout = address.query.get('layout');
    this.mine = layout && layout !== this.layout ? { name: layout, pin: null } : null;
    const isNew = !this.connection;
    this.connect(message.iceServers ?? []);
    if (isNew) {
      this.emit('entered', message.room);
      for (const earlier of message.chat ?? []) addMessage(earlier, earlier.name);
    }
    this.stayAwake();
    this.sendState();
    if (this.sending.screen) this.send({ type: 'present', on: true });
    await this.connection.offer();
    clearInterval(this.timer);
    this.timer = setInterval(async () => { const state = await this.line.read(); if (state) showLine(state); }, 1000);
    this.refresh();
  }

  connect(iceServers) {
    this.connection?.close();
    const connection = this.connection = this.sending.connection = new Connection(
      this.signalling, iceServers, { audio: this.sending.audioTrack, video: this.sending.videoTrack });
    this.line = new Line(connection.pc);
    const mix = $('mix');
    connection.addEventListener('remote', () => {
      // The audio and video tracks come one after the other into the same stream, and a second load would end the first
      // play().
      if (mix.srcObject !== connection.remote) mix.srcObject = connection.remote;
      mix.play().catch(error => {
        if (error.name !== 'NotAllowedError') return;
        // The browser requires a tap before it plays audio: show the picture until then.
        mix.muted = true;
        mix.play().catch(() => {});
        $('unmute-page').hidden = false;
      });
    });
    connection.addEventListener('state', ({ detail }) => {
      if (detail === 'connected') notice(null);
      else if (detail === 'disconnected') notice('The line is interrupted. Waiting for it to come back …', 0);
      else if (detail === 'failed') notice('The line broke. Trying another way …', 0);
    });
  }

  lost({ attempt, wait }) {
    if (this.connection) {
      return notice(attempt > 1 ? 'The connection to the server is lost. Trying again …' : 'Reconnecting …', 0);
    }
    if (wait && attempt <= 10) {
      return this.emit('waiting', `Many are coming in at the moment. Trying again in ${Math.ceil(wait)} s …`);
    }
    this.refuse(wait ? 'The server has all the calls that it can carry. Try again later.' : 'The server cannot be reached.');
  }

  failed(message) {
    if (message.code === 'unauthorized') address.forgetToken();
    if (!this.connection) this.refuse(message.message);
    else if (message.fatal) this.end(message.message);
    else notice(message.message);
  }

  refuse(why) {
    this.listeners.abort();
    this.signalling.close();
    this.emit('refused', why);
  }

  leave() {
    this.send({ type: 'leave' });
    this.end(null);
  }

  /// `reason`: the server's, or a sentence; null: the user left.
  end(reason) {
    this.listeners.abort();
    clearInterval(this.timer);
    this.signalling.close();
    this.connection?.close();
    this.connection = null;
    this.awake?.release();
    this.tiles = null;
    this.sending.stop();
    this.emit('ended', reason);
  }

  /// Without this, phones turn the screen off in the middle of a call.
  async stayAwake() {
    if (!this.connection || document.visibilityState !== 'visible') return;
    this.awake = await navigator.wakeLock?.request('screen').catch(() => null);
  }

  // ---- The room and the user in it

  refresh() {
    showPeople(this.people, this.signalling.id, this.mine?.pin, id => this.pin(id));
    this.showNames();
    showControls(this.sending);
  }

  showNames() { showNames(this.tiles, this.people, $('mix')); }

  sendState() {
    const { audio, video, screen, hand } = this.sending;
    this.send({ type: 'state', audio, video: video || Boolean(screen), hand });
  }

  recordingChanged(state) {
    this.recording = state && ['recording', 'paused'].includes(state.state) ? state : null;
    if (state?.state === 'failed') notice(`The recording failed${state.error ? `: ${state.error}` : '.'}`);
    showRecording(this.recording);
  }

  toggleRecording() { this.send({ type: 'record', action: this.recording ? 'stop' : 'start' }); }

  chatted(message) {
    if (addMessage(message, message.name) && !isChatOpen() && message.from !== this.signalling.id) unread();
  }

  /// What shows that a request beside the socket is of this call: the room, the seat's id and its secret.
  get seat() { return { room: this.room, ...this.signalling.resume }; }

  /// Chooses the view of this page: `name` with that participant first, or the room's view again.
  ownPicture(name, pinned = null) {
    this.mine = name === this.layout && !pinned ? null : { name, pin: pinned };
    this.send({ type: 'layout', name, scope: 'me', pin: pinned ? [pinned] : [] });
    this.refresh();
  }

  /// Chooses the view of this page ('me') or of the room.
  chooseLayout(name, scope) {
    if (scope === 'me') this.ownPicture(name, name === this.layout ? null : this.mine?.pin);
    else this.send({ type: 'layout', name, scope });
  }

  pin(id) {
    if (this.mine?.pin === id) this.ownPicture(this.layout);
    else this.ownPicture('speaker', id);
  }
}
