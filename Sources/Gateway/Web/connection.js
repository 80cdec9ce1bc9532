// The media: one RTCPeerConnection with one audio and one video section each way, for the whole call.

export class Connection extends EventTarget {
  constructor(signalling, iceServers, stream) {
    super();
    this.signalling = signalling;
    this.pc = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    this.remote = new MediaStream();
    const streams = [new MediaStream()];
    const audio = stream.getAudioTracks()[0];
    const video = stream.getVideoTracks()[0];
    this.audio = this.pc.addTransceiver(audio ?? 'audio', { direction: 'sendrecv', streams });
    this.video = this.pc.addTransceiver(video ?? 'video', { direction: 'sendrecv', streams });
    this.pc.ontrack = ({ track }) => {
      this.remote.addTrack(track);
      this.dispatchEvent(new Event('remote'));
    };
    this.pc.onicecandidate = ({ candidate }) => signalling.send({ type: 'candidate', candidate: candidate?.toJSON() ?? null });
    this.pc.onconnectionstatechange = () => this.watch();
  }

  async offer(options = {}) {
    await this.pc.setLocalDescription(await this.pc.createOffer(options));
    this.signalling.send({ type: 'offer', sdp: this.pc.localDescription.sdp });
  }

  async answered(sdp) {
    if (this.pc.signalingState === 'have-local-offer') await this.pc.setRemoteDescription({ type: 'answer', sdp });
  }

  /// A way that failed gets new ICE credentials; DTLS and the streams go on.
  watch() {
    const state = this.pc.connectionState;
    this.dispatchEvent(new CustomEvent('state', { detail: state }));
    clearTimeout(this.restart);
    if (state === 'failed') this.offer({ iceRestart: true });
    else if (state === 'disconnected') this.restart = setTimeout(() => this.offer({ iceRestart: true }), 3000);
  }

  sendAudio(track) { return this.audio.sender.replaceTrack(track); }

  async sendVideo(track, isScreen = false) {
    if (track) track.contentHint = isScreen ? 'detail' : 'motion';
    await this.video.sender.replaceTrack(track);
  }

  close() {
    clearTimeout(this.restart);
    this.pc.close();
  }
}
