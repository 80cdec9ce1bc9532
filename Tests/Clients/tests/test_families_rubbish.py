"""Rubbish at the endpoints of the other client families, beside a call that goes on untouched."""

import asyncio
import contextlib
import http.client
import json
import random
import socket
import struct

import pytest
import websockets

from support.aiortc_peer import AiortcPeer
from support.media import TONES
from support.people import PythonPeer, eventually
from support.server import Server

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")

MEBI = 1 << 20
SOCKET_IO = "/socket.io/?transport=polling&EIO=3"


@pytest.fixture
def server(raw_tcp_server):
    return raw_tcp_server


def post(server, path, body, kind="text/plain"):
    """The status of a POST, or None where the server ended the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    with contextlib.closing(connection):
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            return None


def frame(text, length=None, head=0xAB, tail=0xEE):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("!HBB", len(data) + 3 if length is None else length, head, 0) + data + bytes([tail])


def raw_tcp_rubbish(server, seeded):
    login = '{"type":"login_req","source":0,"destination":0,"status":0,"detail_info":{"device_type":"ios"}}'
    streams = []
    for data in [
        frame(login, length=65_535), frame(login, head=0xAA), frame(login, tail=0), frame(login, length=0), frame(login, length=3),
        frame("{"), frame("[" * 30_000), frame("null"), frame('{"type":7}'), frame('{"type":"login_req","source":"x"}'),
        frame('{"type":"sdp","source":0,"destination":0,"detail_info":{"sdp":{"sdp":"v=0","type":"answer"}}}'),
        frame('{"type":"login_req","source":9223372036854775808,"detail_info":{}}'), frame(b"\xff\xfe"), b"\x00", seeded.randbytes(5000),
        frame(login) + frame(login), frame('{"type":"heartbeat_req"}') * 500, b"GET / HTTP/1.1\r\n\r\n",
    ]:
        stream = socket.create_connection(("127.0.0.1", server.raw_port), timeout=2)
        with contextlib.suppress(OSError):
            stream.sendall(data)
        streams.append(stream)
    return streams


def http_rubbish(server, seeded):
    """Every request has an answer, or ends its connection; none is a success of something."""
    deep, text = "[" * 100_000, "x" * 300_000
    for path, body in [
        ("/join/" + "r" * 500, ""), ("/join/a%2Fb", ""), ("/join/%ff", ""), ("/message/hall/12345678", '{"type":"offer","sdp":"v=0"}'),
        ("/message/hall/12345678", deep), ("/message/hall/" + "9" * 5000, "x"), ("/leave/hall/12345678", ""), ("/collider/hall/12345678", text),
        ("/collider/hall/1", "\x00"), ("/v1alpha/iceconfig?key=" + "k" * 3000, deep),
    ]:
        assert post(server, path, body) in (200, 400, 403, 404, 413, 414, 429, 500, 503, None), path
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "application/json"):
        for body in ["", "=", "&" * 60_000, "userName=%", "userName=%zz&password=%00", "userName=" + "a" * 100_000, deep, "--x\r\n\r\n--x--", seeded.randbytes(3000)]:
            for path in ("/mobileLogin", "/register", "/uploadFiles"):
                assert post(server, path, body, kind) in (200, 400, 401, 403, 413, 415, 429, 503, None), (path, kind)
    for body in ["", ":", "1:", "99999999999999999999:4", "-1:4", "3:42", "2:42" * 5000, "5:4\U0001f600\U0001f600".encode(), b"\x00\x01\xff4", b"\x00\x09" * 400 + b"\xff", b"\xff" * 1000, "4:b4!!"]:
        assert post(server, SOCKET_IO + "&sid=none", body) in (400, 403, 404, 413, None)
    # 16 MiB and one byte: the limit of this endpoint.
    assert post(server, SOCKET_IO + "&sid=none", bytes(16 * MEBI + 1)) in (400, 403, 404, 413, 503, None)


async def socket_rubbish(server):
    base = f"ws://127.0.0.1:{server.port}"
    texts = ["", "{", "null", deep := "[" * 50_000, '{"cmd":"send"}', '{"cmd":"register"}', '{"cmd":7}', '{"type":"SessionDescription","payload":{"type":"offer","sdp":"v=0"}}',
             '{"type":"SessionDescription","payload":' + deep, '{"type":"IceCandidate","payload":{"sdp":"candidate:","sdpMLineIndex":-1}}', "2probe", "42[", "451-[]", "x" * 200_000]

    async def one_after_the_other(path):
        for text in texts:
            for message in (text, text.encode()):
                with contextlib.suppress(OSError, websockets.WebSocketException, asyncio.TimeoutError):
                    async with await asyncio.wait_for(websockets.connect(base + path, max_size=1 << 20), 5) as talk:
                        await talk.send(message)
                        await asyncio.wait_for(talk.recv(), 0.05)
    paths = ("/ws", "/hall?name=Eve", "/", "/socket.io/?transport=websocket&EIO=3&sid=none")
    await asyncio.gather(*(one_after_the_other(path) for path in paths))


async def idle(server, count, path):
    """Connections that say nothing."""
    opened = []
    for _ in range(count):
        with contextlib.suppress(OSError, websockets.WebSocketException):
            opened.append(await websockets.connect(f"ws://127.0.0.1:{server.port}{path}"))
    return opened


def test_rubbish_at_every_family_disturbs_nobody_and_fills_no_memory(server):
    seeded = random.Random(10)

    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "hall", "Ada", "red", TONES[0]).join()).joined()
        bo = await PythonPeer(await AiortcPeer(server, "hall", "Bo", "green", TONES[1]).join()).joined()
        opened = []
        try:
            async def right():
                seen = await ada.tile_colours()
                return None if seen == {ada.id: "red", bo.id: "green"} else str(seen)
            await eventually(right, 8, "before")
            await asyncio.sleep(1)
            memory = server.resident()
            await ada.forget_gaps()
            streams = await asyncio.to_thread(raw_tcp_rubbish, server, seeded)
            await asyncio.to_thread(http_rubbish, server, seeded)
            await socket_rubbish(server)
            for path in ("/hall", "/ws"):
                opened += await idle(server, 60, path)
            # Handshakes without anything after them: the server counts and bounds them.
            for _ in range(200):
                await asyncio.to_thread(server.request, "GET", SOCKET_IO)
            for stream in streams:
                stream.close()
            async def two():
                people = server.json("GET", "/api/rooms/hall")["participants"]
                return None if {p["name"] for p in people} == {"Ada", "Bo"} else str(people)
            # Who came in by rubbish is out when the server has seen the end of its connection.
            await eventually(two, 5, "those who stay")
            await eventually(right, 5, "after")
            assert await ada.longest_gap() < 700, f"the call froze for {await ada.longest_gap():.0f} ms"
            assert server.resident() - memory < 80, f"{server.resident() - memory:.0f} MB more"
            assert server.get("/healthz")[0] == 200
        finally:
            await asyncio.gather(*(connection.close() for connection in opened), *(peer.peer.close() for peer in (ada, bo)))
    asyncio.run(asyncio.wait_for(run(), 150))


def test_a_raw_tcp_address_in_use_stops_the_start(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = Server(tmp_path / "server", config=json.dumps({"doors": {"rawTCP": f"127.0.0.1:{port}"}}))
        with pytest.raises(RuntimeError, match="doors.rawTCP"):
            server.start()
        assert server.process.wait(5) == 78
