"""Joins into a room that runs: how soon the joiners see it, and what the others pay."""

import asyncio
import re
import time

import pytest

from support.aiortc_peer import AiortcPeer
from support.media import TONES

# The top rung of the tests' rooms, and the joiners, who come this many seconds apart.
TOP = 360
JOINERS, APART = 5, 1.2


def keyframes(server, **labels):
    """The keyframes of the rendition with these labels; 0 where there is none."""
    found = 0
    for line in server.get("/metrics")[2].decode().splitlines():
        if line.startswith("tessera_rendition_keyframes_total{"):
            if labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', line)).items():
                found += float(line.split()[-1])
    return int(found)


@pytest.mark.usefixtures("needs_address", "good_line")
def test_joiners_see_a_picture_at_once_and_the_others_pay_for_one_keyframe_in_five_seconds(server):
    async def run():
        peers = [await AiortcPeer(server, "busy", "Ada", "red", TONES[0]).join()]
        sizes, kinds = {}, set()

        async def until(condition, seconds, what):
            deadline = time.monotonic() + seconds
            while not await condition():
                assert time.monotonic() < deadline, what
                await asyncio.sleep(0.1)

        async def look():
            room = await asyncio.to_thread(server.json, "GET", "/api/rooms/busy")
            kinds.update(rendition["kind"] for rendition in room["renditions"])
            for peer in peers:
                if peer.picture is not None:
                    sizes.setdefault(peer.name, []).append(peer.picture.height)

        async def all_sharp():
            await look()
            return all(sizes.get(peer.name, [0])[-1] == TOP for peer in peers)

        async def top():
            return await asyncio.to_thread(keyframes, server, room="busy", kind="rung", height=str(TOP))
        try:
            await until(all_sharp, 15, "the first one gets no full picture")
            # The rendition is no new one any more.
            await asyncio.sleep(2)
            before, started = await top(), time.monotonic()
            for number in range(JOINERS):
                peer = await AiortcPeer(server, "busy", f"Joiner {number}", "blue", TONES[1], direction="recvonly").join()
                peers.append(peer)
                await until(lambda: asyncio.sleep(0, peers[-1].picture_times), 3, f"{peer.name} sees nothing")
                print(f"{peer.name}: {peer.picture.width}×{peer.picture.height} {(peer.picture_times[0] - peer.offered_at) * 1000:.0f} ms after its offer")
                while time.monotonic() < started + (number + 1) * APART:
                    await look()
                    await asyncio.sleep(0.2)
            await until(all_sharp, 10, f"not all get the full picture: {sizes}")
            took, paid = time.monotonic() - started, await top() - before
            print(f"{paid} keyframes in {took:.1f} s; renditions {kinds}")
            assert paid <= took / 4.9 + 1, f"{paid} keyframes of the others' picture in {took:.1f} s"
            assert "joining" in kinds
        finally:
            await asyncio.gather(*(peer.close() for peer in peers), return_exceptions=True)
    asyncio.run(asyncio.wait_for(run(), 60))
