"""Clients of the Socket.IO endpoint: a participant as FLSocketIM's apps are, on python-socketio, and raw HTTP as their libraries send it."""

import asyncio
import json
import time
import urllib.error
import urllib.parse
import urllib.request

import socketio
from aiortc import RTCSessionDescription

from support.aiortc_peer import AiortcPeer


def post_form(server, path, **fields):
    """Posts a form as the apps do, and returns the JSON of the answer. The hash of a password takes its time on a busy machine."""
    body = urllib.parse.urlencode(fields).encode()
    request = urllib.request.Request(server.url + path, data=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def account(server, name, password="secret"):
    """Registers a user. Returns the token for the handshake."""
    answer = post_form(server, "/register", userName=name, password=password)
    assert answer["code"] == 1, answer
    return answer["data"]["auth_token"]


class Raw:
    """A session by plain HTTP requests, without a library: what the Swift client sends, which names no version."""

    def __init__(self, server, token, version="", extra="&b64=1"):
        self.server, self.token = server, token
        self.query = f"{version}transport=polling{extra}&auth_token={token}"

    def request(self, path, body=None, headers=None):
        """Returns (status, bytes)."""
        self.answer_type = None
        request = urllib.request.Request(f"{self.server.url}/socket.io/?{path}", data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                self.answer_type = response.headers["Content-Type"]
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def connect(self):
        packets = self.get()
        assert packets[1:] == ["40"], packets
        self.handshake = json.loads(packets[0][1:])
        self.query += f"&sid={self.handshake['sid']}"
        return self

    def get(self):
        status, body = self.request(self.query)
        assert status == 200, (status, body)
        text = self.answer_type == "text/plain; charset=UTF-8"
        assert text == ("b64=1" in self.query), self.answer_type
        return decode(body.decode()) if text else decode_octets(body)

    def post(self, *packets):
        body = "".join(f"{length(packet)}:{packet}" for packet in packets).encode()
        return self.request(self.query, body, {"Content-Type": "text/plain;charset=UTF-8"})

    def event(self, name, argument, number=""):
        status, body = self.post(f"42{number}" + json.dumps([name, argument], ensure_ascii=False))
        assert (status, body) == (200, b"ok"), (status, body)

    def octets(self, *parts):
        """Posts (is_text, bytes) as the Java client does."""
        body = b"".join(
            bytes([0 if is_text else 1, *map(int, str(len(part))), 255]) + part for is_text, part in parts)
        return self.request(self.query, body, {"Content-Type": "application/octet-stream"})

    def wait(self, text, timeout=10):
        """Polls until a packet contains the text; returns it, and those behind it in the same answer."""
        deadline = time.monotonic() + timeout
        while True:
            packets = self.get()
            for index, packet in enumerate(packets):
                if isinstance(packet, str) and text in packet:
                    return packets[index:]
            assert time.monotonic() < deadline, f"no {text}"


def length(text):
    """In UTF-16 code units, as JavaScript and Swift count."""
    return len(text.encode("utf-16-le")) // 2


def decode_octets(body):
    """The packets of a payload of octets: text, or the bytes of an attachment."""
    packets, at = [], 0
    while at < len(body):
        end = body.index(255, at)
        size = int("".join(map(str, body[at + 1:end])))
        packet = body[end + 1:end + 1 + size]
        assert len(packet) == size, "a length beyond the payload"
        packets.append(packet if body[at] else packet.decode())
        at = end + 1 + size
    return packets


def decode(body):
    """The packets of a payload, by UTF-16 code units."""
    units, packets, at = body.encode("utf-16-le"), [], 0
    while at < len(units):
        colon = units.index(":".encode("utf-16-le"), at)
        while colon % 2:
            colon = units.index(":".encode("utf-16-le"), colon + 1)
        size = int(units[at:colon].decode("utf-16-le"))
        at = colon + 2 + 2 * size
        assert at <= len(units), "a length beyond the payload"
        packets.append(units[colon + 2:at].decode("utf-16-le"))
    return packets


class SocketIOPeer(AiortcPeer):
    """A participant of FLSocketIM's kind: logs in, connects, calls, and sends VP8. Without tiles of its own; tests set them."""

    def __init__(self, server, name, colour="red", frequency=440, room=None, transports=None):
        super().__init__(server, room or "", name, colour, frequency, "VP8")
        self.transports = transports
        self.events, self.answers, self.removed = [], [], 0

    async def connect(self, token=None):
        self.loop = asyncio.get_running_loop()
        self.token = token or await asyncio.to_thread(account, self.server, self.name)
        self.client = socketio.Client(reconnection=False)
        for name in ("onLine", "offLine", "videoChat", "cancelVideoChat", "_peers", "_answer", "_remove_peer", "_new_peer", "chat"):
            self.client.on(name, self.handler(name))
        await asyncio.to_thread(
            self.client.connect, f"{self.server.url}?auth_token={urllib.parse.quote(self.token)}", transports=self.transports)
        return self

    def handler(self, name):
        def handle(*arguments):
            self.events.append((name, arguments[0] if arguments else None))
            # The apps acknowledge what asks for it.
            return "ok"
        return handle

    async def event(self, name, timeout=10, where=lambda argument: True):
        """Waits for an event; removes and returns its argument."""
        deadline = time.monotonic() + timeout
        while True:
            for entry in list(self.events):
                if entry[0] == name and where(entry[1]):
                    self.events.remove(entry)
                    return entry[1]
            assert time.monotonic() < deadline, f"{self.name}: no {name} among {[event[0] for event in self.events]}"
            await asyncio.sleep(0.02)

    async def emit(self, name, argument=None):
        await asyncio.to_thread(self.client.emit, name, argument)

    async def call(self, name, argument, timeout=10):
        """Emits an event and returns its acknowledgement."""
        return await asyncio.to_thread(self.client.call, name, argument, timeout=timeout)

    async def ring(self, other):
        """Calls a person or a room; returns the call's room."""
        self.room = await self.call("videoChat", {"from_user": self.name, "to_user": other, "chat_type": 0})
        return self.room

    async def join_call(self, room=None):
        """Joins the call, offers, and sends and receives media."""
        self.room = room or self.room
        await self.emit("__join", {"room": self.room})
        peers = await self.event("_peers")
        assert peers["connections"] == ["mcu-1"], peers
        await self.prepare()
        await self.offer(self.pc.localDescription.sdp)
        answer = await self.event("_answer")
        assert answer["socketId"] == "mcu-1" and answer["sdp"]["type"] == "answer", answer
        self.answer = answer["sdp"]["sdp"]
        await self.pc.setRemoteDescription(RTCSessionDescription(self.answer, "answer"))
        self.id = await asyncio.to_thread(self.own_id)
        return self

    async def offer(self, sdp):
        await self.emit("__offer", {"sdp": {"type": "offer", "sdp": sdp}, "socketId": "mcu-1"})

    def own_id(self):
        people = self.server.json("GET", f"/api/rooms/{self.room}")["participants"]
        return next((person["id"] for person in people if person["name"] == self.name), None)

    async def say(self, other, bodies, timeout=20):
        """Sends a chat message and returns its acknowledgement."""
        return await self.call(
            "chat", {"from_user": self.name, "to_user": other, "chat_type": "chat", "sendtime": 1, "bodies": bodies}, timeout)

    async def leave(self):
        await self.emit("closeRoom")
        await self.pc.close()

    async def close(self):
        for task in self.tasks:
            task.cancel()
        if hasattr(self, "pc"):
            await self.pc.close()
        await asyncio.to_thread(self.client.disconnect)
