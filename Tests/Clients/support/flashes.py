"""Callers of `tessera call`, whose picture flashes while their sound beeps, 100 ms at each full second of one clock, and what finds both in files."""

import contextlib
import json
import signal
import subprocess
import time
import wave

import numpy as np

from support.server import PROGRAM

RATE = 48000


@contextlib.contextmanager
def caller(server, room, name, *arguments, prefix=(), url=None):
    """A `tessera call` that ends in order with the block."""
    process = subprocess.Popen(
        [*prefix, PROGRAM, "call", url or server.url, "--room", room, "--name", name, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(condition, timeout, what):
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return value


def people(server, room):
    status, _, body = server.get(f"/api/rooms/{room}")
    return {p["name"]: p["id"] for p in json.loads(body)["participants"]} if status == 200 else {}


def figures(server, room, name):
    return server.json("GET", f"/api/rooms/{room}/participants/{people(server, room)[name]}/stats")


def brightness(path):
    """(presentation times, mean luma of the middle) of every frame of a file."""
    listing = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "json", str(path)],
        capture_output=True, check=True).stdout)
    times = np.array([float(frame["pts_time"]) for frame in listing["frames"]])
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-vf", "crop=iw*0.3:ih*0.25:iw*0.35:ih*0.3,scale=8:8", "-fps_mode", "passthrough",
         "-f", "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=True).stdout
    values = np.frombuffer(raw, np.uint8).reshape(-1, 64).mean(axis=1)
    count = min(len(times), len(values))
    return times[:count], values[:count]


def middles(times, values, threshold, shortest, longest):
    """The middles of the intervals above the threshold that are about as long as a flash or a beep."""
    found, start = [], None
    for at, value in zip(times, values):
        if value > threshold and start is None:
            start = at
        elif value <= threshold and start is not None:
            if shortest < at - start < longest:
                found.append((start + at) / 2)
            start = None
    return np.array(found)


def flashes(times, values):
    return middles(times, values, (np.min(values) + np.max(values)) / 2, 0.03, 0.25)


def envelope(samples):
    """The level of each millisecond."""
    hop = RATE // 1000
    count = len(samples) // hop
    values = np.sqrt(np.mean(samples[:count * hop].reshape(count, hop) ** 2, axis=1))
    return np.convolve(values, np.ones(5) / 5, "same")


def beeps(samples):
    values = envelope(samples)
    return middles(np.arange(len(values)) / 1000 + 0.0005, values, 0.05, 0.05, 0.2)


def beep_starts(samples):
    """Where beeps begin: a lost packet splits one or makes it longer, which moves its middle."""
    loud = np.nonzero(envelope(samples) > 0.05)[0]
    together = np.split(loud, np.nonzero(np.diff(loud) > 100)[0] + 1)
    return np.array([each[0] / 1000 for each in together if len(each) and 50 < each[-1] - each[0] < 200])


def offsets(flash_times, beep_times):
    """Beep − flash (positive where the audio is late) of each flash that has a beep within half a second, with its time."""
    pairs = []
    for flash in flash_times:
        if len(beep_times):
            beep = beep_times[np.argmin(np.abs(beep_times - flash))]
            if abs(beep - flash) < 0.5:
                pairs.append((flash, beep - flash))
    return np.array(pairs)


def write_wave(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
