"""The whole bad day in one call: its node is killed and started again, its room moves to another node, and an office is cut off for 40 s. There is a
waiting room, there are two hosts and a breakout group, and the room and the group are recorded."""

import asyncio
import json
import shutil
import subprocess
import time
from datetime import datetime

import pytest

from support.light import SMALL_PICTURES, LightCall, LightCaller
from support.media import TONES, tone_level
from support.members import ask, kept, later, wall
from support.recorded import plays, sound
from support.sent import label, leaves
from support.server import PROGRAM
from support.watched import WatchedChromium

# The office's number in the network of the clients.
OFFICE = 41
CUT = 40
# What a busy machine may take until everybody is back, in seconds; how soon they are on a free one, the benchmark says.
PATIENCE = 60
CLUSTER = SMALL_PICTURES
BADGE = "document.getElementById('breakout-badge')?.checkVisibility() ? document.getElementById('breakout-text').textContent : ''"
IS_HOST = "document.getElementById('open-room')?.hidden === false"


class Day:
    """The room itself (`main`) with a host, whose camera is off, and a guest; the group `kitchen` with a host, whose microphone is off, and a guest,
    both in an office; and somebody there who waits to be let in. Room and group are judged as calls of their own."""

    def __init__(self, cluster, room):
        self.cluster, self.room, self.path = cluster, room, f"/api/rooms/{room}"
        self.front = cluster.front.endpoint
        self.office = cluster.lan.add("office", OFFICE)
        self.main, self.kitchen = LightCall(cluster, room), LightCall(cluster, room)
        self.waiter = LightCaller(self.front, room, "Wim", cluster.directory, "blue", TONES[1], self.office.inside)
        self.series = {}

    async def begin(self):
        await asyncio.to_thread(self.cluster.place, self.room)
        self.main.page = await WatchedChromium().join(self.front, self.room, "Host", "red", TONES[0])
        # The first in the room is its host.
        await later(lambda: self.main.people(), 30, "the host")
        self.kitchen.page = await WatchedChromium(self.office).join(self.front, self.room, "Cohost", "magenta", TONES[5])
        await self.main.add(number=2)
        guest = await self.kitchen.add(number=1, inside=self.office.inside)
        for call in (self.main, self.kitchen):
            await call.learn()
        host, cohost = self.main.page, self.kitchen.page
        await host.tell(type="moderate", action="role", participant=cohost.id, role="moderator")
        await cohost.wait_for(IS_HOST)
        await host.tell(type="room", admit="moderator")
        await self.waiter.start()
        await self.waits()
        await host.tell(type="breakout", action="make", names=["Kitchen"])
        await host.tell(type="breakout", action="assign", places={cohost.id: 1, guest.id: 1})
        await self.open_groups()
        for part, group in (("room", None), ("kitchen", 1)):
            recording = await ask(self.front, "POST", f"{self.path}/recordings", {"group": group} if group else {}, 201)
            self.series[part] = recording["series"]
        for page, button in ((host, "video"), (cohost, "audio")):
            await page.evaluate(f"(document.getElementById('toggle-{button}').click(), 0)")
        # The tile of who has no camera has none of the colours.
        host.colour = None
        await self.well(30)
        self.before = kept(self.state())
        self.devices = {page.name: await self.shown(page) for page in (host, cohost)}
        assert self.devices == {"Host": [True, False], "Cohost": [False, True]}, self.devices

    async def open_groups(self):
        """A busy node refuses to open groups, as it refuses rooms, and is asked again."""
        deadline = time.monotonic() + PATIENCE
        while len(await asyncio.to_thread(self.places)) < 2:
            assert time.monotonic() < deadline, "the groups were not opened"
            await self.main.page.tell(type="breakout", action="open", endsIn=3600)
            await asyncio.sleep(1)

    def state(self):
        return self.main.state()

    def has_all(self):
        """Whether the room has all its people again, as they were; without a node that has it there is no answer."""
        status, _, body = self.front.get(self.path)
        return status == 200 and kept(json.loads(body)) == self.before

    def told_of(self, member):
        """What the server has of a member, for the message of a failure."""
        return [self.front.get(path)[2].decode()[:2000] for path in (f"{self.path}/participants/{member.id}/stats", self.path)]

    def places(self):
        """The groups of those who are in one, by their ids."""
        return {person["id"]: person["group"] for person in self.state()["participants"] if "group" in person}

    def recordings(self):
        return [each for each in self.front.json("GET", "/api/recordings") if each["series"] in self.series.values()]

    async def waits(self, timeout=30):
        """Who is not let in waits, and is told so."""
        await later(lambda: [each["name"] for each in self.front.json("GET", f"{self.path}/waiting")] == ["Wim"], timeout, "who waits")

    async def well(self, timeout, since=None):
        """Waits until each sees and hears those of the same group, and nobody else."""
        since = wall() if since is None else since
        for call, others in ((self.main, self.kitchen), (self.kitchen, self.main)):
            try:
                state = await call.well(timeout, since)
            except AssertionError as error:
                raise AssertionError(f"{error}; {[self.told_of(member) for member in call.members]}") from error
            assert set(state["tiles"]) == call.ids, f"{call.page.name} sees {state['tiles']}, not {call.ids}"
            for tone in others.tones():
                assert (await call.page.state([tone]))["sound"] is None, f"{call.page.name} hears the other group"

    async def shown(self, page):
        """[microphone, camera], as the page's buttons say, as the server tells the others, and as they leave the page."""
        said = [await page.evaluate(label(each)) == words for each, words in (("audio", "Mute the microphone"), ("video", "Switch the camera off"))]
        told = next([person["audio"], person["video"]] for person in self.state()["participants"] if person["id"] == page.id)
        _, energy, pictures = await leaves(page, 1)
        assert said == told == [energy > 0, pictures > 0], f"{page.name} says {said}, others are told {told}, energy {energy} and {pictures} pictures leave"
        return said

    async def is_as_before(self, what, timeout, start):
        """Everybody has role, place, devices and picture as before what happened at `start`."""
        await later(self.has_all, timeout, f"the people after {what}")
        await self.well(timeout, start)
        took = (wall() - start) / 1000
        assert self.places() == {member.id: 1 for member in self.kitchen.members}, what
        await self.waits()
        for page in (self.main.page, self.kitchen.page):
            assert await self.shown(page) == self.devices[page.name], what
            assert await page.evaluate(IS_HOST) and (await page.evaluate(BADGE)).startswith("Kitchen" if page is self.kitchen.page else "The room"), what
        await later(lambda: {each["series"] for each in self.recordings() if each["state"] == "recording"} == set(self.series.values()), 20,
                    f"the recordings after {what}")
        print(f"{what}: all was as before after {took:.1f} s")

    async def ends(self):
        """A host lets in who waits, and everybody is called back; then all recordings play. Returns them."""
        await self.kitchen.page.tell(type="moderate", action="admit")
        await later(lambda: "Wim" in self.main.people(), 15, "who was let in")
        for each in [each for each in self.recordings() if each["state"] == "recording"]:
            await ask(self.front, "POST", f"/api/recordings/{each['id']}/stop")
        await self.main.page.tell(type="breakout", action="close")
        await later(lambda: not self.places(), 5, "all in one room")
        await later(lambda: all(each["state"] == "finished" for each in self.recordings()), 30, "the ends of the recordings")
        return self.recordings()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.gather(self.main.close(), self.kitchen.close(), self.waiter.close())


def seconds(moment):
    return datetime.fromisoformat(moment).timestamp()


def is_whole(day, parts, call, others, folder):
    """Each part of a series plays, with the sound of its group alone to the end, and all of them play as one file."""
    folder.mkdir()
    for part in parts:
        (path,) = (path for node in day.cluster.nodes.values() for path in node.recordings.glob(part["file"]))
        plays(path)
        end = sound(path)[-36_000:-12_000]
        heard = [tone for tone in call.tones() + others.tones() if tone_level(end, tone) > 0.02]
        assert heard == call.tones(), f"{part['file']} ends with {heard}"
        for file in path.parent.glob(f"{path.stem}*"):
            shutil.copy(file, folder)
    output = folder / "joined.mp4"
    result = subprocess.run(
        [PROGRAM, "recording", "join", parts[0]["series"], "-d", folder, "-o", output], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    plays(output, seconds(parts[-1]["endedAt"]) - seconds(parts[0]["startedAt"]) - 2)


@pytest.mark.alone
def test_a_restart_a_move_and_a_cut_leave_everybody_with_all_they_had(cluster, tmp_path):
    async def run():
        async with Day(cluster, "day") as day:
            await day.begin()
            # So that the first part has something to play.
            await asyncio.sleep(1)

            start, owner = wall(), await asyncio.to_thread(cluster.owner, day.room)
            owner.kill()
            owner.start()
            await day.is_as_before("a node that was killed and started again", PATIENCE, start)
            await later(cluster.is_whole, 30, "the whole cluster")

            start, owner = wall(), await asyncio.to_thread(cluster.owner, day.room)
            owner.ask_to_end()
            await later(lambda: not owner.is_running, 20, "the end of the node")
            owner.start()
            await day.is_as_before("a move", PATIENCE, start)

            day.office.lose()
            ends = time.monotonic() + CUT
            # Seats without media and signalling end after half a minute.
            await asyncio.sleep(CUT - 10)
            await later(lambda: set(day.main.people()) == {member.name for member in day.main.members}, 9, "the end of the office's seats")
            await day.main.well(5)
            await asyncio.sleep(max(0, ends - time.monotonic()))
            start = wall()
            day.office.find()
            await day.is_as_before(f"a cut of {CUT} s", PATIENCE, start)
            assert not (await day.kitchen.page.state([]))["problems"]
            return day, await day.ends()
    day, found = asyncio.run(asyncio.wait_for(run(), 300))
    for name, series in day.series.items():
        parts = sorted((each for each in found if each["series"] == series), key=lambda each: each.get("seriesPart", 1))
        print(name, [(each["id"], each["endedBy"], each["duration"]) for each in parts])
        assert [each["endedBy"] for each in parts] == ["lost", "moved", "stopped"], parts
        call, others = (day.main, day.kitchen) if name == "room" else (day.kitchen, day.main)
        is_whole(day, parts, call, others, tmp_path / name)
