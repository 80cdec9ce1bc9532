"""GStreamer's webrtcbin over WHIP: an RSA certificate, long ICE credentials, no RTX, and only receiver reports about its link."""

import asyncio
import json
import subprocess
import time

import numpy as np
import pytest

from support import CLIENTS
from support.aiortc_peer import AiortcPeer
from support.media import COLOURS, TONES, colour_at, nearest_colour, tone_level
from support.people import eventually

pytestmark = pytest.mark.patient

PROGRAM = CLIENTS / "support" / "gstreamer_peer.py"


class GStreamerPeer:
    """A GStreamer peer in a process of the system's Python."""

    def __init__(self, server, room, name, codec, colour, frequency, directory):
        self.server, self.room, self.name, self.directory = server, room, name, directory
        self.process = subprocess.Popen(
            ["/usr/bin/python3", PROGRAM, f"{server.url}/whip/{room}?name={name}", codec, ",".join(map(str, COLOURS[colour])), str(frequency)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def joined(self):
        told = {}
        while told.get("state") != "connected":
            told = json.loads(self.process.stdout.readline())
            assert "error" not in told and told.get("state") != "failed", told
        people = self.server.json("GET", f"/api/rooms/{self.room}")["participants"]
        self.id = next(person["id"] for person in people if person["name"] == self.name)
        return self

    def ask(self, what):
        """The peer's answer, and the bytes of its last picture or second of audio."""
        path = self.directory / f"{self.name}.{what}"
        self.process.stdin.write(f"{what} {path}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline()), path.read_bytes()

    def picture(self):
        told, data = self.ask("picture")
        return np.frombuffer(data, np.uint8).reshape(told["height"], told["width"], 3) if data else None

    def sound(self):
        return np.frombuffer(self.ask("sound")[1], np.int16).astype(np.float32) / 32768

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.mark.usefixtures("needs_address", "good_line")
@pytest.mark.parametrize("codec", ["H264", "VP8"])
def test_gstreamer_is_seen_and_heard_sees_and_hears_and_gets_the_whole_canvas(server, tmp_path, codec):
    async def run():
        ada = await AiortcPeer(server, "gst", "Ada", "red", TONES[0]).join()
        peer = GStreamerPeer(server, "gst", "Gst", codec, "blue", TONES[1], tmp_path)
        try:
            await asyncio.to_thread(peer.joined)
            expected = {ada.id: "red", peer.id: "blue"}

            def seen(picture, tiles):
                canvas = (tiles["width"], tiles["height"])
                return {tile["participant"]: nearest_colour(colour_at(picture, tile, canvas)) for tile in tiles["tiles"]}

            async def looks_right():
                picture = await asyncio.to_thread(peer.picture)
                if picture is None or ada.picture is None or ada.tiles is None:
                    return "no picture"
                both = seen(picture, ada.tiles), seen(ada.rgb(), ada.tiles)
                return None if both == (expected, expected) else f"{both}, not {expected}"
            await eventually(looks_right, 15, "pictures")

            async def sounds_right():
                sound = await asyncio.to_thread(peer.sound)
                if len(sound) < 48000 or len(ada.sound) < 48000:
                    return "no sound"
                levels = [[tone_level(heard[-48000:], tone) > 0.02 for tone in TONES[:2]] for heard in (sound, ada.sound)]
                return None if levels == [[True, False], [False, True]] else f"{levels}"
            await eventually(sounds_right, 10, "sound")

            # Receiver reports are its only feedback, and flat pictures hardly load the link: it reaches the top rung all the same.
            async def whole():
                picture = await asyncio.to_thread(peer.picture)
                return None if picture.shape[:2] == (360, 640) else f"{picture.shape}"
            await eventually(whole, 40, "the whole canvas")

            leaving = time.monotonic()
            await asyncio.to_thread(peer.close)
            while len(ada.tiles["tiles"]) > 1:
                assert time.monotonic() < leaving + 3, "it hung up and is still shown"
                await asyncio.sleep(0.1)
        finally:
            await asyncio.to_thread(peer.close)
            await ada.close()
    asyncio.run(asyncio.wait_for(run(), 90))


@pytest.mark.usefixtures("needs_address")
def test_gstreamer_stays_beyond_the_time_of_consent(server, tmp_path):
    """libnice without consent freshness sends no checks after nomination, and its keepalives prove nothing."""
    async def run():
        peer = GStreamerPeer(server, "gst-long", "Gst", "VP8", "blue", TONES[1], tmp_path)
        try:
            await asyncio.to_thread(peer.joined)
            await asyncio.sleep(36)
            people = (await asyncio.to_thread(server.json, "GET", "/api/rooms/gst-long"))["participants"]
            assert [person["id"] for person in people] == [peer.id], "it was put out"
            assert await asyncio.to_thread(peer.picture) is not None
        finally:
            await asyncio.to_thread(peer.close)
    asyncio.run(asyncio.wait_for(run(), 75))
