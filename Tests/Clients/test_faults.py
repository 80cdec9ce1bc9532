"""What may go wrong around a running server: disks, crashes, the clock, a process that was stopped. Calls go on, recordings stay whole."""

import asyncio
import contextlib
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from media import TONES, tone_level
from people import pair
from recorded import decodes_cleanly, probe
from server import PROGRAM, Server
from signalling import ask, connect

call = pytest.mark.usefixtures("needs_address", "good_line")


async def until(condition, timeout, what):
    deadline = time.monotonic() + timeout
    while not (found := await asyncio.to_thread(condition)):
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.1)
    return found


def state(server, recording):
    return server.json("GET", f"/api/recordings/{recording['id']}")


def path(server, recording):
    return server.recordings / recording["file"]


async def goes_on(*peers, seconds=6):
    """Everyone gets new pictures and hears the other's tone."""
    seen = [len(p.picture_times) for p in peers]
    deadline = time.monotonic() + seconds
    while True:
        moves = all(len(p.picture_times) > before + 10 for p, before in zip(peers, seen))
        heard = all(tone_level(p.sound[-24000:], other.frequency) > 0.02 for p in peers for other in peers if other is not p)
        if moves and heard:
            return
        assert time.monotonic() < deadline, f"pictures go on: {moves}, sound: {heard}"
        await asyncio.sleep(0.1)


def offsets(file):
    """A/V offsets in ms at the start and at the end, by `tessera recording check`."""
    check = subprocess.run([PROGRAM, "recording", "check", str(file)], capture_output=True, text=True, timeout=30)
    assert check.returncode == 0, check.stdout + check.stderr
    return [float(value) for value in re.findall(r"([+-][\d.]+) ms", check.stdout)]


def metric(server, name):
    line = next(line for line in server.get("/metrics")[2].decode().splitlines() if line.startswith(name))
    return float(line.rsplit(" ", 1)[1])


@contextlib.contextmanager
def tmpfs(directory, size):
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=False)


@contextlib.contextmanager
def freezable(image, directory):
    """A small disk of its own on `directory`; gives what makes it stand still and what lets it go on."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-F", str(image)]).returncode == 0
    if not made or subprocess.run(["mount", "-o", "loop", str(image), str(directory)]).returncode:
        pytest.skip("this machine mounts no disk images")

    def freeze(on):
        return subprocess.run(["fsfreeze", "-f" if on else "-u", str(directory)], capture_output=True).returncode == 0
    try:
        yield freeze
    finally:
        freeze(False)
        subprocess.run(["umount", "-l", str(directory)], check=False)


@call
def test_a_disk_that_stands_still_holds_up_neither_call_nor_joins(tmp_path):
    with Server(tmp_path / "server") as server, freezable(tmp_path / "disk", server.recordings) as freeze:
        async def run():
            async with pair(server) as (ada, bo):
                recording = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(1.5)
                assert freeze(True)
                for room in ("rec", "other"):
                    async with await connect(server) as socket:
                        before = time.monotonic()
                        await ask(socket, "joined", type="join", room=room, name="Cy")
                        assert time.monotonic() - before < 1, "a join waits for the disk"
                        if room == "other":
                            status, headers, body = await asyncio.to_thread(server.request, "POST", "/api/rooms/other/recordings")
                            assert status == 503 and headers["Retry-After"] and b"disk" in body, (status, body)
                await goes_on(ada, bo)
                assert freeze(False)
                await asyncio.sleep(1.5)
                return await asyncio.to_thread(server.json, "POST", f"/api/recordings/{recording['id']}/stop")
        finished = asyncio.run(asyncio.wait_for(run(), 60))
        assert finished["state"] == "finished" and finished["duration"] > 6 and "dropped" not in finished, finished
        assert all(abs(offset) < 45 for offset in offsets(path(server, finished)))
        assert decodes_cleanly(path(server, finished))[0]
        deadline = time.monotonic() + 5
        while [r["id"] for r in server.json("GET", "/api/recordings")] != [finished["id"]]:
            assert time.monotonic() < deadline, "what came too late is not taken back"
            time.sleep(0.1)


@call
def test_a_server_that_was_stopped_for_three_seconds_goes_on_as_if_it_had_slept(tmp_path):
    with Server(tmp_path / "server") as server:
        async def run():
            async with pair(server) as (ada, bo):
                recording = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(2)
                server.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(3)
                server.process.send_signal(signal.SIGCONT)
                ada.sound, bo.sound = ada.sound[:0], bo.sound[:0]
                await goes_on(ada, bo, seconds=8)
                # What was slept through is skipped and not sent all at once: 3 s of sound are 150 ticks.
                assert metric(server, "tessera_audio_ticks_skipped_total") >= 100
                assert metric(server, "tessera_picture_ticks_skipped_total") >= 20
                assert [p["id"] for p in server.json("GET", "/api/rooms/rec")["participants"]] == [ada.id, bo.id]
                await asyncio.sleep(1)
                return await asyncio.to_thread(server.json, "POST", f"/api/recordings/{recording['id']}/stop")
        finished = asyncio.run(asyncio.wait_for(run(), 60))
        assert finished["state"] == "finished" and finished["duration"] > 5, finished
        assert all(abs(offset) < 45 for offset in offsets(path(server, finished))), offsets(path(server, finished))
        assert decodes_cleanly(path(server, finished))[0]


def test_twenty_recordings_survive_a_kill_and_are_closed_beside_the_calls(tmp_path):
    rooms = [f"room-{number}" for number in range(20)]
    with Server(tmp_path / "server") as server:
        for room in rooms:
            server.json("PUT", f"/api/rooms/{room}", {}, expect=201)
        started = [server.json("POST", f"/api/rooms/{room}/recordings", expect=201) for room in rooms]
        deadline = time.monotonic() + 30
        while not all(path(server, r).exists() and path(server, r).stat().st_size > 2000 for r in started):
            assert time.monotonic() < deadline, "not all of them have a fragment"
            time.sleep(0.1)
        server.stop(signal.SIGKILL)
        # Whoever reads this entry waits until it is written to: the directory does not answer.
        pipe = server.recordings / "stands-still.json"
        os.mkfifo(pipe)
        before = time.monotonic()
        server.start()
        assert time.monotonic() - before < 2, "the ports wait for the recordings"

        async def join():
            async with await connect(server) as socket:
                return await ask(socket, "joined", type="join", room="meanwhile", name="Ada")
        assert asyncio.run(join())["you"]["id"]
        with open(pipe, "wb"):
            pass
        pipe.unlink()

        new = server.json("POST", "/api/rooms/meanwhile/recordings", expect=201)
        assert new["state"] == "recording", "new ones begin while the old ones are closed"
        deadline = time.monotonic() + 30
        while any((found := state(server, r))["state"] != "finished" for r in started):
            assert found["state"] == "repairing" and time.monotonic() < deadline, found
            time.sleep(0.1)
        while metric(server, "tessera_recording_repairs_waiting") != 0:
            assert time.monotonic() < deadline, "repairs still wait"
            time.sleep(0.1)
        for recording in started:
            assert float(probe(path(server, recording))["format"]["duration"]) > 0.5
            ok, errors = decodes_cleanly(path(server, recording))
            assert ok, errors
        listed = server.json("GET", "/api/recordings")
        assert listed[0]["id"] == new["id"] and len(listed) == 21


@call
def test_a_disk_that_others_fill_ends_recordings_in_order_and_refuses_new_ones(tmp_path):
    with Server(tmp_path / "server") as server, tmpfs(server.recordings, "64m"):
        filler = server.recordings / "others"

        async def run():
            async with pair(server) as (ada, bo):
                recording = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(2.5)
                # A tenth is left free of a disk that is smaller than `recording.minimumFree`.
                filler.write_bytes(bytes(60 << 20))
                ended = await until(lambda: (now := state(server, recording))["state"] != "recording" and now, 5, "it goes on on a full disk")
                assert ended["state"] == "finished" and "minimumFree" in ended["error"] and str(server.recordings) not in ended["error"], ended
                for peer in (ada, bo):
                    assert [m for m in peer.messages if m["type"] == "error" and not m["fatal"]], "nobody was told"
                status, headers, body = server.request("POST", "/api/rooms/rec/recordings")
                assert status == 503 and headers["Retry-After"] and b"minimumFree" in body, (status, body)
                await goes_on(ada, bo)
                filler.unlink()
                again = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(1.5)
                assert (await asyncio.to_thread(server.json, "POST", f"/api/recordings/{again['id']}/stop"))["state"] == "finished"
                return ended
        ended = asyncio.run(asyncio.wait_for(run(), 60))
        # The ends of the two tracks are where the disk ended them, up to half a second of fragment apart.
        start, end = offsets(path(server, ended))
        assert abs(start) < 45 and abs(end) < 500, (start, end)
        assert decodes_cleanly(path(server, ended))[0]


@call
def test_a_directory_that_goes_in_the_middle_ends_the_recording_and_not_the_call(tmp_path):
    with Server(tmp_path / "server") as server, tmpfs(server.recordings, "64m"):
        async def run():
            async with pair(server) as (ada, bo):
                recording = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(2)
                subprocess.run(["umount", "-l", str(server.recordings)], check=True)
                ended = await until(lambda: (now := state(server, recording))["state"] != "recording" and now, 8, "nobody noticed")
                assert ended["state"] == "failed" and "taken away" in ended["error"], ended
                await goes_on(ada, bo)
                again = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                await asyncio.sleep(1.5)
                assert (await asyncio.to_thread(server.json, "POST", f"/api/recordings/{again['id']}/stop"))["state"] == "finished"
        asyncio.run(asyncio.wait_for(run(), 60))


@call
def test_a_limit_of_file_sizes_ends_the_recording_and_not_the_server(tmp_path):
    with Server(tmp_path / "server") as server:
        async def run():
            async with pair(server) as (ada, bo):
                recording = server.json("POST", "/api/rooms/rec/recordings", expect=201)
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (150_000, 150_000))
                ended = await until(lambda: (now := state(server, recording))["state"] != "recording" and now, 15, "nobody noticed")
                assert ended["state"] == "failed" and ended["error"], ended
                await goes_on(ada, bo)
                return ended
        ended = asyncio.run(asyncio.wait_for(run(), 60))
        assert decodes_cleanly(path(server, ended))[0] and float(probe(path(server, ended))["format"]["duration"]) > 0.5


def test_recordings_at_twenty_five_a_second_are_refused_and_leave_nothing(tmp_path):
    with Server(tmp_path / "server") as server:
        server.json("PUT", "/api/rooms/r", {"framesPerSecond": 1}, expect=201)
        answers = []
        for _ in range(50):
            status, headers, body = server.request("POST", "/api/rooms/r/recordings")
            answers.append(status)
            if status == 201:
                recording = server.json("GET", "/api/rooms/r")["recording"]
                assert server.request("POST", f"/api/recordings/{recording['id']}/stop")[0] == 200
            else:
                assert status == 429 and int(headers["Retry-After"]) > 0 and b"too_fast" in body, (status, body)
        assert answers.count(201) <= 7, answers
        # Only what a picture came into in its few milliseconds is left, with its entry.
        files = sorted(f.name for f in server.recordings.iterdir())
        listed = sorted(r["file"] for r in server.json("GET", "/api/recordings"))
        assert [f for f in files if f.endswith(".mp4")] == listed and len(files) == 2 * len(listed), files
        for file in server.recordings.iterdir():
            assert file.stat().st_mode & 0o777 == 0o640, file
        assert server.recordings.stat().st_mode & 0o777 == 0o750


FAKETIME = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketimeMT.so.1")


@call
@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime is not installed")
@pytest.mark.xfail(reason="under libfaketime's preload the server sees no arguments and prints its help: not traced yet")
def test_a_clock_that_is_set_back_by_an_hour_changes_neither_the_call_nor_its_recordings(tmp_path):
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    server = Server(tmp_path / "server")
    server.environment |= {
        "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }

    async def run():
        async with pair(server) as (ada, bo):
            first = server.json("POST", "/api/rooms/rec/recordings", expect=201)
            await asyncio.sleep(2)
            clock.write_text("-1h\n")
            await goes_on(ada, bo)
            first = await asyncio.to_thread(server.json, "POST", f"/api/recordings/{first['id']}/stop")
            second = server.json("POST", "/api/rooms/rec/recordings", expect=201)
            assert second["startedAt"] < first["startedAt"] and second["id"] < first["id"], "the clock was not set back"
            await asyncio.sleep(2)
            second = await asyncio.to_thread(server.json, "POST", f"/api/recordings/{second['id']}/stop")
            return first, second
    with server:
        first, second = asyncio.run(asyncio.wait_for(run(), 60))
        assert [r["id"] for r in server.json("GET", "/api/recordings")] == [second["id"], first["id"]], "the newest first, whatever the clock says"
        for recording in (first, second):
            assert 1.5 < recording["duration"] < 12, recording
            assert all(abs(offset) < 45 for offset in offsets(path(server, recording)))
        server.stop()
        server.start()
        assert [r["id"] for r in server.json("GET", "/api/recordings")] == [second["id"], first["id"]]
