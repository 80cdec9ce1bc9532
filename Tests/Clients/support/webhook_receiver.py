"""A receiver of webhooks, which keeps what it gets."""

import json
import ssl
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    path: str
    headers: dict
    body: bytes
    at: float

    @property
    def event(self):
        return json.loads(self.body)


class Receiver:
    """`with Receiver() as receiver:` listens. `answer(request)` gives the status, or (status, headers); it may take its time."""

    def __init__(self, answer=lambda request: 200, port=0, certificate=None):
        self.requests, self.answer, self.port, self.certificate = [], answer, port, certificate
        self.http = None

    def start(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                request = Request(self.path, dict(self.headers.items()), body, time.monotonic())
                receiver.requests.append(request)
                answer = receiver.answer(request)
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                try:
                    self.send_response(status)
                    for name, value in {"content-length": "0", **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads, block_on_close = True, False

            def handle_error(self, *_):
                pass

        self.http = Listener(("127.0.0.1", self.port), Handler)
        self.port = self.http.server_address[1]
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def url(self, path="/"):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}{path}"

    def at(self, path):
        return [request for request in self.requests if request.path == path]

    def wait(self, path, enough, seconds=20):
        """The requests at a path, once there are `enough`."""
        deadline = time.monotonic() + seconds
        while len(found := self.at(path)) < enough:
            assert time.monotonic() < deadline, f"{len(found)} of {enough} requests at {path}"
            time.sleep(0.02)
        return found

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
