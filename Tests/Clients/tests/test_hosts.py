"""What moderators do, over the native signalling: moderation, the waiting room, PINs, and bringing viewers on stage."""

import asyncio
import contextlib
import json
import signal
import time

import pytest
import websockets

from support.aiortc_peer import AiortcPeer
from support.browser import Chromium
from support.media import TONES
from support.people import BrowserPeer, PythonPeer, eventually, goes_on, page_url
from support.signalling import ask, connect, read

pytestmark = pytest.mark.patient


def requests(other):
    """Every request of a moderator, which would concern `other`."""
    alone = ["mute", "askToUnmute", "stopScreen", "stopVideo", "askForVideo", "lowerHand", "stage", "audience", "remove"]
    return [
        *({"type": "moderate", "action": action, "participant": other} for action in alone),
        *({"type": "moderate", "action": action} for action in ["muteAll", "lowerHands", "admit", "refuse", "end"]),
        {"type": "moderate", "action": "role", "participant": other, "role": "presenter"},
        {"type": "moderate", "action": "volume", "participant": other, "volume": 2},
        {"type": "moderate", "action": "recorded", "participant": other, "recorded": False},
        {"type": "room", "locked": True}, {"type": "room", "layoutLocked": True}, {"type": "room", "admit": "moderator"}, {"type": "room", "pin": "2718"},
        {"type": "room", "muteOnEntry": True}, *({"type": "room", what: "presenters"} for what in ["share", "chat", "unmute"]),
    ]


def wait_for(condition, timeout=5):
    deadline = time.monotonic() + timeout
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def people(socket, wanted):
    """Waits until `wanted` holds of the participants, by their names."""
    while True:
        everyone = {p["name"]: p for p in (await read(socket, "participants"))["participants"]}
        with contextlib.suppress(KeyError):
            if wanted(everyone):
                return everyone


def test_only_the_host_s_requests_about_others_are_done(server):
    async def run():
        async with contextlib.AsyncExitStack() as sockets:
            async def enter(name, **wishes):
                socket = await sockets.enter_async_context(await connect(server))
                joined = await ask(socket, "joined", type="join", room="r", name=name, **wishes)
                assert joined["settings"] == {"locked": False, "layoutLocked": False, "admit": "anyone", "pin": False, "hls": False,
                                              "muteOnEntry": False, "share": "everyone", "chat": "everyone", "unmute": "everyone"}
                return socket, joined["you"]

            async def tell(**message):
                await host.send(json.dumps(message))

            host, me = await enter("Host")
            ann, her = await enter("Ann", role="moderator")
            assert me["role"] == "moderator" and her["role"] == "participant", "nobody believes a claimed role"
            for role in ["participant", "presenter", "viewer"]:
                socket, you = await enter(f"A {role}", role="viewer" if role == "viewer" else None)
                if role == "presenter":
                    await tell(type="moderate", action="role", participant=you["id"], role=role)
                    assert (await read(socket, "role"))["role"] == role
                for request in requests(her["id"]):
                    error = await ask(socket, "error", **request)
                    assert error["code"] == "forbidden" and error["fatal"] is False, (role, request, error)

            await tell(type="moderate", action="mute", participant=her["id"])
            assert (await read(ann, "muted"))["by"] == me["id"]
            await people(host, lambda p: not p["Ann"]["audio"])
            await tell(type="moderate", action="askToUnmute", participant=her["id"])
            assert await read(ann, "asked") == {"type": "asked", "action": "unmute", "by": me["id"]}
            await ann.send(json.dumps({"type": "state", "audio": True, "hand": True}))
            await people(host, lambda p: p["Ann"]["audio"] and p["Ann"]["hand"])
            await ann.send(json.dumps({"type": "present", "on": True}))
            await people(host, lambda p: p["Ann"]["presenting"])
            await tell(type="moderate", action="stopScreen", participant=her["id"])
            assert (await read(ann, "asked"))["action"] == "stopScreen"
            await tell(type="moderate", action="lowerHands")
            await tell(type="moderate", action="volume", participant=her["id"], volume=0.5)
            await people(host, lambda p: not p["Ann"]["hand"] and not p["Ann"]["presenting"] and p["Ann"]["volume"] == 0.5)
            await tell(type="room", layoutLocked=True)
            assert (await read(ann, "room"))["layoutLocked"] is True
            assert (await ask(ann, "error", type="layout", name="speaker", scope="room"))["code"] == "forbidden"
            await tell(type="moderate", action="remove", participant=her["id"])
            assert (await read(ann, "left"))["reason"] == "removed"

            error = await ask(host, "error", type="moderate", action="role", participant=me["id"], role="viewer")
            assert error["code"] == "bad_message" and "only moderator" in error["message"]
            await tell(type="moderate", action="end")
            assert (await read(host, "left"))["reason"] == "room_ended" and (await read(socket, "left"))["reason"] == "room_ended"
    asyncio.run(run())


def test_the_one_there_longest_inherits(server):
    async def run():
        async with await connect(server) as a, await connect(server) as b, await connect(server) as c:
            for socket, name in [(a, "Ada"), (b, "Bo"), (c, "Cy")]:
                await ask(socket, "joined", type="join", room="r", name=name)
            await a.send(json.dumps({"type": "leave"}))
            assert (await read(b, "role"))["role"] == "moderator"
            assert (await people(c, lambda p: len(p) == 2 and p["Bo"]["role"] == "moderator"))["Cy"]["role"] == "participant"
    asyncio.run(run())


def test_a_server_that_is_killed_gives_the_role_back_to_its_holder_and_to_nobody_else(server):
    server.config = "rooms: {admit: moderator}\n"
    server.stop()
    server.start()

    async def join(sockets, name, wanted="joined", **wishes):
        socket = await sockets.enter_async_context(await connect(server))
        return socket, await ask(socket, wanted, type="join", room="r", name=name, **wishes)

    async def run():
        async with contextlib.AsyncExitStack() as sockets:
            error = (await join(sockets, "Bot", "waiting", host=False))[1]
            assert error == {"type": "waiting"}, "a bot that is first is not the host"
            host, joined = await join(sockets, "Host")
            key = joined["you"]["hostKey"]
            bot = (await read(host, "waiting"))["people"][0]["id"]
            await host.send(json.dumps({"type": "moderate", "action": "admit", "participant": bot}))
            co, _ = await join(sockets, "Co-host", "waiting")
            await host.send(json.dumps({"type": "moderate", "action": "admit"}))
            other = (await read(co, "joined"))["you"]
            await host.send(json.dumps({"type": "moderate", "action": "role", "participant": other["id"], "role": "moderator"}))
            told = await read(co, "role")
            assert told["role"] == "moderator" and told["hostKey"] not in (None, key), "each has a key of its own"
            await asyncio.to_thread(wait_for, lambda: (server.directory / "data" / "rooms.json").read_text().count('"keys"') == 1)
            await asyncio.sleep(1)
        server.stop(signal.SIGKILL)
        assert key not in (server.directory / "data" / "rooms.json").read_text()
        server.start()
        async with contextlib.AsyncExitStack() as sockets:
            await join(sockets, "Guest", "waiting")
            await join(sockets, "Thief", "waiting", hostKey="a" * 26)
            host, joined = await join(sockets, "Host", hostKey=key)
            assert joined["you"]["role"] == "moderator" and joined["you"]["hostKey"] == key
            assert sorted(person["name"] for person in (await read(host, "waiting"))["people"]) == ["Guest", "Thief"]
            _, joined = await join(sockets, "Co-host", hostKey=told["hostKey"])
            assert joined["you"]["role"] == "moderator"
    asyncio.run(run())


def test_the_api_says_who_the_host_is(server):
    key = "the-key-of-a-program-1234567"
    assert server.json("PUT", "/api/rooms/r", {"hostKey": key, "locked": True}, expect=201)["hostKey"] is True
    assert "hostKey" in server.request("PUT", "/api/rooms/s", {"hostKey": "short"})[2].decode()

    async def run():
        async with await connect(server) as guest, await connect(server) as host:
            assert (await ask(guest, "error", type="join", room="r", name="Guest"))["code"] == "room_locked"
            assert (await ask(host, "joined", type="join", room="r", name="Host", hostKey=key))["you"]["role"] == "moderator"
    asyncio.run(run())


def test_who_waits_gets_nothing_until_a_moderator_decides(server):
    server.json("PUT", "/api/rooms/r", {"admit": "moderator"}, expect=201)

    async def wait(name, socket):
        assert await ask(socket, "waiting", type="join", room="r", name=name) == {"type": "waiting"}

    async def waiting(host, names):
        while True:
            listed = {p["name"]: p["id"] for p in (await read(host, "waiting"))["people"]}
            if sorted(listed) == names:
                return listed

    async def run():
        async with await connect(server) as host, await connect(server) as ann, await connect(server) as bob:
            joined = await ask(host, "joined", type="join", room="r", name="Host")
            assert joined["you"]["role"] == "moderator" and joined["settings"]["admit"] == "moderator"
            await wait("Ann", ann)
            await wait("Bob", bob)
            ids = await waiting(host, ["Ann", "Bob"])
            assert server.json("GET", "/api/rooms/r")["waiting"] == 2
            assert (await ask(ann, "error", type="chat", text="let me in"))["fatal"] is False
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await ann.recv()
            await host.send(json.dumps({"type": "moderate", "action": "refuse", "participant": ids["Bob"]}))
            error = await read(bob, "error")
            assert error["code"] == "refused" and error["fatal"] is True
            with pytest.raises(websockets.ConnectionClosed):
                await bob.recv()
            await host.send(json.dumps({"type": "moderate", "action": "admit", "participant": ids["Ann"]}))
            assert json.loads(await asyncio.wait_for(ann.recv(), 5))["type"] == "joined"
            await waiting(host, [])

            # Sockets that die, and clients that come back, keep no place.
            for turn in range(8):
                dying = await connect(server)
                await wait(f"Dying {turn}", dying)
                dying.transport.abort()
            await waiting(host, [])
            async with await connect(server) as cem:
                await wait("Cem", cem)
                status, _, answer = await asyncio.to_thread(server.request, "POST", "/whip/r", b"v=0\r\n", {"Content-Type": "application/sdp"})
                assert status == 403 and json.loads(answer)["error"]["code"] == "refused", answer
                await host.send(json.dumps({"type": "room", "admit": "anyone"}))
                await read(cem, "joined")
    asyncio.run(run())


def test_a_room_with_a_pin(server):
    room = server.json("PUT", "/api/rooms/r", {"pin": "2718"}, expect=201)
    assert room["pin"] is True

    async def attempt(**wishes):
        async with await connect(server) as socket:
            await socket.send(json.dumps({"type": "join", "room": "r", "name": "Eve", **wishes}))
            while True:
                answer = json.loads(await asyncio.wait_for(socket.recv(), 5))
                if answer["type"] in ("joined", "error"):
                    return answer

    async def run():
        error = await attempt()
        assert error["code"] == "pin_required" and error["fatal"] is True
        error = await attempt(pin="1234")
        assert error["code"] == "wrong_pin" and error["fatal"] is True
        joined = await attempt(pin="2718")
        assert joined["type"] == "joined" and joined["settings"]["pin"] is True and "2718" not in json.dumps(joined)
        codes = [(await attempt(pin=f"{number}"))["code"] for number in range(3000, 3014)]
        assert codes.count("wrong_pin") <= 10 and codes[-1] == "too_fast", codes
        assert (await attempt(pin="2718"))["code"] == "too_fast", "a right PIN of one who guesses is not told from a wrong one"
        assert "2718" not in server.log_text() and b"2718" not in server.get("/api/rooms/r")[2] + server.get("/metrics")[2]
    asyncio.run(run())


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_viewer_comes_on_stage_and_goes_back_on_the_same_connection(server, pages):
    """Chromium, which at first only receives; on stage it sends in the same sections."""
    async def run():
        host = PythonPeer(await AiortcPeer(server, "show", "Host", "red", TONES[0]).join())
        url = page_url(pages, server, "show", "Viewer", "blue", TONES[1]) + "&role=viewer&direction=recvonly"
        viewer = BrowserPeer(await Chromium().start(url), "Viewer", "blue", TONES[1])
        try:
            await host.joined()
            await viewer.joined()

            async def tell(action):
                await host.peer.send(type="moderate", action=action, participant=viewer.id)

            async def shows(expected):
                for peer in [host, viewer]:
                    seen = await peer.tile_colours()
                    if seen != expected:
                        return f"{peer.name} sees {seen}, not {expected}"
                heard = bool((await host.heard([TONES[1]])).get(TONES[1]))
                return None if heard == (viewer.id in expected) else f"the host hears the viewer: {heard}"

            alone, both = {host.id: "red"}, {host.id: "red", viewer.id: "blue"}
            await eventually(lambda: shows(alone), 15, "a viewer has no tile")
            await viewer.browser.evaluate("(socket.send(JSON.stringify({ type: 'state', hand: true })), 1)")
            await tell("stage")
            await viewer.browser.wait_for("state.role === 'participant'")
            await viewer.browser.evaluate("sendToo()")
            await eventually(lambda: shows(both), 15, "on stage")
            await goes_on(viewer)
            await tell("audience")
            await viewer.browser.wait_for("state.role === 'viewer'")
            await eventually(lambda: shows(alone), 10, "back in the audience, still sending")
            await tell("stage")
            await eventually(lambda: shows(both), 10, "on stage again, without an offer")
            person = next(p for p in host.peer.participants if p["id"] == viewer.id)
            assert person["role"] == "participant" and not person["hand"]
            assert await viewer.browser.evaluate("state.connection") == "connected" and await viewer.browser.evaluate("state.id") == viewer.id
        finally:
            await viewer.browser.close()
            await host.peer.close()
    asyncio.run(asyncio.wait_for(run(), 100))
