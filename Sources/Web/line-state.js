// The state of the link as a value: the browser's counters and the server's words go in, a judgement comes out that is
// true of this moment. It has no connection and no clock; times are in ms.

/// Nothing at all has arrived for so long: the link, or the server, is gone.
const SILENT = 2000;
/// No picture was decoded for so long though the server sends at least one a second.
const FROZEN = 2500;
/// The pictures that a slow link gets now and then come every 7 s at least; without any for so long they stand still too.
const FROZEN_STILLS = 18_000;
/// A report of the other side about what it receives is not true any more after so long. Reports come each second or so.
const OLD = 5000;
/// A freeze of this length that has just ended is told, s.
const FREEZE = 0.3;
/// What is needed on a bad line is fetched while it has room: after so many good readings, where each way carries so much,
/// kbit/s.
const PROVEN = 10, ROOM = 300;

/**
 * @typedef {{ at: number, down: number, up: number, lost: number, received: number, alive: number, frozen: number, decoded: number }} Counters
 *   of all that was received and sent so far: bytes, packets; `alive` has whatever arrives, `decoded` pictures.
 * @typedef {Record<string, any>} Figures of this moment
 * @typedef {{ isConnected: boolean, data: string }} Circumstances `data`: what the user saves (full, less or audio)
 */

export class LineState {
  /** @type {Counters | null} */
  #before = null;
  #aliveAt = 0;
  #pictureAt = 0;
  #wasSilent = false;
  #goodReadings = 0;
  /** @type {Record<string, any> | null} */
  #server = null;
  #serverAt = 0;

  /// The last report of the server; null once it is not true any more.
  get server() { return this.#server; }

  /// The server reports what has changed, as rates do each second.
  /** @param {Record<string, any>} message @param {number} at */
  served(message, at) {
    this.#server = message;
    this.#serverAt = at;
  }

  /// Returns {quality: good|fair|poor, code, loss, down, up, lossDown, lossUp, roundTrip, mayUp, …figures, estimate, reason,
  /// provesRoom}: rates in kbit/s, losses 0 to 1, the round trip in seconds; null where nothing is known. `provesRoom`: with this
  /// reading the line has been good for long enough. Null until there are two readings.
  /** @param {Counters} now @param {Figures} figures @param {Circumstances} circumstances */
  read(now, figures, circumstances) {
    const before = this.#before;
    this.#before = now;
    if (!before || now.alive !== before.alive) this.#aliveAt = now.at;
    if (!before || now.decoded !== before.decoded || !this.#expectsPictures(circumstances)) this.#pictureAt = now.at;
    if (!before || now.at <= before.at) return null;
    const seconds = (now.at - before.at) / 1000;
    const rate = key => Math.max(0, Math.round((now[key] - before[key]) * 8 / seconds / 1000));
    const isSilent = !circumstances.isConnected || now.at - this.#aliveAt >= SILENT;
    // What the server said of a link that is gone was about another time. It says it anew.
    if (isSilent) this.#server = null;
    // The first packets after a silence tell what was lost in it, which is told already.
    const isBack = this.#wasSilent && !isSilent;
    this.#wasSilent = isSilent;
    const lost = isBack ? 0 : now.lost - before.lost, received = now.received - before.received;
    const lossDown = isSilent ? null : Math.max(0, lost) / Math.max(1, lost + received);
    const { lossUp, roundTrip } = isSilent || !(figures.reportAge <= OLD) ? { lossUp: null, roundTrip: null } : figures;
    const loss = Math.max(lossDown ?? 0, lossUp ?? 0);
    const froze = isBack || now.frozen - before.frozen > FREEZE;
    const judgement = this.#judge(now, loss, froze, isSilent, circumstances);
    const estimate = this.#server?.estimate && now.at - this.#serverAt <= OLD ? Math.round(this.#server.estimate / 1000) : null;
    // A browser measures no more of the way up than the server asks it to send.
    const needed = Math.min(ROOM, 0.9 * (this.#server?.asked ?? Infinity) / 1000);
    const isGood = judgement.quality === 'good' && (estimate ?? ROOM) >= ROOM && (figures.mayUp ?? ROOM) >= needed;
    this.#goodReadings = isGood ? this.#goodReadings + 1 : 0;
    return {
      ...judgement, ...figures, loss, lossDown, lossUp, roundTrip,
      framesPerSecond: isSilent || this.#isFrozen(now) ? 0 : figures.framesPerSecond ?? null, down: rate('down'), up: rate('up'),
      estimate, reason: this.#server?.reason || null, provesRoom: this.#goodReadings === PROVEN,
      mayUp: isSilent ? null : figures.mayUp ?? null, heard: this.#server?.heard ?? null, seen: this.#server?.seen ?? null, forwarded: this.#server?.forwarded,
    };
  }

  get #mode() { return this.#server?.mode ?? (this.#server?.rung === 0 ? 'stills' : 'full'); }

  /// Whether the server sends pictures, as far as it has said anything.
  #expectsPictures({ data }) { return data !== 'audio' && this.#server !== null && this.#mode !== 'audio' && (this.#mode === 'stills' || this.#server.rung !== 0); }

  #isFrozen(now) { return now.at - this.#pictureAt >= (this.#mode === 'stills' ? FROZEN_STILLS : FROZEN); }

  #judge(now, loss, froze, isSilent, { isConnected, data }) {
    const mode = this.#mode, reason = this.#server?.reasonCode;
    if (!isConnected) return { quality: 'poor', code: 'gone' };
    if (isSilent) return { quality: 'poor', code: 'silent' };
    if (this.#isFrozen(now)) return { quality: 'poor', code: 'frozen' };
    if (mode === 'audio') return { quality: 'poor', code: 'audio' };
    if (mode === 'stills') return { quality: 'poor', code: 'stills' };
    if (loss > 0.08) return { quality: 'poor', code: 'bad' };
    if (froze) return { quality: 'fair', code: 'froze' };
    if (loss > 0.02) return { quality: 'fair', code: 'loss' };
    if (mode !== 'reduced' || !this.#expectsPictures({ data })) return { quality: 'good', code: 'good' };
    // The user has asked for a small picture.
    if (data === 'less') return { quality: 'good', code: 'less' };
    if (reason === 'server_busy') return { quality: 'fair', code: 'busy' };
    if (reason === 'line_worse') return { quality: 'fair', code: 'reduced' };
    // The call, or a better link, has just begun.
    return { quality: 'good', code: 'climbing' };
  }
}
