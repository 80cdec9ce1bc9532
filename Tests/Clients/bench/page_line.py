"""How soon a browser behind a thin line shows the page: rows of `./scripts/bench --network`, of which the tests take some.

The line carries everything between browser and server, page, signalling and media: real kernels use real TCP over it.
"""

import asyncio
import base64
import dataclasses
import hashlib
import ssl
import sys
import tempfile
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from support.browser import Chromium
from support.far_network import FarNetwork
from support.server import Server, from_outside

# Notes when the lobby is there: its button has words, so the styles, the scripts and the words have come. In ms from the navigation on.
LOBBY = """
(() => {
  const look = () => {
    const join = document.getElementById('join');
    if (join?.checkVisibility() && join.textContent && document.styleSheets.length) window.lobbyAfter = performance.now();
    else requestAnimationFrame(look);
  };
  look();
})()
"""
# The number of files and answers that came over the line.
FETCHED = "performance.getEntries().filter(({ transferSize }) => transferSize).length"


@dataclasses.dataclass
class Row:
    name: str
    link: str
    # The most seconds until the lobby, and after a reload.
    lobby: float
    reload: float = 1


@dataclasses.dataclass
class Outcome:
    """Times in seconds; bytes as they came down the line, with the heads of all packets."""
    lobby: float
    lobby_bytes: int
    # With the script of the call, which comes while the user looks at the lobby.
    whole_bytes: int
    # Segments of that which TCP sent twice: on a line that holds bytes for seconds its first guess of the time is too short.
    resent: int
    requests: int
    # Those of the second time.
    reload: float
    reload_bytes: int
    # From the click to the first picture.
    call: float

    def __str__(self):
        return (f"lobby after {self.lobby:.1f} s and {self.lobby_bytes / 1000:.1f} kB, everything {self.whole_bytes / 1000:.1f} kB in {self.requests} requests, "
                f"lobby after a reload {self.reload:.2f} s and {self.reload_bytes / 1000:.1f} kB, picture {self.call:.1f} s after the click")


ROWS = {
    "60k": Row("60 kbit/s, 200 ms round trip", "rate=60k,delay=100ms", 8),
    "150k": Row("150 kbit/s, 200 ms round trip", "rate=150k,delay=100ms", 4),
    "300k": Row("300 kbit/s, 200 ms round trip", "rate=300k,delay=100ms", 4),
    "1M": Row("1 Mbit/s, 600 ms round trip", "rate=1M,delay=300ms", 4, 2),
    "loss": Row("150 kbit/s, 200 ms round trip, 5 % loss", "rate=150k,delay=100ms,loss=5%", 10, 3),
}


def trust(server):
    """The flag for the server's own certificate. With one for all certificates the browser would keep no file."""
    certificate = x509.load_pem_x509_certificate(ssl.get_server_certificate((server.host, server.port)).encode())
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"--ignore-certificate-errors-spki-list={base64.b64encode(hashlib.sha256(key).digest()).decode()}"


def secure(directory, **options):
    """A server with TLS, as browsers need it beyond loopback."""
    server = Server(directory, config="http: { tls: { selfSigned: true } }", **options)
    server.scheme, server.context = "https", ssl._create_unverified_context()
    return server


def resent_segments():
    """Of all TCP connections of this network, since its start."""
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:"))
    return int(dict(zip(names, values))["RetransSegs"])


async def settled(far, seconds=1.0):
    """Waits until nothing has come down the line for so long, and returns the bytes until then."""
    total, quiet = far.read()[0][2], time.monotonic()
    while time.monotonic() - quiet < seconds:
        await asyncio.sleep(0.1)
        now = far.read()[0][2]
        if now > total:
            total, quiet = now, time.monotonic()
    return total


async def measure(server, row, call=True, limit=90):
    """Opens the page for the first time, again, and then joins."""
    with FarNetwork(row.link) as far:
        browser = Chromium(far)
        try:
            url = from_outside(f"{server.url}/r/thin?name=Ada")
            await browser.start("about:blank", trusted=url, flags=[trust(server)] if server.scheme == "https" else ())
            await browser.call("Network.enable")
            await browser.call("Page.addScriptToEvaluateOnNewDocument", source=LOBBY)
            before, resent = far.read()[0][2], resent_segments()
            await browser.call("Page.navigate", url=url, timeout=limit)
            first = await browser.wait_for("window.lobbyAfter", limit) / 1000
            shown = far.read()[0][2] - before
            whole, resent = await settled(far) - before, resent_segments() - resent
            requests = await browser.evaluate(FETCHED)
            await browser.evaluate("(window.lobbyAfter = 0, 0)")
            again = far.read()[0][2]
            await browser.call("Page.reload")
            second = await browser.wait_for("window.lobbyAfter", limit) / 1000
            again = far.read()[0][2] - again
            picture = float("nan")
            if call:
                clicked = time.monotonic()
                await browser.evaluate("(document.getElementById('join').click(), 0)")
                await browser.wait_for("document.getElementById('mix')?.videoWidth > 0", 60)
                picture = time.monotonic() - clicked
            return Outcome(first, shown, whole, resent, requests, second, again, picture)
        finally:
            await browser.close()


def main(keys):
    print("| line (headless Chromium, TLS) | lobby | aim | reload | aim | bytes of the lobby | of everything before the call | requests | first picture after the click | after opening the link |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for key in keys or ROWS:
        row = ROWS[key]
        with tempfile.TemporaryDirectory() as directory, secure(directory, full=True) as server:
            outcome = asyncio.run(asyncio.wait_for(measure(server, row), 240))
        met = ["✓" if value <= aim else "✗" for value, aim in ((outcome.lobby, row.lobby), (outcome.reload, row.reload))]
        print(f"| {row.name} | {outcome.lobby:.1f} s | {met[0]} ≤ {row.lobby:g} s | {outcome.reload:.2f} s | {met[1]} ≤ {row.reload:g} s "
              f"| {outcome.lobby_bytes / 1000:.1f} kB | {outcome.whole_bytes / 1000:.1f} kB | {outcome.requests} | {outcome.call:.1f} s "
              # Without the time in which a person looks at the lobby.
              f"| {outcome.lobby + outcome.call:.1f} s |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
