"""All families of clients in one room: each sees everyone, hears everyone but itself, and chats as far as its own protocol can."""

import asyncio
import contextlib
import json
import random

import pytest

from support.aiortc_peer import HTTPPeer
from support.app_peer import AppViewer, people_of, tiles_of, within
from support.apprtc import AppRTCPage, Client, accept, frame
from support.browser import Chromium
from support.media import TONES, colour_at, nearest_colour, tone_level
from support.people import BrowserPeer, eventually, page_url, picture_is_right, sound_is_right
from support.raw_tcp_client import RawTCPPeer
from support.recorded import begin, frame_at, is_whole, path, sound, stop
from support.signalling import ask, connect, read
from support.socketio_client import SocketIOPeer
from support.webrtc_demo_client import DemoPeer

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")

ROOM = "everyone"
# A JPEG by its first bytes; data channels take it whole.
PICTURE = b"\xff\xd8\xff\xe0" + random.Random(2).randbytes(100_000)


@pytest.fixture
def server(raw_tcp_server):
    return raw_tcp_server


def test_all_families_share_a_room_its_chat_and_its_recording(server, pages):
    async def run():
        opened = []

        def keep(peer, close=None):
            opened.append(close or peer.close)
            return peer

        try:
            native = BrowserPeer(await Chromium().start(page_url(pages, server, ROOM, "Nat", "red", TONES[0])), "Nat", "red", TONES[0])
            keep(native, native.browser.close)
            await native.joined()
            web = await AppRTCPage.open(pages, server, ROOM, "Web", "green", TONES[1])
            keep(web, web.browser.close)
            await web.joined()
            demo = keep(await DemoPeer(server, ROOM, "Demo", "blue", TONES[2]).join())
            robo = keep(await RawTCPPeer(server, server.raw_port, ROOM, "Robo", "yellow", TONES[3]).join())
            alice = keep(await SocketIOPeer(server, "alice", "magenta", TONES[4]).connect())
            assert await alice.ring(f"room_{ROOM}") == ROOM
            await alice.join_call()
            everyone = [native, web] + [await AppViewer(peer).joined() for peer in (demo, robo, alice)]
            assert set(people_of(server, ROOM)) == {"Nat", "Web", "Demo", "Robo", "alice"}
            await eventually(lambda: picture_is_right(everyone), 20, "picture")
            await eventually(lambda: sound_is_right(everyone), 20, "sound")

            recording = begin(server, ROOM)
            await within(10, lambda: demo.sends_on and robo.sends_on, "the server opens a channel to each app")
            # From a data channel: unchanged to the other channel, with the name to FLSocketIM.
            demo.say("hello ☎".encode())
            await within(5, lambda: robo.received_data == ["hello ☎".encode()], "text on the data channel")
            assert (await alice.event("chat"))["bodies"]["msg"] == "Demo: hello ☎"
            # From FLSocketIM: with the name to the channels.
            assert (await alice.say(f"room_{ROOM}", {"type": "txt", "msg": "hi"}))["msg_id"]
            for app in (demo, robo):
                await within(5, lambda app=app: app.received_data[-1:] == [b"alice: hi"], f"{app.name} reads alice")
            # A picture each way.
            robo.say(PICTURE)
            await within(5, lambda: demo.received_data[-1:] == [PICTURE], "the picture on the data channel")
            image = await alice.event("chat", where=lambda message: message["bodies"]["type"] == "img")
            assert image["bodies"]["fileData"] == PICTURE and image["from_user"] == f"room_{ROOM}"
            await alice.say(f"room_{ROOM}", {"type": "img", "fileName": "a.jpg", "fileData": PICTURE[:4] + PICTURE[:3:-1]})
            for app in (demo, robo):
                await within(5, lambda app=app: app.received_data[-1:] == [PICTURE[:4] + PICTURE[:3:-1]], f"{app.name} gets alice's picture")
            # Once, and no echo.
            assert not [event for event in alice.events if event[0] == "chat"], alice.events
            assert (len(demo.received_data), len(robo.received_data)) == (3, 3)

            await asyncio.sleep(3)
            finished = await stop(server, recording)
            tiles = await asyncio.to_thread(tiles_of, server, ROOM)
            metrics = server.get("/metrics")[2].decode()
            for family in ("native", "apprtc", "webrtc_demo", "raw_tcp", "socket_io"):
                assert f'tessera_joins_total{{family="{family}"}} 1' in metrics, family

            # Each family is told of its removal, or at least out of the room.
            for name, identity in people_of(server, ROOM).items():
                assert server.request("DELETE", f"/api/rooms/{ROOM}/participants/{identity}")[0] == 204, name
            await within(5, lambda: people_of(server, ROOM) == {}, "everyone is removed")
            await alice.event("_remove_peer")
            return everyone, tiles, finished
        finally:
            for close in reversed(opened):
                await close()
    everyone, tiles, finished = asyncio.run(asyncio.wait_for(run(), 150))
    canvas = (tiles["width"], tiles["height"])
    is_whole(path(server, finished), end=200)
    still = frame_at(path(server, finished), 2, *canvas)
    seen = {tile["participant"]: nearest_colour(colour_at(still, tile, canvas)) for tile in tiles["tiles"]}
    assert seen == {peer.id: peer.colour for peer in everyone}, seen
    samples = sound(path(server, finished))
    seconds = [samples[start:start + 48_000] for start in range(0, len(samples) - 48_000, 48_000)]
    levels = {peer.name: max(tone_level(second, peer.frequency) for second in seconds) for peer in everyone}
    assert min(levels.values()) > 0.02, levels


def test_all_families_wait_to_be_let_in_and_give_a_pin(server):
    """At a room where a moderator has to let people in, the clients of all families wait, unmodified: nothing comes back until then. Who
    goes away waits no more. And each family with a place for a PIN gives it."""
    async def run():
        opened = []

        def keep(peer):
            opened.append(peer.close)
            return peer

        async def listed(host, names):
            while True:
                people = {p["name"]: p["id"] for p in (await read(host, "waiting"))["people"]}
                if sorted(people) == sorted(names):
                    return people
        try:
            server.json("PUT", f"/api/rooms/{ROOM}", {"admit": "moderator"}, expect=201)
            host = keep(await connect(server))
            await ask(host, "joined", type="join", room=ROOM, name="Host")
            demo, gone = (keep(DemoPeer(server, ROOM, name, "blue", TONES[2])) for name in ("Demo", "Gone"))
            for peer in (demo, gone):
                await peer.connect()
                await peer.offer()
            robo = keep(RawTCPPeer(server, server.raw_port, ROOM, "Robo", "yellow", TONES[3]))
            await robo.client.connect()
            alice = keep(await SocketIOPeer(server, "alice", "magenta", TONES[4]).connect())
            await alice.ring(f"room_{ROOM}")
            await alice.emit("__join", {"room": ROOM})
            web = keep(HTTPPeer(server, ROOM, "Web", "green", TONES[1]))
            await web.prepare()
            client = await asyncio.to_thread(Client, server, ROOM, "?name=Web")
            socket = keep(await client.connect())
            assert await asyncio.to_thread(client.post, {"type": "offer", "sdp": web.pc.localDescription.sdp}) == "SUCCESS"
            people = await listed(host, ["Demo", "Gone", "Robo", "alice", "Web"])
            assert "A moderator has to let you in" in (await alice.event("chat"))["bodies"]["msg"]
            assert set(people_of(server, ROOM)) == {"Host"} and not (demo.answers or robo.client.messages or alice.answers)
            await gone.close()
            await listed(host, ["Demo", "Robo", "alice", "Web"])
            await host.send(json.dumps({"type": "moderate", "action": "refuse", "participant": people["Demo"]}))
            assert await demo.end() == (1008, "refused")
            await host.send(json.dumps({"type": "moderate", "action": "admit"}))
            await accept(web.pc, (await frame(socket))["msg"])
            assert (await alice.event("_peers"))["connections"] == ["mcu-1"]
            await within(10, lambda: robo.picture is not None and web.picture is not None, "the pictures of who was let in")

            await host.send(json.dumps({"type": "room", "admit": "anyone", "pin": "2718"}))
            await read(host, "room")
            await alice.emit("closeRoom")
            await alice.emit("__join", {"room": ROOM})
            assert "asks for a PIN" in (await alice.event("chat"))["bodies"]["msg"]
            await alice.event("_remove_peer")
            await alice.emit("chat", {"from_user": "alice", "to_user": f"room_{ROOM}", "bodies": {"type": "txt", "msg": "2718"}})
            assert "Nobody has read this" in (await alice.event("chat"))["bodies"]["msg"]
            await alice.emit("__join", {"room": ROOM})
            await alice.event("_peers")
            wrong, right = [await asyncio.to_thread(Client, server, f"{ROOM}_pin_{pin}") for pin in ("0000", "2718")]
            assert wrong.answer["result"] == "ERROR" and right.answer["result"] == "SUCCESS"
            late = keep(await DemoPeer(server, ROOM, "Late", "blue", TONES[2], path=f"/{ROOM}?name=Late&pin=2718").connect())
            await late.answered(await late.offer())
        finally:
            for close in reversed(opened):
                with contextlib.suppress(Exception):
                    await close()
    asyncio.run(asyncio.wait_for(run(), 90))
