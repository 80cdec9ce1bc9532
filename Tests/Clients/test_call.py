"""The main job: Chromium with VP8 and with H.264 only, Firefox, and aiortc with each codec, all in one room."""

import asyncio
import time
import urllib.parse

import numpy as np
import pytest

from aiortc_peer import AiortcPeer
from browser import Chromium, Firefox
from media import COLOURS, TONES, colour_at, nearest_colour, tone_level


def page_url(pages, server, room, name, colour, frequency, codec=None):
    query = {"signal": server.signal_url, "room": room, "name": name, "colour": ",".join(map(str, COLOURS[colour])), "tone": frequency}
    if codec:
        query["codec"] = codec
    return f"{pages}/peer.html?{urllib.parse.urlencode(query)}"


class BrowserPeer:
    """The same face as AiortcPeer's, for a browser on the test page."""

    def __init__(self, browser, name, colour, frequency):
        self.browser, self.name, self.colour, self.frequency = browser, name, colour, frequency

    async def joined(self):
        await self.browser.wait_for("state.connected && state.frames > 3", timeout=30)
        self.id = await self.browser.evaluate("state.id")
        return self

    async def tile_colours(self):
        return {t["participant"]: nearest_colour(t["rgb"]) for t in await self.browser.evaluate("tileColours()") or []}

    async def heard(self, frequencies):
        levels = await self.browser.evaluate(f"toneLevels({list(frequencies)})")
        return {f: level > -55 for f, level in zip(frequencies, levels or [])} if levels else {}

    async def longest_gap(self):
        return await self.browser.evaluate("Math.max(0, ...state.frameTimes.slice(1).map((t, i) => t - state.frameTimes[i]))")

    async def forget_gaps(self):
        await self.browser.evaluate("(state.frameTimes = [performance.now()], 1)")

    async def leave(self):
        await self.browser.evaluate("(socket.send(JSON.stringify({ type: 'leave' })), pc.close(), 1)")
        await self.browser.close()


class PythonPeer:
    def __init__(self, peer):
        self.peer, self.name, self.colour, self.frequency = peer, peer.name, peer.colour, peer.frequency

    async def joined(self):
        deadline = time.monotonic() + 15
        while self.peer.picture is None or self.peer.tiles is None:
            assert time.monotonic() < deadline, f"{self.name} received no picture"
            await asyncio.sleep(0.05)
        self.id = self.peer.id
        return self

    async def tile_colours(self):
        frame, tiles = self.peer.rgb(), self.peer.tiles
        canvas = (tiles["width"], tiles["height"])
        return {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) for t in tiles["tiles"]}

    async def heard(self, frequencies):
        last = self.peer.sound[-48000:]
        return {f: tone_level(last, f) > 0.02 for f in frequencies} if len(last) == 48000 else {}

    async def longest_gap(self):
        times = np.array(self.peer.picture_times)
        return float(np.max(np.diff(times)) * 1000) if len(times) > 1 else 0

    async def forget_gaps(self):
        self.peer.picture_times = self.peer.picture_times[-1:]

    async def leave(self):
        await self.peer.leave()


async def eventually(check, timeout, what):
    """Polls until `check` gives no complaint; fails with the last one."""
    deadline = time.monotonic() + timeout
    while True:
        complaint = await check()
        if not complaint:
            return
        assert time.monotonic() < deadline, f"{what}: {complaint}"
        await asyncio.sleep(0.1)


async def picture_is_right(peers):
    expected = {p.id: p.colour for p in peers}
    for peer in peers:
        seen = await peer.tile_colours()
        if seen != expected:
            return f"{peer.name} sees {seen}, not {expected}"
    return None


async def sound_is_right(peers):
    for peer in peers:
        heard = await peer.heard([p.frequency for p in peers])
        for other in peers:
            if heard.get(other.frequency) != (other is not peer):
                return f"{peer.name} hears {heard}; own tone is {peer.frequency}"
    return None


@pytest.mark.usefixtures("needs_address")
def test_five_clients_of_three_kinds_and_two_codecs_share_a_room(server, pages):
    async def run():
        room = "mixed"
        browsers = [
            BrowserPeer(await Chromium().start(page_url(pages, server, room, "Chromium VP8", "red", TONES[0], "VP8")), "Chromium VP8", "red", TONES[0]),
            BrowserPeer(await Chromium().start(page_url(pages, server, room, "Chromium H.264", "green", TONES[1], "H264")), "Chromium H.264", "green", TONES[1]),
            BrowserPeer(await Firefox().start(page_url(pages, server, room, "Firefox", "blue", TONES[2]), microphone=TONES[2]), "Firefox", "blue", TONES[2]),
        ]
        peers = []
        try:
            for browser in browsers:
                peers.append(await browser.joined())
            for name, colour, frequency, codec in [("aiortc VP8", "yellow", TONES[3], "VP8"), ("aiortc H.264", "magenta", TONES[4], "H264")]:
                peers.append(await PythonPeer(await AiortcPeer(server, room, name, colour, frequency, codec).join()).joined())
            await eventually(lambda: picture_is_right(peers), 10, "picture")
            await eventually(lambda: sound_is_right(peers), 15, "sound")

            # Each kind leaves in turn; within a second everyone else's picture is right again, and nobody freezes.
            while len(peers) > 2:
                leaver = peers.pop(len(peers) // 2)
                for peer in peers:
                    await peer.forget_gaps()
                await leaver.leave()
                if leaver in browsers:
                    browsers.remove(leaver)
                await eventually(lambda: picture_is_right(peers), 3, f"picture after {leaver.name} left")
                await eventually(lambda: sound_is_right(peers), 10, f"sound after {leaver.name} left")
                for peer in peers:
                    gap = await peer.longest_gap()
                    assert gap < 1000, f"{peer.name} froze for {gap:.0f} ms when {leaver.name} left"
        finally:
            for browser in browsers:
                await browser.browser.close()
            for peer in peers:
                if isinstance(peer, PythonPeer):
                    await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 150))


@pytest.mark.usefixtures("needs_address")
@pytest.mark.parametrize("codec", ["VP8", "H264"])
def test_two_aiortc_peers_see_and_hear_each_other(server, codec):
    async def run():
        peers = []
        try:
            for name, colour, frequency in [("Ada", "red", TONES[0]), ("Bo", "cyan", TONES[1])]:
                peers.append(await PythonPeer(await AiortcPeer(server, "pair", name, colour, frequency, codec).join()).joined())
            await eventually(lambda: picture_is_right(peers), 8, "picture")
            await eventually(lambda: sound_is_right(peers), 10, "sound")
        finally:
            for peer in peers:
                await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_address")
def test_messages_of_a_data_channel_reach_the_others_and_not_the_sender(server):
    async def run():
        ada = await AiortcPeer(server, "data", "Ada", "red", TONES[0], data_channel="tools").join()
        bo = await AiortcPeer(server, "data", "Bo", "blue", TONES[1], data_channel="tools").join()
        try:
            deadline = time.monotonic() + 10
            while ada.channel.readyState != "open" or bo.channel.readyState != "open":
                assert time.monotonic() < deadline, "the channels did not open"
                await asyncio.sleep(0.05)
            ada.channel.send("text stays text")
            ada.channel.send(b"\x00binary stays binary")
            while len(bo.received_data) < 2:
                assert time.monotonic() < deadline + 5, f"Bo received {bo.received_data}"
                await asyncio.sleep(0.05)
            assert bo.received_data == ["text stays text", b"\x00binary stays binary"]
            assert ada.received_data == []
        finally:
            await ada.close()
            await bo.close()
    asyncio.run(asyncio.wait_for(run(), 60))
