// What the user's own side does about a bad line: the camera rests, speech goes up twice and in less, and the sound from the
// server is waited for. `ThinLineState` decides. The script comes with the first bad moment of a line.

import { ThinLineState } from './thin-line-state.js';

const COPIES = 'audio/red';

export class ThinLine {
  /** @param {import('./call.js').Call} call */
  constructor(call) {
    this.call = call;
    this.state = new ThinLineState();
    /// The connection that has what was planned last, and that.
    this.connection = null;
    this.done = '';
    /// The connections that send speech twice.
    /** @type {WeakSet<import('./connection.js').Connection>} */
    this.copied = new WeakSet();
  }

  /// Does what a measurement of the line (`Line.read`) asks for.
  async read({ lossUp, lossDown, mayUp, roundTrip }) {
    // A browser takes the way up to carry no more than the server asks for, which is little where no view shows the camera.
    const asked = (this.call.line?.server?.asked ?? Infinity) / 1000;
    if (mayUp !== null && mayUp > 0.9 * asked) mayUp = null;
    const { sending, connection } = this.call, camera = { isSent: sending.video, isResting: sending.state.isResting };
    const { rests, wait, speech, hasCopies } = this.state.read({ lossUp, lossDown, mayUp, roundTrip }, camera, performance.now());
    if (rests !== sending.state.isResting) {
      await sending.rest(rests);
      if (rests === sending.state.isResting) this.call.emit('cameraRests', rests);
    }
    const planned = JSON.stringify([wait, speech, hasCopies]);
    if (!connection || (connection === this.connection && planned === this.done)) return;
    // Browsers without it play as they like.
    if ('jitterBufferTarget' in RTCRtpReceiver.prototype) /** @type {any} */ (connection.audio.receiver).jitterBufferTarget = wait;
    const isLimited = await limitSpeech(connection.audio.sender, speech);
    await this.copySpeech(connection, hasCopies);
    // What the browser refused is tried again with the next measurement.
    this.connection = connection;
    this.done = isLimited ? planned : '';
  }

  /// What the offer names first is what the browser sends: an offer tells the server of a change.
  /** @param {import('./connection.js').Connection} connection @param {boolean} isOn */
  async copySpeech(connection, isOn) {
    const codecs = (RTCRtpReceiver.getCapabilities?.('audio')?.codecs ?? []).filter(({ mimeType }) => /opus|red/.test(mimeType));
    const copies = codecs.find(({ mimeType }) => mimeType.toLowerCase() === COPIES);
    const before = this.copied.has(connection);
    if (!copies || isOn === before) return;
    if (isOn) this.copied.add(connection);
    else this.copied.delete(connection);
    connection.audio.setCodecPreferences(isOn ? [copies, ...codecs.filter(codec => codec !== copies)] : codecs);
    await connection.offer();
  }
}

/// `rate`: the most that speech may take, in kbit/s; null: as the browser likes. Returns whether the browser takes it.
/** @param {RTCRtpSender} sender @param {number | null} rate */
async function limitSpeech(sender, rate) {
  const parameters = sender.getParameters();
  for (const encoding of parameters.encodings ?? []) {
    delete encoding.maxBitrate;
    if (rate) encoding.maxBitrate = rate * 1000;
  }
  // Before the first answer browsers have no parameters to change.
  return sender.setParameters(parameters).then(() => true, () => false);
}
