"""A participant with aiortc that comes back as Signalling.md has it: by its ticket when the connection is lost, and by a second connection when
its room moves."""

import asyncio
import contextlib
import json
import random
import time

import numpy as np
import websockets
from aiortc import RTCSessionDescription

from support.aiortc_peer import AiortcPeer
from support.media import TONES

# The longest pause in ms of a sound that goes on: beside browsers on two cores this process does not run for half a second at times.
PAUSE = 800
# The block of a received packet, and the waves whose levels are measured in it.
BLOCK = 960
WINDOW = np.hanning(BLOCK) * 2 / np.hanning(BLOCK).sum()
WAVES = np.exp(-2j * np.pi * np.outer(TONES, np.arange(BLOCK)) / 48000) * WINDOW


def wall():
    """Milliseconds of the epoch, the clock of all members."""
    return time.time() * 1000


def since(times, limit):
    """The time since which the times follow each other without a gap of `limit` ms; None: they have ended."""
    if not times or wall() - times[-1] > limit:
        return None
    at = len(times) - 1
    while at > 0 and times[at] - times[at - 1] <= limit:
        at -= 1
    return times[at]


class Refused(Exception):
    """The server takes no join now; `wait`: the seconds after which it may."""

    def __init__(self, message):
        super().__init__(str(message))
        self.wait = message.get("retryAfter", 1)
        self.is_lasting = message.get("code") not in ("too_fast", "overloaded", "internal")


class ReturningPeer(AiortcPeer):
    async def join(self, **wishes):
        self.wishes, self.resume, self.ended = wishes, None, False
        # The `joined` messages, and the times of pictures and of blocks of sound with their levels, in ms of the epoch.
        self.joins, self.frames, self.levels = [], [], []
        self.socket = await self.enter()
        await self.connect()
        self.keeper = asyncio.ensure_future(self.keep())
        return self

    async def enter(self):
        """A socket with a seat."""
        socket = await websockets.connect(self.server.signal_url, max_size=1 << 20, open_timeout=3, **self.socket_options)
        try:
            resume = {"resume": self.resume} if self.resume else {}
            await socket.send(json.dumps({"type": "join", "room": self.room, "name": self.name, **self.wishes, **resume}))
            while True:
                message = json.loads(await asyncio.wait_for(socket.recv(), 8))
                if message["type"] == "error":
                    raise Refused(message)
                if message["type"] == "joined":
                    break
        except BaseException:
            socket.transport.abort()
            raise
        self.handle(message)
        self.joins.append(message | {"at": wall()})
        # Another seat has no media yet, and neither has the same seat at a server that never had its media.
        self.is_fresh = message.get("fresh", self.id != message["you"]["id"])
        self.id, self.resume = message["you"]["id"], message["you"]["resume"]
        self.participants = message.get("participants", [])
        return socket

    async def connect(self):
        """New media over the socket."""
        await self.prepare()
        await self.send(type="offer", sdp=self.pc.localDescription.sdp)
        answer = await self.next("answer")
        self.answer = answer["sdp"]
        await self.pc.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))

    async def keep(self):
        """Reads messages and comes back, until the end."""
        while not self.ended:
            with contextlib.suppress(websockets.ConnectionClosed):
                async for text in self.socket:
                    message = json.loads(text)
                    self.handle(message)
                    if message["type"] == "left" and message["reason"] not in ("moved", "draining", "timeout", "failed"):
                        self.ended = True
                    if message["type"] == "moving":
                        await self.move()
                        break
            if self.socket.state is not websockets.State.OPEN and not self.ended:
                await self.come_back()

    async def come_back(self):
        wait = 0.3
        while not self.ended:
            await asyncio.sleep(random.random() * wait)
            wait = min(wait * 2, 2)
            try:
                self.socket = await self.enter()
                if self.is_fresh or self.pc.connectionState != "connected":
                    old = self.pc
                    await self.connect()
                    await old.close()
                return
            except Refused as refusal:
                if refusal.is_lasting:
                    self.resume = None
                await asyncio.sleep(refusal.wait)
            except (OSError, websockets.WebSocketException, TimeoutError, RuntimeError):
                pass

    async def settle(self, company):
        """Waits until the new connection has a picture and sound and the others are there, as the page does."""
        begun, deadline = wall(), time.monotonic() + 3
        while time.monotonic() < deadline:
            missing = company - {person["id"] for person in self.participants}
            if not missing and sum(at > begun + 300 for at in self.frames) > 15 and sum(at > begun + 300 for at, _ in self.levels) > 25:
                return
            with contextlib.suppress(TimeoutError):
                self.handle(json.loads(await asyncio.wait_for(self.socket.recv(), 0.05)))

    async def move(self):
        """Makes the new connection before it ends the old one."""
        old_socket, old, company = self.socket, self.pc, {person["id"] for person in self.participants}
        try:
            self.socket = await self.enter()
            await self.connect()
            await self.settle(company)
            with contextlib.suppress(websockets.ConnectionClosed):
                await old_socket.send(json.dumps({"type": "leave"}))
        except (OSError, websockets.WebSocketException, TimeoutError, RuntimeError, Refused):
            # The old connection stays until it ends; then this peer comes back as after any loss.
            if self.socket is not old_socket:
                self.socket.transport.abort()
            self.socket, self.pc = old_socket, old
            return
        await old_socket.close()
        await old.close()

    async def read_video(self, track):
        with contextlib.suppress(Exception):
            while True:
                self.picture = await track.recv()
                self.frames.append(wall())
                self.picture_times.append(time.monotonic())

    async def read_audio(self, track):
        with contextlib.suppress(Exception):
            while True:
                frame = await track.recv()
                samples = frame.to_ndarray().reshape(-1).astype(np.float32) / 32768
                if len(frame.layout.channels) == 2:
                    samples = samples.reshape(-1, 2).mean(axis=1)
                # A thin line gets packets of 40 or 60 ms.
                self.levels += [(wall(), np.abs(WAVES @ block)) for block in samples[:len(samples) // BLOCK * BLOCK].reshape(-1, BLOCK)]

    def heard(self, tones):
        """The times of the blocks with all these tones."""
        wanted = [TONES.index(each) for each in tones]
        return [at for at, levels in self.levels if all(levels[each] > 0.02 for each in wanted)]

    async def state(self, tones):
        return {
            "id": self.id, "name": self.joins[-1]["you"]["name"], "role": self.joins[-1]["you"]["role"], "joins": len(self.joins),
            "tiles": [tile["participant"] for tile in (self.tiles or {}).get("tiles", [])], "joinedAt": self.joins[-1]["at"],
            "chat": [message["text"] for message in self.joins[-1].get("chat", [])],
            "line": next((message for message in reversed(self.messages) if message["type"] == "line"), None),
            "picture": self.since_joined(self.frames, 1000),
            "sound": self.since_joined(self.heard(tones), PAUSE) if tones else self.joins[-1]["at"], "problems": []}

    def since_joined(self, times, limit):
        """As `since`, of the times after the last join."""
        return since([at for at in times if at >= self.joins[-1]["at"]], limit)

    async def gaps(self, start, tones):
        def longest(times):
            inside = [start, *(at for at in times if at > start), wall()]
            return max(then - at for at, then in zip(inside, inside[1:]))
        return [longest(self.frames), longest(self.heard(tones))]

    async def close(self):
        self.ended = True
        self.keeper.cancel()
        await super().close()
