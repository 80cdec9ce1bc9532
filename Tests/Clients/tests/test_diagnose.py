"""`tessera diagnose`: one archive for a report of a fault, which has what helps and no secret."""

import asyncio
import io
import json
import socket
import stat
import subprocess
import tarfile
import threading
import time

import pytest

from support.server import PROGRAM, Server
from support.signalling import ask, connect

ADMIN, PIN, ETCD = "admin-token-of-sixteen", "482913", "etcd-password-of-mine"
SETTINGS = f"""
auth: {{ adminToken: {ADMIN} }}
tracing: {{ otlp: "http://tracer:{ETCD}@127.0.0.1:9/v1/traces?key={ETCD}" }}
"""


def diagnose(folder, *arguments, expect=0, limit=40):
    result = subprocess.run([PROGRAM, "diagnose", "--output", str(folder / "report.tar"), *arguments], capture_output=True, text=True,
                            timeout=limit, cwd=folder)
    assert result.returncode == expect, result.stdout + result.stderr
    return result


def contents(folder):
    path = folder / "report.tar"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as archive:
        return {each.name.split("/", 1)[1]: archive.extractfile(each).read().decode() for each in archive.getmembers()}


def test_the_archive_has_what_helps_and_no_secret(tmp_path):
    with Server(tmp_path / "server", SETTINGS) as server:
        async def run():
            host = await connect(server)
            joined = await ask(host, "joined", type="join", room="board", name="Ada")
            await ask(host, "room", type="room", pin=PIN)
            report = tmp_path / "report"
            report.mkdir()
            config = str(server.directory / "tessera.yaml")
            await asyncio.to_thread(diagnose, report, "board", "--url", server.url, "--config", config, "--token", ADMIN)
            files = contents(report)
            assert set(files) >= {"README.txt", "version.txt", "settings.txt", "system.txt", "health.json", "rooms.json", "room.json", "metrics.txt",
                                  "log.txt", f"participant-{joined['you']['id']}.json"}
            room = json.loads(files["room.json"])
            assert [each["name"] for each in room["participants"]] == ["Ada"]
            assert "tessera_build_info" in files["metrics.txt"] and "auth.adminToken: (removed)" in files["settings.txt"]
            assert "tracing.otlp: http://127.0.0.1:9/…" in files["settings.txt"]
            secrets = [ADMIN, PIN, ETCD, joined["you"]["resume"]["secret"], joined["you"].get("hostKey") or "none"]
            for name, text in files.items():
                assert not [secret for secret in secrets if secret in text], name
            # What is there is not overwritten.
            again = await asyncio.to_thread(diagnose, report, expect=1)
            assert "is there already" in again.stderr and contents(report) == files
            await host.close()
        asyncio.run(asyncio.wait_for(run(), 60))


def test_without_a_server_it_has_the_rest_and_says_why(tmp_path):
    diagnose(tmp_path, "--url", "http://127.0.0.1:9")
    files = contents(tmp_path)
    assert "no answer" in files["health.json"] and files["version.txt"].startswith("tessera ") and "processors:" in files["system.txt"]


@pytest.mark.parametrize("manner", ["silent", "endless"])
def test_a_server_that_never_ends_an_answer_is_left(tmp_path, manner):
    listener = socket.create_server(("127.0.0.1", 0))
    ends = threading.Event()

    def serve(client):
        with client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while not ends.wait(0.01):
                try:
                    client.sendall(b"4\r\nabcd\r\n" if manner == "silent" else b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                except OSError:
                    return
                if manner == "silent":
                    ends.wait(60)

    def accept():
        while not ends.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    begin = time.monotonic()
    try:
        diagnose(tmp_path, "board", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        ends.set()
        listener.close()
    assert time.monotonic() - begin < 35
    wanted = "no whole answer within" if manner == "silent" else "the answer has more than"
    assert wanted in contents(tmp_path)["health.json"]
    assert io.BytesIO((tmp_path / "report.tar").read_bytes()).getbuffer().nbytes < 1 << 20
