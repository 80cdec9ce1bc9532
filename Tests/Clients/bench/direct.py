"""The delay of the picture by way of the server beside that of two browsers which talk to each other directly, over the same line with the same loss,
in turns. A row of `./scripts/bench --network`."""

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


async def served(server, pages):
    with FarNetwork(LINK) as far:
        near, there = Chromium(apart=True), Chromium(far, apart=True)
        try:
            await near.start(page_url(pages, server, "five", "Near", "green", 160, "H264") + "&fps=30&clock=1&speech=1")
            await near.wait_for("state.connected && state.id", 30)
            await there.start(from_outside(page_url(pages, server, "five", "There", "blue", TONES[1], "H264")) + "&fps=30&clock=1&speech=1")
            await BrowserPeer(there, "There", "blue", TONES[1]).joined()
            return await delays(there, await near.evaluate("state.id"))
        finally:
            await asyncio.gather(near.close(), there.close(), return_exceptions=True)


def main():
    print(f"Picture, painted to shown, over {LINK} (headless Chromium, H.264), p50 and p95 in ms:")
    direct_tails, served_tails = [], []
    with serve_pages() as pages:
        for _ in range(ROUNDS):
            plain = asyncio.run(asyncio.wait_for(direct(pages), SETTLED + SECONDS + 90))
            with tempfile.TemporaryDirectory() as directory, Server(directory, origin=pages, full=True) as server:
                mixed = asyncio.run(asyncio.wait_for(served(server, pages), SETTLED + SECONDS + 90))
            direct_tails.append(plain[1])
            served_tails.append(mixed[1])
            print(f"direct {plain[0]:.0f}/{plain[1]:.0f}, by the server {mixed[0]:.0f}/{mixed[1]:.0f}", flush=True)
    times = np.median(served_tails) / np.median(direct_tails)
    print(f"median p95: direct {np.median(direct_tails):.0f}, by the server {np.median(served_tails):.0f}: {times:.2f} times {'✓' if times <= AIM else '✗'} ≤ {AIM}")


if __name__ == "__main__":
    sys.exit(main())
