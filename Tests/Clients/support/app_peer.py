"""What the clients of other systems have in common in tests: a data channel in each direction, and tiles from the API."""

import asyncio
import json

from support.aiortc_peer import AiortcPeer
from support.people import PythonPeer, eventually
from support.server import SMALL

CHANNEL = "WebRTCData"


def tiles_of(server, room):
    """The room's tiles, as native clients get them."""
    found = server.json("GET", f"/api/rooms/{room}")
    return {"width": int(SMALL["TESSERA_ROOMS_WIDTH"]), "height": int(SMALL["TESSERA_ROOMS_HEIGHT"]), "tiles": found["tiles"]}


def people_of(server, room):
    """The participants' ids by name; {} where there is no such room."""
    status, _, body = server.get(f"/api/rooms/{room}")
    return {p["name"]: p["id"] for p in json.loads(body)["participants"]} if status == 200 else {}


async def within(seconds, check, what):
    """Polls a plain condition."""
    async def complaint():
        return None if await asyncio.to_thread(check) else "not yet"
    await eventually(complaint, seconds, what)


class AppPeer(AiortcPeer):
    """aiortc as the apps use their library: it sends on the channel that the other side opened, and hears only on its own."""

    def __init__(self, server, room, name, colour, frequency, codec="VP8"):
        super().__init__(server, room, name, colour, frequency, codec, data_channel=CHANNEL)
        self.sends_on = None

    def cross_channels(self):
        @self.pc.on("datachannel")
        def opened(channel):
            if channel.label == CHANNEL:
                self.sends_on = channel

    def say(self, data):
        """Sends like the app: always binary."""
        self.sends_on.send(data)

    async def known(self, timeout=5):
        """Waits for the participant of this name and sets `id`."""
        for _ in range(timeout * 20):
            if found := (await asyncio.to_thread(people_of, self.server, self.room)).get(self.name):
                self.id = found
                return self
            await asyncio.sleep(0.05)
        raise AssertionError(f"{self.name} is not in {self.room}")


class AppViewer(PythonPeer):
    """`PythonPeer` for a client that receives no tiles by its signalling."""

    async def joined(self):
        self.peer.tiles = {"tiles": []}
        await super().joined()
        return self

    async def tile_colours(self):
        self.peer.tiles = await asyncio.to_thread(tiles_of, self.peer.server, self.peer.room)
        return await super().tile_colours()
