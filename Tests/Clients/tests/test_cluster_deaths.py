"""A call outlives its node: killed, cut off, killed with etcd's leader, and cut off while it was the front of everybody."""

import asyncio
import json
import subprocess

import pytest
import websockets

from bench.cluster import DEATHS, Call, strike
from support.members import ask, kept, later, wall
from support.server import PROGRAM

pytestmark = [pytest.mark.usefixtures("good_line"), pytest.mark.quiet]


def recordings(endpoint, series=None):
    listed = endpoint.json("GET", "/api/recordings")
    return [each for each in listed if series in (None, each["series"])]


async def furnish(cluster, call):
    """Gives the room what it must keep: a layout, a pin, roles, a volume, a mute, chat, a lock, a recording. Returns the recording."""
    front, path = cluster.front.endpoint, f"/api/rooms/{call.room}"
    people = {person["name"]: person["id"] for person in call.state()["participants"]}
    chromium, python = (next(id for name, id in people.items() if name.startswith(kind)) for kind in ("Chromium", "ReturningPeer"))
    await ask(front, "PUT", path, {"layout": "sidebar", "maxParticipants": 9})
    await ask(front, "PATCH", f"{path}/participants/{python}", {"pinned": True})
    await ask(front, "PATCH", f"{path}/participants/{chromium}", {"role": "moderator", "volume": 0.5})
    caller = next((id for name, id in people.items() if name.startswith("Caller")), None)
    if caller:
        await ask(front, "PATCH", f"{path}/participants/{caller}", {"audioMuted": True})
    await call.members[-1].send(type="chat", text="before")
    recording = await ask(front, "POST", f"{path}/recordings", {}, 201)
    await ask(front, "PUT", path, {"locked": True})
    # The room's state is stored at most twice a second.
    await asyncio.sleep(1.5)
    return recording


@pytest.mark.parametrize("kind", DEATHS)
def test_everybody_is_back_in_one_room_with_all_they_had(cluster, kind):
    death = DEATHS[kind]

    async def run():
        async with Call(cluster, f"death-{kind}") as call:
            await call.start("owner" if death.by_owner else "others", callers=1)
            recording = await furnish(cluster, call)
            _, states = await call.well(20)
            before = kept(await asyncio.to_thread(call.state))
            owner = await asyncio.to_thread(cluster.owner, call.room)
            epoch = await asyncio.to_thread(cluster.etcd.epoch, call.room)
            start = wall()
            strike(cluster, kind, owner)
            took, after = await call.well(death.aim, start)
            gaps = {name: round(max(state["picture"] or 0, state["sound"]) - start) for name, state in after.items()}
            print(f"{death.what}: everybody was back after {took:.1f} s: {gaps}")
            new = await asyncio.to_thread(cluster.owner, call.room)
            assert new is not owner and await asyncio.to_thread(cluster.etcd.epoch, call.room) > epoch
            await later(lambda: len(call.state()["participants"]) == len(before["people"]), 10, "all participants")
            assert kept(await asyncio.to_thread(call.state)) == before
            for name, state in after.items():
                assert (state["id"], state["name"]) == (states[name]["id"], states[name]["name"])
                assert state["role"] == before["people"][state["id"]]["role"]
                assert state["joins"] > states[name]["joins"] and "before" in state["chat"], state
                assert not state["problems"], state
            # The next part of the recording runs at the new owner.
            part = await later(lambda: next((
                each for each in recordings(cluster.front.endpoint, recording["series"]) if each["id"].startswith(f"{new.name}-")), None), 5, "the next part")
            assert part["state"] == "recording" and part["room"] == call.room
            await asyncio.sleep(1.5)
            for each in (await asyncio.to_thread(call.state))["recordings"]:
                await ask(cluster.front.endpoint, "POST", f"/api/recordings/{each['id']}/stop")
            # The dead node comes back and closes its part; a cut one stopped it by itself.
            cluster.heal_programs()
            await later(cluster.is_whole, 30, "the whole cluster")
            parts = await later(lambda: parts if len(parts := recordings(cluster.front.endpoint, recording["series"])) == 2 else None, 10, "both parts")
            assert {each["id"].split("-")[0] for each in parts} == {owner.name, new.name}
            await later(lambda: all(each["state"] != "recording" for each in recordings(cluster.front.endpoint, recording["series"])), 10, "the ends")
            # A node that returns takes no room away from its new owner.
            assert await asyncio.to_thread(cluster.owner, call.room) is new
            assert (await call.well(5))[1]["ReturningPeer 1"]["joins"] == after["ReturningPeer 1"]["joins"]
            files = [path for node in (owner, new) for path in node.recordings.glob("*.mp4")]
            assert len(files) >= 2, files
            checked = await asyncio.to_thread(subprocess.run, [PROGRAM, "recording", "check", *files], capture_output=True, text=True, timeout=30)
            assert checked.returncode == 0, checked.stdout + checked.stderr
    asyncio.run(asyncio.wait_for(run(), 120))


def test_who_was_removed_does_not_come_back_by_the_ticket(cluster):
    """Neither at the same owner nor at the next one, and a ticket opens no other room than its own."""
    async def run():
        async def joins(room, resume):
            socket = await websockets.connect(cluster.front.endpoint.signal_url)
            await socket.send(json.dumps({"type": "join", "room": room, "name": "Eve", "resume": resume}))
            answer = json.loads(await asyncio.wait_for(socket.recv(), 10))
            await socket.close()
            return answer.get("code", answer["type"]), answer.get("room")
        async with Call(cluster, "removed") as call:
            await call.start(chromium=0, python=2)
            eve, ada = call.members
            owner = await asyncio.to_thread(cluster.owner, call.room)
            eve.ended = True
            status, _, _ = await asyncio.to_thread(
                cluster.front.endpoint.request, "DELETE", f"/api/rooms/{call.room}/participants/{eve.id}")
            assert status in (200, 204)
            await asyncio.sleep(1.5)
            for _ in range(2):
                assert await joins(call.room, eve.resume) == ("unauthorized", None)
                # The node that has the seat gives it back, as a resume does whatever room it names.
                assert await joins("another", ada.resume) in (("unauthorized", None), ("joined", call.room))
                if owner.is_running:
                    owner.kill()
                    await later(lambda: cluster.owner(call.room) not in (owner, None), 15, "a new owner")
            assert [person["id"] for person in call.state()["participants"]] == [ada.id]
    asyncio.run(asyncio.wait_for(run(), 60))
