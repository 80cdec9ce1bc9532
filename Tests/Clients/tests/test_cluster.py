"""Three nodes: one owner for each room, whichever node a client comes to, and rooms on all of them."""

import asyncio
import contextlib
import json
import re
import subprocess
import time

import pytest

from support.aiortc_peer import AiortcPeer, HTTPPeer
from support.app_peer import AppViewer, people_of, within
from support.apprtc import Client, accept, frame
from support.cluster import ADMIN
from support.media import TONES
from support.members import all_well, ask, close, join_without_media, later
from support.people import eventually, picture_is_right, sound_is_right
from support.raw_tcp_client import RawTCPPeer
from support.returning import ReturningPeer
from support.server import PROGRAM
from support.socketio_client import SocketIOPeer
from support.watched import WatchedChromium, WatchedFirefox
from support.webrtc_demo_client import DemoPeer

RAW_TCP = 9000
CLUSTER = {"doors": {"rawTCP": f"0.0.0.0:{RAW_TCP}"}}

pytestmark = [pytest.mark.patient, pytest.mark.usefixtures("good_line")]
SDP, FRAGMENT = {"Content-Type": "application/sdp"}, {"Content-Type": "application/trickle-ice-sdpfrag"}


def addresses(sdp):
    """The addresses of the candidates."""
    return {line.split()[4] for line in sdp.splitlines() if line.startswith("a=candidate:")}


def test_a_hundred_rooms_have_one_owner_each_and_are_spread(cluster):
    """200 joins at once, of each room by two nodes and by /signal and WHIP."""
    rooms = [f"crowd-{number}" for number in range(100)]

    async def run():
        peer = AiortcPeer(cluster.front.endpoint, "none", "Offer", "red", TONES[0])
        await peer.prepare()
        offer = peer.pc.localDescription.sdp.encode()
        sockets = []

        async def signal(number, room):
            answer, socket = await join_without_media(cluster.endpoints[number % 3], room, f"Signal {number}", 15)
            sockets.append(socket)
            return answer["type"], answer

        async def whip(number, room):
            status, _, body = await asyncio.to_thread(
                cluster.endpoints[(number + 1) % 3].request, "POST", f"/whip/{room}?name=Whip{number}", offer, SDP)
            return ("joined" if status == 201 else status), body
        try:
            begun = time.monotonic()
            answers = await asyncio.gather(*(join(number, room) for number, room in enumerate(rooms) for join in (signal, whip)))
            took = time.monotonic() - begun
            assert {kind for kind, _ in answers} == {"joined"}, [answer for answer in answers if answer[0] != "joined"][:3]
            owners = await asyncio.to_thread(cluster.etcd.owners)
            shares = [sum(owners[room] == name for room in rooms) for name in cluster.nodes]
            print(f"200 joins of 100 rooms took {took:.1f} s; rooms on the nodes: {shares}")
            assert max(shares) <= 1.5 * len(rooms) / 3
            for node in cluster.nodes.values():
                listed = {room["id"]: room for room in await ask(node.endpoint, "GET", "/api/rooms")}
                assert set(rooms) <= set(listed), f"{node.name} lists {len(listed)} rooms"
                assert all(listed[room]["participants"] == 2 for room in rooms)
                # Its own, and not those that it is the front of.
                assert node.metric("tessera_rooms") == sum(owner == node.name for owner in owners.values())
        finally:
            for socket in sockets:
                socket.transport.abort()
            await peer.pc.close()
            await asyncio.gather(*(asyncio.to_thread(cluster.front.endpoint.request, "DELETE", f"/api/rooms/{room}") for room in rooms))
    asyncio.run(asyncio.wait_for(run(), 60))


def test_clients_that_come_by_three_nodes_see_and_hear_each_other(cluster):
    async def run():
        one, two, three = cluster.endpoints
        members = []
        try:
            members.append(await WatchedChromium().join(one, "three", "Chromium", "red", TONES[0]))
            members.append(await WatchedFirefox().join(two, "three", "Firefox", "green", TONES[1]))
            members.append(peer := await ReturningPeer(three, "three", "Python", "blue", TONES[2]).join())
            took, states = await all_well(members, 30)
            print(f"all were together after {took:.1f} s")
            assert not any(state["problems"] for state in states.values()), states
            owner = await asyncio.to_thread(cluster.owner, "three")
            sdps = [peer.answer] + [await member.evaluate("watched.connections.at(-1).remoteDescription.sdp") for member in members[:2]]
            # Firefox writes a candidate line as it came; none of them has another address.
            assert [addresses(sdp) for sdp in sdps] == [{owner.machine.public}] * 3
            for endpoint in cluster.endpoints:
                assert set(await asyncio.to_thread(people_of, endpoint, "three")) == {"Chromium", "Firefox", "Python"}
        finally:
            await close(members)
    asyncio.run(asyncio.wait_for(run(), 90))


def test_whip_and_whep_work_through_any_node(cluster):
    room = cluster.place_at("n3", "whip")

    async def run():
        one, two, three = cluster.endpoints
        whip = await HTTPPeer(one, room, "Whip", "red", TONES[0]).join()
        whep = await HTTPPeer(two, room, "Whep", "green", TONES[1], direction="recvonly").join("whep")
        try:
            for peer in (whip, whep):
                assert addresses(peer.answer) == {cluster.nodes["n3"].machine.public}
                assert re.search(r"/n3\.", peer.session), f"{peer.session} does not name its node"
                deadline = time.monotonic() + 10
                while peer.picture is None:
                    assert time.monotonic() < deadline, f"{peer.name} has no picture"
                    await asyncio.sleep(0.05)
            path = whip.session.removeprefix(one.url)
            ufrag = re.search(r"a=ice-ufrag:(\S+)", whip.pc.localDescription.sdp)[1]
            fragment = f"a=ice-ufrag:{ufrag}\r\na=end-of-candidates\r\n".encode()
            for endpoint in (two, three):
                status, _, body = await asyncio.to_thread(
                    endpoint.request, "PATCH", path, fragment, {**FRAGMENT, "If-Match": whip.headers["ETag"]})
                assert status == 204, (status, body)
            assert (await asyncio.to_thread(two.request, "DELETE", path))[0] == 200
            assert (await asyncio.to_thread(three.request, "DELETE", path))[0] == 404
            # A node that does not exist, or a session that does not exist there.
            for wrong in (path.replace("/n3.", "/n9."), path.replace("/n3.", "/n1.")):
                assert (await asyncio.to_thread(one.request, "DELETE", wrong))[0] == 404, wrong
            assert (await asyncio.to_thread(three.request, "DELETE", whep.session.removeprefix(two.url)))[0] == 200
        finally:
            await whip.close()
            await whep.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_api_works_through_any_node(cluster):
    room = cluster.place_at("n2", "api")

    async def run():
        one, two, three = cluster.endpoints
        members = [await ReturningPeer(endpoint, room, name, colour, tone).join()
                   for endpoint, name, colour, tone in ((one, "Ada", "red", TONES[0]), (three, "Bo", "blue", TONES[1]))]
        try:
            await all_well(members, 15)
            for endpoint in cluster.endpoints:
                state = await ask(endpoint, "GET", f"/api/rooms/{room}")
                assert {person["name"] for person in state["participants"]} == {"Ada", "Bo"}
                status, headers, picture = await asyncio.to_thread(endpoint.get, f"/api/rooms/{room}/snapshot.png")
                assert status == 200 and picture.startswith(b"\x89PNG"), headers
                assert "codec" in json.dumps(await ask(endpoint, "GET", f"/api/rooms/{room}/participants/{members[0].id}/stats"))
            await ask(three, "PATCH", f"/api/rooms/{room}/participants/{members[0].id}", {"pinned": True, "name": "Ada L"})
            assert "Ada L" in await asyncio.to_thread(people_of, one, room)
            recording = await ask(one, "POST", f"/api/rooms/{room}/recordings", {}, 201)
            assert recording["id"].startswith("n2-"), recording
            await asyncio.sleep(1.5)
            finished = await ask(three, "POST", f"/api/recordings/{recording['id']}/stop")
            assert finished["state"] == "finished"
            for endpoint in cluster.endpoints:
                assert recording["id"] in [each["id"] for each in await ask(endpoint, "GET", "/api/recordings")]
                status, headers, part = await asyncio.to_thread(
                    endpoint.get, f"/api/recordings/{recording['id']}/file", {"Range": "bytes=4-7"})
                assert (status, part) == (206, b"ftyp"), (status, headers)
            # A node that does not answer is named, and the list comes all the same.
            cluster.nodes["n3"].freeze()
            begun = time.monotonic()
            status, headers, body = await asyncio.to_thread(one.get, "/api/rooms")
            took = time.monotonic() - begun
            cluster.nodes["n3"].thaw()
            assert status == 200 and headers["Tessera-Incomplete"] == "n3", (status, dict(headers))
            assert room in [each["id"] for each in json.loads(body)] and took < 3
            assert (await asyncio.to_thread(three.request, "DELETE", f"/api/rooms/{room}/participants/{members[1].id}"))[0] in (200, 204)
            assert set(await asyncio.to_thread(people_of, two, room)) == {"Ada L"}
            assert (await asyncio.to_thread(one.request, "DELETE", f"/api/rooms/{room}"))[0] in (200, 204)
            assert (await asyncio.to_thread(three.get, f"/api/rooms/{room}"))[0] == 404
            await later(lambda: cluster.owner(room) is None, 5, "the release of the ended room")
        finally:
            await close(members)
    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_status_says_what_each_node_believes(cluster):
    def status():
        result = subprocess.run(
            [PROGRAM, "cluster", "status", "--url", cluster.endpoints[0].url, "--token", ADMIN], capture_output=True, text=True, timeout=15)
        return result.returncode, result.stdout + result.stderr
    code, text = status()
    assert code == 0, text
    assert all(re.search(rf"^{name}\b.*\bsure\b", text, re.MULTILINE) for name in cluster.nodes), text
    cluster.nodes["n3"].freeze()
    try:
        code, text = status()
    finally:
        cluster.nodes["n3"].thaw()
    assert code == 1 and "n3" in text, text


def test_clients_of_the_other_families_share_a_room_by_different_nodes(cluster):
    """The accounts and calls of FLSocketIM's clients have one node, which has their rooms; the others find them from anywhere."""
    async def run():
        one, two, three = cluster.endpoints
        room, opened = "families", []

        def keep(peer):
            opened.append(peer)
            return peer
        try:
            alice = keep(await SocketIOPeer(three, "alice", "magenta", TONES[4]).connect())
            assert await alice.ring(f"room_{room}") == room
            await alice.join_call()
            # The accounts are known at each node.
            bob = keep(await SocketIOPeer(one, "bobby", "cyan", TONES[3]).connect())
            assert await asyncio.to_thread(cluster.owner, room) is await asyncio.to_thread(cluster.owner, "~socketIO")
            demo = keep(await DemoPeer(one, room, "Demo", "blue", TONES[2]).join())
            robo = keep(RawTCPPeer(two, RAW_TCP, room, "Robo", "yellow", TONES[3]))
            robo.client.host = cluster.nodes["n2"].machine.public
            await robo.client.connect()
            web = keep(HTTPPeer(one, room, "Web", "green", TONES[1]))
            await web.prepare()
            client = await asyncio.to_thread(Client, one, room, "?name=Web")
            socket = await client.connect()
            opened.append(socket)
            assert await asyncio.to_thread(client.post, {"type": "offer", "sdp": web.pc.localDescription.sdp}) == "SUCCESS"
            await accept(web.pc, (await frame(socket))["msg"])
            for endpoint in cluster.endpoints:
                await within(8, lambda endpoint=endpoint: set(people_of(endpoint, room)) == {"alice", "Demo", "Robo", "Web"}, "all four")
            ids = await asyncio.to_thread(people_of, two, room)
            for peer in (alice, demo, robo, web):
                peer.id = ids[peer.name]
            viewers = [await AppViewer(peer).joined() for peer in (alice, demo, robo, web)]
            await eventually(lambda: picture_is_right(viewers), 15, "picture")
            await eventually(lambda: sound_is_right(viewers), 15, "sound")
            assert (await alice.say(f"room_{room}", {"type": "txt", "msg": "hi"}))["msg_id"]
            for app in (demo, robo):
                await within(5, lambda app=app: app.received_data[-1:] == [b"alice: hi"], f"{app.name} reads alice")
            await bob.say("alice", {"type": "txt", "msg": "hello"})
            assert (await alice.event("chat", where=lambda message: message["from_user"] == "bobby"))["bodies"]["msg"] == "hello"
        finally:
            for peer in reversed(opened):
                with contextlib.suppress(Exception):
                    await peer.close()
    asyncio.run(asyncio.wait_for(run(), 90))
