"""Thirty pages behind one address, and a server that is away for a while."""

import asyncio
import time

import pytest

from support.browser import Chromium
from support.page import PROBE
from support.server import Server

PAGES = 30

# Keeps the page's peer connections, and joins without camera and microphone: thirty encoders are too many for one machine.
CONNECTIONS = """
(() => {
  const Native = RTCPeerConnection;
  window.connections = [];
  window.RTCPeerConnection = class extends Native {
    constructor(...all) { super(...all); connections.push(this); }
  };
  for (const kind of ['camera', 'microphone']) localStorage.setItem(`tessera.${kind}`, 'none');
})();
"""

# Resolves when the page decodes pictures of its connection of this number, or a later one.
MEDIA = """
(async () => {
  for (;;) {
    const report = connections.length < %d ? [] : [...(await connections.at(-1).getStats()).values()];
    if (report.find(entry => entry.type === 'inbound-rtp' && entry.kind === 'video')?.framesDecoded > 1) return true;
    await new Promise(done => setTimeout(done, 500));
  }
})()
"""


class Tab(Chromium):
    """Another tab of a browser."""

    async def open(self, browser, url):
        target = (await browser.call("Target.createTarget", url="about:blank"))["targetId"]
        await self.connect(f"ws://127.0.0.1:{browser.port}/devtools/page/{target}")
        await self.call("Page.enable")
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=PROBE + CONNECTIONS)
        await self.call("Page.navigate", url=url)
        return self

    async def close(self):
        self.reader.cancel()
        await self.socket.close()


async def until_all_have_pictures(tabs, connections, timeout):
    """Waits until every page decodes pictures of its last connection, which is at least the given one; returns the seconds of each."""
    started = time.monotonic()

    async def back(tab):
        await tab.call("Runtime.evaluate", timeout, expression=MEDIA % connections, awaitPromise=True)
        return time.monotonic() - started
    seconds = await asyncio.gather(*(back(tab) for tab in tabs), return_exceptions=True)
    late = [number for number, one in enumerate(seconds) if isinstance(one, Exception)]
    assert not late, f"{len(late)} of {len(tabs)} pages are not back after {timeout} s: {late}"
    return sorted(seconds)


@pytest.mark.usefixtures("needs_address")
def test_thirty_pages_behind_one_address_are_back_within_ten_seconds(tmp_path):
    """Each page has an address of the server's, and so a process of the browser, which slows down the sockets of one process. For the
    server they all have one address. What they show is small, so that one machine can decode it thirty times."""
    async def run(server):
        browser = await Chromium().start("about:blank")
        tabs = []
        try:
            for number in range(PAGES):
                tabs.append(await Tab().open(browser, f"http://127.0.0.{number + 2}:{server.port}/r/office?name=Person+{number}&join=1"))
            await until_all_have_pictures(tabs, 1, 60)
            server.process.kill()
            server.process.wait()
            # So long that a page which waits longer after each attempt would come too late.
            await asyncio.sleep(8)
            await asyncio.to_thread(server.start)
            took = await until_all_have_pictures(tabs, 2, 10)
            print(f"{PAGES} pages were back after {took[0]:.1f} to {took[-1]:.1f} s, half of them after {took[PAGES // 2]:.1f} s")
            room = server.json("GET", "/api/rooms/office")
            assert sorted(person["name"] for person in room["participants"]) == sorted(f"Person {number}" for number in range(PAGES))
            for tab in tabs:
                assert not await tab.evaluate("probe.problems.length || !document.getElementById('notice').hidden")
        finally:
            for tab in tabs:
                await tab.close()
            await browser.close()
    server = Server(tmp_path / "server")
    server.environment = {"TESSERA_ROOMS_WIDTH": "160", "TESSERA_ROOMS_HEIGHT": "90", "TESSERA_ROOMS_FRAMESPERSECOND": "5"}
    with server:
        asyncio.run(asyncio.wait_for(run(server), 120))
