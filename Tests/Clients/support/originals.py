"""The published apps' own code, where a folder has it: `ORIGINALS` names one whose `run/` holds a program for each app (README.md, "Originals").

A program speaks JSON lines: {"do": …} on its input is what a user or the media library does, {"event": …} on its output is what the app's code makes of
it. Media is aiortc's."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import time
from pathlib import Path

import websockets
from aiortc import RTCSessionDescription

from support.app_peer import AppPeer, AppViewer, people_of, within
from support.socketio_client import post_form
from support.webrtc_demo_client import DemoPeer

FOLDER = Path(os.environ["ORIGINALS"]) if os.environ.get("ORIGINALS") else None


def missing(name):
    """Why the original cannot run here; None where it can."""
    if not FOLDER:
        return "ORIGINALS names no folder with the published apps' own code (Tests/Clients/README.md, “Originals”)"
    path = FOLDER / "run" / name
    return None if path.exists() else f"{path} is missing: it would run the app's own code (Tests/Clients/README.md, “Originals”)"


class Original:
    """A program of `run/`, its events, and the commands that it takes."""

    async def start(self, name, *arguments):
        self.name, self.events = name, []
        self.process = await asyncio.create_subprocess_exec(
            str(FOLDER / "run" / name), *map(str, arguments), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 26)
        self.reader = asyncio.ensure_future(self.read())
        return self

    async def read(self):
        async for line in self.process.stdout:
            # Everything else is what the app prints for its developer.
            if line.startswith(b"{"):
                self.events.append(json.loads(line))

    async def do(self, what, **values):
        self.process.stdin.write(json.dumps({"do": what, **values}).encode() + b"\n")
        await self.process.stdin.drain()

    async def event(self, *names, timeout=15, where=lambda event: True):
        """Waits for an event of one of these names; removes and returns it. A crash of the app's code is never waited out."""
        deadline = time.monotonic() + timeout
        while True:
            for event in self.events:
                assert event["event"] != "crash", event
                if event["event"] in names and where(event):
                    self.events.remove(event)
                    return event
            assert time.monotonic() < deadline, f"{self.name}: no {names} among {self.events}"
            await asyncio.sleep(0.02)

    def kill(self):
        """As `kill -9` does it to the app."""
        self.process.send_signal(signal.SIGKILL)

    async def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self.reader


class OriginalPeer(AppPeer):
    """A participant whose signalling is `app`, an app's own code."""

    async def close(self):
        for task in self.tasks:
            task.cancel()
        if hasattr(self, "pc"):
            await self.pc.close()
        await self.app.close()


class AppRTCAndroid(OriginalPeer):
    """AppRTCMobile for Android: its room and WebSocket clients. They have no name to give and are told none: who is new in the room is the app."""

    async def start(self):
        self.app = await Original().start("apprtc-android")
        return self

    async def connect(self, room=None):
        """“Call”: the room's name goes into the only field that the app has."""
        self.others = set(await asyncio.to_thread(people_of, self.server, self.room))
        await self.app.do("connect", url=self.server.url, room=room or self.room)
        return self

    async def offer(self):
        """What CallActivity does when it is connected, up to the answer."""
        connected = await self.app.event("connected")
        await self.prepare()
        await self.app.do("offer", sdp=self.pc.localDescription.sdp)
        line = next(line for line in self.pc.localDescription.sdp.splitlines() if line.startswith("a=candidate:"))
        await self.app.do("candidate", id="0", label=0, candidate=line[2:])
        return connected

    async def answered(self, timeout=15):
        description = await self.app.event("description", timeout=timeout)
        assert description["type"] == "answer", description
        await self.pc.setRemoteDescription(RTCSessionDescription(description["sdp"], "answer"))
        return await self.known()

    async def known(self, timeout=5):
        await within(timeout, lambda: self.newcomers(), f"a newcomer in {self.room}")
        [self.name] = self.newcomers()
        return await super().known(timeout)

    def newcomers(self):
        return [name for name in people_of(self.server, self.room) if name not in self.others and name.startswith("Guest ")]

    async def join(self):
        await (await self.start()).connect()
        await self.offer()
        return await self.answered()


class FLSocketIMAndroid(OriginalPeer):
    """FLSocketIM for Android: its socket, chat and call classes, models and JSON library."""

    async def start(self, folder, register=True):
        if register:
            await asyncio.to_thread(post_form, self.server, "/register", userName=self.name, password="secret")
        self.app = await Original().start("flsocketim-android", self.server.url, folder)
        await self.app.do("login", user=self.name, password="secret")
        await self.app.event("home")
        return self

    async def say(self, other, what="text", timeout=20, **values):
        """Sends a message; returns what the app shows of it when it is acknowledged."""
        await self.app.do(what, to=other, **values)
        sent = await self.app.event("sent", timeout=timeout)
        assert sent["status"] == "MessageSendSuccess", sent
        return sent

    async def message(self, where=lambda event: True, timeout=15):
        return await self.app.event("message", timeout=timeout, where=where)

    async def dial(self, other):
        await self.app.do("call", to=other)
        self.room = (await self.app.event("room"))["room"]
        return self.room

    async def media(self, timeout=15):
        """From the app's offer to the answer in its hands and the remote stream."""
        wanted = await self.app.event("createOffer", timeout=timeout)
        await self.prepare()
        await self.app.do("created", pc=wanted["pc"], type="offer", sdp=self.pc.localDescription.sdp)
        remote = await self.app.event("remote", timeout=timeout)
        assert remote["type"] == "answer", remote
        await self.pc.setRemoteDescription(RTCSessionDescription(remote["sdp"], "answer"))
        await self.app.do("stream", pc=wanted["pc"], videos=remote["sdp"].count("m=video"))
        await self.app.event("remoteStream")
        return await self.known()


class DemoIOS(DemoPeer):
    """The WebRTC demo for iOS: what it sends and how it reads is its own `SignalingClient`'s; the socket is ours."""

    async def connect(self):
        self.app = await Original().start("webrtc-demo-ios")
        await self.app.event("connect")
        await super().connect()
        await self.app.do("opened")
        await self.app.event("status", where=lambda event: event["text"] == "Connected")
        self.tasks.append(asyncio.ensure_future(self.carry()))
        return self

    async def carry(self):
        while True:
            event = await self.app.event("send", timeout=3600)
            await self.socket.send(base64.b64decode(event["data"]))

    async def read_frames(self, socket):
        with contextlib.suppress(websockets.ConnectionClosed):
            async for frame in socket:
                assert isinstance(frame, bytes), "the app drops text"
                await self.app.do("frame", data=base64.b64encode(frame).decode())
        self.closed = (socket.close_code, socket.close_reason)
        await self.app.do("closed")

    async def offer(self):
        """“Send offer”."""
        if not hasattr(self, "pc"):
            await self.prepare()
            self.cross_channels()
        sdp = self.pc.localDescription.sdp
        line = next(line for line in sdp.splitlines() if line.startswith("a=candidate:"))
        await self.app.do("candidate", sdp=line[2:], index=0, mid="0")
        await self.app.do("offer", sdp=sdp)

    async def answered(self, _=None, timeout=15):
        """“Remote SDP ✅”."""
        description = await self.app.event("remoteSdp", timeout=timeout)
        assert description["type"] == "answer", description
        await self.pc.setRemoteDescription(RTCSessionDescription(description["sdp"], "answer"))

    async def close(self):
        await super().close()
        await self.app.close()


async def press_join(page):
    """“JOIN” of AppRTC's web page, once its scripts have run: before its style arrives the button is to be seen, and does nothing."""
    await page.wait_for("!!window.appController && !!document.querySelector('#confirm-join-button')?.offsetParent")
    await page.evaluate("document.querySelector('#confirm-join-button').click()")


async def sees(peer):
    """The app's participant with the interface for checks of picture and audio."""
    return await AppViewer(peer).joined()
