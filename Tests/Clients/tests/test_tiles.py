"""What the received picture shows beside cameras: an avatar, the others without oneself, and tiles on the way to their new places."""

import asyncio
import json
import struct
import zlib

import numpy as np
import pytest

from support.aiortc_peer import AiortcPeer
from support.media import COLOURS, TONES, nearest_colour
from support.people import PythonPeer, eventually
from support.server import Server

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


def png(colour, side=64):
    """The file of a square of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(COLOURS[colour]) * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def server_with(tmp_path, layouts, config=""):
    """A server that has these layouts of one region each besides the shipped ones: by name the region, and what else the layout has."""
    (folder := tmp_path / "layouts").mkdir()
    for name, (region, more) in layouts.items():
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "description": "A test's.", "rules": [{"regions": [region]}], **more}))
    return Server(tmp_path / "server", config=config, arguments=["--layouts", str(folder)])


def part_of(picture, colour):
    """The part of a picture's pixels that have a colour."""
    return float(np.mean(np.abs(picture.astype(int) - COLOURS[colour]).sum(axis=2) < 100))


def test_an_avatar_is_in_the_picture_and_a_layout_may_leave_out_who_looks(tmp_path):
    async def run(server):
        ann = await AiortcPeer(server, "faces", "Ann", "red", TONES[0]).join()
        bob = await AiortcPeer(server, "faces", "Bob", "blue", TONES[1], camera=False).join()
        avatar = f"/api/rooms/faces/participants/{bob.id}/avatar"

        async def bob_is(colour):
            """The colour in the middle of Bob's tile."""
            tile = next((tile for tile in (ann.tiles or {}).get("tiles", []) if tile["participant"] == bob.id), None)
            if not tile or ann.picture is None:
                return "no tile"
            scale = ann.picture.width / ann.tiles["width"]
            x, y = (int((tile[at] + tile[size] / 2) * scale) for at, size in (("x", "width"), ("y", "height")))
            seen = nearest_colour(np.median(ann.rgb()[y - 3:y + 3, x - 3:x + 3].reshape(-1, 3), axis=0))
            return None if seen == colour else f"the middle is {seen}, not {colour}"

        try:
            await PythonPeer(ann).joined()
            await eventually(lambda: bob_is(None), 10, "initials")
            assert (await asyncio.to_thread(server.request, "PUT", avatar, png("magenta"), {"Content-Type": "image/png"}))[0] == 204
            await eventually(lambda: bob_is("magenta"), 5, "his avatar")
            assert part_of(ann.rgb(), "red") > 0.2, "and her camera"

            await ann.send(type="layout", name="others", scope="me")

            async def only_bob():
                people = [tile["participant"] for tile in ann.tiles["tiles"]]
                red = part_of(ann.rgb(), "red")
                return None if people == [bob.id] and red < 0.01 else f"tiles of {people}, {red:.0%} red"
            await eventually(only_bob, 5, "without herself")
            await eventually(lambda: bob_is("magenta"), 2, "his avatar, large")
            assert (await asyncio.to_thread(server.request, "DELETE", avatar))[0] == 204
            await eventually(lambda: bob_is(None), 5, "initials again")
        finally:
            await asyncio.gather(ann.close(), bob.close())
    with server_with(tmp_path, {"others": ({"kind": "grid"}, {"self": "hide"})}) as server:
        asyncio.run(asyncio.wait_for(run(server), 60))


class Watcher(AiortcPeer):
    """Keeps where the red is in each picture that comes: its centre from left to right, 0…1."""

    centres = ()

    async def read_video(self, track):
        self.centres = []
        while True:
            self.picture = await track.recv()
            red = np.abs(self.picture.reformat(160, 90).to_ndarray(format="rgb24").astype(int) - COLOURS["red"]).sum(axis=2) < 100
            if red.sum() > 100:
                self.centres.append(float(np.nonzero(red)[1].mean()) / 160)


@pytest.mark.parametrize("transition", ["800ms", "0s"])
def test_tiles_move_to_new_places_unless_the_configuration_says_no(tmp_path, transition):
    async def run(server):
        server.json("PUT", "/api/rooms/way", {"layout": "left"}, expect=201)
        peer = await Watcher(server, "way", "Ann", "red", TONES[0]).join()

        async def is_at(place):
            last = peer.centres[-3:]
            return None if len(last) == 3 and all(abs(centre - place) < 0.05 for centre in last) else f"at {last}, not {place}"
        try:
            await eventually(lambda: is_at(0.2), 10, "the place before")
            peer.centres.clear()
            await asyncio.to_thread(server.json, "PUT", "/api/rooms/way", {"layout": "right"})
            await eventually(lambda: is_at(0.8), 5, "the place after")
            between = [centre for centre in peer.centres if 0.27 < centre < 0.73]
            print(f"{transition}: {[round(centre, 2) for centre in peer.centres]}")
            assert (len(between) >= 3 and between == sorted(between)) if transition != "0s" else not between, between
        finally:
            await peer.close()
    places = {name: ({"kind": "slot", "x": x, "y": 0.25, "width": 0.4, "height": 0.5}, {}) for name, x in (("left", 0), ("right", 0.6))}
    with server_with(tmp_path, places, f"rooms: {{transition: {transition}}}\n") as server:
        asyncio.run(asyncio.wait_for(run(server), 40))
