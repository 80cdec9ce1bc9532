"""The packages of ./scripts/package: a bare Debian 12 in which to install one, and containers that stand for systemd or for Docker."""

import contextlib
import json
import os
import platform
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections import defaultdict
from pathlib import Path

from support.server import ROOT

# Where scripts/test has put them.
PACKAGES = Path(os.environ.get("PACKAGES", ROOT / ".build/packages")).resolve()
DEBIAN = Path(os.environ.get("BUILD_DIR", ROOT / ".build")).resolve() / "debian-12"
# systemd takes users of DynamicUser= from 61184 on.
DYNAMIC_USER = 61234
SECOND = 1_000_000
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


def missing():
    """Why the packages cannot be tried here; None if they can."""
    for tool in ("debootstrap", "umoci", "runc"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"this machine has no {tool}"
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "only root may make the namespaces of a container"
    return None


def package(ending):
    found = sorted(PACKAGES.glob("tessera_*" + ending))
    assert len(found) == 1, f"{PACKAGES} has {len(found)} tessera_*{ending}: run ./scripts/package --fast --binary $TESSERA --output {PACKAGES}"
    return found[0]


class Tree:
    """A bare Debian 12. Nothing is downloaded: the packages of the libraries are those that ./scripts/package left."""

    def __init__(self, folder):
        # Thousands of small files: in memory where there is enough of it.
        memory = Path("/dev/shm")
        if memory.is_dir() and shutil.disk_usage(memory).free > 2 << 30:
            folder = memory / f"tessera-{uuid.uuid4().hex[:12]}" / "tree"
        self.folder = folder
        folder.mkdir(parents=True)
        assert (DEBIAN / "bare.tar").exists(), f"there is no {DEBIAN}/bare.tar: run ./scripts/package --oci"
        subprocess.run(["tar", "-C", folder, "-xf", DEBIAN / "bare.tar"], check=True)

    def path(self, path):
        return self.folder / path.lstrip("/")

    def run(self, *command):
        done = subprocess.run(
            ["nice", ROOT / "scripts/in_tree", self.folder, DEBIAN / "archives", *command], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def apt(self, *arguments):
        return self.run("apt-get", "-qy", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io", *arguments)

    def install(self, package):
        shutil.copy(package, self.path("/package.deb"))
        self.apt("install", "/package.deb")
        self.path("/package.deb").unlink()

    def files(self):
        """All paths, but for what dpkg, apt and fontconfig note of every package."""
        ignored = re.compile(r"/(var/(lib/(dpkg|apt)|cache|log|backups)|proc|tmp)/")
        found = set()
        for folder, folders, files in os.walk(self.folder):
            inside = "/" + str(Path(folder).relative_to(self.folder)) + "/"
            found |= {path for name in folders + files if not ignored.match(path := inside.replace("/./", "/") + name)}
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.parent.parent == Path("/dev/shm"):
            self.folder.parent.rmdir()


class Unit:
    """The settings of a unit's [Service]: each key with its values."""

    def __init__(self, path):
        section, self.values = "", defaultdict(list)
        for line in path.read_text().splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and line and not line.startswith("#"):
                key, value = line.split("=", 1)
                self.values[key].append(value)

    def __getitem__(self, key):
        """The one value of a key."""
        (value,) = self.values[key]
        return value

    def words(self, key):
        return [word for value in self.values[key] for word in value.split()]

    def system_calls(self):
        """The names that SystemCallFilter= permits."""
        allowed = system_calls("@default")
        for value in self.values["SystemCallFilter"]:
            names = {name for word in value.lstrip("~").split() for name in system_calls(word)}
            allowed = allowed - names if value.startswith("~") else allowed | names
        return allowed


def system_calls(name):
    """The system calls of a set such as @file-system."""
    if not name.startswith("@"):
        return {name}
    lines = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.strip() for line in lines if line.startswith("    ") and not line.strip().startswith("#")]
    return {call for word in words for call in system_calls(word)}


def seccomp(unit):
    """The unit's filters for runc. What is not permitted fails with EPERM."""
    def masked(index, mask):
        return [{"index": index, "value": mask, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]

    families = {"AF_UNIX": socket.AF_UNIX, "AF_INET": socket.AF_INET, "AF_INET6": socket.AF_INET6, "AF_NETLINK": socket.AF_NETLINK}
    # MemoryDenyWriteExecute= and RestrictNamespaces=, as systemd's filters have them.
    assert unit["MemoryDenyWriteExecute"] == unit["RestrictNamespaces"] == "yes"
    writable, executable, namespaces = 2, 4, 0x7E02_0080
    conditions = {
        "mprotect": [masked(2, executable)], "pkey_mprotect": [masked(2, executable)],
        "mmap": [masked(2, executable), masked(2, writable)],
        "clone": [masked(0, namespaces)], "unshare": [masked(0, namespaces)], "setns": [],
        "socket": [[{"index": 0, "value": families[name], "op": "SCMP_CMP_EQ"}] for name in unit.words("RestrictAddressFamilies")],
        "clone3": [],
    }
    allowed = unit.system_calls()
    rules = [{"names": sorted(allowed - conditions.keys()), "action": "SCMP_ACT_ALLOW"}]
    rules += [
        {"names": [name], "action": "SCMP_ACT_ALLOW", "args": arguments}
        for name, choices in conditions.items() if name in allowed for arguments in choices
    ]
    # The C library then takes clone(2).
    rules.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38})
    return {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, "architectures": [ARCHITECTURES[platform.machine()]], "syscalls": rules}


class Manager:
    """The socket of a service manager, which hears what the server tells it."""

    def __init__(self, path):
        self.path, self.heard = path, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        path.chmod(0o777)
        self.socket.settimeout(0.05)

    def listen(self, seconds, until=None):
        """Listens until a datagram begins with `until`, or for the whole time where it is None. Returns whether one did."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                self.heard.append(self.socket.recv(4096).decode())
                if until and self.heard[-1].startswith(until):
                    return True
        return False


class Container:
    """`with Container(folder, configuration) as container:` runs a configuration of runc, in the network of the tests."""

    def __init__(self, folder, configuration):
        self.folder, self.name = folder, f"tessera-{uuid.uuid4().hex[:12]}"
        folder.mkdir(exist_ok=True)
        configuration["process"]["terminal"] = False
        linux = configuration["linux"]
        linux["namespaces"] = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
        for part in ("resources", "uidMappings", "gidMappings", "rootfsPropagation"):
            linux.pop(part, None)
        (folder / "config.json").write_text(json.dumps(configuration))
        self.log_path = folder / "log"

    def runc(self, *arguments):
        return subprocess.run(["runc", "--root", self.folder / "state", *arguments], capture_output=True, text=True)

    def __enter__(self):
        environment = {key: value for key, value in os.environ.items() if key != "NOTIFY_SOCKET"}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["runc", "--root", self.folder / "state", "run", "--bundle", self.folder, self.name], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env=environment)
        return self

    @property
    def pid(self):
        """Of the server, for others than the container's own processes."""
        return json.loads(self.runc("state", self.name).stdout)["pid"]

    def stop(self, how=signal.SIGTERM, timeout=20):
        """Returns the exit status of the server."""
        self.runc("kill", self.name, str(int(how)))
        return self.process.wait(timeout)

    def log(self):
        return self.log_path.read_text(errors="replace")[-5000:]

    def __exit__(self, *_):
        self.runc("delete", "--force", self.name)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def mount(destination, source, *options, kind="bind"):
    return {"destination": destination, "type": kind, "source": str(source), "options": list(options)}


# What every container has, as runc's own template does.
SYSTEM = [
    mount("/proc", "proc", kind="proc"),
    mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k", kind="tmpfs"),
    mount("/dev/shm", "shm", "nosuid", "noexec", "nodev", "mode=1777", kind="tmpfs"),
    mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777", kind="tmpfs"),
]


def service(tree, manager):
    """The configuration of a container that runs a tree's tessera.service with what systemd would give it: a user of its own, its folders,
    credentials, capabilities, limits and filters."""
    unit = Unit(tree.path("/lib/systemd/system/tessera.service"))
    assert unit["Type"] == "notify" and unit["DynamicUser"] == "yes" and unit["ProtectSystem"] == "strict"
    state = tree.path(f"/var/lib/private/{unit['StateDirectory']}")
    state.mkdir(parents=True, exist_ok=True)
    # systemd closes this folder to others, and gives the service one of its own in this place.
    state.parent.chmod(0o755)
    link = tree.path(f"/var/lib/{unit['StateDirectory']}")
    if not link.is_symlink():
        link.symlink_to(f"private/{unit['StateDirectory']}")
    for path in (state, *state.rglob("*")):
        os.chown(path, DYNAMIC_USER, DYNAMIC_USER)
    name, file = unit["LoadCredential"].split(":")
    credentials = manager.path.with_name("credentials")
    credentials.mkdir(exist_ok=True)
    shutil.copy(tree.path(file), credentials / name)
    for path in (credentials, credentials / name):
        os.chown(path, DYNAMIC_USER, DYNAMIC_USER)
        path.chmod(0o500 if path.is_dir() else 0o400)
    inside = "/run/credentials/tessera.service"
    watchdog = int(float(unit["WatchdogSec"]) * SECOND)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": str(watchdog), "CREDENTIALS_DIRECTORY": inside,
        "STATE_DIRECTORY": f"/var/lib/{unit['StateDirectory']}",
    }
    # Where this machine allows that many.
    files = min(int(unit["LimitNOFILE"]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    ambient = unit.words("AmbientCapabilities")
    assert set(ambient) <= set(unit.words("CapabilityBoundingSet"))
    command = re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], unit["ExecStart"])
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(tree.folder), "readonly": True},
        "process": {
            "user": {"uid": DYNAMIC_USER, "gid": DYNAMIC_USER, "umask": int(unit["UMask"], 8)}, "args": command.split(), "cwd": unit["WorkingDirectory"],
            "env": [f"{key}={value}" for key, value in environment.items()],
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted", "inheritable", "ambient"), ambient),
            "rlimits": [{"type": "RLIMIT_NOFILE", "soft": files, "hard": files}], "noNewPrivileges": unit["NoNewPrivileges"] == "yes",
        },
        "mounts": [
            *SYSTEM,
            mount("/run", "tmpfs", "nosuid", "nodev", "mode=755", kind="tmpfs"),
            mount("/run/notify", manager.path, "bind"),
            mount(inside, credentials, "bind", "ro"),
            mount(f"/var/lib/private/{unit['StateDirectory']}", state, "bind", "rw"),
        ],
        "linux": {"seccomp": seccomp(unit), "maskedPaths": ["/proc/kcore"], "readonlyPaths": ["/proc/sys"]},
    }
