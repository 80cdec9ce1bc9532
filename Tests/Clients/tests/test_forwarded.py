"""Pictures that go to others as they came: where one fills the view and nothing is drawn over it."""

import asyncio
import contextlib
import json
import shutil
import time

import numpy as np
import pytest

from support.aiortc_peer import AiortcPeer
from support.flashes import RATE, beeps, brightness, caller, flashes, offsets, people, wait_for, write_wave
from support.media import TONES
from support.page import Page
from support.people import eventually
from support.recorded import sound
from support.server import ROOT, Server

# The longest time without a new picture since the last call, in milliseconds.
WATCH = """
(() => {
  const video = document.getElementById('mix');
  let last = performance.now();
  window.longest = 0;
  const next = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    video.requestVideoFrameCallback(next);
  };
  video.requestVideoFrameCallback(next);
})()
"""


def kinds(server, room):
    return {(rendition["kind"], rendition["codec"]) for rendition in server.json("GET", f"/api/rooms/{room}")["renditions"]}


def frames(server, what):
    """The frames of all senders that were `decoded` or `forwarded` so far."""
    line, = (line for line in server.get("/metrics")[2].decode().splitlines() if line.startswith(f"tessera_video_frames_{what}_total "))
    return float(line.split()[1])


@pytest.mark.usefixtures("needs_address")
def test_two_pages_get_each_other_s_frames_and_a_third_one_the_mix(tmp_path):
    async def run(server):
        ada, bob = [await Page().open(f"{server.url}/r/two?name={name}&join=1", 1280, 720, False, tmp_path) for name in ("Ada", "Bob")]
        try:
            for page in (ada, bob):
                await page.is_moving()
                await page.wait_for("probe.last('line')?.forwarded === true", 25)
            await asyncio.sleep(1.5)
            assert {kind for kind, _ in kinds(server, "two")} == {"forwarded"}
            # Nothing is decoded, and the pictures move.
            before = frames(server, "decoded")
            await asyncio.gather(ada.is_moving(), bob.is_moving())
            await asyncio.sleep(1)
            # A keyframe that a sender makes by itself is decoded as a check.
            assert frames(server, "decoded") - before <= 2 and frames(server, "forwarded") > 30
            # The page draws what the picture does not have, and the frames go on.
            await bob.click("#toggle-audio")
            await ada.wait_for("document.querySelector('#overlay svg[aria-label]') && document.getElementById('overlay').textContent === 'Bob'")
            assert {kind for kind, _ in kinds(server, "two")} == {"forwarded"}
            await ada.shot("forwarded")

            await ada.evaluate(WATCH)
            offers = await ada.evaluate("probe.sent.filter(({ type }) => type === 'offer').length")
            cy = await AiortcPeer(server, "two", "Cy", "green", TONES[2]).join()
            await ada.wait_for("probe.last('tiles').tiles.length === 3 && !probe.last('line').forwarded")
            async def mixed():
                return None if "forwarded" not in {kind for kind, _ in kinds(server, "two")} else "forwarded still"
            await eventually(mixed, 5, "the mix")
            await ada.shot("mixed")
            await cy.leave()
            await cy.close()
            await ada.wait_for("probe.last('tiles').tiles.length === 1 && probe.last('line').forwarded", 25)
            longest = await ada.evaluate("longest")
            print(f"longest time without a picture: {longest:.0f} ms")
            assert longest < 1000
            assert await ada.evaluate("probe.sent.filter(({ type }) => type === 'offer').length") == offers
            # A camera that is switched off is the mix's again, with the initials.
            await bob.click("#toggle-video")
            await ada.wait_for("!probe.last('line').forwarded", 10)
            await ada.shot("camera-off")
            assert not await ada.evaluate("probe.problems") and not await bob.evaluate("probe.problems")
        finally:
            await asyncio.gather(ada.close(), bob.close())
    with Server(tmp_path / "server", own_pictures=True, full=True) as server:
        asyncio.run(asyncio.wait_for(run(server), 150))


# Alone, as the test of the mix' lips.
@pytest.mark.alone
@pytest.mark.usefixtures("needs_address")
def test_lips_of_forwarded_pictures(tmp_path):
    """A layout with one tile and no names is forwarded to all who are in the room, in a codec that is not the mix'."""
    layouts, silence = tmp_path / "layouts", tmp_path / "silence.wav"
    shutil.copytree(ROOT / "layouts", layouts)
    bare = json.loads((layouts / "single.json").read_text()) | {"name": "bare", "names": False}
    (layouts / "bare.json").write_text(json.dumps(bare))
    write_wave(silence, np.zeros(RATE))
    with Server(tmp_path / "server", full=True, arguments=["--layouts", str(layouts)]) as server, contextlib.ExitStack() as stack:
        saved = {codec: tmp_path / f"{codec}.mp4" for codec in ("h264", "vp8")}
        for codec in saved:
            server.json("PUT", f"/api/rooms/{codec}", {"layout": "bare"}, expect=201)
            stack.enter_context(caller(server, codec, "Flash", "--codec", codec, "--seconds", 60))
            wait_for(lambda codec=codec: "Flash" in people(server, codec), 10, "nobody joined")
        with contextlib.ExitStack() as ears:
            for codec, path in saved.items():
                ears.enter_context(caller(server, codec, "Ear", "--audio", silence, "--save", path, "--seconds", 40))
            for codec in saved:
                wait_for(lambda codec=codec: kinds(server, codec) == {("forwarded", codec)}, 20, f"{codec} is not forwarded")
            time.sleep(8)
            for codec in saved:
                assert kinds(server, codec) == {("forwarded", codec)}
    for codec, path in saved.items():
        late = offsets(flashes(*brightness(path)), beeps(sound(path)))[-7:, 1]
        print(f"{codec}: sound late by {[round(float(each) * 1000) for each in late]} ms")
        assert len(late) == 7 and abs(np.median(late)) <= 0.045
