"""Shared screens: who sees them, how large, how sharp, and how soon."""

import asyncio
import base64
import json
import time

import pytest

from support.aiortc_peer import AiortcPeer, ColourTrack, HTTPPeer
from support.browser import Chromium, Firefox
from support.media import TONES, colour_at, nearest_colour, tone_level
from support.page import Page
from support.printed import DRAW_PAGE, TAKE_SCREEN, WORDS, part_read
from support.signalling import ask, connect

# The colour of the probe's shared screen, and the part of the received picture that has it, in per cent. The page measures in steps of four
# pixels and keeps the first time (`Date.now()`) at which a screen fills the wanted part.
WATCH_FOR_SCREEN = """
(() => {
  const video = document.getElementById('mix'), canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 180];
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  window.screenPart = 0;
  window.screenSeen = null;
  const look = () => {
    pen.drawImage(video, 0, 0, 320, 180);
    const { data } = pen.getImageData(0, 0, 320, 180);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      const isPaper = data[i] > 190 && data[i + 1] > 190 && data[i + 2] > 220;
      const isInk = data[i] < 70 && data[i + 1] < 70 && data[i + 2] > 60 && data[i + 2] < 140;
      if (isPaper || isInk) found++;
    }
    window.screenPart = found / (320 * 180);
    if (window.screenPart >= 0.7) window.screenSeen ??= Date.now();
    video.requestVideoFrameCallback(look);
  };
  look();
})(), 0
"""
LARGEST = "probe.last('tiles').tiles.reduce((a, b) => (a.width * a.height >= b.width * b.height ? a : b))"


def is_grid(count):
    return f"probe.last('tiles').tiles.length === {count} && new Set(probe.last('tiles').tiles.map(tile => tile.width)).size === 1"




@pytest.mark.usefixtures("needs_address")
def test_a_screen_fills_the_picture_within_a_second_in_a_room_on_the_default_layout(full_server, tmp_path):
    """Three people in a room that was left on `grid`: the screen is large by itself, in the tiles and in the picture that another one
    receives, and the grid returns. Somebody's choice of another layout counts until the sharing ends."""
    async def run():
        pages = await asyncio.gather(*(
            Page().open(f"{full_server.url}/r/default?name={name}&join=1", 1280, 800, False, tmp_path) for name in ("Ada", "Bo", "Cy")))
        ada, bo, _ = pages
        try:
            for page in pages:
                await page.is_moving()
            await bo.wait_for(is_grid(3))
            assert await bo.evaluate("probe.last('joined').layout") == "grid"
            await bo.evaluate(WATCH_FOR_SCREEN)
            await ada.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => { window.sharedAt = Date.now(); return probe.screen(); }, 0)")
            await ada.click("#toggle-screen")
            await bo.wait_for("screenSeen", 10)
            times = [await bo.evaluate("screenSeen") - await ada.evaluate("sharedAt")]
            tile, me = await bo.evaluate(LARGEST), await ada.evaluate("probe.last('joined').you.id")
            assert tile["participant"] == me and tile["source"] == "screen"
            # The tile's part of the canvas that a picture of 16:9 fills.
            assert min(tile["width"] / 1280, tile["height"] / 720) ** 2 >= 0.7, tile
            assert await bo.evaluate("probe.last('layout').name") == "presentation"
            # The camera goes on beside it.
            tiles = await bo.evaluate("probe.last('tiles').tiles")
            assert len(tiles) == 4 and [each for each in tiles if each["participant"] == me and "source" not in each], tiles
            received = (await asyncio.to_thread(full_server.json, "GET", f"/api/rooms/default/participants/{me}/stats"))["received"]
            await asyncio.sleep(1)
            later = (await asyncio.to_thread(full_server.json, "GET", f"/api/rooms/default/participants/{me}/stats"))["received"]
            for picture in ("video", "screen"):
                assert later[picture]["frames"] > received[picture]["frames"] > 0, (picture, later, received)
            await bo.click("#open-people")
            await bo.person("Ada", "camera on")
            await bo.shot("shared")

            await ada.click("#toggle-screen")
            await bo.wait_for(is_grid(3))
            assert await bo.evaluate("probe.last('layout').name") == "grid"

            await bo.wait_for("screenPart < 0.7")
            await bo.evaluate("(window.screenSeen = undefined, 0)")
            await ada.click("#toggle-screen")
            await bo.wait_for("screenSeen", 10)
            times.append(await bo.evaluate("screenSeen") - await ada.evaluate("sharedAt"))
            print(f"the screen was large after {times} ms")
            # The better of two: others use this machine's cores too.
            assert min(times) <= 1000, f"the screen was large after {times} ms"
            await bo.wait_for("probe.last('layout').name === 'presentation'")
            await bo.evaluate("(probe.sockets.at(-1).send(JSON.stringify({ type: 'layout', name: 'grid', scope: 'room' })), 0)")
            await bo.wait_for(is_grid(4))
            await ada.click("#toggle-screen")
            await ada.wait_for("document.querySelector('#toggle-screen').getAttribute('aria-pressed') !== 'true'")
            await ada.click("#toggle-screen")
            await bo.wait_for("probe.last('layout').name === 'presentation'")
            assert not any([await page.evaluate("probe.problems") for page in pages])
        finally:
            await asyncio.gather(*(page.close() for page in pages))
    asyncio.run(asyncio.wait_for(run(), 90))


class Presenter(AiortcPeer):
    """Sends a screen of another colour beside its camera. `screens`: the number of such sections; `sends`: whether they send."""

    def __init__(self, server, room, name, colour, frequency, screen_colour, screens=1, sends=True, **options):
        super().__init__(server, room, name, colour, frequency, **options)
        self.screen_colour, self.screens, self.sends = screen_colour, screens, sends

    def add_more(self):
        for _ in range(self.screens):
            track = ColourTrack(self.screen_colour, 640, 360)
            transceiver = self.pc.addTransceiver(track, direction="sendonly")
            # aiortc (1.16) leaves a second section of a kind on the transport that bundling ends, unless it is marked so.
            transceiver._bundled = False
            if not self.sends:
                transceiver.sender.replaceTrack(None)

    async def present(self, on, **more):
        await self.send(type="present", on=on, **more)


async def shown(watcher, wanted, timeout=15):
    """Waits until the picture that `watcher` receives has these colours: (participant, source) → colour, and returns the tiles."""
    deadline = time.monotonic() + timeout
    while True:
        found, tiles = {}, {}
        if watcher.picture is not None and watcher.tiles:
            canvas = (watcher.tiles["width"], watcher.tiles["height"])
            frame = watcher.rgb()
            for tile in watcher.tiles["tiles"]:
                key = (tile["participant"], tile.get("source", "camera"))
                found[key], tiles[key] = nearest_colour(colour_at(frame, tile, canvas)), tile
        if found == wanted:
            return tiles
        assert time.monotonic() < deadline, f"{found} instead of {wanted}"
        await asyncio.sleep(0.1)


@pytest.mark.usefixtures("needs_address")
def test_text_on_a_shared_page_is_read_from_the_received_picture(full_server, tmp_path):
    """12-point text on a page of 1280×720 pixels: 95 % of its words, in the picture that another browser receives, also where a busy machine
    leaves the top rung out."""
    async def run():
        ada, bo = await asyncio.gather(*(
            Page().open(f"{full_server.url}/r/text?name={name}&join=1", 1280, 800, False, tmp_path) for name in ("Ada", "Bo")))
        try:
            await asyncio.gather(ada.is_moving(), bo.is_moving())
            lines = await ada.evaluate(f"({DRAW_PAGE})({json.dumps(WORDS)})")
            await ada.click("#toggle-screen")
            await bo.wait_for("probe.last('tiles').tiles.some(tile => tile.source === 'screen')")
            deadline, best, height = time.monotonic() + 40, 0, 0
            while best < 0.95:
                assert time.monotonic() < deadline, f"{best:.1%} of the words were read, of a picture {height} pixels high"
                await asyncio.sleep(1)
                picture, height = await bo.evaluate(TAKE_SCREEN)
                (tmp_path / "screen.png").write_bytes(base64.b64decode(picture))
                best = await asyncio.to_thread(part_read, lines, base64.b64decode(picture), tmp_path)
            print(f"{best:.1%} of the words, {height} pixels high")
        finally:
            await asyncio.gather(ada.close(), bo.close())
    asyncio.run(asyncio.wait_for(run(), 90))


def size(tile):
    return tile["width"] * tile["height"]


@pytest.mark.usefixtures("good_line")
def test_screen_and_camera_of_two_presenters(server):
    async def run():
        ada = Presenter(server, "two", "Ada", "red", TONES[0], "yellow")
        bo = Presenter(server, "two", "Bo", "blue", TONES[1], "magenta", codec="H264")
        await ada.join()
        await bo.join()
        cy = await AiortcPeer(server, "two", "Cy", "green", TONES[2]).join()
        try:
            cameras = {(ada.id, "camera"): "red", (bo.id, "camera"): "blue", (cy.id, "camera"): "green"}
            await shown(cy, cameras)
            await ada.present(True)
            tiles = await shown(cy, cameras | {(ada.id, "screen"): "yellow"})
            assert max(tiles, key=lambda key: size(tiles[key])) == (ada.id, "screen")
            await bo.present(True)
            tiles = await shown(cy, cameras | {(ada.id, "screen"): "yellow", (bo.id, "screen"): "magenta"})
            # The latest is large.
            assert max(tiles, key=lambda key: size(tiles[key])) == (bo.id, "screen")
            assert [person["presenting"] for person in cy.participants] == [True, True, False]
            await bo.present(False)
            tiles = await shown(cy, cameras | {(ada.id, "screen"): "yellow"})
            assert max(tiles, key=lambda key: size(tiles[key])) == (ada.id, "screen")
            await ada.send(type="state", audio=True, video=False, hand=False)
            await shown(cy, cameras | {(ada.id, "screen"): "yellow", (ada.id, "camera"): None})
            await ada.leave()
            del cameras[(ada.id, "camera")]
            tiles = await shown(cy, cameras)
            assert len({size(tile) for tile in tiles.values()}) == 1
        finally:
            await asyncio.gather(ada.close(), bo.close(), cy.close(), return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 90))


@pytest.mark.usefixtures("good_line")
def test_a_screen_by_whip_is_a_second_picture_of_its_participant(server):
    """By aiortc: the screen appears with the session, another session takes its place, and it goes with `DELETE`, with the participant's own
    word, and with the participant. Other secrets get 401, without a word about who is there."""
    async def run():
        ada = await Presenter(server, "whip", "Ada", "red", TONES[0], "blue", screens=0).join()
        cy = await AiortcPeer(server, "whip", "Cy", "green", TONES[2]).join()
        sessions = []

        async def share(colour, codec="VP8", who=ada.id, bearer=ada.resume["secret"], room="whip"):
            sessions.append(HTTPPeer(server, room, "Screen", colour, TONES[3], codec, direction="sendonly"))
            return await sessions[-1].join(query=f"&screen={who}", bearer=bearer)
        try:
            cameras = {(ada.id, "camera"): "red", (cy.id, "camera"): "green"}
            await shown(cy, cameras)
            refused = set()
            for options in ({"bearer": "wrong"}, {"who": "nobody"}, {"room": "none"}, {"who": cy.id}, {"bearer": None}):
                with pytest.raises(RuntimeError, match=": 401") as failure:
                    await share("blue", **options)
                refused.add(str(failure.value).split(": 401")[1])
            assert len(refused) == 2, f"one answer to wrong secrets, one without any: {refused}"
            await share("yellow")
            tiles = await shown(cy, cameras | {(ada.id, "screen"): "yellow"})
            assert size(tiles[(ada.id, "screen")]) > 4 * size(tiles[(ada.id, "camera")])
            assert [(person["name"], person["presenting"]) for person in cy.participants] == [("Ada", True), ("Cy", False)]
            received = (await asyncio.to_thread(server.json, "GET", f"/api/rooms/whip/participants/{ada.id}/stats"))["received"]
            assert received["screen"]["frames"] > 0 and received["video"]["frames"] > 0, received
            await ada.present(True)
            assert "by WHIP" in (await eventually_error(ada))["message"]

            first = sessions[-1]
            await share("magenta", "H264", bearer=f"{ada.id}.{ada.resume['secret']}")
            await shown(cy, cameras | {(ada.id, "screen"): "magenta"})
            assert (await asyncio.to_thread(server.request, "DELETE", first.session))[0] == 404
            assert (await asyncio.to_thread(server.request, "DELETE", sessions[-1].session))[0] == 200
            await shown(cy, cameras)
            await share("yellow")
            await shown(cy, cameras | {(ada.id, "screen"): "yellow"})
            await ada.present(False)
            await shown(cy, cameras)
            assert (await asyncio.to_thread(server.request, "DELETE", sessions[-1].session))[0] == 404
            await share("yellow")
            await shown(cy, cameras | {(ada.id, "screen"): "yellow"})
            await ada.leave()
            await shown(cy, {(cy.id, "camera"): "green"})
        finally:
            await asyncio.gather(ada.close(), cy.close(), *(session.close() for session in sessions), return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 90))


async def eventually_error(peer, timeout=5):
    deadline = time.monotonic() + timeout
    while not (errors := [message for message in peer.messages if message["type"] == "error"]):
        assert time.monotonic() < deadline, "no error came"
        await asyncio.sleep(0.05)
    return errors[-1]


@pytest.mark.usefixtures("good_line")
def test_sections_that_are_too_many_or_silent_and_presenting_that_flaps(server):
    """A third video section is rejected; a screen that never sends leaves the others their pictures; a client that presents on and off is
    throttled, keeps its seat and its camera, and the room stays as the last message said."""
    async def run():
        many = Presenter(server, "odd", "Many", "red", TONES[0], "yellow", screens=3)
        await many.prepare()
        stranger = await connect(server)
        await ask(stranger, "joined", type="join", room="odd", name="Many")
        answer = await ask(stranger, "answer", type="offer", sdp=many.pc.localDescription.sdp)
        ports = [line.split()[1] for line in answer["sdp"].splitlines() if line.startswith("m=video")]
        assert [port != "0" for port in ports] == [True, True, False, False], ports
        await stranger.send(json.dumps({"type": "leave"}))
        await stranger.close()
        await many.pc.close()

        ada = await Presenter(server, "odd", "Ada", "red", TONES[0], "yellow").join()
        bo = Presenter(server, "odd", "Bo", "blue", TONES[1], "magenta", sends=False)
        await bo.join()
        try:
            cameras = {(ada.id, "camera"): "red", (bo.id, "camera"): "blue"}
            await shown(ada, cameras)
            await bo.present(True)
            await shown(ada, cameras | {(bo.id, "screen"): None})
            await bo.present(False)
            for turn in range(60):
                await ada.present(turn % 2 == 0)
            await asyncio.sleep(6)
            refused = [message for message in ada.messages if message["type"] == "error"]
            assert refused and {message["code"] for message in refused} == {"too_fast"} and not any(message["fatal"] for message in refused)
            await ada.present(False)
            await shown(bo, cameras)
            await ada.present(True)
            await shown(bo, cameras | {(ada.id, "screen"): "yellow"})
        finally:
            await asyncio.gather(ada.close(), bo.close(), return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 90))


@pytest.mark.usefixtures("needs_address", "good_line")
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_browser_shares_a_screen_beside_its_camera(server, browser):
    """In Chromium with the sound of the shared tab, which is heard with the microphone off. Firefox shares no sound."""
    has_sound = browser == "chromium"

    async def run():
        page = await (Chromium() if has_sound else Firefox()).start(f"{server.url}/r/beside?name=Eve&join=1")
        cy = None
        try:
            await page.wait_for("document.getElementById('call')?.hidden === false && document.getElementById('mix').videoWidth > 0", 30)
            cy = await AiortcPeer(server, "beside", "Cy", "green", TONES[2]).join()
            await page.evaluate(f"""(() => {{
                const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
                [canvas.width, canvas.height] = [1280, 720];
                setInterval(() => {{ pen.fillStyle = 'rgb(210, 200, 50)'; pen.fillRect(0, 0, 1280, 720); }}, 100);
                const context = new AudioContext(), tone = context.createOscillator(), output = context.createMediaStreamDestination();
                tone.frequency.value = {TONES[4]};
                tone.connect(output);
                tone.start();
                navigator.mediaDevices.getDisplayMedia = async () => new MediaStream(
                    [...canvas.captureStream(10).getTracks(), ...({json.dumps(has_sound)} ? output.stream.getTracks() : [])]);
                document.getElementById('toggle-audio').click();
                document.getElementById('toggle-screen').click();
            }})(), 1""")
            deadline = time.monotonic() + 20
            while True:
                tiles = {(tile["participant"] == cy.id, tile.get("source")): tile for tile in (cy.tiles or {"tiles": []})["tiles"]}
                screen = tiles.get((False, "screen"))
                if screen and cy.picture and nearest_colour(colour_at(cy.rgb(), screen, (cy.tiles["width"], cy.tiles["height"]))) == "yellow":
                    break
                assert time.monotonic() < deadline, f"no screen: {list(tiles)}"
                await asyncio.sleep(0.1)
            assert (False, None) in tiles and size(screen) > 4 * size(tiles[(False, None)])
            if has_sound:
                await heard(cy, TONES[4])
            person = next(person for person in cy.participants if person["name"] == "Eve")
            assert person["presenting"] and person["video"] and not person["audio"], person
        finally:
            if cy:
                await cy.close()
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 90))


async def heard(peer, frequency, timeout=10):
    deadline = time.monotonic() + timeout
    while len(peer.sound) < 48000 or tone_level(peer.sound[-24000:], frequency) < 0.01:
        assert time.monotonic() < deadline, "the tone is not heard"
        await asyncio.sleep(0.1)
