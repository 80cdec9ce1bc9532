"""The published apps' own code against the server, where a folder has it: each joins, sees and hears, chats, is refused, removed and killed."""

import asyncio
import base64
import contextlib
import io
import json
import time

import numpy as np
import pytest
from PIL import Image

from support.aiortc_peer import AiortcPeer
from support.app_peer import people_of, within
from support.browser import Chromium
from support.media import TONES
from support.originals import FOLDER, AppRTCAndroid, DemoIOS, FLSocketIMAndroid, Original, missing, press_join, sees
from support.people import PythonPeer, eventually, picture_is_right, sound_is_right
from support.server import Server, free_port
from support.signalling import ask, connect, read
from support.socketio_client import SocketIOPeer, account

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


def original(name):
    why = missing(name)
    return pytest.mark.skipif(why is not None, reason=why or "")


def photograph(seed, size=(1600, 1080)):
    """A JPEG of noise of about a megabyte."""
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)).save(file, "JPEG", quality=76)
    assert len(file.getvalue()) > 1_000_000
    return file.getvalue()


@contextlib.asynccontextmanager
async def company():
    """Keeps what is opened, and closes it at the end."""
    opened = []

    def keep(peer):
        opened.append(peer.close)
        return peer
    try:
        yield keep
    finally:
        for close in reversed(opened):
            with contextlib.suppress(Exception):
                await close()


async def vanish(peer):
    """The app's process is killed: its code by the signal, its media without a goodbye."""
    peer.app.kill()
    for transceiver in peer.pc.getTransceivers():
        await transceiver.sender.transport.transport._connection.close()


async def gone(peer, limit):
    start = time.monotonic()
    await within(limit, lambda: peer.name not in people_of(peer.server, peer.room), f"{peer.name} is gone")
    print(f"{type(peer).__name__}: gone after {time.monotonic() - start:.1f} s")


async def remove(peer):
    status = (await asyncio.to_thread(peer.server.request, "DELETE", f"/api/rooms/{peer.room}/participants/{peer.id}"))[0]
    assert status in (200, 204), status


@original("apprtc-android")
def test_apprtc_s_android_app_in_a_call(server):
    """Its own handshake and its own parsers; picture and sound both ways; hung up, removed, come back, and killed."""
    async def run():
        async with company() as keep:
            ada = await PythonPeer(keep(await AiortcPeer(server, "droid", "Ada", "red", TONES[0]).join())).joined()
            app = keep(await AppRTCAndroid(server, "droid", "", "green", TONES[1]).join())
            everyone = [ada, await sees(app)]
            await eventually(lambda: picture_is_right(everyone), 15, "picture")
            await eventually(lambda: sound_is_right(everyone), 15, "sound")
            assert not app.app.events, app.app.events

            # Hung up in the app: /leave, `bye` and DELETE.
            await app.app.do("hangUp")
            await gone(app, 1)
            await app.close()

            # Removed: `bye`, and the app ends its call.
            app = keep(await AppRTCAndroid(server, "droid", "", "green", TONES[1]).join())
            await remove(app)
            await app.app.event("channelClose", timeout=5)
            await asyncio.sleep(0.5)
            assert not [e for e in app.app.events if e["event"] == "channelError"], app.app.events
            assert set(people_of(server, "droid")) == {"Ada"}
            await app.close()

            # Started again it may join; killed, it is gone within the family's ten seconds.
            app = keep(await AppRTCAndroid(server, "droid", "", "green", TONES[1]).join())
            await vanish(app)
            await gone(app, 11)
            app = keep(await AppRTCAndroid(server, "droid", "", "blue", TONES[2]).join())
            everyone = [ada, await sees(app)]
            await eventually(lambda: picture_is_right(everyone), 15, "picture after the return")
    asyncio.run(asyncio.wait_for(run(), 150))


@original("apprtc-android")
def test_apprtc_s_android_app_at_closed_doors(server):
    """A PIN in the room's name, a full room, and a waiting room: what the app's own code makes of each."""
    async def run():
        async with company() as keep:
            async def calls(room):
                app = keep(await AppRTCAndroid(server, room.split("_pin_")[0], "", "green", TONES[1]).start())
                return await app.connect(room)

            server.json("PUT", "/api/rooms/locked", {"pin": "2718"}, expect=201)
            for room in ("locked", "locked_pin_0000"):
                error = await (await calls(room)).app.event("channelError")
                assert error["text"] == "Room response error: ERROR", error
            app = await calls("locked_pin_2718")
            await app.offer()
            await app.answered()
            server.json("PUT", "/api/rooms/small", {"maxParticipants": 1}, expect=201)
            first = await calls("small")
            await first.offer()
            await first.answered()
            assert (await (await calls("small")).app.event("channelError"))["text"] == "Room response error: FULL"

            server.json("PUT", "/api/rooms/hall", {"admit": "moderator"}, expect=201)
            host = keep(await connect(server))
            await ask(host, "joined", type="join", room="hall", name="Host")
            people = []
            for _ in range(2):
                app = await calls("hall")
                await app.offer()
                known = {person["id"] for _, person in people}
                [person] = [p for p in (await read(host, "waiting"))["people"] if p["id"] not in known]
                people.append((app, person))
            (let_in, first), (refused, second) = people
            await asyncio.sleep(1)
            assert not let_in.app.events and not refused.app.events, "a call that nobody has taken yet"
            await host.send(json.dumps({"type": "moderate", "action": "refuse", "participant": second["id"]}))
            await refused.app.event("channelClose")
            await host.send(json.dumps({"type": "moderate", "action": "admit"}))
            await let_in.answered()
            assert set(people_of(server, "hall")) == {"Host", first["name"]}
    asyncio.run(asyncio.wait_for(run(), 90))


@original("flsocketim-android")
def test_flsocketim_s_android_app_chats(server, tmp_path):
    """Two Android apps and a python-socketio client: text, a megabyte's picture, a voice message and a place, each read by the app's own models and
    acknowledged; a message to a room without its call is acknowledged too."""
    picture = tmp_path / "photograph.jpg"
    picture.write_bytes(photograph(1))

    async def run():
        async with company() as keep:
            alice, bobby = [keep(await FLSocketIMAndroid(server, "", name, "green", TONES[1]).start(tmp_path / name)) for name in ("alice", "bobby")]
            assert (await alice.app.event("EventUserOnline"))["of"] == "bobby"
            carol = keep(await SocketIOPeer(server, "carol", "blue", TONES[2]).connect())
            await alice.app.do("users")
            assert set((await alice.app.event("users"))["names"]) == {"alice+", "bobby+", "carol+"}

            sent = await alice.say("bobby", text="hi 😀 你好")
            read_ = await bobby.message()
            assert read_["msg"] == "hi 😀 你好" and read_["from"] == "alice" and read_["id"] == sent["id"] and read_["time"] == sent["time"], read_
            for sender, reader in ((alice, bobby), (bobby, alice)):
                await sender.say(reader.name, "image", path=str(picture), width=1600, height=1080)
                shown = await reader.message()
                assert shown["type"] == "img" and int(shown["file"]) == picture.stat().st_size, shown
                assert "1600" in shown["size"] and "1080" in shown["size"], shown
                # The file is where the app's screen looks for it.
                assert (tmp_path / reader.name / "images" / shown["name"]).read_bytes() == picture.read_bytes()
            await alice.say("bobby", "audio", name="a.amr", bytes=5006, duration=3)
            shown = await bobby.message()
            assert (shown["type"], shown["file"], shown["duration"], shown["size"]) == ("audio", "5006", 3, "null"), shown
            sent = await bobby.say("alice", "place")
            assert sent["path"] != "null" and (await alice.message())["type"] == "loc"

            # From another client: what its sender leaves out, the app's screen still has.
            for bodies in ({"type": "img", "fileName": "../../x.jpg", "fileData": picture.read_bytes()},
                           {"type": "img", "fileName": "x.jpg", "size": 480_093, "fileData": picture.read_bytes()},
                           {"type": "audio", "fileName": "x.amr", "duration": 2.5, "size": 5006, "fileData": bytes(5006)},
                           {"type": "loc", "latitude": 1, "longitude": 2, "locationName": "Mitte", "detailLocationName": "Berlin"},
                           {"type": "txt", "msg": "plain"}):
                assert (await carol.say("alice", bodies))["msg_id"]
                shown = await alice.message()
                assert shown["type"] == bodies["type"] and "/" not in shown["name"], shown
            # Bodies that no screen of the app can show are acknowledged, and do not reach it.
            for bodies in ({"type": "video", "msg": "x"}, {"type": "txt"}, {"type": "img", "fileName": "x.jpg", "fileData": b"<html>"},
                           {"type": "txt", "msg": {"a": 1}}, {"type": "loc", "latitude": "x"}, {"type": "audio"}):
                assert (await carol.say("alice", bodies)), bodies
            await carol.say("alice", {"type": "txt", "msg": "last"})
            await alice.message(where=lambda shown: shown["msg"] == "last")

            # Acknowledged although nobody read it, so that the app does not wait for ever.
            assert (await alice.say("room_nowhere", text="hello"))["id"]
            assert "Nobody has read this" in (await alice.message(where=lambda shown: shown["from"] == "room_nowhere"))["msg"]
            await bobby.app.do("disconnect")
            assert (await alice.app.event("EventUserOffLine"))["of"] == "bobby"
    asyncio.run(asyncio.wait_for(run(), 120))


@original("flsocketim-android")
def test_flsocketim_s_android_app_calls(server, tmp_path):
    """A room by its own call classes: the PIN by chat, the waiting room, picture and sound, the room's chat, removal, a call to a person that is refused
    and one that is taken, kill −9 and return."""
    async def run():
        async with company() as keep:
            server.json("PUT", "/api/rooms/plenum", {"pin": "2718"}, expect=201)
            host = keep(await connect(server))
            await ask(host, "joined", type="join", room="plenum", name="Host", pin="2718")
            alice, bobby = [keep(await FLSocketIMAndroid(server, "", name, colour, tone).start(tmp_path / name))
                            for name, colour, tone in (("alice", "green", TONES[1]), ("bobby", "blue", TONES[2]))]
            # Without the PIN the call ends, and a message says why; the message with the PIN is acknowledged.
            assert await alice.dial("room_plenum") == "plenum"
            assert "asks for a PIN" in (await alice.message())["msg"]
            await alice.app.event("finish")
            await alice.say("room_plenum", text="2718")
            await alice.message()
            await alice.dial("room_plenum")
            await alice.media()
            server.json("PUT", "/api/rooms/plenum", {"admit": "moderator", "pin": ""})
            await bobby.dial("room_plenum")
            assert "A moderator has to let you in" in (await bobby.message())["msg"]
            await read(host, "waiting")
            await host.send(json.dumps({"type": "moderate", "action": "admit"}))
            await bobby.media()
            await host.send(json.dumps({"type": "leave"}))
            everyone = [await sees(alice), await sees(bobby)]
            await eventually(lambda: picture_is_right(everyone), 15, "picture")
            await eventually(lambda: sound_is_right(everyone), 15, "sound")
            await alice.say("room_plenum", text="hello")
            assert (await bobby.message())["msg"] == "alice: hello"
            await remove(alice)
            await alice.app.event("closeRoom")
            await alice.app.event("finish")
            await gone(alice, 1)
            # Killed: by its WebSocket's end.
            await vanish(bobby)
            await gone(bobby, 31)
            bobby = keep(await FLSocketIMAndroid(server, "", "bobby", "blue", TONES[2]).start(tmp_path / "bobby", register=False))
            # A person: refused, then taken and hung up.
            room = await alice.dial("bobby")
            assert (await bobby.app.event("ring")) == {"event": "ring", "from": "alice", "room": room}
            await bobby.app.do("hangUp")
            await alice.app.event("closeRoom", timeout=10)
            # Handlers of earlier calls answer too, as in the app: the newest connection counts.
            alice = await again(keep, alice, server, tmp_path)
            room = await alice.dial("bobby")
            await bobby.app.event("ring")
            await alice.media()
            bobby.room = room
            await bobby.app.do("accept")
            await bobby.media()
            everyone = [await sees(alice), await sees(bobby)]
            await eventually(lambda: picture_is_right(everyone), 15, "picture of the call")
            await alice.app.do("hangUp")
            await bobby.app.event("closeRoom", timeout=10)
    asyncio.run(asyncio.wait_for(run(), 150))


async def again(keep, peer, server, tmp_path):
    """The same person with the app started again."""
    await peer.close()
    return keep(await FLSocketIMAndroid(server, "", peer.name, peer.colour, peer.frequency).start(tmp_path / peer.name, register=False))


@original("webrtc-demo-ios")
def test_the_webrtc_demo_s_ios_app(server):
    """Its own encoder and decoder: joins, chats over the crossed channels with a megabyte's limit, PIN, waiting room, removal."""
    async def run():
        async with company() as keep:
            ada = await PythonPeer(keep(await AiortcPeer(server, "demo", "Ada", "red", TONES[0]).join())).joined()
            app = keep(await DemoIOS(server, "demo", "Io", "green", TONES[1], "H264").join())
            everyone = [ada, await sees(app)]
            await eventually(lambda: picture_is_right(everyone), 15, "picture")
            await eventually(lambda: sound_is_right(everyone), 15, "sound")
            bob = keep(await SocketIOPeer(server, "bobby", "blue", TONES[2]).connect())
            await bob.ring("room_demo")
            await bob.join_call()
            await within(10, lambda: app.sends_on, "the server's channel")
            app.say("hello ☎".encode())
            assert (await bob.event("chat"))["bodies"]["msg"] == "Io: hello ☎"
            await bob.say("room_demo", {"type": "txt", "msg": "hi"})
            await within(5, lambda: app.received_data == [b"bobby: hi"], "the app reads")
            # A megabyte's picture does not fit into the message that the app allows: it comes as a line.
            await bob.say("room_demo", {"type": "img", "fileName": "a.jpg", "fileData": photograph(3)})
            await within(10, lambda: len(app.received_data) == 2 and app.received_data[1].startswith(b"bobby: "), "the picture's line")
            await remove(app)
            assert await app.end() == (4001, "removed")
            await app.app.event("status", where=lambda event: event["text"] == "Not connected")
            # Two seconds later the app connects again by itself, which is no join.
            await app.app.event("connect", timeout=4)

            server.json("PUT", "/api/rooms/locked", {"pin": "2718"}, expect=201)
            stranger = keep(await DemoIOS(server, "locked", "Io", "green", TONES[1]).connect())
            await stranger.offer()
            assert await stranger.end() == (1008, "pin_required")
            guest = keep(await DemoIOS(server, "locked", "Io", "green", TONES[1], path="/locked?name=Io&pin=2718").connect())
            await guest.offer()
            await guest.answered()
    asyncio.run(asyncio.wait_for(run(), 120))


@original("apprtc-web")
def test_apprtc_s_web_page(tmp_path):
    """Its own template and scripts on a host of their own: JOIN, a reload under the same name, removal."""
    async def run(server, site):
        async def opened(path):
            page = keep(await Chromium().start(site + path))
            await press_join(page)
            return page

        async def active(page):
            await page.wait_for("document.querySelector('#videos').className.includes('active') && document.querySelector('#remote-video').videoWidth", 30)
            before = await page.evaluate("document.querySelector('#remote-video').currentTime")
            await page.wait_for(f"document.querySelector('#remote-video').currentTime > {before} + .5")

        async def says(page, text):
            await page.wait_for(f"document.querySelector('#status-div').textContent.includes({json.dumps(text)})", 10)

        async with company() as keep:
            ada = await PythonPeer(keep(await AiortcPeer(server, "room12345", "Ada", "red", TONES[0]).join())).joined()
            page = await opened("/r/room12345?name=Alice")
            await active(page)
            assert set(people_of(server, "room12345")) == {"Ada", "Alice"}
            await within(5, lambda: len(ada.peer.tiles["tiles"]) == 2, "Ada sees Alice")
            assert await page.evaluate("location.href") == f"{site}/r/room12345?name=Alice"
            # The page asks before it leaves a call; without a click of a user the browser does not.
            await page.call("Page.reload")
            await press_join(page)
            await active(page)
            await within(11, lambda: sorted(people_of(server, "room12345")) == ["Ada", "Alice"], "one Alice")
            alice = people_of(server, "room12345")["Alice"]
            server.request("DELETE", f"/api/rooms/room12345/participants/{alice}")
            await says(page, "The remote side hung up.")

    async def hosted():
        port = free_port()
        site = f"http://127.0.0.1:{port}"
        with Server(tmp_path / "server", origin=site) as server:
            host = await Original().start("apprtc-web", server.url, port)
            await host.event("serving")
            try:
                await asyncio.wait_for(run(server, site), 150)
            finally:
                await host.close()
    asyncio.run(hosted())


@original("socket.io-2.0.3.js")
def test_socket_io_s_javascript_client(server):
    """The published bundle in a browser: by polling and then by WebSocket, texts and a megabyte's picture with acknowledgements both ways, and a
    call; killed with its browser, and back."""
    script, picture = (FOLDER / "run" / "socket.io-2.0.3.js").read_text(), photograph(4)

    async def opened(keep, name, token):
        page = keep(await Chromium(apart=True).start(f"{server.url}/healthz"))
        await page.evaluate(f"""(() => {{ {script}
}}).call(window)""")
        await page.evaluate("(" + """token => {
          window.got = [];
          window.socket = io({ query: 'auth_token=' + encodeURIComponent(token) });
          for (const name of ['connect', 'onLine', '_peers', '_answer', '_remove_peer']) socket.on(name, value => got.push([name, value ?? null]));
          socket.on('chat', (message, done) => { got.push(['chat', { ...message.bodies, fileData: message.bodies.fileData?.byteLength }]); done('ok'); });
          window.ask = (name, value) => new Promise(done => socket.emit(name, value, done));
        }""" + f")({json.dumps(token)})")
        await page.wait_for("socket.connected && socket.io.engine.transport.name === 'websocket'")
        return page

    async def in_call(page, name):
        room = await page.evaluate(f"ask('videoChat', {{ from_user: {name!r}, to_user: 'room_js' }})")
        assert room == "js"
        await page.evaluate("(socket.emit('__join', { room: 'js' }), 0)")
        await page.wait_for("got.some(([name, value]) => name === '_peers' && value.connections[0] === 'mcu-1')")
        await page.evaluate("""(async () => {
          window.pc = new RTCPeerConnection();
          window.video = document.body.appendChild(Object.assign(document.createElement('video'), { muted: true, autoplay: true }));
          pc.ontrack = ({ track, streams: [stream] }) => { if (track.kind === 'video') video.srcObject = stream ?? new MediaStream([track]); };
          for (const kind of ['audio', 'video']) pc.addTransceiver(kind);
          await pc.setLocalDescription();
          await new Promise(done => { pc.onicegatheringstatechange = () => pc.iceGatheringState === 'complete' && done(); });
          socket.emit('__offer', { sdp: pc.localDescription.toJSON(), socketId: 'mcu-1' });
        })()""")
        await page.wait_for("got.some(([name]) => name === '_answer')")
        await page.evaluate("pc.setRemoteDescription(got.find(([name]) => name === '_answer')[1].sdp)")
        await page.wait_for("video.videoWidth > 0 && video.currentTime > 0.5")

    async def run():
        async with company() as keep:
            token = await asyncio.to_thread(account, server, "annie")
            page = await opened(keep, "annie", token)
            bobby = keep(await SocketIOPeer(server, "bobby", "blue", TONES[2]).connect())
            await page.wait_for("got.some(([name, value]) => name === 'onLine' && value.user === 'bobby')")
            assert (await page.evaluate("ask('chat', { from_user: 'annie', to_user: 'bobby', bodies: { type: 'txt', msg: 'hi 😀' } })"))["msg_id"]
            assert (await bobby.event("chat"))["bodies"]["msg"] == "hi 😀"
            await page.evaluate("(" + """text => ask('chat', { from_user: 'annie', to_user: 'bobby', bodies: {
              type: 'img', fileName: 'a.jpg', size: { width: 9, height: 9 }, fileData: Uint8Array.from(atob(text), octet => octet.charCodeAt(0)).buffer,
            } }).then(() => 0)""" + f")({json.dumps(base64.b64encode(picture).decode())})")
            assert (await bobby.event("chat", where=lambda message: message["bodies"]["type"] == "img"))["bodies"]["fileData"] == picture
            assert (await bobby.say("annie", {"type": "img", "fileName": "b.jpg", "fileData": picture}))["msg_id"]
            await page.wait_for(f"got.some(([name, bodies]) => name === 'chat' && bodies.fileData === {len(picture)})")
            await bobby.ring("room_js")
            await bobby.join_call()
            await in_call(page, "annie")
            assert set(people_of(server, "js")) == {"annie", "bobby"}
            start = time.monotonic()
            page.process.kill()
            await within(31, lambda: set(people_of(server, "js")) == {"bobby"}, "the browser is gone")
            print(f"socket.io-client 2.0.3: gone after {time.monotonic() - start:.1f} s")
            page = await opened(keep, "annie", token)
            await in_call(page, "annie")
            server.request("DELETE", f"/api/rooms/js/participants/{people_of(server, 'js')['annie']}")
            await page.wait_for("got.some(([name]) => name === '_remove_peer')")
    asyncio.run(asyncio.wait_for(run(), 120))
