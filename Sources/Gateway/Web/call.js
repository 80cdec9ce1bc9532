// One call: joins a room, keeps what the server tells of it, and sends what the user wants. It knows no page: who embeds a
// call shows what the events tell.

import { Channel } from './channel.js';
import { Connection } from './connection.js';
import { Line } from './line.js';
import { Successor } from './moving.js';
import { People } from './people.js';
import { Signalling } from './signalling.js';

// How often the link is measured.
const LINE_EVERY = 1000;
// Refused joins, since many come in at once, after which the user is told.
const PATIENCE = 10;
// How long after a move the others come one by one, ms; and the longest time that a server may give for a move, s.
const ALL_ARE_BACK = 15_000, LONGEST_MOVE = 120;
// How much longer than it needs it the call keeps the old connection, for the others who have not changed over yet, ms.
const LINGER = 1500;

/// Events, `detail` in brackets:
/// - the way in and out: `entered` (the room), once; `waiting`: a moderator has to admit the user, and nothing is sent until
///   then; `admitted`: the user is in the room again after another `waiting`; `delayed` (seconds): the
///   server is busy; `refused` ({code, message}): before `entered`; `ended` (the server's reason; null: the user left);
/// - the room: `people`, `tiles`, `speaker` (id), `view`, `viewRefused` ({code, retryAfter}), `recording`, `streaming`, `room` (settings), `waitingPeople`, `chat` (message),
///   `reaction` ({from, reaction}), `file` ({from, name, bytes, progress, url}), `joins` ({joined, left}: participants);
/// - the user: `consent`: the room is or may be recorded (`recording`, `preRoll`), or is streamed (`streaming`), and nothing is sent until `consent()`; `changed` (what is sent), `role` (role),
///   `muted`, `asked` and `screenStopped` (the id of who did it), `problem` ({code, …});
/// - the line: `data` (what is saved), `stream`, `connection` (connected, interrupted, broken, reconnecting, moving or lost), `line` (Line.read);
/// - another server: `moving` ({within}: the seconds that this may take), and `moved` ({isSeamless}: the picture and the sound went on).
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
    /// The second connection while the call moves to another server, and what the first one told of the people meanwhile.
    this.successor = null;
    this.frozen = [];
    /// Ends the connection that the call has left.
    this.endOld = () => {};
    /// Who was in the room before a move, until all are back.
    this.expected = new Set();
    /// The user's own view that another server cannot show yet.
    this.owedPicture = null;
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
  get isHeld() { return this.sending.isHeld; }
  get isViewer() { return this.role === 'viewer'; }
  /// With a token only moderators and presenters record.
  get mayRecord() { return this.signalling.join.token ? ['moderator', 'presenter'].includes(this.role) : !this.isViewer; }
  /// Whether the user may choose the picture of everyone.
  get mayArrange() { return this.isModerator || !(this.isViewer || this.settings.layoutLocked); }
  /// What shows that a request beside the socket is of this call: the room, the seat's id and its secret.
  get seat() { return { room: this.room, ...this.signalling.resume }; }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  listen() {
    this.handlers = {
      joined: message => this.joined(message),
      answer: message => this.answered(message),
      participants: message => this.peopleChanged(() => this.people.take(message)),
      participantsChanged: message => this.peopleChanged(() => this.people.change(message)),
      tiles: message => { this.tiles = message; this.emit('tiles'); },
      speaker: ({ participant }) => { this.people.speaks(participant); this.emit('speaker', participant); },
      layout: message => this.layoutChanged(message),
      recording: message => {
        const one = message.recording === undefined ? message : message.recording;
        this.recordingChanged(one, message.recordings);
      },
      streaming: message => this.streamingChanged(message.streaming),
      chat: message => this.emit('chat', message),
      line: message => { if (this.line) this.line.server = message; },
      room: ({ type, ...settings }) => { this.settings = { ...this.settings, ...settings }; this.emit('room'); },
      waiting: ({ people }) => this.waitingChanged(people),
      muted: ({ by }) => { this.sending.setAudio(false); this.emit('muted', by); },
      asked: ({ action, by }) => this.asked(action, by),
      role: ({ role }) => this.roleChanged(role),
      moving: ({ within }) => this.moving(within),
      left: ({ reason }) => this.end(reason),
      lost: message => this.lost(message),
      error: message => this.failed(message),
    };
    this.hear(this.signalling);
    const { signal } = this.listeners;
    this.sending.addEventListener('changed', () => { if (this.connection) this.sendState(); this.emit('changed'); }, { signal });
    this.sending.addEventListener('sharing', () => this.sendPresent(), { signal });
    this.sending.addEventListener('problem', ({ detail }) => this.emit('problem', detail), { signal });
    document.addEventListener('visibilitychange', () => this.stayAwake(), { signal });
    addEventListener('pagehide', () => { this.endOld(); for (const each of this.sockets) each.send({ type: 'leave' }, false); }, { signal });
  }

  /// The socket, and during a move that of the other server too.
  get sockets() { return this.successor ? [this.signalling, this.successor.signalling] : [this.signalling]; }

  hear(signalling) {
    for (const type of Object.keys(this.handlers)) signalling.addEventListener(type, ({ detail }) => this.receive(signalling, type, detail));
  }

  receive(signalling, type, message) {
    if (this.successor?.signalling === signalling) this.successor.receive(type, message);
    else if (this.signalling !== signalling) return;
    // By the successor, where the room is still here after all.
    else if (this.successor && type === 'left' && message.reason === 'replaced') return;
    // Who changes over earlier has not left the room.
    else if (this.successor && /^participants/.test(type)) this.frozen.push({ type, message });
    else this.handlers[type](message);
  }

  /// What the user asks for in the middle of a move is for the server to which the room moves: the other has written down
  /// already what moves with the room.
  send(message) { (this.successor ?? this).signalling.send(message); }

  problem(code, error) { this.emit('problem', { code, message: error?.message ?? error }); }

  // ---- The way in and out

  async joined(message) {
    if (message.isSameSeat && !message.resumed && this.connection) this.restorePicture(message, this.signalling);
    this.welcomed(message);
    this.emit('connection', 'connected');
    const isNew = !this.hasBeenIn;
    this.hasBeenIn = true;
    this.begun = !message.resumed || !this.connection ? this.begin(message, isNew) : this.goOn(message);
    await this.begun;
    if (this.hasMoved) this.emit('moved', { isSeamless: false });
    this.hasMoved = false;
  }

  /// Takes what a server tells of the room.
  welcomed(message) {
    if (message.isSameSeat && !message.resumed) this.expect(this.people.list);
    this.peopleChanged(() => this.people.take(message), true);
    this.views = message.views ?? [];
    this.picture({ ...message, name: message.layout });
    this.settings = message.settings ?? {};
    this.room = message.room;
    this.role = message.you.role ?? this.role;
    this.preRoll = message.preRoll ?? 0;
    this.recordingChanged(message.recording, message.recordings);
    this.streamingChanged(message.streaming);
  }

  /// A new seat, and with it a new connection.
  async begin(message, isNew) {
    const mustAsk = isNew && !this.isTold && !this.isViewer && Boolean(message.recording || message.willRecord || message.preRoll || message.streaming);
    // The audience has nothing to send until it comes on stage, and then chooses when.
    await this.sending.enter({ isHeld: mustAsk, isAudience: this.isViewer });
    this.connect(message.iceServers ?? []);
    if (isNew) this.emit('entered', message.room);
    else if (this.isWaiting) this.emit('admitted', message.room);
    this.isWaiting = false;
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
    this.connection.use(this.signalling);
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
    const connection = this.connection = this.sending.connection = this.makeConnection(this.signalling, iceServers);
    this.line = new Line(connection.pc);
    this.channel.open(connection.pc);
  }

  /// A connection that sends what the user sends. What comes by it is shown once it is that of the call.
  makeConnection(signalling, iceServers) {
    const { sentAudio, sentVideo, screen } = this.sending;
    const connection = new Connection(signalling, iceServers, { audio: sentAudio, video: sentVideo, screen });
    if (this.data !== 'full') connection.saveData(this.data);
    connection.addEventListener('remote', () => this.showTracks(connection));
    connection.addEventListener('state', ({ detail }) => {
      const state = { connected: 'connected', disconnected: 'interrupted', failed: 'broken' }[detail];
      if (state && connection === this.connection) this.emit('connection', state);
    });
    return connection;
  }

  /// A track is removed after its successor has been added: elements then change from one to the other without a gap.
  showTracks(connection) {
    if (connection !== this.connection) return;
    const now = connection.remote.getTracks(), before = this.stream.getTracks();
    now.filter(track => !before.includes(track)).forEach(track => this.stream.addTrack(track));
    before.filter(track => !now.includes(track) && now.some(({ kind }) => kind === track.kind)).forEach(track => this.stream.removeTrack(track));
    this.emit('stream');
  }

  // ---- The way to another server

  /// The room moves to another server, and this one ends the connection within so many seconds.
  async moving(within) {
    await this.begun;
    if (this.successor || !this.signalling.joined) return;
    const seconds = Math.min(LONGEST_MOVE, Math.max(1, Number(within) || 1));
    this.emit('moving', { within: seconds });
    this.successor = new Successor(this, seconds);
    this.hear(this.successor.signalling);
    // There is no picture to keep.
    if (!this.connection?.isConnected) this.changeOver(this.successor);
  }

  /// The successor's connection becomes that of the call. Without `line` it has no picture yet, or no connection; the call
  /// then comes back in the ordinary way.
  changeOver(next, { line, isSeamless = false } = {}) {
    const { signalling, connection } = this;
    this.endOld();
    next.finish();
    this.successor = null;
    this.frozen = [];
    this.signalling = next.signalling;
    this.signalling.needsSeat = false;
    if (connection) connection.successor = null;
    if (next.connection) {
      this.connection = this.sending.connection = next.connection;
      if (next.connection.remote.getTracks().length) this.showTracks(next.connection);
      this.owesScreen = next.owesScreen;
      this.line = line ?? new Line(next.connection.pc);
      this.channel.take(next.channel);
      this.welcomed(next.welcome);
      this.history(next.welcome, false);
      this.emit('seat');
      this.emit('room');
      for (const { type, message } of next.held) this.handlers[type](message);
      this.emit('connection', next.connection.isConnected ? 'connected' : 'moving');
      this.emit('moved', { isSeamless });
    } else {
      this.hasMoved = true;
      if (!this.signalling.socket) this.signalling.open();
    }
    signalling.retire();
    const timer = setTimeout(() => this.endOld(), isSeamless ? LINGER : 0);
    this.endOld = () => {
      clearTimeout(timer);
      this.endOld = () => {};
      signalling.leave();
      if (next.connection) connection?.close();
    };
  }

  /// The call has another socket, and nothing else has changed.
  async keep(next, message) {
    next.finish();
    this.successor = null;
    this.signalling.close();
    this.signalling = next.signalling;
    this.signalling.needsSeat = false;
    await this.joined(message);
    this.emit('moved', { isSeamless: true });
  }

  /// The move has failed. The call stays as it is until the server ends it.
  stay(next) {
    next.close();
    this.successor = null;
    if (this.signalling.closed) return this.end('replaced');
    this.signalling.mustBegin = Boolean(next.welcome);
    if (this.connection) this.connection.successor = null;
    for (const text of next.signalling.queue) this.send(JSON.parse(text));
    for (const { type, message } of this.frozen.splice(0)) this.peopleChanged(() => this.people[type === 'participants' ? 'take' : 'change'](message), true);
  }

  /// Asks a server for the picture that the user has chosen, where its own is another one.
  restorePicture({ view, layout, scope, pin }, signalling) {
    if (this.view !== (view ?? 'main')) signalling.send({ type: 'view', name: this.view });
    const mine = scope === 'me' ? { name: layout, pin: pin?.[0] ?? null } : null;
    this.owedPicture = null;
    if (!this.mine || (this.mine.name === mine?.name && this.mine.pin === mine?.pin)) return;
    signalling.send(ownPicture(this.mine));
    if (this.mine.pin) this.owedPicture = { ...this.mine, signalling };
  }

  /// A server pins those alone who are there: they come back one by one.
  payPicture(signalling, people) {
    const owed = this.owedPicture;
    if (owed?.signalling !== signalling || !people.find(owed.pin)) return;
    this.owedPicture = null;
    signalling.send(ownPicture(owed));
  }

  /// These people come back one by one, which is no news.
  expect(people) {
    for (const { id } of people) this.expected.add(id);
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => this.expected.clear(), ALL_ARE_BACK);
  }

  lost({ attempt, wait, hasMoved }) {
    if (hasMoved && !this.successor) this.emit('moving', { within: 0 });
    if (hasMoved) this.hasMoved = true;
    if (this.successor) {
      // Its socket goes on alone, and comes back by itself.
      this.changeOver(this.successor);
      return this.emit('connection', 'moving');
    }
    if (this.isWaiting) return;
    if (this.connection) return this.emit('connection', attempt > 1 ? 'lost' : hasMoved ? 'moving' : 'reconnecting');
    if (wait && attempt <= PATIENCE) return this.emit('delayed', Math.ceil(wait));
    this.refuse({ code: wait ? 'busy' : 'unreachable' });
  }

  failed(message) {
    if (!this.hasBeenIn) this.refuse(message);
    else if (message.fatal || this.isWaiting) this.end(message.code, message.message);
    else if (this.askedView && ['too_fast', 'overloaded'].includes(message.code)) {
      this.askedView = null;
      this.emit('viewRefused', message);
    }
    else this.problem(message.code, message);
  }

  refuse({ code, message }) {
    this.listeners.abort();
    this.signalling.close();
    this.sending.refused();
    this.emit('refused', { code, message });
  }

  leave() {
    this.signalling.leave();
    this.end(null);
  }

  /// `reason`: the server's, or an error's code with its message; null: the user left.
  end(reason, message) {
    this.listeners.abort();
    clearInterval(this.timer);
    clearTimeout(this.forgetting);
    this.endOld();
    this.successor?.signalling.leave();
    this.successor?.close();
    this.successor = null;
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
    const joined = this.people.list.filter(person => !before.delete(person.id) && !this.expected.delete(person.id));
    if (!isQuiet && (joined.length || before.size)) this.emit('joins', { joined, left: [...before.values()] });
    this.payPicture(this.signalling, this.people);
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
    clearInterval(this.timer);
    this.connection?.close();
    this.connection = null;
    this.sending.wait();
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
    if (this.isViewer !== wasViewer) await this.sending.sit(this.isViewer);
    this.emit('role', role);
  }

  // ---- What the user wants

  /// During a move both servers know it: some see the user by the one, some by the other.
  sendPresent(...sockets) {
    const { screen, sound } = this.sending;
    for (const each of sockets.length ? sockets : this.sockets) each.send({ type: 'present', on: Boolean(screen), ...(sound ? { audio: true } : {}) });
  }

  sendState(...sockets) {
    const { audio, video, hand } = this.sending;
    for (const each of sockets.length ? sockets : this.sockets) each.send({ type: 'state', audio, video, hand });
  }

  /// Sends a message to everyone, or to one participant.
  chat(text, to) { this.send({ type: 'chat', text, ...(to ? { to } : {}) }); }

  /// `data`: full; less: a small picture both ways; audio: no picture from the server, and the camera off.
  async saveData(data) {
    this.data = data;
    if (data === 'audio') await this.sending.setVideo(false);
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
  ownPicture(name, pinned = null) {
    this.owedPicture = null;
    this.send(ownPicture({ name, pin: pinned }));
  }

  /// Ends the user's own choice: the picture is as everyone sees it.
  commonPicture() {
    this.owedPicture = null;
    this.send({ type: 'layout', scope: 'me' });
  }

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

const ownPicture = ({ name, pin }) => ({ type: 'layout', name, scope: 'me', pin: pin ? [pin] : [] });

/// The address of a server's signalling socket.
function socketAddress(server) {
  const address = new URL('/signal', server);
  address.protocol = address.protocol.replace('http', 'ws');
  return address.href;
}
