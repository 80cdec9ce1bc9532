// One call: joins a room, keeps what the server tells of it, and sends what the user wants. It knows no page: who embeds a
// call shows what the events tell. `CallSession` decides about sockets and connections; this has them.

import { CallSession } from './call-session.js';
import { Channel } from './channel.js';
import { Connection } from './connection.js';
import { Line } from './line.js';
import { People } from './people.js';
import { PictureChoice } from './picture-choice.js';
import { openAhead, Signalling } from './signalling.js';

// How often the link is measured, ms.
const LINE_EVERY = 1000;
// A line that loses less, and carries more upwards in kbit/s, needs nothing done about it.
const SOME_LOSS = 0.02, ROOMY = 150;

/// Events, `detail` in brackets:
/// - the way in and out: `place` (where the user is now: joining, waiting, call, refused or ended), before all others; `entered` (the room), once; `waiting`: a moderator has to admit the user, and nothing is sent until
///   then; `admitted`: the user is in the room again after another `waiting`; `delayed` (seconds): the
///   server is busy; `refused` ({code, message}): before `entered`; `ended` (the server's reason; null: the user left);
/// - the room: `people`, `breakout` (groups in the room), `tiles`, `speaker` (id), `view`, `viewRefused` ({code, retryAfter}), `layoutChosen` ({by, name}: who has changed everyone's picture, and to what), `recording`, `streaming`, `room` (settings), `waitingPeople`, `pinTries` (wrong ones, for moderators), `chat` (message), `chatRefused` ({code, message}: a message that the server did not take),
///   `reaction` ({from, reaction}), `file` ({from, name, bytes, progress, url}), `joins` ({joined, left}: participants);
/// - the user: `consent`: the room is or may be recorded (`recording`, `preRoll`), or is streamed (`streaming`), and nothing is sent until `consent()`; `changed` (what is sent), `role` (role),
///   `hostKey` (key; null: it is good no more): what the user joins with to be the room's host again,
///   `muted`, `asked`, `cameraRests` (whether: the line is too thin for it, and it comes back by itself), `screenStopped`, `videoStopped` and `askedForVideo` (the id of who did it), `keptMuted` (entry, policy: why the microphone stays off), `missing` (kinds of what is sent, 'audio' and 'video', of which nothing arrives at the server), `problem` ({code, …});
/// - the line: `data` (what is saved), `stream`, `connection` (connected, interrupted, broken, reconnecting, moving or lost), `line` (Line.read);
/// - another server: `moving` ({within}: the seconds that this may take), and `moved` ({isSeamless}: the picture and the sound went on).
export class Call extends EventTarget {
  /// `sending`: a Sending with open devices. `server`: the server's origin. `room`, `name`, and optional: `token`, `pin`, `hostKey`, `host` (false: not by being first),
  /// `role`, `layout`, `view`, `recorded` (false: not this user). `isTold`: whether the user knows that the call may be recorded; where it is false, a recorded
  /// room leads to the event `consent`.
  /** @param {import('./sending.js').Sending} sending @param {Record<string, any>} options */
  constructor(sending, { server = new URL(import.meta.url).origin, isTold = true, ...request }) {
    super();
    this.sending = sending;
    this.server = server;
    this.room = request.room;
    this.isTold = isTold;
    this.people = this.makePeople();
    /// What the server tells of breakout groups, with the time at which it came (`at`); null: nothing.
    this.breakout = null;
    /// The picture and the sound of the call, the same object for the whole call.
    this.stream = new MediaStream();
    this.choice = new PictureChoice();
    this.tiles = this.recording = null;
    this.recordings = [];
    /// The names of the views that there are.
    this.views = [];
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
    /// The room's PIN, where it has been typed in this page.
    this.knownPIN = request.pin ?? null;
    /// The room's layout before somebody was put into the spotlight.
    this.layoutBefore = null;
    /** @type {Connection | null} */
    this.connection = null;
    /// The connection whose offer went with the join, until that is answered.
    /** @type {Connection | null} */
    this.proposed = null;
    /// The connection that the call has left in a move.
    /** @type {Connection | null} */
    this.oldConnection = null;
    /// The media of the next server while the call moves there.
    /** @type {import('./moving.js').Successor | null} */
    this.successor = null;
    /** @type {Promise<void> | null} */
    this.prepared = null;
    /** @type {Line | null} */
    this.line = null;
    this.lineTimer = this.awake = null;
    /** @type {Promise<import('./thin-line.js').ThinLine> | null} */
    this.thinLine = null;
    /// What was missing when the event `missing` came last.
    this.toldMissing = '';
    this.channel = new Channel(this);
    this.listeners = new AbortController();
    this.timers = new Map();
    /** @type {Record<string, any>} */
    this.request = { ...request, deltas: true, drawsSigns: true };
    /// The sockets, by their numbers in the session.
    /** @type {Map<number, Signalling>} */
    this.sockets = new Map();
    this.session = new CallSession();
    /// Where the user is: joining, waiting, call, refused or ended.
    this.place = this.session.place;
    this.listen();
    this.act(this.session.start());
  }

  /// Opens the socket of a call that may begin soon: the join then need not wait for it.
  static openAhead(server = new URL(import.meta.url).origin) { openAhead(socketAddress(server)); }

  /// The socket of the call, and the one to the server to which it moves.
  get signalling() { return /** @type {Signalling} */ (this.sockets.get(this.session.current)); }
  get nextSignalling() { return this.sockets.get(this.session.next ?? -1) ?? null; }

  get id() { return this.signalling.id; }
  get me() { return this.people.find(this.id); }
  /// The kinds of what the user sends ('audio', 'video') of which the server has got nothing for some seconds.
  /** @returns {import('./sending-state.js').Kind[]} */
  get missing() { return (this.me?.missing ?? []).filter(kind => this.sending.state.isSent(kind)); }
  /// What the server gets: `audio` is sound, silence or nothing, `video` is pictures or nothing; null before it has said so.
  get received() {
    const { heard, seen } = this.line?.server ?? {};
    return heard && seen ? { audio: heard, video: seen } : null;
  }
  get isModerator() { return this.role === 'moderator'; }
  /// Whether nothing is sent, since the room is recorded and the user has not answered `consent`.
  get isHeld() { return this.sending.isHeld; }
  get isViewer() { return this.role === 'viewer'; }
  /// With a token only moderators and presenters record.
  get mayRecord() { return this.request.token ? ['moderator', 'presenter'].includes(this.role) : !this.isViewer; }
  /// Whether the user may do what the room's hosts can keep to presenters and moderators: share, chat, unmute.
  may(what) { return !this.isViewer && (this.settings[what] !== 'presenters' || ['moderator', 'presenter'].includes(this.role)); }
  /// Whether the user may choose the picture of everyone.
  get mayArrange() { return this.isModerator || !(this.isViewer || this.settings.layoutLocked); }
  /// What shows that a request beside the socket is of this call: the room, the seat's id and its secret.
  get seat() { return { room: this.room, ...this.signalling.resume }; }
  /// The room's layout, and the user's own one, {name, pin}; null: the room's.
  get layout() { return this.choice.layout; }
  get mine() { return this.choice.mine; }
  /// The named view that the user gets.
  get view() { return this.choice.view; }

  emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  listen() {
    /** @type {Record<string, (message: any, isQuiet?: boolean) => void>} */
    this.handlers = {
      answer: message => this.answered(message),
      participants: (message, isQuiet) => this.peopleChanged(() => this.people.take(message), isQuiet),
      participantsChanged: (message, isQuiet) => this.peopleChanged(() => this.people.change(message), isQuiet),
      tiles: message => { this.tiles = message; this.emit('tiles'); },
      speaker: ({ participant }) => { this.people.speaks(participant); this.emit('speaker', participant); },
      layout: message => this.layoutChanged(message),
      recording: message => {
        const one = message.recording === undefined ? message : message.recording;
        this.recordingChanged(one, message.recordings);
      },
      streaming: message => this.streamingChanged(message.streaming),
      chat: message => this.emit('chat', message),
      breakout: message => this.breakoutChanged(message),
      line: message => { if (this.line) this.line.server = message; },
      room: ({ type, ...settings }) => { this.settings = { ...this.settings, ...settings }; this.emit('room'); },
      waiting: ({ people }) => { this.waiting = people; this.emit('waitingPeople'); },
      pinTries: ({ wrong }) => this.emit('pinTries', wrong),
      muted: ({ by, reason }) => {
        this.sending.setAudio(false);
        if (reason) this.emit('keptMuted', reason);
        else this.emit('muted', by);
      },
      asked: ({ action, by }) => this.asked(action, by),
      role: ({ role, hostKey }) => { this.hostKeyChanged(role, hostKey); this.roleChanged(role); },
    };
    const { signal } = this.listeners;
    // Before there is a connection, and while the user waits to be let in, the server knows of nothing.
    this.sending.addEventListener('changed', () => { if (this.connection) this.sendState(); this.emit('changed'); this.tellMissing(); }, { signal });
    this.sending.addEventListener('sharing', () => this.sendPresent(), { signal });
    this.sending.addEventListener('problem', ({ detail }) => this.emit('problem', detail), { signal });
    document.addEventListener('visibilitychange', () => this.stayAwake(), { signal });
    addEventListener('pagehide', () => { this.act(this.session.timer('linger')); this.tell({ type: 'leave', returns: true }, { isLasting: false }); }, { signal });
  }

  /// What the user asks for in the middle of a move is for the server to which the room moves: the other has written down
  /// already what moves with the room.
  send(message) { (this.nextSignalling ?? this.signalling).send(message); }

  /// To one socket, or to all: during a move some see the user by the one server, some by the other.
  tell(message, { only = null, isLasting = true } = {}) {
    for (const each of only ? [only] : [this.signalling, this.nextSignalling]) each?.send(message, isLasting);
  }

  problem(code, error) { this.emit('problem', { code, message: error?.message ?? error }); }

  // ---- What the session asks for

  async told(socket, kind, message) {
    // The connection is made first that another one may replace.
    if (kind === 'moving') await this.begun;
    const isConnected = Boolean(this.connection?.isConnected), isNextConnected = Boolean(this.successor?.connection?.isConnected);
    this.act(this.session.told(socket, kind, message, { isConnected, isNextConnected }));
  }

  /** @param {import('./call-session.js').Action[]} actions */
  act(actions) {
    // First, since what follows may look at the page.
    if (this.place !== this.session.place) {
      this.place = this.session.place;
      this.emit('place', this.place);
    }
    for (const action of actions) /** @type {(action: any) => void} */ (this.actions[action.type])(action);
  }

  /// What each action of the session does here.
  /** @type {import('./call-session.js').Handlers} */
  actions = {
    open: ({ socket, takesSeat, within }) => {
      const signalling = new Signalling(socketAddress(this.server), this.request, takesSeat ? this.signalling : null);
      this.sockets.set(socket, signalling);
      for (const kind of ['joined', 'moving', 'left', 'lost', 'error', ...Object.keys(this.handlers)]) {
        signalling.addEventListener(kind, ({ detail }) => this.told(socket, kind, detail));
      }
      if (socket === 0) signalling.proposal = this.propose(signalling);
      if (!takesSeat) return;
      this.people.expect();
      this.prepared = this.prepareMove(socket, signalling, within);
    },
    connect: async ({ socket }) => {
      if (socket) await this.prepared;
      const signalling = this.sockets.get(socket);
      if (signalling && !signalling.state.isClosed) signalling.open();
    },
    retire: ({ socket }) => this.sockets.get(socket)?.retire(),
    leave: ({ socket }) => this.sockets.get(socket)?.leave(),
    close: ({ socket }) => this.sockets.get(socket)?.close(),
    timer: ({ name, after }) => {
      clearTimeout(this.timers.get(name));
      if (after !== null) this.timers.set(name, setTimeout(() => this.act(this.session.timer(name)), after));
    },
    emit: ({ event, detail }) => {
      // These tell that a connection has been made.
      if (['moved', 'admitted'].includes(event)) Promise.resolve(this.begun).then(() => this.emit(event, detail));
      else this.emit(event, detail);
    },
    take: ({ kind, message, isQuiet }) => this.handlers[kind](message, isQuiet),
    welcome: action => this.welcomed(action),
    history: ({ message }) => this.history(message, false),
    begin: action => { this.begun = this.begin(action); },
    goOn: ({ message }) => { this.begun = this.goOn(message); },
    silence: () => this.silence(),
    prepare: ({ message }) => this.successor?.prepare(message),
    resumeNext: () => this.successor?.connection?.resumed(),
    answerNext: ({ message }) => this.successor?.answered(message),
    arriveNext: ({ kind, message }) => this.successor?.arrived(kind, message),
    use: ({ message }) => this.use(Boolean(message)),
    giveUpNext: ({ socket, mustBegin }) => this.giveUpNext(socket, mustBegin),
    closeOldMedia: () => { this.oldConnection?.close(); this.oldConnection = null; },
    allAreBack: () => this.tellComings([], this.people.settle()),
    refuse: ({ code, message }) => {
      this.listeners.abort();
      this.closeMedia();
      this.sending.refused();
      this.emit('refused', { code, message });
    },
    end: ({ reason, message }) => this.end(reason && { reason, message }),
    trouble: ({ message }) => {
      if (message.about === 'chat') this.emit('chatRefused', message);
      else if (this.choice.isRefused(message.code)) this.emit('viewRefused', message);
      else this.problem(message.code, message);
    },
  };

  /// Takes what a server tells of the room.
  welcomed({ message, isBack, restores }) {
    if (restores) this.choice.restore(message, this.signalling).forEach(each => this.signalling.send(each));
    // With another seat all ids are new ones.
    if (isBack) this.people.expect();
    else this.people.expected.clear();
    this.peopleChanged(() => this.people.take(message), true);
    this.views = message.views ?? [];
    this.choice.take({ ...message, name: message.layout });
    this.settings = message.settings ?? {};
    this.room = message.room;
    this.role = message.you.role ?? this.role;
    this.hostKeyChanged(this.role, message.you.hostKey);
    // The role may have changed while the socket was away.
    if (this.connection && this.isViewer !== this.sending.state.isAudience) this.sending.sit(this.isViewer);
    this.preRoll = message.preRoll ?? 0;
    this.breakoutChanged(message.breakout);
    this.recordingChanged(message.recording, message.recordings);
    this.streamingChanged(message.streaming);
  }

  /// A new seat, and with it a new connection.
  async begin({ message, isFirst }) {
    const isHeld = isFirst && !this.isTold && !this.isViewer && Boolean(message.recording || message.willRecord || message.preRoll || message.streaming);
    // The audience has nothing to send until it comes on stage, and then chooses when.
    this.sending.enter({ isHeld, isAudience: this.isViewer });
    if (isFirst && !this.isViewer && !this.isModerator && (this.settings.muteOnEntry || !this.may('unmute'))) this.comeInMuted();
    const isAnswered = this.connect(message.iceServers ?? []);
    if (isFirst) this.emit('entered', message.room);
    this.emit('seat');
    if (isHeld) this.emit('consent');
    this.history(message, true);
    this.stayAwake();
    this.sendState();
    this.emit('room');
    this.emit('people');
    clearInterval(this.lineTimer);
    this.lineTimer = setInterval(() => this.readLine(), LINE_EVERY);
    if (!isAnswered) await this.connection?.offer();
  }

  /// The server keeps the audio off: what the page shows is the same.
  comeInMuted() {
    const { audio } = this.sending.shown;
    this.sending.setAudio(false);
    if (audio !== 'off') this.emit('keptMuted', this.may('unmute') ? 'entry' : 'policy');
  }

  async answered({ sdp }) {
    // The answer to a join comes before the seat.
    const connection = this.connection ?? this.proposed;
    try {
      await connection?.answered(sdp);
    } catch (error) {
      return this.problem('badAnswer', error);
    }
    if (connection?.owesScreen) this.sendPresent();
    if (connection) connection.owesScreen = false;
  }

  /// The seat and its connection are still there.
  async goOn(message) {
    this.connection?.use(this.signalling);
    this.history(message, false);
    this.sendState();
    // What was said of it on either side may have been lost with the socket.
    if (this.sending.screen) this.sendPresent();
    this.emit('room');
    this.emit('people');
    await this.connection?.resumed();
  }

  /// What is done about a bad line comes while the line has room, else with its first bad moment.
  async readLine() {
    const state = await this.line?.read(this.data);
    if (!state) return;
    this.emit('line', state);
    if (state.provesRoom) import('./moving.js').catch(() => {});
    if (!this.thinLine && !state.provesRoom && state.loss < SOME_LOSS && (state.mayUp ?? ROOMY) >= ROOMY) return;
    try {
      this.thinLine ??= import('./thin-line.js').then(({ ThinLine }) => new ThinLine(this));
      await (await this.thinLine).read(state);
    } catch {
      // It is tried again with the next measurement.
      this.thinLine = null;
    }
  }

  /// The user waits to be let in: the connection of a seat that was lost ends, and nothing is sent.
  silence() {
    clearInterval(this.lineTimer);
    this.closeMedia();
    this.sending.wait();
  }

  closeMedia() {
    this.proposed?.close();
    this.proposed = null;
    this.connection?.close();
    this.connection = this.sending.connection = null;
    this.tiles = null;
  }

  /// Messages of the chat that came before (`isEarlier`), or may have been missed. Each has an id, by which one that is
  /// shown already is known.
  history({ chat }, isEarlier) { for (const message of chat ?? []) this.emit('chat', { ...message, isEarlier }); }

  /// Returns whether the server has answered the offer that went with the join: then there is nothing to be offered.
  connect(iceServers) {
    this.connection?.close();
    this.stream.getTracks().forEach(track => this.stream.removeTrack(track));
    const { proposed, sending } = this, answered = proposed?.isAnswered ? proposed : null;
    this.proposed = null;
    if (!answered) proposed?.close();
    const connection = this.connection = sending.connection = answered ?? this.makeConnection(this.signalling, iceServers);
    this.line = this.makeLine(connection.pc);
    if (!answered) {
      this.channel.open(connection.pc);
      return false;
    }
    // Nothing was sent before the room was known, and nothing shown.
    connection.sendAudio(sending.sentAudio);
    connection.sendVideo(sending.sentVideo);
    this.showTracks(connection);
    connection.useServers(iceServers);
    return true;
  }

  /// Makes the first connection, and returns its offer: with the join it needs no round trip of its own. Nothing is sent by it
  /// until the user is in.
  async propose(signalling) {
    const connection = this.proposed = this.makeConnection(signalling, []);
    this.channel.open(connection.pc);
    try {
      return await connection.propose();
    } catch {
      // The offer after the join tells what is wrong.
      return null;
    }
  }

  makePeople() { return new People(); }
  makeLine(pc) { return new Line(pc); }

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

  /// The next socket is the call's now, and with `hasMedia` its connection.
  use(hasMedia) {
    const next = this.successor;
    next?.finish();
    this.successor = null;
    this.signalling.state.needsSeat = false;
    if (this.connection) this.connection.successor = null;
    if (!hasMedia || !next?.connection) return next?.drop();
    this.oldConnection = this.connection;
    this.connection = this.sending.connection = next.connection;
    if (next.connection.remote.getTracks().length) this.showTracks(next.connection);
    this.line = next.line ?? this.makeLine(next.connection.pc);
    this.channel.take(next.channel);
  }

  /// Most calls move nowhere.
  async prepareMove(socket, signalling, within) {
    try {
      const { Successor } = await import('./moving.js');
      if (!signalling.state.isClosed) this.successor = new Successor(this, socket, signalling, within);
    } catch {
      // Its page may be of another version. The call comes back once the present server ends it.
      this.act(this.session.nextFailed(socket));
    }
  }

  /// What the user has asked of the next server is for the present one after all.
  giveUpNext(socket, mustBegin) {
    this.successor?.close();
    this.successor = null;
    if (this.connection) this.connection.successor = null;
    this.signalling.state.mustBegin = mustBegin;
    for (const message of this.sockets.get(socket)?.state.queue ?? []) this.signalling.send(message);
  }

  leave() { this.act(this.session.leave()); }

  /// `end`: {reason, message}, the server's or an error's; null: the user left.
  end(end) {
    this.listeners.abort();
    clearInterval(this.lineTimer);
    this.channel.close();
    this.closeMedia();
    this.awake?.release();
    this.sending.stop();
    this.emit('ended', end);
  }

  /// Without this, phones turn the screen off in the middle of a call.
  async stayAwake() {
    if (!this.connection || document.visibilityState !== 'visible') return;
    this.awake = await navigator.wakeLock?.request('screen').catch(() => null);
  }

  // ---- What the server tells

  /// `isQuiet`: the list is new, nobody joined or left.
  peopleChanged(change, isQuiet = false) {
    const before = this.people.list;
    const hadHand = this.me?.hand;
    change();
    // A moderator has lowered it.
    if (hadHand && this.me && !this.me.hand && this.sending.hand) this.sending.toggleHand();
    const { joined, left } = this.people.since(before);
    if (!isQuiet) this.tellComings(joined, left);
    this.choice.arrived(this.signalling, id => Boolean(this.people.find(id))).forEach(message => this.signalling.send(message));
    this.emit('people');
    this.tellMissing();
  }

  tellComings(joined, left) { if (joined.length || left.length) this.emit('joins', { joined, left }); }

  tellMissing() {
    const { missing } = this, told = missing.join();
    if (told === this.toldMissing) return;
    this.toldMissing = told;
    this.emit('missing', missing);
  }

  layoutChanged(message) {
    this.choice.take(message);
    this.emit('view');
    if (message.by && message.by !== this.id) this.emit('layoutChosen', { by: message.by, name: message.name });
  }

  recordingChanged(state, all) {
    /// All that run or are paused; `recording` is the one that is shown.
    this.recordings = all ?? (state ? [state] : []);
    this.recording = state && ['recording', 'paused'].includes(state.state) ? state : null;
    this.emit('recording');
  }

  breakoutChanged(message) {
    // Most rooms have no groups.
    if (!message && !this.breakout) return;
    this.breakout = { ...message, at: Date.now() };
    this.emit('breakout');
  }

  streamingChanged(isStreamed) {
    this.streaming = Boolean(isStreamed);
    this.emit('streaming');
  }

  asked(action, by) {
    if (action === 'unmute') this.emit('asked', by);
    if (action === 'video') this.emit('askedForVideo', by);
    if (action === 'stopVideo') {
      this.sending.setVideo(false);
      this.emit('videoStopped', by);
    }
    if (action !== 'stopScreen' || !this.sending.screen) return;
    this.sending.stopScreen();
    this.emit('screenStopped', by);
  }

  /// A key that has not made the user the host is of other hosts' time; who only watches keeps it.
  hostKeyChanged(role, key) {
    const known = this.request.hostKey;
    const kept = key ?? (role === 'moderator' || this.request.role === 'viewer' ? known : null);
    if (kept === known || (!kept && !known)) return;
    this.request.hostKey = kept ?? undefined;
    this.emit('hostKey', kept);
  }

  async roleChanged(role) {
    const wasViewer = this.isViewer;
    this.role = role;
    if (role !== 'moderator') this.waiting = [];
    if (this.isViewer !== wasViewer) await this.sending.sit(this.isViewer);
    this.emit('role', role);
  }

  // ---- What the user wants

  /// Only to one socket, or to all.
  sendPresent(only = null) {
    const { screen, sound } = this.sending;
    this.tell({ type: 'present', on: Boolean(screen), ...(sound ? { audio: true } : {}) }, { only });
  }

  sendState(only = null) {
    const { audio, video, hand } = this.sending;
    // It does not wait for a socket: each seat is told what is so once it is joined.
    this.tell({ type: 'state', audio, video, hand }, { only, isLasting: false });
  }

  /// Sends a message to everyone of the user's group, to one participant, or, of moderators, to all groups.
  chat(text, to, all = false) { this.send({ type: 'chat', text, ...(to ? { to } : {}), ...(all ? { all } : {}) }); }

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
    this.request.recorded = on;
    this.send({ type: 'recorded', on });
  }
  /// Sets a mark in the recording, which becomes a chapter.
  mark(text) { this.send({ type: 'mark', text }); }

  /// `action` of a moderator, with the participant (or who waits) that it concerns, and further fields.
  moderate(action, participant, fields = {}) {
    this.send({ type: 'moderate', action, ...(participant ? { participant } : {}), ...fields });
  }

  /// Shows somebody large to everybody; null: the layout that the room had before.
  spotlight(id) {
    if (id) {
      if (!this.people.list.some(({ pinned }) => pinned)) this.layoutBefore = this.layout;
      this.send({ type: 'layout', scope: 'room', name: 'speaker', pin: [id] });
    } else {
      this.send({ type: 'layout', scope: 'room', name: this.layoutBefore ?? 'grid', pin: [] });
      this.layoutBefore = null;
    }
  }

  /// Changes settings of the room: `locked`, `layoutLocked`, `admit`, `pin`, `muteOnEntry`, `share`, `chat`, `unmute`.
  changeRoom(settings) { this.send({ type: 'room', ...settings }); }

  /// Takes another named view, such as `portrait`. `view` follows, or `viewRefused`, with the time after which to ask
  /// again.
  takeView(name) { this.send(this.choice.ask(name)); }

  /// Chooses the view of this user: `name` with that participant first, or the room's view again.
  ownPicture(name, pinned = null) { this.send(this.choice.choose(name, pinned)); }

  /// Ends the user's own choice: the picture is as everyone sees it.
  commonPicture() { this.send(this.choice.choose(null)); }

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
