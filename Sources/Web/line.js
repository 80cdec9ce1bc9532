// The state of the link, from the browser's own counters and the server's reports about the picture. `LineState` judges.

import { LineState } from './line-state.js';

export class Line {
  constructor(pc) {
    this.pc = pc;
    this.state = new LineState();
  }

  /// The last report of the server.
  get server() { return this.state.server; }
  set server(message) { this.state.served(message, performance.now()); }

  /// Returns what `LineState.read` does. `data`: what the user saves.
  async read(data = 'full') {
    const { now, ...figures } = await this.count();
    return this.state.read(now, figures, { isConnected: !['disconnected', 'failed', 'closed'].includes(this.pc.connectionState), data });
  }

  async count() {
    const now = { at: performance.now(), down: 0, up: 0, lost: 0, received: 0, alive: 0, frozen: 0, decoded: 0 };
    const figures = { lossUp: null, roundTrip: null, reportAge: null, mayUp: null, frame: null, framesPerSecond: null, codec: null };
    const report = await this.pc.getStats();
    const latest = Math.max(...[...report.values()].map(({ timestamp }) => timestamp ?? 0));
    for (const entry of report.values()) {
      if (entry.type === 'inbound-rtp') {
        now.down += entry.bytesReceived;
        now.lost += entry.packetsLost;
        now.received += entry.packetsReceived;
        if (entry.kind === 'video') {
          now.decoded += entry.framesDecoded ?? 0;
          now.frozen = entry.totalFreezesDuration ?? 0;
          if (entry.frameWidth) figures.frame = `${entry.frameWidth} × ${entry.frameHeight}`;
          figures.framesPerSecond = entry.framesPerSecond;
          figures.codec = report.get(entry.codecId)?.mimeType?.split('/')[1];
        }
      } else if (entry.type === 'outbound-rtp') now.up += entry.bytesSent;
      // What the browser takes the way to the server to carry, where it says so.
      else if (entry.type === 'candidate-pair' && entry.nominated && entry.availableOutgoingBitrate) figures.mayUp = Math.round(entry.availableOutgoingBitrate / 1000);
      // All that arrives, where the browser counts it.
      else if (entry.type === 'transport') now.alive += entry.packetsReceived ?? 0;
      else if (entry.type === 'remote-inbound-rtp') {
        figures.lossUp = Math.max(figures.lossUp ?? 0, entry.fractionLost ?? 0);
        if (entry.roundTripTime) figures.roundTrip = entry.roundTripTime;
        figures.reportAge = Math.min(figures.reportAge ?? Infinity, latest - (entry.timestamp ?? latest));
      }
    }
    now.alive += now.received;
    return { now, ...figures };
  }
}
