"""A call outlives its node: killed, cut off, killed with etcd's leader, and cut off while it was the front of everybody. How soon, the benchmark
says (`scripts/bench --cluster`): here everybody has all the time that a busy machine takes, and must keep everything."""

import asyncio
import json
import subprocess

import pytest
import websockets

from bench.cluster import DEATHS, strike
from support.light import LightCall
from support.members import ask, kept, later, wall
from support.server import PROGRAM

pytestmark = pytest.mark.patient


def limit(kind):
    """Seconds until everybody is back: several times the benchmark's aim."""
    return max(20, 4 * DEATHS[kind].aim)


def recordings(endpoint, series):
    return [each for each in endpoint.json("GET", "/api/recordings") if each["series"] == series]


async def furnish(cluster, call):
    """Gives the room what it must keep: a layout, a pin, roles, a volume, a mute, chat, a lock, a recording. Returns the recording."""
    front, path = cluster.front.endpoint, f"/api/rooms/{call.room}"
    pinned, muted = call.callers
    await ask(front, "PUT", path, {"layout": "sidebar", "maxParticipants": 9})
    await ask(front, "PATCH", f"{path}/participants/{pinned.id}", {"pinned": True})
    await ask(front, "PATCH", f"{path}/participants/{call.page.id}", {"role": "moderator", "volume": 0.5})
    await ask(front, "PATCH", f"{path}/participants/{muted.id}", {"audioMuted": True})
    muted.is_muted = True
    await call.say("before")
    recording = await ask(front, "POST", f"{path}/recordings", {}, 201)
    await ask(front, "PUT", path, {"locked": True})
    # The room's state is stored at most twice a second.
    await asyncio.sleep(1.5)
    return recording


@pytest.mark.parametrize("kind", DEATHS)
def test_everybody_is_back_in_one_room_with_all_they_had(cluster, kind):
    death = DEATHS[kind]

    async def run():
        async with LightCall(cluster, f"death-{kind}") as call:
            await call.start("others", page_by="owner" if death.by_owner else None)
            recording = await furnish(cluster, call)
            page = await call.well(20)
            before = kept(await asyncio.to_thread(call.state))
            owner = await asyncio.to_thread(cluster.owner, call.room)
            epoch = await asyncio.to_thread(cluster.etcd.epoch, call.room)
            start = wall()
            strike(cluster, kind, owner)
            print(f"{death.what}: everybody was back after {await call.back(limit(kind), start):.1f} s")
            new = await asyncio.to_thread(cluster.owner, call.room)
            assert new is not owner and await asyncio.to_thread(cluster.etcd.epoch, call.room) > epoch
            assert kept(await asyncio.to_thread(call.state)) == before
            after = await call.well(20)
            assert (after["id"], after["name"], after["role"]) == (page["id"], page["name"], "moderator")
            assert after["joins"] > page["joins"] and after["chat"] == ["before"], after
            # The next part of the recording runs at the new owner.
            part = await later(lambda: next((each for each in recordings(new.endpoint, recording["series"]) if each["id"].startswith(f"{new.name}-")), None),
                               20, "the next part")
            assert part["state"] == "recording" and part["room"] == call.room
            await asyncio.sleep(1.5)
            stopped = await ask(new.endpoint, "POST", f"/api/recordings/{part['id']}/stop")
            assert stopped["state"] == "finished", stopped
            # The dead node comes back and closes its part; a cut one stopped it by itself.
            cluster.heal_programs()
            await later(cluster.is_whole, 60, "the whole cluster")
            parts = await later(lambda: parts if len(parts := recordings(cluster.front.endpoint, recording["series"])) == 2 else None, 20, "both parts")
            assert {each["id"].split("-")[0] for each in parts} == {owner.name, new.name}
            await later(lambda: all(each["state"] == "finished" for each in recordings(cluster.front.endpoint, recording["series"])), 30, "the ends")
            # A node that returns takes no room away from its new owner.
            assert await asyncio.to_thread(cluster.owner, call.room) is new
            assert (await call.well(20))["joins"] == after["joins"]
            assert kept(await asyncio.to_thread(call.state)) == before
            files = [node.recordings / each["file"] for node in (owner, new) for each in parts if each["id"].startswith(f"{node.name}-")]
            checked = await asyncio.to_thread(
                subprocess.run, [PROGRAM, "recording", "check", "--quick", *files], capture_output=True, text=True, timeout=30)
            assert len(files) == 2 and checked.returncode == 0, checked.stdout + checked.stderr
    asyncio.run(asyncio.wait_for(run(), 240))


def test_who_was_removed_does_not_come_back_by_the_ticket(cluster):
    """Neither at the same owner nor at the next one, and a ticket opens no other room than its own. People without media have seats as well."""
    room = "removed"

    async def join(room, name, resume=None):
        """The answer to a join, once a node has the room."""
        for _ in range(40):
            try:
                async with asyncio.timeout(12):
                    socket = await websockets.connect(cluster.front.endpoint.signal_url)
                    await socket.send(json.dumps({"type": "join", "room": room, "name": name} | ({"resume": resume} if resume else {})))
                    answer = json.loads(await socket.recv())
            except (OSError, TimeoutError, websockets.WebSocketException):
                answer = {"type": "error", "code": "overloaded"}
            if answer.get("code") not in ("overloaded", "too_fast", "internal"):
                return answer, socket
            await asyncio.sleep(0.5)
        raise AssertionError(f"{name} gets no answer from {room}: {answer}")

    async def run():
        (eve, out), (ada, there) = await join(room, "Eve"), await join(room, "Ada")
        owner = await asyncio.to_thread(cluster.owner, room)
        status, _, _ = await asyncio.to_thread(
            cluster.front.endpoint.request, "DELETE", f"/api/rooms/{room}/participants/{eve['you']['id']}")
        assert status in (200, 204)
        await out.close()
        await asyncio.sleep(1.5)
        for _ in range(2):
            answer, socket = await join(room, "Eve", eve["you"]["resume"])
            assert (answer["type"], answer.get("code")) == ("error", "unauthorized"), answer
            await socket.close()
            # The node that has the seat gives it back, as a resume does whatever room it names.
            answer, socket = await join("another", "Ada", ada["you"]["resume"])
            assert answer.get("code") == "unauthorized" or (answer["you"]["id"], answer["room"]) == (ada["you"]["id"], room), answer
            await socket.close()
            if owner.is_running:
                owner.kill()
                there.transport.abort()
                answer, there = await join(room, "Ada", ada["you"]["resume"])
                assert answer["type"] == "joined" and answer["you"]["id"] == ada["you"]["id"], answer
                ada = answer
                assert await asyncio.to_thread(cluster.owner, room) not in (owner, None)
        people = (await ask(cluster.front.endpoint, "GET", f"/api/rooms/{room}"))["participants"]
        assert [person["id"] for person in people] == [ada["you"]["id"]]
        there.transport.abort()
    asyncio.run(asyncio.wait_for(run(), 120))
