"""What a call costs beside its media: the messages of a join, and a minute of a call of nine, in bytes both ways; and how soon media flows after the
click on Join behind a thin and long line. Rows of `./scripts/bench --network`."""

import asyncio
import collections
import dataclasses
import sys
import tempfile

from bench.page_line import settled
from support.browser import Chromium
from support.far_network import FarNetwork
from support.flashes import caller, people, wait_for
from support.server import Server, from_outside

PEOPLE, SECONDS = 8, 60
WIDE, THIN = "rate=4M,delay=20ms", "rate=60k,delay=150ms"
# The messages of the page's sockets, as [type, bytes], and its connections.
PROBE = """
(() => {
  window.wire = { up: [], down: [] };
  window.connections = [];
  const count = (list, text) => list.push([JSON.parse(text).type, new TextEncoder().encode(text).length]);
  const Socket = WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...all) { super(...all); this.addEventListener('message', ({ data }) => count(wire.down, data)); }
    send(text) { count(wire.up, text); super.send(text); }
  };
  const Peer = RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer {
    constructor(...all) { super(...all); connections.push(this); this.createDataChannel = (...all) => watch(super.createDataChannel(...all)); }
  };
  const watch = channel => {
    channel.addEventListener('message', ({ data }) => typeof data === 'string' && count(wire.down, data));
    return channel;
  };
})();
"""
# What SRTP adds to a packet (RFC 7714 §12).
TAG = 16
# [down, up] of all that the transport carried, of media with its RTP headers, and the checks of ICE.
CARRIED = """connections.at(-1).getStats().then(stats => {
  const all = [...stats.values()], sum = (type, ...keys) => all.filter(one => one.type === type).reduce((total, one) => keys.reduce((sum, key) => sum + (one[key] ?? 0), total), 0);
  return {
    all: [sum('transport', 'bytesReceived'), sum('transport', 'bytesSent')],
    media: [sum('inbound-rtp', 'bytesReceived', 'headerBytesReceived'), sum('outbound-rtp', 'bytesSent', 'headerBytesSent')],
    packets: [sum('inbound-rtp', 'packetsReceived'), sum('outbound-rtp', 'packetsSent')],
    checks: [sum('candidate-pair', 'requestsReceived', 'responsesReceived'), sum('candidate-pair', 'requestsSent', 'responsesSent', 'consentRequestsSent')],
  };
})"""
SHOWN = "document.getElementById('mix')?.videoWidth > 0"
CALL_IS_THERE = "performance.getEntriesByType('resource').some(({ name, responseEnd }) => name.includes('/main.') && responseEnd)"
BUTTON = "(({ left, top }) => ({ x: left + 5, y: top + 5 }))(document.getElementById('join').getBoundingClientRect())"
# Notes when the first sound and the first picture are there, in ms after the click.
LOOK = """(() => {
  window.clicked = performance.now();
  document.getElementById('join').click();
  const look = async () => {
    const stats = [...(await connections.at(-1)?.getStats() ?? new Map()).values()];
    if (stats.some(one => one.type === 'inbound-rtp' && one.kind === 'audio' && one.packetsReceived)) window.heard ??= performance.now() - clicked;
    if (SHOWN) window.shown ??= performance.now() - clicked;
    if (!window.shown || !window.heard) setTimeout(look, 20);
  };
  look();
})(), 0""".replace("SHOWN", SHOWN)


@dataclasses.dataclass
class Messages:
    """Bytes of messages by their type."""
    types: collections.Counter
    count: int

    @classmethod
    def of(cls, pairs):
        types = collections.Counter()
        for kind, size in pairs:
            types[kind] += size
        return cls(types, len(pairs))

    def __str__(self):
        return f"{self.types.total() / 1000:.1f} kB in {self.count} ({', '.join(f'{kind} {size}' for kind, size in self.types.most_common(5))})"


async def measure(server, link, seconds=0):
    """(messages up and down until the picture, seconds from the click to sound and picture, bytes beside the media in `seconds` after that)."""
    with FarNetwork(link) as far:
        browser = Chromium(far)
        try:
            url = from_outside(f"{server.url}/r/nine?name=Ada")
            await browser.start("about:blank", trusted=url)
            await browser.call("Page.addScriptToEvaluateOnNewDocument", source=PROBE)
            await browser.call("Page.navigate", url=url, timeout=90)
            await browser.wait_for("document.getElementById('join')?.checkVisibility() && document.getElementById('join').textContent", 90)
            # Who clicks has seen the lobby, and moved the pointer to its button.
            await browser.wait_for(CALL_IS_THERE, 90)
            await browser.call("Input.dispatchMouseEvent", type="mouseMoved", **await browser.evaluate(BUTTON))
            await settled(far, 2)
            await browser.evaluate(LOOK)
            await browser.wait_for("window.shown && window.heard", 60)
            took = [time / 1000 for time in await browser.evaluate("[heard, shown]")]
            await asyncio.sleep(2)
            join = await browser.evaluate("wire")
            if not seconds:
                return join, took, None
            await asyncio.sleep(8)
            before, said = await browser.evaluate(CARRIED), await browser.evaluate("wire")
            await asyncio.sleep(seconds)
            after, told = await browser.evaluate(CARRIED), await browser.evaluate("wire")
            carried = {key: [late - early for early, late in zip(before[key], after[key])] for key in after}
            return join, took, (carried, {way: told[way][len(said[way]):] for way in told})
        finally:
            await browser.close()


async def rows(server):
    join, took, (carried, told) = await measure(server, WIDE, SECONDS)
    for way in ("up", "down"):
        print(f"A join among {PEOPLE}, messages {way}: {Messages.of(join[way])}", flush=True)
    for index, way in enumerate(("down", "up")):
        media = carried["media"][index] + TAG * carried["packets"][index]
        print(f"{SECONDS} s of a call of {PEOPLE + 1}, {way}: media {media / 1000:.0f} kB, RTCP and data channels {(carried['all'][index] - media) / 1000:.1f} kB, "
              f"{carried['checks'][index]} checks, messages of the socket and the state channel {Messages.of(told[way])}", flush=True)
    _, thin, _ = await measure(server, THIN)
    for line, (heard, shown) in (("4 Mbit/s and 40 ms", took), ("60 kbit/s and 300 ms", thin)):
        print(f"After the click, at {line} round trip: sound {heard:.1f} s, picture {shown:.1f} s", flush=True)


def main():
    with tempfile.TemporaryDirectory() as directory, Server(directory, full=True) as server, \
            caller(server, "nine", "P", "--count", PEOPLE, "--seconds", 300):
        wait_for(lambda: len(people(server, "nine")) >= PEOPLE, 30, "not all came")
        asyncio.run(asyncio.wait_for(rows(server), 280))


if __name__ == "__main__":
    sys.exit(main())
