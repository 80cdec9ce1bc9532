"""All families of clients in one room: each sees everyone, hears everyone but itself, and chats as far as its own protocol can."""

import asyncio
import random

import pytest

from support.app_peer import AppViewer, people_of, tiles_of, within
from support.apprtc import AppRTCPage
from support.browser import Chromium
from support.media import TONES, colour_at, nearest_colour, tone_level
from support.people import BrowserPeer, eventually, page_url, picture_is_right, sound_is_right
from support.raw_tcp_client import RawTCPPeer
from support.recorded import begin, frame_at, is_whole, path, sound, stop
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
