// The sound of a shared tab.

/// Mixes the sound of a shared tab with the microphone, since a call has one audio section.
export class TabSound {
  constructor(track) {
    this.tab = track;
    this.context = new AudioContext();
    this.output = this.context.createMediaStreamDestination();
    this.context.createMediaStreamSource(new MediaStream([track])).connect(this.output);
    this.microphone = this.microphoneTrack = null;
  }

  /// What is sent: the tab, and the microphone where there is one.
  get track() { return this.output.stream.getAudioTracks()[0]; }

  setMicrophone(track) {
    if (track === this.microphoneTrack) return;
    this.microphoneTrack = track;
    this.microphone?.disconnect();
    this.microphone = track ? this.context.createMediaStreamSource(new MediaStream([track])) : null;
    this.microphone?.connect(this.output);
  }

  close() {
    this.tab.stop();
    this.context.close();
  }
}
