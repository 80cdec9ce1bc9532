"""A browser that stops reading during a call: the messages for it cost the server little, and do not affect the others."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from support.aiortc_peer import AiortcPeer
from support.browser import Chromium
from support.media import TONES, tone_level
from support.people import BrowserPeer, page_url

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")

HELD_SECONDS = 8
MESSAGE = 10_000
MESSAGES_PER_SECOND = 40
# The most memory of one peer's channels in addition to the usual traffic (SCTPConfiguration.sendBuffer), and the allocator's variation.
MEMORY = 24 << 20


def renderers(process):
    """The renderer processes of a Chromium, in which pages and their WebRTC run."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    family = {process.pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return [pid for pid in family if b"--type=renderer" in (Path("/proc") / str(pid) / "cmdline").read_bytes()]


def memory(server):
    status = (Path("/proc") / str(server.process.pid) / "status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) << 10


def test_a_browser_that_stands_still_holds_up_nobody_and_is_told_what_it_missed(server, pages):
    async def run():
        ada = await AiortcPeer(server, "held", "Ada", "red", TONES[0], data_channel="tools").join()
        bo = await AiortcPeer(server, "held", "Bo", "blue", TONES[1], data_channel="tools").join()
        browser = await Chromium(apart=True).start(page_url(pages, server, "held", "Held", "green", TONES[2]) + "&channel=tools")
        stopped = []
        try:
            held = await BrowserPeer(browser, "Held", "green", TONES[2]).joined()
            await browser.wait_for("channel.readyState === 'open'")
            await browser.evaluate("(channel.onclose = () => state.closed = performance.now(), 1)")
            deadline = time.monotonic() + 10
            while any(p.channel.readyState != "open" or not p.picture_times for p in (ada, bo)):
                assert time.monotonic() < deadline, "no channel or no picture"
                await asyncio.sleep(0.05)
            sent = chats = 0

            async def talk(seconds):
                """Ada sends much on the data channel and writes in the chat."""
                nonlocal sent, chats
                begun, first, chat = time.monotonic(), sent, chats
                while (passed := time.monotonic() - begun) < seconds:
                    while sent - first < passed * MESSAGES_PER_SECOND:
                        ada.channel.send(f"{sent} ".ljust(MESSAGE, "x"))
                        sent += 1
                    if chats - chat < passed * 4:
                        await ada.send(type="chat", text=f"{chats} ".ljust(4000, "y"))
                        chats += 1
                    await asyncio.sleep(0.02)
            await talk(1)
            before, silent_before = memory(server), len(await browser.evaluate("state.data"))
            assert silent_before > 0

            stopped = renderers(browser.process)
            assert stopped
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            bo.picture_times = bo.picture_times[-1:]
            peak = before

            async def watch():
                nonlocal peak
                while True:
                    peak = max(peak, memory(server))
                    await asyncio.sleep(0.1)
            watching = asyncio.ensure_future(watch())
            await talk(HELD_SECONDS)
            watching.cancel()
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
            stopped, resumed = [], time.monotonic()

            # The others receive everything, in order, and the call goes on.
            numbers = [int(text.split()[0]) for text in bo.received_data]
            while len(numbers) < sent:
                assert time.monotonic() < resumed + 15, f"Bo has {len(numbers)} of {sent}"
                await asyncio.sleep(0.1)
                numbers = [int(text.split()[0]) for text in bo.received_data]
            assert numbers == list(range(sent))
            gap = max(b - a for a, b in zip(bo.picture_times, bo.picture_times[1:]))
            assert tone_level(bo.sound[-24000:], TONES[0]) > 0.02
            assert peak - before < MEMORY, (before, peak)

            # The stopped browser receives the kept messages in order, then the end of its channel; the complete chat; and the call.
            frames = await browser.evaluate("state.frames")
            await browser.wait_for(f"state.frames > {frames} + 10", 8)
            pictures = time.monotonic() - resumed
            await browser.wait_for("state.closed", 10)
            told = time.monotonic() - resumed
            got = await browser.evaluate("state.data.map(text => parseInt(text))")
            assert got == list(range(len(got))) and silent_before < len(got) < sent, (len(got), sent)
            await browser.wait_for(f"state.messages.filter(type => type === 'chat').length === {chats}", 5)
            assert [p["id"] for p in server.json("GET", "/api/rooms/held")["participants"]] == [ada.id, bo.id, held.id]
            metrics = server.get("/metrics")[2].decode()
            assert "tessera_channels_closed_total 1" in metrics
            # It opens another channel, which works like the first.
            await browser.evaluate("(state.again = [], window.again = pc.createDataChannel('tools'), again.onmessage = e => state.again.push(e.data), 1)")
            await browser.wait_for("again.readyState === 'open'")
            await asyncio.sleep(0.2)
            ada.channel.send("welcome back")
            await browser.wait_for("state.again.includes('welcome back')")
            print(f"{sent} messages, {len(got)} of them for who was held, told of the end after {told:.1f} s, pictures back after {pictures:.1f} s; "
                  f"memory {before >> 20} to {peak >> 20} MiB; longest gap of Bo's picture {gap * 1000:.0f} ms")
            assert gap < 1.5, gap
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
            await browser.close()
            await ada.close()
            await bo.close()
    asyncio.run(asyncio.wait_for(run(), 90))
