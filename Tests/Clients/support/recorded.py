"""Recordings of a server from start to end, and checks of their files with ffmpeg and `tessera recording check`."""

import asyncio
import json
import re
import signal
import subprocess
import time

import numpy as np

from support.people import pair
from support.server import PROGRAM


def probe(path):
    output = subprocess.run(
        ["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", str(path)], capture_output=True, text=True, check=True)
    return json.loads(output.stdout)


def frame_at(path, seconds, width=1280, height=720):
    output = subprocess.run(
        ["ffmpeg", "-v", "error", "-ss", str(seconds), "-i", str(path), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24",
         "-s", f"{width}x{height}", "-"], capture_output=True, check=True)
    return np.frombuffer(output.stdout, np.uint8).reshape(height, width, 3)


def sound(path):
    output = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-f", "f32le", "-ac", "1", "-ar", "48000", "-"], capture_output=True, check=True)
    return np.frombuffer(output.stdout, np.float32)


def decodes_cleanly(path):
    # With the file's own times: in units of the mean frame interval, frames that are closer together have the same time.
    result = subprocess.run(
        ["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-enc_time_base", "-1", "-f", "null", "-"], capture_output=True, text=True)
    return result.returncode == 0 and not result.stderr.strip(), result.stderr[-2000:]


def offsets(file):
    """The distance in ms of the tracks' beginnings and ends, by `tessera recording check`."""
    check = subprocess.run([PROGRAM, "recording", "check", "--quick", str(file)], capture_output=True, text=True, timeout=30)
    assert check.returncode == 0, check.stdout + check.stderr
    return [float(value) for value in re.search(r"begin ([+-][\d.]+) ms and end ([+-][\d.]+) ms", check.stdout).groups()]


def plays(file, seconds=0.5):
    """Asserts that the file has at least `seconds` and decodes without a fault."""
    length = float(probe(file)["format"]["duration"])
    assert length > seconds, length
    ok, errors = decodes_cleanly(file)
    assert ok, errors


def is_whole(file, seconds=0.5, end=80):
    """Asserts in addition that the file is closed and that audio and video are in sync: within 45 ms, and at the end within `end`, because
    the tracks end within a frame interval of each other, which is 67 ms in small rooms, or where an interruption ended them."""
    plays(file, seconds)
    start, last = offsets(file)
    assert abs(start) < 45 and abs(last) < end, (start, last)


def measured_offset(file):
    """The A/V offset of the content in ms, by `tessera recording check`."""
    check = subprocess.run([PROGRAM, "recording", "check", str(file)], capture_output=True, text=True, timeout=60)
    found = re.search(r"A/V offset ([+-][\d.]+) ms by", check.stdout)
    assert found, check.stdout + check.stderr
    return float(found.group(1))


def has_no_gaps(file):
    """Whether `tessera recording check` finds no stretch without pictures or audio."""
    return "no gaps" in subprocess.run([PROGRAM, "recording", "check", "--quick", str(file)], capture_output=True, text=True, timeout=30).stdout


def begin(server, room="rec", **wish):
    return server.json("POST", f"/api/rooms/{room}/recordings", wish or None, expect=201)


def state(server, recording):
    return server.json("GET", f"/api/recordings/{recording['id']}")


def path(server, recording):
    return server.recordings / recording["file"]


async def pause(server, recording, seconds):
    """Pauses the recording by the API for this time."""
    for wanted in ("paused", "recording"):
        changed = await asyncio.to_thread(server.json, "PATCH", f"/api/recordings/{recording['id']}", {"state": wanted})
        assert changed["state"] == wanted, changed
        if wanted == "paused":
            await asyncio.sleep(seconds)


async def stop(server, recording):
    """Stops a recording by the API, and returns its entry."""
    finished = await asyncio.to_thread(server.json, "POST", f"/api/recordings/{recording['id']}/stop")
    assert finished["state"] == "finished", finished
    return finished


async def ended(server, recording, timeout, what):
    """Waits until another event has ended the recording, and returns its entry."""
    deadline = time.monotonic() + timeout
    while (now := await asyncio.to_thread(state, server, recording))["state"] == "recording":
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.1)
    return now


def recorded_until_killed(server, seconds, *signals):
    """Records a call of two until the server is killed: (recording, tiles, colours by participant)."""
    async def run():
        async with pair(server) as (ada, bo):
            recording = begin(server)
            await asyncio.sleep(seconds)
            for each in signals or [signal.SIGKILL]:
                server.process.send_signal(each)
            await asyncio.to_thread(server.process.wait, 3)
            return recording, ada.tiles, {ada.id: "red", bo.id: "blue"}
    return asyncio.run(asyncio.wait_for(run(), 60))


def mended(server, recording, timeout=15):
    """Waits until a restarted server has closed the recording, and returns its entry."""
    deadline = time.monotonic() + timeout
    while (found := state(server, recording))["state"] != "finished":
        assert found["state"] == "repairing" and time.monotonic() < deadline, found
        time.sleep(0.05)
    return found
