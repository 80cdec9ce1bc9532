"""Nodes that are restarted one after the other, as an upgrade does it. The gaps of a move are for test_cluster_drain.py and the benchmark."""

import asyncio
import time

import pytest

from support.light import SMALL_PICTURES, LightCall
from support.members import ask, kept, later

CLUSTER = SMALL_PICTURES
LAYOUT = {"name": "rolling", "description": "put before the restarts", "rules": [{"regions": [{"kind": "grid"}]}]}


@pytest.mark.patient
def test_a_rolling_restart_loses_nobody(cluster):
    """A room with a page, and two rooms without. A layout that was put before the restarts is at each node after its own."""
    async def run():
        calls = [LightCall(cluster, f"roll-{number}") for number in range(3)]
        try:
            for number, call in enumerate(calls):
                await call.start(callers=2 if number == 0 else 1, page=number == 0)
            before = [kept(await asyncio.to_thread(call.state)) for call in calls]
            await ask(cluster.endpoints[2], "PUT", f"/api/layouts/{LAYOUT['name']}", LAYOUT, 201)
            begun = time.monotonic()
            for node in cluster.nodes.values():
                node.ask_to_end()
                await later(lambda node=node: not node.is_running, 25, f"the end of {node.name}")
                assert node.process.returncode == 0, node.log_text()
                node.start()
                await later(lambda node=node: node.name in cluster.etcd.nodes() and node.status("/healthz") == 200, 30, f"{node.name}")
                assert LAYOUT["name"] in [each["name"] for each in await ask(node.endpoint, "GET", "/api/layouts")], node.name
                for call, people in zip(calls, before):
                    await call.well(40)
                    assert kept(await asyncio.to_thread(call.state)) == people, f"{call.room} after the restart of {node.name}"
            print(f"three nodes were restarted in {time.monotonic() - begun:.1f} s")
            await ask(cluster.endpoints[0], "DELETE", f"/api/layouts/{LAYOUT['name']}", expect=204)
            # Each room was on a node that was restarted.
            assert all(caller.back_at(0) for call in calls for caller in call.callers)
        finally:
            for call in calls:
                await call.close()
    asyncio.run(asyncio.wait_for(run(), 240))
