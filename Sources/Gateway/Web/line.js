// The state of the link, from the browser's own counters and the server's reports about the picture.

export class Line {
  constructor(pc) {
    this.pc = pc;
    this.before = null;
    this.server = null;
  }

  /// Returns {quality: good|fair|poor, code, loss, down, up, lossDown, lossUp, roundTrip, frame, framesPerSecond, codec,
  /// estimate, reason, heard, seen}: rates in kbit/s, losses 0 to 1, the round trip in seconds. Null until there are two readings.
  async read() {
    const { now, ...figures } = await this.count();
    const before = this.before;
    this.before = now;
    if (!before) return null;
    const seconds = (now.at - before.at) / 1000;
    const rate = key => Math.max(0, Math.round((now[key] - before[key]) * 8 / seconds / 1000));
    const lost = now.lost - before.lost, received = now.received - before.received;
    const lossDown = Math.max(0, lost) / Math.max(1, lost + received);
    const loss = Math.max(lossDown, figures.lossUp);
    return {
      ...this.judge(loss, now.frozen - before.frozen > 0.3), ...figures, loss, lossDown, down: rate('down'), up: rate('up'),
      estimate: this.server?.estimate ? Math.round(this.server.estimate / 1000) : null, reason: this.server?.reason || null,
      heard: this.server?.heard ?? null, seen: this.server?.seen ?? null,
    };
  }

  async count() {
    const now = { at: performance.now(), down: 0, up: 0, lost: 0, received: 0, frozen: 0 };
    const figures = { lossUp: 0, roundTrip: null, frame: null, framesPerSecond: null, codec: null };
    const report = await this.pc.getStats();
    for (const entry of report.values()) {
      if (entry.type === 'inbound-rtp') {
        now.down += entry.bytesReceived;
        now.lost += entry.packetsLost;
        now.received += entry.packetsReceived;
        if (entry.kind === 'video') {
          now.frozen = entry.totalFreezesDuration ?? 0;
          if (entry.frameWidth) figures.frame = `${entry.frameWidth} × ${entry.frameHeight}`;
          figures.framesPerSecond = entry.framesPerSecond;
          figures.codec = report.get(entry.codecId)?.mimeType?.split('/')[1];
        }
      } else if (entry.type === 'outbound-rtp') now.up += entry.bytesSent;
      else if (entry.type === 'remote-inbound-rtp') {
        figures.lossUp = Math.max(figures.lossUp, entry.fractionLost ?? 0);
        if (entry.roundTripTime) figures.roundTrip = entry.roundTripTime;
      }
    }
    return { now, ...figures };
  }

  judge(loss, froze) {
    const mode = this.server?.mode ?? (this.server?.rung === 0 ? 'stills' : 'full');
    if (mode !== 'full' && this.server?.reasonCode === 'server_busy') return { quality: 'fair', code: 'busy' };
    if (mode === 'audio') return { quality: 'poor', code: 'audio' };
    if (mode === 'stills') return { quality: 'poor', code: 'stills' };
    if (loss > 0.08) return { quality: 'poor', code: 'bad' };
    if (froze) return { quality: 'fair', code: 'froze' };
    if (loss > 0.02) return { quality: 'fair', code: 'loss' };
    if (mode === 'reduced') return { quality: 'fair', code: 'reduced' };
    return { quality: 'good', code: 'good' };
  }
}
