"""The published apps' own code in one room with a browser: the doors, picture and sound, the chat and its pictures, killed apps and their return,
removal."""

import asyncio
import contextlib
import json
import random
import time

import pytest

from support.app_peer import people_of, within
from support.browser import Chromium
from support.media import TONES
from support.originals import AppRTCAndroid, DemoIOS, FLSocketIMAndroid, Original, missing, press_join, sees
from support.people import BrowserPeer, eventually, page_url
from support.server import Server, free_port

pytestmark = [
    pytest.mark.usefixtures("needs_address", "good_line"),
    *(pytest.mark.skipif(missing(name) is not None, reason=missing(name) or "")
      for name in ("apprtc-android", "apprtc-web", "flsocketim-android", "webrtc-demo-ios"))]

ROOM, PIN = "everyone", "2718"
# A JPEG by its first bytes, which is all that the server and the apps' code look at; of a megabyte.
PICTURE = b"\xff\xd8\xff\xe0" + random.Random(5).randbytes(1_000_000)


class Host(BrowserPeer):
    """The browser that is in the room first, and so its moderator. Keeps the messages that the test page only counts."""

    async def listen(self):
        await self.browser.evaluate(
            "(window.got = [], socket.addEventListener('message', ({ data }) => {"
            " const message = JSON.parse(data); if (['chat', 'waiting'].includes(message.type)) got.push(message); }), 0)")

    async def send(self, **message):
        await self.browser.evaluate(f"(socket.send({json.dumps(json.dumps(message))}), 0)")

    async def chat(self, condition, timeout=10):
        """The newest message of the chat that fulfils the condition, in JavaScript."""
        found = f"got.findLast(({{ type, name, text, picture }}) => type === 'chat' && ({condition}))"
        await self.browser.wait_for(f"!!{found}", timeout)
        return await self.browser.evaluate(found)

    async def admits(self, server):
        """Lets in the one who waits, who is not in the room before."""
        await self.browser.wait_for("got.findLast(({ type }) => type === 'waiting')?.people.length === 1", 15)
        person = await self.browser.evaluate("got.findLast(({ type }) => type === 'waiting').people[0]")
        assert person["id"] not in (await asyncio.to_thread(people_of, server, ROOM)).values(), person
        await self.send(type="moderate", action="admit", participant=person["id"])
        await self.browser.wait_for("got.findLast(({ type }) => type === 'waiting').people.length === 0", 15)


class AppRTCWeb:
    """AppRTC's web page in a browser of its own, which can be killed."""

    def __init__(self, server, site):
        self.server, self.site, self.name, self.room = server, site, "Web", ROOM

    async def start(self, pin=""):
        self.page = await Chromium(apart=True).start(f"{self.site}/r/{ROOM}?name={self.name}{pin and f'&pin={pin}'}")
        await press_join(self.page)
        return self

    async def says(self, text):
        await self.page.wait_for(f"document.body.innerText.includes({json.dumps(text)})", 20)

    async def active(self):
        await self.page.wait_for("document.querySelector('#videos').className.includes('active') && document.querySelector('#remote-video').videoWidth", 30)
        before = await self.page.evaluate("document.querySelector('#remote-video').currentTime")
        await self.page.wait_for(f"document.querySelector('#remote-video').currentTime > {before} + .5")

    async def heard(self, frequencies):
        """The level of each tone in the sound that the page plays."""
        return await self.page.evaluate("(" + """async wanted => {
          window.ears ??= new AudioContext();
          const analyser = new AnalyserNode(ears, { fftSize: 32768, smoothingTimeConstant: 0 });
          ears.createMediaStreamSource(document.querySelector('#remote-video').srcObject).connect(analyser);
          await new Promise(done => setTimeout(done, 1200));
          const bins = new Float32Array(analyser.frequencyBinCount);
          analyser.getFloatFrequencyData(bins);
          const at = f => Math.round(f * analyser.fftSize / ears.sampleRate);
          return wanted.map(f => Math.max(...bins.slice(at(f) - 2, at(f) + 3)));
        }""" + f")({json.dumps(list(frequencies))})")

    async def close(self):
        await self.page.close()


async def silenced(peer):
    """The app's process is killed; what stands in for its media and, with the demo, for its socket ends without a goodbye."""
    peer.app.kill()
    if isinstance(peer, DemoIOS):
        peer.socket.transport.abort()
    for transceiver in peer.pc.getTransceivers():
        await transceiver.sender.transport.transport._connection.close()


async def gone(server, name, limit, what):
    start = time.monotonic()
    await within(limit, lambda: name not in people_of(server, ROOM), f"{what} is gone")
    print(f"{what}: gone after {time.monotonic() - start:.1f} s")


async def each_sees(peers, others=0):
    """A complaint where somebody's picture lacks a colour, or the room a tile."""
    expected = {peer.id: peer.colour for peer in peers}
    for peer in peers:
        seen = await peer.tile_colours()
        if len(seen) != len(peers) + others or any(seen.get(identity) != colour for identity, colour in expected.items()):
            return f"{peer.name} sees {seen}, not {expected} and {others} more"
    return None


async def each_hears(peers):
    for peer in peers:
        heard = await peer.heard([other.frequency for other in peers])
        if any(heard.get(other.frequency) != (other is not peer) for other in peers):
            return f"{peer.name} hears {heard}; own tone is {peer.frequency}"
    return None


class Guests:
    """How each app comes to the room at `server`: its user knows the PIN."""

    def __init__(self, server, site, folder, keep):
        self.server, self.site, self.folder, self.keep = server, site, folder, keep

    async def droid(self, host=None):
        app = self.keep(await AppRTCAndroid(self.server, ROOM, "", "green", TONES[1]).start())
        await app.connect(f"{ROOM}_pin_{PIN}")
        await app.offer()
        if host:
            await host.admits(self.server)
        return await app.answered()

    async def demo(self, host=None):
        app = self.keep(await DemoIOS(self.server, ROOM, "Io", "blue", TONES[2], "H264", path=f"/{ROOM}?name=Io&pin={PIN}").connect())
        await app.offer()
        if host:
            await host.admits(self.server)
        await app.answered()
        return await app.known()

    async def alice(self, host=None):
        # Who was killed has an account, and the app with its files is started again.
        app = FLSocketIMAndroid(self.server, "", "alice", "yellow", TONES[3])
        self.keep(await app.start(self.folder / "alice", register=host is not None))
        await app.dial(f"room_{ROOM}")
        assert "asks for a PIN" in (await app.message())["msg"]
        await app.app.event("closeRoom")
        await app.app.event("finish")
        await app.say(f"room_{ROOM}", text=PIN)
        await app.message()
        await app.dial(f"room_{ROOM}")
        if host:
            assert "A moderator has to let you in" in (await app.message())["msg"]
            await host.admits(self.server)
        return await app.media()

    async def web(self, host=None):
        app = self.keep(await AppRTCWeb(self.server, self.site).start(PIN))
        if host:
            await app.says("Waiting for someone to join this room")
            await host.admits(self.server)
        await app.active()
        return app


def test_each_app_s_own_code_in_one_room_with_a_browser(pages, tmp_path):
    """All at once: nobody gets in without the PIN, nor before the browser lets them in. Each sees and hears the others; texts and a picture of a
    megabyte go each way as far as the app has a chat; each is killed and comes back, and is removed."""
    async def run(server, site, opened):
        def keep(peer):
            opened.append(peer.close)
            return peer
        host = Host(await Chromium().start(page_url(pages, server, ROOM, "Nat", "red", TONES[0])), "Nat", "red", TONES[0])
        opened.append(host.browser.close)
        await host.joined()
        await host.listen()
        await host.send(type="room", admit="moderator", pin=PIN)
        await within(5, lambda: server.json("GET", f"/api/rooms/{ROOM}").get("hasPIN", True), "the room has a PIN")
        guests = Guests(server, site, tmp_path, keep)

        # Without the PIN, each as its own code shows it; FLSocketIM's is in `alice`.
        stranger = keep(await AppRTCAndroid(server, ROOM, "", "green", TONES[1]).start())
        await stranger.connect()
        assert (await stranger.app.event("channelError"))["text"] == "Room response error: ERROR"
        stranger = keep(await DemoIOS(server, ROOM, "Io", "blue", TONES[2]).connect())
        await stranger.offer()
        assert await stranger.end() == (1008, "pin_required")
        await stranger.close()
        stranger = keep(await AppRTCWeb(server, site).start())
        await stranger.says("Registration error: ERROR")
        await stranger.close()

        droid, demo, alice, web = [await guest(host) for guest in (guests.droid, guests.demo, guests.alice, guests.web)]
        apps = [droid, demo, alice]
        assert set(people_of(server, ROOM)) == {"Nat", droid.name, "Io", "alice", "Web"}
        everyone = [host] + [await sees(app) for app in apps]
        await eventually(lambda: each_sees(everyone, others=1), 20, "picture")
        await eventually(lambda: each_hears(everyone), 20, "sound")
        levels = await web.heard([peer.frequency for peer in everyone])
        assert min(levels) > -55, levels

        # Texts, each way. AppRTC's apps have no chat.
        await within(10, lambda: demo.sends_on, "the server's channel")
        await alice.say(f"room_{ROOM}", text="hi 你好")
        assert (await host.chat("name === 'alice'"))["text"] == "hi 你好"
        await within(5, lambda: demo.received_data[-1:] == ["alice: hi 你好".encode()], "the demo reads alice")
        demo.say("hello ☎".encode())
        assert (await host.chat("name === 'Io'"))["text"] == "hello ☎"
        await alice.message(where=lambda shown: shown["msg"] == "Io: hello ☎")
        await host.send(type="chat", text="welcome")
        await alice.message(where=lambda shown: shown["msg"] == "Nat: welcome")
        await within(5, lambda: demo.received_data[-1:] == [b"Nat: welcome"], "the demo reads the browser")

        # A picture of a megabyte: whole in the browser, and on FLSocketIM's screen; the demo's channel has room for its line.
        (tmp_path / "photograph.jpg").write_bytes(PICTURE)
        await alice.say(f"room_{ROOM}", "image", path=str(tmp_path / "photograph.jpg"), width=1600, height=1080)
        picture = (await host.chat("name === 'alice' && picture"))["picture"]
        assert picture["bytes"] == len(PICTURE) and server.get(picture["url"])[2] == PICTURE, picture
        await within(10, lambda: demo.received_data[-1].startswith(b"alice: picture of 1.0 MB"), "the picture's line")
        bob = keep(await FLSocketIMAndroid(server, "", "bobby", "magenta", TONES[4]).start(tmp_path / "bobby"))
        await bob.say("alice", "image", path=str(tmp_path / "photograph.jpg"), width=1600, height=1080)
        shown = await alice.message(where=lambda shown: shown["type"] == "img")
        assert int(shown["file"]) == len(PICTURE), shown

        # Killed, and back in the same room with the PIN.
        await host.send(type="room", admit="anyone")
        for app, limit in ((droid, 11), (demo, 31), (alice, 31)):
            await silenced(app)
            await gone(server, app.name, limit, type(app).__name__)
        web.page.process.kill()
        await gone(server, "Web", 31, "AppRTCWeb")
        droid, demo, alice, web = [await guest() for guest in (guests.droid, guests.demo, guests.alice, guests.web)]
        everyone = [host] + [await sees(app) for app in (droid, demo, alice)]
        await eventually(lambda: each_sees(everyone, others=1), 20, "picture after the return")
        await eventually(lambda: each_hears(everyone), 20, "sound after the return")

        # Removed, and told.
        people = people_of(server, ROOM)
        for name in (droid.name, "Io", "alice", "Web"):
            assert server.request("DELETE", f"/api/rooms/{ROOM}/participants/{people[name]}")[0] == 204, name
        await droid.app.event("channelClose", timeout=5)
        assert await demo.end() == (4001, "removed")
        await alice.app.event("closeRoom", timeout=5)
        await web.says("The remote side hung up.")
        await within(5, lambda: set(people_of(server, ROOM)) == {"Nat"}, "the browser alone")
        for app in (droid, demo, alice):
            assert not [event for event in app.app.events if event["event"] == "crash"], app.app.events

    async def hosted():
        port, opened = free_port(), []
        site = f"http://127.0.0.1:{port}"
        with Server(tmp_path / "server", origin=f"{pages},{site}") as server:
            page = await Original().start("apprtc-web", server.url, port)
            opened.append(page.close)
            await page.event("serving")
            try:
                await asyncio.wait_for(run(server, site, opened), 240)
            finally:
                for close in reversed(opened):
                    with contextlib.suppress(Exception):
                        await close()
    asyncio.run(hosted())
