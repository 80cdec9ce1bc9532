"""What one viewer behind a thin line costs the server in a room of four, with AV1 and without, in turns. A row of `./scripts/bench --network`."""

import asyncio
import contextlib
import statistics
import sys
import tempfile

from support.browser import Chromium
from support.far_network import FarNetwork
from support.flashes import caller, people, wait_for
from support.media import TONES
from support.page_server import serve_pages
from support.people import BrowserPeer, page_url
from support.server import Server, from_outside, spent

LINK = "rate=120k,delay=50ms"
ROUNDS, SETTLED, SECONDS = 3, 20, 20
# The most that AV1 may add, in cores.
AIM = 0.15


async def measure(server, pages, codec):
    """(cores of the server, the viewer's rendition and codec)"""
    with FarNetwork(LINK) as far:
        thin = Chromium(far, apart=True)
        try:
            await thin.start(from_outside(page_url(pages, server, "four", "Thin", "blue", TONES[1], codec)) + "&fps=15")
            peer = await BrowserPeer(thin, "Thin", "blue", TONES[1]).joined(-1)
            await asyncio.sleep(SETTLED)
            before = spent(server.process.pid)
            await asyncio.sleep(SECONDS)
            cores = (spent(server.process.pid) - before) / SECONDS
            stats = await asyncio.to_thread(server.json, "GET", f"/api/rooms/four/participants/{peer.id}/stats")
            return cores, f"{stats['rendition']} {stats['sent']['video']['codec']}"
        finally:
            await thin.close()


def main():
    print(f"Cores of the server with a room of four, one of them behind {LINK}:")
    found = {"H264,AV1": [], "H264": []}
    with serve_pages() as pages:
        for _ in range(ROUNDS):
            for codec, values in found.items():
                with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
                    server = stack.enter_context(Server(directory, origin=pages, full=True))
                    stack.enter_context(caller(server, "four", "P", "--count", 3, "--seconds", 120))
                    wait_for(lambda server=server: len(people(server, "four")) >= 3, 20, "not all came")
                    cores, rendition = asyncio.run(asyncio.wait_for(measure(server, pages, codec), 120))
                values.append(cores)
                print(f"{codec}: {cores:.2f} ({rendition})", flush=True)
    with_av1, without = (statistics.median(values) for values in found.values())
    more = with_av1 - without
    print(f"median with AV1 {with_av1:.2f}, without {without:.2f}: {more:+.2f} {'✓' if more <= AIM else '✗'} ≤ +{AIM}")


if __name__ == "__main__":
    sys.exit(main())
