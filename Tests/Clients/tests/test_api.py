"""Changes by the API take effect in the call; and malformed input at every endpoint does no harm."""

import asyncio
import json
import random
import socket
import struct
import time

import pytest
import websockets

from support.aiortc_peer import AiortcPeer
from support.media import TONES, tone_level
from support.people import PythonPeer, eventually
from support.server import ADDRESS

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


async def trio(server, room):
    peers = []
    for name, colour, frequency in [("Ada", "red", TONES[0]), ("Bo", "green", TONES[1]), ("Cy", "blue", TONES[2])]:
        peers.append(await PythonPeer(await AiortcPeer(server, room, name, colour, frequency).join()).joined())
    return peers


def test_changes_of_a_participant_have_their_effect(server):
    async def run():
        ada, bo, cy = peers = await trio(server, "api")
        path = f"/api/rooms/api/participants/{bo.id}"

        async def patch(**change):
            return await asyncio.to_thread(server.json, "PATCH", path, change)

        async def shown(wanted):
            seen = await ada.tile_colours()
            return None if {k: v for k, v in seen.items() if k in wanted} == {k: v for k, v in wanted.items() if v != "no tile"} else f"{seen}, not {wanted}"

        async def listed(**wanted):
            person = next((p for p in ada.peer.participants if p["id"] == bo.id), {})
            return None if all(person.get(k) == v for k, v in wanted.items()) else f"{person}, not {wanted}"

        async def loud(least, most):
            last = ada.peer.sound[-24000:]
            level = tone_level(last, bo.frequency)
            return None if least <= level <= most else f"Bo's tone is {level:.3f}, not {least} to {most}"
        try:
            await eventually(lambda: shown({ada.id: "red", bo.id: "green", cy.id: "blue"}), 8, "at first")
            await eventually(lambda: loud(0.1, 0.35), 8, "at first")

            await patch(audioMuted=True, videoMuted=True)
            await eventually(lambda: loud(0, 0.01), 4, "muted")
            await eventually(lambda: shown({bo.id: None}), 4, "without video")
            await eventually(lambda: listed(audio=False, video=False), 2, "the list")
            await patch(audioMuted=False, videoMuted=False, volume=0.25)
            await eventually(lambda: shown({bo.id: "green"}), 4, "with video again")
            await eventually(lambda: loud(0.02, 0.07), 6, "a quarter as loud")
            await patch(volume=1)
            await patch(name="Bömmel")
            await eventually(lambda: listed(name="Bömmel"), 2, "the name")

            # The pinned participant has the large tile of a layout with one.
            server.json("PUT", "/api/rooms/api", {"layout": "speaker"})
            await patch(pinned=True)

            async def largest():
                tiles = ada.peer.tiles["tiles"]
                big = max(tiles, key=lambda t: t["width"] * t["height"])
                return None if big["participant"] == bo.id and len({t["width"] for t in tiles}) > 1 else str(tiles)
            await eventually(largest, 3, "pinned")
            await patch(pinned=False)
            server.json("PUT", "/api/rooms/api", {"layout": "grid"})

            # A personal layout does not affect the others.
            await ada.peer.send(type="layout", name="single", scope="me", pin=[cy.id])

            async def only(peer, count):
                return None if len(peer.peer.tiles["tiles"]) == count else str(peer.peer.tiles)
            await eventually(lambda: only(ada, 1), 3, "Ada's own layout")
            await eventually(lambda: shown({cy.id: "blue"}), 4, "Ada's own picture")
            await eventually(lambda: only(bo, 3), 1, "Bo's picture stays")
            assert len(bo.peer.tiles["tiles"]) == 3
            await ada.peer.send(type="layout", name="grid", scope="me")
            await eventually(lambda: only(ada, 3), 3, "Ada's picture is the room's again")

            await patch(role="viewer")

            async def no_tile():
                return None if bo.id not in {t["participant"] for t in ada.peer.tiles["tiles"]} else "a tile"
            await eventually(no_tile, 3, "a viewer has no tile")
            await eventually(lambda: loud(0, 0.01), 4, "a viewer is not heard")
            await eventually(lambda: listed(role="viewer"), 2, "the role")
            await patch(role="presenter")
            await eventually(lambda: shown({bo.id: "green"}), 4, "a presenter has one")

            for change in ({"volume": "loud"}, {"volume": 99}, {"role": "king"}, {"colour": "red"}, {"name": ""}, {"audioMuted": 1}):
                status, _, body = await asyncio.to_thread(server.request, "PATCH", path, change)
                assert status == 400 and json.loads(body)["error"]["message"], (change, status, body)
            assert server.request("PATCH", "/api/rooms/api/participants/none", {"pinned": True})[0] == 404

            status, _, _ = await asyncio.to_thread(server.request, "DELETE", path)
            assert status == 204

            async def left(peer, reason):
                found = [m for m in peer.peer.messages if m["type"] == "left"]
                return None if found and found[-1]["reason"] == reason else str(found)
            await eventually(lambda: left(bo, "removed"), 3, "the removed one is told")
            await eventually(no_tile, 3, "the removed one's tile is gone")
            assert server.request("DELETE", path)[0] == 404
            assert server.request("DELETE", "/api/rooms/api")[0] == 204
            for peer in (ada, cy):
                await eventually(lambda peer=peer: left(peer, "room_ended"), 3, "the end of the room")
            assert server.request("DELETE", "/api/rooms/api")[0] == 404
        finally:
            for peer in peers:
                await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_rubbish_at_every_door_disturbs_nobody_and_fills_no_memory(server):
    seeded = random.Random(7)

    def media_rubbish(ufrag, known_source):
        """Datagrams with valid first bytes: STUN, DTLS, RTP, RTCP; some of them come from the address of a peer's host."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for index in range(6000):
                body = seeded.randbytes(seeded.choice([0, 1, 8, 40, 200, 1200, 1472]))
                name = ufrag + b":x"
                pad = -len(name) % 4
                head = [
                    struct.pack("!HHI", 0x0001, len(body) & 0xFFFC, 0x2112A442) + seeded.randbytes(12),
                    struct.pack("!HHI", 0x0001, 4 + len(name) + pad + 24, 0x2112A442) + seeded.randbytes(12)
                    + struct.pack("!HH", 6, len(name)) + name + bytes(pad) + struct.pack("!HH", 8, 20) + seeded.randbytes(20),
                    struct.pack("!BHHIHH", 22, 0xFEFD, 0, 0, index & 0xFFFF, len(body)),
                    struct.pack("!BBHII", 0x80, 96 + index % 32, index & 0xFFFF, index * 3000, seeded.getrandbits(32)),
                    struct.pack("!BBHI", 0x80 | index % 32, 200 + index % 8, len(body) // 4, seeded.getrandbits(32)),
                    struct.pack("!BBHII", 0xBF, 111, index & 0xFFFF, index, 1),
                ][index % 6]
                out.sendto(head + body, known_source)
                if index % 50 == 0:
                    time.sleep(0.005)
            out.sendto(b"\x80" + bytes(60_000), known_source)

    def tcp_rubbish():
        streams = []
        for index in range(60):
            stream = socket.create_connection((ADDRESS, server.media_port), timeout=2)
            try:
                stream.sendall([b"\xff\xff" + bytes(1000), b"\x00\x00" * 500, b"\x00", seeded.randbytes(5000)][index % 4])
            except OSError:
                pass
            streams.append(stream)
        return streams

    def http_rubbish():
        streams = []
        for text in [b"GET / HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01" + bytes(500), b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                     b"PUT /api/rooms/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{",
                     b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(500)) + b"\r\n",
                     b"POST /whip/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                     b"GET /%ff%00/..%2f..%2fetc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n" * 10_000]:
            for _ in range(5):
                stream = socket.create_connection(("127.0.0.1", server.port), timeout=2)
                try:
                    stream.sendall(text)
                except OSError:
                    pass
                streams.append(stream)
        for path, body in [("/api/rooms/x", b"[" * 100_000), ("/api/rooms/x", b'{"width": 1e999}'), ("/api/rooms/x", b'{"width": -1}'),
                           ("/api/rooms/x", b"\xff\xfe"), ("/api/rooms/x", b'{"width": 99999999999999999999}'),
                           ("/api/layouts/x", b"[" * 100_000), ("/api/layouts/x", b'{"name": "x", "slots": [{"x": 1e308}]}')]:
            status, _, answer = server.request("PUT", path, body)
            assert status in (400, 413, 422), (path, body[:40], status)
            assert json.loads(answer)["error"]["code"]
        assert server.request("PUT", "/api/rooms/x", b"{" + b" " * 2_000_000 + b"}")[0] in (400, 413)
        return streams

    async def signal_rubbish():
        texts = ["[" * 50_000, '{"type":"join","room":"' + "r" * 5000 + '","name":"x"}', '{"type":"join","room":"a/b","name":"x"}',
                 '{"type":"join","room":"r","name":' + "9" * 4000 + "}", '{"type":"\\ud800"}', "null", '"x"', "\x00"]
        async with await websockets.connect(server.signal_url, max_size=1 << 20) as talk:
            for text in texts:
                await talk.send(text)
                assert json.loads(await asyncio.wait_for(talk.recv(), 5))["type"] == "error", text[:60]
            await talk.send(b"\x00\x01binary")
            assert json.loads(await asyncio.wait_for(talk.recv(), 5))["type"] == "error"
            await talk.send(json.dumps({"type": "join", "room": "bad", "name": "Eve"}))
            await asyncio.sleep(0.3)
            descriptions = ["v=0\r\n" * 5000, "v=0\r\n" + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" * 1500, "v=0\r\nm=audio 99999999999 X 1\r\n",
                            "v=0\r\no=- 0 0 IN IP4 0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/99999999999\r\n",
                            "v=0\r\n" + "a=fingerprint:sha-256 ZZ\r\n" * 10, "x" * 60_000, "\x00"]
            for sdp in descriptions:
                await talk.send(json.dumps({"type": "offer", "sdp": sdp}))
                while (answer := json.loads(await asyncio.wait_for(talk.recv(), 5)))["type"] not in ("error", "answer"):
                    pass
                assert answer["type"] == "error" and answer["code"] in ("bad_sdp", "no_common_codec") and not answer["fatal"], (sdp[:60], answer)
            for candidate in ({"candidate": "candidate:" + "9" * 1500}, {"candidate": "\x00"}, {"candidate": "candidate:1 1 udp 1 ::::: 99999 typ host"}):
                await talk.send(json.dumps({"type": "candidate", "candidate": candidate}))
            await talk.send(json.dumps({"type": "leave"}))

    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "calm", "Ada", "red", TONES[0]).join()).joined()
        bo = await PythonPeer(await AiortcPeer(server, "calm", "Bo", "green", TONES[1]).join()).joined()
        try:
            async def right():
                seen = await ada.tile_colours()
                return None if seen == {ada.id: "red", bo.id: "green"} else str(seen)
            await eventually(right, 8, "before")
            await asyncio.sleep(1)
            ufrag = next(line for line in ada.peer.pc.remoteDescription.sdp.split("\r\n") if line.startswith("a=ice-ufrag:"))[12:].encode()
            memory = server.resident()
            await ada.forget_gaps()
            await asyncio.to_thread(media_rubbish, ufrag, (ADDRESS, server.media_port))
            streams = await asyncio.to_thread(tcp_rubbish)
            await signal_rubbish()
            streams += await asyncio.to_thread(http_rubbish)
            await asyncio.sleep(0.5)
            await eventually(right, 2, "after")
            assert await ada.longest_gap() < 700, f"the call froze for {await ada.longest_gap():.0f} ms"
            assert server.resident() - memory < 60, f"{server.resident() - memory:.0f} MB more"
            assert server.get("/healthz")[0] == 200
            for stream in streams:
                stream.close()
        finally:
            await ada.leave()
            await bo.leave()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_recordings_are_listed_in_pages(server):
    for room in "abc":
        server.json("PUT", f"/api/rooms/{room}", {}, expect=201)
        server.json("POST", f"/api/rooms/{room}/recordings", expect=201)

    def rooms(query):
        return [recording["room"] for recording in server.json("GET", "/api/recordings" + query)]
    assert rooms("") == rooms("?limit=3") == ["c", "b", "a"]
    page = server.json("GET", "/api/recordings?limit=2")
    assert [recording["room"] for recording in page] == ["c", "b"]
    assert rooms(f"?limit=2&before={page[-1]['id']}") == ["a"]
    for query in ("limit=0", "limit=x", "before=none"):
        error = server.json("GET", "/api/recordings?" + query, expect=400)["error"]
        assert error["message"].startswith(query.split("=")[0] + ":"), error
