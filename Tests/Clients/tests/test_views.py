"""Views: a phone held upright, guests, recordings, and who changes whose picture."""

import asyncio
import time

import pytest

from support.aiortc_peer import AiortcPeer, HTTPPeer
from support.media import TONES
from support.page import Page
from support.recorded import begin, path, probe, stop

# The area of the smallest tile on this screen, in CSS pixels, and the part of the stage's width that the picture fills.
SHOWN = """
(() => {
  const { width, height, tiles } = probe.last('tiles'), video = document.getElementById('mix');
  const scale = Math.min(video.clientWidth / width, video.clientHeight / height);
  return { area: Math.min(...tiles.map(tile => tile.width * tile.height)) * scale * scale, part: width * scale / innerWidth, count: tiles.length };
})()
"""


def picture(width, height):
    """Whether the page shows a picture of this shape, and has the tiles of it."""
    return (f"(() => {{ const v = document.getElementById('mix'), t = probe.last('tiles');"
            f" return t && t.width === {width} && t.height === {height} && v.videoWidth > 0"
            f" && Math.abs(v.videoWidth / v.videoHeight - {width} / {height}) < 0.03; }})()")


async def turn(page, width, height):
    await page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_phone_held_upright_gets_an_upright_picture_and_turns_with_it(full_server, tmp_path):
    """In a room that was left on the default layout: 9:16, tiles at least 1.8 times as large as in the picture for all, and nobody else's
    picture changes. A link that names a view keeps it."""
    server = full_server

    async def run():
        # Bob shares the upright view, so that it is there for a phone that turns back while a busy machine makes no new ones.
        people = [await AiortcPeer(server, "party", name, colour, tone).join(view=view)
                  for name, colour, tone, view in (("Ann", "red", TONES[0], "main"), ("Bob", "green", TONES[1], "portrait"))]
        upright, flat = await asyncio.gather(*(
            Page().open(f"{server.url}/r/party?name={name}&join=1{wish}", 390, 844, True, tmp_path)
            for name, wish in (("Upright", ""), ("Flat", "&view=main"))))
        try:
            await upright.wait_for(picture(720, 1280), 20)
            await flat.wait_for(picture(1280, 720), 20)
            for page in (upright, flat):
                await page.wait_for(f"{SHOWN}.count === 4", 10)
                await page.is_moving()
            large, small = await upright.evaluate(SHOWN), await flat.evaluate(SHOWN)
            print(f"smallest tile: {large['area']:.0f} and {small['area']:.0f} px², {large['area'] / small['area']:.1f} times")
            assert large["area"] >= 1.8 * small["area"], (large, small)
            # The badges and the own camera lie beside it.
            assert large["part"] >= 0.94, large
            await asyncio.gather(upright.shot("phone-upright"), flat.shot("phone-flat"))
            assert people[0].tiles["width"] == 1280
            views = {view["name"]: view for view in server.json("GET", "/api/rooms/party")["views"]}
            assert (views["main"]["participants"], views["portrait"]["participants"]) == (2, 2), views

            await turn(upright, 844, 390)
            await upright.wait_for(picture(1280, 720), 10)
            await upright.shot("phone-turned")
            await turn(upright, 390, 844)
            await upright.wait_for(picture(720, 1280), 10)
            await upright.is_moving()
            assert not any([await page.evaluate("probe.problems") for page in (upright, flat)])
        finally:
            await asyncio.gather(*(each.close() for each in (upright, flat, *people)))
    asyncio.run(asyncio.wait_for(run(), 120))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_what_a_page_chose_for_itself_ends_in_the_default_room(server, tmp_path):
    """D2: by the list of people and by the menu of layouts."""
    async def run():
        ann = await AiortcPeer(server, "own", "Ann", "red", TONES[0]).join()
        page = await Page().open(f"{server.url}/r/own?name=Bob&join=1", 1280, 800, False, tmp_path)
        shared = "probe.last('layout').scope === 'room' && probe.last('layout').name === 'grid'"
        try:
            await page.is_moving()
            await page.click("#open-people")
            for back in ("#people-list li:nth-child(1) .pin", "#layout-back"):
                await page.click("#people-list li:nth-child(1) .pin")
                await page.wait_for("probe.last('layout')?.scope === 'me' && document.querySelector('#people-list .pin[aria-pressed=true]') !== null")
                if back == "#layout-back":
                    await page.click("#open-layout")
                    await page.wait_for("document.querySelector('#layout-back') !== null")
                await page.click(back)
                await page.wait_for(f"{shared} && document.querySelector('#people-list .pin[aria-pressed=true]') === null")
            assert [view["scope"] for view in server.json("GET", "/api/rooms/own")["views"]] == ["room", "room"]
        finally:
            await asyncio.gather(page.close(), ann.close())
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_layout_in_a_link_changes_nobody_elses_picture(full_server, tmp_path):
    """D13, and joining again with the same link, as a page does after its server was away."""
    server = full_server

    async def run():
        ann = await AiortcPeer(server, "links", "Ann", "red", TONES[0]).join()
        for _ in range(2):
            guest = AiortcPeer(server, "links", "Guest", "green", TONES[1])
            await guest.join(layout="single")
            joined = next(message for message in guest.messages if message["type"] == "joined")
            assert joined["layout"] == "single" and joined["scope"] == "me", joined
            assert server.json("GET", "/api/rooms/links")["layout"] == "grid"
            await guest.leave()
        await ann.leave()
    asyncio.run(asyncio.wait_for(run(), 30))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_guests_and_recordings_have_views_of_their_own(full_server, tmp_path):
    """A WHEP viewer takes a view by name, and the recording has the size of the view `recording`, which no one watches."""
    server = full_server

    async def run():
        views = {"guests": {"width": 640, "height": 480, "framesPerSecond": 15}, "recording": {"layout": "single", "width": 960, "height": 540, "names": False}}
        server.json("PUT", "/api/rooms/hall", {"views": views}, expect=201)
        ann = await AiortcPeer(server, "hall", "Ann", "red", TONES[0]).join()
        guest = await HTTPPeer(server, "hall", "Guest", "yellow", TONES[3], direction="recvonly").join("whep", "&view=guests")
        recording = await asyncio.to_thread(begin, server, "hall")
        deadline = time.monotonic() + 10
        while guest.picture is None or guest.picture.width * 3 != guest.picture.height * 4:
            assert time.monotonic() < deadline, guest.picture
            await asyncio.sleep(0.1)
        status = await asyncio.to_thread(lambda: server.request("PUT", "/api/rooms/hall", {"views": {"recording": None}})[0])
        assert status == 409, "the recorded view stays"
        await asyncio.sleep(2)
        video = next(each for each in probe(path(server, await stop(server, recording)))["streams"] if each["codec_type"] == "video")
        assert (video["width"], video["height"]) == (960, 540)
        assert server.request("POST", "/whep/hall?view=none", b"v=0\r\n", {"Content-Type": "application/sdp"})[0] == 404
        await asyncio.gather(guest.close(), ann.leave())
    asyncio.run(asyncio.wait_for(run(), 60))
