"""HAProxy and nginx with the configurations of scripts/deploy: everything that a client does passes through them, and a sick node is left out."""

import asyncio
import contextlib
import copy
import http.client
import http.server
import json
import os
import re
import shlex
import shutil
import signal
import socketserver
import subprocess
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed

from support.aiortc_peer import HTTPPeer
from support.browser import Chromium
from support.flashes import wait_for
from support.front import NAME, Front, behind
from support.media import TONES
from support.server import PROGRAM, Server

TOKEN = "the administrator of this server"


@pytest.fixture(params=["haproxy", "nginx"])
def kind(request):
    if not any(shutil.which(request.param, path=path) for path in (None, "/usr/sbin")):
        from tests.conftest import cannot_run
        cannot_run(f"this machine has no {request.param}")
    return request.param


@contextlib.contextmanager
def callers(front, folder, room, names):
    """`tessera call` through the front. It knows the system's authorities only: in a mount namespace of its own the front's is the one."""
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    processes = []
    for name in names:
        call = [PROGRAM, "call", front.url, "--room", room, "--name", name]
        script = f"mount --bind {shlex.quote(str(front.folder / 'certificate.pem'))} {bundle} && exec {shlex.join(call)}"
        with open(folder / f"{name}.log", "wb") as log:
            processes.append(subprocess.Popen(["unshare", "--mount", "bash", "-c", script], stdout=log, stderr=log))
    try:
        yield
        for name, process in zip(names, processes, strict=True):
            assert process.poll() is None, (folder / f"{name}.log").read_text()
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def through(server, front):
    """The server as its clients reach it."""
    other = copy.copy(server)
    other.scheme, other.port, other.context = "https", front.https, front.context
    return other


def events(front, seconds):
    """The stream of events: bytes with the time at which they came."""
    with front.open() as stream:
        stream.sendall(
            f"GET /api/events HTTP/1.1\r\nHost: {NAME}\r\nAccept: text/event-stream\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        stream.settimeout(seconds)
        while piece := stream.recv(1 << 16):
            yield time.monotonic(), piece


@pytest.mark.usefixtures("good_line")
def test_whatever_a_client_does_passes_through_the_front(tmp_path, kind):
    config = f"auth: {{adminToken: '{TOKEN}'}}\nrooms: {{hls: true}}\nvideo: {{codecs: [h264]}}\n"
    with behind(kind, tmp_path / "server", config) as server, Front(kind, tmp_path / "front", [server.port]) as front:
        outside = through(server, front)
        # The page, and HTTP's way to it.
        status, headers, body = front.request("GET", "/")
        assert status == 200 and b"<html" in body and "text/html" in headers["Content-Type"]
        status, headers, _ = front.request("GET", "/r/some%20room?name=Eve", scheme="http")
        assert status == 301 and re.fullmatch(r"https://localhost(:\d+)?/r/some%20room\?name=Eve", headers["Location"]), headers["Location"]
        version = subprocess.run(
            ["curl", "-sS", "--cacert", front.folder / "certificate.pem", "-o", tmp_path / "page", "-w", "%{http_version} %{http_code}", front.url],
            capture_output=True, text=True, check=True, timeout=20)
        assert version.stdout == "2 200", version

        # A front gets a connection for one request alone: the next one may be a WebSocket's.
        direct = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        direct.request("GET", "/healthz")
        assert direct.getresponse().getheader("Connection") == "close"

        # Who asks through a proxy is never at the machine, whatever its headers say, and has an address of its own.
        for lie in ({}, {"Host": "localhost"}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"X-Real-IP": "127.0.0.1"}):
            assert front.request("PUT", "/api/rooms/mine", b"{}", {"Content-Type": "application/json", **lie})[0] == 401, lie
        assert answers(front, "127.0.0.2", 400).count(429) > 50, "one address has one limit"
        assert answers(front, "127.0.0.3", 20) == [200] * 20, "another address has another limit"

        with callers(front, tmp_path, "call", ["Ann", "Ben"]):
            wait_for(lambda: len(room(server, "call").get("participants", [])) == 2, 20, "two callers by wss")
            outside.headers["Authorization"] = f"Bearer {TOKEN}"
            recording = outside.json("POST", "/api/rooms/call/recordings", {}, expect=201)
            began = time.monotonic()
            hls(front, "call")
            asyncio.run(whip(outside))
            see_events_at_once(front)
            time.sleep(max(0, began + 3 - time.monotonic()))
            outside.json("POST", f"/api/recordings/{recording['id']}/stop", {})
            ranges(outside, recording["id"])
            upload(front, outside)
            assert room(server, "call")["participants"][0]["id"], "the call goes on"


def answers(front, source, count):
    """The statuses of so many requests over one connection from this address of loopback, with a lie about it in each."""
    statuses = []
    with front.open(source) as plain:
        connection = http.client.HTTPConnection(NAME)
        connection.sock = plain
        for index in range(count):
            connection.request("GET", "/api/layouts", headers={"X-Forwarded-For": f"198.51.100.{index % 250}"})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
    return statuses


def room(server, name):
    status, _, body = server.get(f"/api/rooms/{name}", {"Authorization": f"Bearer {TOKEN}"})
    return json.loads(body) if status == 200 else {}


def hls(front, name):
    """A player's blocking reload is answered when the part is there, and not later."""
    index = wait_for(lambda: (found := front.request("GET", f"/hls/{name}/index.m3u8"))[0] == 200 and found, 20, "a playlist")
    media = next(line for line in index[2].decode().splitlines() if line and not line.startswith("#"))
    playlist = wait_for(lambda: b"#EXT-X-PART:" in (found := front.request("GET", f"/hls/{name}/{media}"))[2] and found, 20, "parts")[2].decode()
    first = int(next(line for line in playlist.splitlines() if line.startswith("#EXT-X-MEDIA-SEQUENCE:")).split(":")[1])
    newest = first + playlist.count("#EXTINF:")
    began = time.monotonic()
    separator = "&" if "?" in media else "?"
    status, _, body = front.request("GET", f"/hls/{name}/{media}{separator}_HLS_msn={newest + 1}&_HLS_part=0")
    assert status == 200 and body.count(b"#EXTINF:") and 0.2 < time.monotonic() - began < 8, (status, time.monotonic() - began)
    part = next(line for line in body.decode().splitlines() if line.startswith("#EXT-X-PART:")).split('URI="')[1].split('"')[0]
    status, _, body = front.request("GET", f"/hls/{name}/{part}" if not part.startswith("/") else part)
    assert status == 200 and len(body) > 1000


async def whip(outside):
    peer = await HTTPPeer(outside, "call", "Whip", "green", TONES[1], "H264").join()
    try:
        assert peer.session.startswith("/whip/call/") and peer.id
    finally:
        assert (await asyncio.to_thread(outside.request, "DELETE", peer.session))[0] == 200
        await peer.close()


def see_events_at_once(front):
    with front.socket() as socket:
        for moment, piece in events(front, 10):
            if b'"type":"reset"' in piece:
                asked = time.monotonic()
                socket.send(json.dumps({"type": "join", "room": "call", "name": "Sse"}))
            if b"participant.joined" in piece and b'"Sse"' in piece:
                assert moment - asked < 1.5, "an event waited in the front"
                break


def ranges(outside, recording):
    file = f"/api/recordings/{recording}/file"
    status, headers, whole = outside.get(file)
    assert status == 200 and headers["Accept-Ranges"] == "bytes" and int(headers["Content-Length"]) == len(whole) > 20_000
    status, headers, piece = outside.get(file, {"Range": "bytes=1000-1999"})
    assert status == 206 and piece == whole[1000:2000] and headers["Content-Range"] == f"bytes 1000-1999/{len(whole)}"


def upload(front, outside):
    """A picture of 6 MB for the chat, which is more than nginx takes by default."""
    with front.socket() as socket:
        socket.send(json.dumps({"type": "join", "room": "call", "name": "Eve"}))
        resume = json.loads(socket.recv(5))["you"]["resume"]
        picture = b"\x89PNG\r\n\x1a\n" + bytes(6_000_000)
        seat = {"Authorization": f"Bearer {resume['id']}.{resume['secret']}", "Content-Type": "application/octet-stream"}
        status, _, body = front.request("POST", "/api/rooms/call/chat/pictures", picture, seat)
        assert status == 201, body
        status, _, back = front.request("GET", json.loads(body)["url"])
        assert status == 200 and back == picture


class Stand:
    """Stands for a node: it says what it is told to say of its readiness, and keeps sockets open."""

    def __init__(self):
        stand = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if stand.silent.is_set():
                    time.sleep(3)
                if self.path.startswith("/signal"):
                    self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
                    while self.connection.recv(100):
                        pass
                    return
                status, body = stand.answer if self.path == "/readyz" else (200, "ok")
                self.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

            def log_message(self, *_):
                pass

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.answer, self.silent = (200, "ok"), threading.Event()
        self.server = Threads(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def tunnel(front):
    """A WebSocket, as far as the front knows."""
    there = front.open()
    there.sendall(f"GET /signal HTTP/1.1\r\nHost: {NAME}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    answer = there.recv(1000)
    assert b" 101 " in answer.split(b"\r\n")[0], answer
    return there


def closes(there, seconds):
    there.settimeout(seconds)
    try:
        return there.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_browser_joins_through_the_front(tmp_path, kind):
    """The page by HTTP/2, and WebSockets beside it."""
    async def run(server, front):
        chromium = await Chromium().start(f"{front.url}/?room=browser&name=Ada&join=1", flags=["--ignore-certificate-errors"])
        try:
            def there():
                return [each["name"] for each in json.loads(server.get("/api/rooms/browser")[2]).get("participants", [])] == ["Ada"]
            await asyncio.to_thread(wait_for, there, 20, "Ada's page has joined")
            # A second socket while the page's connection is in use.
            again = await chromium.evaluate(
                f"new Promise(done => {{ const socket = new WebSocket('{front.signal_url}'); socket.onopen = () => done('open'); "
                "socket.onerror = () => done('error'); })")
            assert again == "open"
            found = await chromium.evaluate("performance.getEntriesByType('resource').map(entry => entry.nextHopProtocol)")
            assert "h2" in found, found
        finally:
            await chromium.close()
    with behind(kind, tmp_path / "server") as server, Front(kind, tmp_path / "front", [server.port]) as front:
        asyncio.run(run(server, front))


@pytest.mark.patient
def test_haproxy_sends_nobody_to_a_node_that_is_not_ready_and_closes_the_sockets_of_one_that_is_cut_off(tmp_path):
    if not shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin"):
        from tests.conftest import cannot_run
        cannot_run("this machine has no haproxy")
    with Stand() as sick, Stand() as well, Front("haproxy", tmp_path / "front", [sick.port, well.port]) as front:
        def becomes(state, backend="tessera-ready"):
            began = time.monotonic()
            wait_for(lambda: front.states()[backend]["n1"] == state, 4, f"n1 is {state}: {front.log()}")
            return time.monotonic() - began

        def pair():
            """Two sockets, of which one is on each node, for least connections."""
            return [tunnel(front), tunnel(front)]

        becomes("UP")
        for answer, state, ends in [
            ((503, '{"error": {"code": "overloaded"}}'), "NOLB", False), ((503, '{"error": {"code": "draining"}}'), "NOLB", False),
            ((503, '{"error": {"code": "overloaded", "message": "this node reaches neither the store of its cluster nor another node"}}'), "DOWN", True), (None, "DOWN", True),
        ]:
            sockets = pair()
            if answer:
                sick.answer = answer
            else:
                sick.silent.set()
            assert becomes(state) < (3.3 if answer is None else 2), answer
            time.sleep(0.2)
            ended = [closes(there, 0.5) for there in sockets]
            assert ended.count(True) == (1 if ends else 0), f"{answer}: {ended}"
            # New clients come to the other alone.
            more = [tunnel(front) for _ in range(3)]
            assert front.states()["tessera-ready"]["n2"] == "UP" and not any(closes(there, 0.05) for there in more)
            for there in sockets + more:
                there.close()
            sick.answer = (200, "ok")
            sick.silent.clear()
            becomes("UP")

        # No node is ready: those that live take what comes, since calls go on there.
        sick.answer = well.answer = (503, '{"error": {"code": "overloaded"}}')
        becomes("NOLB")
        wait_for(lambda: front.states()["tessera-ready"]["n2"] == "NOLB", 4, "n2")
        assert front.request("GET", "/anything")[0] == 200


def test_sockets_through_a_node_that_drains_or_is_killed_end_with_it(tmp_path, kind):
    with behind(kind, tmp_path / "a") as first, behind(kind, tmp_path / "b") as second, \
            Front(kind, tmp_path / "front", [first.port, second.port]) as front, contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(front.socket()) for _ in range(2)]
        first.process.kill()
        began, ended = time.monotonic(), 0
        for there in sockets:
            with contextlib.suppress(TimeoutError, ConnectionClosed):
                there.recv(max(0, began + 2 - time.monotonic()))
            ended += there.close_code is not None
        assert ended == 1, "the socket through the dead node, and no other"
        # Requests go on at once, without an error that a client sees.
        assert [front.request("GET", "/healthz")[0] for _ in range(6)] == [200] * 6


def test_the_settings_beside_the_fronts_are_accepted_as_they_are(tmp_path, kind):
    from support.front import DEPLOY
    text = (DEPLOY / kind / "tessera.yaml").read_text()
    with Server(tmp_path / "server", config=text):
        pass
