"""What leads to a room's owner through another node: its stream by HLS, its events, and a call whose clients come by nginx."""

import asyncio
import contextlib
import http.client
import json
import time

import pytest

from support.cluster import BEARER
from support.light import LightCall
from support.members import ask, join_without_media, later, wall
from support.nginx import ClusterNginx

pytestmark = pytest.mark.patient


class Events:
    """The events of a path at a node, as they come."""

    def __init__(self, endpoint, path, last=None):
        self.connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=20)
        self.connection.request("GET", path, headers={**BEARER, "Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})})
        self.answer = self.connection.getresponse()
        assert (self.answer.status, self.answer.headers["Content-Type"]) == (200, "text/event-stream"), self.answer.status
        self.last = last

    def until(self, kind):
        """Reads up to an event of this kind, and returns all."""
        found, deadline = [], time.monotonic() + 20
        while time.monotonic() < deadline:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                self.last = line[4:]
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                if found[-1]["type"] == kind:
                    return found
        raise AssertionError(f"no {kind} in {found}")

    def close(self):
        self.connection.close()


def test_the_events_of_a_room_come_through_any_node(cluster):
    """Also to a reader that was cut off and comes by another node: it misses none, and gets none twice."""
    room = cluster.place_at("n1", "events")

    async def run():
        two, three = cluster.nodes["n2"].endpoint, cluster.nodes["n3"].endpoint
        events = await asyncio.to_thread(Events, two, f"/api/rooms/{room}/events")
        first = await asyncio.to_thread(events.until, "reset")
        assert first[0]["data"]["room"]["id"] == room, first
        asked = time.monotonic()
        _, socket = await join_without_media(three, room, "Ada")
        seen = await asyncio.to_thread(events.until, "participant.joined")
        print(f"the event came {time.monotonic() - asked:.2f} s after the join was asked for")
        assert time.monotonic() - asked < 8 and seen[-1]["data"]["name"] == "Ada", seen
        await asyncio.to_thread(events.close)
        # Meanwhile nobody reads.
        await ask(two, "PATCH", f"/api/rooms/{room}/participants/{seen[-1]['data']['id']}", {"name": "Ada L"})
        again = await asyncio.to_thread(Events, three, f"/api/rooms/{room}/events", events.last)
        more = await asyncio.to_thread(again.until, "participant.updated")
        assert more[-1]["data"]["name"] == "Ada L", more
        await socket.send(json.dumps({"type": "leave"}))
        more += await asyncio.to_thread(again.until, "participant.left")
        assert all(event["room"] == room for event in seen + more), more
        numbers = [event["sequence"] for event in seen + more]
        assert numbers == sorted(set(numbers)) and "reset" not in [event["type"] for event in more], more
        await asyncio.to_thread(again.close)
        await socket.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_room_s_stream_by_hls_comes_through_a_node_that_does_not_have_it(cluster):
    room = cluster.place_at("n1", "hls", hls=True)

    async def run():
        async with LightCall(cluster, room) as call:
            await call.start(callers=1, page=False)
            two, three = cluster.nodes["n2"].endpoint, cluster.nodes["n3"].endpoint

            async def load(endpoint, path, **more):
                return await asyncio.to_thread(endpoint.get, f"/hls/{room}/{path}", **more)
            status, headers, body = await load(two, "index.m3u8")
            while status == 503:
                await asyncio.sleep(1)
                status, headers, body = await load(two, "index.m3u8")
            assert status == 200 and headers["Content-Type"] == "application/vnd.apple.mpegurl", (status, body)
            media = next(line for line in body.decode().splitlines() if line and not line.startswith("#"))
            status, _, body = await load(two, media)
            assert status == 200, body
            lines = body.decode().splitlines()
            named = [line.split('URI="')[1].split('"')[0] for line in lines if 'URI="' in line and "PRELOAD" not in line]
            named += [line for line in lines if line and not line.startswith("#")]
            # Each node has the same bytes.
            header, last = next(name for name in named if "-h" in name), next(name for name in reversed(named) if "-p" in name)
            for name in (header, last):
                (status, headers, here), (_, _, there) = await load(two, name), await load(three, name)
                assert status == 200 and here == there and len(here) > 200, (name, status)
            assert b"moof" in here[:200], here[:200]
            # A part that is not there yet is waited for.
            hint = next(line for line in lines if "PRELOAD-HINT" in line).split('URI="')[1].split('"')[0]
            status, _, body = await load(three, hint)
            assert status == 200 and len(body) > 200, (status, body[:200])
            assert (await load(two, "nothing-s1.m4s"))[0] == 404
    asyncio.run(asyncio.wait_for(run(), 90))


def test_nginx_holds_a_call_when_one_of_its_nodes_dies(cluster):
    """The node is not the owner: media goes on, and who came through it resumes the seat through another."""
    async def run():
        with ClusterNginx(cluster) as nginx, contextlib.ExitStack() as closing:
            async with LightCall(cluster, "nginx") as call:
                await later(lambda: nginx.endpoint.get("/healthz")[0] == 200, 10, "nginx")
                await call.start(callers=4, endpoint=nginx.endpoint)
                owner = await asyncio.to_thread(cluster.owner, call.room)
                # By least connections, each node has some of the five.
                dead = cluster.others(owner)[0]
                before, start = call.people(), wall()
                dead.kill()
                closing.callback(dead.start)
                await asyncio.sleep(2)
                await call.well(40)
                assert call.people() == before
                notes = {caller.name: [words for _, words in caller.notes(start)] for caller in call.callers}
                print(f"{dead.name} was killed: {notes}")
                assert any(notes.values()) or await call.joins() > 1, "nobody had come through the node"
                assert not any(words.startswith(("back:", "joined again")) for each in notes.values() for words in each), notes
                picture, sound = await call.page.gaps(start, call.tones())
                assert picture < 4000 and sound < 4000, (picture, sound)
                status, _, body = await asyncio.to_thread(nginx.endpoint.request, "PUT", "/api/rooms/by-nginx", {})
                assert status == 201, (status, body)
    asyncio.run(asyncio.wait_for(run(), 120))
