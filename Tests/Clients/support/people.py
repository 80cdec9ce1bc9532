"""Participants with a common interface for all clients, and checks of a room's picture and audio."""

import asyncio
import contextlib
import time
import urllib.parse

import numpy as np

from support.aiortc_peer import AiortcPeer
from support.media import COLOURS, TONES, colour_at, nearest_colour, tone_level


def page_url(pages, server, room, name, colour, frequency, codec=None):
    query = {"signal": server.signal_url, "room": room, "name": name, "colour": ",".join(map(str, COLOURS[colour])), "tone": frequency}
    if codec:
        query["codec"] = codec
    return f"{pages}/peer.html?{urllib.parse.urlencode(query)}"


class BrowserPeer:
    """AiortcPeer's interface for a browser on the test page."""

    def __init__(self, browser, name, colour, frequency):
        self.browser, self.name, self.colour, self.frequency = browser, name, colour, frequency

    async def joined(self, pictures=3):
        await self.browser.wait_for(f"state.connected && state.frames > {pictures}", timeout=30)
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

    async def joined(self, pictures=3):
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
    """Polls until `check` reports no fault; fails with the last one."""
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


async def goes_on(peer, seconds=1.0, frames=7):
    """Frames keep coming: half of the 15 a second of the smallest picture, which a busy machine may have brought a browser to."""
    before = await peer.browser.evaluate("state.frames")
    await asyncio.sleep(seconds)
    after = await peer.browser.evaluate("state.frames")
    assert after >= before + frames, f"{peer.name}: {after - before} frames in {seconds} s"


@contextlib.asynccontextmanager
async def pair(server, room="rec", codecs=("VP8", "H264")):
    """Ada and Bo in a room, who have seen both tiles for a second; they leave at the end of the block."""
    ada = await AiortcPeer(server, room, "Ada", "red", TONES[0], codecs[0]).join()
    bo = await AiortcPeer(server, room, "Bo", "blue", TONES[1], codecs[1]).join()
    try:
        deadline = time.monotonic() + 10
        while any(p.picture is None or p.tiles is None or len(p.tiles["tiles"]) < 2 for p in (ada, bo)):
            assert time.monotonic() < deadline, "no picture"
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        yield ada, bo
    finally:
        await ada.close()
        await bo.close()
