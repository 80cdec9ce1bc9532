"""Three members of etcd with the settings of scripts/deploy/etcd, on loopback addresses and a file system in memory."""

import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from support.pages_of_docs import blocks, shell
from support.server import ROOT, free_port

ROOT_PASSWORD, PASSWORD = "the-password-of-root", "the-password-of-tessera"


class EtcdMembers:
    """`with EtcdMembers() as etcd:` has made certificates and users by the commands of Operations.md. The members' addresses are 127.0.0.11 to
    13 where the page has 10.0.0.11 to 13."""

    def __init__(self, quota=4 << 30):
        self.folder = Path(tempfile.mkdtemp(prefix="tessera-etcd-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.client, self.peer, self.metrics = free_port(), free_port(), free_port()
        self.quota, self.processes = quota, {}
        self.urls = [f"https://127.0.0.1{n}:{self.client}" for n in (1, 2, 3)]
        self.authority = self.folder / "ca" / "ca.crt"
        self.variables = {"ETCDCTL_API": 3, "ETCDCTL_ENDPOINTS": ",".join(self.urls), "ETCDCTL_CACERT": self.authority}

    def local(self, text):
        """Commands or settings of the pages, with this test's addresses, ports and folders."""
        for old, new in [
            (r"10\.0\.0\.1([123])\b", r"127.0.0.1\1"), (r"10\.0\.0\.", "127.0.0."), (r":2379\b", f":{self.client}"), (r":2380\b", f":{self.peer}"),
            (r"/root/tessera-ca", str(self.folder / "ca")), (r"/etc/etcd/ca\.crt", str(self.authority)),
        ]:
            text = re.sub(old, new, text)
        return text

    def write_settings(self, number, state="new"):
        text = (ROOT / "scripts" / "deploy" / "etcd" / "etcd.env").read_text()
        head, rest = text.split("ETCD_INITIAL_CLUSTER=")
        # The six lines of which the file says that they differ.
        head = head.replace("etcd-1\n", f"etcd-{number}\n").replace("10.0.0.11", f"10.0.0.1{number}").replace(",https://127.0.0.1:2379", "")
        assert f"http://10.0.0.1{number}:2381" in head, "the address that prometheus.yml reads"
        head = head.replace(":2381", f":{self.metrics}")
        text = self.local(head + "ETCD_INITIAL_CLUSTER=" + rest)
        for old, new in [
            ("/etc/etcd/etcd.", f"{self.folder}/ca/etcd-{number}."), ("/var/lib/etcd/tessera", f"{self.folder}/data-{number}"),
            ("ETCD_QUOTA_BACKEND_BYTES=4294967296", f"ETCD_QUOTA_BACKEND_BYTES={self.quota}"), ("STATE=new", f"STATE={state}"),
        ]:
            assert old in text, old
            text = text.replace(old, new)
        # As systemd reads it: names, values, comments, and nothing that a shell would expand.
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert all(re.fullmatch(r"ETCD_\w+=[^\s\"'$]+", line) for line in lines), lines
        # Each command of etcdctl begins with a check of the password, which is slow on purpose.
        return dict(line.split("=", 1) for line in lines) | {"ETCD_BCRYPT_COST": "4"}

    def start(self, *numbers, state="new"):
        for number in numbers:
            environment = {key: value for key, value in os.environ.items() if not key.startswith("ETCD")}
            with open(self.folder / f"log-{number}", "ab") as log:
                self.processes[number] = subprocess.Popen(
                    ["etcd"], stdout=log, stderr=log, env=environment | self.write_settings(number, state), cwd=self.folder)

    def kill(self, *numbers):
        for number in numbers:
            process = self.processes.pop(number)
            process.kill()
            process.wait()

    def control(self, *arguments, user=f"root:{ROOT_PASSWORD}", timeout=15):
        environment = {**os.environ, **{key: str(value) for key, value in self.variables.items()}}
        if user:
            environment["ETCDCTL_USER"] = user
        return subprocess.run(["etcdctl", *arguments], capture_output=True, text=True, timeout=timeout, env=environment)

    def until_healthy(self, user="", timeout=20):
        deadline = time.monotonic() + timeout
        while self.control("--command-timeout=2s", "endpoint", "health", user=user).returncode:
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.2)

    def logs(self):
        return "".join(f"{path.name}: {path.read_text()[-1500:]}\n" for path in sorted(self.folder.glob("log-*")))

    def ask(self, path, body, token=None, url=None):
        """(status, answer) of the JSON gateway, as Tessera uses it."""
        request = urllib.request.Request(
            (url or self.urls[0]) + path, json.dumps(body).encode(), {"Content-Type": "application/json", **({"Authorization": token} if token else {})})
        try:
            with urllib.request.urlopen(request, timeout=5, context=ssl.create_default_context(cafile=self.authority)) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def make_users(self):
        """By the command of the page, twice, as somebody does who is not sure that it ran."""
        _, users = [commands for heading, commands in blocks("Operations.md") if heading == "etcd"]
        users = users.replace("ROOT_PASSWORD=...", f"ROOT_PASSWORD={ROOT_PASSWORD}").replace("TESSERA_PASSWORD=...", f"TESSERA_PASSWORD={PASSWORD}")
        shell(self.local(users) * 2)

    def lose_everything(self):
        """All members are gone, with their data, and begin as new ones."""
        self.kill(*list(self.processes))
        for number in (1, 2, 3):
            shutil.rmtree(self.folder / f"data-{number}")
        self.start(1, 2, 3)
        self.until_healthy()
        self.make_users()

    def __enter__(self):
        try:
            certificates, _ = [commands for heading, commands in blocks("Operations.md") if heading == "etcd"]
            shell(self.local(certificates))
            self.start(1, 2, 3)
            self.until_healthy()
            self.make_users()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill(*list(self.processes))
        shutil.rmtree(self.folder, ignore_errors=True)
