"""A call in a cluster that costs little: `tessera call` with media that is sent as its file has it, and one Chromium, which sees and hears all of
them. Such a call can be judged beside other tests."""

import asyncio
import functools
import re
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

from support.media import COLOURS, TONES, nearest_colour
from support.members import STEADY, Callers, fault, later, wall
from support.watched import WatchedChromium

# Settings for the nodes: with larger pictures those of a busy machine refuse rooms as overloaded, and HAProxy sends them nobody.
SMALL_PICTURES = {"rooms": {"width": 320, "height": 180}, "video": {"renditions": [{"height": 180, "bitrate": "120k"}]}}
FOLDER = tempfile.TemporaryDirectory(prefix="tessera-clips-")
COMPANY = (("Ada", "blue", TONES[1]), ("Bo", "green", TONES[2]), ("Cy", "yellow", TONES[3]), ("Di", "cyan", TONES[4]))
# What `tessera call` notes when it has a picture and sound again, or has had them all the time, and when it has not.
THERE, AWAY = ("back:", "moved:", "resumed", "not moved", "the move failed"), ("lost", "joined again", "media ended", "the seat has ended", "no answer")
# The colours of the tiles in the picture that the page shows.
TILES = """(() => {
  const joined = watched.messages.findLast(({ type }) => type === 'joined');
  const layout = watched.messages.findLast(({ type, socket }) => type === 'tiles' && socket === joined.socket);
  const video = [...document.querySelectorAll('video')]
    .find(video => video.videoWidth && video.checkVisibility() && !['self-video', 'preview'].includes(video.id));
  if (!layout || !video) return {};
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight), pen = canvas.getContext('2d');
  pen.drawImage(video, 0, 0);
  const [across, down] = [canvas.width / layout.width, canvas.height / layout.height];
  return Object.fromEntries(layout.tiles.map(({ participant, x, y, width, height }) =>
    [participant, [...pen.getImageData((x + width * 0.15) * across, (y + height * 0.45) * down, 1, 1).data].slice(0, 3)]));
})()"""


@functools.cache
def clip(colour, frequency):
    """A file of one colour and one tone, of eight seconds: whole waves, so that a loop has no click."""
    path = Path(FOLDER.name) / f"{colour}-{frequency}.webm"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=0x{:02x}{:02x}{:02x}:s=320x180:r=15".format(*COLOURS[colour]),
         "-f", "lavfi", "-i", f"sine={frequency}:r=48000", "-t", "8", "-c:v", "libvpx", "-deadline", "realtime", "-g", "15", "-b:v", "100k",
         "-c:a", "libopus", "-frame_duration", "20", "-b:a", "48k", path], check=True)
    return path


class LightCaller(Callers):
    """One participant; `id` is known to its call."""

    def __init__(self, endpoint, room, name, directory, colour, frequency, inside=()):
        """`inside`: the prefix of another network of the test's."""
        super().__init__(endpoint, room, name, directory, "--codec", "vp8", "--video", clip(colour, frequency))
        self.command = [*inside, *self.command]
        self.log_path = directory / f"{room}-{name}.log"
        self.colour, self.frequency, self.id, self.is_muted = colour, frequency, None, False

    def notes(self, since=0):
        """(ms of the epoch, words) of what its connections have had since then."""
        found = re.findall(rf"^(\S+Z) {self.name}: (.*)$", self.log_path.read_text(errors="replace"), re.MULTILINE)
        notes = [(datetime.fromisoformat(at).timestamp() * 1000, words) for at, words in found]
        # The lines have milliseconds.
        return [(at, words) for at, words in notes if at >= since - 1 and words.startswith(THERE + AWAY)]

    def back_at(self, since):
        """When it had picture and sound from another server after that time; None: it has not."""
        return next((at for at, words in reversed(self.notes(since)) if words.startswith(("back:", "moved:"))), None)

    def fault(self):
        """What it lacks, by its own words; None: nothing."""
        if self.process.returncode is not None:
            return f"ended with {self.process.returncode}: {self.lines()[-3:]}"
        if f"{self.name}: connected" not in self.lines():
            return "has never been connected"
        notes = self.notes()
        return notes[-1][1] if notes and notes[-1][1].startswith(AWAY) else None


class LightCall:
    """`async with LightCall(cluster, room) as call:`. `page` is Chromium's, red and with the first tone."""

    def __init__(self, cluster, room):
        self.cluster, self.room, self.page, self.callers = cluster, room, None, []

    async def start(self, by=None, callers=2, page=True, endpoint=None, page_by=None):
        """`by`, and `page_by` for the page where it differs: the node through which the members come, or `owner` or `others`; None: any. `endpoint`: of
        another front than HAProxy."""
        owner, front = await asyncio.to_thread(self.cluster.place, self.room), self.cluster.front

        def only(by):
            front.only(*([owner.name] if by == "owner" else [node.name for node in self.cluster.others(owner)] if by == "others" else [by] if by else []))
        try:
            only(by)
            for number in range(callers):
                await self.add(endpoint, number)
            if page_by:
                await self.learn()
                only(page_by)
            if page:
                self.page = await WatchedChromium().join(endpoint or front.endpoint, self.room, "Chromium", "red", TONES[0])
            await self.learn()
            await self.well(40)
        finally:
            front.only()
        return self

    async def add(self, endpoint=None, number=None, inside=()):
        name, colour, tone = COMPANY[len(self.callers) if number is None else number]
        caller = LightCaller(endpoint or self.cluster.front.endpoint, self.room, name, self.cluster.directory, colour, tone, inside)
        self.callers.append(await caller.start())
        return caller

    async def learn(self):
        """Waits for everybody, and learns the ids."""
        names = {member.name for member in self.members}
        people = await later(lambda: found if set(found := self.people()) >= names else None, 40, f"{names} in {self.room}")
        for member in self.members:
            member.id = people[member.name]

    @property
    def members(self):
        return self.callers + ([self.page] if self.page else [])

    @property
    def ids(self):
        return {member.id for member in self.members}

    def state(self):
        return self.cluster.front.endpoint.json("GET", f"/api/rooms/{self.room}")

    def people(self):
        """The ids by name."""
        return {person["name"]: person["id"] for person in self.state()["participants"]}

    def tones(self, muted=False):
        return [caller.frequency for caller in self.callers if caller.is_muted == muted]

    async def fault(self, since):
        """What anybody lacks; None: nothing."""
        for caller in self.callers:
            if lack := caller.fault():
                return f"{caller.name}: {lack}"
        if not self.page:
            return None
        state = await self.page.state(self.tones())
        if lack := fault(state, self.members, self.ids, since):
            return f"the page: {lack}"
        colours = {participant: nearest_colour(colour) for participant, colour in (await self.page.evaluate(TILES)).items()}
        wrong = {member.name: colours.get(member.id) for member in self.members if colours.get(member.id) != member.colour}
        return f"the page: wrong colours {wrong}" if wrong else None

    async def well(self, timeout, since=None):
        """Waits until the page has everybody's tile in the right colour, its picture moves and it hears those who are not muted, for a second, and
        the callers miss nothing. Returns the page's state."""
        since, deadline = wall() if since is None else since, time.monotonic() + timeout + STEADY / 1000
        while lack := await self.fault(since):
            assert time.monotonic() < deadline, f"{self.room} was not well within {timeout} s: {lack}"
            await asyncio.sleep(0.2)
        if not self.page:
            return None
        state = await self.page.state(self.tones())
        for tone in self.tones(muted=True):
            assert (await self.page.state([tone]))["sound"] is None, f"the page hears the muted tone {tone}"
        assert not state["problems"], state
        return state

    async def back(self, timeout, start):
        """Waits until all have come back from what happened at `start`: `well`, and each by a connection to another server. Returns the seconds that
        this took."""
        deadline = time.monotonic() + timeout
        while late := [caller.name for caller in self.callers if not caller.back_at(start)]:
            assert time.monotonic() < deadline, f"{late} did not come back within {timeout} s: {[caller.lines()[-5:] for caller in self.callers]}"
            await asyncio.sleep(0.2)
        state = await self.well(max(5, deadline - time.monotonic()), start)
        times = [caller.back_at(start) for caller in self.callers] + ([max(state["picture"] or 0, state["sound"])] if state else [])
        return (max(times) - start) / 1000

    async def joins(self):
        """How often the page has joined."""
        return (await self.page.state([]))["joins"]

    async def say(self, text):
        """The page's people write to the chat."""
        await self.page.tell(type="chat", text=text)

    async def close(self):
        await asyncio.gather(*(caller.close() for caller in self.callers))
        if self.page:
            await self.page.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()
