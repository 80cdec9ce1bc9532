"""A Tessera server for one test: with free ports and a temporary directory, and always ended with the test."""

import contextlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ADDRESS = os.environ.get("PEER_ADDRESS", "127.0.0.1")
PROGRAM = os.environ.get("TESSERA", "tessera")
ROOT = Path(__file__).resolve().parents[3]
# The ports of `free_port` so far.
GIVEN = set()


def free_port():
    """A port that is free for TCP and UDP, and is given once. It is below those of outgoing connections, one of which could have it otherwise
    before its server does."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("", port))
                udp.bind(("", port))
            except OSError:
                continue
        if port not in GIVEN:
            GIVEN.add(port)
            return port


# Most tests look at the picture for all, also where two are in the room.
COMMON = {"TESSERA_ROOMS_WITHOUTSELF": "false"}
# A picture that slow machines can compose, encode and decode five times: aiortc falls ever further behind with a larger one.
SMALL = {"TESSERA_ROOMS_WIDTH": "640", "TESSERA_ROOMS_HEIGHT": "360", "TESSERA_ROOMS_FRAMESPERSECOND": "15"}


def from_outside(url):
    """The address for a client in another network, whose loopback is its own."""
    return url.replace("127.0.0.1", ADDRESS)


class Endpoint:
    """Where clients connect: the address of a server, or of what stands in front of servers."""

    def __init__(self, host, port, headers=None):
        self.scheme, self.host, self.port, self.context, self.headers = "http", host, port, None, headers or {}

    @property
    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def signal_url(self):
        return f"{self.scheme.replace('http', 'ws')}://{self.host}:{self.port}/signal"

    def request(self, method, path, body=None, headers=None):
        """Sends a request and returns (status, headers, bytes), whatever the status."""
        data = None
        headers = {**self.headers, **(headers or {})}
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.context) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def metrics(self, start):
        """The values of the metrics whose lines begin so."""
        lines = self.get("/metrics")[2].decode().splitlines()
        return [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(start)]

    def json(self, method, path, body=None, expect=200):
        status, _, data = self.request(method, path, body)
        assert status == expect, f"{method} {path}: {status} {data[:500]!r}"
        return json.loads(data) if data else None


def spent(process):
    """The processor time of a process and its threads in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def resident(process):
    """Its resident memory in MB."""
    with open(f"/proc/{process}/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS:")).split()[1]) / 1024


class Server(Endpoint):
    """`with Server(tmp_path) as server:` starts a server and waits until it answers. Rooms are `SMALL` unless `full`, and two
    people get the common picture unless `own_pictures`."""

    def __init__(self, directory, config="", arguments=(), media_port=None, origin=None, media="0.0.0.0", announce=(), full=False,
                 own_pictures=False, open_files=None):
        super().__init__("127.0.0.1", free_port())
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.media_port = media_port or free_port()
        self.recordings = self.directory / "recordings"
        self.log_path = self.directory / "server.log"
        self.arguments = list(arguments)
        self.config = config
        self.origin = origin
        self.media, self.announce = media, list(announce) or [ADDRESS, *(["127.0.0.1"] if ADDRESS != "127.0.0.1" else [])]
        self.environment = ({} if full else SMALL) | ({} if own_pictures else COMMON)
        self.process = None
        # The limit of the process's descriptors; None: that of the tests.
        self.open_files = open_files

    def start(self):
        command = [
            PROGRAM, "serve", "--listen", f"0.0.0.0:{self.port}", "--media", f"{self.media}:{self.media_port}",
            "--layouts", str(ROOT / "layouts"), "--recordings", str(self.recordings),
            *(part for address in self.announce for part in ("--announce", address)), *self.arguments,
        ]
        if self.config:
            path = self.directory / "tessera.yaml"
            path.write_text(self.config)
            command += ["--config", str(path)]
        environment = {key: value for key, value in os.environ.items() if key != "TESSERA"} | self.environment
        if self.origin:
            environment["TESSERA_HTTP_ALLOWEDORIGINS"] = f"{self.origin},{from_outside(self.origin)}"
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=self.directory, env=environment,
            preexec_fn=self.limit_files if self.open_files else None)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log_text()}")
            try:
                if self.get("/healthz")[0] == 200:
                    return self
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server did not answer within 20 s:\n" + self.log_text())

    def limit_files(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))

    def log_text(self):
        return self.log_path.read_text(errors="replace")[-8000:]

    def resident(self):
        return resident(self.process.pid)

    def stop(self, how=signal.SIGTERM, timeout=12):
        """Ends the server and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self.start()

    def __exit__(self, error=None, *_):
        if error:
            self.tell()
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def tell(self):
        """Prints, for the report of a failure, what the server said last and what its threads wait for."""
        print(f"-- server at port {self.port}, status {self.process and self.process.poll()} --\n{self.log_text()[-3000:]}")
        for thread in sorted(Path(f"/proc/{self.process.pid}/task").glob("*")) if self.process else ():
            with contextlib.suppress(OSError):
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                print(f"{thread.name} {(thread / 'comm').read_text().strip()}: {fields[0]}, {int(fields[11]) + int(fields[12])} ticks, {(thread / 'wchan').read_text()}")
