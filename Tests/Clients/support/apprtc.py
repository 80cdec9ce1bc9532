"""AppRTC's clients: a page in Chromium that works as its web app, aiortc's own `ApprtcSignaling`, and single requests."""

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
import tarfile
import types
import urllib.parse
from pathlib import Path

import websockets
from aiortc import RTCSessionDescription

from support.aiortc_peer import AiortcPeer
from support.app_peer import tiles_of
from support.browser import Chromium
from support.media import nearest_colour
from support.people import BrowserPeer, page_url
from support.server import ADDRESS, free_port


def members(server, room):
    """The people in a room by their names; none where the room does not exist."""
    status, _, body = server.request("GET", f"/api/rooms/{room}")
    return {p["name"]: p for p in json.loads(body)["participants"]} if status == 200 else {}


def newcomer(server, room, before):
    """The name of the one who has come into a room since `before`: guests are named by chance."""
    (name,) = set(members(server, room)) - set(before)
    return name


class AppRTCPage(BrowserPeer):
    """The page in a room. It is told no tiles, so its picture is read by those of the API."""

    @classmethod
    async def open(cls, pages, server, room, name, colour, frequency, query="", at=None, flags=(), apart=False):
        """`name`: for `?name=`; empty: none, and the page is a guest. `query`: more switches, as `&it=relay`. `at`: the server's address for
        the page. `apart`: in a browser of its own, which the test may kill."""
        before = await asyncio.to_thread(members, server, room)
        url = page_url(pages, server, room, name, colour, frequency) + f"&apprtc={urllib.parse.quote(at or server.url, safe='')}{query}"
        page = cls(await Chromium(apart=apart).start(url if name else url.replace("&name=", ""), flags=flags), name, colour, frequency)
        page.server, page.room, page.before = server, room, before
        return page

    async def joined(self, timeout=30):
        await self.browser.wait_for("state.connected && state.frames > 3 || state.errors.length", timeout=timeout)
        assert await self.faults() == []
        self.client = await self.browser.evaluate("apprtc.client")
        self.name = self.name or await asyncio.to_thread(newcomer, self.server, self.room, self.before)
        self.id = (await asyncio.to_thread(members, self.server, self.room))[self.name]["id"]
        return self

    async def faults(self):
        return await self.browser.evaluate("[...state.errors, ...apprtc.errors].map(String)")

    async def tile_colours(self):
        now = json.dumps(await asyncio.to_thread(tiles_of, self.server, self.room))
        return {t["participant"]: nearest_colour(t["rgb"]) for t in await self.browser.evaluate(f"(state.tiles = {now}, tileColours())") or []}


# `client_venv` in scripts/packages puts it there: the tests' own network has no way to PyPI.
SIGNALING = Path(sys.prefix) / "aiortc-1.2.1" / "aiortc-1.2.1.tar.gz"


def signaling():
    """aiortc 1.2.1's module with `ApprtcSignaling`, which later versions do not have."""
    with tarfile.open(SIGNALING) as files:
        source = files.extractfile("aiortc-1.2.1/src/aiortc/contrib/signaling.py").read()
    module = types.ModuleType("signaling")
    exec(compile(source, "aiortc-1.2.1/signaling.py", "exec"), module.__dict__)
    # The only name that websockets has changed since.
    module.websockets = types.SimpleNamespace(connect=lambda url, extra_headers: websockets.connect(url, additional_headers=extra_headers))
    return module


# What the Android app's WebSocket library (autobanh.jar) and its HTTP requests send, whatever the server is.
ANDROID_ORIGIN = "https://www.google.com"
ANDROID_HTTP_ORIGIN = "https://appr.tc"


class SignalingPeer(AiortcPeer):
    """aiortc's media with the real `ApprtcSignaling`."""

    async def join(self, module):
        self.signaling = module.ApprtcSignaling(self.room)
        self.signaling._origin = self.server.url
        before = await asyncio.to_thread(members, self.server, self.room)
        self.params = await self.signaling.connect()
        self.name = await asyncio.to_thread(newcomer, self.server, self.room, before)
        await self.prepare()
        await self.signaling.send(self.pc.localDescription)
        await self.pc.setRemoteDescription(await asyncio.wait_for(self.signaling.receive(), 10))
        self.id = (await asyncio.to_thread(members, self.server, self.room))[self.name]["id"]
        return self

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await self.pc.close()
        await self.signaling.close()


class Client:
    """A client by single requests, for what no real one does."""

    def __init__(self, server, room, query=""):
        self.server, self.room = server, room
        self.answer = server.json("POST", f"/join/{room}{query}", b"")
        self.params = self.answer["params"]
        self.id = self.params.get("client_id")

    def post(self, body, verb="message"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = self.server.request("POST", f"/{verb}/{self.room}/{self.id}", data, {"Content-Type": "text/plain", "Origin": ANDROID_HTTP_ORIGIN})
        assert status == 200, (status, answer)
        return json.loads(answer)["result"] if answer else None

    async def connect(self, **changes):
        socket = await websockets.connect(self.params["wss_url"], origin=ANDROID_ORIGIN)
        await socket.send(json.dumps({"cmd": "register", "roomid": self.room, "clientid": self.id, **changes}))
        return socket


async def frame(socket, timeout=5):
    """The next frame, which has both keys."""
    text = await asyncio.wait_for(socket.recv(), timeout)
    assert isinstance(text, str), "a binary frame"
    read = json.loads(text)
    assert set(read) == {"msg", "error"}, text
    return read


async def closed(socket, timeout=5):
    """Waits for the end of the WebSocket and returns its code."""
    async def wait():
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await socket.recv()
        return socket.close_code
    return await asyncio.wait_for(wait(), timeout)


async def accept(pc, text):
    """Takes the answer in a frame's message."""
    message = json.loads(text)
    assert message["type"] == "answer", message
    await pc.setRemoteDescription(RTCSessionDescription(message["sdp"], "answer"))


@contextlib.asynccontextmanager
async def tls_proxy(directory, server):
    """A proxy that ends TLS, as in front of many servers: it names the scheme and the host that its clients use."""
    certificate, key = Path(directory) / "proxy.pem", Path(directory) / "proxy.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=proxy",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)

    async def copy(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.split(b"\r\n")
            host = next(line.split(b" ", 1)[1] for line in lines if line.lower().startswith(b"host:"))
            # One request for each connection, except for WebSockets.
            if b"upgrade: websocket" not in head.lower():
                lines = [line for line in lines if not line.lower().startswith(b"connection:")]
                lines.insert(1, b"Connection: close")
            lines[1:1] = [b"X-Forwarded-Proto: https", b"X-Forwarded-Host: " + host, b"X-Forwarded-For: 203.0.113.5"]
            inner, outer = await asyncio.open_connection("127.0.0.1", server.port)
            outer.write(b"\r\n".join(lines))
            await asyncio.gather(copy(reader, outer), copy(inner, writer))

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    proxy = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    finally:
        proxy.close()


class Coturn:
    """Debian's TURN server with credentials for a limited time."""

    def __init__(self, directory, secret):
        self.directory, self.port, self.log = Path(directory), free_port(), Path(directory) / "turn.log"
        self.directory.mkdir(parents=True, exist_ok=True)
        self.secret = secret
        self.url = f"turn:{ADDRESS}:{self.port}?transport=udp"

    def __enter__(self):
        self.output = open(self.log, "wb")
        self.process = subprocess.Popen(
            ["turnserver", "-n", "--use-auth-secret", f"--static-auth-secret={self.secret}", "--realm=tessera.test", f"--listening-ip={ADDRESS}",
             f"--relay-ip={ADDRESS}", f"--listening-port={self.port}", "--no-tls", "--no-dtls", "--no-cli", "--fingerprint", "--log-file=stdout",
             "--simple-log", "--verbose", f"--pidfile={self.directory / 'turn.pid'}", f"--userdb={self.directory / 'turn.db'}"],
            stdout=self.output, stderr=subprocess.STDOUT, cwd=self.directory)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.output.close()

    def text(self):
        return self.log.read_text(errors="replace")
