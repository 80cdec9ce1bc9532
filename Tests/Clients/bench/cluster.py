"""A cluster's figures: how soon a call is back after each kind of death, the gaps when a room moves, placements a second, and the delay of a hop.

`./scripts/bench --cluster [ROW…]` runs this module in a network of its own and prints its table; tests take single rows from it.
"""

import asyncio
import concurrent.futures
import dataclasses
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import aiortc.rtcrtpreceiver
import numpy as np

from support.aiortc_peer import GoodLine
from support.cluster import Cluster, Node
from support.lan import until
from support.media import TONES
from support.members import Callers, all_well, close, join_without_media, later, longest_gaps, wall
from support.returning import ReturningPeer
from support.watched import WatchedChromium, WatchedFirefox

RUNS = int(os.environ.get("RUNS", "20"))


@dataclasses.dataclass
class Death:
    what: str
    # Seconds until everybody is back: the aim for the 95th percentile.
    aim: float
    # Whether the clients' connections lead through the owner, or through another node.
    by_owner: bool = False


DEATHS = {
    "kill": Death("kill -9 of the owner", 3),
    "cut": Death("the owner's host is cut off", 12),
    "leader": Death("kill -9 of the owner and of etcd's leader", 15),
    "front": Death("the cut host is owner and front", 15, True),
}


def strike(cluster, kind, owner):
    """Lets the owner die."""
    if kind in ("cut", "front"):
        owner.machine.cut()
        return
    if kind == "leader":
        cluster.etcd.leader().kill()
    owner.kill()


class Call:
    """A room whose members come through the balancer and come back by themselves."""

    def __init__(self, cluster, room):
        self.cluster, self.room, self.members, self.callers = cluster, room, [], None

    async def start(self, by=None, chromium=1, firefox=0, python=1, callers=0, **settings):
        """`by`: the node through which the members come, or `owner` or `others`; None: any."""
        owner = await asyncio.to_thread(self.cluster.place, self.room, **settings)
        front = self.cluster.front
        if by:
            front.only(*([owner.name] if by == "owner" else [node.name for node in self.cluster.others(owner)] if by == "others" else [by]))
        kinds = [WatchedChromium] * chromium + [WatchedFirefox] * firefox + [ReturningPeer] * python
        try:
            for number, (kind, colour) in enumerate(zip(kinds, ("red", "blue", "green", "yellow", "cyan"))):
                name = f"{kind.__name__.removeprefix('Watched')} {number}"
                if kind is ReturningPeer:
                    self.members.append(await ReturningPeer(front.endpoint, self.room, name, colour, TONES[number]).join())
                else:
                    self.members.append(await kind().join(front.endpoint, self.room, name, colour, TONES[number]))
            if callers:
                self.callers = await Callers(front.endpoint, self.room, "Caller", self.cluster.directory, "--count", callers).start()
            await later(lambda: len(self.state()["participants"]) == len(kinds) + callers, 15, "the participants")
            await self.well(20)
        except BaseException:
            await self.close()
            raise
        finally:
            front.only()
        return self

    def state(self):
        return self.cluster.front.endpoint.json("GET", f"/api/rooms/{self.room}")

    async def well(self, timeout, start=None):
        """Waits until everybody sees and hears everybody; returns the seconds since `start`, and the members' states."""
        return await all_well(self.members, timeout, start, what=self.room)

    async def close(self):
        if self.callers:
            await self.callers.close()
        await close(self.members)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()


async def deaths(cluster, kind, runs, **members):
    """The seconds after which the call was back, of each run: a new owner dies each time, in one long call."""
    death, times = DEATHS[kind], []
    async with Call(cluster, f"death-{kind}") as call:
        await call.start("owner" if death.by_owner else "others", **members)
        for number in range(runs):
            owner = await asyncio.to_thread(cluster.owner, call.room)
            if number and death.by_owner:
                # The members have come by other nodes since: they come anew, by the owner.
                await call.close()
                call.members, call.room = [], f"death-{kind}-{number}"
                await call.start("owner", **members)
                owner = await asyncio.to_thread(cluster.owner, call.room)
            start = wall()
            strike(cluster, kind, owner)
            took, _ = await call.well(40, start)
            times.append(took)
            cluster.heal_programs()
            await later(cluster.is_whole, 30, "the whole cluster")
            await call.well(20)
    return times


async def drains(cluster, runs, **members):
    """(gap of the picture, gap of the sound) in ms, the longest of the browsers', and the seconds until the node had ended, of each drain."""
    rows = []
    async with Call(cluster, "drain") as call:
        await call.start(**members)
        for _ in range(runs):
            owner = await asyncio.to_thread(cluster.owner, call.room)
            start = wall()
            owner.ask_to_end()
            await later(lambda owner=owner: not owner.is_running, 20, "the end of the node")
            took = (wall() - start) / 1000
            assert owner.process.returncode == 0, owner.log_text()
            await call.well(20)
            gaps = [gap for name, gap in (await longest_gaps(call.members, start)).items() if name.startswith("Chromium")]
            rows.append((max(picture for picture, _ in gaps), max(sound for _, sound in gaps), took))
            cluster.heal_programs()
            await later(cluster.is_whole, 30, "the whole cluster")
    return rows


def placements(endpoints, seconds=5, workers=8):
    """New rooms a second, asked for by HTTP, and the times in ms of the requests."""
    end, times = time.monotonic() + seconds, []

    def place(worker):
        count = 0
        while time.monotonic() < end:
            endpoint, begun = endpoints[count % len(endpoints)], time.monotonic()
            room = f"/api/rooms/place-{worker}-{count}"
            status, _, body = endpoint.request("PUT", room, {})
            assert status == 201, (status, body)
            times.append((time.monotonic() - begun) * 1000)
            # The rooms are too many otherwise; the end of one is a transaction of its own.
            endpoint.request("DELETE", room)
            count += 1
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(place, range(workers)))
    return len(times) / seconds, times


async def pings(endpoint, room, count=200):
    """The times in ms from a ping to its pong, and from the opening of a socket to `joined`."""
    begun = time.monotonic()
    _, socket = await join_without_media(endpoint, room, f"Ping {begun}")
    joined, times = (time.monotonic() - begun) * 1000, []
    try:
        for _ in range(count):
            begun = time.monotonic()
            await socket.send(json.dumps({"type": "ping"}))
            while json.loads(await asyncio.wait_for(socket.recv(), 5))["type"] != "pong":
                pass
            times.append((time.monotonic() - begun) * 1000)
            # Below the pace at which messages are limited.
            await asyncio.sleep(0.03)
    finally:
        await socket.close()
    return times, joined


async def hop(cluster, count=100):
    """The times of pings and of joins by the owner itself, and by another node."""
    owner = await asyncio.to_thread(cluster.place, "hop")
    other, rows = cluster.others(owner)[0], []
    for node in (owner, other):
        times, _ = await pings(node.endpoint, "hop", count)
        joins = [(await pings(node.endpoint, "hop", 0))[1] for _ in range(30)]
        rows.append((times, joins))
    return rows


async def storeless(cluster, seconds, **members):
    """All of etcd is away for so long. The longest gaps in ms of picture and sound, how often somebody lost the connection, the lowest share of
    positive answers to /readyz, and the seconds from etcd's return to the first new room."""
    async with Call(cluster, "storeless") as call:
        await call.start(**members)
        joins = [(await member.state([]))["joins"] for member in call.members]
        start, asked, ready = wall(), 0, 0
        cluster.etcd.kill()
        while wall() < start + seconds * 1000:
            for node in cluster.nodes.values():
                asked += 1
                ready += await asyncio.to_thread(node.status, "/readyz") == 200
            await asyncio.sleep(0.5)
        gaps = (await longest_gaps(call.members, start)).values()
        for member in cluster.etcd.members.values():
            member.start()
        await asyncio.to_thread(cluster.etcd.leader)
        start = wall()
        await later(lambda: cluster.nodes["n1"].endpoint.request("PUT", f"/api/rooms/after-{start:.0f}", {})[0] == 201, 20, "a new room")
        placed = (wall() - start) / 1000
        await asyncio.sleep(10)
        lost = sum([(await member.state([]))["joins"] - before for member, before in zip(call.members, joins)])
    return max(picture for picture, _ in gaps), max(sound for _, sound in gaps), lost, ready / asked, placed


def single(cluster):
    """A server without a cluster, on a machine of its own."""
    node = Node(cluster.lan.machines.get("single") or cluster.lan.add("single", 61), [], cluster.directory / "single", {})
    del node.settings["cluster"]
    node.start()
    until(node.is_ready, 20, "the server")
    return node


async def restart_of_one(cluster, how, runs):
    """The seconds that a call without a cluster is away when its server ends (`kill` or `stop`) and is started again at once."""
    times, node = [], single(cluster)
    members = [await WatchedChromium().join(node.endpoint, "one", "Chromium", "red", TONES[0]),
               await ReturningPeer(node.endpoint, "one", "Python", "blue", TONES[1]).join()]
    try:
        await all_well(members, 20)
        for _ in range(runs):
            start = wall()
            if how == "kill":
                node.kill()
            else:
                node.ask_to_end()
                await later(lambda: not node.is_running, 15, "the end")
            node.start()
            took, _ = await all_well(members, 30, start)
            times.append(took)
            await asyncio.sleep(1)
    finally:
        await close(members)
        node.kill()
    return times


def parts(values, unit="s", digits=1):
    return f"{np.quantile(values, 0.5):.{digits}f} / {np.quantile(values, 0.95):.{digits}f} {unit}"


class Rows:
    """The table's rows: what, the cluster's figure, one node's, and the aim."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def kill(self):
        return await self.death("kill", f"{parts(await restart_of_one(self.cluster, 'kill', min(RUNS, 5)))}, when started again at once")

    async def cut(self):
        return await self.death("cut", "the call is lost")

    async def leader(self):
        return await self.death("leader", "–")

    async def front(self):
        return await self.death("front", "the call is lost")

    async def death(self, kind, one):
        times = await deaths(self.cluster, kind, RUNS, chromium=1, firefox=1, python=1, callers=1)
        return f"back after {DEATHS[kind].what}, p50 / p95 of {len(times)}", parts(times), one, f"p95 ≤ {DEATHS[kind].aim} s"

    async def drain(self):
        rows = np.array(await drains(self.cluster, RUNS, chromium=2, python=0, callers=2))
        away = await restart_of_one(self.cluster, "stop", min(RUNS, 5))
        return (f"drain: gap of picture, of sound, p50 / p95 of {len(rows)}; the node ends", f"{parts(rows[:, 0], 'ms', 0)}, {parts(rows[:, 1], 'ms', 0)}; "
                f"{parts(rows[:, 2])}", f"away {parts(away)}", "≤ 500 ms, ≤ 200 ms")

    async def store(self):
        picture, sound, lost, ready, placed = await storeless(self.cluster, 60, chromium=1, python=1, firefox=1)
        return ("etcd away for 60 s: gap of picture, of sound; connections lost; ready; a new room after",
                f"{picture:.0f} ms, {sound:.0f} ms; {lost}; {ready:.0%}; {placed:.1f} s", "–", "nobody notices; ≤ 5 s")

    async def placements(self):
        here, times = await asyncio.to_thread(placements, self.cluster.endpoints)
        node = single(self.cluster)
        try:
            one, ones = await asyncio.to_thread(placements, [node.endpoint])
        finally:
            node.kill()
        return "new rooms a second by HTTP (8 clients); ms each", f"{here:.0f}; {parts(times, 'ms')}", f"{one:.0f}; {parts(ones, 'ms')}", ""

    async def hundred(self):
        begun = time.monotonic()

        def place(number):
            return self.cluster.endpoints[number % 3].request("PUT", f"/api/rooms/hundred-{number}", {})[0]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = await asyncio.to_thread(lambda: list(pool.map(place, range(100))))
        took = time.monotonic() - begun
        assert set(statuses) == {201}, statuses
        owners = await asyncio.to_thread(self.cluster.etcd.owners)
        shares = sorted(sum(owners[f"hundred-{number}"] == name for number in range(100)) for name in self.cluster.nodes)
        return "100 rooms at once: seconds, rooms on each node", f"{took:.1f} s, {shares}", "–", "2 s, none over 50"

    async def hop(self):
        (here, joins), (there, joins_there) = await hop(self.cluster)
        return ("signalling by another node: answer to a ping; join", f"{parts(there, 'ms')}; {parts(joins_there, 'ms')}",
                f"by the owner {parts(here, 'ms')}; {parts(joins, 'ms')}", "")


ROWS = ("placements", "hundred", "hop", "kill", "cut", "leader", "front", "drain", "store")


def main(names):
    aiortc.rtcrtpreceiver.RemoteBitrateEstimator = GoodLine
    print("| three nodes | cluster | one node | aim |\n|---|---|---|---|")
    for name in names or ROWS:
        with tempfile.TemporaryDirectory() as directory, Cluster(Path(directory)) as cluster:
            print("| " + " | ".join(asyncio.run(getattr(Rows(cluster), name)())) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
