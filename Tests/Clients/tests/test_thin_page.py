"""What the page itself does about a bad way up: the camera rests, and speech goes up twice."""

import asyncio
import contextlib

import pytest

from bench.page_line import secure, trust
from support.browser import Chromium
from support.far_network import FarNetwork
from support.flashes import caller as flashing
from support.flashes import people, wait_for
from support.people import eventually
from support.server import from_outside

pytestmark = [pytest.mark.usefixtures("needs_far_network"), pytest.mark.alone]

# What the page sends of a kind: {bytes, packets, codecs}, the codecs as the answer has them.
SENT = """
(async kind => {
  const pc = window.connections.at(-1), report = [...(await pc.getStats()).values()], sent = { bytes: 0, packets: 0 };
  for (const entry of report.filter(entry => entry.type === 'outbound-rtp' && entry.kind === kind)) {
    sent.bytes += entry.bytesSent;
    sent.packets += entry.packetsSent;
  }
  return { ...sent, codecs: pc.getSenders().find(({ track }) => track?.kind === kind)?.getParameters().codecs.map(({ mimeType }) => mimeType) };
})
"""
WATCHED = """
window.connections = [];
window.RTCPeerConnection = class extends RTCPeerConnection { constructor(...given) { super(...given); window.connections.push(this); } };
"""


@contextlib.asynccontextmanager
async def caller(tmp_path, pages, link):
    """(server, network, browser) of Ada, alone in a call behind a line."""
    with secure(tmp_path / "server", origin=pages) as server, FarNetwork(link) as far:
        browser = Chromium(far)
        try:
            url = from_outside(f"{server.url}/r/thin?name=Ada")
            await browser.start("about:blank", trusted=url, flags=[trust(server)])
            await browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCHED)
            await browser.call("Page.navigate", url=url)
            await browser.wait_for("document.getElementById('join')?.checkVisibility() && document.getElementById('join').textContent", 20)
            await browser.evaluate("(document.getElementById('join').click(), 0)")
            await browser.wait_for("document.getElementById('mix').videoWidth && window.connections.length", 30)
            yield server, far, browser
        finally:
            await browser.close()


async def sent(browser, kind):
    return await browser.evaluate(f"({SENT.strip()})({kind!r})")


def person(server):
    return next(iter(server.json("GET", "/api/rooms/thin")["participants"]))


def test_the_camera_rests_on_a_thin_way_up_and_is_sent_when_the_user_wants_it(tmp_path, pages):
    async def run():
        async with caller(tmp_path, pages, "rate=3M,delay=20ms") as (server, far, browser):
            assert person(server)["video"]
            offer = await browser.evaluate("connections.at(-1).localDescription.sdp")
            # With all that Chromium has it is twice as long.
            assert len(offer) < 6500 and all(name not in offer for name in ("VP9", "PCMU", "flexfec", "packetization-mode=0")), offer
            assert all(name in offer for name in ("opus", "red/48000", "H264", "VP8", "AV1", "rtx")), offer
            # What is said and done about a thin line comes while the line has room.
            fetched = "performance.getEntriesByType('resource').map(({ name }) => name.replace(/.*\\/([a-z-]+)\\..*/, '$1'))"
            await browser.wait_for(f"['told', 'dialogs', 'thin-line'].every(name => {fetched}.includes(name))", 30)
            far.change_up("rate=60k,delay=20ms")
            await browser.wait_for("document.getElementById('toggle-video').textContent.trim() === 'Resting'", 40)
            await browser.wait_for("document.body.textContent.includes('Your line is too thin for your camera')", 2)

            async def rests():
                return None if not person(server)["video"] and person(server)["audio"] else str(person(server))
            await eventually(rests, 15, "a camera that rests")
            before = (await sent(browser, "video"))["bytes"]
            await asyncio.sleep(2)
            after = (await sent(browser, "video"))["bytes"]
            assert after == before, (before, after)
            far.change_up("rate=3M,delay=20ms")
            # By the notice's own button.
            await browser.evaluate("([...document.querySelectorAll('button')].find(({ textContent }) => textContent.trim() === 'Send it all the same').click(), 0)")
            await browser.wait_for("document.getElementById('toggle-video').textContent.trim() === 'Camera'", 5)
            await asyncio.sleep(2)
            assert person(server)["video"] and (await sent(browser, "video"))["bytes"] > before
    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_camera_that_no_view_shows_is_asked_for_less_and_does_not_rest(tmp_path, pages):
    """The browser takes what the server asks for to be the line."""
    async def run():
        async with caller(tmp_path, pages, "rate=3M,delay=20ms") as (server, _, browser):
            with flashing(server, "thin", "Bo"):
                await asyncio.to_thread(wait_for, lambda: "Bo" in people(server, "thin"), 10, "nobody came")
                server.json("PUT", "/api/rooms/thin", {"layout": "single"})
                server.json("PATCH", f"/api/rooms/thin/participants/{people(server, 'thin')['Bo']}", {"pinned": True})
                way_up = "connections.at(-1).getStats().then(all => [...all.values()].find(one => one.type === 'candidate-pair' && one.nominated).availableOutgoingBitrate)"
                await browser.wait_for(f"({way_up}).then(rate => rate < 100000)", 20)
                await asyncio.sleep(10)
                assert await browser.evaluate("document.getElementById('toggle-video').textContent.trim()") == "Camera"
                assert await browser.evaluate(way_up) < 100_000
    asyncio.run(asyncio.wait_for(run(), 120))


def test_speech_goes_up_twice_where_the_way_up_loses_it(tmp_path, pages):
    async def run():
        async def size():
            """The mean packet of two seconds, in bytes."""
            before = await sent(browser, "audio")
            await asyncio.sleep(2)
            after = await sent(browser, "audio")
            return (after["bytes"] - before["bytes"]) / (after["packets"] - before["packets"])

        async with caller(tmp_path, pages, "rate=3M,delay=20ms") as (_, far, browser):
            once = await size()
            assert (await sent(browser, "audio"))["codecs"] == ["audio/opus", "audio/red"]
            far.change_up("rate=3M,delay=20ms,loss=15%")
            async with asyncio.timeout(40):
                while (await sent(browser, "audio"))["codecs"] != ["audio/red", "audio/opus"]:
                    await asyncio.sleep(0.5)
                # The browser takes less for each copy where it believes the way up to be thin.
                while (twice := await size()) < 1.25 * once:
                    pass
            print(f"packets of {once:.0f} bytes, then of {twice:.0f}")
    asyncio.run(asyncio.wait_for(run(), 120))
