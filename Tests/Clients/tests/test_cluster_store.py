"""When etcd is gone, slow or partly cut off, when a node is alone or was frozen: no call ends by it, and no room stays double."""

import asyncio
import time

import pytest

from bench.cluster import Call
from support.media import TONES
from support.members import all_well, close, join_without_media, later, longest_gaps, wall
from support.returning import ReturningPeer

pytestmark = [pytest.mark.usefixtures("good_line"), pytest.mark.quiet]
TTL = 6


async def steady(cluster, members, seconds, picture=1200, sound=800):
    """The call goes on for so long: no longer gaps (ms), and all nodes are healthy and ready all the time."""
    start = wall()
    while wall() < start + seconds * 1000:
        for node in cluster.nodes.values():
            statuses = [await asyncio.to_thread(node.status, path) for path in ("/healthz", "/readyz")]
            assert statuses == [200, 200], f"{node.name}: {statuses} after {(wall() - start) / 1000:.1f} s"
        await asyncio.sleep(0.3)
    gaps = await longest_gaps(members, start)
    print(f"longest gaps in {seconds} s: { {name: [round(gap) for gap in both] for name, both in gaps.items()} }")
    assert all(one < picture and other < sound for one, other in gaps.values()), gaps


def test_without_etcd_calls_go_on_and_known_rooms_are_open(cluster):
    async def run():
        async with Call(cluster, "storeless") as call:
            await call.start()
            owner = await asyncio.to_thread(cluster.owner, call.room)
            joins = [(await member.state([]))["joins"] for member in call.members]
            cluster.etcd.kill()
            # Longer than a lease.
            await steady(cluster, call.members, TTL + 4)
            late = []
            try:
                for number, node in enumerate(cluster.nodes.values()):
                    # An existing room works by every node, with media and without.
                    answer, socket = await join_without_media(node.endpoint, call.room, f"Late {number}")
                    late.append(socket)
                    assert answer["type"] == "joined", answer
                    # A new one does not, at any door.
                    status, headers, body = await asyncio.to_thread(node.endpoint.request, "PUT", f"/api/rooms/new-{number}", {})
                    assert status == 503 and int(headers["Retry-After"]) > 0, (status, dict(headers), body)
                    status, headers, body = await asyncio.to_thread(
                        node.endpoint.request, "POST", f"/whip/new-{number}", call.members[-1].pc.localDescription.sdp.encode(),
                        {"Content-Type": "application/sdp"})
                    assert status == 503 and int(headers["Retry-After"]) > 0, (status, dict(headers), body)
                    answer, socket = await join_without_media(node.endpoint, f"new-{number}", "New")
                    late.append(socket)
                    assert answer["type"] == "error" and answer["code"] == "overloaded" and answer["retryAfter"] > 0, answer
            finally:
                for socket in late:
                    socket.transport.abort()
            # A resume, too.
            peer = call.members[-1]
            peer.socket.transport.abort()
            await later(lambda: len(peer.joins) == joins[-1] + 1, 5, "the resumed seat")
            assert not peer.joins[-1].get("fresh")
            for member in cluster.etcd.members.values():
                member.start()
            await asyncio.to_thread(cluster.etcd.leader)
            begun = time.monotonic()
            await later(lambda: cluster.nodes["n1"].endpoint.request("PUT", f"/api/rooms/after-{wall():.0f}", {})[0] == 201, 5, "a new room")
            print(f"a room was placed {time.monotonic() - begun:.1f} s after etcd was back")
            # Nothing has been taken from anybody.
            await asyncio.sleep(TTL)
            assert await asyncio.to_thread(cluster.owner, call.room) is owner
            await call.well(3)
            assert [(await member.state([]))["joins"] for member in call.members] == [joins[0], joins[1] + 1]
    asyncio.run(asyncio.wait_for(run(), 90))


def test_a_node_that_is_alone_is_healthy_and_not_ready(cluster):
    """It is cut off from etcd and from the other nodes. HAProxy closes what leads through it, and its people meet the others."""
    async def run():
        async with Call(cluster, "alone") as call:
            await call.start("owner")
            owner = await asyncio.to_thread(cluster.owner, call.room)
            # One more by another node.
            call.members.append(
                await ReturningPeer(cluster.others(owner)[0].endpoint, call.room, "By another", "green", TONES[4]).join())
            await call.well(10)
            start = wall()
            owner.machine.cut("internal")
            await later(lambda: owner.status("/readyz") == 503, TTL + 6, "no readiness")
            print(f"not ready after {(wall() - start) / 1000:.1f} s")
            assert owner.status("/healthz") == 200
            took, _ = await call.well(20, start)
            print(f"everybody was together after {took:.1f} s")
            assert await asyncio.to_thread(cluster.owner, call.room) is not owner
            start = wall()
            owner.machine.plug()
            await later(lambda: owner.metric("tessera_rooms") == 0, 10, "the end of the old room")
            alone = (wall() - start) / 1000
            await later(lambda: owner.is_ready(), 10, "readiness")
            print(f"the cut node gave its room up {alone:.1f} s after it saw the others, and was ready {(wall() - start) / 1000:.1f} s after")
            await later(cluster.is_whole, 10, "the whole cluster")
            await call.well(5)
    asyncio.run(asyncio.wait_for(run(), 90))


def test_a_frozen_owner_gives_its_room_up_when_it_wakes(cluster):
    async def run():
        async with Call(cluster, "frozen") as call:
            await call.start("others")
            owner = await asyncio.to_thread(cluster.owner, call.room)
            start = wall()
            owner.freeze()
            took, _ = await call.well(14, start)
            print(f"everybody was back {took:.1f} s after the owner froze")
            await asyncio.sleep(max(0, 15 - (wall() - start) / 1000))
            ids = {(await member.state([]))["id"] for member in call.members}
            woken = wall()
            owner.thaw()
            await later(lambda: owner.metric("tessera_rooms") == 0, 2, "the end of the old room", 0.05)
            print(f"the woken owner gave the room up after {(wall() - woken) / 1000:.2f} s")
            await later(cluster.is_whole, 15, "the whole cluster")
            await call.well(5)
            assert {person["id"] for person in call.state()["participants"]} == ids
            assert await asyncio.to_thread(cluster.owner, call.room) is not owner
    asyncio.run(asyncio.wait_for(run(), 90))


def test_a_frozen_leader_of_etcd_and_a_lost_key_of_a_node_end_no_call(cluster):
    async def run():
        async with Call(cluster, "leader") as call:
            await call.start()
            owner = await asyncio.to_thread(cluster.owner, call.room)
            epoch = await asyncio.to_thread(cluster.etcd.epoch, call.room)
            joins = [(await member.state([]))["joins"] for member in call.members]
            leader = await asyncio.to_thread(cluster.etcd.leader)
            leader.freeze()
            await steady(cluster, call.members, TTL + 1)
            assert await asyncio.to_thread(cluster.owner, call.room) is owner
            status, _, body = await asyncio.to_thread(cluster.front.endpoint.request, "PUT", "/api/rooms/under-another-leader", {})
            assert status == 201, (status, body)
            leader.thaw()
            await steady(cluster, call.members, 1)

            await asyncio.to_thread(cluster.etcd.delete, f"nodes/{owner.name}")
            await later(lambda: owner.name in cluster.etcd.nodes(), 5, "the node's key")
            await steady(cluster, call.members, TTL + 1)
            # The whole registration, as an operator's `etcdctl lease revoke` ends it.
            lease = next(each["lease"] for each in cluster.etcd.call("kv/range", key=cluster.etcd.key(f"nodes/{owner.name}"))["kvs"])
            await asyncio.to_thread(cluster.etcd.call, "lease/revoke", ID=lease)
            await later(lambda: owner.name in cluster.etcd.nodes() and cluster.owner(call.room) is owner, 8, "the node's keys")
            await steady(cluster, call.members, 3)
            assert [(await member.state([]))["joins"] for member in call.members] == joins
            print(f"epochs: {epoch}, then {await asyncio.to_thread(cluster.etcd.epoch, call.room)}")
    asyncio.run(asyncio.wait_for(run(), 90))


def test_clients_of_both_halves_meet_after_a_partition(cluster):
    """The owner sees one member of etcd and no other node; its people keep their media to it as long as it is up, and meet the others then."""
    async def run():
        room = "halves"
        owner = await asyncio.to_thread(cluster.place, room)
        other = cluster.others(owner)[0]
        members = []
        try:
            members = [await ReturningPeer(cluster.front.endpoint, room, "Ada", "red", TONES[0]).join(),
                       await ReturningPeer(other.endpoint, room, "Bo", "blue", TONES[1]).join()]
            await all_well(members, 15)
            start = wall()
            cluster.lan.part(owner.name, "e1")
            await later(lambda: cluster.owner(room) not in (owner, None), TTL + 10, "a new owner")
            await asyncio.sleep(1)
            cluster.lan.mend()
            contact, seen = wall(), []
            while wall() < contact + 4000:
                running = [node.name for node in cluster.nodes.values() if room in await asyncio.to_thread(node.own_rooms)]
                seen.append(running)
                assert len(running) == 1 or wall() < contact + 2500, f"two rooms 2 s after contact: {running}"
                await asyncio.sleep(0.2)
            took, _ = await all_well(members, 10, start)
            print(f"everybody in one room {took:.1f} s after the cut; rooms seen: {sorted({tuple(each) for each in seen})}")
            people = await asyncio.to_thread(cluster.front.endpoint.json, "GET", f"/api/rooms/{room}")
            assert {person["id"] for person in people["participants"]} == {member.id for member in members}
        finally:
            await close(members)
    asyncio.run(asyncio.wait_for(run(), 90))
