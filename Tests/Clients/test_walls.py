"""Strangers at the HTTP port: whatever they do there, others come in and are served."""

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import socket
import time

import pytest
import websockets

from browser import Chromium
from server import Server
from signalling import ask, connect

SECRET = "a secret that only the portal knows"
ADMIN = "let the administrator in"


def token(**claims):
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    signed = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest())).decode()


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
            # Halfway through it asks for the first time, as somebody does who comes along.
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
            ended = {line.split('"')[1]: float(line.split()[-1]) for line in metrics.splitlines() if line.startswith("tessera_http_connections_ended_total")}
            assert ended["evicted"] > 0, ended
            assert len(streams) == count
        finally:
            for stream in streams:
                stream.close()


def test_half_a_head_is_waited_for_ten_seconds_and_no_longer(server):
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        stream.settimeout(15)
        started = time.monotonic()
        assert stream.recv(100) == b""
        assert 8 < time.monotonic() - started < 13


def test_one_who_joins_without_end_keeps_no_others_of_the_address_out(tmp_path):
    """One connection spams joins with a rubbish token or without, another opens anew after each; twenty people come in meanwhile."""
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


def test_json_floods_before_the_join_hold_up_nobody(server):
    async def flood(text):
        while True:
            try:
                async with await connect(server) as talk:
                    while True:
                        await talk.send(text)
            except (OSError, websockets.WebSocketException):
                await asyncio.sleep(0.05)

    async def run():
        texts = [json.dumps({"type": "join", "x": "y" * 250_000}), "[" + "0," * 120_000 + "0]"]
        floods = [asyncio.ensure_future(flood(text)) for text in texts * 4]
        try:
            await asyncio.sleep(1)
            for _ in range(10):
                started = time.monotonic()
                assert (await asyncio.to_thread(server.get, "/healthz"))[0] == 200
                assert time.monotonic() - started < 1.5
        finally:
            for task in floods:
                task.cancel()
            await asyncio.gather(*floods, return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}, {"Host": "localhost", "Via": "1.1 proxy"},
    {"Host": "localhost", "X-Real-IP": "1.1.1.1"}, {"Host": "localhost", "CF-Connecting-IP": "1.1.1.1"}, {"Host": "localhost", "X-Forwarded-Proto": "https"},
    {"Host": "localhost", "X-Forwarded-Host": "meet.example"}, {"Host": "localhost", "Forwarded": "for=1.1.1.1"}, {"Host": "meet.example"},
])
def test_a_request_that_may_be_another_s_administers_nothing(server, headers):
    headers = {name: value.format(port=server.port) for name, value in headers.items()}
    status, body = request(server, "PUT", "/api/rooms/x", headers, b"{}")
    assert status in (403, 421) and body["error"]["message"]
    assert server.json("GET", "/api/rooms") == []


def test_a_rebinding_page_joins_no_room(server):
    async def run():
        origin = f"http://evil.example:{server.port}"
        with pytest.raises(websockets.WebSocketException):
            await websockets.connect(server.signal_url, origin=origin, additional_headers={"Host": origin[7:]})
    asyncio.run(run())
    assert request(server, "GET", "/api/rooms", {"Host": f"evil.example:{server.port}"})[0] == 421


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


def test_a_guest_s_token_leaves_the_address_bar_and_opens_the_layouts(tmp_path):
    config = f"auth: {{ mode: token, secret: '{SECRET}' }}\n"
    with Server(tmp_path / "server", config=config) as server:
        guest = token(room="kitchen", exp=int(time.time()) + 600, sub="ada")

        async def run():
            page = await Chromium().start(f"{server.url}/r/kitchen?name=Ada&token={guest}&join=1")
            try:
                await page.wait_for("document.getElementById('call')?.hidden === false")
                assert "token" not in await page.evaluate("location.href")
                await page.evaluate("document.getElementById('open-layout').click()")
                await page.wait_for("document.querySelectorAll('#layouts [data-layout]').length >= 8")
                assert "token" not in await page.evaluate("document.getElementById('link').value")
                # A reload in the same tab comes in again.
                await page.call("Page.reload")
                await page.wait_for("document.readyState === 'complete' && document.getElementById('call')?.hidden === false")
            finally:
                await page.close()
        asyncio.run(asyncio.wait_for(run(), 60))
