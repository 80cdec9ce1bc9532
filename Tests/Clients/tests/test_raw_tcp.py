"""Clients of the raw TCP endpoint: the app's reading of frames with aiortc that knows H.264 only, and with Chromium."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from support.app_peer import AppViewer, people_of, tiles_of, within
from support.browser import Chromium
from support.media import TONES
from support.people import BrowserPeer, eventually, page_url, picture_is_right, sound_is_right
from support.raw_tcp_client import RawTCPClient, RawTCPPeer, frame
from support.server import Server, free_port
from support.tokens import SECRET, token
from support.webrtc_demo_client import DemoPeer

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


@pytest.fixture
def server(raw_tcp_server):
    return raw_tcp_server


class RawPage(BrowserPeer):
    """The test page, which only answers; the app's socket carries its descriptions."""

    def __init__(self, browser, server, room, name, colour, frequency):
        super().__init__(browser, name, colour, frequency)
        self.server, self.room = server, room
        self.client = RawTCPClient(server.raw_port, room=room, name=name)
        self.client.on_offer = self.answer
        self.answered_at = 0

    @staticmethod
    async def start(pages, server, room, name, colour, frequency):
        browser = await Chromium().start(page_url(pages, server, room, name, colour, frequency) + "&answers=1")
        page = RawPage(browser, server, room, name, colour, frequency)
        await browser.wait_for("state.ready")
        await page.client.connect()
        await browser.wait_for("state.connected && state.frames > 3", timeout=30)
        page.id = (await asyncio.to_thread(people_of, server, room))[name]
        return page

    async def answer(self, description):
        sdp = await self.browser.evaluate(f"answerOffer({description['sdp']!r})")
        await self.client.send("sdp", {"sdp": {"sdp": sdp, "type": "answer"}})
        self.answered_at = time.monotonic()

    async def tile_colours(self):
        tiles = await asyncio.to_thread(tiles_of, self.server, self.room)
        await self.browser.evaluate(f"(state.tiles = {tiles}, 1)".replace("True", "true").replace("False", "false"))
        return await super().tile_colours()

    async def close(self):
        self.client.cut()
        await self.browser.close()


def test_no_frame_is_read_with_another_and_none_comes_in_two(server):
    """C1: 200 frames of four clients that read as the app does, and the offer among them."""
    async def run():
        clients = [RawTCPClient(server.raw_port, room="frames") for _ in range(4)]
        for client in clients:
            client.HEARTBEAT = 0.2
        try:
            for client in clients:
                await client.connect()
            for client in clients:
                await client.next("sdp")
                await client.next("heartbeat_resp", 30, count=50)
            for client in clients:
                assert client.reader.faults == []
                gaps = [later - earlier for earlier, later in zip(client.reader.times, client.reader.times[1:])]
                assert min(gaps) > 0.04, f"{min(gaps) * 1000:.0f} ms between two frames"
                assert max(client.reader.sizes) <= 1400, client.reader.sizes
            assert sum(len(client.reader.sizes) for client in clients) >= 200
        finally:
            for client in clients:
                client.cut()
        # None of them answered the offer.
        await within(3, lambda: people_of(server, "frames") == {}, "clients without media leave with their connection")
    asyncio.run(asyncio.wait_for(run(), 60))


def test_raw_tcp_clients_share_a_room_with_others(server, pages):
    """C2, C3: one offer with H.264 first in a frame of one segment, media, heartbeats, chat; one leaves. The recording is for test_families.py."""
    async def run():
        room, peers, browsers = "hall", [], []
        try:
            page = await RawPage.start(pages, server, room, "Cam", "blue", TONES[2])
            browsers.append(page)
            robo = await RawTCPPeer(server, server.raw_port, room, "Robo", "red", TONES[0]).join()
            peers.append(robo)
            demo = await DemoPeer(server, room, "Bo", "green", TONES[1]).join()
            peers.append(demo)
            offers = [m for m in robo.client.messages if m["type"] == "sdp"]
            types = [m["type"] for m in robo.client.messages if m["type"] != "heartbeat_resp"]
            assert types == ["login_resp", "sdp"] and len(offers) == 1
            welcome = robo.client.messages[0]["detail_info"]
            assert welcome["peer_list"] == [{"peer_id": 1, "device": "mcu"}] and welcome["peer_id"] >= 2
            sdp = offers[0]["detail_info"]["sdp"]["sdp"]
            video = next(line for line in sdp.splitlines() if line.startswith("m=video")).split()[3:]
            codecs = {line.split()[0][9:]: line.split()[1] for line in sdp.splitlines() if line.startswith("a=rtpmap:")}
            assert [codecs[number] for number in video] == ["H264/90000", "VP8/90000"], sdp
            assert max(robo.client.reader.sizes) <= 1400, robo.client.reader.sizes
            times = dict(zip((m["type"] for m in robo.client.messages), robo.client.reader.times))
            assert 0.09 < times["sdp"] - times["login_resp"] < 0.4, "100 to 200 ms, on a busy machine a little more"

            everybody = [page, await AppViewer(robo).joined(), await AppViewer(demo).joined()]
            await eventually(lambda: picture_is_right(everybody), 10, "picture")
            await eventually(lambda: sound_is_right(everybody), 15, "sound")
            await within(10, lambda: robo.sends_on and demo.sends_on, "the server opens a channel to each app")
            robo.say(b"beep")
            await within(5, lambda: demo.received_data == [b"beep"], "text of the raw TCP client")
            demo.say(b"\xff\xd8\xff\xe0" + bytes(100_000))
            await within(5, lambda: robo.received_data == [b"\xff\xd8\xff\xe0" + bytes(100_000)], "a picture to the raw TCP client")
            await within(10, lambda: all(client.count("heartbeat_resp") >= 2 for client in (robo.client, page.client)), "answers to heartbeats")
            for client in (robo.client, page.client):
                assert client.reader.faults == []
            await robo.close()
            await within(3, lambda: "Robo" not in people_of(server, room), "Robo has left")
        finally:
            for peer in peers:
                await peer.close()
            for browser in browsers:
                await browser.close()
    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_login_with_the_old_id_gets_the_seat_back(server, pages):
    """C4: the connection is cut for five seconds: the same participant, media within two seconds of the answer; nobody else gets its seat."""
    async def run():
        room = "again"
        page = await RawPage.start(pages, server, room, "Cam", "blue", TONES[2])
        other = RawTCPClient(server.raw_port, room=room, name="Other")
        thief = RawTCPPeer(server, server.raw_port, room, "Thief", "red", TONES[0])
        try:
            old = page.client.peer
            # While the client's connection lives, its id gives nobody its seat.
            other.peer = old
            await other.connect()
            await other.next("sdp")
            assert other.peer != old
            other.cut()
            await within(3, lambda: set(people_of(server, room)) == {"Cam"}, "the other is gone")

            page.client.cut()
            # The server reads the end of the connection: until then the id still belongs to it.
            await asyncio.sleep(0.5)
            # Who knows the id but has another certificate gets an offer, and neither the seat nor its media.
            thief.client.peer = old
            await thief.client.connect()
            notify = await thief.client.next("peer_disconnected_notify")
            assert thief.client.peer == old and notify["detail_info"]["reason"] == "unauthorized"
            await thief.client.end()
            await asyncio.sleep(4)
            assert people_of(server, room) == {"Cam": page.id}
            offers = page.client.count("sdp")
            ufrag = [line for m in page.client.messages if m["type"] == "sdp" for line in m["detail_info"]["sdp"]["sdp"].splitlines() if "ufrag" in line]
            await page.client.connect()
            offer = await page.client.next("sdp", count=offers + 1)
            assert page.client.peer == old
            assert ufrag[-1] not in offer["detail_info"]["sdp"]["sdp"], "an ICE restart has new credentials"
            await page.browser.wait_for("pc.signalingState === 'stable'")
            await within(5, lambda: page.answered_at > 0, "the answer")
            began, before = time.monotonic(), await page.browser.evaluate("state.frames")
            await page.browser.wait_for(f"pc.iceConnectionState !== 'checking' && state.frames > {before} + 5", timeout=5)
            assert time.monotonic() - began < 2, f"media back after {time.monotonic() - began:.1f} s"
            await asyncio.sleep(2)
            assert people_of(server, room) == {"Cam": page.id}
            assert len(tiles_of(server, room)["tiles"]) == 1
            frames = await page.browser.evaluate("state.frames")
            await page.browser.wait_for(f"state.frames > {frames} + 10", timeout=5)
            assert page.client.reader.faults == []
        finally:
            other.cut()
            await thief.close()
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.patient
def test_silence_kick_full_and_crash(server):
    """C3: a client that is silent for 15 s is gone, with media or without; the kick ends the connection, and the app's next login is refused."""
    async def run():
        room = "hall"
        server.json("PUT", f"/api/rooms/{room}", {"maxParticipants": 3}, expect=201)
        robo = await RawTCPPeer(server, server.raw_port, room, "Robo", "red", TONES[0]).join()
        mute = await RawTCPPeer(server, server.raw_port, room, "Mute", "green", TONES[1]).join()
        peers = [robo, mute]
        killed = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "support.raw_tcp_client", str(server.raw_port), room, "Eve", "blue", str(TONES[2]),
            stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1])
        try:
            assert await asyncio.wait_for(killed.stdout.readline(), 20) == b"joined\n"
            mute.client.is_silent, quiet = True, time.monotonic()
            full = RawTCPClient(server.raw_port)
            await full.connect()
            notify = await full.next("peer_disconnected_notify")
            assert notify["detail_info"]["reason"] == "room_full"
            await full.end()
            killed.send_signal(signal.SIGKILL)
            crashed = time.monotonic()

            server.json("DELETE", f"/api/rooms/{room}/participants/{robo.id}", expect=204)
            await robo.client.next("peer_disconnected_notify")
            await robo.client.end()
            for count in (2, 3):
                await robo.client.connect()
                notify = await robo.client.next("peer_disconnected_notify", count=count)
                assert notify["detail_info"]["reason"] == "forbidden"
                await robo.client.end()
            assert "Robo" not in people_of(server, room)
            assert robo.client.reader.faults == []

            await mute.client.next("peer_disconnected_notify", 20)
            assert 12 < time.monotonic() - quiet < 19, f"gone after {time.monotonic() - quiet:.1f} s"
            await mute.client.end()
            await within(1, lambda: "Mute" not in people_of(server, room), "the silent client has left")
            await within(20, lambda: "Eve" not in people_of(server, room), "the killed client is gone")
            assert time.monotonic() - crashed < 40
            # The app is started again: an unknown client, with the default name and the room of the setting.
            fresh = RawTCPClient(server.raw_port)
            await fresh.connect()
            await fresh.next("sdp")
            (name,) = people_of(server, room)
            assert name.startswith("peer-")
            server.process.send_signal(signal.SIGTERM)
            await fresh.next("peer_disconnected_notify")
            await fresh.end()
            assert server.process.wait(12) == 0
            server.start()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(killed.pid, signal.SIGKILL)
            for peer in peers:
                await peer.close()
    asyncio.run(asyncio.wait_for(run(), 100))


def test_what_is_no_frame_ends_that_connection_only(server):
    """C5, with a client beside it whose heartbeats are answered throughout."""
    login = b'{"type":"login_req","source":0,"destination":0,"status":0,"detail_info":{"device_type":"ios"}}'
    whole = frame(login)
    rubbish = {
        "a length of 65,533 before the login": (65_533).to_bytes(2, "big") + whole[2:],
        "a wrong head": whole[:2] + b"\xaa" + whole[3:],
        "a wrong method": whole[:3] + b"\x01" + whole[4:],
        "a wrong tail": whole[:-1] + b"\xed",
        "no length": b"\x00\x00" + whole[2:],
        "half a JSON": frame(login[:-1]),
        "no object": frame(b"[1,2]"),
        "no text": frame(b"\xff\xfe\x00"),
        "deep": frame(b"[" * 1000),
        "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a wrong frame behind a login": whole + b"\x00\x10\x00",
        "an answer of nothing": frame(b'{"type":"sdp","detail_info":{}}'),
    }

    async def run():
        bystander = await RawTCPPeer(server, server.raw_port, "calm", "Robo", "red", TONES[0]).join()
        try:
            for what, data in rubbish.items():
                client = RawTCPClient(server.raw_port)
                client.open()
                await client.write(data)
                began = time.monotonic()
                await client.end(5)
                assert time.monotonic() - began < 3, what
                client.cut()
            assert not bystander.client.is_over and bystander.client.reader.faults == []
            answered = bystander.client.count("heartbeat_resp")
            frames = len(bystander.picture_times)
            await bystander.client.next("heartbeat_resp", count=answered + 1)
            await asyncio.sleep(0.5)
            assert len(bystander.picture_times) > frames
            metrics = server.get("/metrics")[2].decode()
            ended = sum(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith("tessera_raw_tcp_faults_total"))
            assert ended == len(rubbish), metrics
            assert people_of(server, "hall") == {}, "nor is anyone left of those who had logged in"
        finally:
            await bystander.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_token_mode_takes_the_token_of_adapted_apps(tmp_path):
    port = free_port()
    config = f"auth: {{mode: token, secret: '{SECRET}'}}\ndoors: {{rawTCP: '127.0.0.1:{port}'}}\n"

    async def run(server):
        stranger, guest = RawTCPClient(port), RawTCPClient(port, token=token({"room": "lobby", "name": "Robo", "exp": int(time.time()) + 60}))
        try:
            await stranger.connect()
            assert (await stranger.next("peer_disconnected_notify"))["detail_info"]["reason"] == "unauthorized"
            await stranger.end()
            await guest.connect()
            await guest.next("sdp")
        finally:
            stranger.cut()
            guest.cut()

    with Server(tmp_path / "server", config=config) as server:
        assert "only apps that add" in server.log_text(), "the start says who can join"
        asyncio.run(asyncio.wait_for(run(server), 30))
