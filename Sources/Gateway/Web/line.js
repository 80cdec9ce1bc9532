// The state of the link in plain words, from the browser's own counters and the server's reports about the picture.

export class Line {
  constructor(pc) {
    this.pc = pc;
    this.before = null;
    this.server = null;
  }

  /// {quality: good|fair|poor, words, spoken, details: [[name, value]]}; null until there are two readings.
  async read() {
    const now = { at: performance.now(), down: 0, up: 0, lost: 0, received: 0, frozen: 0 };
    let lostUp = 0, roundTrip = null, frame = null, framesPerSecond = null, codec = null;
    const report = await this.pc.getStats();
    for (const entry of report.values()) {
      if (entry.type === 'inbound-rtp') {
        now.down += entry.bytesReceived;
        now.lost += entry.packetsLost;
        now.received += entry.packetsReceived;
        if (entry.kind === 'video') {
          now.frozen = entry.totalFreezesDuration ?? 0;
          if (entry.frameWidth) frame = `${entry.frameWidth} × ${entry.frameHeight}`;
          framesPerSecond = entry.framesPerSecond;
          codec = report.get(entry.codecId)?.mimeType?.split('/')[1];
        }
      } else if (entry.type === 'outbound-rtp') now.up += entry.bytesSent;
      else if (entry.type === 'remote-inbound-rtp') {
        lostUp = Math.max(lostUp, entry.fractionLost ?? 0);
        if (entry.roundTripTime) roundTrip = entry.roundTripTime;
      }
    }
    const before = this.before;
    this.before = now;
    if (!before) return null;
    const seconds = (now.at - before.at) / 1000;
    const rate = key => Math.max(0, Math.round((now[key] - before[key]) * 8 / seconds / 1000));
    const lost = now.lost - before.lost, received = now.received - before.received;
    const lossDown = Math.max(0, lost) / Math.max(1, lost + received);
    const loss = Math.max(lossDown, lostUp);
    const down = rate('down'), up = rate('up');
    const froze = now.frozen - before.frozen > 0.3;
    const mode = this.server?.mode ?? (this.server?.rung === 0 ? 'stills' : 'full');
    let quality = 'good', words = 'Good line';
    const isBusy = mode !== 'full' && this.server?.reasonCode === 'server_busy';
    if (isBusy) [quality, words] = ['fair', 'The server is busy: smaller picture'];
    else if (mode === 'audio') [quality, words] = ['poor', 'Very slow line: sound only'];
    else if (mode === 'stills') [quality, words] = ['poor', 'Slow line: sound and still pictures'];
    else if (loss > 0.08) [quality, words] = ['poor', `Bad line: ${percent(loss)} lost`];
    else if (froze) [quality, words] = ['fair', 'The picture stopped for a moment'];
    else if (loss > 0.02) [quality, words] = ['fair', `Some loss: ${percent(loss)}`];
    else if (mode === 'reduced') [quality, words] = ['fair', 'Slower line: smaller picture'];
    return {
      quality, words: `${words} · ↓ ${down} ↑ ${up} kbit/s`, spoken: `Your line: ${words}, ${down} kbit/s down, ${up} kbit/s up`,
      details: [
        ['Receiving', `${down} kbit/s`], ['Sending', `${up} kbit/s`], ['Lost on the way here', percent(lossDown)],
        ['Lost on the way there', percent(lostUp)], ['There and back', roundTrip === null ? '–' : `${Math.round(roundTrip * 1000)} ms`],
        ['Picture', frame ? `${frame}${framesPerSecond ? `, ${Math.round(framesPerSecond)} / s` : ''}` : '–'], ['Codec', codec ?? '–'],
        ...(this.server?.estimate ? [['The line may carry', `${Math.round(this.server.estimate / 1000)} kbit/s`]] : []),
        ...(this.server?.reason ? [['The server says', this.server.reason]] : []),
      ],
    };
  }
}

const percent = share => `${(share * 100).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`;
