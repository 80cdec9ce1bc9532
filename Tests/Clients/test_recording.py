"""A call recorded, decoded again, and killed in the middle."""

import asyncio
import json
import signal
import subprocess
import time

import numpy as np
import pytest

from aiortc_peer import AiortcPeer
from media import TONES, colour_at, nearest_colour, tone_level
from server import PROGRAM, Server


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
    result = subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-f", "null", "-"], capture_output=True, text=True)
    return result.returncode == 0 and not result.stderr.strip(), result.stderr[-2000:]


async def pair(server, room="rec", codecs=("VP8", "H264")):
    ada = await AiortcPeer(server, room, "Ada", "red", TONES[0], codecs[0]).join()
    bo = await AiortcPeer(server, room, "Bo", "blue", TONES[1], codecs[1]).join()
    deadline = time.monotonic() + 10
    while any(p.picture is None or p.tiles is None or len(p.tiles["tiles"]) < 2 for p in (ada, bo)):
        assert time.monotonic() < deadline, "no picture before the recording"
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)
    return ada, bo


def check_tiles(path, tiles, expected, times):
    canvas = (tiles["width"], tiles["height"])
    for seconds in times:
        frame = frame_at(path, seconds)
        seen = {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) for t in tiles["tiles"]}
        assert seen == expected, f"at {seconds} s: {seen}"


@pytest.mark.usefixtures("needs_address")
@pytest.mark.parametrize("codecs", [("VP8", "H264"), ("VP8", "VP8")])
def test_a_recording_shows_and_sounds_like_the_call(server, codecs):
    async def run():
        ada, bo = await pair(server, codecs=codecs)
        try:
            started = server.json("POST", "/api/rooms/rec/recordings", expect=201)
            assert started["state"] == "recording"
            assert server.request("POST", "/api/rooms/rec/recordings")[0] == 409
            before = time.monotonic()
            await asyncio.sleep(6)
            length = time.monotonic() - before
            finished = await asyncio.to_thread(server.json, "POST", f"/api/recordings/{started['id']}/stop")
            return started, finished, length, ada.tiles, {ada.id: "red", bo.id: "blue"}
        finally:
            await ada.close()
            await bo.close()
    started, finished, length, tiles, expected = asyncio.run(asyncio.wait_for(run(), 60))
    assert finished["state"] == "finished"
    path = server.recordings / finished["file"].split("/")[-1]
    if not path.exists():
        path = next(server.recordings.rglob(finished["file"].split("/")[-1]))
    info = probe(path)
    kinds = {s["codec_type"]: s for s in info["streams"]}
    assert kinds["video"]["codec_name"] == "h264" and kinds["audio"]["codec_name"] == "aac"
    assert (kinds["video"]["width"], kinds["video"]["height"]) == (1280, 720)
    assert abs(float(info["format"]["duration"]) - length) < 0.6
    assert abs(float(kinds["video"]["duration"]) - float(kinds["audio"]["duration"])) < 0.1
    ok, errors = decodes_cleanly(path)
    assert ok, errors
    check_tiles(path, tiles, expected, [0.5, 3, 5])
    samples = sound(path)
    for second in (1, 3, 4):
        part = samples[second * 48000:(second + 1) * 48000]
        assert tone_level(part, TONES[0]) > 0.05 and tone_level(part, TONES[1]) > 0.05
    status, headers, part = server.get(f"/api/recordings/{started['id']}/file", {"Range": "bytes=4-7"})
    assert status == 206 and part == b"ftyp"


@pytest.mark.usefixtures("needs_address")
def test_kill_in_the_middle_loses_at_most_the_last_fragment(tmp_path):
    with Server(tmp_path / "server") as server:
        async def run():
            ada, bo = await pair(server)
            try:
                started = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(7)
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()
                return started, ada.tiles, {ada.id: "red", bo.id: "blue"}
            finally:
                await ada.close()
                await bo.close()
        started, tiles, expected = asyncio.run(asyncio.wait_for(run(), 60))
        server.start()
        deadline = time.monotonic() + 15
        while (recording := server.json("GET", f"/api/recordings/{started['id']}"))["state"] != "finished":
            assert time.monotonic() < deadline, recording
            time.sleep(0.2)
        path = next(server.recordings.rglob(recording["file"].split("/")[-1]))
        info = probe(path)
        assert 4.5 < float(info["format"]["duration"]) < 7.5
        ok, errors = decodes_cleanly(path)
        assert ok, errors
        check_tiles(path, tiles, expected, [0.5, 3])
        check = subprocess.run([PROGRAM, "recording", "check", str(path)], capture_output=True, text=True)
        assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.usefixtures("needs_address")
def test_a_recording_directory_that_cannot_be_written_is_an_error_and_the_call_goes_on(tmp_path):
    with Server(tmp_path / "server") as server:
        server.recordings.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(server.recordings)], check=True)
        try:
            async def run():
                ada, bo = await pair(server)
                try:
                    status, _, body = await asyncio.to_thread(server.request, "POST", "/api/rooms/rec/recordings")
                    assert status >= 500 and b"error" in body, (status, body)
                    seen = len(ada.picture_times)
                    await asyncio.sleep(1)
                    # The lowest rung has 15 frames a second, and which one aiortc gets is its line's affair.
                    assert len(ada.picture_times) > seen + 10
                finally:
                    await ada.close()
                    await bo.close()
            asyncio.run(asyncio.wait_for(run(), 60))
        finally:
            subprocess.run(["umount", str(server.recordings)], check=True)
