"""A call that is recorded and decoded again, and one whose server is killed."""

import asyncio
import subprocess
import time

import pytest

from support.media import TONES, colour_at, nearest_colour, tone_level
from support.people import pair
from support.recorded import begin, frame_at, has_no_gaps, is_whole, mended, path, pause, probe, recorded_until_killed, sound, stop
from support.server import Server


def check_tiles(path, tiles, expected, times):
    canvas = (tiles["width"], tiles["height"])
    for seconds in times:
        frame = frame_at(path, seconds)
        seen = {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) for t in tiles["tiles"]}
        assert seen == expected, f"at {seconds} s: {seen}"


@pytest.mark.usefixtures("needs_address")
@pytest.mark.parametrize("kind, codecs, size", [
    pytest.param("server", ("VP8", "H264"), (640, 360), marks=pytest.mark.quick, id="small"),
    # Where nobody receives H.264, it is encoded for the recording alone.
    pytest.param("full_server", ("VP8", "VP8"), (1280, 720), id="full"),
])
def test_a_recording_shows_and_sounds_like_the_call(request, kind, codecs, size):
    server = request.getfixturevalue(kind)
    async def run():
        async with pair(server, codecs=codecs) as (ada, bo):
            started = begin(server)
            assert started["state"] == "recording"
            assert server.request("POST", "/api/rooms/rec/recordings")[0] == 409
            length = 0
            # A pause leaves a file that plays through.
            for part in (2.5, 3.5):
                before = time.monotonic()
                await asyncio.sleep(part)
                length += time.monotonic() - before
                if part < 3:
                    await pause(server, started, 1.5)
            finished = await stop(server, started)
            return started, finished, length, ada.tiles, {ada.id: "red", bo.id: "blue"}
    started, finished, length, tiles, expected = asyncio.run(asyncio.wait_for(run(), 60))
    file = path(server, finished)
    info = probe(file)
    kinds = {s["codec_type"]: s for s in info["streams"]}
    assert kinds["video"]["codec_name"] == "h264" and kinds["audio"]["codec_name"] == "aac"
    assert (kinds["video"]["width"], kinds["video"]["height"]) == size
    # Its start and its end of the pause each wait for a keyframe.
    assert abs(float(info["format"]["duration"]) - length) < 1.2
    assert abs(float(kinds["video"]["duration"]) - float(kinds["audio"]["duration"])) < 0.1
    is_whole(file)
    assert has_no_gaps(file)
    check_tiles(file, tiles, expected, [0.5, 3, 5])
    samples = sound(file)
    for second in (1, 3, 4):
        part = samples[second * 48000:(second + 1) * 48000]
        assert tone_level(part, TONES[0]) > 0.05 and tone_level(part, TONES[1]) > 0.05
    status, headers, part = server.get(f"/api/recordings/{started['id']}/file", {"Range": "bytes=4-7"})
    assert status == 206 and part == b"ftyp"


@pytest.mark.usefixtures("needs_address")
def test_kill_in_the_middle_loses_at_most_the_last_fragment(tmp_path):
    with Server(tmp_path / "server", full=True) as server:
        recording, tiles, expected = recorded_until_killed(server, 7)
        server.start()
        entry = mended(server, recording)
        assert entry["repaired"] and [part["file"] for part in entry["files"]] == [entry["file"]], entry
        file = path(server, entry)
        assert 4.5 < float(probe(file)["format"]["duration"]) < 7.5
        is_whole(file, end=500)
        check_tiles(file, tiles, expected, [0.5, 3])


@pytest.mark.usefixtures("needs_address")
def test_a_recording_directory_that_cannot_be_written_is_an_error_and_the_call_goes_on(tmp_path):
    with Server(tmp_path / "server") as server:
        server.recordings.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(server.recordings)], check=True)
        try:
            async def run():
                async with pair(server) as (ada, bo):
                    status, _, body = await asyncio.to_thread(server.request, "POST", "/api/rooms/rec/recordings")
                    assert status >= 500 and b"error" in body, (status, body)
                    seen = len(ada.picture_times)
                    await asyncio.sleep(1)
                    # The lowest rung has 15 frames a second, and aiortc's rung depends on its link.
                    assert len(ada.picture_times) > seen + 10
            asyncio.run(asyncio.wait_for(run(), 60))
        finally:
            subprocess.run(["umount", str(server.recordings)], check=True)
