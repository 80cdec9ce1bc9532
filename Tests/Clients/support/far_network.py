"""A remote client: a network namespace of its own behind the test's router, which translates addresses (NAT) and slows down the link.

The router is this process between two TUN devices, so that real kernels use real TCP over it. Tests use `with FarNetwork() as far:`; run as a
program, this file is the router, in the namespace of the client.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

from support import CLIENTS
from support.lan import CLONE_NEWNET, connect_inside
from support.server import ADDRESS

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
TCP, UDP = 6, 17
STUN_COOKIE = bytes.fromhex("2112a442")
INSIDE = "10.97.0"


class FarNetwork:
    """The test's side: starts and controls the router, and runs programs in the client's namespace."""

    def __init__(self, link=""):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.far_network", link], cwd=CLIENTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.public = self.process.stdout.readline().strip()
        if not self.public:
            self.process.wait()
            raise OSError("no TUN devices or network namespaces here")
        self.namespace = f"/proc/{self.process.pid}/ns/net"
        # The prefix of a command line that runs it in the client's namespace.
        self.prefix = ["nsenter", f"--net={self.namespace}"]

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def change(self, link):
        """Sets the conditions of the link in both directions: `rate=1M,delay=25ms,queue=1000ms,loss=5%`."""
        self.ask(f"link {link}")

    def change_up(self, link):
        """The same for the direction to the server alone."""
        self.ask(f"up {link}")

    def block_udp(self):
        self.ask("block udp")

    def move(self, what):
        """Makes the NAT use another public address from now on: for `udp`, like a NAT that lost its mappings, or for `all`."""
        self.public = self.ask(f"move {what}")

    def change_address(self):
        """Replaces the address of the client's own interface."""
        return self.ask("address")

    def read(self):
        """(down, up), each with packets, lost packets, bytes, and the longest queue in ms since the last reading."""
        values = [int(value) for value in self.ask("read").split()]
        return values[:4], values[4:]

    def checks(self):
        """Since the last move: (STUN requests of the server, those that the client answered, the server's other bytes before the first answer)."""
        return tuple(int(value) for value in self.ask("checks").split())

    def connect(self, port):
        """A TCP connection to a port on the client's own loopback."""
        return connect_inside(self.namespace, port)

    def close(self):
        self.process.stdin.close()
        self.process.wait(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# The router.


class Way:
    """One direction: a queue before a bottleneck, then a delay."""

    def __init__(self):
        self.rate, self.delay, self.limit, self.free = None, 0.0, 1.0, 0.0
        # The share of packets that get lost, and what decides which.
        self.loss, self.dice = 0.0, random.Random(1)
        self.packets = self.lost = self.bytes = 0
        self.longest = 0.0

    def set(self, link):
        units = {"rate": {"k": 1e3, "M": 1e6}, "delay": {"ms": 1e-3}, "queue": {"ms": 1e-3}, "loss": {"%": 1e-2}}
        for part in filter(None, link.split(",")):
            key, _, text = part.partition("=")
            unit, scale = next((u, s) for u, s in units[key].items() if text.endswith(u))
            setattr(self, {"rate": "rate", "delay": "delay", "queue": "limit", "loss": "loss"}[key], float(text.removesuffix(unit)) * scale)

    def due(self, size, now):
        """The time at which a packet leaves at the other end; None where the queue was full, or the packet is lost."""
        self.packets += 1
        waits = max(0.0, self.free - now)
        self.longest = max(self.longest, waits)
        if waits > self.limit or self.dice.random() < self.loss:
            self.lost += 1
            return None
        self.bytes += size
        self.free = now + waits + (size * 8 / self.rate if self.rate else 0)
        return self.free + self.delay

    def figures(self):
        longest, self.longest = self.longest, 0.0
        return f"{self.packets} {self.lost} {self.bytes} {round(longest * 1000)}"


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def readdressed(packet, source, address):
    """The packet with another source or destination (RFC 1624 for the checksum of UDP and TCP, which covers the addresses)."""
    packet = bytearray(packet)
    start, at = (packet[0] & 15) * 4, 12 if source else 16
    old, new = bytes(packet[at:at + 4]), socket.inet_aton(address)
    packet[at:at + 4] = new
    packet[10:12] = bytes(2)
    packet[10:12] = struct.pack("!H", checksum(bytes(packet[:start])))
    field = {UDP: start + 6, TCP: start + 16}.get(packet[9])
    if field and field + 2 <= len(packet):
        (was,) = struct.unpack_from("!H", packet, field)
        if was or packet[9] == TCP:
            total = (~was & 0xFFFF) + sum(struct.unpack("!2H", new)) + sum(~word & 0xFFFF for word in struct.unpack("!2H", old))
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            struct.pack_into("!H", packet, field, ~total & 0xFFFF or 0xFFFF)
    return bytes(packet)


class Router:
    def __init__(self, link):
        self.outer, name = self.tun("far%d")
        number = int(name.removeprefix("far"))
        self.pool, self.publics = f"10.98.{number}", 2
        self.run(f"ip link set {name} up", f"ip route add {self.pool}.0/24 dev {name} src {ADDRESS}")
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        self.inner, self.device = self.tun("wan0")
        with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w") as file:
            file.write("1")
        self.hosts = 2
        self.run("ip link set lo up", f"ip link set {self.device} up", f"ip address add {self.inside}/32 dev {self.device}",
                 f"ip route add default dev {self.device}")
        self.down, self.up = Way(), Way()
        self.blocked = set()
        # Each (protocol, port of the client) has a public address and the client's own.
        self.mappings = {}
        self.current = {TCP: self.public, UDP: self.public}
        self.asked, self.answered, self.early = set(), set(), 0
        # (due, number, device, packet)
        self.queue, self.count = [], 0
        self.do(f"link {link}")

    @staticmethod
    def tun(name):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        answer = fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        return device, answer[:16].rstrip(b"\0").decode()

    @staticmethod
    def run(*commands):
        for command in commands:
            subprocess.run(command.split(), check=True)

    @property
    def public(self):
        return f"{self.pool}.{self.publics}"

    @property
    def inside(self):
        return f"{INSIDE}.{self.hosts}"

    def do(self, command):
        """Executes a command and returns the answer."""
        verb, _, rest = command.partition(" ")
        if verb == "link":
            self.down.set(rest)
            self.up.set(rest)
        elif verb in ("down", "up"):
            getattr(self, verb).set(rest)
        elif verb == "block":
            self.blocked.add(UDP)
        elif verb == "move":
            self.publics += 1
            moved = [UDP] if rest == "udp" else [UDP, TCP]
            self.current |= dict.fromkeys(moved, self.public)
            self.mappings = {key: entry for key, entry in self.mappings.items() if key[0] not in moved}
            self.asked, self.answered, self.early = set(), set(), 0
            return self.public
        elif verb == "address":
            old = self.inside
            self.hosts += 1
            self.run(f"ip address add {self.inside}/32 dev {self.device}", f"ip address del {old}/32 dev {self.device}",
                     f"ip route replace default dev {self.device}")
            return self.inside
        elif verb == "read":
            return f"{self.down.figures()} {self.up.figures()}"
        elif verb == "checks":
            return f"{len(self.asked)} {len(self.answered)} {self.early}"
        return "done"

    def from_client(self, packet, now):
        protocol, start = packet[9], (packet[0] & 15) * 4
        if packet[0] >> 4 != 4 or protocol not in (TCP, UDP) or protocol in self.blocked:
            return
        (port,) = struct.unpack_from("!H", packet, start)
        entry = self.mappings.setdefault((protocol, port), [self.current[protocol], None])
        entry[1] = socket.inet_ntoa(packet[12:16])
        if protocol == UDP and packet[start + 8:start + 10] == b"\x01\x01" and packet[start + 16:start + 28] in self.asked:
            self.answered.add(packet[start + 16:start + 28])
        self.enqueue(self.up, self.outer, readdressed(packet, True, entry[0]), now)

    def from_server(self, packet, now):
        protocol, start = packet[9], (packet[0] & 15) * 4
        if packet[0] >> 4 != 4 or protocol not in (TCP, UDP) or protocol in self.blocked:
            return
        (port,) = struct.unpack_from("!H", packet, start + 2)
        public, inside = self.mappings.get((protocol, port), (None, None))
        # Packets to an earlier address of the client are dropped.
        if socket.inet_ntoa(packet[16:20]) != public:
            return
        if protocol == UDP:
            if packet[start + 12:start + 16] != STUN_COOKIE:
                self.early += 0 if self.answered else len(packet)
            elif packet[start + 8:start + 10] == b"\x00\x01":
                self.asked.add(packet[start + 16:start + 28])
        self.enqueue(self.down, self.inner, readdressed(packet, False, inside), now)

    def enqueue(self, way, device, packet, now):
        due = way.due(len(packet), now)
        if due is not None:
            self.count += 1
            heapq.heappush(self.queue, (due, self.count, device, packet))

    def serve(self):
        commands = b""
        while True:
            now = time.monotonic()
            while self.queue and self.queue[0][0] <= now:
                _, _, device, packet = heapq.heappop(self.queue)
                try:
                    os.write(device, packet)
                except OSError:
                    pass
            wait = max(0.0, self.queue[0][0] - now) if self.queue else None
            ready, _, _ = select.select([0, self.outer, self.inner], [], [], wait)
            now = time.monotonic()
            for device, take in ((self.outer, self.from_server), (self.inner, self.from_client)):
                if device in ready:
                    self.drain(device, take, now)
            if 0 in ready:
                read = os.read(0, 4096)
                if not read:
                    return
                *lines, commands = (commands + read).split(b"\n")
                for line in lines:
                    print(self.do(line.decode()), flush=True)

    @staticmethod
    def drain(device, take, now):
        try:
            for _ in range(64):
                take(os.read(device, 2048), now)
        except BlockingIOError:
            pass


if __name__ == "__main__":
    router = Router(sys.argv[1])
    print(router.public, flush=True)
    router.serve()
