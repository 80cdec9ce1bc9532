"""Nodes that are restarted one after the other, as an upgrade does it. The gaps of a move are for test_cluster_drain.py and the benchmark."""

import asyncio
import os
import time

import pytest

from support.light import SMALL_PICTURES, LightCall
from support.members import ask, kept, later
from support.server import PROGRAM

CLUSTER = SMALL_PICTURES
LAYOUT = {"name": "rolling", "description": "put before the restarts", "rules": [{"regions": [{"kind": "grid"}]}]}


# The last release's program, for nodes of two versions beside each other.
BEFORE = os.environ.get("TESSERA_BEFORE")


async def roll(cluster, calls, people, program):
    """Restarts one node after the other with this program; each time all calls are well, with their people as before."""
    for node in cluster.nodes.values():
        node.ask_to_end()
        await later(lambda node=node: not node.is_running, 25, f"the end of {node.name}")
        assert node.process.returncode == 0, node.log_text()
        node.command[0] = program
        node.start()
        await later(lambda node=node: node.name in cluster.etcd.nodes() and node.status("/healthz") == 200, 30, f"{node.name}")
        assert LAYOUT["name"] in [each["name"] for each in await ask(node.endpoint, "GET", "/api/layouts")], node.name
        for call, before in zip(calls, people):
            await call.well(40)
            assert kept(await asyncio.to_thread(call.state)) == before, f"{call.room} after the restart of {node.name}"


async def rolled(cluster, programs):
    """Three rooms, one of them with a page, while the nodes get these programs; a layout that was put before is at each node after its restart."""
    calls = [LightCall(cluster, f"roll-{number}") for number in range(3)]
    try:
        for number, call in enumerate(calls):
            await call.start(callers=2 if number == 0 else 1, page=number == 0)
        people = [kept(await asyncio.to_thread(call.state)) for call in calls]
        await ask(cluster.endpoints[2], "PUT", f"/api/layouts/{LAYOUT['name']}", LAYOUT, 201)
        for program in programs:
            begun = time.monotonic()
            await roll(cluster, calls, people, program)
            print(f"three nodes were restarted with {program} in {time.monotonic() - begun:.1f} s")
        await ask(cluster.endpoints[0], "DELETE", f"/api/layouts/{LAYOUT['name']}", expect=204)
        # Each room was on a node that was restarted.
        assert all(caller.back_at(0) for call in calls for caller in call.callers)
    finally:
        for call in calls:
            await call.close()


@pytest.mark.patient
def test_a_rolling_restart_loses_nobody(cluster):
    asyncio.run(asyncio.wait_for(rolled(cluster, [PROGRAM]), 240))


@pytest.mark.patient
@pytest.mark.skipif(not BEFORE, reason="TESSERA_BEFORE names no program of the last release")
def test_the_last_release_and_this_version_work_side_by_side(cluster):
    """Rolled back and upgraded again under calls: rooms move from the new to the old and from the old to the new."""
    asyncio.run(asyncio.wait_for(rolled(cluster, [BEFORE, PROGRAM]), 400))
