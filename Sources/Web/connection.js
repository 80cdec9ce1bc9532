// The media: one RTCPeerConnection with one audio and one video section each way, and one for a screen, for the whole call.

const RESTART_AFTER = 3000;
const ANSWER_WITHIN = 6000;
// The server reports the link once in two seconds at least.
const SILENCE_LIMIT = 5000;
// Bits per second of the camera while a screen is shared: its tile is small, and the screen needs the rest of the link.
const CAMERA_BESIDE_SCREEN = 300_000;

// What the server may send where data is to be saved: enough for a small picture and the sound.
const SAVING_RATE = 200_000;
// What the camera sends then, and how much smaller its picture is.
const SAVING_CAMERA = { maxBitrate: 150_000, scaleResolutionDownBy: 2 };

export class Connection extends EventTarget {
  constructor(signalling, iceServers, { audio, video, screen }) {
    super();
    /// The tracks from the server.
    this.remote = new MediaStream();
    /// The connection that will replace this one, and sends the same.
    this.successor = null;
    /// The screen is presented once the server has this connection's section for it.
    this.owesScreen = Boolean(screen);
    /// Whether the server has answered an offer.
    this.isAnswered = false;
    /// full, less or audio.
    this.data = 'full';
    this.pc = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    const streams = [new MediaStream()];
    this.audio = this.pc.addTransceiver(audio ?? 'audio', { direction: 'sendrecv', streams });
    this.video = this.pc.addTransceiver(video ?? 'video', { direction: 'sendrecv', streams });
    // Negotiated from the start, so that sharing a screen needs no offer.
    this.screen = this.pc.addTransceiver(screen ?? 'video', { direction: 'sendonly', streams: [new MediaStream()] });
    // What the server takes, of H.264 the profile that all have, with packetization mode 1. With all that a browser has an offer is three times as long, and a thin line carries it before any media.
    for (const each of this.pc.getTransceivers()) {
      each.setCodecPreferences?.(RTCRtpReceiver.getCapabilities(each.receiver.track.kind).codecs
        .filter(({ mimeType, sdpFmtpLine }) => /opus|io.red|VP8|AV1|rtx|(?=.*mode=1).*42e0/.test(mimeType + sdpFmtpLine)));
    }
    this.pc.ontrack = ({ track }) => {
      this.remote.addTrack(track);
      this.dispatchEvent(new Event('remote'));
    };
    this.pc.onicecandidate = ({ candidate }) => this.signalling.send({ type: 'candidate', candidate: candidate?.toJSON() ?? null }, false);
    this.pc.onconnectionstatechange = () => this.watch();
    this.onLine = () => this.watchForSilence();
    this.use(signalling);
  }

  /// Signals by another socket from now on.
  use(signalling) {
    if (signalling === this.signalling) return;
    this.signalling?.removeEventListener('line', this.onLine);
    this.signalling = signalling;
    signalling.addEventListener('line', this.onLine);
  }

  get isConnected() { return this.pc.connectionState === 'connected'; }

  /// Sends one offer at a time: further changes are offered after the answer. Without a socket nothing is sent;
  /// `resumed` offers later.
  async offer(options = {}) {
    if (!this.signalling.joined) this.owesRestart ||= options.iceRestart;
    if (this.pc.signalingState === 'closed' || !this.signalling.joined) return;
    if (this.isWaiting) {
      this.next = { ...this.next, ...options };
      return;
    }
    this.signalling.send({ type: 'offer', sdp: await this.propose(options) }, false);
    // A socket can be dead without an event: a missing answer is the sign.
    clearTimeout(this.answerTimer);
    this.answerTimer = setTimeout(() => this.signalling.reopen(), ANSWER_WITHIN);
  }

  /// The offer, which the caller sends.
  async propose(options = {}) {
    this.isWaiting = true;
    await this.pc.setLocalDescription(await this.pc.createOffer(options));
    return this.withCeiling(this.pc.localDescription.sdp);
  }

  /// What the server says of relays after the offer was made: the paths by them are offered behind it.
  useServers(iceServers) {
    if (!iceServers.length) return;
    this.pc.setConfiguration({ ...this.pc.getConfiguration(), iceServers });
    this.offer({ iceRestart: true });
  }

  /// The offer with the most that the server may send (RFC 3890): browsers write no such line.
  withCeiling(sdp) {
    return this.data === 'less' ? sdp.replace(/^m=video .*\r\n(?:c=.*\r\n)?/m, `$&b=TIAS:${SAVING_RATE}\r\n`) : sdp;
  }

  /// `full`; `less`: a smaller picture both ways; `audio`: no picture from the server.
  async saveData(data) {
    if (data === this.data) return;
    this.data = data;
    this.video.direction = data === 'audio' ? 'sendonly' : 'sendrecv';
    await this.limitCamera();
    await Promise.all([this.offer(), this.successor?.saveData(data)]);
  }

  async limitCamera() {
    const parameters = this.video.sender.getParameters();
    for (const encoding of parameters.encodings ?? []) {
      delete encoding.maxBitrate;
      encoding.scaleResolutionDownBy = 1;
      if (this.screen.sender.track) encoding.maxBitrate = CAMERA_BESIDE_SCREEN;
      if (this.data !== 'full') Object.assign(encoding, SAVING_CAMERA);
    }
    // Before the first answer browsers have no parameters to change.
    await this.video.sender.setParameters(parameters).catch(() => {});
  }

  async answered(sdp) {
    clearTimeout(this.answerTimer);
    if (this.pc.signalingState !== 'have-local-offer') return;
    this.isAnswered = true;
    await this.pc.setRemoteDescription({ type: 'answer', sdp });
    if (this.data !== 'full' || this.screen.sender.track) await this.limitCamera();
    this.isWaiting = false;
    const next = this.next;
    this.next = null;
    if (next) await this.offer(next);
  }

  /// The socket is back, and the seat with it: an offer that waited for its answer is lost, and the network path may
  /// have changed.
  async resumed() {
    clearTimeout(this.answerTimer);
    const wasWaiting = this.isWaiting || this.owesRestart;
    this.isWaiting = this.owesRestart = false;
    this.next = null;
    if (wasWaiting || !this.isConnected) await this.offer({ iceRestart: true });
  }

  /// If media goes on while the server is silent, the socket may be dead without an event: a NAT gave this machine another
  /// address, or the machine in between is gone. Without a new socket the server would end the seat.
  watchForSilence() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => { if (this.isConnected) this.signalling.doubt(); }, SILENCE_LIMIT);
  }

  /// A failed path gets new ICE credentials; DTLS and the streams go on. What ended the path may have ended the server.
  watch() {
    const state = this.pc.connectionState;
    this.dispatchEvent(new CustomEvent('state', { detail: state }));
    clearTimeout(this.restart);
    if (state === 'failed' || state === 'disconnected') this.signalling.doubt();
    if (state === 'failed') this.offer({ iceRestart: true });
    else if (state === 'disconnected') this.restart = setTimeout(() => this.offer({ iceRestart: true }), RESTART_AFTER);
  }

  sendAudio(track) { return Promise.all([this.audio.sender.replaceTrack(track), this.successor?.sendAudio(track)]); }

  sendVideo(track) { return Promise.all([this.video.sender.replaceTrack(track), this.successor?.sendVideo(track)]); }

  async sendScreen(track) {
    await Promise.all([this.screen.sender.replaceTrack(track), this.successor?.sendScreen(track)]);
    await this.limitCamera();
  }

  /// What has come from the server: decoded pictures, and packets of audio.
  async received() {
    const entries = [...(await this.pc.getStats()).values()].filter(({ type }) => type === 'inbound-rtp');
    const of = kind => entries.find(entry => entry.kind === kind);
    return { pictures: of('video')?.framesDecoded ?? 0, packets: of('audio')?.packetsReceived ?? 0 };
  }

  close() {
    clearTimeout(this.restart);
    clearTimeout(this.answerTimer);
    clearTimeout(this.silence);
    this.signalling.removeEventListener('line', this.onLine);
    this.pc.onconnectionstatechange = null;
    this.pc.close();
  }
}
