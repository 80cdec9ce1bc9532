// What the page does for the sound on a link that loses packets, as a value: the losses of each second go in. The server
// sends each packet several times then, some packets later; the browser has to wait for them, and to send so itself.

/// From this loss on sound is protected, and no more below that one.
const LOSSY = 0.08;
const CLEAN = 0.03;
/// The weight of a second's loss: a second has fifty packets of sound, of which some are lost by chance.
const WEIGHT = 0.3;
/// How long the playout waits, ms: the last copy of a packet comes four packets of 20 ms, or two of 40 ms, after it.
const PATIENCE = 140;

export class SoundProtection {
  #down = new SmoothLoss();
  #up = new SmoothLoss();

  /// Returns how long the playout is to wait at least, ms (null: as the browser likes), and whether packets are to carry
  /// earlier ones (RFC 2198).
  /** @param {{ lossDown: number | null, lossUp: number | null }} losses 0 to 1; null where nothing is known */
  read({ lossDown, lossUp }) {
    return { wait: this.#down.isHigh(lossDown) ? PATIENCE : null, copies: this.#up.isHigh(lossUp) };
  }
}

class SmoothLoss {
  #mean = 0;
  #isHigh = false;

  /** @param {number | null} loss */
  isHigh(loss) {
    if (loss === null) return this.#isHigh;
    this.#mean += (loss - this.#mean) * WEIGHT;
    this.#isHigh = this.#mean >= (this.#isHigh ? CLEAN : LOSSY);
    return this.#isHigh;
  }
}
