"""A call of two: each sees the other large, and everyone else both."""

import asyncio

import numpy as np
import pytest

from support.aiortc_peer import AiortcPeer, HTTPPeer
from support.media import COLOURS, TONES
from support.page import Page
from support.people import eventually
from support.server import Server

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")
# Where the picture of the other, the own camera and the badges lie on the stage, as [left, top, right, bottom], and the part of the stage that the
# other has.
PLACES = """
(() => {
  const { width, height, tiles } = probe.last('tiles'), video = document.getElementById('mix'), stage = document.getElementById('stage').getBoundingClientRect();
  const box = video.getBoundingClientRect(), scale = Math.min(box.width / width, box.height / height);
  const left = box.left + (box.width - width * scale) / 2, top = box.top + (box.height - height * scale) / 2;
  const picture = [left + tiles[0].x * scale, top + tiles[0].y * scale, left + (tiles[0].x + tiles[0].width) * scale, top + (tiles[0].y + tiles[0].height) * scale];
  const place = element => { const { left, top, right, bottom } = element.getBoundingClientRect(); return [left, top, right, bottom]; };
  const beside = [...document.querySelectorAll('#self, .badges > *')].filter(each => each.checkVisibility()).map(each => [each.id, ...place(each)]);
  return { count: tiles.length, picture, beside, part: (picture[2] - picture[0]) * (picture[3] - picture[1]) / stage.width / stage.height };
})()
"""


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path / "server", own_pictures=True) as server:
        yield server


def parts(peer):
    """The part of the picture that each colour has, in percent."""
    pixels = peer.rgb().astype(int)
    return {name: round(100 * float(np.mean(np.abs(pixels - rgb).sum(axis=2) < 100))) for name, rgb in COLOURS.items()}


async def sees(peer, people, **expected):
    """Waits until a participant has tiles of these people, and a picture in which each colour has at least so many percent and all others none."""
    async def fault():
        tiles = {tile["participant"] for tile in (peer.tiles or {"tiles": []})["tiles"]}
        seen = parts(peer) if peer.picture is not None else {}
        fits = seen and all(seen[name] >= least for name, least in expected.items())
        is_clean = seen and all(part <= 1 for name, part in seen.items() if name not in expected)
        return None if tiles == {one.id for one in people} and fits and is_clean else f"{tiles}, {seen}"
    await eventually(fault, 12, f"{peer.name} with {expected}")


def test_each_of_two_sees_the_other_alone_and_a_third_one_everybody(server):
    async def run():
        ann = await AiortcPeer(server, "two", "Ann", "red", TONES[0]).join()
        await sees(ann, [ann], red=90)
        bob = await AiortcPeer(server, "two", "Bob", "blue", TONES[1], "H264").join()
        viewer = await HTTPPeer(server, "two", "Vic", "yellow", TONES[3], direction="recvonly").join("whep")
        try:
            await asyncio.gather(sees(ann, [bob], blue=90), sees(bob, [ann], red=90))

            async def both():
                seen = parts(viewer) if viewer.picture is not None else {}
                return None if seen.get("red", 0) > 15 and seen.get("blue", 0) > 15 else str(seen)
            await eventually(both, 10, "the viewer's picture")
            room = server.json("GET", "/api/rooms/two")
            assert len(room["tiles"]) == 2 and [view["participants"] for view in room["views"]] == [3, 0], room
            cy = await AiortcPeer(server, "two", "Cy", "green", TONES[2]).join()
            everyone = [ann, bob, cy]
            await asyncio.gather(*(sees(each, everyone, red=10, blue=10, green=10) for each in everyone))
            await cy.leave()
            await asyncio.gather(sees(ann, [bob], blue=90), sees(bob, [ann], red=90))
            # Who wants the room's layout otherwise gets it, and the other one keeps its own.
            await ann.send(type="layout", name="side-by-side", scope="me")
            await asyncio.gather(sees(ann, [ann, bob], red=15, blue=15), sees(bob, [ann], red=90))
        finally:
            await asyncio.gather(*(each.close() for each in (ann, bob, viewer)))
    asyncio.run(asyncio.wait_for(run(), 90))


@pytest.mark.parametrize(("width", "height", "mobile", "least"), [(1366, 768, False, 0.8), (844, 390, True, 0.65), (390, 844, True, 0.25)])
def test_the_own_camera_and_the_badges_lie_beside_the_picture_of_the_other(server, tmp_path, width, height, mobile, least):
    async def run():
        page = await Page().open(f"{server.url}/r/beside?name=Ada&join=1", width, height, mobile, tmp_path)
        bob = await AiortcPeer(server, "beside", "Bob", "blue", TONES[1]).join()
        try:
            await page.is_moving()
            await page.wait_for(f"{PLACES}.count === 1 && document.getElementById('self-video').videoWidth > 0 && !document.getElementById('line').hidden")
            await asyncio.sleep(0.5)
            found = await page.evaluate(PLACES)
            left, top, right, bottom = found["picture"]
            assert {"self", "line", "full-screen"} <= {each[0] for each in found["beside"]}
            for name, x0, y0, x1, y1 in found["beside"]:
                assert x0 >= right - 1 or x1 <= left + 1 or y0 >= bottom - 1 or y1 <= top + 1, f"{name} covers the picture: {found}"
            assert found["part"] >= least, found
            await page.fits("a call of two")
            await page.shot(f"two-{width}")
            assert not await page.evaluate("probe.problems")
        finally:
            await asyncio.gather(page.close(), bob.close())
    asyncio.run(asyncio.wait_for(run(), 60))
