"""Calls that move to another server, and calls whose server dies: the page and `tessera call` behind one address."""

import asyncio
import contextlib
import json
import math
import re
import signal
import struct
import time
import wave

import pytest

from support.one_address import Front
from support.page import PROBE, Page, module
from support.server import PROGRAM, Server

pytestmark = pytest.mark.usefixtures("needs_address")

# Notes the time of each shown picture of the page, and each 10 ms whether the played track has sound.
GAPS = """
(() => {
  const Native = RTCPeerConnection, levels = new Map(), context = new AudioContext();
  window.connections = [];
  window.gaps = { pictures: [], sounds: [] };
  window.RTCPeerConnection = class extends Native {
    constructor(...all) {
      super(...all);
      connections.push(this);
      this.addEventListener('track', ({ track }) => {
        if (track.kind !== 'audio') return;
        const analyser = new AnalyserNode(context, { fftSize: 512 });
        context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
        levels.set(track.id, analyser);
      });
    }
  };
  // What each server says of the page's picture.
  const Socket = WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...all) {
      super(...all);
      this.addEventListener('message', ({ data }) => { if (JSON.parse(data).type === 'layout') this.layout = JSON.parse(data); });
    }
  };
  const samples = new Float32Array(512);
  addEventListener('DOMContentLoaded', () => {
    const mix = document.getElementById('mix');
    const shown = now => { gaps.pictures.push(performance.now()); mix.requestVideoFrameCallback(shown); };
    mix.requestVideoFrameCallback(shown);
    setInterval(() => {
      const analyser = levels.get(mix.srcObject?.getAudioTracks()[0]?.id);
      if (!analyser) return;
      analyser.getFloatTimeDomainData(samples);
      if (samples.some(sample => Math.abs(sample) > 0.01)) gaps.sounds.push(performance.now());
    }, 10);
  });
  gaps.begin = () => { gaps.pictures = [performance.now()]; gaps.sounds = [performance.now()]; };
  gaps.longest = () => ['pictures', 'sounds'].map(kind => {
    const times = [...gaps[kind], performance.now()];
    return Math.round(Math.max(...times.slice(1).map((time, index) => time - times[index])));
  });
})();
"""
# The shortest and longest times before each attempt to come back, as the page's module has them.
DELAYS = "(({ retryDelay }) => [0, 1].map(part => [0, 1, 2, 3, 4, 9].map(attempt => retryDelay(attempt, part))))(%s)"
IN_CALL = "document.getElementById('call')?.hidden === false"


class GapPage(Page):
    async def open(self, url, shots):
        self.shots = shots
        await self.start("about:blank", trusted=url)
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=PROBE + GAPS)
        await self.call("Page.navigate", url=url)
        await self.wait_for(IN_CALL, 30)
        await self.is_moving(20)
        return self


def tone(path, seconds=40):
    """A file with a tone that does not end within the test."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        second = b"".join(struct.pack("<h", int(9000 * math.sin(2 * math.pi * 440 * i / 48_000))) for i in range(48_000))
        file.writeframes(second * seconds)
    return path


class Caller:
    """`tessera call`, and the lines that it prints."""

    def __init__(self, url, room, name, *options):
        self.arguments = [PROGRAM, "call", url, "--room", room, "--name", name, *map(str, options)]
        self.lines = []

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(*self.arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self.readers = [asyncio.ensure_future(self.read(stream)) for stream in (self.process.stdout, self.process.stderr)]
        return self

    async def read(self, stream):
        async for line in stream:
            self.lines.append(line.decode().rstrip())

    async def said(self, pattern, count=1, timeout=15):
        """Waits until lines match so often; returns the last match."""
        deadline = time.monotonic() + timeout
        while len(found := [match for line in self.lines if (match := re.search(pattern, line))]) < count:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.lines}"
            await asyncio.sleep(0.05)
        return found[-1]

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
            try:
                await asyncio.wait_for(self.process.wait(), 10)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()


@contextlib.contextmanager
def servers(tmp_path, count=2):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Server(tmp_path / name)) for name in "ab"[:count]]


def people(server, room):
    status, _, body = server.get(f"/api/rooms/{room}")
    return {person["name"]: person for person in json.loads(body)["participants"]} if status == 200 else {}


async def eventually(server, condition, seconds, what, room="hall"):
    """Waits until the people of the server's room, by their names, are as they should be."""
    deadline = time.monotonic() + seconds
    while not condition(there := await asyncio.to_thread(people, server, room)):
        assert time.monotonic() < deadline, f"{what}: {there}"
        await asyncio.sleep(0.1)


@pytest.mark.alone
def test_a_room_moves_without_a_gap_and_the_page_forgets_nothing(tmp_path):
    """Alone: it measures gaps, and a busy server makes no picture of one's own."""
    async def run(a, b):
        async with Front(a, b) as front, Caller(front.url, "hall", "Bo", "--audio", tone(tmp_path / "tone.wav")) as bo:
            await bo.said("connected")
            page = await GapPage().open(f"{front.url}/r/hall?name=Ada&join=1&lang=en", tmp_path)
            try:
                await page.wait_for("gaps.sounds.length > 20")
                await page.click("#open-chat")
                await page.type("#chat-text", "said before")
                await page.click("#chat-form [type=submit]")
                await page.wait_for("document.querySelectorAll('#messages li').length === 1")
                await page.type("#chat-text", "half a sen")
                await page.click("#toggle-audio")
                seat, other = await page.evaluate("[probe.last('joined').you.id, probe.messages.flatMap(m => [...m.participants ?? [], ...m.joined ?? []]).findLast(p => p.name === 'Bo').id]")
                choice = f"probe.sockets[0].send(JSON.stringify({{ type: 'layout', name: 'sidebar', scope: 'me', pin: ['{other}'] }}))"
                # A server that is busy with the start makes no further picture, and is asked again.
                await page.wait_for(f"probe.last('layout')?.pin?.length === 1 || ({choice}, new Promise(done => setTimeout(done, 500)))", 30)
                await asyncio.sleep(1)
                for number, (server, left) in enumerate(((b, a), (a, b)), 1):
                    if number == 2:
                        # A screen is shared during the second move.
                        await page.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => probe.screen(), 0)")
                        await page.click("#toggle-screen")
                        await eventually(left, lambda there: there["Ada"]["presenting"], 5, "no screen")
                        await asyncio.sleep(1)
                    await page.evaluate("(gaps.begin(), 0)")
                    await asyncio.sleep(1)
                    # On a busy machine the timer and the pictures are late without a move, too.
                    usual = await page.evaluate("gaps.longest()")
                    await page.evaluate("(gaps.begin(), 0)")
                    await front.move(server, 8)
                    await page.wait_for(f"connections.length === {number + 1} && connections.slice(0, -1).every(pc => pc.connectionState === 'closed')", 12)
                    await asyncio.sleep(0.5)
                    picture, sound = await page.evaluate("gaps.longest()")
                    line = await bo.said(r"moved: picture gap (\d+) ms, sound gap (\d+) ms", number)
                    print(f"move {number}: page without picture for {picture} ms, without sound for {sound} ms, before {usual}; {line[0]}")
                    assert picture <= 500 + usual[0] and sound <= 200 + usual[1]
                    assert int(line[1]) <= 500 and int(line[2]) <= 200
                    await eventually(left, lambda there: not there, 5, "somebody stayed behind")
                    there = people(server, "hall")
                    assert there.keys() == {"Ada", "Bo"} and not there["Ada"]["audio"] and there["Ada"]["presenting"] == (number == 2), there
                    assert await page.evaluate("probe.last('joined').you.id") == seat
                    # While somebody presents everyone sees that.
                    if number == 1:
                        await page.wait_for(f"[probe.sockets.at(-1).layout?.name, probe.sockets.at(-1).layout?.pin[0]].join() === 'sidebar,{other}'")
                    await page.is_moving()
                assert await page.evaluate("document.getElementById('chat-text').value") == "half a sen"
                await page.click("#chat-form [type=submit]")
                await page.wait_for("document.querySelectorAll('#messages li').length === 2")
                assert await page.evaluate("[...document.querySelectorAll('#people-list li[data-participant]')].length") == 2
                assert await page.evaluate("document.getElementById('notice').hidden"), await page.evaluate("document.getElementById('notice').textContent")
                assert not await page.evaluate("probe.problems")
            finally:
                await page.close()
    with servers(tmp_path) as (a, b):
        asyncio.run(asyncio.wait_for(run(a, b), 110))


def test_a_dead_server_a_lost_room_and_a_dead_machine_cost_seconds(tmp_path):
    """Times until the page and `tessera call` have picture and sound again; the machine that is dead closes no socket, and its media stops."""
    async def run(a, b):
        async with Front(a, b) as front, Caller(front.url, "hall", "Bo", "--save", tmp_path / "bo.mp4", "--codec", "vp8") as bo:
            page = await GapPage().open(f"{front.url}/r/hall?name=Ada&join=1&lang=en", tmp_path)
            try:
                await bo.said("connected")
                assert await page.evaluate(DELAYS % module("signalling.js")) == [[0] * 6, [300, 1000, 2000, 4000, 5000, 5000]]
                await asyncio.sleep(1)
                seat = await page.evaluate("probe.last('joined').you.id")
                notices = "document.getElementById('notice').textContent"
                # The seats' own servers end the room, one is killed, and one hangs while the front that led to it is silent.
                for number, (what, server, limit) in enumerate((("lost", b, 3), ("killed", a, 3), ("silent", b, 12)), 1):
                    last = front.owner
                    began = time.monotonic()
                    if what == "lost":
                        await front.lose(front.at(last), server)
                    elif what == "killed":
                        last.process.kill()
                        await front.cut(server)
                    else:
                        front.owner = server
                        front.freeze()
                        last.process.send_signal(signal.SIGSTOP)
                    await page.wait_for(f"connections.length === {number + 1} && connections.at(-1).connectionState === 'connected'", 15)
                    await page.is_moving(5)
                    back = time.monotonic() - began
                    line = await bo.said(r"back: picture gap (\d+) ms, sound gap (\d+) ms", number)
                    print(f"{what}: the page is back after {back:.1f} s; {line[0]}")
                    assert back < limit and int(line[1]) < limit * 1000
                    await page.wait_for("document.getElementById('notice').hidden")
                    assert await page.evaluate("probe.last('joined').you.id") == seat
                    await eventually(server, lambda there: there.keys() == {"Ada", "Bo"}, 5, "not both are there")
                    if what == "killed":
                        await asyncio.to_thread(last.start)
                    await asyncio.sleep(1)
                assert not await page.evaluate("probe.problems")
                assert await page.evaluate(notices) == ""
            finally:
                await page.close()
                b.process.send_signal(signal.SIGCONT)
                a.process.send_signal(signal.SIGCONT)
        saved = await bo.said(r"saved .* \((\d+) tenths", 1)
        # One file with everything, as long as it took.
        assert int(saved[1]) > 60, saved[0]
    with servers(tmp_path) as (a, b):
        asyncio.run(asyncio.wait_for(run(a, b), 110))


def test_a_move_that_fails_leaves_the_call_as_it_is(tmp_path):
    """The other server does not answer in time, or the ticket is refused; then the move comes while the page connects, and twice at once."""
    async def run(a, b):
        async with Front(a, b) as front:
            page = await GapPage().open(f"{front.url}/r/hall?name=Ada&join=1&lang=en", tmp_path)
            try:
                pipe = front.at(a)[0]
                front.is_dead = True
                await pipe.client.send_str('{"type": "moving", "within": 1}')
                await page.wait_for("probe.sockets.length === 2")
                await page.click("#open-chat")
                await page.type("#chat-text", "while it moves")
                await page.click("#chat-form [type=submit]")
                # A second, and the two of grace.
                await asyncio.sleep(4)
                front.is_dead = False
                await page.wait_for("document.querySelectorAll('#messages li').length === 1")
                await page.is_moving()
                assert await page.evaluate("[connections.length, connections[0].connectionState].join()") == "1,connected"
                assert await page.evaluate("probe.sockets[0].readyState === 1 && probe.sockets.slice(1).every(socket => socket.readyState >= 2)")

                # The server has the seat still: the call goes on by the new socket alone.
                await pipe.client.send_str('{"type": "moving", "within": 3}')
                await page.wait_for("probe.sockets[0].readyState === 3 && probe.sockets.at(-1).readyState === 1")
                await page.is_moving()
                assert await page.evaluate("connections.length") == 1

                # Two moves, one after the other has begun, and the second before the media of the first is there.
                await front.move(b, 5)
                await asyncio.sleep(0.7)
                await front.move(a, 5)
                await eventually(a, lambda there: there.keys() == {"Ada"}, 15, "not in the second room")
                await eventually(b, lambda there: not there, 5, "in both rooms")
                await page.is_moving()

                # A page that has just come in has no picture to keep.
                other = await GapPage().start(front.url)
                try:
                    await other.call("Page.navigate", url=f"{front.url}/r/hall?name=Cy&join=1&lang=en")
                    await eventually(a, lambda there: "Cy" in there, 20, "Cy is not in")
                    await front.move(b, 5)
                    await eventually(b, lambda there: there.keys() == {"Ada", "Cy"}, 15, "not all have moved")
                    await other.is_moving()
                finally:
                    await other.close()
                await page.is_moving()
                assert not await page.evaluate("probe.problems")
            finally:
                await page.close()
    with servers(tmp_path) as (a, b):
        asyncio.run(asyncio.wait_for(run(a, b), 110))
