// A word to who speaks while muted.

import { watchLevel } from '/assets/devices.js';
import { notice } from '/assets/elements.js';
import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

// A level of speech, for so many of the ten measurements of a second; and the pause between two words about it.
const LOUD = 0.12, LOUD_TIMES = 4, PAUSE = 20_000;

/// Tells who speaks while muted. A muted track is silent, so a copy of it is measured, which goes nowhere else.
export class MutedSpeech {
  /** @param {import('./sending.js').Sending} sending */
  constructor(sending) {
    this.sending = sending;
    this.told = -Infinity;
    sending.addEventListener('changed', () => this.update());
    this.update();
  }

  update() {
    const { audio, audioTrack, connection } = this.sending;
    const source = connection && !audio ? audioTrack : null;
    if (source === this.source) return;
    this.stop();
    this.source = source;
    if (!source) return;
    this.copy = source.clone();
    this.copy.enabled = true;
    let recent = [];
    this.stopLevel = watchLevel(new MediaStream([this.copy]), level => {
      recent = [...recent.slice(-9), level > LOUD];
      if (recent.filter(Boolean).length >= LOUD_TIMES) this.tell();
    });
  }

  tell() {
    if (performance.now() < this.told + PAUSE) return;
    this.told = performance.now();
    notice(t('audio.youAreMuted'), 6, { text: t('audio.off'), act: () => this.sending.setAudio(true) });
  }

  stop() {
    this.stopLevel?.();
    this.copy?.stop();
    this.source = this.copy = this.stopLevel = null;
  }
}
