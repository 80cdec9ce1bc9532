"""Clients whose address changes during a call: behind a NAT that lost its mappings, and on another network."""

import asyncio
import json
import sys
import time

import pytest

from support import CLIENTS
from support.aiortc_peer import AiortcPeer
from support.browser import Chromium, Firefox
from support.media import TONES, tone_level
from support.page import Page
from support.people import BrowserPeer, PythonPeer, eventually, page_url
from support.server import ADDRESS, Server, from_outside

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


class FarBrowser:
    def __init__(self, kind, far, name, colour, frequency):
        self.browser, self.far, self.name, self.colour, self.frequency = kind(far), far, name, colour, frequency

    async def start(self, server, pages, room):
        url = from_outside(page_url(pages, server, room, self.name, self.colour, self.frequency))
        # Without a sound card Firefox's tone is that of its fake microphone.
        await self.browser.start(url, **({"microphone": self.frequency} if isinstance(self.browser, Firefox) else {}))
        peer = await BrowserPeer(self.browser, self.name, self.colour, self.frequency).joined()
        self.id = peer.id
        return peer

    async def came(self):
        """The received (audio, video) so far, in some unit."""
        return await self.browser.evaluate("stats().then(s => [s['in-audio']?.packetsReceived ?? 0, s['in-video']?.framesDecoded ?? 0])")

    async def close(self):
        if self.browser.process:
            await self.browser.close()


class FarPython:
    """aiortc in a process of its own, since a process is in one network. After a gap it has no picture for long: it waits for the lost packets
    until 128 newer ones have arrived, and then continues with packets as old as these. So only its audio counts."""

    def __init__(self, far, name, colour, frequency):
        self.far, self.name, self.colour, self.frequency = far, name, colour, frequency
        self.process, self.latest = None, (0, 0)

    async def start(self, server, room):
        self.process = await asyncio.create_subprocess_exec(
            *self.far.prefix, sys.executable, "-m", "support.aiortc_peer", from_outside(server.signal_url), room,
            self.name, self.colour, str(self.frequency), "reports", cwd=CLIENTS, stdout=asyncio.subprocess.PIPE)
        self.id = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().strip()
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        async for line in self.process.stdout:
            self.latest = tuple(int(field) for field in line.split())

    async def came(self):
        return self.latest

    async def close(self):
        if self.process:
            self.process.kill()
            await self.process.wait()


async def outages(far_peer, listener, seconds):
    """The longest times (s) within the next `seconds` without audio and without a new picture at the far peer, and without its tone at a listener;
    and the length of each gap that has not ended."""
    def level():
        return tone_level(listener.peer.sound[-4800:], far_peer.frequency)
    usual, counts = level(), await far_peer.came()
    begun = now = time.monotonic()
    last, longest = [begun] * 3, [0.0] * 3
    while now < begun + seconds:
        await asyncio.sleep(0.05)
        before, counts, now = counts, await far_peer.came(), time.monotonic()
        for index, goes_on in enumerate((counts[0] > before[0], counts[1] > before[1], level() > usual / 2)):
            if goes_on:
                last[index] = now
            longest[index] = max(longest[index], now - last[index])
    return longest, [now - at for at in last]


# Seconds. Chromium checks its pair every 2.66 s, Firefox and aiortc every 4 to 6 s: the server cannot know their new address before. Then it takes
# two round trips and a keyframe.
LONGEST = {Chromium: 5, Firefox: 8, FarPython: 8}


def test_a_nat_that_gives_another_address_interrupts_a_call_until_the_next_check(tmp_path, pages, far_network):
    async def run(server):
        ada = await PythonPeer(await AiortcPeer(server, "nat", "Ada", "red", TONES[0]).join()).joined()
        far_peers, peers = [], [ada]
        try:
            for kind, colour, frequency in zip(LONGEST, ("green", "blue", "yellow"), TONES[1:]):
                # A round trip of 30 ms.
                far = far_network("delay=15ms")
                if kind is FarPython:
                    far_peers.append(FarPython(far, "aiortc", colour, frequency))
                    await far_peers[-1].start(server, "nat")
                else:
                    far_peers.append(FarBrowser(kind, far, kind.__name__, colour, frequency))
                    peers.append(await far_peers[-1].start(server, pages, "nat"))
            expected = {ada.id: "red"} | {p.id: p.colour for p in far_peers}

            async def all_right():
                seen = [await peer.tile_colours() for peer in peers]
                return None if all(each == expected for each in seen) else f"{seen}, not {expected}"
            await eventually(all_right, 15, "picture")
            await asyncio.sleep(2)

            for far_peer in far_peers:
                far_peer.far.move("udp")
            results = await asyncio.gather(*(outages(far_peer, ada, 9) for far_peer in far_peers))
            for kind, far_peer, ((sound, picture, heard), away) in zip(LONGEST, far_peers, results):
                asked, answered, early = far_peer.far.checks()
                print(f"{far_peer.name}: {sound:.1f} s without sound, {picture:.1f} s without a picture, {heard:.1f} s not heard by others; "
                      f"{answered} of {asked} checks of ours answered, {early} bytes of media before")
                counted = [0, 2] if kind is FarPython else [0, 1, 2]
                assert all(away[index] < 1 for index in counted), (far_peer.name, away)
                assert all((sound, picture, heard)[index] < LONGEST[kind] for index in counted), far_peer.name
                assert answered > 0, "a full agent answers the checks of a lite one"
                assert early == 0, "media went to an address that had not answered"
            await eventually(all_right, 8, "picture after the move")
            people = [p["id"] for p in server.json("GET", "/api/rooms/nat")["participants"]]
            assert people == list(expected), "somebody left"
        finally:
            for far_peer in far_peers:
                await far_peer.close()
            await ada.leave()
    with Server(tmp_path / "server", origin=pages, announce=[ADDRESS]) as server:
        asyncio.run(asyncio.wait_for(run(server), 90))


def test_the_page_keeps_its_seat_when_its_address_changes(tmp_path, far_network):
    """First the NAT's address changes for all traffic: the media finds the new path by itself, and the socket is dead without being closed.
    Then the machine's own address changes."""
    async def run(server):
        far = far_network("delay=15ms")
        page = Page(far)
        await page.open(from_outside(f"{server.url}/r/move?name=Ada&join=1"), 1280, 800, False, tmp_path)
        try:
            await page.is_moving()
            await page.wait_for("probe.last('line')")
            seat = await page.evaluate("probe.last('joined').you.id")
            for number, (change, limit) in enumerate([(lambda: far.move("all"), 6), (far.change_address, 20)]):
                begun = time.monotonic()
                change()
                # Packets in flight have arrived by then.
                await asyncio.sleep(0.4)
                await page.is_moving(limit)
                moving = time.monotonic() - begun
                joined = "probe.messages.filter(message => message.type === 'joined')"
                await page.wait_for(f"{joined}.length === {number + 2}", 20)
                print(f"the picture moves again after {moving:.1f} s, the socket is back after {time.monotonic() - begun:.1f} s")
                await page.wait_for("document.getElementById('notice').hidden")
                assert await page.evaluate(f"{joined}.every(message => message.you.id === {json.dumps(seat)})")
                assert [person["id"] for person in server.json("GET", "/api/rooms/move")["participants"]] == [seat]
            await page.is_moving()
            assert not await page.evaluate("probe.problems.length"), await page.evaluate("probe.problems")
        finally:
            await page.close()
    with Server(tmp_path / "server", announce=[ADDRESS]) as server:
        asyncio.run(asyncio.wait_for(run(server), 120))
