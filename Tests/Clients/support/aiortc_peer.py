"""A participant with aiortc: it sends one colour and one tone, and keeps the last picture and the last seconds of audio."""

import asyncio
import fractions
import json
import sys
import time

import aiortc.rtcrtpreceiver
import numpy as np
import websockets
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.contrib.media import MediaStreamError
from aiortc.mediastreams import AudioStreamTrack, VideoStreamTrack
from av import AudioFrame, VideoFrame

from support.media import COLOURS, tone


class ColourTrack(VideoStreamTrack):
    """One colour with a marker that moves along the top, so that every frame differs."""

    # Fifteen frames a second, so that a slow machine can encode several streams at once.
    RATE = 15

    def __init__(self, colour, width=320, height=180):
        super().__init__()
        self.rgb, self.width, self.height, self.count, self.started = COLOURS[colour], width, height, 0, None

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        self.started = self.started or time.monotonic()
        await asyncio.sleep(max(0, self.started + self.count / self.RATE - time.monotonic()))
        picture = np.empty((self.height, self.width, 3), np.uint8)
        picture[:] = self.rgb
        x = self.count * 8 % (self.width - 16)
        picture[:16, x:x + 16] = 255
        frame = VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts, frame.time_base = self.count * 90000 // self.RATE, fractions.Fraction(1, 90000)
        self.count += 1
        return frame


class ToneTrack(AudioStreamTrack):
    def __init__(self, frequency, amplitude=0.2):
        super().__init__()
        self.frequency, self.amplitude, self.position, self.started = frequency, amplitude, 0, None

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        if self.started is None:
            self.started = time.monotonic()
        else:
            await asyncio.sleep(max(0, self.started + self.position / 48000 - time.monotonic()))
        samples = (tone(self.frequency, 960, self.position, amplitude=self.amplitude) * 32767).astype(np.int16)
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, self.position, fractions.Fraction(1, 48000)
        self.position += 960
        return frame


class GoodLine:
    """Replaces aiortc's estimator, whose estimate collapses on a busy machine, by a constant, for tests that do not concern rates."""

    def __init__(self):
        self.last = -1000

    def add(self, arrival_time_ms, abs_send_time, payload_size, ssrc):
        if arrival_time_ms - self.last < 500:
            return None
        self.last = arrival_time_ms
        # The middle rung, because decoding a larger picture takes too much time in Python.
        return 800_000, [ssrc]


class AiortcPeer:
    def __init__(self, server, room, name, colour, frequency, codec="VP8", data_channel=None, direction="sendrecv", camera=True, amplitude=0.2):
        self.direction, self.camera, self.amplitude, self.socket_options = direction, camera, amplitude, {}
        self.server, self.room, self.name, self.colour, self.frequency, self.codec = server, room, name, colour, frequency, codec
        self.messages, self.tiles, self.id, self.participants = [], None, None, []
        self.picture, self.picture_times, self.sound, self.samples = None, [], np.zeros(0, np.float32), 0
        self.data_channel, self.received_data = data_channel, []
        self.tasks = []
        self.waiters = []

    async def join(self, edit_answer=lambda sdp: sdp, **wishes):
        self.socket = await websockets.connect(self.server.signal_url, max_size=1 << 20, **self.socket_options)
        await self.send(type="join", room=self.room, name=self.name, **wishes)
        joined = await self.next("joined")
        self.id, self.resume = joined["you"]["id"], joined["you"]["resume"]
        self.participants = joined.get("participants", [])
        await self.prepare()
        self.offered_at = time.monotonic()
        await self.send(type="offer", sdp=self.pc.localDescription.sdp)
        answer = await self.next("answer")
        await self.pc.setRemoteDescription(RTCSessionDescription(edit_answer(answer["sdp"]), "answer"))
        self.tasks.append(asyncio.ensure_future(self.read_messages()))
        return self

    async def prepare(self):
        """A connection with its local description."""
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.pc.on("track", self.on_track)
        sends = self.direction in ("sendrecv", "sendonly")
        self.pc.addTransceiver(ToneTrack(self.frequency, self.amplitude) if sends else "audio", direction=self.direction)
        if self.camera:
            video = self.pc.addTransceiver(ColourTrack(self.colour) if sends else "video", direction=self.direction)
            capabilities = RTCRtpSender.getCapabilities("video").codecs
            video.setCodecPreferences([c for c in capabilities if c.mimeType.lower() in (f"video/{self.codec}".lower(), "video/rtx")])
        self.add_more()
        if self.data_channel:
            self.channel = self.pc.createDataChannel(self.data_channel)
            self.channel.on("message", self.received_data.append)
        await self.pc.setLocalDescription(await self.pc.createOffer())

    def add_more(self):
        """Adds what else a test's peer offers."""

    async def drop_signalling(self):
        """Ends the WebSocket without a message; the media goes on."""
        self.socket.transport.abort()

    async def take_seat_back(self):
        self.socket = await websockets.connect(self.server.signal_url, max_size=1 << 20)
        await self.send(type="join", room=self.room, name=self.name, resume=self.resume)
        joined = await self.next("joined")
        self.tasks.append(asyncio.ensure_future(self.read_messages()))
        return joined

    async def send(self, **message):
        await self.socket.send(json.dumps(message))

    def handle(self, message):
        self.messages.append(message)
        if message["type"] == "tiles":
            self.tiles = message
        elif message["type"] == "participants":
            self.participants = message["participants"]

    async def next(self, kind, timeout=10):
        async def read():
            while True:
                message = json.loads(await self.socket.recv())
                self.handle(message)
                if message["type"] == "error" and kind != "error":
                    raise RuntimeError(f"{self.name}: {message}")
                if message["type"] == kind:
                    return message
        return await asyncio.wait_for(read(), timeout)

    async def read_messages(self):
        try:
            async for text in self.socket:
                self.handle(json.loads(text))
        except websockets.ConnectionClosed:
            pass

    def on_track(self, track):
        self.tasks.append(asyncio.ensure_future(self.read_video(track) if track.kind == "video" else self.read_audio(track)))

    async def read_video(self, track):
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            self.picture_times.append(time.monotonic())
            self.picture = frame

    async def read_audio(self, track):
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            samples = frame.to_ndarray().reshape(-1).astype(np.float32) / 32768
            if len(frame.layout.channels) == 2:
                samples = samples.reshape(-1, 2).mean(axis=1)
            self.samples += len(samples)
            self.sound = np.concatenate([self.sound, samples])[-48000 * 6:]

    def rgb(self):
        return self.picture.to_ndarray(format="rgb24")

    async def leave(self):
        try:
            await self.send(type="leave")
        except websockets.ConnectionClosed:
            pass
        await self.close()

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await self.pc.close()
        await self.socket.close()


class HTTPPeer(AiortcPeer):
    """The participant over WHIP (or WHEP): without a signalling connection it receives no tiles, so tests set them."""

    async def join(self, door="whip", query="", bearer=None):
        await self.prepare()
        path = f"/{door}/{self.room}?name={self.name}{query}"
        sdp = self.pc.localDescription.sdp.encode()
        headers = {"Content-Type": "application/sdp", **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
        status, self.headers, body = await asyncio.to_thread(self.server.request, "POST", path, sdp, headers)
        if status != 201:
            raise RuntimeError(f"POST {path}: {status} {body!r}")
        self.session = self.headers["Location"]
        self.answer = body.decode()
        await self.pc.setRemoteDescription(RTCSessionDescription(self.answer, "answer"))
        people = await asyncio.to_thread(self.server.json, "GET", f"/api/rooms/{self.room}")
        self.id = next((p["id"] for p in people["participants"] if p["name"] == self.name), None)
        return self

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await self.pc.close()


class Address:
    """The addresses of a server that another process started."""

    def __init__(self, signal_url):
        self.signal_url = signal_url


async def main(signal_url, room, name, colour, frequency, reports=""):
    """`reports`: writes a line every tenth of a second with the numbers of received samples and pictures."""
    aiortc.rtcrtpreceiver.RemoteBitrateEstimator = GoodLine
    peer = AiortcPeer(Address(signal_url), room, name, colour, float(frequency))
    await peer.join()
    print(peer.id, flush=True)
    while reports:
        print(peer.samples, len(peer.picture_times), flush=True)
        await asyncio.sleep(0.1)
    await asyncio.sleep(300)


if __name__ == "__main__":
    # A participant in a process of its own, which tests can kill, stop or move to another network.
    asyncio.run(main(*sys.argv[1:]))
