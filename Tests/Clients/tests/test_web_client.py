"""The web client with two headless browsers, one of them a phone, and every button of the page."""

import asyncio
import base64
import gzip
import hashlib
import json
import re
import signal
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from support.aiortc_peer import AiortcPeer
from support.browser import Firefox
from support.media import TONES
from support.page import Page
from support.server import Server
from support.signalling import ask, connect

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
    ".json": "application/json; charset=utf-8", ".png": "image/png", ".webmanifest": "application/manifest+json", ".ts": "text/plain; charset=utf-8",
}

# Answers the page's next join as a server does that many join at once.
REFUSED_ONCE = """
(() => {
  const Native = WebSocket;
  window.refusals = 1;
  window.WebSocket = class extends Native {
    send(text) {
      // The first message asks for the seat of before, which no server refuses for its rate.
      if (!refusals || JSON.parse(text).resume) return super.send(text);
      refusals -= 1;
      const refusal = { type: 'error', code: 'too_fast', message: 'too many joins from here', fatal: false, retryAfter: 1 };
      this.onmessage({ data: JSON.stringify(refusal) });
    }
  };
})()
"""


async def two_in_a_room(server, shots):
    shots.mkdir(exist_ok=True)
    desk, phone = await asyncio.gather(
        Page().open(server.url + "/", 1280, 800, False, shots),
        Page().open(f"{server.url}/r/standup?name={quote('Борис')}&join=1", 390, 844, True, shots))
    await desk.wait_for("document.getElementById('preview').videoWidth")
    return desk, phone


def nothing_wrong(*problems):
    assert not any(problems), problems


@pytest.mark.usefixtures("needs_address")
def test_a_call_through_the_page_on_a_desk_and_on_a_phone(full_server, tmp_path):
    server = full_server
    async def run():
        desk, phone = await two_in_a_room(server, tmp_path / "shots")
        try:
            await in_the_lobby(desk)
            await asyncio.gather(desk.is_moving(), phone.is_moving())
            await people_and_chat(desk, phone)
            await watching(server, desk)
            await layouts(desk, phone)
            await enlarged(phone)
            await recording(desk, phone, server)
            await switches(desk, phone)
            await sharing(desk, phone)
            await reconnecting(desk)
            await leaving(desk, phone)
            nothing_wrong(await desk.evaluate("probe.problems"), await phone.evaluate("probe.problems"))
        finally:
            await asyncio.gather(desk.close(), phone.close())
    asyncio.run(asyncio.wait_for(run(), 150))


@pytest.mark.alone
@pytest.mark.usefixtures("needs_address")
def test_a_picture_of_one_s_own(server, tmp_path):
    """Alone, since a busy server makes no such picture."""
    async def run():
        desk, phone = await two_in_a_room(server, tmp_path / "shots")
        try:
            await in_the_lobby(desk)
            await asyncio.gather(desk.is_moving(), phone.is_moving())
            await layouts(desk, phone)
            await own_picture(desk, phone)
            nothing_wrong(await desk.evaluate("probe.problems"), await phone.evaluate("probe.problems"))
        finally:
            await asyncio.gather(desk.close(), phone.close())
    asyncio.run(asyncio.wait_for(run(), 100))


async def in_the_lobby(desk):
    await desk.fits("lobby")
    await desk.type("#name", "Ada Lovelace")
    await desk.type("#room", "stand/up")
    await desk.click("#join")
    assert not await desk.evaluate("document.getElementById('join-form').checkValidity()")
    assert not await desk.evaluate("probe.sent.length"), "a room name that cannot be was sent"
    await desk.type("#room", "standup")
    await desk.shot("desk-lobby")
    await desk.click("#join")
    await desk.wait_for("!document.getElementById('call').hidden")
    assert await desk.evaluate("location.pathname") == "/r/standup"
    await desk.wait_for("document.getElementById('mix').videoWidth")
    assert await desk.evaluate("!document.getElementById('mix').muted && document.getElementById('unmute-page').hidden"), "no sound"


async def people_and_chat(desk, phone):
    await desk.fits("desk in the call")
    await phone.fits("phone in the call")
    await desk.shot("desk-call")
    await phone.shot("phone-call")
    await desk.click("#open-people")
    await desk.person("Ada Lovelace (you)", "microphone on")
    await desk.person("Борис", "camera on")
    await desk.shot("desk-people")

    text = "<b onclick=1>look</b> <img src=x onerror=probe.problems.push('markup')> & done"
    await desk.click("#open-chat")
    await desk.type("#chat-text", text)
    await desk.click("#chat-form [type=submit]")
    await phone.wait_for("document.getElementById('unread').textContent === '1' && !document.getElementById('unread').hidden")
    await phone.click("#open-chat")
    await phone.wait_for("document.querySelectorAll('#messages li').length === 1")
    assert (await phone.evaluate("document.querySelector('#messages li').textContent")).endswith("\n" + text)
    assert await phone.evaluate("document.querySelectorAll('#messages img, #messages b').length") == 1, "markup got in"
    await phone.type("#chat-text", "and back")
    await phone.click("#chat-form [type=submit]")
    await desk.wait_for("document.getElementById('messages').textContent.includes('Борис') && document.getElementById('messages').textContent.includes('and back')")
    await phone.fits("phone with chat")
    await desk.shot("desk-chat")
    await phone.shot("phone-chat")
    await phone.click("#side-close")
    assert await phone.evaluate("document.activeElement.id") == "open-chat"
    await desk.key("Escape")
    await desk.wait_for("document.getElementById('side').hidden")


async def watching(server, desk):
    """Viewers are shown as a number, except those with a raised hand; and the server sends changes only."""
    listed = "document.getElementById('people-list').textContent"
    watcher = await connect(server)
    await ask(watcher, "joined", type="join", room="standup", name="Eve", role="viewer")
    await desk.wait_for(f"{listed}.includes('1 viewer') && document.getElementById('people-count').textContent === '3'")
    assert not await desk.evaluate(f"{listed}.includes('Eve')")
    await watcher.send(json.dumps({"type": "state", "hand": True}))
    await desk.wait_for(f"{listed}.includes('Eve') && !{listed}.includes('1 viewer')")
    await watcher.send(json.dumps({"type": "leave"}))
    await desk.wait_for(f"!{listed}.includes('Eve') && document.getElementById('people-count').textContent === '2'")
    assert await desk.evaluate("probe.messages.filter(message => message.type === 'participantsChanged').length") >= 3
    await watcher.close()


async def layouts(desk, phone):
    assert len((await desk.evaluate("probe.last('tiles')"))["tiles"]) == 2
    before = await phone.evaluate("probe.last('tiles')")
    assert all(isinstance(tile["label"], bool) for tile in before["tiles"])
    await phone.click("#open-layout")
    await phone.wait_for("document.querySelector('#layouts [data-layout=grid][aria-pressed=true]') !== null")
    await phone.fits("phone with the layouts")
    await phone.shot("phone-layouts")
    # For oneself, unless one asks for more.
    assert await phone.evaluate("document.querySelector('[name=scope][value=me]').checked")
    await phone.click("[name=scope][value=room]")
    await phone.click("#layouts [data-layout=speaker]")
    for page in (desk, phone):
        await page.wait_for(f"JSON.stringify(probe.last('tiles').tiles) !== {json.dumps(json.dumps(before['tiles'], separators=(',', ':')))}"
                            " && new Set(probe.last('tiles').tiles.map(tile => tile.width)).size > 1")
    assert not await phone.evaluate("document.getElementById('layout-menu').open")


async def own_picture(desk, phone):
    """Enlarges a person in the own view by the list of people, and back; and takes another layout for oneself, of which nobody is told."""
    mine, theirs = await phone.evaluate("JSON.stringify(probe.last('tiles').tiles)"), await desk.evaluate("JSON.stringify(probe.last('tiles').tiles)")
    await phone.click("#open-people")
    smallest = await phone.evaluate("probe.last('tiles').tiles.reduce((a, b) => (a.width <= b.width ? a : b)).participant")
    largest = "probe.last('tiles').tiles.reduce((a, b) => (a.width >= b.width ? a : b)).participant"
    await phone.insist(f"{largest} === '{smallest}'", lambda: phone.click(f"[data-participant='{smallest}'] .pin"))
    await phone.wait_for(f"document.querySelector(\"[data-participant='{smallest}'] .pin\").getAttribute('aria-pressed') === 'true'")
    await phone.shot("phone-pinned")
    assert await desk.evaluate("JSON.stringify(probe.last('tiles').tiles)") == theirs, "what one pins is one's own affair"
    await phone.click("#side-close")
    back = f"JSON.stringify(probe.last('tiles').tiles) === {json.dumps(mine)}"
    await goes_back(phone, back)

    await desk.wait_for("document.getElementById('notice').hidden", 15)

    async def choose():
        await phone.click("#open-layout")
        await phone.wait_for("document.querySelector('#layouts [data-layout=single]') !== null")
        await phone.click("[name=scope][value=me]")
        await phone.click("#layouts [data-layout=single]")
    await phone.insist("probe.last('tiles').tiles.length === 1", choose)
    assert await phone.evaluate("probe.last('layout').scope === 'me'")
    await goes_back(phone, back)
    assert await desk.evaluate("document.getElementById('notice').hidden") and await desk.evaluate("JSON.stringify(probe.last('tiles').tiles)") == theirs


async def goes_back(phone, expression):
    await phone.click("#open-layout")
    await phone.wait_for("document.getElementById('layout-back') !== null")
    await phone.click("#layout-back")
    await phone.wait_for(expression)


async def enlarged(phone):
    """Enlarges a tile on this screen by a tap, and back."""
    await phone.evaluate("document.getElementById('stage').click()")
    tap = """(() => {
        const video = document.getElementById('mix'), tiles = probe.last('tiles'), box = video.getBoundingClientRect();
        const scale = Math.min(box.width / tiles.width, box.height / tiles.height), tile = tiles.tiles[0];
        const clientX = box.left + (box.width - tiles.width * scale) / 2 + (tile.x + tile.width / 2) * scale;
        const clientY = box.top + (box.height - tiles.height * scale) / 2 + (tile.y + tile.height / 2) * scale;
        document.getElementById('stage').dispatchEvent(new MouseEvent('click', { clientX, clientY, bubbles: true }));
        return document.getElementById('mix').classList.contains('zoomed');
    })()"""
    assert await phone.evaluate(tap)
    await asyncio.sleep(0.4)
    await phone.shot("phone-zoomed")
    assert not await phone.evaluate(tap)


async def recording(desk, phone, server):
    await desk.click("#toggle-record")
    await desk.click("#record-start")
    await desk.key("Escape")
    await phone.wait_for("!document.getElementById('recording-badge').hidden")
    running = await desk.wait_for("probe.last('recording')?.recording")
    await asyncio.sleep(2)
    await desk.shot("desk-recording")
    await phone.fits("phone while recording")
    await phone.shot("phone-recording")
    await desk.click("#toggle-record")
    await desk.click("#record-stop")
    await desk.key("Escape")
    await phone.wait_for("document.getElementById('recording-badge').hidden")
    deadline = time.monotonic() + 8
    while (found := server.json("GET", f"/api/recordings/{running['id']}"))["state"] != "finished":
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.1)
    path = server.recordings / found["file"].rsplit("/", 1)[-1]
    assert path.stat().st_size > 10_000 and path.read_bytes()[4:8] == b"ftyp"


async def switches(desk, phone):
    await desk.click("#open-people")
    await phone.click("#toggle-audio")
    await desk.person("Борис", "muted")
    assert await phone.evaluate("document.querySelector('#toggle-audio span').textContent") == "Unmute"
    await phone.click("#toggle-video")
    await desk.person("Борис", "camera off")
    await phone.click("#toggle-hand")
    await desk.person("Борис", "hand raised")
    # Figures are for those who ask for them.
    assert await desk.evaluate("document.getElementById('line').textContent && !/kbit/.test(document.getElementById('line').textContent)")
    await desk.click("#line")
    await desk.wait_for("document.querySelectorAll('#line-list dd').length >= 7 && /\\d kbit/.test(document.getElementById('line-list').textContent)")
    await desk.shot("desk-line-and-camera-off")
    await phone.click("#line")
    await phone.fits("phone with the line's details")
    await phone.shot("phone-muted-and-line")
    await phone.click("#line")
    await desk.key("Escape")
    await desk.wait_for("!document.getElementById('line-details').open")
    await phone.click("#toggle-audio")
    await desk.person("Борис", "microphone on")
    await phone.click("#toggle-video")
    await desk.person("Борис", "camera on")


async def sharing(desk, phone):
    await desk.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => probe.screen(), 0)")
    await desk.click("#toggle-screen")
    await desk.person("Ada Lovelace", "shares the screen")
    # The presenter has the large tile, and its middle has the screen's colour.
    await phone.wait_for(
        "(() => { const info = probe.last('tiles'), tile = info.tiles.reduce((a, b) => a.width > b.width ? a : b);"
        " const v = document.getElementById('mix'), c = document.createElement('canvas'); [c.width, c.height] = [info.width, info.height];"
        " const pen = c.getContext('2d'); pen.drawImage(v, 0, 0, info.width, info.height);"
        " const [r, g, b] = pen.getImageData(tile.x + tile.width * 0.75, tile.y + tile.height * 0.2, 1, 1).data; return r > 180 && g > 180 && b > 200; })()", 15)
    await desk.shot("desk-sharing")
    await phone.shot("phone-sharing")
    await desk.click("#toggle-screen")
    await desk.wait_for("![...document.querySelectorAll('#people-list svg')].some(icon => icon.getAttribute('aria-label') === 'shares the screen')")


async def reconnecting(desk):
    await desk.evaluate("(window.picture = document.getElementById('mix').srcObject, 0)")
    first = await desk.evaluate("probe.last('joined').you.id")
    sockets = await desk.evaluate("probe.sockets.length")
    await desk.evaluate("(probe.sockets.at(-1).close(), 0)")
    await desk.wait_for(f"probe.sockets.length > {sockets} && probe.messages.filter(m => m.type === 'joined').length === 2")
    assert await desk.evaluate("probe.last('joined').you.id") == first
    assert await desk.evaluate("document.getElementById('mix').srcObject === picture"), "the picture was not kept"
    await desk.wait_for("document.getElementById('notice').hidden")
    await desk.is_moving()
    assert sum("Ada" in who for who, _ in await desk.people()) == 1


async def leaving(desk, phone):
    await phone.click("#open-people")
    await desk.click("#leave")
    await desk.wait_for("!document.getElementById('ended').hidden")
    await desk.shot("desk-left")
    await phone.wait_for("document.querySelectorAll('#people-list li').length === 1")
    await phone.shot("phone-alone")
    await desk.click("#rejoin")
    await desk.wait_for("!document.getElementById('lobby').hidden && document.getElementById('preview').videoWidth")


@pytest.mark.usefixtures("needs_address")
def test_the_page_says_why_it_cannot_join_and_comes_back_after_the_server_was_away(tmp_path):
    async def run(server):
        server.json("PUT", "/api/rooms/shut", {"locked": True}, expect=201)
        page = await Page().open(f"{server.url}/r/shut?name=Eve&join=1", 390, 844, True, tmp_path)
        try:
            await page.wait_for("document.getElementById('join-error').textContent.includes('locked')")
            await page.fits("lobby with an error")
            await page.shot("phone-locked")
            await page.type("#room", "Raum für alle")
            await page.click("#join")
            await page.is_moving()
            assert await page.evaluate("decodeURIComponent(location.pathname)") == "/r/Raum für alle"
            await page.evaluate(REFUSED_ONCE)
            server.process.kill()
            server.process.wait()
            await page.wait_for("!document.getElementById('notice').hidden")
            await page.shot("phone-server-away")
            await asyncio.to_thread(server.start)
            await page.wait_for("probe.messages.filter(m => m.type === 'joined').length === 2", 15)
            await page.is_moving()
            await page.wait_for("document.getElementById('notice').hidden")
            assert await page.evaluate("refusals") == 0
            nothing_wrong(await page.evaluate("probe.problems"))
        finally:
            await page.close()
    with Server(tmp_path / "server") as server:
        asyncio.run(asyncio.wait_for(run(server), 60))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_third_one_joins_and_firefox_is_one_of_them(server, tmp_path):
    """The page updates its list, its tiles and its picture, in Firefox as in Chromium."""
    rows = "document.querySelectorAll('#people-list li').length"
    names = "document.getElementById('people-list').textContent"

    async def run():
        desk = await Page().open(f"{server.url}/r/three?name=Ada&join=1", 1280, 800, False, tmp_path)
        fox = await Firefox().start(f"{server.url}/r/three?name=Fox&join=1")
        third = None
        try:
            await fox.wait_for("!document.getElementById('call').hidden", 20)
            await fox.wait_for("document.getElementById('mix').videoWidth > 0", 20)
            await desk.is_moving()
            await desk.click("#open-people")
            await desk.wait_for(f"{rows} === 2")
            third = await AiortcPeer(server, "three", "Third", "magenta", TONES[0]).join()
            for page in (desk, fox):
                await page.wait_for(f"{rows} === 3 && {names}.includes('Third')", 10)
            await desk.wait_for("probe.last('tiles').tiles.length === 3", 10)
            # In the page's picture the third participant's tile has its colour.
            await desk.wait_for(
                f"(() => {{ const info = probe.last('tiles'), tile = info.tiles.find(each => each.participant === {json.dumps(third.id)});"
                " const v = document.getElementById('mix'), c = document.createElement('canvas'); [c.width, c.height] = [info.width, info.height];"
                " const pen = c.getContext('2d'); pen.drawImage(v, 0, 0, info.width, info.height);"
                " const [r, g, b] = pen.getImageData(tile.x + tile.width / 2, tile.y + tile.height * 0.45, 1, 1).data;"
                " return r > 150 && g < 110 && b > 150; })()", 10)
            # Firefox reacts, too, and shows its own camera.
            await fox.wait_for("document.getElementById('self-video').videoWidth > 0")
            await fox.evaluate("(document.querySelector('#reaction-list button').click(), 0)")
            await desk.wait_for("document.querySelector('.reaction small')?.textContent === 'Fox'", 10)
            # Firefox does not count the frames of a stream in the playback quality.
            await fox.evaluate(
                "(window.shown = 0, window.count = () => { shown++; document.getElementById('mix').requestVideoFrameCallback(count); }, count(), 1)")
            await fox.wait_for("shown > 6", 10)
            await third.leave()
            third = None
            for page in (desk, fox):
                await page.wait_for(f"{rows} === 2", 10)
            nothing_wrong(await desk.evaluate("probe.problems"))
        finally:
            if third:
                await third.close()
            await asyncio.gather(desk.close(), fox.close())
    asyncio.run(asyncio.wait_for(run(), 90))


@pytest.mark.usefixtures("needs_address")
def test_a_line_that_was_away_gets_a_new_way_and_the_seat_stays(server, tmp_path):
    """A stopped server answers nothing, like a disconnected link; the page starts an ICE restart by itself."""
    async def run():
        page = await Page().open(f"{server.url}/r/tunnel?name=Ada&join=1", 1280, 800, False, tmp_path)
        try:
            await page.is_moving()
            answers = "probe.messages.filter(message => message.type === 'answer')"
            fragment = f"{answers}.at(-1).sdp.match(/ice-ufrag:(.*)/)[1]"
            before, seat = await page.evaluate(fragment), await page.evaluate("probe.last('joined').you.id")
            server.process.send_signal(signal.SIGSTOP)
            try:
                await page.wait_for("document.getElementById('notice').textContent.includes('interrupted')", 12)
                await page.shot("desk-interrupted")
                # Three seconds later the page offers a restart, which waits in the socket until the link recovers.
                await asyncio.sleep(3.5)
            finally:
                server.process.send_signal(signal.SIGCONT)
            await page.wait_for(f"{fragment} !== {json.dumps(before)}", 10)
            await page.is_moving()
            await page.wait_for("document.getElementById('notice').hidden", 10)
            assert await page.evaluate("probe.last('joined').you.id") == seat
            assert [person["id"] for person in server.json("GET", "/api/rooms/tunnel")["participants"]] == [seat]
            nothing_wrong(await page.evaluate("probe.problems"))
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.quick
@pytest.mark.usefixtures("needs_address")
def test_a_full_room_is_said_in_words(server, tmp_path):
    async def run():
        server.json("PUT", "/api/rooms/small", {"maxParticipants": 1}, expect=201)
        first = await Page().open(f"{server.url}/r/small?name=Ada&join=1", 1280, 800, False, tmp_path)
        second = await Page().open(f"{server.url}/r/small?name=Bo&join=1", 390, 844, True, tmp_path)
        try:
            await first.wait_for("!document.getElementById('call').hidden")
            await second.wait_for("document.getElementById('join-error').textContent.includes('full')")
            await second.fits("lobby of a full room")
            await second.shot("phone-full")
            await first.click("#leave")
            await first.wait_for("!document.getElementById('ended').hidden")
            # There is a free seat now, and the same button joins.
            await second.click("#join")
            await second.is_moving()
            nothing_wrong(await first.evaluate("probe.problems"), await second.evaluate("probe.problems"))
        finally:
            await asyncio.gather(first.close(), second.close())
    asyncio.run(asyncio.wait_for(run(), 60))


def test_every_file_of_the_page_is_served_compressed_and_kept(server):
    def answer(path, **headers):
        status, fields, body = server.get(path, {"Accept-Encoding": "gzip"} | headers)
        assert status == 200, path
        if path.endswith(".png"):
            # A picture is compressed already, and has no links.
            assert "Content-Encoding" not in fields and body.startswith(b"\x89PNG") and server.get(path)[2] == body, path
            text = ""
        else:
            assert fields["Content-Encoding"] == "gzip" and fields["Vary"] == "Accept-Encoding", path
            plain = gzip.decompress(body)
            assert len(body) < len(plain) and server.get(path)[2] == plain, path
            text = plain.decode()
        assert server.get(path, {"Accept-Encoding": "gzip", "If-None-Match": fields["ETag"]})[0] == 304, path
        return fields, text

    found, asked = set(), ["/r/any-room", "/watch/any-room", "/assets/tessera.js", "/assets/tessera.d.ts"]
    while asked:
        path = asked.pop()
        fields, text = answer(path)
        kept = re.search(r"\.[0-9A-Z]{8}\.[a-z]+$", path) is not None
        assert fields["Cache-Control"] == ("public, max-age=31536000, immutable" if kept else "no-cache"), path
        assert fields["Content-Type"] == TYPES[Path(path).suffix or ".html"], path
        if not Path(path).suffix:
            own = re.findall(r"<script[^>]*>(.+?)</script>", text, re.S)
            policy = fields["Content-Security-Policy"]
            assert own and all(f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" in policy for each in own)
            assert "unsafe" not in policy
        found.add(path)
        asked += set(re.findall(r'"(/assets/[^"]+)"', text)) - found - set(asked)
    for name in ("main", "watch", "style", "words.en", "words.de", "dialogs.en", "dialogs.de"):
        assert [path for path in found if path.startswith(f"/assets/{name}.")], (name, found)
    status, headers, _ = server.get("/assets/start.ABCDEFGH.js")
    assert status == 404 and headers["Cache-Control"] == "no-store"
