"""A node that is to end gives its rooms away, and nobody loses the call: make before break."""

import asyncio
import signal
import time

import pytest

from bench.cluster import Call
from support.members import join_without_media, kept, later, longest_gaps, wall

pytestmark = pytest.mark.usefixtures("good_line")
# What people see and hear when their room moves, in ms.
PICTURE, SOUND = 500, 200


def test_a_drain_moves_three_rooms_almost_unnoticed(cluster):
    """Two browsers in one room, whose pages move both, and a pair in each of the others."""
    async def run():
        owner = cluster.nodes["n1"]
        rooms = [await asyncio.to_thread(cluster.place_at, "n1", "drain") for _ in range(3)]
        calls = []
        try:
            for number, room in enumerate(rooms):
                calls.append(Call(cluster, room))
                await calls[-1].start(chromium=0 if number else 2, python=1 if number else 0)
            await asyncio.sleep(2)
            before = [kept(call.state()) for call in calls]
            start = wall()
            owner.ask_to_end()
            # No new room comes to it.
            await asyncio.sleep(0.3)
            places = [await asyncio.to_thread(cluster.place, f"new-{number}-{start:.0f}", cluster.nodes["n2"]) for number in range(4)]
            assert owner not in places
            await later(lambda: not owner.is_running, 12, "the end of the node")
            took = (wall() - start) / 1000
            assert owner.process.returncode == 0, owner.log_text()
            for call in calls:
                await call.well(5)
                assert await asyncio.to_thread(cluster.owner, call.room) not in (owner, None)
            gaps = {}
            for call in calls:
                gaps |= {f"{call.room} {name}": [round(gap) for gap in both] for name, both in (await longest_gaps(call.members, start)).items()}
            print(f"the node ended after {took:.1f} s; gaps of picture and sound in ms: {gaps}")
            assert [kept(call.state()) for call in calls] == before
            states = [await member.state([]) for call in calls for member in call.members]
            assert not any(state["problems"] for state in states), states
            for name, (picture, sound) in gaps.items():
                if "Chromium" in name:
                    assert picture <= PICTURE and sound <= SOUND, f"{name}: {picture} ms without a picture, {sound} ms without sound"
        finally:
            for call in calls:
                await call.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_a_second_signal_ends_a_drain_at_once(cluster):
    async def run():
        owner = cluster.nodes["n2"]
        room = await asyncio.to_thread(cluster.place_at, "n2", "signal")
        _, socket = await join_without_media(cluster.front.endpoint, room, "Ada")
        owner.ask_to_end()
        await asyncio.sleep(0.2)
        begun = time.monotonic()
        if owner.is_running:
            owner.process.send_signal(signal.SIGTERM)
        await later(lambda: not owner.is_running, 3, "the end of the node", 0.02)
        print(f"it had ended {time.monotonic() - begun:.2f} s after the second signal, with {owner.process.returncode}")
        # Its rooms are free at once, without a wait for the lease, and its client gets a new owner.
        await later(lambda: cluster.owner(room) is not owner, 8, "the end of its keys")
        socket.transport.abort()
    asyncio.run(asyncio.wait_for(run(), 40))
