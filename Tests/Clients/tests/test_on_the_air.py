"""On the air is what the page says: joins before the devices are open, second waits to be let in, push to talk with a slow device, and a microphone
of which nothing arrives."""

import asyncio
import json
import time

import pytest
import websockets

from support.page import Page
from support.sent import label, leaves

pytestmark = pytest.mark.usefixtures("needs_address")
# Devices open after `delay` ms; `gate`: no socket reaches the server; `connections`: all that the page has made.
SLOW = """
(() => {
  window.gate = false;
  window.connections = [];
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async wanted => {
    await new Promise(done => setTimeout(done, DELAY));
    return open(wanted);
  };
  const Socket = WebSocket;
  window.WebSocket = class extends Socket { constructor(url) { super(gate ? url.replace('/signal', '/api/none') : url); } };
  const Peer = RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer { constructor(...all) { super(...all); connections.push(this); } };
})();
"""
ON, OFF = "Mute the microphone", "Switch the microphone on"
CAMERA_ON = "Switch the camera off"


async def visit(page, url, delay, before=""):
    """The page again, as of somebody who comes for the first time."""
    if script := getattr(page, "script", None):
        await page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    source = SLOW.replace("DELAY", str(delay)) + before
    page.script = (await page.call("Page.addScriptToEvaluateOnNewDocument", source=source))["identifier"]
    await page.call("Page.navigate", url=url)
    # With `join=1` the lobby may be gone before anybody looks, and who waits to be let in is in neither.
    await page.wait_for(
        "document.readyState === 'complete' && document.getElementById('join') && ['lobby', 'call', 'waiting'].some(part => !document.getElementById(part).hidden)")


async def is_silent(page):
    """The microphone's track is off at once; the browser's meter takes a moment to fall. One that is on beeps in each of these times."""
    assert await page.evaluate("connections.every(one => one.getSenders().every(({ track }) => track?.kind !== 'audio' || !track.enabled))")
    for _ in range(4):
        if (energy := (await leaves(page))[1]) == 0:
            return
    raise AssertionError(f"the microphone is on after the release: {energy}")


async def is_heard_and_seen(page, host, name):
    _, energy, pictures = await leaves(page)
    assert energy > 0 and pictures > 3, f"energy {energy}, {pictures} pictures"
    assert await host.told(name) == (True, True)


async def is_in_call(page):
    await page.wait_for("!document.getElementById('call').hidden && document.getElementById('waiting').hidden")


class Host:
    """The first in the room, by its socket alone: what it is told of the others."""

    async def join(self, server, key=None):
        self.people, self.waiting, self.key = {}, [], key
        self.socket = await websockets.connect(server.signal_url)
        await self.socket.send(json.dumps({"type": "join", "room": "air", "name": "Host", "hostKey": key}))
        self.reader = asyncio.ensure_future(self.read())
        await self.until(lambda: self.people)
        return self

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            if message["type"] == "joined":
                self.key = message["you"].get("hostKey")
            if message["type"] in ("joined", "participants"):
                self.people = {person["name"]: person for person in message["participants"]} | {"Host": {}}
            elif message["type"] == "waiting":
                self.waiting = message["people"]

    async def until(self, condition, timeout=15):
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"people {self.people}, waiting {self.waiting}"
            await asyncio.sleep(0.05)

    async def told(self, name):
        await asyncio.sleep(0.3)
        return self.people[name]["audio"], self.people[name]["video"]

    async def admit(self):
        await self.until(lambda: self.waiting)
        await self.socket.send(json.dumps({"type": "moderate", "action": "admit"}))

    async def close(self):
        self.reader.cancel()
        await self.socket.close()


def test_what_the_page_says_of_camera_and_microphone_is_what_is_sent(server, tmp_path):
    async def run():
        host = await Host().join(server)
        page = await Page().open(f"{server.url}/r/air?name=Nobody", 1280, 800, False, tmp_path)
        try:
            await joins_before_the_devices_are_open(page, host)
            await talks_shorter_than_the_device_opens(page, host)
            await sends_nothing_though_it_is_on(page, host)
            host = await waits_again_after_a_restart(page, host)
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
            await host.close()

    async def joins_before_the_devices_are_open(page, host):
        await visit(page, f"{server.url}/r/air?name=Ada", 2000)
        await asyncio.sleep(0.5)
        await page.click("#join")
        await is_in_call(page)
        assert await page.evaluate(label("audio")) != ON, "the microphone is not open yet"
        await host.until(lambda: "Ada" in host.people)
        assert await host.told("Ada") == (False, False)
        await page.shot("opening")
        await page.wait_for(f"{label('audio')} === '{ON}' && {label('video')} === '{CAMERA_ON}'")
        await is_heard_and_seen(page, host, "Ada")
        await page.shot("open")

    async def talks_shorter_than_the_device_opens(page, host):
        await visit(page, f"{server.url}/r/air?name=Bo&join=1", 400, "for (const kind of ['camera', 'microphone']) localStorage.setItem(`tessera.${kind}`, 'none');")
        await is_in_call(page)
        await page.is_moving()
        await page.key(" ", ["keyDown"])
        await asyncio.sleep(0.1)
        await page.shot("talking-while-it-opens")
        await page.key(" ", ["keyUp"])
        await asyncio.sleep(1)
        assert await page.evaluate(label("audio")) == OFF
        await is_silent(page)
        assert await host.told("Bo") == (False, False)
        # Longer than the device takes, and released.
        await page.key(" ", ["keyDown"])
        await page.wait_for(f"{label('audio')} === '{ON}'")
        assert (await leaves(page))[1] > 0
        await page.key(" ", ["keyUp"])
        await page.wait_for(f"{label('audio')} === '{OFF}'")
        await is_silent(page)
        await page.evaluate("(localStorage.clear(), 0)")

    async def sends_nothing_though_it_is_on(page, host):
        await visit(page, f"{server.url}/r/air?name=Di&join=1", 0)
        await is_in_call(page)
        await page.wait_for(f"{label('audio')} === '{ON}' && {label('video')} === '{CAMERA_ON}'")
        await is_heard_and_seen(page, host, "Di")
        # Behind the page's back, as by a fault of the browser.
        await page.evaluate("connections.at(-1).getSenders().find(({ track }) => track?.kind === 'audio').replaceTrack(null)")
        await host.until(lambda: host.people["Di"].get("missing") == ["audio"])
        await page.wait_for(f"document.getElementById('notice').innerText.startsWith('Nobody hears you') && {label('audio')} !== '{ON}'")
        unheard = "document.querySelectorAll('#people-list [aria-label=\"microphone on, but nothing of it arrives\"]').length"
        assert await page.evaluate(unheard) == 1
        await page.audit("nobody hears who is unmuted", colours_only=True)
        await page.shot("not-heard")
        await page.click("#notice button")
        await host.until(lambda: "missing" not in host.people["Di"])
        await page.wait_for(f"{label('audio')} === '{ON}' && !{unheard}")
        await is_heard_and_seen(page, host, "Di")

    async def waits_again_after_a_restart(page, host):
        server.config = "rooms: {admit: moderator}\n"
        await visit(page, f"{server.url}/r/air?name=Cy&join=1", 0)
        await is_in_call(page)
        await page.is_moving()
        await page.click("#open-settings")
        await page.evaluate("(gate = true, 0)")
        await host.close()
        server.stop()
        server.start()
        host = await Host().join(server, host.key)
        await page.evaluate("(gate = false, 0)")
        await page.wait_for("!document.getElementById('waiting').hidden", 15)
        await page.audit("who waits again")
        await page.shot("waiting-again")
        assert await leaves(page) == [0, 0, 0], "who waits sends nothing"
        await host.admit()
        await is_in_call(page)
        await page.is_moving()
        assert await page.evaluate("!document.getElementById('settings').open && document.getElementById('toggle-audio').checkVisibility()")
        await page.wait_for(f"{label('audio')} === '{ON}' && {label('video')} === '{CAMERA_ON}'")
        await is_heard_and_seen(page, host, "Cy")
        await page.shot("admitted-again")
        await waits_in_vain(page, host)
        return host

    async def waits_in_vain(page, host):
        # Who stops waiting may join again.
        await visit(page, f"{server.url}/r/air?name=Ed&join=1", 0)
        await page.wait_for("!document.getElementById('waiting').hidden", 15)
        await page.click("#stop-waiting")
        await page.click("#rejoin")
        await page.wait_for("!document.getElementById('lobby').hidden && !document.getElementById('join').disabled")
        await page.click("#join")
        await page.wait_for("!document.getElementById('waiting').hidden", 15)
        await host.admit()
        await is_in_call(page)
        await page.is_moving()
        await is_heard_and_seen(page, host, "Ed")

    asyncio.run(asyncio.wait_for(run(), 150))
