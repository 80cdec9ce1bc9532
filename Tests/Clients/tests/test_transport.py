"""Paths to a peer, and their change and end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from support import CLIENTS
from support.aiortc_peer import AiortcPeer
from support.browser import Chromium, Firefox
from support.media import TONES
from support.people import BrowserPeer, PythonPeer, eventually, goes_on, page_url, picture_is_right, sound_is_right
from support.server import ADDRESS, Server

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


class Relay:
    """A NAT between a client and the server: datagrams that the client sends to `port` reach the server from a port that `move` changes."""

    def __init__(self, server):
        self.target = (ADDRESS, server.media_port)

    async def start(self):
        loop = asyncio.get_running_loop()
        self.inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.inside.bind((ADDRESS, 0))
        self.inside.setblocking(False)
        self.port = self.inside.getsockname()[1]
        self.client, self.outside = None, None
        loop.add_reader(self.inside, self.from_client)
        self.move()
        return self

    def move(self):
        loop = asyncio.get_running_loop()
        if self.outside:
            loop.remove_reader(self.outside)
            self.outside.close()
        self.outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.outside.bind((ADDRESS, 0))
        self.outside.setblocking(False)
        loop.add_reader(self.outside, self.from_server)

    def from_client(self):
        try:
            for _ in range(100):
                data, self.client = self.inside.recvfrom(2048)
                self.outside.sendto(data, self.target)
        except OSError:
            pass

    def from_server(self):
        try:
            for _ in range(100):
                data = self.outside.recv(2048)
                if self.client:
                    self.inside.sendto(data, self.client)
        except OSError:
            pass

    def close(self):
        for each in (self.inside, self.outside):
            asyncio.get_running_loop().remove_reader(each)
            each.close()


def test_tcp_only_ice_restart_and_a_changed_address_in_browsers(server, pages):
    async def run():
        relay = await Relay(server).start()
        ada = await PythonPeer(await AiortcPeer(server, "ways", "Ada", "red", TONES[0]).join()).joined()
        open_browsers = []

        async def browser(kind, name, colour, frequency, extra=""):
            # Without a sound card Firefox's tone is that of its fake microphone.
            microphone = {"microphone": frequency} if isinstance(kind, Firefox) else {}
            started = await kind.start(page_url(pages, server, "ways", name, colour, frequency) + extra, **microphone)
            open_browsers.append(started)
            return await BrowserPeer(started, name, colour, frequency).joined()
        try:
            tcp, moved, fox = await asyncio.gather(
                browser(Chromium(), "TCP", "green", TONES[1], "&only=%20tcp%20"),
                browser(Chromium(), "Moved", "blue", TONES[2], f"&relay={relay.port}"),
                browser(Firefox(), "Firefox", "yellow", TONES[3]))
            peers = [ada, tcp, moved, fox]
            await eventually(lambda: picture_is_right(peers), 10, "picture")
            await eventually(lambda: sound_is_right(peers), 10, "sound")
            stats = await tcp.browser.evaluate("stats()")
            assert stats["locals"][stats["pair"]["localCandidateId"]]["protocol"] == "tcp", stats["pair"]

            # The NAT uses another port: media recovers with the next checks, and nobody leaves.
            relay.move()
            # What was on its way comes until then.
            await asyncio.sleep(0.5)
            before = await moved.browser.evaluate("state.frames")
            await moved.browser.wait_for(f"state.frames > {before} + 7", 3.5)
            await goes_on(moved)

            # ICE restarts over UDP and TCP.
            for peer in (tcp, moved, fox):
                before = await peer.browser.evaluate("iceLine(pc.remoteDescription.sdp, 'ice-ufrag')")
                await peer.browser.evaluate("(pc.restartIce(), 1)")
                await peer.browser.evaluate("offerAgain().then(() => 1)")
                assert await peer.browser.evaluate("iceLine(pc.remoteDescription.sdp, 'ice-ufrag')") != before
            for peer in (tcp, moved, fox):
                await goes_on(peer)
            await eventually(lambda: picture_is_right(peers), 5, "picture after the restarts")
            await eventually(lambda: sound_is_right(peers), 5, "sound after the restarts")
            people = {p["id"] for p in server.json("GET", "/api/rooms/ways")["participants"]}
            assert people == {p.id for p in peers}, "an ICE restart must keep the participant"
        finally:
            for each in open_browsers:
                await each.close()
            await ada.leave()
            relay.close()
    asyncio.run(asyncio.wait_for(run(), 120))


def test_ipv6_alone_carries_a_call(tmp_path, pages):
    address = os.environ.get("PEER_ADDRESS6")
    if not address:
        pytest.skip("no IPv6 here")

    async def run(server):
        ada = await PythonPeer(await AiortcPeer(server, "six", "Ada", "red", TONES[0]).join()).joined()
        browser = await Chromium().start(page_url(pages, server, "six", "Chromium", "green", TONES[1]))
        try:
            chromium = await BrowserPeer(browser, "Chromium", "green", TONES[1]).joined()
            await eventually(lambda: picture_is_right([ada, chromium]), 8, "picture over IPv6")
            stats = await browser.evaluate("pc.getStats().then(r => [...r.values()].filter(e => e.type === 'remote-candidate').map(e => e.address))")
            assert stats and all(":" in a for a in stats), stats
        finally:
            await ada.leave()
            await browser.close()
    with Server(tmp_path / "server", media="[::]", announce=[address], origin=pages) as server:
        asyncio.run(asyncio.wait_for(run(server), 60))


def child(server, room, name, colour, frequency):
    process = subprocess.Popen(
        [sys.executable, "-m", "support.aiortc_peer", server.signal_url, room, name, colour, str(frequency)], cwd=CLIENTS,
        stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@pytest.mark.patient
def test_who_vanishes_is_missed_in_time_and_who_comes_back_keeps_the_seat(server):
    """Killed, stopped, and disconnected peers at the same time, beside two other participants."""
    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "gone", "Ada", "red", TONES[0]).join()).joined()
        back = await PythonPeer(await AiortcPeer(server, "gone", "Back", "green", TONES[1]).join()).joined()
        never = await PythonPeer(await AiortcPeer(server, "gone", "Never", "blue", TONES[2]).join()).joined()
        (killed, killed_id), (stopped, stopped_id) = await asyncio.gather(
            asyncio.to_thread(child, server, "gone", "Killed", "yellow", TONES[3]),
            asyncio.to_thread(child, server, "gone", "Stopped", "magenta", TONES[4]))
        try:
            async def all_there():
                seen = await ada.tile_colours()
                wanted = {ada.id: "red", back.id: "green", never.id: "blue", killed_id: "yellow", stopped_id: "magenta"}
                return None if seen == wanted else f"{seen}, not {wanted}"
            await eventually(all_there, 10, "everyone at first")
            await ada.forget_gaps()
            start = time.monotonic()
            killed.kill()
            stopped.send_signal(signal.SIGSTOP)
            await back.peer.drop_signalling()
            await never.peer.drop_signalling()

            # Within 15 s the seat can be resumed with its secret, and not without.
            await asyncio.sleep(5)
            assert {p["id"] for p in ada.peer.participants} >= {back.id, never.id}
            frames = len(back.peer.picture_times)
            joined = await back.peer.take_seat_back()
            assert joined["you"]["id"] == back.id and joined["you"]["name"] == "Back"
            assert {p["id"] for p in joined["participants"]} == {p["id"] for p in ada.peer.participants}
            thief = AiortcPeer(server, "gone", "Thief", "red", TONES[5])
            thief.resume = {"id": never.id, "secret": "guessed"}
            try:
                await thief.take_seat_back()
                pytest.fail("a seat was given for a guessed secret")
            except RuntimeError as error:
                assert "unauthorized" in str(error)
            finally:
                await thief.socket.close()
            await asyncio.sleep(0.5)
            assert len(back.peer.picture_times) > frames + 5, "media goes on through a resume"
            # By now a killed peer's tile shows the avatar, not its last frame.
            assert (await ada.tile_colours()).get(killed_id) != "yellow"

            gone = {}
            while len(gone) < 3 and time.monotonic() - start < 40:
                people = {p["id"] for p in ada.peer.participants}
                for name, id in [("killed", killed_id), ("never", never.id), ("stopped", stopped_id)]:
                    if id not in people:
                        gone.setdefault(name, time.monotonic() - start)
                await asyncio.sleep(0.1)
            assert set(gone) == {"killed", "never", "stopped"}, gone
            assert 14 < gone["never"] < 18, gone
            assert gone["killed"] < 18, gone
            assert 28 < gone["stopped"] < 34, gone
            await eventually(lambda: picture_is_right([ada, back]), 3, "who is left")
            await eventually(lambda: sound_is_right([ada, back]), 3, "who is left")
            assert await ada.longest_gap() < 500, "others noticed"
        finally:
            for process in (killed, stopped):
                process.kill()
                process.wait()
            for peer in (ada, back, never):
                await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 90))
