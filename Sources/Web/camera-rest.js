// When the user's own camera rests, as a value: what the line may carry up goes in, each second. A line that carries little
// more than the sound has nothing to give to a picture, and the sound comes first.

/// Below this many bits a second, for so many seconds, the camera rests: the sound alone takes some sixty thousand.
const THIN = 90_000;
const PATIENCE = 6;
/// After so many seconds it is tried again. Each try that fails doubles the time, up to the longest.
const FIRST_REST = 30;
const LONGEST_REST = 240;
/// A camera that was sent for so many seconds was no failure.
const LASTING = 30;

export class CameraRest {
  #isResting = false;
  /// For how many seconds it has rested, or been sent.
  #seconds = 0;
  #thinSeconds = 0;
  #next = FIRST_REST;
  #length = 0;

  /// Takes a second's reading and returns whether the camera rests. `carries`: what the line may carry up, bit/s; null where
  /// the browser does not say. `isWanted`: the user wants the camera to be sent.
  /** @param {{ carries: number | null, isWanted: boolean }} reading */
  read({ carries, isWanted }) {
    this.#seconds += 1;
    if (!isWanted) {
      // Who switches it on again tries it.
      this.#change(false);
    } else if (this.#isResting) {
      if (this.#seconds >= this.#length) this.#change(false);
    } else {
      if (this.#seconds >= LASTING) this.#next = FIRST_REST;
      this.#thinSeconds = carries !== null && carries < THIN ? this.#thinSeconds + 1 : 0;
      if (this.#thinSeconds >= PATIENCE) {
        this.#length = this.#next;
        this.#next = Math.min(this.#next * 2, LONGEST_REST);
        this.#change(true);
      }
    }
    return this.#isResting;
  }

  #change(isResting) {
    if (isResting === this.#isResting) return;
    this.#isResting = isResting;
    this.#seconds = this.#thinSeconds = 0;
  }
}
