"""AV1 for those whose line is thin: real browsers behind a slow link get it, send what they sent before, and lose it again with a wider one."""

import asyncio
import base64
import collections
import json
import time

import pytest

from support.browser import Chromium, Firefox
from support.far_network import FarNetwork
from support.media import TONES
from support.page import Page
from support.people import BrowserPeer, page_url
from support.server import from_outside
from tests.test_screen import TAKE_SCREEN, WORDS, read_text

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


# Shares a white page of 1280×720 with twelve lines of text; `turn(words)` shows another one, and returns its lines.
SHARE_PAGES = """
(() => {
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [1280, 720];
  let lines = [];
  const draw = () => {
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, 1280, 720);
    pen.fillStyle = '#111';
    pen.font = '26px "Noto Sans", "DejaVu Sans", sans-serif';
    lines.forEach((line, number) => pen.fillText(line, 40, 60 + number * 52));
  };
  window.turn = words => {
    lines = Array.from({ length: 12 }, (_, number) => words.slice(number * 9, number * 9 + 9).join(' '));
    draw();
    return lines;
  };
  setInterval(draw, 200);
  navigator.mediaDevices.getDisplayMedia = async () => canvas.captureStream(5);
})(), 0
"""


@pytest.mark.alone
@pytest.mark.usefixtures("needs_address", "needs_far_network")
def test_a_shared_page_is_read_soon_after_it_was_turned_on_a_line_of_130_kbit(full_server, tmp_path):
    async def run():
        with FarNetwork("rate=2M,delay=40ms") as far:
            ada = await Page().open(f"{full_server.url}/r/pages?name=Ada&join=1", 1280, 800, False, tmp_path)
            bo = await Page(far).open(from_outside(f"{full_server.url}/r/pages?name=Bo&join=1"), 1280, 800, False, tmp_path)
            try:
                await asyncio.gather(ada.is_moving(), bo.is_moving())
                await ada.evaluate(SHARE_PAGES)
                await ada.evaluate(f"turn({json.dumps(WORDS[:108])})")
                await ada.click("#toggle-screen")
                await bo.wait_for("probe.last('tiles').tiles.some(tile => tile.source === 'screen')")
                far.change("rate=130k,delay=50ms")

                async def read(words, timeout):
                    wanted, started, best, height = collections.Counter(words), time.monotonic(), 0, 0
                    while best < 0.9 or height != 720:
                        assert time.monotonic() - started < timeout, f"{best:.0%} of the words were read, of a picture {height} pixels high"
                        await asyncio.sleep(0.5)
                        at = time.monotonic()
                        picture, height = await bo.evaluate(TAKE_SCREEN)
                        (tmp_path / "page.png").write_bytes(base64.b64decode(picture))
                        found = collections.Counter(await asyncio.to_thread(read_text, base64.b64decode(picture), tmp_path))
                        best = (wanted & found).total() / wanted.total()
                    return at - started

                first = await read(WORDS[:108], 60)
                turns = []
                for number in (1, 2, 3):
                    words = WORDS[number * 108:number * 108 + 108]
                    await ada.evaluate(f"turn({json.dumps(words)})")
                    turns.append(await read(words, 30))
                people = await asyncio.to_thread(full_server.json, "GET", "/api/rooms/pages")
                bo_id = next(person["id"] for person in people["participants"] if person["name"] == "Bo")
                stats = await asyncio.to_thread(full_server.json, "GET", f"/api/rooms/pages/participants/{bo_id}/stats")
                print(f"the first page after {first:.1f} s, turned ones after {turns}, {stats['rendition']} at {stats['estimate']}")
                assert stats["estimate"] < 200_000 and sorted(turns)[1] < 10, (stats["estimate"], turns)
            finally:
                await asyncio.gather(ada.close(), bo.close())
    asyncio.run(asyncio.wait_for(run(), 200))
