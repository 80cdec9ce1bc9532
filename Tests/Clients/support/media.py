"""Analysis of received media: colours of tiles, levels of tones."""

import numpy as np

# Colours that stay distinguishable after 4:2:0 and a codec, as (R, G, B).
COLOURS = {
    "red": (200, 40, 40), "green": (40, 170, 60), "blue": (50, 70, 210), "yellow": (210, 200, 50),
    "magenta": (190, 60, 190), "cyan": (50, 190, 200),
}
# Tones in Hz with no common harmonics below 4 kHz.
TONES = [431, 587, 743, 967, 1187, 1429, 1709]


def tone(frequency, samples, start=0, rate=48000, amplitude=0.2):
    """A sine as float32, whose phase continues from `start`."""
    return (amplitude * np.sin(2 * np.pi * frequency * (start + np.arange(samples)) / rate)).astype(np.float32)


def tone_level(samples, frequency, rate=48000):
    """The amplitude of one tone in most tenths of a second (0.2 for a tone sent at 0.2): a gap that was concealed moves the phase, and over a longer
    time the parts before and behind it would cancel."""
    samples = np.asarray(samples, dtype=np.float64)
    if len(samples) == 0:
        return 0.0

    def level(part):
        window = np.hanning(len(part))
        wave = np.exp(-2j * np.pi * frequency * np.arange(len(part)) / rate)
        return 2 * abs(np.sum(part * window * wave)) / np.sum(window)
    return float(np.median([level(part) for part in np.array_split(samples, max(1, round(len(samples) * 10 / rate)))]))


def colour_at(frame, tile, canvas):
    """The median colour of a tile beside its middle, where an avatar's circle would be. `frame` is an RGB array of any size, `tile` and
    `canvas` in canvas pixels."""
    height, width = frame.shape[:2]
    sx, sy = width / canvas[0], height / canvas[1]

    def patch(left, right):
        x0, x1 = int((tile["x"] + tile["width"] * left) * sx), int((tile["x"] + tile["width"] * right) * sx)
        y0, y1 = int((tile["y"] + tile["height"] * 0.35) * sy), int((tile["y"] + tile["height"] * 0.55) * sy)
        return frame[y0:max(y1, y0 + 1), x0:max(x1, x0 + 1)].reshape(-1, 3)
    return tuple(int(v) for v in np.median(np.concatenate([patch(0.12, 0.22), patch(0.78, 0.88)]), axis=0))


def nearest_colour(rgb, limit=70):
    """The name of a pixel's colour, or None when it is not one of `COLOURS`."""
    name, distance = min(
        ((name, sum(abs(a - b) for a, b in zip(rgb, value))) for name, value in COLOURS.items()), key=lambda item: item[1])
    return name if distance <= limit * 1.5 else None
