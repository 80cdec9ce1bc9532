"""Hostile clients at the HTTP port: whatever they do, other clients can join and are served."""

import asyncio
import http.client
import json
import re
import socket
import ssl
import subprocess
import time

import pytest
import websockets

from support.browser import Chromium, Firefox
from support.page_server import serve_pages
from support.server import PROGRAM, Server
from support.signalling import ask, connect
from support.tokens import ADMIN, SECRET, token


def request(server, method, path, headers, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null") if "json" in answer.headers.get("Content-Type", "") else None
    finally:
        connection.close()


@pytest.mark.parametrize("open_files, count", [(256, 600), (None, 1500)])
def test_silent_connections_keep_nobody_out(tmp_path, open_files, count):
    with Server(tmp_path / "server", open_files=open_files) as server:
        streams = []
        try:
            # The first request comes halfway through, like that of a new client.
            for index in range(count):
                stream = socket.socket()
                stream.setblocking(False)
                stream.connect_ex(("127.0.0.1", server.port))
                streams.append(stream)
                if index % 100 == 50:
                    assert server.get("/healthz")[0] == 200
            for _ in range(20):
                started = time.monotonic()
                assert server.get("/healthz")[0] == 200
                assert time.monotonic() - started < 2
            metrics = server.get("/metrics")[2].decode()
            lines = [line for line in metrics.splitlines() if line.startswith("tessera_http_connections_ended_total")]
            ended = {line.split('"')[1]: float(line.split()[-1]) for line in lines}
            assert ended["evicted"] > 0, ended
            assert len(streams) == count
        finally:
            for stream in streams:
                stream.close()


def handshake(server):
    """The head of a WebSocket handshake."""
    return (f"GET /signal HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode()


@pytest.mark.patient
def test_nobody_is_waited_for_without_end(tmp_path):
    """Half a head, no TLS handshake, half a body that is sent slowly, silence after a response, a WebSocket that pings and never joins, a
    reader that stops."""
    def seconds_until_closed(port, first, drip=b""):
        with socket.create_connection(("127.0.0.1", port)) as stream:
            started = time.monotonic()
            stream.sendall(first)
            stream.settimeout(1)
            while time.monotonic() - started < 45:
                try:
                    if not stream.recv(10_000):
                        return time.monotonic() - started
                except TimeoutError:
                    try:
                        stream.sendall(drip)
                    except OSError:
                        return time.monotonic() - started
                except OSError:
                    return time.monotonic() - started
            return time.monotonic() - started

    def seconds_until_reset(port, first):
        """The time until a reset, for a client that does not read: only its own sends reveal that the connection was closed."""
        with socket.socket() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.connect(("127.0.0.1", port))
            started = time.monotonic()
            stream.sendall(first)
            while time.monotonic() - started < 60:
                time.sleep(1)
                try:
                    stream.sendall(b"G")
                except OSError:
                    break
            return time.monotonic() - started

    secure = Server(tmp_path / "tls", config="http: { tls: { selfSigned: true } }")
    secure.scheme, secure.context = "https", ssl._create_unverified_context()
    with Server(tmp_path / "plain") as server, secure:
        head = b"PUT /api/rooms/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        # Far more than the sockets of both ends can buffer: the requests are pipelined.
        greedy = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400

        async def run():
            return await asyncio.gather(*(asyncio.to_thread(*call) for call in [
                (seconds_until_closed, server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"),
                (seconds_until_closed, secure.port, b"\x16\x03\x01"),
                (seconds_until_closed, server.port, head, b"x"),
                (seconds_until_closed, server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                (seconds_until_closed, server.port, handshake(server), b"\x89\x80" + bytes(4)),
                (seconds_until_reset, server.port, greedy),
            ]))
        half, tls, body, idle, outside, reader = asyncio.run(run())
        assert 8 < half < 14 and 8 < tls < 14, (half, tls)
        assert 28 < body < 36 and 28 < idle < 36 and 28 < outside < 36, (body, idle, outside)
        assert 28 < reader < 45, reader
        ended = dict(re.findall(r'tessera_http_connections_ended_total{reason="(\w+)"} (\d+)', server.get("/metrics")[2].decode()))
        assert all(ended[reason] == "1" for reason in ("head", "body", "idle", "unjoined", "stalled")), (ended, half, tls, body, idle, outside, reader)


@pytest.mark.patient
def test_readers_that_take_nothing_hold_one_answer_each(tmp_path):
    """Each client pipelines six hundred requests for the page's files; the sockets of both ends buffer far less."""
    count = 8
    paths = ["/", "/assets/tessera.js", "/watch/x", "/assets/panels.js"]

    def metric(server, name):
        return sum(float(line.split()[-1]) for line in server.get("/metrics")[2].decode().splitlines() if line.startswith(name))

    with Server(tmp_path / "server") as server:
        largest = max(len(server.get(path)[2]) for path in paths) + 1_000
        ahead = b"".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths) * 150
        streams = []
        try:
            for _ in range(count):
                stream = socket.socket()
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                stream.connect(("127.0.0.1", server.port))
                stream.setblocking(False)
                streams.append(stream)
                try:
                    stream.send(ahead)
                except BlockingIOError:
                    pass
            # Until only this request is answered.
            deadline, answers = time.monotonic() + 25, 'tessera_http_requests_total{status="2xx"}'
            while time.monotonic() < deadline:
                before = metric(server, answers)
                time.sleep(1)
                if metric(server, answers) - before <= 2:
                    break
            unsent = metric(server, 'tessera_limited_current{name="unsent_bytes"}')
            assert 0 < unsent < count * largest, unsent
            started = time.monotonic()
            assert server.get("/healthz")[0] == 200
            assert time.monotonic() - started < 1
        finally:
            for stream in streams:
                stream.close()


@pytest.mark.patient
def test_tessera_call_comes_again_when_many_come_at_once(tmp_path):
    with Server(tmp_path / "server", config="limits: { joinsPerSecondPerAddress: 1 }") as server:
        result = subprocess.run(
            [PROGRAM, "call", server.url, "--room", "r", "--name", "Load", "--count", "12", "--seconds", "18"], capture_output=True, text=True,
            timeout=60)
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.count(": connected") == 12, result.stdout
        assert "trying again" in result.stdout, result.stdout


def test_one_who_joins_without_end_keeps_no_others_of_the_address_out(tmp_path):
    """One connection sends joins with an invalid token or without, another one reconnects after each; twenty people join at the same time."""
    with Server(tmp_path / "server") as server:
        async def spam(stop):
            while not stop.is_set():
                try:
                    async with await connect(server) as talk:
                        for number in range(200):
                            await talk.send(json.dumps({"type": "join", "room": f"spam{number}", "name": "Eve", "layout": "none"}))
                            await asyncio.sleep(0.005)
                except (OSError, websockets.WebSocketException):
                    await asyncio.sleep(0.05)

        async def person(number):
            while True:
                try:
                    async with await connect(server) as talk:
                        await talk.send(json.dumps({"type": "join", "room": "r", "name": f"Person {number}"}))
                        while (message := json.loads(await asyncio.wait_for(talk.recv(), 5)))["type"] not in ("joined", "error"):
                            pass
                        if message["type"] == "joined":
                            return
                        assert message["code"] == "too_fast" and message["retryAfter"] >= 1, message
                        wait = message["retryAfter"]
                except (OSError, websockets.WebSocketException):
                    wait = 0.5
                await asyncio.sleep(wait * (1 + number / 20))

        async def run():
            stop = asyncio.Event()
            spammers = [asyncio.ensure_future(spam(stop)) for _ in range(2)]
            await asyncio.sleep(1)
            started = time.monotonic()
            await asyncio.gather(*(person(number) for number in range(20)))
            took = time.monotonic() - started
            stop.set()
            await asyncio.gather(*spammers, return_exceptions=True)
            return took
        assert asyncio.run(asyncio.wait_for(run(), 60)) < 12


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_json_floods_before_the_join_hold_up_nobody(server, compression):
    """Compressed, a message has a thousandth of its bytes on the way, and counts as what it inflates to."""
    async def flood(text):
        while True:
            try:
                async with await websockets.connect(server.signal_url, compression=compression) as talk:
                    while True:
                        await talk.send(text)
                        # A short frame never waits for the socket, and the sender would be all that runs here.
                        await asyncio.sleep(0)
            except (OSError, websockets.WebSocketException):
                await asyncio.sleep(0.05)

    def healthy():
        started = time.monotonic()
        return server.get("/healthz")[0], time.monotonic() - started

    async def run():
        texts = [json.dumps({"type": "join", "x": "y" * 250_000}), "[" + "0," * 120_000 + "0]"]
        floods = [asyncio.ensure_future(flood(text)) for text in texts * 4]
        try:
            await asyncio.sleep(1)
            for _ in range(10):
                status, took = await asyncio.to_thread(healthy)
                assert status == 200 and took < 1.5, (status, took)
        finally:
            for task in floods:
                task.cancel()
            await asyncio.gather(*floods, return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}, {"Host": "localhost", "Via": "1.1 proxy"},
    {"Host": "localhost", "X-Real-IP": "1.1.1.1"}, {"Host": "localhost", "CF-Connecting-IP": "1.1.1.1"},
    {"Host": "localhost", "X-Forwarded-Proto": "https"}, {"Host": "localhost", "X-Forwarded-Host": "meet.example"},
    {"Host": "localhost", "Forwarded": "for=1.1.1.1"}, {"Host": "meet.example"},
])
def test_a_request_that_may_be_another_s_administers_nothing(shared_server, headers):
    headers = {name: value.format(port=shared_server.port) for name, value in headers.items()}
    status, body = request(shared_server, "PUT", "/api/rooms/x", headers, b"{}")
    assert status in (403, 421) and body["error"]["message"]
    assert shared_server.json("GET", "/api/rooms") == []


def test_a_rebinding_page_joins_no_room(shared_server):
    async def run():
        origin = f"http://evil.example:{shared_server.port}"
        with pytest.raises(websockets.WebSocketException):
            await websockets.connect(shared_server.signal_url, origin=origin, additional_headers={"Host": origin[7:]})
    asyncio.run(run())
    assert request(shared_server, "GET", "/api/rooms", {"Host": f"evil.example:{shared_server.port}"})[0] == 421


# Everything that an app may send to its family's endpoints, by a page of another site; `mode` as a form or an image would.
TRIES = """(async address => {
  const results = {}, ws = address.replace('http', 'ws');
  const ask = async (name, path, options) => {
    const read = await fetch(address + path, options).then(answer => answer.type === 'opaque' ? 'sent' : answer.status, () => 'blocked');
    results[name] = read;
  };
  for (const mode of ['cors', 'no-cors']) {
    for (const credentials of ['omit', 'include']) {
      const options = { mode, credentials };
      for (const [method, path] of [['POST', '/join/den'], ['POST', '/collider/den/1'], ['GET', '/params'], ['GET', '/socket.io/?transport=polling'],
          ['POST', '/mobileLogin'], ['POST', '/register'], ['GET', '/allUsers'], ['GET', '/api/rooms'], ['POST', '/whip/den']]) {
        await ask(`${method} ${path} ${mode} ${credentials}`, path, { ...options, method, ...(method === 'POST' && { body: 'userName=mallory&password=secret' }) });
      }
    }
  }
  for (const path of ['/ws', '/den', '/', '/socket.io/?transport=websocket', '/signal']) {
    results['WebSocket ' + path] = await new Promise(done => {
      const socket = new WebSocket(ws + path);
      socket.onopen = () => done('open');
      socket.onerror = () => done('blocked');
    });
  }
  return results;
})"""


@pytest.mark.parametrize("browser", [Chromium, Firefox])
def test_a_page_of_another_site_acts_for_nobody(tmp_path, browser):
    """It runs in the browser of somebody whose address may do everything, on the server's own machine."""
    async def run(server, site):
        page = await browser().start(f"{site}/page.html")
        try:
            results = await page.evaluate(f"{TRIES}('{server.url}')")
            assert len(results) == 41
            # A `no-cors` request is sent, and its answer, a refusal, is hidden from the page.
            assert {name for name, result in results.items() if result != "blocked"} == {name for name in results if "no-cors" in name}, results
        finally:
            await page.close()
        assert not (await asyncio.to_thread(server.json, "GET", "/api/rooms"))
        assert json.loads(server.request("POST", "/mobileLogin", b"userName=mallory&password=secret")[2])["code"] == -1, "an account was made"
        metrics = server.get("/metrics")[2].decode()
        figures = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
        assert float(figures['tessera_http_requests_refused_total{reason="origin"}']) >= 36
        assert not [name for name, value in figures.items() if name.startswith("tessera_joins_total") and float(value)]

    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text("<!doctype html><title>x</title>")
    with serve_pages(tmp_path / "site") as site, Server(tmp_path / "server") as server:
        asyncio.run(asyncio.wait_for(run(server, site), 60))


def test_recordings_open_for_the_administrator_and_by_a_link(tmp_path):
    with Server(tmp_path / "server", config=f"auth: {{ adminToken: '{ADMIN}' }}\n") as server:
        async def stay():
            async with await connect(server) as talk:
                await ask(talk, "joined", type="join", room="r", name="Ada")
                server.headers = {"Authorization": f"Bearer {ADMIN}"}
                recording = server.json("POST", "/api/rooms/r/recordings", expect=201)
                await asyncio.sleep(1)
                return server.json("POST", f"/api/recordings/{recording['id']}/stop")
        recording = asyncio.run(asyncio.wait_for(stay(), 30))
        link = server.json("POST", f"/api/recordings/{recording['id']}/link", {"seconds": 60}, expect=201)
        whole = server.get(f"/api/recordings/{recording['id']}/file")[2]
        server.headers = {}
        assert server.get(f"/api/recordings/{recording['id']}/file")[0] == 401
        assert server.get("/api/recordings")[0] == 401
        status, _, data = server.get(link["url"])
        assert status == 200 and data == whole and data[4:8] == b"ftyp"
        assert server.get(link["url"][:-1] + ("0" if link["url"][-1] != "0" else "1"))[0] == 401


def test_a_guest_s_token_leaves_the_address_bar(tmp_path):
    config = f"auth: {{ mode: token, secret: '{SECRET}' }}\n"
    with Server(tmp_path / "server", config=config) as server:
        guest = token({"room": "kitchen", "exp": int(time.time()) + 600, "sub": "ada"})

        async def run():
            page = await Chromium().start(f"{server.url}/r/kitchen?name=Ada&token={guest}&join=1")
            try:
                await page.wait_for("document.getElementById('call')?.hidden === false")
                assert "token" not in await page.evaluate("location.href")
                await page.evaluate("(document.getElementById('open-invite').click(), 0)")
                await page.wait_for("document.getElementById('link')?.value.includes('/r/kitchen')")
                assert "token" not in await page.evaluate("document.getElementById('link').value")
                # A reload in the same tab joins again.
                await page.call("Page.reload")
                await page.wait_for("document.readyState === 'complete' && document.getElementById('call')?.hidden === false")
            finally:
                await page.close()
        asyncio.run(asyncio.wait_for(run(), 60))
