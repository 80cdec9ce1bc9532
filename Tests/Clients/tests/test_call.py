"""The main job: Chromium with VP8 and with H.264 only, Firefox, and aiortc with each codec, all in one room."""

import asyncio
import time

import pytest

from support.aiortc_peer import AiortcPeer, HTTPPeer
from support.browser import Chromium, Firefox
from support.media import TONES
from support.people import BrowserPeer, PythonPeer, eventually, page_url, picture_is_right, sound_is_right


# aiortc's own estimate falls to 60 kbit/s where five clients share two cores, and it then gets stills, as it should.
@pytest.mark.usefixtures("needs_address", "good_line")
def test_five_clients_of_three_kinds_and_two_codecs_share_a_room(server, pages):
    async def run():
        room = "mixed"
        browsers = [
            BrowserPeer(await Chromium().start(page_url(pages, server, room, "Chromium VP8", "red", TONES[0], "VP8")), "Chromium VP8", "red", TONES[0]),
            BrowserPeer(await Chromium().start(page_url(pages, server, room, "Chromium H.264", "green", TONES[1], "H264")), "Chromium H.264", "green", TONES[1]),
            BrowserPeer(await Firefox().start(page_url(pages, server, room, "Firefox", "blue", TONES[2]), microphone=TONES[2]), "Firefox", "blue", TONES[2]),
        ]
        peers = []
        try:
            for browser in browsers:
                peers.append(await browser.joined())
            for name, colour, frequency, codec in [("aiortc VP8", "yellow", TONES[3], "VP8"), ("aiortc H.264", "magenta", TONES[4], "H264")]:
                peers.append(await PythonPeer(await AiortcPeer(server, room, name, colour, frequency, codec).join()).joined())
            await eventually(lambda: picture_is_right(peers), 10, "picture")
            await eventually(lambda: sound_is_right(peers), 15, "sound")

            # Each kind of client leaves in turn; within a second the picture of all others is right again, and none freezes.
            while len(peers) > 2:
                leaver = peers.pop(len(peers) // 2)
                for peer in peers:
                    await peer.forget_gaps()
                await leaver.leave()
                if leaver in browsers:
                    browsers.remove(leaver)
                await eventually(lambda: picture_is_right(peers), 3, f"picture after {leaver.name} left")
                await eventually(lambda: sound_is_right(peers), 10, f"sound after {leaver.name} left")
                for peer in peers:
                    gap = await peer.longest_gap()
                    assert gap < 1000, f"{peer.name} froze for {gap:.0f} ms when {leaver.name} left"
        finally:
            for browser in browsers:
                await browser.browser.close()
            for peer in peers:
                if isinstance(peer, PythonPeer):
                    await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 150))


@pytest.mark.quick
@pytest.mark.usefixtures("needs_address")
def test_two_aiortc_peers_see_and_hear_each_other(server):
    async def run():
        peers = []
        try:
            for name, colour, frequency in [("Ada", "red", TONES[0]), ("Bo", "cyan", TONES[1])]:
                peers.append(await PythonPeer(await AiortcPeer(server, "pair", name, colour, frequency).join()).joined())
            await eventually(lambda: picture_is_right(peers), 8, "picture")
            await eventually(lambda: sound_is_right(peers), 10, "sound")
        finally:
            for peer in peers:
                await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_viewer_s_data_channel_messages_reach_nobody(server):
    """Neither those of a WHEP client nor those of a participant with the role viewer; both receive the others' messages."""
    def refused():
        metrics = server.get("/metrics")[2].decode().splitlines()
        return next(float(line.split()[-1]) for line in metrics if line.startswith("tessera_messages_refused_total"))

    async def run():
        ada = await AiortcPeer(server, "data", "Ada", "red", TONES[0], data_channel="tools").join()
        bo = await AiortcPeer(server, "data", "Bo", "blue", TONES[1], data_channel="tools").join()
        whep = await HTTPPeer(server, "data", "Whep", "green", TONES[2], data_channel="tools", direction="recvonly").join("whep")
        role = await AiortcPeer(server, "data", "Role", "cyan", TONES[3], data_channel="tools").join(role="viewer")
        everybody = [ada, bo, whep, role]
        try:
            deadline = time.monotonic() + 15
            while any(peer.channel.readyState != "open" for peer in everybody):
                assert time.monotonic() < deadline, "the channels did not open"
                await asyncio.sleep(0.05)
            for viewer in (whep, role):
                for number in range(5):
                    viewer.channel.send(f"{viewer.name} says {number}")
                    viewer.channel.send(bytes([number]))
            # Sent after the viewers' messages, which would have arrived before.
            while await asyncio.to_thread(refused) < 20:
                assert time.monotonic() < deadline, f"{refused()} were refused"
                await asyncio.sleep(0.05)
            ada.channel.send("hello")
            while any(peer.received_data[-1:] != ["hello"] for peer in (bo, whep, role)):
                assert time.monotonic() < deadline, [peer.received_data for peer in everybody]
                await asyncio.sleep(0.05)
            assert [peer.received_data for peer in everybody] == [[], ["hello"], ["hello"], ["hello"]]
            assert refused() == 20
        finally:
            for peer in everybody:
                await peer.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_address")
def test_messages_of_a_data_channel_reach_the_others_and_not_the_sender(server):
    async def run():
        ada = await AiortcPeer(server, "data", "Ada", "red", TONES[0], data_channel="tools").join()
        bo = await AiortcPeer(server, "data", "Bo", "blue", TONES[1], data_channel="tools").join()
        try:
            deadline = time.monotonic() + 10
            while ada.channel.readyState != "open" or bo.channel.readyState != "open":
                assert time.monotonic() < deadline, "the channels did not open"
                await asyncio.sleep(0.05)
            ada.channel.send("text stays text")
            ada.channel.send(b"\x00binary stays binary")
            while len(bo.received_data) < 2:
                assert time.monotonic() < deadline + 5, f"Bo received {bo.received_data}"
                await asyncio.sleep(0.05)
            assert bo.received_data == ["text stays text", b"\x00binary stays binary"]
            assert ada.received_data == []
        finally:
            await ada.close()
            await bo.close()
    asyncio.run(asyncio.wait_for(run(), 60))
