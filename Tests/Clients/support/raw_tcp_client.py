"""The raw TCP client of Xianlau/SwiftProject, with its reading of frames and its faults, which bind the server: each is noted and fails
the test."""

import asyncio
import contextlib
import json
import socket
import sys
import threading
import time

import aiortc.rtcrtpreceiver
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription

from support.aiortc_peer import ColourTrack, GoodLine, ToneTrack
from support.app_peer import CHANNEL, AppPeer


def frame(message):
    """A frame as the app writes it: Foundation's JSON has "/" as "\\/"."""
    text = message if isinstance(message, bytes) else json.dumps(message, separators=(",", ":")).replace("/", "\\/").encode()
    return (len(text) + 3).to_bytes(2, "big") + b"\xab\x00" + text + b"\xee"


class FrameReader:
    """`unpackData` of the app: one frame per read, whatever else the read has."""

    def __init__(self):
        self.buffer, self.faults, self.sizes, self.times = b"", [], [], []

    def read(self, data):
        """Takes what one read of the socket has returned; returns the message that the app handles, or None."""
        self.buffer += data
        if len(self.buffer) <= 5 or self.buffer[2] != 0xAB:
            self.faults.append(f"the app drops {len(self.buffer)} bytes: {self.buffer[:16]!r}")
            self.buffer = b""
            return None
        size = int.from_bytes(self.buffer[:2], "big") + 2
        if len(self.buffer) < size:
            if size - len(self.buffer) <= 4:
                self.faults.append(f"the app crashes: {size - len(self.buffer)} of {size} bytes are missing")
            return None
        whole, self.buffer = self.buffer[:size], self.buffer[size:]
        if self.buffer:
            self.faults.append(f"{len(self.buffer)} bytes of another frame wait for the next read")
        if whole[3] != 0 or whole[-1] != 0xEE:
            self.faults.append(f"no frame: {whole[:4]!r} … {whole[-1:]!r}")
        self.sizes.append(size)
        self.times.append(time.monotonic())
        return json.loads(whole[4:-1])


class RawTCPClient:
    """The app's socket and its state machine, without media."""

    HEARTBEAT = 3.0
    host = "127.0.0.1"

    def __init__(self, port, **detail):
        self.port, self.detail = port, {"device_type": "ios"} | detail
        self.reader, self.messages = FrameReader(), []
        self.peer, self.remote, self.socket, self.tasks = 0, 0, None, []
        self.is_over, self.on_offer, self.is_silent = False, None, False

    async def connect(self):
        self.open()
        # The id of an earlier login goes with the next one.
        await self.send("login_req", self.detail)
        # The app's timer for replies has the wrong selector: it sends heartbeats too.
        self.tasks = [asyncio.ensure_future(self.beat()) for _ in range(2)]
        return self

    def open(self):
        """A connection that says nothing yet. It is read by a thread of its own: the app reads at once, whatever else this process does."""
        self.socket = socket.create_connection((self.host, self.port))
        self.is_over, self.reader.buffer = False, b""
        threading.Thread(target=self.receive, args=(self.socket, asyncio.get_running_loop()), daemon=True).start()

    async def send(self, kind, detail):
        message = {"type": kind, "source": self.peer, "destination": self.remote, "status": 0, "detail_info": detail}
        await self.write(frame(message))

    async def write(self, data):
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    async def beat(self):
        while True:
            await asyncio.sleep(self.HEARTBEAT)
            if not self.is_silent:
                await self.send("heartbeat_req", {"": ""})

    def receive(self, connection, loop):
        while True:
            try:
                data = connection.recv(65_536)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):
                if not data:
                    loop.call_soon_threadsafe(self.ended, connection)
                    return
                if message := self.reader.read(data):
                    loop.call_soon_threadsafe(self.handle, message)

    def ended(self, connection):
        if connection is self.socket:
            self.is_over = True

    def handle(self, message):
        self.messages.append(message)
        if message["type"] == "login_resp":
            self.peer = message["detail_info"].get("peer_id", 0)
            peers = message["detail_info"].get("peer_list") or [{}]
            self.remote = peers[0].get("peer_id", 1)
        elif message["type"] == "sdp" and self.on_offer:
            self.tasks.append(asyncio.ensure_future(self.on_offer(message["detail_info"]["sdp"])))

    def count(self, kind):
        return sum(message["type"] == kind for message in self.messages)

    async def next(self, kind, timeout=10, count=1):
        """Waits until this many messages of a kind are there; returns the last one."""
        deadline = time.monotonic() + timeout
        while self.count(kind) < count:
            assert time.monotonic() < deadline, f"no {kind}: {[m['type'] for m in self.messages]}"
            await asyncio.sleep(0.02)
        return [message for message in self.messages if message["type"] == kind][-1]

    async def end(self, timeout=10):
        deadline = time.monotonic() + timeout
        while not self.is_over:
            assert time.monotonic() < deadline, "the connection stays open"
            await asyncio.sleep(0.02)

    def cut(self):
        """The connection ends."""
        for task in self.tasks:
            task.cancel()
        if self.socket:
            # Wakes the thread that reads, which a mere close does not.
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.close()
        self.is_over = True


class RawTCPPeer(AppPeer):
    """The app with media: it never offers, answers every offer, and knows H.264 only."""

    def __init__(self, server, port, room, name, colour, frequency):
        super().__init__(server, room, name, colour, frequency, "H264")
        self.client = RawTCPClient(port, room=room, name=name)
        self.client.on_offer = self.answer

    async def answer(self, description):
        if not hasattr(self, "pc"):
            self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
            self.pc.on("track", self.on_track)
            self.pc.addTrack(ToneTrack(self.frequency))
            self.pc.addTrack(ColourTrack(self.colour))
            self.cross_channels()
            capabilities = RTCRtpSender.getCapabilities("video").codecs
            self.pc.getTransceivers()[1].setCodecPreferences([c for c in capabilities if c.mimeType.lower() == "video/h264"])
            self.channel = self.pc.createDataChannel(CHANNEL)
            self.channel.on("message", self.received_data.append)
        await self.pc.setRemoteDescription(RTCSessionDescription(description["sdp"], description["type"]))
        await self.pc.setLocalDescription(await self.pc.createAnswer())
        sdp = self.pc.localDescription.sdp
        lines = [line[2:] for line in sdp.splitlines() if line.startswith("a=candidate:")]
        # A candidate may overtake the answer.
        for line in lines[:1]:
            await self.trickle(line)
        await self.client.send("sdp", {"sdp": {"sdp": sdp, "type": "answer"}})
        for line in lines[1:]:
            await self.trickle(line)

    async def trickle(self, line):
        await self.client.send("icecandidate", {"icecandidate": {"candidate": line, "sdpMLineIndex": 0, "sdpMid": "0"}})

    async def join(self):
        await self.client.connect()
        await self.client.next("sdp")
        return await self.known()

    async def leave(self):
        await self.close()

    async def close(self):
        self.client.cut()
        for task in self.tasks:
            task.cancel()
        if hasattr(self, "pc"):
            await self.pc.close()


async def main(port, room, name, colour, frequency):
    aiortc.rtcrtpreceiver.RemoteBitrateEstimator = GoodLine
    peer = RawTCPPeer(None, int(port), room, name, colour, float(frequency))
    await peer.client.connect()
    while peer.picture is None:
        await asyncio.sleep(0.05)
    print("joined", flush=True)
    await asyncio.sleep(300)


if __name__ == "__main__":
    # A client in a process of its own, which tests can kill.
    asyncio.run(main(*sys.argv[1:]))
