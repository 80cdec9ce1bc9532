"""The native signalling of a client without media."""

import asyncio
import json

import pytest
import websockets

from support.signalling import ask, connect, read


@pytest.fixture
def server(shared_server):
    return shared_server


def test_bad_messages_are_answered_and_the_connection_stays(server):
    async def run():
        async with await connect(server) as socket:
            for text in ["{", "[]", '{"type": 5}', '{"type": "dance"}', '{"type": "join"}', '{"type": "offer", "sdp": "v=0"}']:
                await socket.send(text)
                error = await read(socket, "error")
                assert error["message"] and error["fatal"] is False, (text, error)
            joined = await ask(socket, "joined", type="join", room="r", name="Ada")
            assert joined["you"]["name"] == "Ada" and joined["you"]["id"] and joined["room"] == "r"
            error = await ask(socket, "error", type="offer", sdp="this is no session description")
            assert error["code"] == "bad_sdp"
            error = await ask(socket, "error", type="layout", name="no-such", scope="room")
            assert error["code"] == "unknown_layout"
    asyncio.run(run())


def test_chat_reaches_everyone_or_one_and_participants_are_told_of_changes(server):
    async def run():
        async with await connect(server) as a, await connect(server) as b, await connect(server) as c:
            ada = (await ask(a, "joined", type="join", room="r", name="Ada"))["you"]["id"]
            bo = (await ask(b, "joined", type="join", room="r", name="Bo"))["you"]["id"]
            await ask(c, "joined", type="join", room="r", name="Cy")
            people = await read(a, "participants")
            while len(people["participants"]) < 3:
                people = await read(a, "participants")
            assert [p["name"] for p in people["participants"]] == ["Ada", "Bo", "Cy"]
            await a.send(json.dumps({"type": "chat", "text": "secret", "to": bo}))
            await a.send(json.dumps({"type": "chat", "text": "hello"}))
            assert (await read(b, "chat"))["text"] == "secret"
            chat = await read(c, "chat")
            assert chat["text"] == "hello" and (chat.get("from") == ada or ada in json.dumps(chat))
            await b.send(json.dumps({"type": "state", "audio": False, "video": True, "hand": True}))
            while True:
                people = await read(a, "participants")
                other = next((p for p in people["participants"] if p["id"] == bo), None)
                if other and other["hand"] and not other["audio"]:
                    break
            await c.send(json.dumps({"type": "leave"}))
            while len((await read(a, "participants"))["participants"]) != 2:
                pass
    asyncio.run(run())


def test_what_changes_is_told_four_times_a_second_and_leads_to_the_same_list(server):
    """One client updates its list by changes, another receives the whole list: both agree, however often the state changes."""
    def people(message):
        return {p["id"]: p for p in message}

    async def run():
        async with await connect(server) as a, await connect(server) as b, await connect(server) as c, await connect(server) as d:
            joined = await ask(a, "joined", type="join", room="deltas", name="Ada", deltas=True)
            kept, viewers, changes, lists = people(joined["participants"]), joined["viewers"], 0, 0
            whole = people((await ask(b, "joined", type="join", room="deltas", name="Bo"))["participants"])
            cy = (await ask(c, "joined", type="join", room="deltas", name="Cy"))["you"]["id"]
            eve = (await ask(d, "joined", type="join", room="deltas", name="Eve", role="viewer"))["you"]["id"]

            async def restless():
                for turn in range(60):
                    await c.send(json.dumps({"type": "state", "hand": turn % 2 == 0, "audio": turn % 3 == 0}))
                    await asyncio.sleep(0.03)
                # Messages beyond the rate are refused, so the last change is repeated until it is accepted.
                await asyncio.sleep(0.5)
                await c.send(json.dumps({"type": "state", "hand": True, "audio": True, "video": False}))

            async def keep():
                nonlocal kept, viewers, changes, lists
                async for text in a:
                    message = json.loads(text)
                    if message["type"] == "participants":
                        kept, viewers = people(message["participants"]), message["viewers"]
                        lists += 1
                    elif message["type"] == "participantsChanged":
                        kept = {id: person for id, person in kept.items() if id not in message["left"]}
                        assert all(person["id"] in kept for person in message["changed"]), message
                        kept |= people(message["changed"]) | people(message["joined"])
                        viewers, changes = message["viewers"], changes + 1

            async def follow():
                nonlocal whole
                async for text in b:
                    message = json.loads(text)
                    assert message["type"] != "participantsChanged"
                    if message["type"] == "participants":
                        whole = people(message["participants"])

            async def ignore(socket):
                async for _ in socket:
                    pass

            tasks = [asyncio.create_task(work) for work in (keep(), follow(), ignore(c), ignore(d))]
            begin = asyncio.get_running_loop().time()
            await restless()
            await asyncio.sleep(1)
            spent = asyncio.get_running_loop().time() - begin
            # From the list of `joined` on, changes are enough.
            assert 3 <= changes <= 4 * spent + 2 and lists == 0, (changes, lists, spent)
            assert kept[cy]["hand"] and kept[cy]["audio"] and not kept[cy]["video"]
            assert viewers == 1 and eve not in kept and whole.keys() - kept.keys() == {eve}
            assert all(whole[id] == person for id, person in kept.items())
            for socket in (a, b, c, d):
                await socket.send(json.dumps({"type": "leave"}))
            await asyncio.gather(*tasks)
    asyncio.run(run())


def test_a_full_or_locked_room_says_so(server):
    server.json("PUT", "/api/rooms/small", {"maxParticipants": 1}, expect=201)
    server.json("PUT", "/api/rooms/shut", {"locked": True}, expect=201)

    async def run():
        async with await connect(server) as a, await connect(server) as b, await connect(server) as c:
            await ask(a, "joined", type="join", room="small", name="Ada")
            assert (await ask(b, "error", type="join", room="small", name="Bo"))["code"] == "room_full"
            assert (await ask(c, "error", type="join", room="shut", name="Cy"))["code"] == "room_locked"
    asyncio.run(run())


def test_who_takes_a_seat_back_puts_the_old_connection_out(server):
    async def run():
        async with await connect(server) as old, await connect(server) as new:
            you = (await ask(old, "joined", type="join", room="r", name="Ada"))["you"]
            assert (await ask(new, "joined", type="join", resume=you["resume"]))["you"]["id"] == you["id"]
            assert (await read(old, "left"))["reason"] == "replaced"
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await asyncio.wait_for(old.recv(), 5)
            assert closed.value.rcvd.code == 1000
            await asyncio.sleep(0.3)
            assert [p["id"] for p in server.json("GET", "/api/rooms/r")["participants"]] == [you["id"]]
            assert (await ask(new, "error", type="dance"))["code"] == "bad_message"
    asyncio.run(run())


@pytest.mark.parametrize("joins, limit", [(True, "262144"), (False, "16384")], ids=["in a room", "in no room"])
def test_an_oversized_message_is_told_and_closes_only_its_own_connection(server, joins, limit):
    async def fragments():
        for _ in range(6):
            yield "x" * 100_000

    def ended():
        lines = server.get("/metrics")[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith('tessera_http_connections_ended_total{reason="body_size"}'))

    async def run():
        before = ended()
        async with await connect(server) as a:
            await ask(a, "joined", type="join", room="r", name="Ada")
            texts = [json.dumps({"type": "chat", "text": "x" * 600_000}), fragments()]
            # One frame may have this size, but not before the join.
            texts += [] if joins else [json.dumps({"type": "join", "room": "r", "name": "Bo", "token": "x" * 200_000})]
            for text in texts:
                async with await connect(server) as b:
                    if joins:
                        await ask(b, "joined", type="join", room="r", name="Bo")
                    sending = asyncio.ensure_future(b.send(text))
                    error = await read(b, "error")
                    assert error["code"] == "bad_message" and error["fatal"] and limit in error["message"], error
                    with pytest.raises(websockets.ConnectionClosed) as closed:
                        await asyncio.wait_for(b.recv(), 5)
                    assert closed.value.rcvd.code == 1009
                    await asyncio.gather(sending, return_exceptions=True)
            await ask(a, "error", type="dance")
            assert ended() == before + len(texts)
    asyncio.run(run())


def test_a_stranger_s_large_message_that_came_whole_is_told_and_the_connection_stays(server):
    async def run():
        async with await connect(server) as socket:
            error = await ask(socket, "error", type="join", room="r", name="Bo", token="x" * 20_000)
            assert error["code"] == "bad_message" and error["fatal"] is False and "16384" in error["message"], error
            assert (await ask(socket, "joined", type="join", room="r", name="Bo"))["you"]["name"] == "Bo"
    asyncio.run(run())


def test_messages_are_compressed_where_the_client_can_and_bombs_are_refused(server):
    """By Python's websockets, which offers permessage-deflate by itself: a message a thousand times as long as its frame ends its own connection."""
    async def run():
        others = []
        for offer in ("deflate", None):
            socket = await websockets.connect(server.signal_url, compression=offer)
            assert bool(socket.protocol.extensions) == bool(offer), socket.protocol.extensions
            await ask(socket, "joined", type="join", room="deflated", name="Ada", deltas=True)
            others.append(socket)
        for _ in range(8):
            bomb = await websockets.connect(server.signal_url, compression="deflate")
            await bomb.send(json.dumps({"type": "join", "room": "deflated", "name": " " * (8 << 20)}))
            with pytest.raises(websockets.ConnectionClosed) as closed:
                while True:
                    await asyncio.wait_for(bomb.recv(), 5)
            assert closed.value.rcvd.code == 1009
        # Rubbish in a frame that says to be compressed.
        rubbish = await websockets.connect(server.signal_url, compression=None)
        rubbish.transport.write(bytes([0xC1, 0x84, 0, 0, 0, 0]) + b"rub!")
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await asyncio.wait_for(rubbish.recv(), 5)
        assert closed.value.rcvd.code == 1002
        for socket in others:
            await ask(socket, "pong", type="ping")
            await socket.close()
    before = server.resident()
    asyncio.run(asyncio.wait_for(run(), 60))
    assert server.resident() < before + 40, (before, server.resident())
