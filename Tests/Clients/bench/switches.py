"""A third one comes into a call of two and leaves it, many times: how long the picture stands still while the server begins to mix, and while the two get
each other's frames as they come again (passthrough). A row of `./scripts/bench --network`."""

import asyncio
import sys
import tempfile
from pathlib import Path

import numpy as np

from support.flashes import caller
from support.page import Page
from support.server import Server

ROUNDS, AIM = 25, 250
# What has been shown since the page was opened, as times in ms.
WATCH = """
(() => {
  const video = document.getElementById('mix');
  window.shownAt = [performance.now()];
  const next = () => { shownAt.push(performance.now()); video.requestVideoFrameCallback(next); };
  video.requestVideoFrameCallback(next);
})()
"""
# The longest time without a new picture since the last call, and when it ended, in ms after that call.
LONGEST = """(() => {
  const times = [...shownAt, performance.now()], began = times[0];
  const gaps = times.slice(1).map((at, index) => [Math.round(at - times[index]), Math.round(at - began)]);
  window.shownAt = [performance.now()];
  return gaps.reduce((longest, gap) => (gap[0] > longest[0] ? gap : longest));
})()"""
OFFERS = "probe.sent.filter(({ type }) => type === 'offer').length"
# The first one after two seconds in which nothing hinders it.
FORWARDED = "probe.last('line')?.forwarded === true"


async def run(server, directory, rounds):
    pages = [await Page().open(f"{server.url}/r/two?name={name}&join=1", 1280, 720, False, directory) for name in ("Ada", "Bob")]
    try:
        for page in pages:
            await page.is_moving()
            await page.wait_for(FORWARDED, 20)
            await page.evaluate(WATCH)
        offers = [await page.evaluate(OFFERS) for page in pages]
        gaps = {"in": [], "out": []}
        for number in range(rounds):
            for page in pages:
                await page.evaluate(LONGEST)
            with caller(server, "two", "Cy", "--seconds", 60):
                for page in pages:
                    await page.wait_for("probe.last('tiles').tiles.length === 3", 10)
                await asyncio.sleep(2.5)
                gaps["in"].append([await page.evaluate(LONGEST) for page in pages])
            for page in pages:
                await page.wait_for("probe.last('tiles').tiles.length === 1", 10)
            await page.wait_for(FORWARDED, 20)
            await asyncio.sleep(1)
            gaps["out"].append([await page.evaluate(LONGEST) for page in pages])
            print(f"{number + 1}: in {gaps['in'][-1]}, out {gaps['out'][-1]} (ms without a new picture, and when that ended)", flush=True)
        more = [await page.evaluate(OFFERS) for page in pages]
        for way, found in gaps.items():
            longest = np.array(found)[:, :, 0].ravel()
            over = int((longest > AIM).sum())
            print(f"{way}: {rounds} switches in two pages: median {np.median(longest):.0f}, longest {longest.max()} ms, {over} over {AIM} {'✗' if over else '✓'}")
        print(f"offers meanwhile: {sum(more) - sum(offers)}")
    finally:
        for page in pages:
            await page.close()


def main(arguments):
    rounds = int(arguments[0]) if arguments else ROUNDS
    with tempfile.TemporaryDirectory() as directory, Server(Path(directory, "server"), own_pictures=True, full=True) as server:
        asyncio.run(asyncio.wait_for(run(server, Path(directory), rounds), 60 + 20 * rounds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
