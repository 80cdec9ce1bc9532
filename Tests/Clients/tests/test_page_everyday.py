"""What the page has for everyday calls: the own camera, devices, sounds and notices, data, reactions, links, and the room before the join."""

import asyncio
import io
import json

import pytest
from PIL import Image

from support.page import Page

pytestmark = pytest.mark.usefixtures("needs_address")
NOTICE = "document.getElementById('notice').textContent"
# The fake microphone beeps once a second; this one speaks without a pause.
VOICE = """(() => {
  const context = new AudioContext(), target = context.createMediaStreamDestination();
  const tone = new OscillatorNode(context, { frequency: 300 });
  tone.connect(target);
  tone.start();
  const native = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = wanted => (wanted.audio ? Promise.resolve(target.stream.clone()) : native(wanted));
})()"""


async def choose(page, selector, value):
    await page.evaluate(f"(() => {{ const e = document.querySelector('{selector}'); e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})()")


async def open_settings(page):
    await page.click("#open-settings")
    await page.wait_for("document.getElementById('settings').open")


async def check(page, selector):
    await open_settings(page)
    await page.click(selector)
    await page.click("#settings button[value=close]")


def test_the_room_before_the_join_the_invitation_and_who_comes(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/daily?name=Ada", 1280, 800, False, tmp_path)
        phone = await Page().open(f"{server.url}/?name=Bo", 390, 844, True, tmp_path)
        try:
            await desk.wait_for("document.getElementById('room-people').textContent === 'Nobody is in this room yet.'")
            await desk.click("#join")
            await desk.is_moving()
            await invitation(desk)
            server.json("POST", "/api/rooms/daily/recordings", expect=201)
            await phone.wait_for("document.getElementById('preview').videoWidth")
            await phone.type("#room", "daily")
            await phone.wait_for("document.getElementById('room-people').textContent === 'In the room: Ada' && !document.getElementById('room-recorded').hidden")
            await phone.fits("lobby with the room")
            await phone.shot("phone-room")
            await phone.click("#join")
            await desk.wait_for(f"{NOTICE}.includes('Bo has joined.')")
            await desk.wait_for("document.getElementById('alone').hidden")
            await phone.is_moving()
            await phone.click("#toggle-hand")
            await desk.wait_for(f"{NOTICE}.includes('Bo raises the hand.')")
            await phone.click("#toggle-hand")
            # Off by a click, and remembered.
            await check(desk, "#news-hands")
            assert await desk.evaluate("localStorage.getItem('tessera.news.hands')") == "off"
            await desk.wait_for("document.getElementById('notice').hidden", 15)
            await desk.wait_for("probe.messages.findLast(m => m.changed)?.changed[0].hand === false")
            await phone.click("#toggle-hand")
            await desk.wait_for("probe.messages.findLast(m => m.changed)?.changed[0].hand === true")
            assert await desk.evaluate(NOTICE) == ""
            await reactions_links_files(desk, phone)
            await other_camera(phone)
            await phone.click("#leave")
            await desk.wait_for(f"{NOTICE}.includes('Bo has left.')")
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())

    async def other_camera(phone):
        """A phone with two cameras has a button for the other one, whose picture is no mirror."""
        await phone.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
        await phone.evaluate("""(() => {
          const list = navigator.mediaDevices.enumerateDevices.bind(navigator.mediaDevices), open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
          navigator.mediaDevices.enumerateDevices = async () => [...await list(), { kind: 'videoinput', deviceId: 'back', label: '' }];
          navigator.mediaDevices.getUserMedia = async wanted => {
            const stream = await open(wanted), facingMode = wanted.video?.facingMode?.ideal;
            stream.getVideoTracks().forEach(track => { track.getSettings = () => ({ facingMode }); });
            return stream;
          };
        })()""")
        await phone.click("#toggle-video")
        await phone.wait_for("document.getElementById('self').hidden")
        await phone.click("#toggle-video")
        await phone.wait_for("!document.getElementById('self').hidden && !document.getElementById('flip-camera').hidden")
        assert await phone.evaluate("document.getElementById('self-video').classList.contains('mirrored')")
        await phone.click("#flip-camera")
        await phone.wait_for("!document.getElementById('self-video').classList.contains('mirrored')")
        await phone.shot("phone-other-camera")
        await phone.click("#flip-camera")
        await phone.wait_for("document.getElementById('self-video').classList.contains('mirrored')")

    async def invitation(desk):
        await desk.shot("desk-alone")
        await desk.click("#alone-invite")
        assert await desk.evaluate("document.getElementById('link').value") == f"{server.url}/r/daily"
        assert await desk.evaluate("decodeURIComponent(document.getElementById('mail-link').href).includes('/r/daily')")
        await desk.shot("desk-invite")
        await desk.click("#copy-link")
        await desk.wait_for("document.getElementById('copy-link').textContent !== 'Copy link'")
        await desk.key("Escape")
        await desk.wait_for("!document.getElementById('invite').open")

    async def reactions_links_files(desk, phone):
        await phone.click("#open-reactions")
        await phone.fits("phone with the reactions")
        await phone.shot("phone-reactions")
        await phone.click("#reaction-list button:nth-child(2)")
        await desk.wait_for("document.querySelector('.reaction b')?.textContent === '👏' && document.querySelector('.reaction small').textContent === 'Bo'")
        await desk.shot("desk-reaction")
        await desk.click("#open-chat")
        await desk.type("#chat-text", "see (https://example.org/a?b=1&c=2). javascript:alert(1) http://<b> https://x")
        await desk.click("#chat-form [type=submit]")
        links = "[...document.querySelectorAll('#messages a')].map(link => [link.href, link.textContent, link.rel])"
        await phone.wait_for(f"{links}.length === 2")
        assert await phone.evaluate(links) == [
            ["https://example.org/a?b=1&c=2", "https://example.org/a?b=1&c=2", "noopener noreferrer nofollow"], ["https://x/", "https://x", "noopener noreferrer nofollow"]]
        assert await phone.evaluate("document.querySelectorAll('#messages b').length") == 1
        await desk.click("#side-close")

    asyncio.run(asyncio.wait_for(run(), 150))


def alone_in_a_call(server, shots, *parts):
    """Opens a page in a room of its own, and does these parts in order."""
    async def run():
        page = await Page().open(f"{server.url}/r/devices?name=Ada&join=1", 1280, 800, False, shots)
        page.server = server
        try:
            await page.is_moving()
            for part in parts:
                await part(page)
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 150))


def test_the_own_camera_is_shown_and_devices_are_chosen(shared_server, tmp_path):
    alone_in_a_call(shared_server, tmp_path, own_camera, devices)


def test_who_talks_while_muted_is_told_and_the_picture_has_windows_of_its_own(shared_server, tmp_path):
    alone_in_a_call(shared_server, tmp_path, talking, windows)


def test_less_data_and_a_picture_of_oneself(shared_server, tmp_path):
    alone_in_a_call(shared_server, tmp_path, data, own_picture)


async def own_camera(page):
    await page.wait_for("!document.getElementById('self').hidden && document.getElementById('self-video').videoWidth")
    assert await page.evaluate("getComputedStyle(document.getElementById('self-video')).transform") == "matrix(-1, 0, 0, 1, 0, 0)"
    await page.shot("desk-self")
    await page.click("#self-close")
    assert await page.evaluate("document.getElementById('self').hidden && localStorage.getItem('tessera.self') === 'off'")
    await check(page, "#show-self")
    await page.wait_for("!document.getElementById('self').hidden")
    await page.click("#toggle-video")
    await page.wait_for("document.getElementById('self').hidden")
    await page.click("#toggle-video")
    await page.wait_for("!document.getElementById('self').hidden")


async def devices(page):
    await open_settings(page)
    await page.wait_for("document.querySelectorAll('#call-loudspeaker option').length > 1")
    await page.fits("settings")
    await page.shot("desk-settings")
    other = await page.evaluate("document.querySelector('#call-loudspeaker option:last-child').value")
    await choose(page, "#call-loudspeaker", other)
    await page.wait_for(f"document.getElementById('mix').sinkId === {json.dumps(other)}")
    await page.click("#settings button[value=close]")
    await page.evaluate("""(() => {
      const native = navigator.mediaDevices.enumerateDevices.bind(navigator.mediaDevices);
      navigator.mediaDevices.enumerateDevices = async () => [...await native(), { kind: 'videoinput', deviceId: 'doc', label: 'Document camera' }];
      navigator.mediaDevices.dispatchEvent(new Event('devicechange'));
    })()""")
    await page.wait_for(f"{NOTICE}.startsWith('New: Document camera')")
    tracks = "document.getElementById('self-video').srcObject.getVideoTracks()[0].id"
    before = await page.evaluate(tracks)
    await page.click("#notice button")
    await page.wait_for(f"{tracks} !== '{before}' && localStorage.getItem('tessera.camera') === 'doc'")


async def talking(page):
    await open_settings(page)
    await page.wait_for("document.querySelectorAll('#call-microphone option').length > 0")
    await page.click("#settings button[value=close]")
    await page.evaluate(VOICE)
    await choose(page, "#call-microphone", await page.evaluate("document.querySelector('#call-microphone option').value"))
    await page.click("#toggle-audio")
    await page.wait_for("document.getElementById('toggle-audio').classList.contains('off')")
    await page.wait_for(f"{NOTICE}.startsWith('You are muted.')")
    await page.shot("desk-muted-speech")
    await page.key(" ", ["keyDown"])
    await page.wait_for("!document.getElementById('toggle-audio').classList.contains('off')")
    await page.key(" ", ["keyUp"])
    await page.wait_for("document.getElementById('toggle-audio').classList.contains('off')")
    # In a field the space bar writes.
    await page.click("#open-chat")
    await page.key(" ", ["keyDown"])
    assert await page.evaluate("document.getElementById('toggle-audio').classList.contains('off') && document.getElementById('chat-text').value === ' '")
    await page.click("#side-close")
    await page.click("#toggle-audio")


async def windows(page):
    await page.click("#full-screen")
    await page.wait_for("document.fullscreenElement?.id === 'call'")
    await page.key("f")
    await page.wait_for("!document.fullscreenElement")
    if await page.evaluate("document.pictureInPictureEnabled"):
        await page.click("#picture-in-picture")
        await page.wait_for("document.pictureInPictureElement?.id === 'mix'")
        await page.click("#picture-in-picture")
        await page.wait_for("!document.pictureInPictureElement")


async def data(page):
    await open_settings(page)
    await choose(page, "#data", "less")
    await page.click("#settings button[value=close]")
    await page.wait_for("probe.sent.findLast(m => m.type === 'offer')?.sdp.includes('b=TIAS:200000')")
    await page.wait_for("(probe.last('line')?.sent ?? 1e9) < 230000 && probe.last('line').mode === 'reduced'", 15)
    await choose(page, "#data", "audio")
    await page.wait_for("!document.getElementById('sound-only').hidden && document.getElementById('toggle-video').classList.contains('off')")
    await page.shot("desk-sound-only")
    await page.wait_for("probe.last('answer').sdp.split('m=video')[1].includes('a=recvonly')")
    await choose(page, "#data", "full")
    await page.wait_for("document.getElementById('sound-only').hidden")
    await page.is_moving()


async def own_picture(page):
    """A picture of oneself: chosen in the settings, given to the next seat too, and taken away."""
    async def avatar(room="devices"):
        me = await page.evaluate("probe.last('joined').you.id")
        status, _, body = await asyncio.to_thread(page.server.request, "GET", f"/api/rooms/{room}/participants/{me}/avatar")
        return Image.open(io.BytesIO(body)) if status == 200 else status

    await open_settings(page)
    await page.evaluate("""(async () => {
      const canvas = document.createElement('canvas'), pen = canvas.getContext('2d'), transfer = new DataTransfer();
      [canvas.width, canvas.height] = [900, 500];
      [['#f00', 0], ['#0a0', 200], ['#00f', 700]].forEach(([colour, x]) => { pen.fillStyle = colour; pen.fillRect(x, 0, 900, 500); });
      transfer.items.add(new File([await new Promise(done => canvas.toBlob(done))], 'me.png', { type: 'image/png' }));
      const input = document.getElementById('avatar-file');
      input.files = transfer.files;
      input.dispatchEvent(new Event('change'));
    })()""")
    await page.wait_for("document.getElementById('avatar-shown').naturalWidth === 256")
    await page.fits("settings")
    await page.shot("desk-settings-picture")
    await page.click("#settings button[value=close]")
    before = await page.evaluate("probe.last('joined').you.id")
    await page.click("#leave")
    await page.click("#rejoin")
    await page.wait_for(f"probe.last('joined').you.id !== '{before}'")
    for _ in range(100):
        shown = await avatar()
        if shown != 404:
            break
        await asyncio.sleep(0.05)
    # The middle of the picture, which is green.
    assert shown.size == (256, 256)
    assert all(g > 120 and r < 60 and b < 60 for r, g, b in (shown.convert("RGB").getpixel((x, 128)) for x in (5, 128, 250)))
    await open_settings(page)
    await page.click("#avatar-remove")
    for _ in range(100):
        if await avatar() == 404:
            break
        await asyncio.sleep(0.05)
    assert await avatar() == 404
    assert await page.evaluate("document.getElementById('avatar-note').textContent") == "Shown while your camera is off."
    await page.click("#settings button[value=close]")
