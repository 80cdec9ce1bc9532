"""Calls of FLSocketIM's kind: two people, rooms with clients of other families, chat and pictures of the room, and every way of an end."""

import asyncio
import random
import re
import socket
import time

import pytest
import requests
from aiortc import RTCPeerConnection, RTCSessionDescription

from support.aiortc_peer import AiortcPeer
from support.media import TONES, colour_at, nearest_colour
from support.people import PythonPeer, eventually, picture_is_right, sound_is_right
from support.server import SMALL, Server
from support.socketio_client import Raw, SocketIOPeer, post_form
from support.tokens import ADMIN, SECRET, token

pytestmark = pytest.mark.patient

CANVAS = (int(SMALL["TESSERA_ROOMS_WIDTH"]), int(SMALL["TESSERA_ROOMS_HEIGHT"]))
# A JPEG by its first bytes, and a megabyte of anything.
PICTURE = b"\xff\xd8\xff\xe0" + random.Random(1).randbytes(1 << 20)


class CallPeer(PythonPeer):
    """A participant without a `/signal` connection: its tiles are those of the room."""

    async def tile_colours(self):
        room = await asyncio.to_thread(self.peer.server.json, "GET", f"/api/rooms/{self.peer.room}")
        frame = self.peer.rgb()
        return {t["participant"]: nearest_colour(colour_at(frame, t, CANVAS)) for t in room["tiles"]}

    async def joined(self):
        deadline = time.monotonic() + 15
        while self.peer.picture is None:
            assert time.monotonic() < deadline, f"{self.name} received no picture"
            await asyncio.sleep(0.05)
        self.id = self.peer.id
        return self


def people(server, room):
    """The names of a room's participants; none where the room has ended."""
    status, _, _ = server.get(f"/api/rooms/{room}")
    return sorted(p["name"] for p in server.json("GET", f"/api/rooms/{room}")["participants"]) if status == 200 else []


async def room_has(server, room, names, timeout=2):
    async def check():
        seen = await asyncio.to_thread(people, server, room)
        return None if seen == names else f"{seen}, not {names}"
    await eventually(check, timeout, f"people of {room}")


async def no_one_waits(server, room):
    return None if (await asyncio.to_thread(server.json, "GET", f"/api/rooms/{room}"))["waiting"] else "nobody"


def run(body, seconds=90):
    asyncio.run(asyncio.wait_for(body, seconds))


@pytest.mark.usefixtures("needs_address")
def test_two_people_call_each_other(server):
    """Ring, join, see and hear each other; one hangs up, and the other's call ends."""
    async def body():
        alice = await SocketIOPeer(server, "alice", "red", TONES[0]).connect()
        bobby = await SocketIOPeer(server, "bobby", "blue", TONES[1]).connect()
        try:
            room = await alice.ring("bobby")
            ring = await bobby.event("videoChat")
            assert ring == {"from_user": "alice", "room": room, "chat_type": 0}
            await alice.join_call()
            await bobby.join_call(room)
            peers = [await CallPeer(alice).joined(), await CallPeer(bobby).joined()]
            await eventually(lambda: picture_is_right(peers), 10, "picture")
            await eventually(lambda: sound_is_right(peers), 15, "sound")
            assert "_new_peer" not in [name for name, _ in alice.events]
            users = await asyncio.to_thread(server.json, "GET", "/allUsers")
            assert users["data"]["onLineUsers"] == ["alice", "bobby"], "a call between two is no room for others"
            before = time.monotonic()
            await bobby.leave()
            assert await alice.event("_remove_peer") == {"socketId": "mcu-1"}
            assert time.monotonic() - before < 1
            await room_has(server, room, [])
            users = await asyncio.to_thread(server.json, "GET", "/allUsers")
            assert users["data"]["onLineUsers"] == ["alice", "bobby"], "nor is the room of a call that is over"

            # Refused, and given up: each ends at the other.
            room = await alice.ring("bobby")
            await bobby.event("videoChat")
            await alice.emit("__join", {"room": room})
            await alice.event("_peers")
            await bobby.emit("cancelVideoChat", {"room": room})
            await alice.event("cancelVideoChat")
            await room_has(server, room, [])
            await alice.ring("bobby")
            await bobby.event("videoChat")
            await asyncio.to_thread(alice.client.disconnect)
            await bobby.event("cancelVideoChat")
        finally:
            await alice.close()
            await bobby.close()
    run(body())


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_room_with_clients_of_other_families(server):
    """aiortc over /signal and two of FLSocketIM's kind: pictures, tones, chat, and a picture of a megabyte. The recording is for test_families.py."""
    async def body():
        native = AiortcPeer(server, "mixed", "Native", "green", TONES[1], "H264")
        alice = await SocketIOPeer(server, "alice", "blue", TONES[2]).connect()
        bobby = await SocketIOPeer(server, "bobby", "yellow", TONES[3], transports=["polling"]).connect()
        try:
            peers = [await PythonPeer(await native.join()).joined()]
            users = (await asyncio.to_thread(server.json, "GET", "/allUsers"))["data"]
            assert "room_mixed" in users["onLineUsers"] and "room_mixed" in [user["name"] for user in users["allUser"]]
            for caller in (alice, bobby):
                assert await caller.ring("room_mixed") == "mixed"
                peers.append(await CallPeer(await caller.join_call()).joined())
            await eventually(lambda: picture_is_right(peers), 15, "picture")
            await eventually(lambda: sound_is_right(peers), 15, "sound")

            text = await alice.say("room_mixed", {"type": "txt", "msg": "hello 😀"})
            assert text["msg_id"]
            assert (await bobby.event("chat"))["bodies"]["msg"] == "alice: hello 😀"
            await until(lambda: [m for m in native.messages if m["type"] == "chat" and m["text"] == "hello 😀" and m["from"] == alice.id], "text")
            await native.send(type="chat", text="hi all")
            for peer in (alice, bobby):
                message = await peer.event("chat")
                assert message["from_user"] == "room_mixed" and message["bodies"]["msg"] == "Native: hi all", message

            stored = await bobby.say("room_mixed", {"type": "img", "fileName": "a.jpg", "fileData": PICTURE})
            file = stored["bodies"]["fileRemotePath"]
            assert re.fullmatch(r"images/[^/]+\.jpg", file) and stored["bodies"]["thumbnailRemotePath"] == file, stored
            received = await alice.event("chat", where=lambda m: m["bodies"]["type"] == "img")
            assert received["bodies"]["fileData"] == PICTURE and received["bodies"]["fileRemotePath"] == file
            assert received["from_user"] == "room_mixed"
            await until(lambda: [m for m in native.messages if m["type"] == "chat" and "picture" in m], "picture")
            status, headers, data = await asyncio.to_thread(server.get, f"/{file}")
            assert status == 200 and data == PICTURE and headers["X-Content-Type-Options"] == "nosniff", (status, len(data))
            claim = f"{native.resume['id']}.{native.resume['secret']}"
            status, _, _ = await asyncio.to_thread(
                server.request, "POST", "/api/rooms/mixed/chat/pictures", PICTURE[:4] + PICTURE[:3:-1],
                {"Authorization": f"Bearer {claim}", "Content-Type": "image/jpeg"})
            assert status == 201
            for peer in (alice, bobby):
                received = await peer.event("chat", where=lambda m: m["bodies"]["type"] == "img")
                assert received["bodies"]["fileData"] == PICTURE[:4] + PICTURE[:3:-1] and received["from_user"] == "room_mixed"
            # Nobody gets an echo.
            assert not [event for event in bobby.events if event[0] == "chat"], bobby.events
        finally:
            for peer in (native, alice, bobby):
                await peer.close()
    run(body())


async def until(check, what, timeout=10):
    async def complaint():
        return None if check() else "not yet"
    await eventually(complaint, timeout, what)


@pytest.mark.usefixtures("needs_address")
def test_the_ends_of_a_call(tmp_path):
    """Full, kicked, crashed, reconnected, the room ended, and the server going down."""
    async def body(server):
        alice = await SocketIOPeer(server, "alice", "red", TONES[0]).connect()
        bobby = await SocketIOPeer(server, "bobby", "blue", TONES[1]).connect()
        try:
            await asyncio.to_thread(server.json, "PUT", "/api/rooms/demo", {"maxParticipants": 1}, 201)
            await alice.ring("room_demo")
            await alice.join_call()
            await bobby.emit("__join", {"room": "demo"})
            assert await bobby.event("_remove_peer") == {"socketId": "mcu-1"}, "full"
            await asyncio.to_thread(server.json, "PUT", "/api/rooms/demo", {"maxParticipants": 5}, 200)
            await bobby.join_call("demo")
            assert await asyncio.to_thread(people, server, "demo") == ["alice", "bobby"]

            status, _, _ = await asyncio.to_thread(server.request, "DELETE", f"/api/rooms/demo/participants/{alice.id}")
            assert status < 300
            assert await alice.event("_remove_peer") == {"socketId": "mcu-1"}, "kicked"
            await room_has(server, "demo", ["bobby"])

            # A crash: the connection is cut in the middle of the call.
            bobby.client.eio.ws.sock.shutdown(socket.SHUT_RDWR)
            await room_has(server, "demo", [])
            again = await SocketIOPeer(server, "bobby", "blue", TONES[1]).connect(bobby.token)
            await again.join_call("demo")
            # Whoever was removed asks to be let in.
            await alice.pc.close()
            joining = asyncio.ensure_future(alice.join_call("demo"))
            await eventually(lambda: no_one_waits(server, "demo"), 5, "alice waits")
            (wait,) = await asyncio.to_thread(server.json, "GET", "/api/rooms/demo/waiting")
            await asyncio.to_thread(server.json, "POST", f"/api/rooms/demo/waiting/{wait['id']}", {"decision": "admit"}, 204)
            await joining
            await room_has(server, "demo", ["alice", "bobby"])

            await asyncio.to_thread(server.request, "DELETE", "/api/rooms/demo")
            for peer in (alice, again):
                assert await peer.event("_remove_peer") == {"socketId": "mcu-1"}, "the room ended"
            await alice.pc.close()
            await alice.join_call("other")
            server.process.terminate()
            assert await alice.event("_remove_peer") == {"socketId": "mcu-1"}, "the server goes down"
            assert await asyncio.to_thread(server.process.wait, 12) == 0
            await again.close()
        finally:
            await alice.close()
            await bobby.close()
    with Server(tmp_path / "server") as server:
        run(body(server))


@pytest.mark.usefixtures("needs_address")
def test_a_burst_of_offers_has_one_answer_for_the_last(server):
    """From the second call on, the apps offer from each call of the run at once."""
    async def body():
        alice = await SocketIOPeer(server, "alice", "red", TONES[0]).connect()
        old = [RTCPeerConnection() for _ in range(2)]
        try:
            await alice.emit("__join", {"room": "demo"})
            await alice.event("_peers")
            # Candidates come before the offer, too.
            await alice.emit("__ice_candidate", {
                "id": "audio", "label": 0, "candidate": "candidate:1 1 udp 2122194687 192.0.2.2 39585 typ host", "socketId": "mcu-1"})
            for connection in old:
                connection.addTransceiver("audio")
                connection.addTransceiver("video")
                await connection.setLocalDescription(await connection.createOffer())
            await alice.prepare()
            for connection in [*old, alice.pc]:
                await alice.offer(connection.localDescription.sdp)
            answer = await alice.event("_answer")
            await alice.pc.setRemoteDescription(RTCSessionDescription(answer["sdp"]["sdp"], "answer"))
            await CallPeer(alice).joined()
            await asyncio.sleep(1)
            assert not [event for event in alice.events if event[0] == "_answer"], "a second answer"
            await alice.offer(alice.pc.localDescription.sdp)
            await asyncio.sleep(1)
            assert not [event for event in alice.events if event[0] == "_answer"], "a second answer for one offer"
        finally:
            for connection in old:
                await connection.close()
            await alice.close()
    run(body())


def plan_b(sdp):
    """An offer in the form of libjingle of 2015: its mids and profile, and the stream only on the lines of its source."""
    sdp = sdp.replace("UDP/TLS/RTP/SAVPF", "RTP/SAVPF").replace("a=mid:0", "a=mid:audio").replace("a=mid:1", "a=mid:video")
    sdp = re.sub(r"a=group:BUNDLE [^\r]*", "a=group:BUNDLE audio video", sdp)
    sections = re.split(r"(?=^m=)", sdp, flags=re.M)
    result = [sections[0] + "a=msid-semantic: WMS ARDAMS\r\n" if "msid-semantic" not in sections[0] else sections[0]]
    for section, kind in zip(sections[1:], ("a0", "v0")):
        section = re.sub(r"a=(msid|extmap):[^\r]*\r\n", "", section)
        ssrc = re.search(r"a=ssrc:(\d+)", section).group(1)
        result.append(section + f"a=ssrc:{ssrc} msid:ARDAMS ARDAMS{kind}\r\na=ssrc:{ssrc} mslabel:ARDAMS\r\na=ssrc:{ssrc} label:ARDAMS{kind}\r\n")
    return "".join(result)


class OldPeer(SocketIOPeer):
    """Media as libjingle of 2015 has it."""

    async def join_call(self, room=None):
        self.room = room or self.room
        await self.emit("__join", {"room": self.room})
        await self.event("_peers")
        await self.prepare()
        await self.offer(plan_b(self.pc.localDescription.sdp))
        self.answer = (await self.event("_answer"))["sdp"]["sdp"]
        back = self.answer.replace("RTP/SAVPF", "UDP/TLS/RTP/SAVPF").replace("a=mid:audio", "a=mid:0").replace("a=mid:video", "a=mid:1")
        back = re.sub(r"a=group:BUNDLE [^\r]*", "a=group:BUNDLE 0 1", back)
        await self.pc.setRemoteDescription(RTCSessionDescription(back, "answer"))
        self.id = await asyncio.to_thread(self.own_id)
        return self


def old_dtls(monkeypatch):
    """Makes aiortc speak DTLS 1.0 only."""
    from aiortc.rtcdtlstransport import RTCCertificate

    make = RTCCertificate._create_ssl_context

    def create(self, **options):
        context = make(self, **options)
        context.set_cipher_list(b"ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:AES128-SHA:@SECLEVEL=0")
        context.set_min_proto_version(0xFEFF)
        context.set_max_proto_version(0xFEFF)
        return context
    monkeypatch.setattr(RTCCertificate, "_create_ssl_context", create)


@pytest.mark.usefixtures("needs_address")
@pytest.mark.parametrize("version, allowed", [("1.2", False), ("1.0", True), ("1.0", False)])
def test_plan_b_and_old_dtls(tmp_path, monkeypatch, version, allowed):
    """A Plan B offer with VP8 only is answered; DTLS 1.0 is taken with `doors.legacyDTLS` only."""
    async def body(server):
        alice = await OldPeer(server, "alice", "red", TONES[0]).connect()
        try:
            if version == "1.0":
                old_dtls(monkeypatch)
            await alice.join_call("demo")
            assert "RTP/SAVPF" in alice.answer and "UDP/TLS" not in alice.answer
            video = alice.answer[alice.answer.index("m=video"):]
            streams = set(re.findall(r"a=ssrc:\d+ msid:(\S+) ", alice.answer))
            assert len(streams) == 1 and re.search(r"a=ssrc:\d+ msid:", video) and "a=sendrecv" in video, alice.answer
            assert "VP8/90000" in video and "H264" not in video
            if version == "1.0" and not allowed:
                await asyncio.sleep(4)
                assert alice.picture is None
                assert "DTLS" in server.log_text(), server.log_text()
            else:
                peer = await CallPeer(alice).joined()
                await eventually(lambda: picture_is_right([peer]), 10, "picture")
        finally:
            await alice.close()
    with Server(tmp_path / "server", config="doors: { legacyDTLS: true }" if allowed else "") as server:
        run(body(server))


@pytest.mark.usefixtures("needs_address")
def test_logging_in_with_the_server_s_tokens(tmp_path):
    """In mode `token` the password is a token, which opens its rooms and no other."""
    config = f"auth: {{ mode: token, secret: {SECRET}, adminToken: {ADMIN} }}"

    def log_in(server, user, **claims):
        return post_form(server, "/mobileLogin", userName=user, password=token({"exp": int(time.time()) + 600, **claims}))

    async def body(server):
        assert post_form(server, "/register", userName="alice", password="secret")["code"] == -1
        assert post_form(server, "/mobileLogin", userName="alice", password="secret")["code"] == -1
        assert log_in(server, "mallory", room="*", name="alice")["code"] == -1
        alice = SocketIOPeer(server, "alice", "red", TONES[0])
        await alice.connect(log_in(server, "alice", room="demo", name="alice")["data"]["auth_token"])
        try:
            await alice.emit("__join", {"room": "other"})
            assert await alice.event("_remove_peer") == {"socketId": "mcu-1"}
            alice.own_id = lambda: None
            await alice.join_call("demo")
            await CallPeer(alice).joined()
            room = server.request("GET", "/api/rooms/demo", headers={"Authorization": f"Bearer {ADMIN}"})
            assert b'"name":"alice"' in room[2], room
            # The app's HTTP client keeps the cookie of its login; who shares its address has none.
            assert server.json("GET", "/allUsers")["data"] == {"allUser": [], "onLineUsers": []}
            app = requests.Session()
            claims = {"exp": int(time.time()) + 600, "room": "demo", "name": "alice"}
            assert app.post(f"{server.url}/mobileLogin", data={"userName": "alice", "password": token(claims)}, timeout=20).json()["code"] == 1
            users = app.get(f"{server.url}/allUsers", timeout=20).json()["data"]["onLineUsers"]
            assert users == ["alice", "room_demo"], users
        finally:
            await alice.close()
    with Server(tmp_path / "server", config=config) as server:
        run(body(server))


@pytest.mark.usefixtures("needs_address")
def test_a_thousand_sessions_that_only_shake_hands(tmp_path):
    """They cost little memory, the longest silent ones make room for more, and a call goes on. One account has sixteen of them."""
    def proof(name):
        return f"{name}." + token({"exp": int(time.time()) + 600, "room": "*", "name": name})

    async def body(server):
        alice = await SocketIOPeer(server, "alice", "red", TONES[0]).connect(proof("alice"))
        try:
            await alice.join_call("demo")
            await CallPeer(alice).joined()
            await asyncio.sleep(1)
            before = server.resident()
            first = await asyncio.to_thread(lambda: Raw(server, proof("first")).connect())

            def shake_hands():
                for _ in range(20):
                    Raw(server, proof("bobby")).connect()
                metrics = server.get("/metrics")[2].decode()
                assert re.search(r"tessera_socketio_sessions (\d+)", metrics).group(1) == "18", metrics
                for number in range(1100):
                    Raw(server, proof(f"user{number // 16}")).connect()
            await asyncio.to_thread(shake_hands)
            grown = server.resident() - before
            metrics = server.get("/metrics")[2].decode()
            sessions = int(re.search(r"tessera_socketio_sessions (\d+)", metrics).group(1))
            assert sessions == 1024 and grown < 40, (sessions, grown)
            assert first.request(first.query)[0] == 400, "the oldest made room"
            pictures = len(alice.picture_times)
            await asyncio.sleep(1)
            assert len(alice.picture_times) > pictures + 5 and alice.client.connected
        finally:
            await alice.close()
    config = f"limits: {{ requestsPerSecondPerAddress: 100000 }}\nauth: {{ mode: token, secret: {SECRET} }}"
    with Server(tmp_path / "server", config=config) as server:
        run(body(server), 150)


