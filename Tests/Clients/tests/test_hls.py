"""Rooms by HLS: real players, many of them, and those that mean harm. `tessera call` draws a bar that passes in four seconds of the machine's
monotonic clock: the picture says when it was made."""

import asyncio
import http.client
import json
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import aiohttp
import m3u8
import numpy as np
import pytest

from support.flashes import beeps, brightness, caller, flashes, offsets, people, wait_for
from support.page import Page
from support.recorded import sound
from support.server import Server

# From the sender's clock to Chromium's screen.
LIMIT = 3.0
PART = 0.5


def stream(server, room="live"):
    """The address of the room's media playlist, when a segment is complete."""
    base = f"{server.url}/hls/{room}/index.m3u8"

    def begun():
        status, _, body = server.get(f"/hls/{room}/index.m3u8")
        return status == 200 and m3u8.loads(body.decode(), uri=base)
    index = wait_for(begun, 15, "there is no playlist")
    assert index.is_variant and len(index.playlists) == 1, index.dumps()
    variant = index.playlists[0]
    assert re.fullmatch(r"avc1\.[0-9a-f]{6},mp4a\.40\.2", variant.stream_info.codecs)
    assert variant.stream_info.bandwidth > 100_000 and variant.stream_info.resolution == (640, 360)
    return variant.absolute_uri


def load(server, url, **query):
    address = url.removeprefix(server.url) + ("?" + urllib.parse.urlencode(query) if query else "")
    status, headers, body = server.get(address)
    assert status == 200, (status, body)
    return m3u8.loads(body.decode(), uri=url), headers


def takers(server, room="live"):
    """How many take the room's encodes, and how many encodes of the stream's size there are."""
    renditions = server.json("GET", f"/api/rooms/{room}")["renditions"]
    return sum(r["peers"] for r in renditions), sum(1 for r in renditions if (r["kind"], r["height"], r["codec"]) == ("rung", 360, "h264"))


# What the picture of a video says about its time: the middle of the bar at its top, in milliseconds of four seconds; null in a flash.
BAR = """(() => {
  const video = document.querySelector('video');
  const canvas = new OffscreenCanvas(640, 24);
  const pen = canvas.getContext('2d');
  pen.drawImage(video, 0, 0, video.videoWidth, video.videoHeight / 15, 0, 0, 640, 24);
  const row = pen.getImageData(0, 12, 640, 1).data;
  const bright = [...Array(640).keys()].filter(x => row[4 * x + 1] > 160);
  const at = bright.length > 8 && bright.length < 60 ? (bright.at(0) + bright.at(-1)) / 2 - 16 : null;
  return { now: Date.now(), bar: at === null ? null : at * 4000 / 608, time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames,
    told: window.tesseraPlayer?.delay ?? null };
})()"""


async def plays(page, seconds=4):
    """The delays of the picture, after frames have come."""
    await page.wait_for("document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames > 10", 20)
    await asyncio.sleep(2)
    first = await page.evaluate(BAR)
    delays = []
    for _ in range(int(seconds * 4)):
        await asyncio.sleep(0.25)
        seen = await page.evaluate(BAR)
        if seen["bar"] is not None and seen["told"] is not None:
            monotonic = seen["now"] - (time.time() - time.monotonic()) * 1000
            # The bar tells a delay but for multiples of four seconds, which the dates of the playlist tell.
            least = (monotonic - seen["bar"]) % 4000 / 1000
            delays.append(least + 4 * round((seen["told"] / 1000 - least) / 4))
    assert seen["frames"] - first["frames"] > seconds * 8, (first, seen)
    assert seen["time"] - first["time"] > seconds * 0.7, (first, seen)
    assert len(delays) > seconds, delays
    return delays, seen["told"]


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A server with a room that is streamed, and one participant in it."""
    with Server(tmp_path_factory.mktemp("hls") / "server", config="rooms: { presets: { live: { hls: true } } }\n") as server, \
            caller(server, "live", "Ann"):
        wait_for(lambda: "Ann" in people(server, "live"), 10, "nobody came")
        yield server


def test_a_parser_reads_the_playlists_and_ffmpeg_the_media(room, tmp_path):
    url = stream(room)
    playlist, headers = load(room, url)
    assert headers["Content-Type"] == "application/vnd.apple.mpegurl"
    assert playlist.target_duration == 4 and playlist.part_inf.part_target == PART
    assert playlist.server_control.can_block_reload == "YES" and playlist.server_control.part_hold_back >= 3 * PART
    for segment in playlist.segments:
        if segment.uri:
            assert 2.9 < segment.duration < 4.5 and segment.init_section.uri
        assert segment.program_date_time is not None
        assert all(part.duration <= PART for part in segment.parts)
    # The stream's clock is the machine's.
    live = playlist.segments[-1].program_date_time.timestamp()
    assert abs(time.time() - live) < 8, time.time() - live
    saved = tmp_path / "live.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-live_start_index", "-1", "-i", f"{room.url}/hls/live/index.m3u8", "-t", "5", "-c", "copy", saved],
        check=True, timeout=40)
    times, values = brightness(saved)
    seen, heard = flashes(times, values), beeps(sound(saved))
    assert len(times) > 50 and len(seen) >= 3 and len(heard) >= 3, (len(times), seen, heard)
    found = offsets(seen, heard)
    assert len(found) >= 3 and abs(np.median(found[:, 1])) < 0.045, found


def test_a_reload_blocks_until_the_part_is_there(room):
    url = stream(room)
    text = load(room, url)[0].dumps()
    for _ in range(4):
        playlist = load(room, url)[0]
        number = playlist.media_sequence + sum(1 for s in playlist.segments if s.uri)
        parts = next((len(s.parts) for s in playlist.segments if not s.uri), 0)
        begin = time.monotonic()
        later, _ = load(room, url, _HLS_msn=number, _HLS_part=parts)
        took = time.monotonic() - begin
        assert took < 1.2, took
        complete = later.media_sequence + sum(1 for s in later.segments if s.uri)
        assert complete > number or complete == number and len(later.segments[-1].parts) > parts, later.dumps()
        assert later.dumps() != text
    # The part that the playlist announces comes with one request.
    hint = later.preload_hint.absolute_uri.removeprefix(room.url)
    status, _, body = room.get(hint)
    assert status == 200 and body[4:8] == b"moof"
    for query in ("_HLS_part=1", "_HLS_msn=x", "_HLS_msn=-1", "_HLS_msn=999999999", f"_HLS_msn={number + 1}&_HLS_part=99", "_HLS_msn=" + "9" * 5000):
        status, _, body = room.get(f"{url.removeprefix(room.url)}?{query}")
        assert status == 400 and json.loads(body)["error"]["message"], query


def test_chromium_plays_with_little_delay_on_the_page_and_by_itself(room, tmp_path):
    async def run():
        page = await Page().open(f"{room.url}/watch/live", 1280, 800, False, tmp_path)
        try:
            delays, told = await plays(page)
            await page.shot("watch")
            print(f"page: delay p50 {np.median(delays):.2f} s, max {max(delays):.2f} s, by the playlist's dates {told / 1000:.2f} s")
            assert np.median(delays) <= LIMIT, delays
            assert abs(told / 1000 - np.median(delays)) < 0.7, (told, delays)
            assert await page.evaluate("document.getElementById('state').textContent === ''")
            await page.fits("the page of who only watches")
            await page.audit("the page of who only watches")
            assert not await page.evaluate("probe.problems.length"), await page.evaluate("probe.problems")
            # Chromium's own player takes the playlist as it is, without parts: twelve seconds behind.
            await page.evaluate("(tesseraPlayer.stop(), 1)")
            await asyncio.sleep(0.5)
            await page.evaluate("(video = document.querySelector('video'), video.src = '/hls/live/index.m3u8', video.play().catch(() => {}), 1)")
            await page.wait_for("video.currentTime > 2 && video.videoWidth === 640 && video.getVideoPlaybackQuality().totalVideoFrames > 20", 30)
            await page.shot("native")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_the_page_asks_for_the_pin_of_a_room(room, tmp_path):
    async def run():
        page = await Page().open(f"{room.url}/watch/pinned", 390, 844, True, tmp_path)
        try:
            await page.wait_for("!document.getElementById('pin-form').hidden")
            await page.fits("the question for the PIN")
            await page.audit("the question for the PIN")
            for pin, said in ("1111", "That is not the PIN."), ("2718", "Waiting for the picture …"):
                await page.evaluate(f"(document.getElementById('pin').value = '{pin}', document.getElementById('pin-form').requestSubmit(), 1)")
                await page.wait_for(f"document.getElementById('state').textContent === '{said}'")
            await asyncio.sleep(2)
            assert await page.evaluate("document.getElementById('pin-form').hidden"), "nobody is in the room"
        finally:
            await page.close()
    room.json("PUT", "/api/rooms/pinned", {"hls": True, "pin": "2718"}, expect=201)
    asyncio.run(asyncio.wait_for(run(), 60))


async def read(session, url, end, figures):
    """A player: reloads of the playlist that wait for the next part, and the part."""
    number = part = 0
    while time.monotonic() < end:
        async with session.get(url, params={"_HLS_msn": number, "_HLS_part": part}) as answer:
            assert answer.status == 200, (answer.status, await answer.text())
            playlist = m3u8.loads(await answer.text(), uri=url)
        newest = playlist.segments[-1]
        number = playlist.media_sequence + len(playlist.segments) - (0 if newest.uri else 1)
        part = 0 if newest.uri else len(newest.parts)
        if newest.parts:
            async with session.get(newest.parts[-1].absolute_uri) as answer:
                figures.append((answer.status, len(await answer.read())))


def test_two_hundred_players_cost_no_encode(room):
    url = stream(room)
    assert takers(room) == (2, 1), "Ann and the stream"

    async def run():
        figures, end = [], time.monotonic() + 4
        sessions = [aiohttp.ClientSession(connector=aiohttp.TCPConnector(local_addr=(f"127.0.0.{n + 2}", 0), limit=0)) for n in range(5)]
        try:
            await asyncio.gather(*(read(sessions[n % 5], url, end, figures) for n in range(200)))
        finally:
            for session in sessions:
                await session.close()
        return figures
    figures = asyncio.run(asyncio.wait_for(run(), 40))
    assert len(figures) > 200 * 2 and {status for status, _ in figures} == {200}, len(figures)
    print(f"{len(figures)} parts, {sum(size for _, size in figures) / 1e6:.1f} MB")
    assert takers(room) == (2, 1)


def test_floods_nonsense_and_slow_readers_are_bounded_and_others_go_on(room):
    url = stream(room)
    playlist, _ = load(room, url)
    whole = [segment for segment in playlist.segments if segment.uri]
    memory = room.resident()
    flood = subprocess.Popen(
        [sys.executable, "-m", "support.hls_flood", url, str(playlist.media_sequence + len(whole)),
         whole[-1].absolute_uri.removeprefix(room.url), "8"], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE)
    waits, most = [], 0
    # Who watches meanwhile, from another address.
    viewer = http.client.HTTPConnection("127.0.0.1", room.port, timeout=20)
    viewer.connect()
    try:
        while flood.poll() is None:
            begin = time.monotonic()
            viewer.request("GET", url.removeprefix(room.url))
            answer = viewer.getresponse()
            assert answer.status == 200 and answer.read()
            waits.append(time.monotonic() - begin)
            most = max(most, room.resident() - memory)
            time.sleep(0.1)
    finally:
        flood.kill()
    counts = json.loads(flood.communicate()[0])
    print(f"{counts}, answers to another p50 {np.median(waits):.2f} s, max {max(waits):.2f} s, {most:.0f} MB more")
    answers = counts["answers"]
    # What the flood itself gave up at its end is no answer.
    assert set(answers) <= {"ClientConnectionError", "200", "400", "503"} and answers["400"] > 30 and answers["200"] > 30, counts
    # A build without optimisation on a busy machine spends most of the time in the sockets of the flood.
    assert np.median(waits) < 2 and max(waits) < 8, waits
    assert most < 150, most
    assert takers(room) == (2, 1)
