// What the user's own side does about a bad line, as a value: a measurement of the line goes in each second, and what is to
// be done comes out. Each thing is given up after some seconds, and taken back more slowly. Rates are in kbit/s, times in ms.

/// The way up carries no camera: speech and its headers have 50, and browsers send no picture in less than 30.
const THIN = 90, ROOMY = 150;
/// Nor where it loses so much beside little room: a full queue's loss, which the browser's own measure is slow to believe.
const CROWDED = 130, CROWDED_LOSS = 0.12;
/// So long a round trip (s) beside loss is the queue of a router that holds what does not fit: the browser's own measure takes
/// a queue that stands for the line.
const QUEUED = 0.8, QUEUED_LOSS = 0.02;
/// Chromium sends a picture and speech in no less than 92, also where the line carries less. It has come to that where the way
/// carries more, too, until the queue of the old rate is gone: by then reports that are so late (s) tell of a line that is full.
const LEAST = 100, LATE = 0.4;
const THIN_FOR = 5000;
/// So long the camera rests first. It is tried again after that, since nothing else tells what the way carries; each time in
/// vain it rests twice as long.
const REST = 30_000, LONGEST_REST = 300_000;
/// A camera that was sent for so long was not in vain.
const PROVEN = 60_000;
/// Parts that are lost, of the last ten seconds or so. Speech goes up twice from the first on.
const COPIES = 0.03, NO_COPIES = 0.01;
/// From here on the server sends speech four times, the last time 80 ms later, on thin lines 180: browsers wait for no copy by
/// themselves.
const WAIT = 0.1, NO_WAIT = 0.04;
const WAITED = 140;
/// What is taken back was good for so long.
const CALM = 30_000;
/// The rate of speech where the way up is thin; null: the browser's own.
const THIN_SPEECH = 16;

/**
 * @typedef {{ lossUp: number | null, lossDown: number | null, mayUp: number | null, roundTrip?: number | null }} Line
 *   `mayUp`: what the way up carries, null: not known
 * @typedef {{ rests: boolean, hasCopies: boolean, wait: number | null, speech: number | null }} Plan
 *   `rests`: the camera is not sent; `hasCopies`: speech goes up twice; `wait`: for the sound from the server, ms, null: as the
 *   browser likes; `speech`: the most that speech may take.
 */

/// True at once after `on`, false again only after a calm while.
class Slow {
  isOn = false;
  /** @type {number | null} */
  #calmSince = null;

  /** @param {boolean} on @param {boolean} off @param {number} at */
  update(on, off, at) {
    if (on) this.isOn = true;
    if (!off || on) this.#calmSince = null;
    else this.#calmSince ??= at;
    if (this.#calmSince !== null && at - this.#calmSince >= CALM) this.isOn = false;
    return this.isOn;
  }
}

export class ThinLineState {
  #lossUp = 0;
  #lossDown = 0;
  /** @type {number | null} */
  #thinSince = null;
  /// Since when the browser sends the least that it can.
  /** @type {number | null} */
  #leastSince = null;
  #shortestTrip = Infinity;
  #copies = new Slow();
  #waits = new Slow();
  #isThin = new Slow();
  /// Null: the camera does not rest.
  /** @type {number | null} */
  #restsSince = null;
  #rest = REST;
  /// When the camera was last taken back, by itself or by the user.
  #isBackSince = -Infinity;
  /// The user has switched the camera on while it rested.
  #isInsisted = false;

  /// `isResting`: whether the camera does rest. Where it does not though this has said so, the user has switched it on.
  /** @param {Line} line @param {{ isSent: boolean, isResting: boolean }} camera @param {number} at @returns {Plan} */
  read(line, camera, at) {
    if (line.lossUp !== null) this.#lossUp += 0.1 * (line.lossUp - this.#lossUp);
    if (line.lossDown !== null) this.#lossDown += 0.1 * (line.lossDown - this.#lossDown);
    const isQueued = (line.roundTrip ?? 0) >= QUEUED && this.#lossUp >= QUEUED_LOSS;
    const isRoomy = !isQueued && (line.mayUp === null || line.mayUp >= ROOMY);
    const isThin = isQueued || (line.mayUp !== null && line.mayUp < (this.#lossUp >= CROWDED_LOSS ? CROWDED : THIN));
    this.#thinSince = isThin ? this.#thinSince ?? at : null;
    this.#leastSince = line.mayUp !== null && line.mayUp < LEAST ? this.#leastSince ?? at : null;
    const lasts = since => since !== null && at - since >= THIN_FOR;
    const trip = line.roundTrip ?? 0;
    if (trip > 0) this.#shortestTrip = Math.min(this.#shortestTrip, trip);
    const isThinNow = lasts(this.#thinSince) || (lasts(this.#leastSince) && trip - this.#shortestTrip >= LATE);
    this.#judgeCamera(camera, isThinNow, at);
    const rests = this.#restsSince !== null;
    const isLossy = this.#copies.update(this.#lossUp >= COPIES, this.#lossUp < NO_COPIES, at);
    return {
      rests,
      // Copies beside a camera would fill a thin way up, and lose more.
      hasCopies: isLossy && (rests || isRoomy),
      wait: this.#waits.update(this.#lossDown >= WAIT, this.#lossDown < NO_WAIT, at) ? WAITED : null,
      speech: this.#isThin.update(isThinNow, isRoomy, at) ? THIN_SPEECH : null,
    };
  }

  #judgeCamera({ isSent, isResting }, isThin, at) {
    if (this.#restsSince !== null) {
      if (!isResting) this.#takeBack(at, isSent);
      else if (at - this.#restsSince >= this.#rest) this.#takeBack(at, false);
      return;
    }
    // What is not sent can neither rest nor prove anything.
    if (!isSent) {
      this.#isInsisted = false;
      return;
    }
    if (at - this.#isBackSince >= PROVEN) this.#rest = REST;
    if (!isThin || this.#isInsisted) return;
    // Taken back a short while ago, in vain.
    if (at - this.#isBackSince < PROVEN) this.#rest = Math.min(LONGEST_REST, this.#rest * 2);
    this.#restsSince = at;
  }

  #takeBack(at, isInsisted) {
    this.#restsSince = this.#thinSince = null;
    this.#isBackSince = at;
    this.#isInsisted = isInsisted;
  }
}
