"""The delay of the picture by way of the server beside that of two browsers which talk to each other directly, over the same line with the same loss,
in turns: as two get each other's frames (passthrough), and as the server mixes them. A row of `./scripts/bench --network`."""

import asyncio
import re
import sys
import tempfile

import numpy as np

from support.browser import Chromium
from support.far_network import FarNetwork
from support.media import TONES
from support.page_server import serve_pages
from support.people import BrowserPeer, page_url
from support.server import ADDRESS, Server, from_outside

LINK = "rate=3M,delay=30ms,loss=5%"
ROUNDS, SETTLED, SECONDS = 3, 10, 30
# The 95th percentile by way of the server, as a multiple of the direct one.
AIM = 1.3
# Both ways, with H.264 and its repetitions; the candidates are those of the machine, which browsers hide by names.
CAMERA = """
  const wanted = RTCRtpReceiver.getCapabilities('video').codecs.filter(({ mimeType }) => /H264|rtx/.test(mimeType));
  const gathered = () => new Promise(done => { if (pc.iceGatheringState === 'complete') done(); pc.onicegatheringstatechange = () => pc.iceGatheringState === 'complete' && done(); });
"""
OFFER = """(async () => {CAMERA
  pc.addTransceiver(await toneTrack());
  pc.addTransceiver(cameraTrack()).setCodecPreferences(wanted);
  await pc.setLocalDescription();
  await gathered();
  return pc.localDescription.sdp;
})()""".replace("CAMERA", CAMERA)
ANSWER = """(async () => {CAMERA
  await pc.setRemoteDescription({ type: 'offer', sdp: OFFER });
  const tracks = [await toneTrack(), cameraTrack()];
  for (const [index, section] of pc.getTransceivers().filter(({ mid }) => mid !== null).slice(0, 2).entries()) {
    await section.sender.replaceTrack(tracks[index]);
    section.direction = 'sendrecv';
    if (index) section.setCodecPreferences(wanted);
  }
  await pc.setLocalDescription();
  await gathered();
  return pc.localDescription.sdp;
})()""".replace("CAMERA", CAMERA)
# The clock's picture is the whole of what comes.
WHOLE = "(state.tiles = { width: 640, height: 360, tiles: [{ participant: 'other', x: 0, y: 0, width: 640, height: 360 }] }, 1)"


def quoted(sdp, address):
    return repr(re.sub(r"[0-9a-f-]+\.local", address, sdp))


async def delays(browser, participant):
    await asyncio.sleep(SETTLED)
    await browser.evaluate(f"watchClock({participant!r})")
    await asyncio.sleep(SECONDS)
    values = [delay for _, delay in await browser.evaluate("state.delays") if delay is not None]
    return np.quantile(values, 0.5), np.quantile(values, 0.95)


def query(name, colour, tone):
    return f"name={name}&colour={colour}&tone={tone}&fps=30&clock=1&speech=1&answers=1"


async def direct(pages):
    with FarNetwork(LINK) as far:
        near, there = Chromium(apart=True), Chromium(far, apart=True)
        try:
            await near.start(f"{pages}/peer.html?{query('Near', '0,160,0', 160)}")
            await there.start(from_outside(f"{pages}/peer.html?{query('There', '0,0,200', TONES[1])}"))
            for browser in (near, there):
                await browser.wait_for("state.ready", 20)
            offer = await near.evaluate(OFFER)
            answer = await there.evaluate(ANSWER.replace("OFFER", quoted(offer, ADDRESS)))
            await near.evaluate(f"pc.setRemoteDescription({{ type: 'answer', sdp: {quoted(answer, '127.0.0.1')} }}).then(() => 1)")
            await there.wait_for("state.connected && state.frames > 3", 30)
            await there.evaluate(WHOLE)
            return await delays(there, "other")
        finally:
            await asyncio.gather(near.close(), there.close(), return_exceptions=True)


async def served(server, pages, more=""):
    with FarNetwork(LINK) as far:
        near, there = Chromium(apart=True), Chromium(far, apart=True)
        try:
            await near.start(page_url(pages, server, "five", "Near", "green", 160, "H264") + "&fps=30&clock=1&speech=1" + more)
            await near.wait_for("state.connected && state.id", 30)
            await there.start(from_outside(page_url(pages, server, "five", "There", "blue", TONES[1], "H264")) + "&fps=30&clock=1&speech=1" + more)
            await BrowserPeer(there, "There", "blue", TONES[1]).joined()
            return await delays(there, await near.evaluate("state.id"))
        finally:
            await asyncio.gather(near.close(), there.close(), return_exceptions=True)


def by_the_server(pages, more="", **settings):
    with tempfile.TemporaryDirectory() as directory, Server(directory, origin=pages, full=True, **settings) as server:
        return asyncio.run(asyncio.wait_for(served(server, pages, more), SETTLED + SECONDS + 90))


def main():
    print(f"Picture, painted to shown, over {LINK} (headless Chromium, H.264), p50 and p95 in ms:")
    ways = {
        "direct": lambda: asyncio.run(asyncio.wait_for(direct(pages), SETTLED + SECONDS + 90)),
        "forwarded": lambda: by_the_server(pages, "&draws=1", own_pictures=True),
        "mixed": lambda: by_the_server(pages),
    }
    tails = {way: [] for way in ways}
    with serve_pages() as pages:
        for _ in range(ROUNDS):
            found = {way: measure() for way, measure in ways.items()}
            for way, (_, tail) in found.items():
                tails[way].append(tail)
            print(", ".join(f"{way} {middle:.0f}/{tail:.0f}" for way, (middle, tail) in found.items()), flush=True)
    middle = {way: np.median(values) for way, values in tails.items()}
    times = middle["forwarded"] / middle["direct"]
    print("median p95: " + ", ".join(f"{way} {value:.0f}" for way, value in middle.items())
        + f"; forwarded {times:.2f} times direct {'✓' if times <= AIM else '✗'} ≤ {AIM}")


if __name__ == "__main__":
    sys.exit(main())
