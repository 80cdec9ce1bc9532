"""Recordings that a program delivers (`recording.onFinished`): rclone to an S3 server, programs that fail, hang and move, a killed server;
and old recordings that go by themselves (`recording.keep`, `recording.maxBytes`)."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from support.flashes import caller, figures, people, wait_for
from support.people import pair
from support.recorded import begin, plays, state
from support.server import Server, free_port

# A store that rclone knows by its environment alone. rclone 1.60 does not start where AWS_CA_BUNDLE is set.
RCLONE = ["env", "-u", "AWS_CA_BUNDLE"]


def config(program, **more):
    """The settings as YAML, which JSON is."""
    return json.dumps({"recording": {"onFinished": [str(word) for word in program], **more}})


@contextlib.contextmanager
def object_store():
    """moto's S3 server: the environment for rclone, whose remote `store` it is."""
    port = free_port()
    server = subprocess.Popen([Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = {
        "RCLONE_CONFIG_STORE_TYPE": "s3", "RCLONE_CONFIG_STORE_PROVIDER": "Other", "RCLONE_CONFIG_STORE_ENDPOINT": f"http://127.0.0.1:{port}",
        "RCLONE_CONFIG_STORE_ACCESS_KEY_ID": "key", "RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY": "secret",
    }
    try:
        deadline = time.monotonic() + 20
        while rclone(environment, "mkdir", "store:meetings", "--retries", "1", "--contimeout", "1s").returncode:
            assert time.monotonic() < deadline, "moto does not answer"
            time.sleep(0.2)
        yield environment
    finally:
        server.kill()
        server.wait()


def rclone(environment, *arguments):
    return subprocess.run([*RCLONE, "rclone", *arguments], env=os.environ | environment, capture_output=True, timeout=30)


def record(server, room="rec", seconds=1.2):
    """Records a room in which nobody is yet: a picture and silence."""
    path = f"/api/rooms/{quote(room, safe='')}"
    server.request("PUT", path, {})
    recording = server.json("POST", f"{path}/recordings", expect=201)
    time.sleep(seconds)
    finished = server.json("POST", f"/api/recordings/{recording['id']}/stop")
    assert finished["state"] == "finished", finished
    return finished


def until(server, recording, wanted, timeout=15):
    """Waits until the delivery is as wanted: a state, or a number of attempts with it."""
    deadline = time.monotonic() + timeout
    while True:
        # A server that has just started reads its directory.
        status, _, body = server.get(f"/api/recordings/{recording['id']}")
        delivery = json.loads(body)["delivery"] if status == 200 else {"state": "", "attempts": 0}
        if (delivery["state"], delivery["attempts"])[:len(wanted)] == wanted:
            return delivery
        assert time.monotonic() < deadline, (wanted, delivery, server.log_text())
        time.sleep(0.05)


class Events:
    """The server's events of recordings from now on."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 10)
        self.socket.sendall(b"GET /api/events?types=recording.* HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.bytes = b""
        self.read(b'"type":"reset"')

    def read(self, last):
        while last not in self.bytes or not self.bytes.endswith(b"\n\n\r\n"):
            piece = self.socket.recv(1 << 16)
            assert piece, self.bytes
            self.bytes += piece
        lines = [line for line in self.bytes.split(b"\n") if line.startswith(b"data: ")]
        return [event for event in (json.loads(line[6:]) for line in lines) if event["type"] != "reset"]


def runs(path):
    """What the program noted of its runs: a line of JSON each."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_alive(process):
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.patient
def test_rclone_brings_a_recording_to_an_object_store(tmp_path):
    # The words have quotes and a line end, which no shell may see.
    directory = tmp_path / "it's \"odd\"\n$(touch pwned)"
    if not shutil.which("rclone"):
        pytest.fail("rclone is missing: see scripts/packages") if os.environ.get("CLIENTS_MUST_RUN") else pytest.skip("rclone is missing")
    script = 'rclone copyto -- "$1" "$2" && echo "done" && printf "%s\\n\\n" "$2"'
    program = [*RCLONE, "sh", "-c", script, "deliver", "{file}", "store:meetings/{room}/{id}.mp4"]
    with object_store() as environment:
        server = Server(directory, config=config(program))
        server.environment |= environment
        with server:
            reader = Events(server)
            finished = record(server, "Küche & \"Co\"")
            assert finished["delivery"]["attempts"] == 0, finished
            place = f"store:meetings/Küche & \"Co\"/{finished['id']}.mp4"
            delivery = until(server, finished, ("delivered",))
            assert delivery == {"state": "delivered", "attempts": 1, "location": place}, delivery
            names = ["recording.started", "recording.finished", "recording.delivered"]
            events = reader.read(b"recording.delivered")
            assert [event["type"] for event in events] == names and events[2]["data"]["delivery"] == delivery, events
            local = (server.recordings / finished["file"]).read_bytes()
            assert rclone(environment, "cat", place).stdout == local and len(local) > 1000
            assert not list(tmp_path.rglob("pwned")) and not list(server.recordings.glob("*.pending"))
            assert 'tessera_recording_deliveries_total{result="delivered"} 1' in server.get("/metrics")[2].decode()
            plays(server.recordings / finished["file"])


# Fails twice, then hangs with a child, then moves the file away: each run notes what it was given.
STUBBORN = r"""
import json, os, subprocess, sys, time
notes, moved, *files = sys.argv[1:]
given = {key: value for key, value in os.environ.items() if key.startswith("TESSERA")}
run = sum(1 for _ in open(notes)) if os.path.exists(notes) else 0
with open(notes, "a") as file:
    print(json.dumps({"files": files, "environment": given, "input": json.load(sys.stdin), "nice": os.nice(0), "process": os.getpid()}), file=file)
if run < 2:
    print("the store says no\x1b[31m", file=sys.stderr)
    sys.exit(1)
if run == 2:
    subprocess.Popen(["sleep", "300"])
    time.sleep(300)
os.rename(files[0], moved)
print(moved)
"""


@pytest.mark.patient
def test_a_delivery_is_repeated_until_it_succeeds_also_by_a_server_that_was_killed(tmp_path):
    script, notes, moved = tmp_path / "stubborn.py", tmp_path / "notes", tmp_path / "moved.mp4"
    script.write_text(STUBBORN)
    server = Server(tmp_path / "server", config=config([sys.executable, script, notes, moved, "{files}"]))
    server.environment["TESSERA_AUTH_SECRET"] = "a secret of thirty-two bytes, at least"
    with server:
        finished = record(server)
        delivery = until(server, finished, ("pending", 1))
        assert delivery["message"].endswith("ended with status 1: the store says no [31m"), delivery
        assert list(server.recordings.glob("*.pending"))
        for after in [("pending", 2), ("running", 3)]:
            server.stop(signal.SIGKILL)
            server.start()
            if after[1] == 3:
                # After its restart the server delivers at once, and whenever an administrator wants it.
                assert server.json("POST", f"/api/recordings/{finished['id']}/deliver", expect=202)["delivery"]["state"] in ("pending", "running")
                until(server, finished, ("running",))
            else:
                until(server, finished, after)
        while len(runs(notes)) < 3:
            time.sleep(0.05)
        hanging = runs(notes)[2]["process"]
        assert is_alive(hanging)
        server.stop(signal.SIGKILL)
        assert is_alive(hanging), "a killed server can end nothing"
        server.start()
        until(server, finished, ("delivered",))
        assert not is_alive(hanging), "the next one does"
        noted = runs(notes)
        assert len(noted) == 4
        for run in noted:
            assert run["environment"]["TESSERA_ID"] == run["input"]["id"] == finished["id"] and run["nice"] >= 10
            assert run["environment"]["TESSERA_ROOM"] == run["input"]["room"] == "rec"
            assert run["environment"]["TESSERA_FILE"] == run["files"][0] == str(server.recordings / finished["file"])
            assert run["environment"]["TESSERA_FILES"].split("\n") == run["files"] == run["input"]["files"]
            assert "TESSERA_AUTH_SECRET" not in run["environment"]
            assert int(run["environment"]["TESSERA_BYTES"]) == run["input"]["bytes"] == finished["bytes"]
            assert abs(float(run["environment"]["TESSERA_DURATION"]) - finished["duration"]) < 0.01
        # The file is elsewhere now: the listing stays, and the download says so.
        plays(moved)
        assert [r["id"] for r in server.json("GET", "/api/recordings")] == [finished["id"]]
        assert state(server, finished)["delivery"]["location"] == str(moved)
        status, _, body = server.get(f"/api/recordings/{finished['id']}/file")
        assert status == 404 and b"delivered elsewhere" in body, body
        for left in [*server.recordings.glob("*.vtt"), *server.recordings.glob("*.timeline.json")]:
            left.unlink()
        status, _, body = server.request("POST", f"/api/recordings/{finished['id']}/deliver")
        assert status == 409 and b"not on this server" in body, body


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_a_program_that_hangs_holds_up_neither_calls_nor_recordings_nor_the_end(tmp_path):
    notes = tmp_path / "notes"
    script = 'trap "" TERM; echo "{\\"process\\": $$}" >> "$1"; sleep 300 & sleep 300; sleep 300'
    server = Server(tmp_path / "server", config=config(["sh", "-c", script, "hang", notes]))
    with server:
        async def run():
            async with pair(server) as (ada, bo):
                files = []
                for _ in range(2):
                    started = await asyncio.to_thread(begin, server)
                    await asyncio.sleep(1.2)
                    seen = len(ada.picture_times)
                    files.append(await asyncio.to_thread(server.json, "POST", f"/api/recordings/{started['id']}/stop"))
                    await asyncio.sleep(1)
                    assert len(ada.picture_times) > seen + 8
                return files
        files = asyncio.run(asyncio.wait_for(run(), 60))
        until(server, files[0], ("running", 1))
        until(server, files[1], ("pending", 0))
        for file in files:
            plays(server.recordings / file["file"])
        process = runs(notes)[0]["process"]
        before = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - before < 10
        assert not is_alive(process)
        children = subprocess.run(["pgrep", "-g", str(process)], capture_output=True, text=True).stdout.split()
        assert not [child for child in children if is_alive(child)]
        assert len(list(server.recordings.glob("*.pending"))) == 2, "the next start takes them up"


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_one_recording_is_removed_on_request_and_never_while_it_is_written(tmp_path):
    with Server(tmp_path / "server") as server:
        kept = record(server, "other")
        reader = Events(server)
        with caller(server, "rec", "Ann"):
            wait_for(lambda: "Ann" in people(server, "rec"), 15, "no Ann")
            path = "/api/recordings/" + server.json("POST", "/api/rooms/rec/recordings", {"tracks": True}, expect=201)["id"]
            time.sleep(1.5)
            assert server.request("DELETE", path)[0] == 409
            finished = server.json("POST", path + "/stop")
            url = server.json("POST", path + "/link", {}, expect=201)["url"]
            assert server.get(url)[0] == 200
            assert server.request("DELETE", path)[0] == 204
            # The call goes on, and a link ends.
            assert people(server, "rec") and server.get(url)[0] == 404
        event = reader.read(b"recording.removed")[-1]
        assert event["data"]["id"] == finished["id"] and event["data"]["reason"] == "request", event
        assert not list(server.recordings.glob(f"{finished['id']}*"))
        assert server.request("DELETE", path)[0] == 404
        assert [recording["id"] for recording in server.json("GET", "/api/recordings")] == [kept["id"]]
        plays(server.recordings / kept["file"])


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_old_recordings_go_with_their_tracks_by_size_and_by_age(tmp_path):
    settings = json.dumps({"recording": {"keep": "1h", "maxBytes": 1}})
    with Server(tmp_path / "server", config=settings) as server:
        reader = Events(server)
        with caller(server, "rec", "Ann", "--codec", "vp8"):
            wait_for(lambda: "Ann" in people(server, "rec") and figures(server, "rec", "Ann")["received"]["video"]["frames"] > 30, 15, "no pictures of Ann")
            started = server.json("POST", "/api/rooms/rec/recordings", {"tracks": True}, expect=201)
            time.sleep(1.5)
            # The only one stays, however large it is.
            tracked = server.json("POST", f"/api/recordings/{started['id']}/stop")
        assert {track["kind"] for track in tracked["tracks"]} >= {"camera"}, tracked
        assert all((server.recordings / track["file"]).exists() for track in tracked["tracks"])
        kept = record(server, "other")
        # The server looks every ten seconds.
        reader.socket.settimeout(20)
        event = reader.read(b"recording.removed")[-1]
        assert event["type"] == "recording.removed" and event["data"]["id"] == tracked["id"] and event["data"]["reason"] == "size", event
        assert not list(server.recordings.glob(f"{tracked['id']}*")), "tracks, timeline and sidecar go too"
        assert server.get(f"/api/recordings/{tracked['id']}")[0] == 404
        plays(server.recordings / kept["file"])
        assert server.stop() == 0
        sidecar = server.recordings / f"{kept['id']}.json"
        old = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3610))
        sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"startedAt": old}))
        server.start()
        wait_for(lambda: not list(server.recordings.iterdir()), 20, "what is older than an hour stays")
        assert server.json("GET", "/api/recordings") == []
        assert 'tessera_recordings_removed_total{reason="age"} 1' in server.get("/metrics")[2].decode()
