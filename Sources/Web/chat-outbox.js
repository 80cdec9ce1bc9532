// What the user has written and sent to the chat, as a value: each text is kept until the server has shown it to all, so
// that a refused one is not lost. It has no element and no clock; times are in ms.

/// The longest message, in bytes of UTF-8. A character has one to four.
export const MOST_BYTES = 8192;
/// The count is shown from this share of it on.
const NEAR = 0.8;
/// A message that was not shown to all after so long has not arrived.
const OVERDUE = 20_000;
/// Messages that wait for the server at most; then the next one stays in the field.
const MOST_PENDING = 20;

const encoder = new TextEncoder();

/** @typedef {{ text: string, to: string, at: number }} Pending */

export class ChatOutbox {
  /** @type {Pending[]} */
  #pending = [];

  /// How long a text is: `isNear` the limit, `isTooLong`.
  measure(text) {
    const bytes = encoder.encode(text).length;
    return { bytes, isNear: bytes > MOST_BYTES * NEAR, isTooLong: bytes > MOST_BYTES };
  }

  /// Takes a text to be sent. Returns whether it may be; otherwise it has to stay where it is.
  send(text, to, now) {
    if (!text || this.measure(text).isTooLong || this.#pending.length >= MOST_PENDING) return false;
    this.#pending.push({ text, to, at: now });
    return true;
  }

  /// The server has shown a message of the user's.
  shown({ text, to }) {
    const index = this.#pending.findIndex(pending => pending.text === text && pending.to === (to ?? ''));
    if (index >= 0) this.#pending.splice(index, 1);
  }

  /// The server has refused a message: the oldest, since it answers in order. Returns it; null: there is none.
  /** @returns {Pending | null} */
  refused() { return this.#pending.shift() ?? null; }

  /// The server can be reached again, and is told what waited: their time begins anew.
  resume(now) { for (const pending of this.#pending) pending.at = now; }

  /// The messages that have not arrived, and will not. Not to be asked while the server cannot be reached: what is to be sent
  /// waits for it then.
  /** @returns {Pending[]} */
  overdue(now) {
    const late = this.#pending.filter(({ at }) => now - at >= OVERDUE);
    this.#pending = this.#pending.filter(({ at }) => now - at < OVERDUE);
    return late;
  }

  /// The call is over. Returns what has not arrived.
  /** @returns {Pending[]} */
  close() { return this.#pending.splice(0); }
}
