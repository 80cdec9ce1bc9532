"""AV1 for those whose line is thin: real browsers behind a slow link get it, send what they sent before, and lose it again with a wider one."""

import asyncio
import time

import pytest

from support.browser import Chromium, Firefox
from support.far_network import FarNetwork
from support.media import TONES, nearest_colour
from support.people import BrowserPeer, page_url
from support.server import from_outside
from tests.test_screen import Presenter

# (codec, height) of the picture that the page gets, and of the one that it sends.
RECEIVED = "stats().then(s => [s.codecOf?.[s['in-video']?.codecId] ?? '', s['in-video']?.frameHeight ?? 0, s.codecOf?.[s['out-video']?.codecId] ?? ''])"


async def until(peer, condition, timeout):
    started, seen = time.monotonic(), []
    while True:
        now = await peer.browser.evaluate(RECEIVED)
        if not seen or now != seen[-1][1]:
            seen.append((round(time.monotonic() - started, 1), now))
        if condition(*now):
            return seen
        assert time.monotonic() - started < timeout, seen
        await asyncio.sleep(0.25)


@pytest.mark.alone
@pytest.mark.usefixtures("needs_address", "needs_far_network")
@pytest.mark.parametrize("kind", [Chromium, Firefox])
def test_a_thin_line_gets_av1_and_a_wider_one_what_it_had(full_server, pages, kind):
    async def run():
        with FarNetwork("rate=1500k,delay=40ms") as far:
            browsers = []
            try:
                clean = await Chromium().start(page_url(pages, full_server, "av1", "Clean", "green", TONES[0], "H264") + "&fps=12&direction=sendonly")
                browsers.append(clean)
                await clean.wait_for("state.connected && state.id", timeout=30)
                thin = await kind(far).start(from_outside(page_url(pages, full_server, "av1", "Thin", "blue", TONES[1])) + "&fps=5")
                browsers.append(thin)
                peer = await BrowserPeer(thin, "Thin", "blue", TONES[1]).joined()
                before = await until(peer, lambda codec, height, sent: height >= 360 and sent, 30)
                first = before[-1][1][0]
                assert first in ("video/H264", "video/VP8"), before
                far.change("rate=130k,delay=50ms")
                became = await until(peer, lambda codec, height, sent: codec == "video/AV1" and height == 360, 40)
                await asyncio.sleep(3)
                await peer.forget_gaps()
                await asyncio.sleep(8)
                gap, frames = await peer.longest_gap(), await thin.evaluate("state.frameTimes.length")
                codec, height, sent = await thin.evaluate(RECEIVED)
                path = f"/api/rooms/av1/participants/{peer.id}/stats"
                stats = await asyncio.to_thread(full_server.json, "GET", path)
                print(f"{kind.__name__}: {before}, then {became}; {frames} pictures in 8 s, longest gap {gap:.0f} ms, {stats['rendition']}")
                assert (codec, height) == ("video/AV1", 360) and sent == first, (codec, height, sent)
                assert frames > 60 and gap < 1000, (frames, gap)
                await peer.forget_gaps()
                far.change("rate=1500k,delay=40ms")
                back = await until(peer, lambda codec, height, sent: codec == first, 40)
                await asyncio.sleep(1)
                gap = await peer.longest_gap()
                print(f"back: {back}, longest gap {gap:.0f} ms")
                assert gap < 1000, gap
            finally:
                for browser in browsers:
                    await browser.close()
    asyncio.run(asyncio.wait_for(run(), 150))


@pytest.mark.alone
@pytest.mark.usefixtures("needs_address", "needs_far_network")
def test_a_shared_screen_comes_at_the_canvas_size_over_a_thin_line(full_server, pages):
    """Light senders: a busy server gives AV1 back."""
    async def run():
        with FarNetwork("rate=130k,delay=50ms") as far:
            ada = await Presenter(full_server, "thinscreen", "Ada", "red", TONES[0], "yellow").join()
            thin = await Chromium(far).start(
                from_outside(page_url(pages, full_server, "thinscreen", "Thin", "blue", TONES[1])) + "&fps=5&camera=0")
            try:
                await thin.wait_for("state.connected && state.frames > 3", timeout=40)
                peer = BrowserPeer(thin, "Thin", "blue", TONES[1])
                await ada.present(True)
                seen = await until(peer, lambda codec, height, sent: codec == "video/AV1" and height == 720, 40)
                deadline, colours = time.monotonic() + 20, []
                while "yellow" not in colours:
                    assert time.monotonic() < deadline, colours
                    await asyncio.sleep(0.5)
                    colours = [nearest_colour(tile["rgb"]) for tile in await thin.evaluate("tileColours()") or []]
                print(f"{seen}, {colours}")
                await ada.present(False)
                back = await until(peer, lambda codec, height, sent: height == 360, 40)
                print(f"without it: {back}")
            finally:
                await asyncio.gather(ada.close(), thin.close(), return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 150))
