"""Pictures that go to others as they came: where one fills the view and nothing is drawn over it."""

import asyncio
import contextlib
import fractions
import json
import shutil
import time

import av
import numpy as np
import pytest
from aiortc.mediastreams import VideoStreamTrack

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


class CodedTrack(VideoStreamTrack):
    """H.264 of its own, Constrained Baseline with a keyframe a second, which `change` may alter before it is sent."""

    def __init__(self):
        super().__init__()
        self.rate, self.count, self.started, self.change = 15, 0, time.monotonic(), lambda data: data
        self.encoder = av.CodecContext.create("libx264", "w")
        self.encoder.width, self.encoder.height, self.encoder.pix_fmt, self.encoder.bit_rate = 640, 360, "yuv420p", 300_000
        self.encoder.time_base, self.encoder.gop_size = fractions.Fraction(1, 15), 15
        self.encoder.options = {"profile": "baseline", "tune": "zerolatency", "preset": "ultrafast"}

    async def recv(self):
        self.started += 1 / self.rate
        await asyncio.sleep(max(0, self.started - time.monotonic()))
        picture = np.full((360, 640, 3), 60 + self.count * 4 % 150, np.uint8)
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts, frame.time_base = self.count, self.encoder.time_base
        packet = av.Packet(self.change(b"".join(map(bytes, self.encoder.encode(frame)))))
        packet.pts, packet.time_base = int(self.started * 90000), fractions.Fraction(1, 90000)
        self.count += 1
        return packet


class CodedPeer(AiortcPeer):
    """Sends a `CodedTrack` in place of a colour."""

    def add_more(self):
        self.track = CodedTrack()
        self.pc.getTransceivers()[1].sender.replaceTrack(self.track)


# What a sender does once its frames go on, and the reason for which they do not any more.
ROGUES = {
    # A slice of scalable coding, which no receiver has negotiated.
    "units": lambda track: lambda data: data + b"\0\0\0\1\x74\1\2\3",
    # A sequence parameter set that says High.
    "profile": lambda track: lambda data: data.replace(b"\0\0\0\1\x67\x42", b"\0\0\0\1\x67\x64"),
    "frames": lambda track: setattr(track, "rate", 120) or (lambda data: data),
}


def ended(server, reason):
    """How many forwarded pictures ended for this reason."""
    count, = server.metrics(f'tessera_forwarding_ended_total{{reason="{reason}"}} ')
    return count


def kinds(server, room):
    return {(rendition["kind"], rendition["codec"]) for rendition in server.json("GET", f"/api/rooms/{room}")["renditions"]}


def frames(server, what):
    """The frames of all senders that were `decoded` or `forwarded` so far."""
    count, = server.metrics(f"tessera_video_frames_{what}_total ")
    return count


# Alone, as the next one: a busy server makes no pictures for each of two, and without them nothing is forwarded.
@pytest.mark.alone
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


@pytest.mark.alone
@pytest.mark.usefixtures("needs_address", "good_line")
def test_what_a_sender_may_not_send_goes_to_nobody_and_disturbs_nobody(tmp_path):
    async def run(server):
        eve, ada = [await Page().open(f"{server.url}/r/{room}?name={name}&join=1", 1280, 720, False, tmp_path) for name, room in (("Eve", "calm"), ("Ada", "bad"))]
        good = await AiortcPeer(server, "calm", "Good", "green", TONES[0]).join()
        try:
            await eve.wait_for("probe.last('line')?.forwarded === true", 25)
            await eve.evaluate(WATCH)
            for reason, act in ROGUES.items():
                rogue = await CodedPeer(server, "bad", "Rogue", "red", TONES[1], "H264").join()
                try:
                    await ada.wait_for("probe.last('line')?.forwarded === true", 25)
                    before = ended(server, reason)
                    rogue.track.change = act(rogue.track)

                    async def over(reason=reason, before=before):
                        return None if ended(server, reason) == before + 1 else f"{reason}: {ended(server, reason)}"
                    await eventually(over, 10, "the end of what is forwarded")
                    await ada.wait_for("!probe.last('line').forwarded", 10)
                finally:
                    await rogue.leave()
                    await rogue.close()
                async def alone():
                    return None if len(people(server, "bad")) == 1 else "the rogue is there still"
                await eventually(alone, 10, "its leave")
            longest = await eve.evaluate("longest")
            print(f"longest time without a picture in the other call: {longest:.0f} ms")
            assert longest < 1000 and await eve.evaluate("probe.last('line').forwarded")
            assert not await ada.evaluate("probe.problems") and not await eve.evaluate("probe.problems")
        finally:
            await asyncio.gather(eve.close(), ada.close(), good.close())
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
