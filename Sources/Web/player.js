// Plays a room's HLS stream with little delay: reads the playlist, fetches its parts as they are made, and gives them to
// a MediaSource. Knows no element but its video.

/// Seconds from the newest media to the picture: two parts, so that one may be late.
const DELAY = 1.1;
/// Played faster above the first, skipped above the second.
const TOO_LATE = 0.7, FAR_TOO_LATE = 2.5;
/// Seconds of played media that stay.
const KEPT = 20;
const RETRY = 1500;
const pause = time => new Promise(done => { setTimeout(done, time); });

/// The segments of a media playlist: {number, header, isDiscontinuous, date, url, parts: [{url, isIndependent, duration}]}; the last
/// one may have no `url` yet.
export function parse(text, base) {
  const lines = text.split('\n').map(line => line.trim()).filter(Boolean);
  if (lines[0] !== '#EXTM3U') throw new Error('no playlist');
  const url = name => new URL(name, base).href;
  const attribute = (line, name) => line.match(new RegExp(`[:,]${name}=(?:"([^"]*)"|([^,]*))`))?.slice(1).find(value => value !== undefined);
  const segments = [];
  let number = 0, header = null, isEnded = false;
  const open = () => ({ number: number++, header, parts: [] });
  /** @type {any} */
  let next = null;
  const current = () => (next ??= open());
  for (const line of lines) {
    if (line.startsWith('#EXT-X-MEDIA-SEQUENCE:')) number = Number(line.split(':')[1]);
    else if (line.startsWith('#EXT-X-MAP:')) {
      header = url(attribute(line, 'URI'));
      if (next) next.header = header;
    } else if (line === '#EXT-X-DISCONTINUITY') current().isDiscontinuous = true;
    else if (line.startsWith('#EXT-X-PROGRAM-DATE-TIME:')) current().date = Date.parse(line.slice(25));
    else if (line.startsWith('#EXT-X-PART:')) {
      current().parts.push({
        url: url(attribute(line, 'URI')), isIndependent: attribute(line, 'INDEPENDENT') === 'YES', duration: Number(attribute(line, 'DURATION')),
      });
    } else if (line === '#EXT-X-ENDLIST') isEnded = true;
    else if (!line.startsWith('#')) {
      current().url = url(line);
      segments.push(next);
      next = null;
    }
  }
  if (next?.parts.length) segments.push(next);
  return { segments, isEnded };
}

/// `refused` of a request: {status, code, message}.
class Refused extends Error {
  constructor(status, { code = '', message = `HTTP ${status}` } = {}) {
    super(message);
    Object.assign(this, { status, code });
  }
}

async function get(url, signal, headers) {
  const answer = await fetch(url, { signal, headers });
  if (!answer.ok) throw new Refused(answer.status, (await answer.json().catch(() => ({}))).error);
  return answer;
}

export class Player extends EventTarget {
  /// Events: `state` (detail: `waiting`, `playing`), `refused` (detail: {status, code, message}; the player has stopped).
  constructor(video, url) {
    super();
    this.video = video;
    this.url = url;
    this.end = new AbortController();
  }

  /// Whether this browser can play the stream by a script; if not, `video.src` may do.
  static get isPossible() { return 'MediaSource' in window && MediaSource.isTypeSupported('video/mp4; codecs="avc1.42c01f,mp4a.40.2"'); }

  stop() { this.end.abort(); }
  tell(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  /// The milliseconds since what is seen now was composed, by the clocks of both machines; null: not known.
  get delay() { return this.clock ? Date.now() - this.clock(this.video.currentTime) : null; }

  async run() {
    const { signal } = this.end;
    while (!signal.aborted) {
      try {
        this.tell('state', 'waiting');
        const index = await get(this.url, signal);
        const text = await index.text();
        const codecs = text.match(/CODECS="([^"]*)"/)?.[1];
        const playlist = text.split('\n').find(line => line && !line.startsWith('#'));
        await this.play(new URL(playlist, index.url).href, `video/mp4; codecs="${codecs}"`);
      } catch (error) {
        if (signal.aborted) return;
        // The room's doors are closed to us; everything else may pass.
        if ([401, 403, 409].includes(error.status)) return this.tell('refused', error);
      }
      await pause(RETRY);
    }
  }

  /// Plays one stream to its end.
  async play(url, type) {
    const source = new MediaSource();
    this.video.src = URL.createObjectURL(source);
    await new Promise(done => { source.onsourceopen = done; });
    URL.revokeObjectURL(this.video.src);
    const buffer = source.addSourceBuffer(type);
    const timer = setInterval(() => this.keepUp(buffer), 250);
    this.clock = null;
    this.isStarted = false;
    try {
      await this.follow(url, buffer);
    } finally {
      clearInterval(timer);
      this.clock = null;
      if (source.readyState === 'open') source.endOfStream();
    }
  }

  async follow(url, buffer) {
    const { signal } = this.end;
    let header = null, place = null;
    while (!signal.aborted) {
      // Whoever pauses fetches nothing, and goes on with what is new then.
      while (this.video.paused && this.isStarted && !signal.aborted) {
        await pause(250);
        place = null;
      }
      const wanted = new URL(url);
      wanted.searchParams.set('_HLS_msn', place?.number ?? 0);
      wanted.searchParams.set('_HLS_part', place?.part ?? 0);
      const text = await get(wanted, signal).then(answer => answer.text(), error => {
        if (error.status !== 503) throw error;
        // Nothing has come for a while: nobody is in the room.
        this.tell('state', 'waiting');
        return '#EXTM3U';
      });
      const { segments, isEnded } = parse(text, url);
      if (!segments.length && !isEnded) await pause(RETRY);
      place ??= this.start(segments);
      for (const segment of segments) {
        if (!place || segment.number < place.number) continue;
        // Parts of old segments are not listed any more.
        const pieces = segment.parts.length ? segment.parts.slice(segment.number === place.number ? place.part : 0).map(part => part.url) : [segment.url];
        for (const piece of pieces) {
          // Both at once: a header is needed at the beginning only.
          const [first, data] = await Promise.all([
            segment.header === header ? null : get(segment.header, signal).then(answer => answer.arrayBuffer()),
            get(piece, signal).then(answer => answer.arrayBuffer()),
          ]);
          header = segment.header;
          const date = piece === segment.parts[0]?.url || piece === segment.url ? segment.date : null;
          await this.append(buffer, first, data, date);
        }
        place = segment.url ? { number: segment.number + 1, part: 0 } : { number: segment.number, part: segment.parts.length };
      }
      if (isEnded) return;
    }
  }

  /// The part to begin with: the newest that needs no other and has media for the delay behind it.
  start(segments) {
    let behind = 0, found = null;
    for (const segment of [...segments].reverse()) {
      for (const [part, { isIndependent, duration }] of [...segment.parts.entries()].reverse()) {
        behind += duration;
        if (isIndependent) found = { number: segment.number, part };
        if (found && behind >= DELAY) return found;
      }
    }
    return found ?? (segments.length ? { number: segments[0].number, part: 0 } : null);
  }

  /// - `date`: the wall clock at the beginning of the data, in milliseconds; null: not known.
  async append(buffer, header, data, date) {
    const put = bytes => new Promise((done, fail) => {
      buffer.onupdateend = done;
      buffer.onerror = () => fail(new Error('the media cannot be read'));
      buffer.appendBuffer(bytes);
    });
    if (header) await put(header);
    const before = buffer.buffered.length ? buffer.buffered.end(buffer.buffered.length - 1) : -1;
    if (data.byteLength) await put(data);
    if (date && buffer.buffered.length) {
      const last = buffer.buffered.length - 1;
      const start = Math.max(before, buffer.buffered.start(last));
      this.clock = time => date + (time - start) * 1000;
    }
    const old = this.video.currentTime - KEPT;
    if (buffer.buffered.length && buffer.buffered.start(0) < old - KEPT) {
      await new Promise(done => { buffer.onupdateend = done; buffer.remove(0, old); });
    }
  }

  /// Keeps the picture at the delay: begins, plays a little faster, or skips.
  keepUp(buffer) {
    const { video } = this;
    const { buffered } = buffer;
    if (!buffered.length) return;
    const last = buffered.length - 1;
    const behind = buffered.end(last) - video.currentTime;
    const isInside = video.currentTime >= buffered.start(last);
    if (video.paused && this.isStarted) return;
    if (!isInside || behind > FAR_TOO_LATE) {
      const target = Math.max(buffered.start(last), buffered.end(last) - DELAY);
      if (!isInside || target > video.currentTime) video.currentTime = target;
    }
    video.playbackRate = behind > DELAY + TOO_LATE ? 1.08 : 1;
    if (!this.isStarted) {
      this.isStarted = true;
      video.play().catch(() => {});
    }
    this.tell('state', video.readyState > 2 ? 'playing' : 'waiting');
  }
}
