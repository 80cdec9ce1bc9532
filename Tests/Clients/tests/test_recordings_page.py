"""Recording on the page: who is told what and when, pause and resume, and the list with its player and its links."""

import asyncio
import json
import subprocess

import pytest

from support.page import Page
from support.recorded import is_whole, path, stop
from support.server import Server
from support.tokens import ADMIN

SPOKEN = "document.getElementById('recording-spoken').textContent"
ASKED = "document.getElementById('consent')?.open === true"


async def state(server, room, name):
    """[audio, video] of a participant as the server takes them; None: it is not there."""
    status, _, _ = await asyncio.to_thread(server.get, f"/api/rooms/{room}")
    people = server.json("GET", f"/api/rooms/{room}")["participants"] if status == 200 else []
    return next(([person["audio"], person["video"]] for person in people if person["name"] == name), None)


async def becomes(server, room, name, expected, seconds=8):
    for _ in range(seconds * 10):
        if (found := await state(server, room, name)) == expected:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{name}: {found} instead of {expected}")


@pytest.mark.usefixtures("needs_address")
def test_the_page_records_pauses_lists_and_plays_and_asks_who_joins(tmp_path):
    shots = tmp_path / "shots"
    shots.mkdir()

    async def run(server):
        desk, phone = await asyncio.gather(
            Page().open(f"{server.url}/r/meet?name=Ada&join=1", 1280, 800, False, shots),
            Page().open(f"{server.url}/r/meet?name=Bo", 390, 844, True, shots))
        try:
            await desk.is_moving()
            assert not await desk.evaluate(ASKED), "nothing is recorded"
            await starting(desk, phone)
            await joining(server, phone)
            await pausing(desk, phone)
            await a_link_asks(server, phone)
            await the_list(server, desk, phone)
            for page in (desk, phone):
                assert not await page.evaluate("probe.problems.length"), await page.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())
    # With an administrator's token recordings are not for everyone: the page needs its seat's list, and the links.
    with Server(tmp_path / "server", config=f"auth: {{ adminToken: '{ADMIN}' }}\n") as server:
        asyncio.run(asyncio.wait_for(run(server), 120))


async def starting(desk, phone):
    await phone.wait_for("document.getElementById('preview').videoWidth")
    assert await phone.evaluate("document.getElementById('room-recorded').hidden")
    await desk.click("#toggle-record")
    assert await desk.evaluate("document.getElementById('recordings-list').children.length") == 0
    await desk.shot("desk-not-recorded")
    await desk.click("#record-start")
    await desk.wait_for(f"{SPOKEN}.includes('being recorded from now on')")
    await desk.wait_for("document.getElementById('recordings-list').textContent.includes('is being recorded')")
    assert await desk.evaluate("document.getElementById('record-start').hidden && !document.getElementById('record-pause').hidden")
    await desk.fits("the dialog of a recording")
    await desk.audit("the dialog of a recording")
    await desk.shot("desk-recorded")
    await desk.key("Escape")


async def joining(server, phone):
    """Who sees the sign in the lobby and joins is not asked again."""
    await phone.wait_for("!document.getElementById('room-recorded').hidden", 14)
    await phone.fits("the lobby of a recorded room")
    await phone.audit("the lobby of a recorded room")
    await phone.shot("phone-lobby-recorded")
    await phone.click("#join")
    await phone.is_moving()
    assert not await phone.evaluate(ASKED)
    await becomes(server, "meet", "Bo", [True, True])
    await phone.evaluate("document.getElementById('leave').click()")
    await becomes(server, "meet", "Bo", None)


async def pausing(desk, phone):
    await desk.click("#toggle-record")
    await desk.click("#record-pause")
    await desk.wait_for(f"{SPOKEN} === 'The recording is paused.'")
    assert await desk.evaluate("document.getElementById('recording-text').textContent") == "Recording paused"
    await desk.click("#record-resume")
    await desk.wait_for(f"{SPOKEN} === 'The recording goes on.'")
    await desk.evaluate("document.getElementById('record-mark-text').value = 'The vote'")
    await desk.click("#record-mark")
    await desk.wait_for(f"{SPOKEN} === 'The recording has a mark here.'")
    await desk.key("Escape")


async def a_link_asks(server, phone):
    """A link that joins at once: nothing is sent until the user agrees; refusing leaves everything off, but not for ever."""
    for answer in ("Escape", "send"):
        await phone.call("Page.navigate", url=f"{server.url}/r/meet?name=Cy-{answer}&join=1")
        await phone.wait_for(ASKED)
        await phone.is_moving()
        # The call goes on behind the question, and the keys for microphone and camera do nothing.
        assert await state(server, "meet", f"Cy-{answer}") == [False, False]
        for key in "mv":
            await phone.key(key)
        await asyncio.sleep(0.5)
        assert await state(server, "meet", f"Cy-{answer}") == [False, False]
        if answer == "Escape":
            await phone.fits("the question")
            await phone.audit("the question")
            await phone.shot("phone-consent")
            await phone.key("Escape")
            await phone.wait_for(f"!{ASKED}")
            await asyncio.sleep(0.5)
            assert await state(server, "meet", "Cy-Escape") == [False, False]
            await phone.click("#toggle-audio")
            await phone.click("#toggle-video")
        else:
            await phone.click("#consent [value=send]")
        await becomes(server, "meet", f"Cy-{answer}", [True, True])


async def the_list(server, desk, phone):
    await desk.click("#toggle-record")
    await desk.click("#record-stop")
    await phone.wait_for(f"{SPOKEN} === 'The recording has ended.'")
    await desk.wait_for("document.querySelector('#recordings-list a') !== null", 15)
    assert "long" in await desk.evaluate("document.querySelector('#recordings-list .what').textContent")
    await desk.click("#recordings-list button")
    player = "document.getElementById('recording-player')"
    await desk.wait_for(f"{player}.readyState >= 2 && {player}.currentTime > 0.5")
    assert await desk.evaluate(f"{player}.duration") > 2
    chapters = "[...document.querySelectorAll('#recording-chapters button')].map(each => each.textContent)"
    await desk.wait_for(f"{chapters}.length > 3")
    shown = await desk.evaluate(chapters)
    assert shown[0] == "0:00Start" and any(each.endswith("The vote") for each in shown), shown
    file = server.recordings / await desk.evaluate("document.querySelector('#recordings-list a').download")
    probed = subprocess.run(["ffprobe", "-v", "error", "-show_chapters", "-of", "json", str(file)], capture_output=True, text=True, check=True)
    titles = [chapter["tags"]["title"] for chapter in json.loads(probed.stdout)["chapters"]]
    # What happens within a second is one chapter.
    assert "The vote" in titles and any("Bo joined" in title for title in titles) and len(titles) == len(shown), titles
    await desk.fits("a recording that plays")
    await desk.audit("a recording that plays")
    await desk.shot("desk-playing")
    # Who joined later sees the same list, and a link works without any token until it ends.
    await phone.click("#toggle-record")
    await phone.wait_for("document.querySelector('#recordings-list a') !== null")
    await phone.fits("the list on a phone")
    await phone.audit("the list on a phone")
    await phone.shot("phone-list")
    link = await phone.evaluate("document.querySelector('#recordings-list a').getAttribute('href')")
    place = link.removeprefix(server.url)
    status, headers, body = await asyncio.to_thread(server.get, place)
    assert status == 200 and headers["Content-Type"] == "video/mp4" and body[4:8] == b"ftyp"
    assert (await asyncio.to_thread(server.get, place.split("?")[0]))[0] == 401
    await desk.key("Escape")
    # The dialog tells of its end a moment after it closed.
    await desk.wait_for(f"{player}.hidden && !{player}.hasAttribute('src')", 2)


@pytest.mark.usefixtures("needs_address")
def test_where_the_last_seconds_are_kept_the_page_asks_and_a_recording_begins_with_them(tmp_path):
    async def run(server):
        page = await Page().open(f"{server.url}/r/meet?name=Ada&join=1", 390, 844, True, tmp_path)
        try:
            await page.wait_for(ASKED)
            assert "last 6 seconds" in await page.evaluate("document.getElementById('consent-title').textContent")
            assert await state(server, "meet", "Ada") == [False, False]
            await page.fits("the question")
            await page.shot("phone-kept")
            await page.click("#consent [value=send]")
            await becomes(server, "meet", "Ada", [True, True])
            assert (await asyncio.to_thread(server.json, "GET", "/api/rooms/meet"))["preRoll"] == 6
            await asyncio.sleep(5)
            await page.click("#toggle-record")
            assert "begins with the last 6 seconds" in await page.evaluate("document.getElementById('recordings-state').textContent")
            await page.click("#record-start")
            await page.wait_for(f"{SPOKEN}.includes('being recorded from now on')")
            await asyncio.sleep(1)
            running = (await asyncio.to_thread(server.json, "GET", "/api/recordings"))[0]
            ended = await stop(server, running)
            assert running["preRoll"] > 2 and ended["duration"] > running["preRoll"] + 0.5, ended
            is_whole(path(server, ended))
            await audio_and_tracks(server, page)
        finally:
            await page.close()
    with Server(tmp_path / "server", config="recording: { preRoll: 6s }\n") as server:
        asyncio.run(asyncio.wait_for(run(server), 90))


async def audio_and_tracks(server, page):
    """Another recording, of audio alone and with tracks: it is told, played and listed with the participants' files."""
    running = await asyncio.to_thread(server.json, "POST", "/api/rooms/meet/recordings", {"audioOnly": True, "tracks": True}, 201)
    await page.wait_for("document.getElementById('recordings-list').textContent.includes('is being recorded')")
    await asyncio.sleep(2)
    ended = await stop(server, running)
    assert [track["name"] for track in ended["tracks"]] == ["Ada"], ended
    first = "document.querySelector('#recordings-list li')"
    await page.wait_for(f"{first}.querySelector('details') !== null", 15)
    assert ", audio, " in await page.evaluate(f"{first}.querySelector('.what').textContent")
    await page.evaluate(f"{first}.querySelector('summary').click()")
    assert await page.evaluate(f"{first}.querySelector('details a').textContent") == "Ada: audio, from 0:00"
    await page.fits("a list with tracks")
    await page.audit("a list with tracks")
    await page.shot("phone-tracks")
    link = (await page.evaluate(f"{first}.querySelector('details a').getAttribute('href')")).removeprefix(server.url)
    status, headers, body = await asyncio.to_thread(server.get, link)
    assert status == 200 and headers["Content-Type"] == "video/webm" and len(body) == ended["tracks"][0]["bytes"]
    await page.evaluate(f"{first}.querySelector('button').click()")
    player = "document.getElementById('recording-player')"
    await page.wait_for(f"{player}.currentTime > 0.5 && {player}.videoWidth === 0")
