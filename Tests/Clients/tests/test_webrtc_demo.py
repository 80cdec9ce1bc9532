"""Clients of the WebRTC demo: aiortc and Chromium with the app's signalling, in rooms with a native Chromium."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
import urllib.parse
from pathlib import Path

import pytest
import websockets

from support.app_peer import AppViewer, people_of, tiles_of, within
from support.browser import Chromium
from support.media import TONES
from support.people import BrowserPeer, eventually, page_url, picture_is_right, sound_is_right
from support.server import Server
from support.signalling import ask, connect
from support.tokens import SECRET, token
from support.webrtc_demo_client import DemoPeer, candidate, encoded

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")

JPEG = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 400


class DemoPage(BrowserPeer):
    """The test page as a demo client."""

    def __init__(self, browser, server, room, name, colour, frequency):
        super().__init__(browser, name, colour, frequency)
        self.server, self.room = server, room

    @staticmethod
    async def start(pages, server, room, name, colour, frequency):
        url = server.signal_url.removesuffix("/signal") + f"/{room}?name={name}"
        address = page_url(pages, server, room, name, colour, frequency, "H264") + f"&demo={urllib.parse.quote(url)}"
        page = DemoPage(await Chromium().start(address), server, room, name, colour, frequency)
        await page.browser.wait_for("window.sendOffer && socket.readyState === 1")
        await page.browser.evaluate("sendOffer()")
        await page.browser.wait_for("state.connected && state.frames > 3", timeout=30)
        page.id = (await asyncio.to_thread(people_of, server, room))[name]
        return page

    async def tile_colours(self):
        tiles = await asyncio.to_thread(tiles_of, self.server, self.room)
        await self.browser.evaluate(f"(state.tiles = {tiles}, 1)".replace("True", "true").replace("False", "false"))
        return await super().tile_colours()


def digest(data):
    value = 7
    for byte in data:
        value = (value * 31 + byte) % 65521
    return f"binary:{len(data)}:{value}"


def test_demo_clients_and_a_native_one_share_a_room(server, pages):
    """B1, B4, B5: pictures, tones, chat and pictures of chat; only binary frames. The recording is for test_families.py."""
    async def run():
        room = "team"
        peers, browsers, chats = [], [], []
        native = listening = None

        async def listen():
            async for text in native:
                if (message := json.loads(text))["type"] == "chat":
                    chats.append(message)
        try:
            page = await DemoPage.start(pages, server, room, "Cy", "blue", TONES[2])
            browsers.append(page)
            ada = await DemoPeer(server, room, "Ada", "red", TONES[0]).join()
            peers.append(ada)
            bo = await DemoPeer(server, room, "Bo", "green", TONES[1], "H264").join()
            peers.append(bo)
            everybody = [page, await AppViewer(ada).joined(), await AppViewer(bo).joined()]
            await eventually(lambda: picture_is_right(everybody), 10, "picture")
            await eventually(lambda: sound_is_right(everybody), 15, "sound")

            # Without media, so that the picture stays as it is.
            native = await connect(server)
            await ask(native, "joined", type="join", room=room, name="Di")
            listening = asyncio.ensure_future(listen())
            await within(10, lambda: ada.sends_on and bo.sends_on, "the server opens a channel to each app")
            await page.browser.wait_for("window.theirs?.readyState === 'open'")
            # The app's text is binary, and reaches the other apps as it is.
            ada.say("grüße 👋".encode())
            await within(5, lambda: bo.received_data == ["grüße 👋".encode()], "Bo gets Ada's text")
            await page.browser.wait_for(f"state.data.includes('{digest('grüße 👋'.encode())}')")
            await within(5, lambda: chats, "the text at the native client")
            bo.say(JPEG)
            await within(5, lambda: ada.received_data == [JPEG], "Ada gets Bo's picture, and not her own text")
            await page.browser.wait_for(f"state.data.includes('{digest(JPEG)}')")
            await page.browser.evaluate("(theirs.send(new TextEncoder().encode('from a page').buffer), 1)")
            await within(5, lambda: ada.received_data[-1] == b"from a page" == bo.received_data[-1], "the page's text")
            await native.send(json.dumps({"type": "chat", "text": "from the web"}))
            await within(5, lambda: ada.received_data[-1] == b"Di: from the web" == bo.received_data[-1], "the native text")
            await within(5, lambda: len(chats) >= 4, "all of the chat at the native client")
            await asyncio.sleep(1)
            assert [(c["name"], c["text"]) for c in chats if c["text"]] == [
                ("Ada", "grüße 👋"), ("Cy", "from a page"), ("Di", "from the web")], chats
            assert len(chats) == 4 and any(c.get("picture") for c in chats), chats
            assert len(ada.received_data) == 3 and len(bo.received_data) == 3, "each once, and nobody its own"
            assert await page.browser.evaluate("state.data.length") == 3

            # The app leaves without a word: its peer connection ends with a goodbye of DTLS.
            await ada.close()
            await within(3, lambda: "Ada" not in people_of(server, room), "Ada has left")
            assert all(isinstance(frame, bytes) for peer in peers for frame in peer.frames)
            assert await page.browser.evaluate("state.texts") == 0
        finally:
            if listening:
                listening.cancel()
                await native.close()
            for peer in peers:
                await peer.close()
            for browser in browsers:
                await browser.browser.close()
    asyncio.run(asyncio.wait_for(run(), 120))


@pytest.mark.patient
def test_a_socket_that_is_gone_for_ten_seconds_costs_nothing(server, pages):
    """B2: early candidates and two offers; then the socket is cut while media goes on: the same participant, and no second tile."""
    async def run():
        room = "cut"
        page = await DemoPage.start(pages, server, room, "Cy", "blue", TONES[2])
        ada = await DemoPeer(server, room, "Ada", "red", TONES[0]).join()
        try:
            await ada.answered(await ada.offer())
            assert len(ada.answers) == 2, "each offer is answered"
            people = people_of(server, room)
            assert set(people) == {"Ada", "Cy"}
            # Without a close frame, as a network that is gone.
            ada.socket.transport.abort()
            # The page's socket ends, and its next ones are kept from the server for ten seconds.
            await page.browser.evaluate("(window.Native = WebSocket, window.WebSocket = class extends Native { constructor() { super('ws://127.0.0.1:1/'); } }, socket.close(), 1)")
            started, frames = time.monotonic(), (len(ada.picture_times), await page.browser.evaluate("state.frames"))
            while time.monotonic() - started < 10:
                assert await asyncio.to_thread(people_of, server, room) == people
                await asyncio.sleep(0.5)
            after = (len(ada.picture_times), await page.browser.evaluate("state.frames"))
            assert all(b > a + 70 for a, b in zip(frames, after)), f"{frames}, then {after}"
            await ada.connect()
            await page.browser.evaluate("(window.WebSocket = Native, 1)")
            # The app says nothing on its new socket; its user may.
            await page.browser.wait_for("socket.readyState === 1", timeout=15)
            assert await asyncio.to_thread(people_of, server, room) == people
            await ada.answered(await ada.offer())
            answers = await page.browser.evaluate("state.answers")
            await page.browser.evaluate("sendOffer({ iceRestart: true })")
            await page.browser.wait_for(f"state.answers > {answers}")
            before = await page.browser.evaluate("state.frames")
            await page.browser.wait_for(f"state.connected && state.frames > {before} + 15", timeout=10)
            assert await asyncio.to_thread(people_of, server, room) == people
            assert len(tiles_of(server, room)["tiles"]) == 2
            assert await page.browser.evaluate("state.texts") == 0
        finally:
            await ada.close()
            await page.browser.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_idle_sockets_are_no_participants(server):
    """B3, B5: nobody joins before its offer; the path has the room, the query the name."""
    async def run():
        url = server.signal_url.removesuffix("/signal")
        idle = [await websockets.connect(f"{url}/{'idle' if n % 2 else ''}") for n in range(20)]
        for number, socket in enumerate(idle):
            await socket.send(candidate("candidate:1 1 udp 1 192.0.2.1 9 typ host"))
            await socket.send(encoded({"type": "SessionDescription", "payload": {"type": "answer", "sdp": "v=0"}}))
            if number % 3 == 0:
                await socket.send("{")
        await asyncio.sleep(1)
        assert server.json("GET", "/api/rooms") == []
        for socket in idle:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(socket.recv(), 0.05)
        peers = [
            DemoPeer(server, "lobby", "iPhone 1", "red", TONES[0], path="/"), DemoPeer(server, "lobby", "iPhone 2", "green", TONES[1], path="/"),
            DemoPeer(server, "a room", "Zoë", "blue", TONES[2], path="/a%20room?name=Zo%C3%AB"),
        ]
        peers[1].sends_text = True
        # What is too large is refused without a text frame too.
        await idle[0].send(bytes(300_000))
        with pytest.raises(websockets.ConnectionClosed):
            await asyncio.wait_for(idle[0].recv(), 5)
        assert idle[0].close_code == 1009
        try:
            for peer in peers:
                await peer.connect()
                await peer.answered(await peer.offer())
            assert all(isinstance(frame, bytes) for peer in peers for frame in peer.frames)
            assert set(people_of(server, "lobby")) == {"iPhone 1", "iPhone 2"}
            assert set(people_of(server, "a%20room")) == {"Zoë"}
        finally:
            for peer in peers:
                await peer.close()
            for socket in idle:
                await socket.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.patient
def test_kick_full_and_crash(server):
    """What the app cannot be told ends its socket; a removed client's peer connection does not come back, and a killed one goes."""
    async def run():
        room = "small"
        server.json("PUT", f"/api/rooms/{room}", {"maxParticipants": 2}, expect=201)
        ada = await DemoPeer(server, room, "Ada", "red", TONES[0]).join()
        killed = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "support.webrtc_demo_client", server.signal_url, room, "Eve", "green", str(TONES[1]),
            stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1])
        peers = [ada]
        try:
            assert await asyncio.wait_for(killed.stdout.readline(), 20) == b"joined\n"
            third = await DemoPeer(server, room, "Bo", "blue", TONES[2]).connect()
            peers.append(third)
            await third.offer()
            assert await third.end() == (1013, "room_full")
            killed.send_signal(signal.SIGKILL)
            crashed = time.monotonic()

            server.json("DELETE", f"/api/rooms/{room}/participants/{ada.id}", expect=204)
            assert await ada.end() == (4001, "removed")
            for _ in range(2):
                await ada.connect()
                await ada.offer()
                assert await ada.end() == (4001, "forbidden"), "the same peer connection stays outside"
            assert "Ada" not in people_of(server, room)
            # The app's user starts it again: another peer connection.
            again = await DemoPeer(server, room, "Ada", "red", TONES[0]).join()
            peers.append(again)
            await within(45, lambda: "Eve" not in people_of(server, room), "the killed client is gone")
            assert time.monotonic() - crashed < 45
            third.answers.clear()
            await third.connect()
            await third.answered(await third.offer())
            assert set(people_of(server, room)) == {"Ada", "Bo"}
            server.process.send_signal(signal.SIGTERM)
            assert (await again.end())[0] == 1001, "the server drains"
            server.process.wait(12)
            assert server.process.returncode == 0
            server.start()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(killed.pid, signal.SIGKILL)
            for peer in peers:
                await peer.close()
    asyncio.run(asyncio.wait_for(run(), 100))


def test_token_mode_takes_the_token_of_the_url(tmp_path):
    config = f"auth: {{mode: token, secret: '{SECRET}'}}\n"

    async def run(server):
        stranger = DemoPeer(server, "team", "Eve", "red", TONES[0])
        pass_ = token({"room": "team", "name": "Ada", "exp": int(time.time()) + 60})
        ada = DemoPeer(server, "team", "Ada", "green", TONES[1], path=f"/team?name=Eve&token={pass_}")
        try:
            await stranger.connect()
            await stranger.offer()
            assert await stranger.end() == (1008, "unauthorized")
            await ada.connect()
            await ada.answered(await ada.offer())
            await within(5, lambda: "tessera_joins_total{family=\"webrtc_demo\"} 1" in server.get("/metrics")[2].decode(), "one join")
            assert "room=team" in server.log_text()
        finally:
            await stranger.close()
            await ada.close()

    with Server(tmp_path / "server", config=config) as server:
        asyncio.run(asyncio.wait_for(run(server), 30))
