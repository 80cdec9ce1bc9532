"""AppRTC's clients: its web app, aiortc's `ApprtcSignaling`, a TURN server, and clients that break the rules."""

import asyncio
import json
import re
import time

import pytest
import websockets

from support.aiortc_peer import AiortcPeer
from support.app_peer import AppViewer, tiles_of
from support.apprtc import AppRTCPage, Client, Coturn, SignalingPeer, accept, closed, frame, members, signaling, tls_proxy
from support.media import TONES
from support.people import PythonPeer, eventually, goes_on, picture_is_right, sound_is_right
from support.server import Server

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


async def gone(server, room, name, limit):
    """Waits until nobody of that name is in the room, and returns the seconds."""
    start = time.monotonic()

    async def check():
        return name if name in await asyncio.to_thread(members, server, room) else None
    await eventually(check, limit, "still in the room")
    return time.monotonic() - start


def test_the_web_app_shares_a_room_with_aiortc(server, pages):
    """With a name and as a guest. The room with clients of the other families, and its recording, is for test_families.py."""
    async def run():
        peers, browsers = [], []
        try:
            ada = await PythonPeer(await AiortcPeer(server, "room12345", "Ada", "red", TONES[0], "H264").join()).joined()
            peers.append(ada)
            alice = await AppRTCPage.open(pages, server, "room12345", "alice", "green", TONES[1])
            browsers.append(alice)
            peers.append(await alice.joined())
            # Two seconds of a machine with nothing else to do.
            assert await alice.browser.evaluate("state.firstFrame") < 4000
            guest = await AppRTCPage.open(pages, server, "room12345", "", "blue", TONES[2])
            browsers.append(guest)
            peers.append(await guest.joined())

            await eventually(lambda: picture_is_right(peers), 15, "picture")
            await eventually(lambda: sound_is_right(peers), 20, "sound")
            people = members(server, "room12345")
            assert set(people) == {"Ada", "alice", guest.name}
            shown = {tile["participant"] for tile in tiles_of(server, "room12345")["tiles"]}
            assert people["alice"]["id"] in shown
            for page in (alice, guest):
                # Every request had status 200, and everyone is an initiator.
                results = await page.browser.evaluate("apprtc.results")
                assert set(results) == {"offer SUCCESS", "candidate SUCCESS"}, results
                assert await page.browser.evaluate("state.join.params.is_initiator") == "true"
                assert await page.faults() == []
        finally:
            for browser in browsers:
                await browser.browser.close()
            for peer in peers:
                if isinstance(peer, PythonPeer):
                    await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 150))


def test_the_web_app_leaves_in_every_way(server, pages):
    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "ways", "Ada", "red", TONES[0]).join()).joined()
        browsers = []

        async def page(name, colour, tone, apart=False, room="ways"):
            opened = await AppRTCPage.open(pages, server, room, name, colour, tone, apart=apart)
            browsers.append(opened.browser)
            return await opened.joined()

        try:
            # Hung up: gone within a second.
            alice = await page("alice", "green", TONES[1])
            await eventually(lambda: picture_is_right([ada, alice]), 10, "picture")
            await alice.browser.evaluate("hangUpAppRTC()")
            assert await gone(server, "ways", "alice", 1) <= 1
            await asyncio.sleep(0.5)
            assert await alice.faults() == []

            # Reloaded: a new participant, and the old one does not stay for longer than the family's own ten seconds.
            bob = await page("bob", "blue", TONES[2], apart=True)
            old = bob.id
            await bob.browser.call("Page.reload")
            start = time.monotonic()
            await bob.browser.wait_for("state.connected && state.frames > 3")

            async def ghost():
                people = (await asyncio.to_thread(server.json, "GET", "/api/rooms/ways"))["participants"]
                return "the old seat" if old in {p["id"] for p in people} else None
            await eventually(ghost, max(0.1, 11 - (time.monotonic() - start)), "after the reload")
            print(f"reload: the old seat was gone after {time.monotonic() - start:.1f} s")
            assert set(members(server, "ways")) == {"Ada", "bob"}
            bob = await bob.joined()
            await eventually(lambda: picture_is_right([ada, bob]), 10, "picture after the reload")
            await eventually(lambda: sound_is_right([ada, bob]), 10, "sound after the reload")

            # Killed: the tab's process is gone without a word.
            bob.browser.process.kill()
            took = await gone(server, "ways", "bob", 11)
            print(f"killed tab: gone after {took:.1f} s")

            # Removed: `bye`, the page offers again, and is told that nobody knows it.
            carol = await page("carol", "magenta", TONES[3])
            assert (await asyncio.to_thread(server.request, "DELETE", f"/api/rooms/ways/participants/{carol.id}"))[0] in (200, 204)
            await carol.browser.wait_for("apprtc.byes === 1 && apprtc.unknown > 0 && apprtc.closed", timeout=5)
            assert await carol.browser.evaluate("apprtc.offers") == 2
            await asyncio.sleep(1)
            assert set(members(server, "ways")) == {"Ada"}
            assert await carol.faults() == []

            # Her address, which Ada has too, keeps nobody out.
            assert server.request("POST", "/join/ways?name=Dan", b"")[0] == 200
            assert set(members(server, "ways")) == {"Ada", "Dan"}

            # A drained server says `bye` too.
            dave = await page("dave", "cyan", TONES[4], room="others")
            await asyncio.to_thread(server.stop)
            await dave.browser.wait_for("apprtc.byes === 1 && apprtc.closed", timeout=5)
            assert (await dave.browser.evaluate("apprtc.closed"))[0] == 1001
            server.start()
        finally:
            for browser in browsers:
                await browser.close()
            await ada.peer.close()
    asyncio.run(asyncio.wait_for(run(), 120))


@pytest.mark.patient
def test_every_join_is_an_initiator_until_the_room_is_full(server):
    server.json("PUT", "/api/rooms/few", {"maxParticipants": 3}, expect=201)

    async def run():
        people = [Client(server, "few", f"?name=p{number}") for number in range(3)]
        assert all(p.answer["result"] == "SUCCESS" and p.params["is_initiator"] == "true" and p.params["messages"] == [] for p in people)
        assert len({p.id for p in people}) == 3
        assert Client(server, "few").answer == {"result": "FULL", "params": {"messages": []}}
        assert people[0].post(b"", "leave") is None
        again = Client(server, "few")
        assert again.answer["result"] == "SUCCESS"
        server.json("PUT", "/api/rooms/locked", {"locked": True}, expect=201)
        assert Client(server, "locked").answer["result"] == "FULL"
        assert 'tessera_joins_refused_total{code="room_full",family="apprtc"} 1' in server.get("/metrics")[2].decode()

        # Who does not register within ten seconds has no seat any more.
        start = time.monotonic()
        held = await again.connect()
        await gone(server, "few", "p1", 12)
        assert 9 < time.monotonic() - start < 12, time.monotonic() - start
        (guest,) = members(server, "few")
        assert re.fullmatch(r"Guest \d{4}", guest) and guest[-4:] not in again.id
        late = await people[1].connect()
        assert await frame(late) == {"msg": "", "error": "Max room capacity reached"}
        await closed(late)
        assert people[1].post({"type": "offer", "sdp": "v=0"}) == "UNKNOWN_CLIENT"
        # The one that registered stays, and its seat goes with its WebSocket, since it has no media.
        await held.close()
        await gone(server, "few", guest, 2)
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.patient
def test_an_offer_before_the_registration_is_answered_after_it(server):
    async def run():
        client, media = Client(server, "early", "?name=Early"), AiortcPeer(server, "early", "Early", "green", TONES[1])
        await media.prepare()
        candidate = {"type": "candidate", "label": 0, "id": "0", "candidate": "candidate:1 1 udp 2122260223 192.0.2.1 50000 typ host"}
        assert client.post(candidate) == "SUCCESS"
        assert client.post({"type": "offer", "sdp": media.pc.localDescription.sdp}) == "SUCCESS"
        socket = await client.connect()
        first = await frame(socket)
        assert first["error"] == ""
        await accept(media.pc, first["msg"])
        await eventually(connected(media), 10, "media")

        # The WebSocket is cut while media goes on: the seat stays, and the client may register again, once at a time.
        socket.transport.abort()
        await asyncio.sleep(1)
        again = await client.connect()
        second = await client.connect()
        assert await frame(second) == {"msg": "", "error": "Duplicated registration"}
        assert await closed(second) == 1008
        assert "Early" in members(server, "early")
        # A second offer of the same connection is answered there.
        await again.send(json.dumps({"cmd": "send", "msg": json.dumps({"type": "offer", "sdp": media.pc.localDescription.sdp})}))
        assert json.loads((await frame(again))["msg"])["type"] == "answer"

        # Media goes on for ten seconds without a WebSocket, and then the client is gone.
        again.transport.abort()
        took = await gone(server, "early", "Early", 12)
        assert took > 8, f"gone after {took:.1f} s although its media went on"
        await media.pc.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def connected(media):
    async def check():
        return None if media.picture is not None else media.pc.connectionState
    return check


def test_the_errors_of_the_websocket_are_those_of_collider(server):
    async def run():
        client = Client(server, "rules")
        socket = await client.connect()
        await socket.send('{"cmd":"dance"}')
        assert await frame(socket) == {"msg": "", "error": "Invalid message: unexpected 'cmd'"}
        # Only reported; the connection goes on until its next fault.
        await socket.send(json.dumps({"cmd": "register", "roomid": "rules", "clientid": client.id}))
        assert await frame(socket) == {"msg": "", "error": "Duplicated register request"}
        assert await closed(socket) == 1008
        for text, error in [
            ('{"cmd":"register","roomid":"rules"}', "Invalid register request: missing 'clientid' or 'roomid'"),
            ('{"cmd":"send","msg":"{}"}', "Client not registered"), ('{"cmd":"register","roomid":"rules","clientid":"1"}', "Max room capacity reached"),
            (json.dumps({"cmd": "register", "roomid": "other", "clientid": client.id}), "Max room capacity reached"),
        ]:
            stranger = await websockets.connect(client.params["wss_url"])
            await stranger.send(text)
            assert await frame(stranger) == {"msg": "", "error": error}
            assert await closed(stranger) == 1008
        registered = await Client(server, "rules").connect()
        await registered.send('{"cmd":"send"}')
        assert (await frame(registered))["error"] == "Invalid send request: missing 'msg'"
        await closed(registered)
        for rubbish in ["nonsense", "[" * 5000, b"\x00\xff", "7", "null"]:
            stranger = await websockets.connect(client.params["wss_url"])
            await stranger.send(rubbish)
            assert (await frame(stranger))["error"].startswith("Invalid message: ")
            assert await closed(stranger) == 1008
        # What only concerns a message does not end the call, unless there is no end of it.
        last = Client(server, "rules")
        socket = await last.connect()
        for _ in range(30):
            await socket.send('{"cmd":"send","msg":"nonsense"}')
        errors = 0
        while errors < 30:
            try:
                assert (await frame(socket))["error"].startswith("Invalid message: ")
            except Exception:
                break
            errors += 1
        assert 20 <= errors < 25, errors
        large = await Client(server, "rules").connect()
        await large.send("x" * (262_144 + 1))
        assert await closed(large) == 1009
    asyncio.run(asyncio.wait_for(run(), 40))


def test_behind_a_tls_proxy_the_web_app_holds_its_call(tmp_path, pages):
    with Server(tmp_path / "server", origin=pages, config="http: { trustedProxies: [127.0.0.0/8] }\n") as server:
        async def run():
            async with tls_proxy(tmp_path, server) as proxy:
                ada = await PythonPeer(await AiortcPeer(server, "tls", "Ada", "red", TONES[0]).join()).joined()
                page = await AppRTCPage.open(pages, server, "tls", "alice", "green", TONES[1], at=proxy, flags=["--ignore-certificate-errors"])
                try:
                    await page.joined()
                    assert await page.browser.evaluate("apprtc.socket.url") == proxy.replace("https", "wss") + "/ws"
                    assert await page.browser.evaluate("apprtc.post") == proxy + "/collider"
                    await eventually(lambda: picture_is_right([ada, page]), 10, "picture")
                    await page.browser.evaluate("hangUpAppRTC()")
                    await gone(server, "tls", "alice", 1)
                    assert await page.faults() == []
                finally:
                    await page.browser.close()
                    await ada.peer.close()
        asyncio.run(asyncio.wait_for(run(), 60))
        headers = {"Host": "meet.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.5"}
        status, _, body = server.request("POST", "/join/room12345", b"", headers)
        params = json.loads(body)["params"]
        assert status == 200 and params["wss_url"] == "wss://meet.example/ws" and params["wss_post_url"] == "https://meet.example/collider"
        assert params["room_link"] == "https://meet.example/r/room12345" and params["ice_server_url"].startswith("https://meet.example/v1alpha/")
    with Server(tmp_path / "direct") as server:
        # Nobody but a trusted proxy decides that.
        status, _, body = server.request("POST", "/join/room12345", b"", {"X-Forwarded-Proto": "https"})
        assert json.loads(body)["params"]["wss_url"] == f"ws://127.0.0.1:{server.port}/ws"


@pytest.mark.usefixtures("needs_apprtc_signaling")
def test_apprtc_signaling_of_aiortc_shares_a_room(server):
    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "real", "Ada", "red", TONES[0]).join()).joined()
        real = SignalingPeer(server, "real", "", "green", TONES[1])
        try:
            await real.join(signaling())
            peers = [ada, await AppViewer(real).joined()]
            await eventually(lambda: picture_is_right(peers), 15, "picture")
            await eventually(lambda: sound_is_right(peers), 15, "sound")
            await real.close()
            assert await gone(server, "real", real.name, 1) <= 1
        finally:
            await ada.peer.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_coturn")
def test_a_turn_server_relays_the_call_of_who_has_no_other_way(tmp_path, pages):
    with Coturn(tmp_path / "turn", "north") as turn:
        config = f"ice: {{ turn: {{ urls: ['{turn.url}'], secret: north }} }}\n"

        async def run(server):
            ada = await PythonPeer(await AiortcPeer(server, "turn", "Ada", "red", TONES[0]).join()).joined()
            page = await AppRTCPage.open(pages, server, "turn", "far", "green", TONES[1], "&it=relay&ice=joined")
            try:
                await page.joined()
                (entry,) = await page.browser.evaluate("apprtc.config.iceServers")
                expires, user = entry["username"].split(":")
                assert entry["urls"] == [turn.url] and user == page.id and 3_500 < int(expires) - time.time() <= 3_600
                await eventually(lambda: picture_is_right([ada, page]), 15, "picture")
                await eventually(lambda: sound_is_right([ada, page]), 15, "sound")
                ways = await page.browser.evaluate("stats().then(s => Object.values(s.locals).map(l => l.candidateType))")
                assert set(ways) == {"relay"}, ways
                await asyncio.sleep(3)
                await goes_on(page)
                assert await page.faults() == []
                # coturn has given the allocation to these credentials.
                assert re.search(rf"user <{entry['username']}>: incoming packet ALLOCATE processed, success", turn.text()), turn.text()[-3000:]
                # The apps that ask without a key get theirs where their address has a seat.
                early = json.loads(server.request("POST", "/v1alpha/iceconfig", b"")[2])["iceServers"]
                assert [s["username"].split(":")[1] for s in early] == [page.id]
            finally:
                await page.browser.close()
                await ada.peer.close()
        with Server(tmp_path / "server", origin=pages, config=config) as server:
            asyncio.run(asyncio.wait_for(run(server), 90))
