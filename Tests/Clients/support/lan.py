"""Machines of a test's own: network namespaces on two bridges, which can be cut off, and whose programs can be frozen and killed.

Everything ends with the test's process, even with one that is killed: a namespace lives as long as its programs, and those end with their parent.
"""

import concurrent.futures
import ctypes
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

# The network of the clients and of media, and that between the machines of a cluster. The test itself is host 1 of both.
PUBLIC, INTERNAL = "10.96.0", "10.95.0"
CLONE_NEWNET = 0x4000_0000
# The kernel ends a program with the thread that started it: threads of a pool may end early.
BOUND = ["setpriv", "--pdeathsig", "KILL", "--"]


def ip(*lines, inside=()):
    """Runs commands of ip(8), in the test's own namespace or with the prefix of another."""
    subprocess.run([*inside, "ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)


def spawn(command, **options):
    assert threading.current_thread() is threading.main_thread(), "programs of the test's machines are started by its main thread"
    return subprocess.Popen([*BOUND, *map(str, command)], stdin=subprocess.DEVNULL, **options)


class Program:
    """A program on a machine; `command` may be started again after its end."""

    def __init__(self, machine, command, log, directory=None, environment=None):
        self.machine, self.command, self.log_path = machine, command, Path(log)
        self.directory, self.environment = directory, environment
        self.process = None
        self.is_frozen = False

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = self.machine.spawn(self.command, stdout=log, stderr=subprocess.STDOUT, cwd=self.directory, env=self.environment)
        self.is_frozen = False

    def kill(self):
        """Ends it as a crash would."""
        if self.is_running:
            self.process.kill()
            self.process.wait()

    def ask_to_end(self):
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)

    def stop(self, timeout=20):
        """Asks it to end, and returns its exit status."""
        self.ask_to_end()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.is_running:
            self.process.send_signal(signal.SIGCONT)
        self.is_frozen = False

    def log_text(self):
        return self.log_path.read_text(errors="replace")[-6000:] if self.log_path.exists() else ""


class Namespace:
    """A network namespace that lives as long as this object's program."""

    def __init__(self):
        # A file system in memory, which only programs of the namespace see, and which ends with them.
        self.memory = Path("/mnt")
        self.holder = spawn(
            ["unshare", "--net", "--mount", "sh", "-c", f"mount -t tmpfs tmpfs {self.memory} && echo && exec sleep 36000"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.inside = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        self.inside_memory = [*self.inside, f"--mount=/proc/{self.holder.pid}/ns/mnt"]
        ip("link set lo up", inside=self.inside)

    # As of a FarNetwork: browsers can be there.

    @property
    def prefix(self):
        return self.inside

    def connect(self, port):
        """A TCP connection to a port on its own loopback."""
        return connect_inside(f"/proc/{self.holder.pid}/ns/net", port)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Machine(Namespace):
    """A namespace with a link to each of the bridges of `switch`: `number` is the last part of its addresses."""

    def __init__(self, switch, name, number):
        super().__init__()
        self.switch, self.name, self.number = switch, name, number
        self.public, self.internal = f"{PUBLIC}.{number}", f"{INTERNAL}.{number}"
        self.ports = {"public": f"p-{name}", "internal": f"i-{name}"}
        connect(switch, self.ports, self.holder.pid)
        ip("link set public up", "link set internal up", f"address add {self.public}/24 dev public", f"address add {self.internal}/24 dev internal",
           f"route add default via {PUBLIC}.1", inside=self.inside)

    def spawn(self, command, in_memory=False, **options):
        return spawn([*(self.inside_memory if in_memory else self.inside), *command], **options)

    def run(self, *command):
        """The output of a short command."""
        return subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=10, check=True).stdout

    def cut(self, *bridges):
        """Pulls the cables; without names all."""
        ip(*(f"link set {self.ports[bridge]} down" for bridge in bridges or self.ports), inside=self.switch.inside)

    def plug(self):
        ip(*(f"link set {port} up" for port in self.ports.values()), inside=self.switch.inside)

    def lose(self):
        """Nothing gets there or away any more, and its cables stay plugged: the fault is further off, and nobody is told."""
        ip(*(f"link set {port} master aside" for port in self.ports.values()), inside=self.switch.inside)

    def find(self):
        ip(*(f"link set {port} master {bridge}" for bridge, port in self.ports.items()), inside=self.switch.inside)


def connect_inside(namespace_path, port):
    """A TCP connection to a port on the loopback of a namespace."""
    def inside():
        with open(namespace_path) as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        return socket.create_connection(("127.0.0.1", port), timeout=5)
    # A dedicated thread that ends afterwards: no other code may run in that namespace.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(inside).result()


def connect(switch, ports, process):
    """Lays a cable from each port of the switch to a process's namespace, where it has the bridge's name."""
    ip(*(line for bridge, port in ports.items() for line in (
        f"link add {port} type veth peer name {bridge} netns {process}", f"link set {port} master {bridge} up")), inside=switch.inside)


class LAN:
    """The two bridges, and one beside the internal one for those who are to see only each other. They are in a namespace of their own: where a link
    of the test's changes, Chromium lets its requests fail with ERR_NETWORK_CHANGED."""

    def __init__(self):
        self.switch = Namespace()
        self.machines = {}
        try:
            ip(*(line for bridge in ("public", "internal", "aside") for line in (f"link add {bridge} type bridge", f"link set {bridge} up")),
               inside=self.switch.inside)
            connect(self.switch, {"public": "p-test", "internal": "i-test"}, os.getpid())
            for bridge in ("public", "internal"):
                # An address that comes seconds later is a change, too.
                Path(f"/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6").write_text("1")
            ip("link set public up", "link set internal up", f"address add {PUBLIC}.1/24 dev public", f"address add {INTERNAL}.1/24 dev internal")
            until(lambda: not subprocess.check_output(["ip", "address", "show", "tentative"]), 5, "the last address")
        except BaseException:
            self.close()
            raise

    def add(self, name, number):
        """A machine of this name; one that an earlier try of a test has left is taken again."""
        if name not in self.machines:
            self.machines[name] = Machine(self.switch, name, number)
        return self.machines[name]

    def part(self, *names):
        """The internal network falls apart: these machines see only each other there. Their clients reach them all the same."""
        ip(*(f"link set {self.machines[name].ports['internal']} master aside" for name in names), inside=self.switch.inside)

    def mend(self):
        for machine in self.machines.values():
            machine.find()
            machine.plug()

    def close(self):
        for machine in self.machines.values():
            machine.close()
        # The test's ends of its cables end with it.
        subprocess.run([*self.switch.inside, "ip", "link", "del", "p-test"], capture_output=True)
        subprocess.run([*self.switch.inside, "ip", "link", "del", "i-test"], capture_output=True)
        self.switch.close()


def can_make_machines():
    """Whether namespaces are permitted here, and the test has one of its own, whose links nobody else uses."""
    return "PEER_ADDRESS" in os.environ and os.geteuid() == 0


def until(check, timeout, what, pause=0.1):
    """Waits until `check` returns something truthy, and returns it; an OSError is a no."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            if value := check():
                return value
            fault = ""
        except OSError as error:
            value, fault = None, f": {error}"
        assert time.monotonic() < deadline, f"{what} did not come within {timeout} s ({value!r}{fault})"
        time.sleep(pause)
