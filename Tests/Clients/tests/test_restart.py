"""Thirty people behind one address, and a server that is away for a while."""

import asyncio
import time

import pytest

from support.browser import Chromium
from support.page import PROBE, module
from support.server import Server

PEOPLE, PAGES = 30, 4

# Keeps the page's peer connections, and joins without camera and microphone.
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
    await new Promise(done => setTimeout(done, 250));
  }
})()
"""

# People whose pages are only the module that keeps the page's socket.
CROWD = """
(async () => {
  const { Signalling } = %s;
  window.crowd = [...Array(%d).keys()].map(number => {
    const one = new Signalling(`ws://${location.host}/signal`, { room: 'office', name: `Person ${number}`, deltas: true });
    one.joins = 0;
    one.addEventListener('joined', () => { one.joins += 1; });
    one.open();
    return one;
  });
})()
"""


class Tab(Chromium):
    """Another tab of a browser."""

    async def open(self, browser, url, script=""):
        target = (await browser.call("Target.createTarget", url="about:blank"))["targetId"]
        await self.connect(f"ws://127.0.0.1:{browser.port}/devtools/page/{target}")
        await self.call("Page.enable")
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        await self.call("Page.navigate", url=url)
        await self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
        return self

    async def close(self):
        self.reader.cancel()
        await self.socket.close()


async def all_are_in(pages, crowd, times, timeout):
    """Waits until everyone has joined so many times, and each page decodes pictures of that connection; returns the seconds of each part."""
    started = time.monotonic()

    async def seconds(wait):
        await wait
        return time.monotonic() - started
    return await asyncio.gather(
        seconds(crowd.wait_for(f"crowd.every(one => one.joined && one.joins >= {times})", timeout)),
        *(seconds(page.call("Runtime.evaluate", timeout, expression=MEDIA % times, awaitPromise=True)) for page in pages))


@pytest.mark.usefixtures("needs_address")
def test_thirty_people_behind_one_address_are_back_within_ten_seconds(tmp_path):
    """Four of them with the whole page and its media; thirty such pages are too many for one machine. Each page has an address of the
    server's, and so a process of the browser; for the server they all have one."""
    async def run(server):
        browser = await Chromium(apart=True).start("about:blank")
        tabs = []
        try:
            for number in range(PAGES):
                url = f"http://127.0.0.{number + 2}:{server.port}/r/office?name=Page+{number}&join=1"
                tabs.append(await Tab().open(browser, url, PROBE + CONNECTIONS))
            tabs.append(crowd := await Tab().open(browser, f"{server.url}/robots.txt"))
            await crowd.evaluate(CROWD % (module("signalling.js"), PEOPLE - PAGES))
            await all_are_in(tabs[:PAGES], crowd, 1, 30)
            server.process.kill()
            server.process.wait()
            # So long that a page which waits longer after each attempt would come too late.
            await asyncio.sleep(8)
            await asyncio.to_thread(server.start)
            took = await all_are_in(tabs[:PAGES], crowd, 2, 10)
            print(f"all had joined after {took[0]:.1f} s, the pages had pictures after {sorted(round(one, 1) for one in took[1:])} s")
            assert len(server.json("GET", "/api/rooms/office")["participants"]) == PEOPLE
            for tab in tabs[:PAGES]:
                assert not await tab.evaluate("probe.problems.length")
        finally:
            for tab in tabs:
                await tab.close()
            await browser.close()
    with Server(tmp_path / "server") as server:
        asyncio.run(asyncio.wait_for(run(server), 90))
