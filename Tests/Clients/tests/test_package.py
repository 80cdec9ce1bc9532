"""The Debian package and the image of ./scripts/package: installed, run, upgraded and removed as operators do."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import pytest

from support.flashes import wait_for
from support.packages import DYNAMIC_USER, PACKAGES, SYSTEM, Container, Manager, Tree, Unit, missing, mount, package, service
from support.server import PROGRAM, ROOT, SMALL, Server, free_port
from tests.conftest import cannot_run

UNIT = ROOT / "scripts/deploy/debian/tessera.service"


@pytest.fixture
def needs_packages():
    reason = os.environ.get("NO_PACKAGES") or missing()
    if reason:
        # Elsewhere the packages must be there, too.
        pytest.skip(reason)
    if not list(PACKAGES.glob("*.oci.tar")):
        cannot_run(f"{PACKAGES} has no packages: run ./scripts/package --fast --binary $TESSERA --output {PACKAGES}")


@pytest.fixture
def tree(tmp_path, needs_packages):
    tree = Tree(tmp_path / "tree")
    yield tree
    tree.remove()


def ask(port, path, method="GET"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def is_ready(port, container):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert container.process.poll() is None, container.log()
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).status == 200
        time.sleep(0.05)
    raise AssertionError("not ready: " + container.log())


@contextlib.contextmanager
def call_of_two(port, folder):
    """Two `tessera call` in the room "hall", of which one saves what it gets."""
    people = [
        subprocess.Popen(
            [PROGRAM, "call", f"http://127.0.0.1:{port}", "--room", "hall", "--name", name, "--save", str(folder / f"{name}.mp4")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for name in ("Ada", "Bo")
    ]
    try:
        deadline = time.monotonic() + 15
        while people_in_hall(port) < 2:
            assert time.monotonic() < deadline, [person.poll() for person in people]
            time.sleep(0.1)
        yield
    finally:
        for person in people:
            person.send_signal(signal.SIGTERM)
        for person in people:
            person.communicate(timeout=15)
    for name in ("Ada", "Bo"):
        assert_plays(folder / f"{name}.mp4")


def people_in_hall(port):
    """How many people of the room have a tile."""
    if not any(room["id"] == "hall" for room in ask(port, "/api/rooms")):
        return 0
    return sum("participant" in tile for tile in ask(port, "/api/rooms/hall")["tiles"])


def assert_plays(file):
    checked = subprocess.run([PROGRAM, "recording", "check", str(file)], capture_output=True, text=True, timeout=30)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def settings(port, media):
    small = "rooms: {width: 640, height: 360, framesPerSecond: 15}"
    return f"http: {{listen: '127.0.0.1:{port}'}}\nmedia: {{listen: '0.0.0.0:{media}', announce: [127.0.0.1]}}\n{small}\n"


def niceness(pid, name):
    """Of a thread whose name begins so."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as comm:
            if comm.read().startswith(name):
                return os.getpriority(os.PRIO_PROCESS, int(thread))
    return None


@pytest.mark.patient
def test_the_debian_package_installs_runs_upgrades_and_goes(tree, tmp_path):
    before = tree.files()
    tree.install(package(".deb"))
    assert tree.run("tessera", "version").startswith("tessera ")
    # The unit is enabled: it starts with the machine.
    assert tree.path("/etc/systemd/system/multi-user.target.wants/tessera.service").is_symlink()

    conffile = tree.path("/etc/tessera/tessera.yaml")
    assert conffile.stat().st_mode & 0o777 == 0o600
    port = free_port()
    conffile.write_text(conffile.read_text() + settings(port, free_port()))
    changed = conffile.read_text()

    # It runs as its unit says, holds a call and records it.
    manager = Manager(tmp_path / "notify")
    with Container(tmp_path / "first", service(tree, manager)) as container:
        assert manager.listen(20, until="READY=1"), container.log()
        # Real-time priority may be denied to a container by its control group, also with the capability. A thread gets its name and its priority
        # when it first runs, which may be after the server is ready.
        wait_for(lambda: (niceness(container.pid, "media") or 0) < 0, 5, "CAP_SYS_NICE puts the network threads above others")
        with open(f"/proc/{container.pid}/status") as status:
            facts = {key: value.split() for key, _, value in (line.partition(":") for line in status)}
        assert facts["Seccomp"] == ["2"] and facts["NoNewPrivs"] == ["1"] and set(facts["Uid"]) == {str(DYNAMIC_USER)}
        with call_of_two(port, tmp_path):
            recording = ask(port, "/api/rooms/hall/recordings", "POST")
            time.sleep(3)
            finished = ask(port, f"/api/recordings/{recording['id']}/stop", "POST")
        assert finished["state"] == "finished" and finished["duration"] > 2
        assert manager.listen(5, until="WATCHDOG=1"), container.log()
        assert container.stop() == 0, container.log()
        manager.listen(0.2)
        assert [line for line in manager.heard if line.startswith("STOPPING=1\n") and "EXTEND_TIMEOUT_USEC=" in line]
        for fault in ("ontconfig", "not permitted", "denied"):
            assert fault not in container.log(), container.log()
    file = tree.path(f"/var/lib/private/tessera/recordings/{finished['file'].rpartition('/')[2]}")
    assert_plays(file)

    # An upgrade keeps changed settings and the recordings, and the next version finds both.
    newer = tmp_path / "newer"
    subprocess.run(["dpkg-deb", "-R", package(".deb"), newer], check=True)
    control = newer / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: ", "\nVersion: 9"))
    shipped = newer / "etc/tessera/tessera.yaml"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", newer, tmp_path / "newer.deb"], check=True, capture_output=True)
    tree.install(tmp_path / "newer.deb")
    assert tree.run("dpkg-query", "-f", "${Version}", "-W", "tessera").startswith("9")
    assert conffile.read_text() == changed != shipped.read_text() and file.exists()
    shutil.rmtree(newer)
    manager = Manager(tmp_path / "notify-again")
    with Container(tmp_path / "second", service(tree, manager)) as container:
        assert manager.listen(20, until="READY=1"), container.log()
        assert [r["id"] for r in ask(port, "/api/recordings")] == [recording["id"]]
        assert container.stop() == 0, container.log()

    # Removal leaves what people made, and purging leaves the recordings.
    postrm = tree.path("/var/lib/dpkg/info/tessera.postrm").read_text()
    accounts = tree.path("/var/lib/private/tessera/data/accounts.json")
    accounts.parent.mkdir(exist_ok=True)
    accounts.write_text("{}")
    tree.apt("remove", "tessera")
    assert not tree.path("/usr/bin/tessera").exists() and conffile.read_text() == changed and file.exists() and accounts.exists()
    # Keys that the administrator has put beside the settings are none of the package's.
    key = conffile.parent / "node.key"
    key.write_text("a key")
    tree.apt("purge", "--autoremove", "tessera")
    assert not conffile.exists() and key.read_text() == "a key" and not accounts.parent.exists()
    key.unlink()
    conffile.parent.rmdir()
    state = "/var/lib/private/tessera"
    recordings = f"{state}/recordings"
    mine = {path for path in tree.files() if "tessera" in path}
    assert file.exists() and {path for path in mine if not path.startswith(recordings)} == {state, "/var/lib/tessera"}

    # A purge without recordings leaves nothing.
    shutil.rmtree(tree.path(recordings))
    tree.path(recordings).mkdir()
    accounts.parent.mkdir()
    accounts.write_text("{}")
    tree.path("/postrm").write_text(postrm)
    tree.run("sh", "/postrm", "purge")
    tree.path("/postrm").unlink()
    left = tree.files() - before
    assert left <= {"/var/lib/private"}, sorted(left)[:20]


@pytest.mark.patient
def test_the_image_holds_a_call(needs_packages, tmp_path):
    image, bundle = tmp_path / "image", tmp_path / "bundle"
    image.mkdir()
    try:
        subprocess.run(["tar", "-C", image, "-xf", package(".oci.tar")], check=True)
        (manifest,) = json.loads((image / "index.json").read_text())["manifests"]
        tag = manifest["annotations"]["org.opencontainers.image.ref.name"]
        subprocess.run(["umoci", "unpack", "--image", f"{image}:{tag}", bundle], check=True, capture_output=True)
        configuration = json.loads((bundle / "config.json").read_text())
        process = configuration["process"]
        assert process["user"]["uid"] == process["user"]["gid"] == 10001 and process["args"] == ["/usr/bin/tessera", "serve"]
        assert not (bundle / "rootfs/bin/sh").exists(), "no shell"
        state = tmp_path / "state"
        state.mkdir()
        os.chown(state, 10001, 10001)
        port = free_port()
        process["args"] += ["--listen", f"127.0.0.1:{port}", "--media", f"0.0.0.0:{free_port()}", "--announce", "127.0.0.1"]
        process["env"] += [f"{key}={value}" for key, value in SMALL.items()]
        process["capabilities"] = {}
        process["noNewPrivileges"] = True
        configuration["root"]["readonly"] = True
        configuration["mounts"] = [*SYSTEM, mount("/var/lib/tessera", state, "bind", "rw")]
        with Container(bundle, configuration) as container:
            assert is_ready(port, container)
            with call_of_two(port, tmp_path):
                recording = ask(port, "/api/rooms/hall/recordings", "POST")
                time.sleep(1.5)
            # Everyone's name is drawn, and no font was missed.
            assert "ontconfig" not in container.log(), container.log()
            assert container.stop() == 0, container.log()
        (file,) = (state / "recordings").glob("*.mp4")
        assert recording["id"] in file.name
        assert_plays(file)
    finally:
        shutil.rmtree(image)
        shutil.rmtree(bundle, ignore_errors=True)


def test_the_unit_is_tight_and_without_faults(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("this machine has no systemd-analyze")
    unit = tmp_path / "tessera.service"
    # The program is not installed here.
    unit.write_text(UNIT.read_text().replace("/usr/bin/tessera", str(shutil.which(PROGRAM))))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    tightness = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=40", unit]
    checked = subprocess.run(tightness, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout[-300:] + checked.stderr
    # The longest drain of a server alone, and the limit of its descriptors, fit.
    unit = Unit(UNIT)
    assert int(unit["TimeoutStopSec"]) >= 10 and int(unit["LimitNOFILE"]) >= 65536


@pytest.mark.patient
def test_lintian_finds_nothing(needs_packages):
    if not shutil.which("lintian"):
        pytest.skip("this machine has no lintian")
    checked = subprocess.run(["nice", "lintian", "--allow-root", package(".deb")], capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stdout.strip(), checked.stdout


def test_a_service_manager_hears_of_start_life_and_end(tmp_path):
    manager = Manager(tmp_path / "notify")
    with Server(tmp_path / "server") as server:
        # Without a service manager a server tells nobody: this one is started anew.
        server.stop()
        assert not manager.heard
        server.environment |= {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "400000"}
        server.start()
        assert manager.listen(5, until="READY=1")
        assert manager.listen(5, until="WATCHDOG=1")
        server.process.send_signal(signal.SIGSTOP)
        manager.listen(0.3)
        manager.heard.clear()
        manager.listen(0.6)
        assert not manager.heard, "a server that stands still is not alive"
        server.process.send_signal(signal.SIGCONT)
        assert manager.listen(5, until="WATCHDOG=1")
        server.process.send_signal(signal.SIGTERM)
        assert manager.listen(5, until="STOPPING=1")
        assert server.process.wait(12) == 0


def test_an_abstract_socket_is_told_too(tmp_path):
    name = f"tessera-{os.getpid()}-{time.monotonic_ns()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name)
        listener.settimeout(10)
        server = Server(tmp_path / "server")
        server.environment["NOTIFY_SOCKET"] = "@" + name
        with server:
            assert listener.recv(4096) == b"READY=1"
