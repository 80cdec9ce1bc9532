// One call: joins a room, keeps what the server tells of it, and sends what the user wants. It knows no page: who embeds a
// call shows what the events tell.

import { Channel } from './channel.js';
import { Connection } from './connection.js';
import { Line } from './line.js';
import { People } from './people.js';
import { Signalling } from './signalling.js';

// How often the link is measured.
const LINE_EVERY = 1000;
// Refused joins, since many come in at once, after which the user is told.
const PATIENCE = 10;

/// Events, `detail` in brackets:
/// - the way in and out: `entered` (the room), once; `waiting`: a moderator has to admit the user; `delayed` (seconds): the
///   server is busy; `refused` ({code, message}): before `entered`; `ended` (the server's reason; null: the user left);
/// - the room: `people`, `tiles`, `speaker` (id), `view`, `viewRefused` ({code, retryAfter}), `recording`, `streaming`, `room` (settings), `waitingPeople`, `chat` (message),
///   `reaction` ({from, reaction}), `file` ({from, name, bytes, progress, url}), `joins` ({joined, left}: participants);
/// - the user: `consent`: the room is or may be recorded (`recording`, `preRoll`), or is streamed (`streaming`), and nothing is sent until `consent()`; `changed` (what is sent), `role` (role),
///   `muted`, `asked` and `screenStopped` (the id of who did it), `problem` ({code, …});
/// - the line: `data` (what is saved), `stream`, `connection` (connected, interrupted, broken, reconnecting or lost), `line` (Line.read).
export class Call extends EventTarget {
  /// `sending`: a Sending with open devices. `server`: the server's origin. `room`, `name`, and optional: `token`, `pin`,
  /// `role`, `layout`, `view`, `recorded` (false: not this user). `isTold`: whether the user knows that the call may be recorded; where it is false, a recorded
  /// room leads to the event `consent`.
  constructor(sending, { server = new URL(import.meta.url).origin, isTold = true, ...request }) {
    super();
    this.sending = sending;
    this.server = server;
    this.room = request.room;
    this.isTold = isTold;
    this.people = new People();
    /// The picture and the sound of the call, the same object for the whole call.
    this.stream = new MediaStream();
    /// `mine`: the user's own view, {name, pin}; null: the room's view.
    this.tiles = this.layout = this.mine = this.recording = null;
    this.recordings = [];
    /// `view`: the named view that the user gets; `views`: the names of those that there are.
    [this.view, this.views] = ['main', []];
    /// The seconds before its start that a recording has too; 0: none are kept.
    this.preRoll = 0;
    /// Whether the room is streamed to another server.
    this.streaming = false;
    /// {locked, layoutLocked, admit, pin}; empty on a server that has no such settings.
    this.settings = {};
    /// full; less: a small picture; audio: none.
    this.data = 'full';
    /// Who waits to be let in, for moderators.
    this.waiting = [];
    this.role = request.role ?? 'participant';
    this.connection = this.line = this.timer = this.awake = null;
    this.channel = new Channel(this);
    this.listeners = new AbortController();
    this.signalling = new Signalling(socketAddress(server), { ...request, deltas: true });
    this.listen();
    this.signalling.open();
  }

  get id() { return this.signalling.id; }
  get me() { return this.people.find(this.id); }
  get isModerator() { return this.role === 'moderator'; }
  /// Whether nothing is sent, since the room is recorded and the user has not answered `consent`.
  get isHeld() { return this.sending.held !== null; }
  get isViewer() { return this.role === 'viewer'; }
  /// With a token only moderators and presenters record.
  get mayRecord() { return this.signalling.join.token ? ['moderator', 'presenter'].includes(this.role) : !this.isViewer; }
  /// Whether the user may choose the picture of everyone.
  get mayArrange() { return this.isModerator || !(this.isViewer || this.settings.layoutLocked); }
  /// What shows that a request beside the socket is of this call: the room, the seat's id and its secret.
  get seat() { return { room: this.room, ...this.signalling.resume }; }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  listen() {
    const on = (type, handler) => this.signalling.addEventListener(type, ({ detail }) => handler(detail));
    on('joined', message => this.joined(message));
    on('answer', message => this.answered(message));
    on('participants', message => this.peopleChanged(() => this.people.take(message)));
    on('participantsChanged', message => this.peopleChanged(() => this.people.change(message)));
    on('tiles', message => { this.tiles = message; this.emit('tiles'); });
    on('speaker', ({ participant }) => { this.people.speaks(participant); this.emit('speaker', participant); });
    on('layout', message => this.layoutChanged(message));
    on('recording', message => {
      const one = message.recording === undefined ? message : message.recording;
      this.recordingChanged(one, message.recordings);
    });
    on('streaming', message => this.streamingChanged(message.streaming));
    on('chat', message => this.emit('chat', message));
    on('line', message => { if (this.line) this.line.server = message; });
    on('room', ({ type, ...settings }) => { this.settings = { ...this.settings, ...settings }; this.emit('room'); });
    on('waiting', ({ people }) => this.waitingChanged(people));
    on('muted', ({ by }) => { this.sending.setAudio(false); this.emit('muted', by); });
    on('asked', ({ action, by }) => this.asked(action, by));
    on('role', ({ role }) => this.roleChanged(role));
    on('left', ({ reason }) => this.end(reason));
    on('lost', message => this.lost(message));
    on('error', message => this.failed(message));
    const { signal } = this.listeners;
    this.sending.addEventListener('changed', () => { this.sendState(); this.emit('changed'); }, { signal });
    this.sending.addEventListener('sharing', () => this.sendPresent(), { signal });
    this.sending.addEventListener('problem', ({ detail }) => this.emit('problem', detail), { signal });
    document.addEventListener('visibilitychange', () => this.stayAwake(), { signal });
    addEventListener('pagehide', () => this.send({ type: 'leave' }), { signal });
  }

  send(message) { this.signalling.send(message); }

  problem(code, error) { this.emit('problem', { code, message: error?.message ?? error }); }

  // ---- The way in and out

  async joined(message) {
    this.peopleChanged(() => this.people.take(message), true);
    this.views = message.views ?? [];
    this.picture({ ...message, name: message.layout });
    this.settings = message.settings ?? {};
    this.room = message.room;
    this.role = message.you.role ?? this.role;
    this.preRoll = message.preRoll ?? 0;
    this.recordingChanged(message.recording, message.recordings);
    this.streamingChanged(message.streaming);
    this.emit('connection', 'connected');
    const isNew = !this.connection;
    if (!message.resumed || isNew) await this.begin(message, isNew);
    else await this.goOn(message);
  }

  /// A new seat, and with it a new connection.
  async begin(message, isNew) {
    // The audience has nothing to send until it comes on stage, and then chooses when.
    if (this.isViewer) await this.sending.close();
    const mustAsk = isNew && !this.isTold && !this.isViewer && Boolean(message.recording || message.willRecord || message.preRoll || message.streaming);
    if (mustAsk) this.sending.hold();
    this.connect(message.iceServers ?? []);
    if (isNew) this.emit('entered', message.room);
    this.emit('seat');
    if (mustAsk) this.emit('consent');
    this.history(message, true);
    this.stayAwake();
    this.sendState();
    // Presented once the new connection has a section for the screen.
    this.owesScreen = Boolean(this.sending.screen);
    this.emit('room');
    this.emit('people');
    await this.connection.offer();
    clearInterval(this.timer);
    this.timer = setInterval(async () => { const state = await this.line.read(); if (state) this.emit('line', state); }, LINE_EVERY);
  }

  async answered({ sdp }) {
    try {
      await this.connection?.answered(sdp);
    } catch (error) {
      return this.problem('badAnswer', error);
    }
    if (this.owesScreen) this.sendPresent();
    this.owesScreen = false;
  }

  /// The seat and its connection are still there.
  async goOn(message) {
    this.history(message, false);
    this.sendState();
    this.emit('room');
    this.emit('people');
    await this.connection.resumed();
  }

  /// Messages of the chat that came before (`isEarlier`), or may have been missed. Each has an id, by which one that is
  /// shown already is known.
  history({ chat }, isEarlier) { for (const message of chat ?? []) this.emit('chat', { ...message, isEarlier }); }

  connect(iceServers) {
    this.connection?.close();
    this.stream.getTracks().forEach(track => this.stream.removeTrack(track));
    const connection = this.connection = this.sending.connection = new Connection(
      this.signalling, iceServers, { audio: this.sending.sentAudio, video: this.sending.cameraTrack, screen: this.sending.screen }, this.stream);
    if (this.data !== 'full') connection.saveData(this.data);
    this.line = new Line(connection.pc);
    this.channel.open(connection.pc);
    connection.addEventListener('remote', () => this.emit('stream'));
    connection.addEventListener('state', ({ detail }) => {
      const state = { connected: 'connected', disconnected: 'interrupted', failed: 'broken' }[detail];
      if (state) this.emit('connection', state);
    });
  }

  lost({ attempt, wait }) {
    if (this.connection) return this.emit('connection', attempt > 1 ? 'lost' : 'reconnecting');
    if (this.isWaiting) return;
    if (wait && attempt <= PATIENCE) return this.emit('delayed', Math.ceil(wait));
    this.refuse({ code: wait ? 'busy' : 'unreachable' });
  }

  failed(message) {
    if (!this.connection) this.refuse(message);
    else if (message.fatal) this.end(message.code, message.message);
    else if (this.askedView && ['too_fast', 'overloaded'].includes(message.code)) {
      this.askedView = null;
      this.emit('viewRefused', message);
    }
    else this.problem(message.code, message);
  }

  refuse({ code, message }) {
    this.listeners.abort();
    this.signalling.close();
    this.emit('refused', { code, message });
  }

  leave() {
    this.send({ type: 'leave' });
    this.end(null);
  }

  /// `reason`: the server's, or an error's code with its message; null: the user left.
  end(reason, message) {
    this.listeners.abort();
    clearInterval(this.timer);
    this.signalling.close();
    this.channel.close();
    this.connection?.close();
    this.connection = null;
    this.awake?.release();
    this.tiles = null;
    this.sending.stop();
    this.dispatchEvent(new CustomEvent('ended', { detail: reason && { reason, message } }));
  }

  /// Without this, phones turn the screen off in the middle of a call.
  async stayAwake() {
    if (!this.connection || document.visibilityState !== 'visible') return;
    this.awake = await navigator.wakeLock?.request('screen').catch(() => null);
  }

  // ---- What the server tells

  /// `isQuiet`: the list is new, nobody joined or left.
  peopleChanged(change, isQuiet = false) {
    const before = new Map(this.people.list.map(person => [person.id, person]));
    const hadHand = this.me?.hand;
    change();
    // A moderator has lowered it.
    if (hadHand && this.me && !this.me.hand && this.sending.hand) this.sending.toggleHand();
    const joined = this.people.list.filter(person => !before.delete(person.id));
    if (!isQuiet && (joined.length || before.size)) this.emit('joins', { joined, left: [...before.values()] });
    this.emit('people');
  }

  layoutChanged(message) {
    this.picture(message);
    this.emit('view');
  }

  /// What the server shows this user now.
  picture({ name, view, scope, pin }) {
    this.view = view ?? 'main';
    this.mine = scope === 'me' ? { name, pin: pin?.[0] ?? null } : null;
    if (!this.mine) this.layout = name;
    if (this.view === this.askedView) this.askedView = null;
  }

  recordingChanged(state, all) {
    /// All that run or are paused; `recording` is the one that is shown.
    this.recordings = all ?? (state ? [state] : []);
    this.recording = state && ['recording', 'paused'].includes(state.state) ? state : null;
    this.emit('recording');
  }

  streamingChanged(isStreamed) {
    this.streaming = Boolean(isStreamed);
    this.emit('streaming');
  }

  waitingChanged(people) {
    if (people) {
      this.waiting = people;
      return this.emit('waitingPeople');
    }
    this.isWaiting = true;
    this.emit('waiting');
  }

  asked(action, by) {
    if (action === 'unmute') this.emit('asked', by);
    if (action !== 'stopScreen' || !this.sending.screen) return;
    this.sending.stopScreen();
    this.emit('screenStopped', by);
  }

  async roleChanged(role) {
    const wasViewer = this.isViewer;
    this.role = role;
    if (role !== 'moderator') this.waiting = [];
    if (this.isViewer && !wasViewer) await this.sending.close();
    this.emit('role', role);
  }

  // ---- What the user wants

  sendPresent() {
    const { screen, sound } = this.sending;
    this.send({ type: 'present', on: Boolean(screen), ...(sound ? { audio: true } : {}) });
  }

  sendState() {
    const { audio, video, hand } = this.sending;
    this.send({ type: 'state', audio, video, hand });
  }

  /// Sends a message to everyone, or to one participant.
  chat(text, to) { this.send({ type: 'chat', text, ...(to ? { to } : {}) }); }

  /// `data`: full; less: a small picture both ways; audio: no picture from the server, and the camera off.
  async saveData(data) {
    this.data = data;
    if (data === 'audio' && this.sending.video) await this.sending.toggleVideo();
    await this.connection?.saveData(data);
    this.emit('data');
  }

  /// The answer to the event `consent`: sends microphone and camera from now on, or neither until the user turns one on.
  consent(sends) {
    this.isTold = true;
    return this.sending.release(sends);
  }

  /// `action`: start, pause, resume or stop.
  record(action) { this.send({ type: 'record', action }); }
  /// Whether this user wants to be in recordings and streams; a new seat begins with it too.
  beRecorded(on) {
    this.signalling.join.recorded = on;
    this.send({ type: 'recorded', on });
  }
  /// Sets a mark in the recording, which becomes a chapter.
  mark(text) { this.send({ type: 'mark', text }); }

  /// `action` of a moderator, with the participant (or who waits) that it concerns, and further fields.
  moderate(action, participant, fields = {}) {
    this.send({ type: 'moderate', action, ...(participant ? { participant } : {}), ...fields });
  }

  /// Changes settings of the room: `locked`, `layoutLocked`, `admit`, `pin`.
  changeRoom(settings) { this.send({ type: 'room', ...settings }); }

  /// Takes another named view, such as `portrait`. `view` follows, or `viewRefused`, with the time after which to ask
  /// again.
  takeView(name) {
    this.askedView = name;
    this.send({ type: 'view', name });
  }

  /// Chooses the view of this user: `name` with that participant first, or the room's view again.
  ownPicture(name, pinned = null) { this.send({ type: 'layout', name, scope: 'me', pin: pinned ? [pinned] : [] }); }

  /// Ends the user's own choice: the picture is as everyone sees it.
  commonPicture() { this.send({ type: 'layout', scope: 'me' }); }

  /// Chooses the view of this user ('me') or of the room ('room').
  chooseLayout(name, scope) {
    if (scope === 'me') this.ownPicture(name, name === this.layout ? null : this.mine?.pin);
    else this.send({ type: 'layout', name, scope });
  }

  pin(id) {
    if (this.mine?.pin === id) this.commonPicture();
    else this.ownPicture('speaker', id);
  }
}

/// The address of a server's signalling socket.
function socketAddress(server) {
  const address = new URL('/signal', server);
  address.protocol = address.protocol.replace('http', 'ws');
  return address.href;
}
