"""A cluster for tests: three nodes, three members of etcd and HAProxy, each on a machine (network namespace) of its own.

`Cluster` starts it and tells who owns a room; tests cut its links, and freeze and kill its programs. Clients are in the test's own namespace.
"""

import json
import os
import re
import socket
import time

from support.etcd import Etcd
from support.lan import LAN, PUBLIC, Program, until
from support.server import PROGRAM, ROOT, Endpoint
from support.tokens import token

SECRET = "what only the nodes of the test know, and nobody else"
ADMIN = "let the administrator in"
BEARER = {"Authorization": f"Bearer {ADMIN}"}
HTTP, INTERNAL_PORT, MEDIA = 8080, 8081, 50000
FRONT = 31
# HAProxy's name for the nodes that are ready.
BACKEND = "tessera-ready"


def merged(base, more):
    """Nested settings with those of `more` in their places."""
    return base | {key: merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value for key, value in more.items()}


def proof(node, secret=SECRET, seconds=20, **claims):
    """What another node proves itself by to this one."""
    return token({"aud": f"node:{node}", "iss": "n1", "exp": int(time.time()) + seconds} | claims, secret)


class Node(Program):
    """A server of the cluster; `endpoint` is its public one."""

    def __init__(self, machine, etcd, directory, settings):
        self.name, self.internal_url = machine.name, f"http://{machine.internal}:{INTERNAL_PORT}"
        self.endpoint = Endpoint(machine.public, HTTP, BEARER)
        directory.mkdir(parents=True, exist_ok=True)
        self.recordings = directory / "recordings"
        # JSON is YAML.
        self.settings = merged({
            "http": {"listen": f"0.0.0.0:{HTTP}", "trustedProxies": [f"{PUBLIC}.{FRONT}"]},
            "media": {"listen": f"0.0.0.0:{MEDIA}", "announce": [machine.public]},
            "rooms": {"width": 640, "height": 360, "framesPerSecond": 15, "withoutSelf": False},
            # One rung for any line: below its rate aiortc on a busy machine would get stills.
            "video": {"renditions": [{"height": 360, "bitrate": "120k"}]},
            "recording": {"directory": str(self.recordings)},
            "layouts": {"directory": str(ROOT / "layouts")},
            "auth": {"adminToken": ADMIN},
            # All clients have the test's one address.
            "limits": {
                "joinsPerSecondPerAddress": 1000, "requestsPerSecondPerAddress": 10000, "connectionsPerAddress": 4096, "roomsPerAddress": 200,
                "seatsPerAddress": 1000, "halfOpenPerAddress": 200, "mediaConnectionsPerAddress": 1024},
            "cluster": {
                "etcd": etcd, "node": machine.name, "listen": f"{machine.internal}:{INTERNAL_PORT}", "advertise": f"{machine.internal}:{INTERNAL_PORT}",
                "secret": SECRET, "ttl": "6s"},
        }, settings)
        self.config_path = directory / "tessera.yaml"
        super().__init__(
            machine, [PROGRAM, "serve", "--config", self.config_path], directory / "server.log", directory,
            {key: value for key, value in os.environ.items() if not key.startswith("TESSERA")})

    def start(self):
        self.config_path.write_text(json.dumps(self.settings))
        super().start()

    def status(self, path):
        """The status of a GET; None: no answer."""
        try:
            return self.endpoint.get(path)[0]
        except OSError:
            return None

    def is_ready(self):
        assert self.is_running, f"{self.name} ended with {self.process.returncode}:\n{self.log_text()}"
        return self.status("/readyz") == 200

    def own_rooms(self):
        """The rooms that it runs itself, asked at its internal listener from its own machine: it may be cut off."""
        answer = self.machine.run(
            "curl", "-s", "-m", "2", "-H", f"Tessera-Cluster: {proof(self.name)}", f"http://{self.machine.internal}:{INTERNAL_PORT}/api/rooms")
        return [room["id"] for room in json.loads(answer)]

    def metric(self, name, **labels):
        """The sum of a metric's samples with these labels."""
        lines = self.endpoint.get("/metrics")[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split("{")[0].split()[:1] == [name]
                   and all(f'{label}="{value}"' in line for label, value in labels.items()))


class Front(Program):
    """HAProxy as scripts/deploy configures it, before the nodes and without TLS; `endpoint` is where clients connect."""

    # What differs from the file: (pattern, replacement).
    CHANGES = (
        (r"^    log /dev/log local0$", "    log stdout format raw local0"), (r"^    (user|group) haproxy\n", ""), (r"maxconn \d+", "maxconn 2000"),
        (r"^    bind :::443 .*\n", ""), (r"bind :::80 v4v6", f"bind :{HTTP}"), (r"^.*redirect scheme https.*\n", ""),
        (r"X-Forwarded-Proto https", "X-Forwarded-Proto http"))

    def __init__(self, machine, nodes, directory):
        directory.mkdir(parents=True, exist_ok=True)
        self.endpoint = Endpoint(machine.public, HTTP, BEARER)
        self.socket, self.nodes = directory / "haproxy.sock", nodes
        text = (ROOT / "scripts/deploy/haproxy/haproxy.cfg").read_text()
        servers = "".join(f"    server {node.name} {node.machine.public}:{HTTP}\n" for node in nodes)
        for pattern, replacement in (*self.CHANGES, (r"/run/haproxy/admin.sock", str(self.socket)), (r"(^    server n\d .*\n)+", servers)):
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
            assert count, f"{pattern} is not in haproxy.cfg"
        path = directory / "haproxy.cfg"
        path.write_text(text)
        super().__init__(machine, ["/usr/sbin/haproxy", "-db", "-f", path], directory / "haproxy.log")

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5)
            line.connect(str(self.socket))
            line.sendall(command.encode() + b"\n")
            answer = b""
            while part := line.recv(65536):
                answer += part
        return answer.decode()

    def up(self):
        """The nodes that it sends clients to."""
        rows = [row.split(",") for row in self.ask(f"show stat {BACKEND} 4 -1").splitlines() if row.startswith(f"{BACKEND},")]
        return {row[1] for row in rows if row[17].startswith("UP")}

    def only(self, *names):
        """Sends new clients to these nodes only; without names to all. Connections stay."""
        for node in self.nodes:
            self.ask(f"set server {BACKEND}/{node.name} state {'ready' if not names or node.name in names else 'drain'}")


class Cluster:
    """`with Cluster(directory) as cluster:`; `settings` are added to those of all nodes."""

    def __init__(self, directory, settings=None, nodes=3):
        self.directory = directory
        # Nodes that the others do not believe: they are never ready.
        self.unbelieved = set()
        self.lan = LAN()
        try:
            self.etcd = Etcd(self.lan, self.directory_of("etcd"))
            names = [f"n{number + 1}" for number in range(nodes)]
            self.nodes = {
                name: Node(self.lan.add(name, 11 + number), self.etcd.urls, self.directory_of(name), settings or {}) for number, name in enumerate(names)}
            self.front = Front(self.lan.add("front", FRONT), list(self.nodes.values()), self.directory_of("front"))
        except BaseException:
            self.lan.close()
            raise

    def directory_of(self, name):
        path = self.directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def endpoints(self):
        """The public endpoints of the nodes."""
        return [node.endpoint for node in self.nodes.values()]

    def start(self):
        self.etcd.start()
        self.start_rest()
        self.wait_until_whole()
        return self

    def start_rest(self):
        for program in self.programs:
            if not program.is_running:
                program.start()

    def is_whole(self):
        """Every node is registered, and all but the unbelieved ones are ready and get clients from HAProxy."""
        believed = set(self.nodes) - self.unbelieved
        return ({name for name, node in self.nodes.items() if node.is_ready()} == believed and set(self.etcd.nodes()) == set(self.nodes)
                and self.front.up() == believed)

    def wait_until_whole(self, timeout=20):
        until(self.is_whole, timeout, "the whole cluster")

    def heal_programs(self):
        """Undoes whatever a test did, and does not wait for what comes of it."""
        for program in self.programs:
            if program.is_frozen:
                program.thaw()
        self.lan.mend()
        self.start_rest()

    def heal(self):
        self.heal_programs()
        until(lambda: not self.front.only(), 5, "HAProxy")
        self.wait_until_whole()

    @property
    def programs(self):
        return [*self.etcd.members.values(), *self.nodes.values(), self.front]

    def owner(self, room):
        """The node that owns the room; None: nobody does."""
        return self.nodes.get(self.etcd.owner(room))

    def others(self, node):
        return [other for other in self.nodes.values() if other is not node]

    def place(self, room, node=None, **settings):
        """Creates a room by the API of a node, or of the front; returns the owner."""
        status, _, answer = (node or self.front).endpoint.request("PUT", f"/api/rooms/{room}", settings)
        assert status in (200, 201), f"{room} was not placed: {status} {answer!r}"
        return until(lambda: self.owner(room), 5, f"an owner of {room}")

    def place_at(self, name, stem="room", **settings):
        """A new room that this node owns: others that were placed elsewhere are ended. Returns the room's name."""
        for number in range(40):
            room = f"{stem}-{number}-{time.monotonic_ns() % 1_000_000}"
            if self.place(room, **settings).name == name:
                return room
            self.front.endpoint.request("DELETE", f"/api/rooms/{room}")
        raise AssertionError(f"40 new rooms, and none at {name}")

    def check(self):
        """No node has ended by itself."""
        for node in self.nodes.values():
            assert node.process.poll() in (None, 0, -9, 143), f"{node.name} ended with {node.process.returncode}:\n{node.log_text()}"

    def close(self):
        for program in self.programs:
            if program.is_frozen:
                program.thaw()
            program.kill()
        self.lan.close()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()
