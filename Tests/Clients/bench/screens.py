"""How soon a shared page of print can be read behind a thin line after it was turned, with AV1 and without. A row of `./scripts/bench --network`.

With a folder as argument the last picture of each is left there.
"""

import asyncio
import base64
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from support.far_network import FarNetwork
from support.page import Page
from support.printed import DRAW_PAGE, TAKE_SCREEN, WORDS, part_read
from support.server import Server, from_outside

LINK = "rate=100k,delay=50ms"
# The part of a page's words that makes it readable, and how soon it should be, in seconds.
READABLE, AIM = 0.95, 5
TURNS, WAIT, SETTLED = 5, 12, 25
CODECS = {"AV1, H.264, VP8": "[h264, vp8, av1]", "H.264, VP8": "[h264, vp8]"}


async def measure(server, scratch):
    """([[(seconds after the turn, picture)] and the lines of each page], kbit/s down)"""
    pages = []
    with FarNetwork("rate=5M,delay=20ms") as far:
        ada, bo = Page(apart=True), Page(far, apart=True)
        try:
            await ada.open(f"{server.url}/r/print?name=Ada&join=1", 1280, 800, False, scratch)
            await bo.open(from_outside(f"{server.url}/r/print?name=Bo&join=1"), 1280, 800, False, scratch)
            await asyncio.gather(ada.is_moving(), bo.is_moving())
            await ada.evaluate(f"({DRAW_PAGE})({json.dumps(WORDS)})")
            await ada.click("#toggle-screen")
            await bo.wait_for("probe.last('tiles').tiles.some(tile => tile.source === 'screen')")
            far.change(LINK)
            await asyncio.sleep(SETTLED)
            begun, before = time.monotonic(), far.read()[0][2]
            for turn in range(TURNS):
                words = WORDS[41 * (turn + 1):] + WORDS
                lines, turned, taken = await ada.evaluate(f"turn({json.dumps(words)})"), time.monotonic(), []
                while time.monotonic() - turned < WAIT:
                    picture, height = await bo.evaluate(TAKE_SCREEN)
                    taken.append((time.monotonic() - turned, base64.b64decode(picture), height))
                    await asyncio.sleep(max(0, len(taken) - (time.monotonic() - turned)))
                pages.append((lines, taken))
            return pages, (far.read()[0][2] - before) * 8 / (time.monotonic() - begun) / 1000
        finally:
            await asyncio.gather(ada.close(), bo.close(), return_exceptions=True)


def main(folder=None):
    print(f"| a shared page at {LINK} (headless Chromium) | readable after (s, {TURNS} turns) | median | words read at the end | kbit/s | aim |")
    print("|---|---|---|---|---|---|")
    for name, codecs in CODECS.items():
        with tempfile.TemporaryDirectory() as directory:
            with Server(Path(directory, "server"), config=f"video: {{ codecs: {codecs} }}\n", full=True) as server:
                pages, rate = asyncio.run(asyncio.wait_for(measure(server, Path(directory)), 240))
            times, ends = [], []
            for lines, taken in pages:
                parts = [(after, part_read(lines, picture, Path(directory))) for after, picture, _ in taken]
                times.append(next((after for after, part in parts if part >= READABLE), float("inf")))
                ends.append(parts[-1][1])
            if folder:
                Path(folder, f"{name.split(',')[0]}.png").write_bytes(pages[-1][1][-1][1])
        median = statistics.median(times)
        print(f"| {name}, {pages[-1][1][-1][2]} lines | {', '.join(f'{each:.1f}' for each in times)} | {median:.1f} | {100 * statistics.mean(ends):.0f} % | {rate:.0f} "
              f"| {'✓' if max(times) <= AIM else '✗'} ≤ {AIM} s |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
