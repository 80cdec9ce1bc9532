"""The client of the WebRTC demo (stasel/WebRTC-iOS) over its WebSocket: binary frames both ways, an offer when its user wants, and a new
socket with the same peer connection when the old one is gone."""

import asyncio
import json
import sys
import time

import aiortc.rtcrtpreceiver
import websockets
from aiortc import RTCSessionDescription

from support.aiortc_peer import GoodLine
from support.app_peer import AppPeer


def encoded(message):
    """As Foundation writes it: with "/" as "\\/"."""
    return json.dumps(message).replace("/", "\\/").encode()


def candidate(line, mid="0"):
    return encoded({"type": "IceCandidate", "payload": {"sdpMLineIndex": int(mid), "sdpMid": mid, "sdp": line}})


class DemoPeer(AppPeer):
    def __init__(self, server, room, name, colour, frequency, codec="VP8", path=None):
        super().__init__(server, room, name, colour, frequency, codec)
        self.path = path if path is not None else f"/{room}?name={name}"
        # Every frame of the server, over all sockets; the app drops text.
        self.frames, self.answers, self.reader, self.closed = [], [], None, None
        # The app sends binary frames; other clients of its first servers sent text.
        self.sends_text = False

    async def connect(self):
        url = self.server.signal_url.removesuffix("/signal") + self.path
        # Starscream, the app's library before iOS 13, sends the URL's own scheme.
        origin = "/".join(url.split("/")[:3])
        self.socket = await websockets.connect(url, max_size=1 << 20, origin=origin)
        self.closed = None
        self.reader = asyncio.ensure_future(self.read_frames(self.socket))
        self.tasks.append(self.reader)
        return self

    async def read_frames(self, socket):
        try:
            async for frame in socket:
                self.frames.append(frame)
                if not isinstance(frame, bytes):
                    continue
                message = json.loads(frame)
                if message["type"] == "SessionDescription" and message["payload"]["type"] == "answer":
                    self.answers.append(message["payload"]["sdp"])
        except websockets.ConnectionClosed:
            pass
        self.closed = (socket.close_code, socket.close_reason)

    async def offer(self):
        """“Send offer”: an offer of the same peer connection, and candidates as they come, also before the offer."""
        if not hasattr(self, "pc"):
            await self.prepare()
            self.cross_channels()
        elif self.pc.signalingState != "closed":
            # aiortc closes its connection when the server ends it; libwebrtc still makes offers of the same certificate.
            await self.pc.setLocalDescription(await self.pc.createOffer())
        sdp = self.pc.localDescription.sdp
        lines = [line[2:] for line in sdp.splitlines() if line.startswith("a=candidate:")]
        count = len(self.answers)
        if lines:
            await self.socket.send(candidate(lines[0]))
        offer = encoded({"type": "SessionDescription", "payload": {"sdp": sdp, "type": "offer"}})
        await self.socket.send(offer.decode() if self.sends_text else offer)
        for line in lines[1:]:
            await self.socket.send(candidate(line))
        return count

    async def answered(self, count, timeout=10):
        deadline = time.monotonic() + timeout
        while len(self.answers) <= count:
            assert self.closed is None, f"{self.name}: the socket was closed with {self.closed}"
            assert time.monotonic() < deadline, f"{self.name} got no answer"
            await asyncio.sleep(0.02)
        await self.pc.setRemoteDescription(RTCSessionDescription(self.answers[-1], "answer"))

    async def join(self):
        await self.connect()
        await self.answered(await self.offer())
        return await self.known()

    async def end(self, timeout=10):
        """Waits until the server has closed the socket; returns the code and the reason."""
        deadline = time.monotonic() + timeout
        while self.closed is None:
            assert time.monotonic() < deadline, f"{self.name}'s socket stays open"
            await asyncio.sleep(0.02)
        return self.closed

    async def leave(self):
        """The app has no goodbye: its peer connection and its socket end."""
        await self.close()


class Address:
    def __init__(self, signal_url):
        self.signal_url = signal_url


async def main(signal_url, room, name, colour, frequency):
    aiortc.rtcrtpreceiver.RemoteBitrateEstimator = GoodLine
    peer = DemoPeer(Address(signal_url), room, name, colour, float(frequency))
    await peer.connect()
    await peer.answered(await peer.offer())
    print("joined", flush=True)
    await asyncio.sleep(300)


if __name__ == "__main__":
    # A client in a process of its own, which tests can kill.
    asyncio.run(main(*sys.argv[1:]))
