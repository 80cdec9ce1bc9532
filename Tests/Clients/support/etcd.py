"""etcd for a test's cluster: its members, and what they store."""

import base64
import json
import urllib.error
import urllib.request
from urllib.parse import quote

from support.lan import Program, until

PREFIX = "/tessera/1/"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


class Member(Program):
    def __init__(self, machine, peers, log):
        """`peers`: the names of all members, with their addresses."""
        self.name, self.url = machine.name, f"http://{machine.internal}:2379"
        mine = f"http://{machine.internal}:2380"
        super().__init__(machine, [
            "etcd", "--name", machine.name, "--data-dir", machine.memory / "etcd", "--log-level", "warn",
            "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
            "--listen-peer-urls", mine, "--initial-advertise-peer-urls", mine,
            "--initial-cluster", ",".join(f"{name}=http://{address}:2380" for name, address in peers.items()), "--initial-cluster-state", "new",
        ], log)

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = self.machine.spawn(self.command, in_memory=True, stdout=log, stderr=log)
        self.is_frozen = False

    def call(self, path, timeout=1.5, **body):
        request = urllib.request.Request(f"{self.url}/v3/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)

    def leads(self):
        status = self.call("maintenance/status")
        return status.get("leader") not in (None, "0") and status["leader"] == status["header"]["member_id"]


class Etcd:
    """Three members, and the store as they have it."""

    def __init__(self, lan, directory, first=21):
        machines = [lan.add(f"e{number + 1}", first + number) for number in range(3)]
        peers = {machine.name: machine.internal for machine in machines}
        self.members = {machine.name: Member(machine, peers, directory / f"{machine.name}.log") for machine in machines}

    @property
    def urls(self):
        return [member.url for member in self.members.values()]

    def start(self):
        for member in self.members.values():
            if not member.is_running:
                member.start()
        self.leader()

    def leader(self, timeout=15):
        """The member that leads; waits for an election."""
        def find():
            for member in self.members.values():
                try:
                    if member.is_running and not member.is_frozen and member.leads():
                        return member
                except OSError:
                    pass
        return until(find, timeout, "a leader of etcd")

    def kill(self):
        for member in self.members.values():
            member.kill()

    def call(self, path, **body):
        """Asks one member after another."""
        fault = None
        for member in self.members.values():
            try:
                return member.call(path, **body)
            except OSError as error:
                fault = error
        raise fault

    def range(self, folder):
        """The keys in a folder, without its path, and their values and the revisions at which they were created."""
        start = PREFIX + folder
        answer = self.call("kv/range", key=encoded(start), range_end=encoded(start[:-1] + chr(ord(start[-1]) + 1)))
        return {
            base64.b64decode(each["key"]).decode().removeprefix(start):
                (json.loads(base64.b64decode(each.get("value", "")) or "null"), int(each["create_revision"]))
            for each in answer.get("kvs", [])}

    def nodes(self):
        return {node: value for node, (value, _) in self.range("nodes/").items()}

    def owners(self):
        """The node of each room."""
        return {room: value["node"] for room, (value, _) in self.range("owners/").items()}

    def owner(self, room):
        return self.owners().get(quote(room, safe="~-._"))

    def epoch(self, room):
        return self.range("owners/")[quote(room, safe="~-._")][1]

    @staticmethod
    def key(name):
        return encoded(PREFIX + name)

    def delete(self, name):
        return self.call("kv/deleterange", key=self.key(name))
