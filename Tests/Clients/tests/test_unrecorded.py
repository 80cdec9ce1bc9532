"""People who are not recorded: what recordings, pre-rolls and snapshots have of them, in pixels and tones, and who decides it."""

import asyncio
import contextlib
import io
import json
import os
import time
from pathlib import Path

import av
import numpy as np
import pytest

from support.aiortc_peer import AiortcPeer
from support.media import TONES, colour_at, nearest_colour, tone_level
from support.page import Page
from support.people import eventually, pair
from support.recorded import begin, is_whole, path, sound, stop
from support.server import Server
from support.signalling import ask, connect
from support.tokens import ADMIN, SECRET, token

CALLS = pytest.mark.usefixtures("needs_address")
PRE_ROLL = "recording: {preRoll: 4s}\n"


def pictures(file):
    """Every picture of a recording with its time."""
    with av.open(str(file)) as container:
        for frame in container.decode(video=0):
            yield float(frame.pts * frame.time_base), frame.to_ndarray(format="rgb24")


def colours(file, tiles):
    """The colour of each person's tile in every picture: [(time, {id: colour})]."""
    canvas = (tiles["width"], tiles["height"])
    return [(at, {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) for t in tiles["tiles"]}) for at, frame in pictures(file)]


def keep(frame, name):
    """Leaves a picture for people to look at, where they have asked for that."""
    if folder := os.environ.get("EXAMPLES"):
        av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24").to_image().save(Path(folder) / f"{name}.png")


def stretches(seen, person):
    """The changes of what a person's tile shows: [colour, …]."""
    found = []
    for _, shown in seen:
        if not found or found[-1] != shown[person]:
            found.append(shown[person])
    return found


def levels(samples, frequency, start, end):
    """The level of a tone in each tenth of a second between two times of a recording."""
    return [tone_level(samples[int(at * 48000):int(at * 48000) + 4800], frequency) for at in np.arange(start, end - 0.1, 0.05)]


def is_heard(samples, frequency, start, end):
    """Whether a tone is there, but for interruptions where the machine is too slow for its sender."""
    return np.median(levels(samples, frequency, start, end)) > 0.05


def encodes(server, room="rec"):
    """What is encoded for the recording alone: (the picture without people, the participants' top H.264 rung)."""
    renditions = server.json("GET", f"/api/rooms/{room}")["renditions"]
    outgoing = [each for each in renditions if each.get("outgoing")]
    top = [each for each in renditions if each not in outgoing and each["codec"] == "h264" and each["kind"] == "rung" and each["height"] == 720]
    return len(outgoing), len(top)


def is_silent(samples, frequency, start, end):
    """Whether a tone is missing: there may be the splinters of another tone's interruptions, and not 20 ms of this one, which are 0.04."""
    return max(levels(samples, frequency, start, end)) < 0.02


@CALLS
def test_a_refusal_during_a_recording_cuts_the_picture_and_the_voice_out_until_it_is_taken_back(full_server):
    server = full_server

    async def run():
        async with pair(server, codecs=("H264", "H264")) as (ada, bo):
            started = begin(server, tracks=True)
            await asyncio.sleep(2)
            alone = await asyncio.to_thread(encodes, server)
            await bo.send(type="recorded", on=False)
            await eventually(lambda: without(server, bo.id), 5, "the room's list")
            await asyncio.sleep(3)
            during = await asyncio.to_thread(encodes, server)
            # The call goes on as it was: Ada hears and sees Bo.
            await eventually(lambda: does_not_hear(ada, TONES[1]), 8, "the call")
            canvas = (ada.tiles["width"], ada.tiles["height"])
            seen = {t["participant"]: nearest_colour(colour_at(ada.rgb(), t, canvas)) for t in ada.tiles["tiles"]}
            assert seen == {ada.id: "red", bo.id: "blue"}
            shot = await asyncio.to_thread(server.get, "/api/rooms/rec/snapshot.png")
            await bo.send(type="recorded", on=True)
            await asyncio.sleep(2)
            after = await asyncio.to_thread(encodes, server)
            # Exactly one more picture, and only meanwhile; the participants' is encoded for the recording only where that takes it.
            assert alone == (0, 1) and during[0] == 1 and after == (0, 1), (alone, during, after)
            return await stop(server, started), ada.tiles, ada.id, bo.id, shot[2]
    finished, tiles, ada, bo, shot = asyncio.run(asyncio.wait_for(run(), 60))
    file = path(server, finished)
    seen = colours(file, tiles)
    assert stretches(seen, ada) == ["red"] and stretches(seen, bo) == ["blue", None, "blue"]
    gone = [at for at, shown in seen if shown[bo] is None]
    assert gone[-1] - gone[0] > 2, "without a single picture of Bo between"
    for at, frame in pictures(file):
        if at == gone[len(gone) // 2]:
            keep(frame, "unrecorded")
    times = [at for at, _ in seen]
    assert max(np.diff(times)) < 1 and min(np.diff(times)) > 0, (max(np.diff(times)), min(np.diff(times)))
    is_whole(file)
    samples = sound(file)
    assert is_silent(samples, TONES[1], gone[0] + 0.1, gone[-1] - 0.1), "not a piece of Bo's tone"
    assert is_heard(samples, TONES[0], gone[0], gone[-1]), "Ada's goes on"
    assert is_heard(samples, TONES[1], 0.3, gone[0] - 0.2) and is_heard(samples, TONES[1], gone[-1] + 0.2, times[-1])
    picture = av.open(io.BytesIO(shot))
    frame = next(picture.decode(video=0)).to_ndarray(format="rgb24")
    canvas = (tiles["width"], tiles["height"])
    assert {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) for t in tiles["tiles"]} == {ada: "red", bo: None}, "a snapshot leaves the room too"
    timeline = json.loads(server.get(f"/api/recordings/{finished['id']}/timeline")[2])
    people = {person["id"]: person for person in timeline["participants"]}
    assert "unrecorded" not in people[ada] and len(people[bo]["unrecorded"]) == 1
    left_out = people[bo]["unrecorded"][0]
    assert abs(left_out["start"] - gone[0]) < 0.6 and abs(left_out["end"] - gone[-1]) < 1, (left_out, gone[0], gone[-1])
    for speech in timeline["speakers"]:
        inside = min(speech["end"], left_out["end"]) - max(speech["start"], left_out["start"])
        assert speech["participant"] != bo or inside < 0.1, speech
    tracks = {kind: [t for t in finished["tracks"] if t["participant"] == bo and t["kind"] == kind] for kind in ("audio", "camera")}
    for before, after in tracks.values():
        assert 1 < before["start"] + before["duration"] < left_out["start"] + 0.3 and after["start"] > left_out["end"] - 0.1, (tracks, left_out)
        for track in (before, after):
            with av.open(str(server.recordings / track["file"])) as container:
                assert sum(1 for _ in container.decode(container.streams[0])) > 10, track
    hers = [track for track in finished["tracks"] if track["participant"] == ada]
    assert sorted(track["kind"] for track in hers) == ["audio", "camera"], "Ada's go on"
    assert all(track["start"] + track["duration"] > times[-1] - 0.5 for track in hers), (hers, times[-1])


async def does_not_hear(peer, frequency):
    heard = tone_level(peer.sound[-24000:], frequency)
    return None if heard > 0.05 else f"{peer.name} hears {frequency} Hz at {heard}"


async def without(server, person, room="rec"):
    info = await asyncio.to_thread(server.json, "GET", f"/api/rooms/{room}")
    found = next(p for p in info["participants"] if p["id"] == person)
    return None if not found["recorded"] else found


@CALLS
def test_what_a_pre_roll_kept_is_dropped_and_a_host_s_decision_holds(tmp_path):
    with Server(tmp_path / "server", full=True, config=PRE_ROLL) as server:
        async def run():
            async with pair(server) as (ada, bo):
                await asyncio.sleep(3)
                asked = time.monotonic()
                changed = await asyncio.to_thread(server.json, "PATCH", f"/api/rooms/rec/participants/{bo.id}", {"recorded": False})
                assert changed["recorded"] is False and changed["unrecordedBy"] == ["host"]
                await asyncio.sleep(2)
                started = begin(server)
                kept = time.monotonic() - asked
                await asyncio.sleep(1.5)
                return await stop(server, started), kept, ada.tiles, ada.id, bo.id
        finished, kept, tiles, ada, bo = asyncio.run(asyncio.wait_for(run(), 60))
        assert 0.5 < finished["preRoll"] <= kept, "the time since the decision, and none before"
        seen = colours(path(server, finished), tiles)
        assert stretches(seen, ada) == ["red"] and stretches(seen, bo) == [None], "from the first picture on"
        samples = sound(path(server, finished))
        assert is_silent(samples, TONES[1], 0, len(samples) / 48000)
        assert max(levels(samples, TONES[0], 0, len(samples) / 48000)) > 0.05


@CALLS
def test_a_token_s_claim_holds_from_the_first_frame_on(tmp_path):
    config = f"auth: {{mode: token, secret: '{SECRET}', adminToken: '{ADMIN}'}}\n"
    with Server(tmp_path / "server", full=True, config=config) as server:
        server.headers["Authorization"] = f"Bearer {ADMIN}"
        claims = {"room": "rec", "exp": int(time.time()) + 600}

        async def run():
            ada = await AiortcPeer(server, "rec", "Ada", "red", TONES[0], "VP8").join(token=token(claims))
            started = begin(server)
            bo = await AiortcPeer(server, "rec", "Bo", "blue", TONES[1], "H264").join(token=token({**claims, "recorded": False}))
            try:
                deadline = time.monotonic() + 15
                while any(p.picture is None or p.tiles is None or len(p.tiles["tiles"]) < 2 for p in (ada, bo)):
                    assert time.monotonic() < deadline, "no picture"
                    await asyncio.sleep(0.05)
                await asyncio.sleep(2.5)
                await eventually(lambda: does_not_hear(ada, TONES[1]), 8, "the call")
                # Nobody else overrules the token, nor does the participant.
                address = f"/api/rooms/rec/participants/{bo.id}"
                status, _, body = await asyncio.to_thread(server.request, "PATCH", address, {"recorded": True})
                assert status == 409 and json.loads(body)["error"]["code"] == "conflict", body
                await bo.send(type="recorded", on=True)
                await asyncio.sleep(0.5)
                assert (await without(server, bo.id)) is None
                return await stop(server, started), ada.tiles, ada.id, bo.id
            finally:
                await ada.close()
                await bo.close()
        finished, tiles, ada, bo = asyncio.run(asyncio.wait_for(run(), 60))
        for _, frame in pictures(path(server, finished)):
            blue = np.abs(frame[::4, ::4].astype(int) - (50, 70, 210)).sum(axis=2) < 60
            assert blue.mean() < 0.001, "Bo's colour is nowhere in any picture"
        samples = sound(path(server, finished))
        assert is_silent(samples, TONES[1], 0, len(samples) / 48000)
        assert colours(path(server, finished), tiles)[-1][1] == {ada: "red", bo: None}


def test_a_flag_that_flaps_is_paced_and_a_refusal_is_never(server):
    async def run():
        async with contextlib.AsyncExitStack() as sockets:
            host = await sockets.enter_async_context(await connect(server))
            await ask(host, "joined", type="join", room="rec", name="Host")
            ann = await sockets.enter_async_context(await connect(server))
            her = (await ask(ann, "joined", type="join", room="rec", name="Ann", recorded=False))["you"]["id"]
            assert (await without(server, her)) is None, "from the join on"
            recording = await asyncio.to_thread(begin, server)
            for count in range(100):
                await ann.send(json.dumps({"type": "recorded", "on": count % 2 == 0}))
                await asyncio.sleep(0.01)
            refused = 0
            with contextlib.suppress(asyncio.TimeoutError):
                while True:
                    message = json.loads(await asyncio.wait_for(ann.recv(), 1))
                    refused += message["type"] == "error" and message["code"] == "too_fast"
            assert refused > 40, refused
            assert (await without(server, her)) is None, "the last word that counts is the refusal"
            # The host may not take it back.
            error = await ask(host, "error", type="moderate", action="recorded", participant=her, recorded=True)
            assert error["code"] == "bad_message" and "does not want" in error["message"], error
            assert await asyncio.to_thread(encodes, server) == (1, 0), "one picture for the recording"
            await asyncio.to_thread(server.json, "POST", f"/api/recordings/{recording['id']}/stop")
            assert await asyncio.to_thread(encodes, server) == (0, 0)
    asyncio.run(asyncio.wait_for(run(), 60))


@CALLS
def test_the_page_asks_once_remembers_it_and_shows_it_to_everyone(server, tmp_path):
    mark, notice = "is not recorded", "document.getElementById('notice').textContent"

    async def run():
        desk = await Page().open(f"{server.url}/r/rec?name=Ada&join=1&lang=en", 1280, 800, False, tmp_path)
        phone = Page()
        try:
            await desk.is_moving()
            await asyncio.to_thread(begin, server)
            await phone.open(f"{server.url}/r/rec?name=Bo&join=1&lang=en", 390, 844, True, tmp_path)
            await phone.wait_for("document.getElementById('consent')?.open === true")
            await phone.fits("the question")
            await phone.click("#consent [value=unrecorded]")
            await phone.wait_for(f"{notice}.startsWith('You are not recorded')")
            await phone.is_moving()
            await desk.click("#open-people")
            await desk.person("Bo", mark)
            assert [who for who, marks in await desk.people() if mark in marks] == ["Bo"]
            # The user takes it back, and the host leaves him out then, which is not his to change.
            await phone.click("#open-settings")
            await phone.wait_for("document.getElementById('settings').open")
            assert await phone.evaluate("document.getElementById('call-unrecorded').checked")
            await phone.fits("the settings")
            await phone.shot("phone-unrecorded")
            await phone.click("#call-unrecorded")
            await phone.wait_for(f"{notice}.startsWith('You are recorded')")
            await desk.click(".more")
            await desk.shot("desk-unrecorded")
            await desk.click("#person-menu [data-action=recorded]")
            await desk.person("Bo", mark)
            await phone.wait_for("document.getElementById('call-unrecorded').disabled && document.getElementById('call-unrecorded').checked")
            await phone.wait_for("document.getElementById('call-unrecorded-text').textContent.startsWith('A moderator')")
            await desk.click(".more")
            await desk.click("#person-menu [data-action=recorded]")
            await phone.wait_for("!document.getElementById('call-unrecorded').disabled && !document.getElementById('call-unrecorded').checked")
            # What he chooses is remembered for the next call.
            await phone.click("#call-unrecorded")
            await desk.person("Bo", mark)
            await phone.call("Page.reload")
            await phone.wait_for("document.getElementById('consent')?.open === true")
            await phone.wait_for("probe.sent.some(({ type, recorded }) => type === 'join' && recorded === false)")
            await desk.person("Bo", mark)
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())
    asyncio.run(asyncio.wait_for(run(), 90))
