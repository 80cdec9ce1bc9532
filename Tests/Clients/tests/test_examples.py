"""The programs of Tests/Examples, which use the library from another package, with aiortc at the other end."""

import asyncio
import os
import subprocess
from pathlib import Path

import av
import numpy as np
import pytest
from aiortc import RTCSessionDescription

from support.aiortc_peer import AiortcPeer
from support.media import TONES, nearest_colour, tone_level

EXAMPLES = Path(os.environ.get("EXAMPLES", "Tests/Examples/.build/debug"))
ADDRESS = os.environ.get("PEER_ADDRESS", "127.0.0.1")

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


class ExampleCall(AiortcPeer):
    """An aiortc peer whose other end is a program that reads the offer and writes the answer."""

    def __init__(self, codec, colour, frequency, **settings):
        super().__init__(None, None, "caller", colour, frequency, codec=codec, **settings)

    async def call(self, program, *arguments):
        await self.prepare()
        self.process = await asyncio.create_subprocess_exec(
            EXAMPLES / program, ADDRESS, *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self.process.stdin.write(self.pc.localDescription.sdp.encode())
        self.process.stdin.close()
        answer = (await asyncio.wait_for(self.process.stdout.read(), 10)).decode()
        await self.pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        return self

    async def hang_up(self):
        """Ends the call, waits until the program has ended by itself, and returns its output."""
        for task in self.tasks:
            task.cancel()
        await self.pc.close()
        try:
            said = (await asyncio.wait_for(self.process.stderr.read(), 10)).decode()
            assert await self.process.wait() == 0, said
        finally:
            if self.process.returncode is None:
                self.process.kill()
        return said


def converse(call):
    asyncio.run(asyncio.wait_for(call, 60))


async def until(holds, seconds, what):
    for _ in range(seconds * 10):
        if holds():
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"not within {seconds} s: {what}")


def shown(picture):
    """The colour of a picture below the marker that moves along its top."""
    return nearest_colour(tuple(np.median(picture[40:].reshape(-1, 3), axis=0)))


@pytest.mark.parametrize("codec", ["VP8", "H264"])
def test_the_echo_comes_back(codec):
    async def run():
        caller = await ExampleCall(codec, "green", TONES[2]).call("echo-peer")
        try:
            await until(lambda: len(caller.picture_times) > 20 and caller.samples > 48000 * 2, 20, "picture and sound")
            picture, sound = caller.rgb(), caller.sound[-48000:]
        finally:
            said = await caller.hang_up()
        assert shown(picture) == "green"
        assert tone_level(sound, TONES[2]) > 0.1
        assert "connected" in said and "closed the connection" in said

    converse(run())


def test_what_comes_in_is_saved(tmp_path):
    async def run():
        caller = await ExampleCall("H264", "magenta", TONES[4], direction="sendonly").call("save-peer", str(tmp_path / "call"))
        try:
            await until(lambda: (tmp_path / "call.h264").stat().st_size > 0, 10, "a picture")
            await asyncio.sleep(3)
        finally:
            await caller.hang_up()

    converse(run())
    with av.open(str(tmp_path / "call.h264")) as pictures:
        frames = [frame.to_ndarray(format="rgb24") for frame in pictures.decode(video=0)]
    assert len(frames) > 30, "more than two of the three seconds, at fifteen frames each"
    assert {shown(frame) for frame in frames} == {"magenta"}
    with av.open(str(tmp_path / "call.opus")) as sound:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=48000)
        parts = [part.to_ndarray().reshape(-1) for frame in sound.decode(audio=0) for part in resampler.resample(frame)]
    samples = np.concatenate(parts).astype(np.float32) / 32768
    assert len(samples) > 48000 * 2.5
    assert tone_level(samples[24000:72000], TONES[4]) > 0.1


def test_an_offer_that_cannot_be_answered_is_told():
    told = subprocess.run([EXAMPLES / "echo-peer", ADDRESS], input=b"v=0\r\n", capture_output=True, timeout=10)
    assert told.returncode == 1 and not told.stdout and b"session description" in told.stderr
