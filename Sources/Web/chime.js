// A few tones by a loudspeaker, so that the user hears before the call whether it is the right one.

// In Hz and seconds.
const TONES = [523, 659, 784], LENGTH = 0.25, GAIN = 0.25;

/// Plays the tones by the loudspeaker with this id; '': the browser's. Ends with them.
export async function chime(id) {
  const context = new AudioContext(), target = context.createMediaStreamDestination();
  const volume = new GainNode(context, { gain: 0 });
  volume.connect(target);
  const begin = context.currentTime + 0.1;
  TONES.forEach((frequency, index) => {
    const tone = new OscillatorNode(context, { frequency }), at = begin + index * LENGTH;
    tone.connect(volume);
    tone.start(at);
    tone.stop(at + LENGTH);
    // No click at the beginning and the end.
    volume.gain.setValueAtTime(0, at);
    volume.gain.linearRampToValueAtTime(GAIN, at + 0.02);
    volume.gain.linearRampToValueAtTime(0, at + LENGTH - 0.01);
  });
  const player = /** @type {any} */ (new Audio());
  player.srcObject = target.stream;
  try {
    if (id && 'setSinkId' in player) await player.setSinkId(id).catch(() => {});
    await player.play();
    await new Promise(done => setTimeout(done, 1000 * (TONES.length * LENGTH + 0.2)));
  } finally {
    player.srcObject = null;
    await context.close();
  }
}
