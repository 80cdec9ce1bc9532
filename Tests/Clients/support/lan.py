"""Machines of a test's own: network namespaces on two bridges, which can be cut off, and whose programs can be frozen and killed.

Everything ends with the test's process, even with one that is killed: a namespace lives as long as its programs, and those end with their parent.
"""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

# The network of the clients and of media, and that between the machines of a cluster. The test itself is host 1 of both.
PUBLIC, INTERNAL = "10.96.0", "10.95.0"
# The kernel ends a program with the thread that started it: threads of a pool may end early.
BOUND = ["setpriv", "--pdeathsig", "KILL", "--"]


def ip(*lines):
    """Runs commands of ip(8) in the test's namespace."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)


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

    def stop(self, timeout=20):
        """Asks it to end, and returns its exit status."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
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


class Machine:
    """A namespace with a link to each of the bridges: `number` is the last part of its addresses."""

    def __init__(self, name, number):
        self.name, self.number = name, number
        self.public, self.internal = f"{PUBLIC}.{number}", f"{INTERNAL}.{number}"
        # A file system in memory, which only the machine's programs see, and which ends with them.
        self.memory = Path("/mnt")
        self.holder = spawn(["unshare", "--net", "--mount", "sh", "-c", f"mount -t tmpfs tmpfs {self.memory} && echo && exec sleep 36000"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        net = f"/proc/{self.holder.pid}/ns/net"
        self.inside = ["nsenter", f"--net={net}"]
        self.inside_memory = [*self.inside, f"--mount=/proc/{self.holder.pid}/ns/mnt"]
        self.ports = {"public": f"p-{name}", "internal": f"i-{name}"}
        ip(*(line for bridge, port in self.ports.items() for line in (
            f"link add {port} type veth peer name {bridge} netns {self.holder.pid}", f"link set {port} master {bridge} up")))
        subprocess.run([*self.inside, "ip", "-batch", "-"], text=True, check=True, input="\n".join([
            "link set lo up", "link set public up", "link set internal up",
            f"address add {self.public}/24 dev public", f"address add {self.internal}/24 dev internal", f"route add default via {PUBLIC}.1"]))

    def spawn(self, command, in_memory=False, **options):
        return spawn([*(self.inside_memory if in_memory else self.inside), *command], **options)

    def run(self, *command):
        """The output of a short command."""
        return subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=10, check=True).stdout

    def cut(self, *bridges):
        """Pulls the cables; without names all."""
        ip(*(f"link set {self.ports[bridge]} down" for bridge in bridges or self.ports))

    def plug(self):
        ip(*(f"link set {port} up" for port in self.ports.values()))

    def close(self):
        self.holder.kill()
        self.holder.wait()


class LAN:
    """The two bridges, and one beside the internal one for those who are to see only each other."""

    def __init__(self):
        ip(*(line for bridge in ("public", "internal", "aside") for line in (f"link add {bridge} type bridge", f"link set {bridge} up")),
           f"address add {PUBLIC}.1/24 dev public", f"address add {INTERNAL}.1/24 dev internal")
        self.machines = {}

    def add(self, name, number):
        self.machines[name] = Machine(name, number)
        return self.machines[name]

    def part(self, *names):
        """The internal network falls apart: these machines see only each other there. Their clients reach them all the same."""
        ip(*(f"link set {self.machines[name].ports['internal']} master aside" for name in names))

    def mend(self):
        ip(*(f"link set {machine.ports['internal']} master internal" for machine in self.machines.values()))
        for machine in self.machines.values():
            machine.plug()

    def close(self):
        for machine in self.machines.values():
            machine.close()
        ip("link del public", "link del internal", "link del aside")


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
