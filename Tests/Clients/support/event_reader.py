"""A reader of server-sent events."""

import json
import socket
import time


class Reader:
    """Reads a stream by hand. It takes nothing until `read` is called."""

    def __init__(self, server, path="/api/events", headers="", buffer=None):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n".encode())
        self.bytes = b""

    def begin(self):
        """Waits for `reset`: what happens from then on comes as events."""
        self.socket.settimeout(10)
        while b'"type":"reset"' not in self.bytes:
            piece = self.socket.recv(1 << 16)
            assert piece, self.bytes
            self.bytes += piece
        return self

    def read(self, enough, seconds=20):
        """The events, once there are `enough` beside `reset`, or the stream has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            events = [json.loads(line[6:]) for line in self.bytes.split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")]
            events = [event for event in events if event["type"] != "reset"]
            if len(events) >= enough:
                return events
            self.socket.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                piece = self.socket.recv(1 << 16)
            except TimeoutError:
                break
            if not piece:
                return events
            self.bytes += piece
        raise AssertionError(f"{len(events)} of {enough} events, then {self.bytes[-300:]}")

    def close(self):
        self.socket.close()
