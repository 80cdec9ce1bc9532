"""Start and end of the server with a call, full disks, and the effects of the configuration."""

import asyncio
import fcntl
import json
import os
import pty
import re
import select
import signal
import ssl
import struct
import subprocess
import termios
import time

import pytest
import websockets
from PIL import Image

from support.people import pair
from support.recorded import begin, decodes_cleanly, ended, is_whole, mended, path, plays, recorded_until_killed
from support.server import PROGRAM, ROOT, Server, free_port, from_outside
from support.signalling import ask
from support.tokens import ADMIN, SECRET, token

pytestmark = pytest.mark.patient

call = pytest.mark.usefixtures("needs_address", "good_line")


async def told(peer, kind, timeout=10):
    deadline = time.monotonic() + timeout
    while not (found := [m for m in peer.messages if m["type"] == kind]):
        assert time.monotonic() < deadline, f"{peer.name} was not told `{kind}`"
        await asyncio.sleep(0.05)
    return found[-1]


@call
def test_sigterm_in_a_recorded_call_closes_the_recording_and_tells_everyone(tmp_path):
    with Server(tmp_path / "server", config="recording: { start: onFirstJoin }") as server:
        async def run():
            async with pair(server) as (ada, bo):
                recordings = server.json("GET", "/api/recordings")
                assert [r["state"] for r in recordings] == ["recording"], "onFirstJoin"
                await asyncio.sleep(1)
                started = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                for peer in (ada, bo):
                    assert (await told(peer, "left"))["reason"] == "draining"
                    assert not [m for m in peer.messages if m["type"] == "error"]
                assert await asyncio.to_thread(server.process.wait, 12) == 0
                assert time.monotonic() - started < 10
                return recordings[0]
        is_whole(path(server, asyncio.run(asyncio.wait_for(run(), 60))), seconds=1.5)


@call
def test_a_second_signal_ends_at_once_and_loses_no_recording(tmp_path):
    with Server(tmp_path / "server") as server:
        recording, *_ = recorded_until_killed(server, 2, signal.SIGTERM, signal.SIGINT)
        server.start()
        is_whole(path(server, mended(server, recording, 5)), seconds=0.8, end=500)


@call
def test_a_full_disk_ends_the_recording_and_not_the_call(tmp_path):
    with Server(tmp_path / "server") as server:
        server.recordings.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(server.recordings)], check=True)
        try:
            async def run():
                async with pair(server) as (ada, bo):
                    now = await ended(server, begin(server), 20, "the disk is full and nobody noticed")
                    for peer in (ada, bo):
                        assert (await told(peer, "error"))["fatal"] is False
                        assert (await told(peer, "recording"))
                    assert server.json("GET", "/api/rooms/rec")["recording"] is None
                    seen, deadline = len(ada.picture_times), time.monotonic() + 4
                    while len(ada.picture_times) < seen + 15:
                        assert time.monotonic() < deadline, "the call stopped with the recording"
                        await asyncio.sleep(0.1)
                    return now
            recording = asyncio.run(asyncio.wait_for(run(), 60))
            plays(path(server, recording))
        finally:
            server.process.kill()
            server.process.wait()
            subprocess.run(["umount", "-l", str(server.recordings)], check=True)


def test_tokens_let_in_whom_they_name_and_nobody_else(tmp_path):
    config = f"auth: {{ mode: token, secret: '{SECRET}', adminToken: '{ADMIN}' }}\nlimits: {{ joinsPerSecondPerAddress: 100 }}\n"
    with Server(tmp_path / "server", config=config) as server:
        async def join(**fields):
            async with await websockets.connect(server.signal_url) as socket:
                await socket.send(json.dumps({"type": "join", "room": "r", "name": "Ada", **fields}))
                while True:
                    message = json.loads(await asyncio.wait_for(socket.recv(), 5))
                    if message["type"] in ("joined", "error"):
                        return message
        later, earlier = int(time.time()) + 600, int(time.time()) - 600
        refused = [
            {}, {"token": "rubbish"}, {"token": token({"room": "r", "exp": later}, "another secret")},
            {"token": token({"room": "r", "exp": earlier}, SECRET)}, {"token": token({"room": "other", "exp": later}, SECRET)},
            {"token": token({"room": "r", "exp": later}, SECRET, "none")},
            {"token": token({"room": "r", "exp": later}, SECRET).rsplit(".", 1)[0] + "."}, {"token": token({"room": "r"}, SECRET)},
        ]
        for fields in refused:
            error = asyncio.run(join(**fields))
            assert error["type"] == "error" and error["code"] in ("unauthorized", "forbidden") and error["fatal"], (fields, error)
        assert asyncio.run(join(token=token({"room": "r", "exp": later}, SECRET)))["type"] == "joined"
        named = asyncio.run(join(token=token({"room": "r", "exp": later, "role": "moderator", "name": "Boss"}, SECRET)))
        assert named["type"] == "joined" and named["you"]["role"] == "moderator", named
        too_much = asyncio.run(join(token=token({"room": "r", "exp": later, "role": "participant"}, SECRET), role="moderator"))
        assert too_much["type"] == "error" or too_much["you"]["role"] == "participant", too_much

        assert server.request("POST", "/whip/r", b"v=0\r\n", {"Content-Type": "application/sdp"})[0] in (400, 401)
        # Administration needs its own token, and so does reading where joins need a token.
        assert server.request("PUT", "/api/rooms/x", {})[0] == 401
        assert server.request("PUT", "/api/rooms/x", {}, {"Authorization": "Bearer wrong"})[0] in (401, 403)
        assert server.request("PUT", "/api/rooms/x", {}, {"Authorization": f"Bearer {ADMIN}"})[0] == 201
        assert server.request("GET", "/api/rooms", headers={"Authorization": f"Bearer {ADMIN}"})[0] == 200


def test_administration_without_a_token_is_for_loopback_only(server):
    address = os.environ.get("PEER_ADDRESS")
    if not address:
        pytest.skip("no other address here")
    import http.client
    connection = http.client.HTTPConnection(address, server.port, timeout=5)
    connection.request("PUT", "/api/rooms/x", b"{}", {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status in (401, 403), answer.status
    assert json.loads(answer.read())["error"]["code"]
    connection.request("GET", "/api/rooms")
    assert connection.getresponse().status == 200
    assert server.request("PUT", "/api/rooms/x", {})[0] == 201


def test_a_self_signed_server_speaks_https_and_wss(tmp_path):
    server = Server(tmp_path / "server", config="http: { tls: { selfSigned: true } }")
    server.scheme = "https"
    server.context = ssl._create_unverified_context()

    async def run():
        async with await websockets.connect(server.signal_url, ssl=server.context) as socket:
            assert (await ask(socket, "joined", type="join", room="r", name="Ada"))["you"]["id"]
    with server:
        assert server.get("/")[0] == 200
        asyncio.run(run())


@pytest.mark.usefixtures("needs_address")
def test_a_call_that_does_not_come_about_says_why(tmp_path):
    def ask_in(url, *more):
        result = subprocess.run([PROGRAM, "call", url, "--room", "r", "--name", "Ada", "--seconds", "1", *more], capture_output=True, text=True, timeout=30)
        # Neither a type of a library nor its error numbers.
        assert not re.search(r"errno|Error|Failure|\w+\.\w+\(", result.stderr), result.stderr
        return result.returncode, result.stderr

    plain, secure = Server(tmp_path / "plain"), Server(tmp_path / "secure", arguments=["--http-tls-self-signed"])
    secure.scheme, secure.context = "https", ssl._create_unverified_context()
    with plain, secure:
        here = f"127.0.0.1:{plain.port}"
        plain.json("PUT", "/api/rooms/r", {"pin": "4711"}, expect=201)
        for url, more, words in (
                (f"http://127.0.0.1:{free_port()}", (), "nothing listens at 127.0.0.1:"), ("http://no-such-host.invalid", (), "there is no host no-such-host.invalid"),
                (f"https://{here}", (), "speaks no TLS: write http://"), (f"http://127.0.0.1:{secure.port}", (), "or write https:// where it has TLS"),
                (from_outside(secure.url), (), "does not trust the certificate"), (plain.url, (), "(pin_required): give it with --pin"),
                (plain.url, ("--pin", "4712"), "(wrong_pin): give another one with --pin")):
            status, said = ask_in(url, *more)
            assert status == 1 and words in said, (url, said)
        assert ask_in(plain.url, "--pin", "4711")[0] == 0
        assert ask_in(f"https://127.0.0.1:{secure.port}")[0] == 0, "the certificate of this machine's own server needs no authority"
        lines = secure.log_text()
        assert f" is ready: open https://localhost:{secure.port}/\n" in lines and f"  {from_outside(secure.url)}/\n" in lines, lines
        assert "\x1b" not in lines and "AppRTC" not in lines, "no picture in a log, and no word of apps that nobody asked about"


@pytest.mark.usefixtures("needs_address")
def test_a_terminal_gets_a_qr_code_of_the_address_for_phones(tmp_path):
    def shown(*arguments, **environment):
        """What the start prints on a terminal of 80 columns, until it says no more for a second."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", f"0.0.0.0:{free_port()}", "--media", f"0.0.0.0:{free_port()}", *arguments], cwd=tmp_path, stdout=slave,
            stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment})
        os.close(slave)
        text = b""
        try:
            while select.select([master], [], [], 20 if b"ready" not in text else 1)[0]:
                text += os.read(master, 65536)
        finally:
            process.kill()
            process.wait()
            os.close(master)
        return text.decode()

    secure = "--http-tls-self-signed"
    with_code = shown(secure)
    assert "Colleagues and phones in this network open" in with_code and "█▀▀▀▀▀█" in with_code, with_code
    assert "█" not in shown(secure, "--no-qr") + shown(secure, TERM="dumb") + shown()


def test_the_help_has_defaults_and_says_where_the_keys_are(tmp_path):
    def tessera(*arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=30).stdout
    text = " ".join(tessera("serve", "--help").split())
    for words in ("(default: 0.0.0.0:8080)", "(default: 0.0.0.0:50000)", "(default: recordings)", "tessera settings", "--http-tls-self-signed", "--no-qr"):
        assert words in text, text
    assert tessera("settings") == (ROOT / "scripts" / "deploy" / "debian" / "tessera.yaml").read_text()
    (tmp_path / "tessera.yaml").write_text(tessera("settings"))
    with Server(tmp_path / "server", arguments=["--config", str(tmp_path / "tessera.yaml")]) as server:
        assert server.get("/healthz")[0] == 200


def test_rooms_that_only_the_api_makes(tmp_path):
    with Server(tmp_path / "server", config="rooms: { create: api }") as server:
        async def run():
            async with await websockets.connect(server.signal_url) as socket:
                assert (await ask(socket, "error", type="join", room="r", name="Ada"))["code"] == "forbidden"
            server.json("PUT", "/api/rooms/r", {}, expect=201)
            async with await websockets.connect(server.signal_url) as socket:
                assert (await ask(socket, "joined", type="join", room="r", name="Ada"))["room"] == "r"
        asyncio.run(run())


def test_an_unknown_variable_is_named(tmp_path):
    result = subprocess.run(
        [PROGRAM, "serve"], cwd=tmp_path, capture_output=True, text=True, timeout=20, env={**os.environ, "TESSERA_ROOMS_LAYUOT": "grid"})
    assert result.returncode == 78 and "TESSERA_ROOMS_LAYUOT" in result.stderr and "TESSERA_ROOMS_LAYOUT" in result.stderr, result.stderr


def test_the_layout_command_checks_and_draws(tmp_path):
    def tessera(*arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    shipped = sorted(str(f) for f in (ROOT / "layouts").glob("*.json") if f.name != "schema.json")
    assert tessera("layout", "check", *shipped).returncode == 0
    (tmp_path / "bad.json").write_text('{"name": "bad",\n  "tilez": []}')
    (tmp_path / "worse.json").write_text('{"name": "worse",\n  "description": }')
    result = tessera("layout", "check", shipped[0], "bad.json", "worse.json")
    assert result.returncode == 1
    lines = (result.stdout + result.stderr).splitlines()
    assert any(line.startswith("bad.json:2:3: ") and "tilez" in line for line in lines), lines
    assert any(line.startswith("worse.json:2:18: ") for line in lines), lines
    assert tessera("layout", "check", "none.json").returncode == 1
    for arguments in (["grid", "--people", "5"], [shipped[0], "--people", "3", "--speaker", "2", "--presentation"]):
        result = tessera("layout", "preview", *arguments, "-o", "out.png")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "out.png").unlink()
    # By name, also those of the folder; a file without a suffix is accepted too.
    mine = (ROOT / "layouts" / "grid.json").read_text().replace('"grid"', '"mine"', 1)
    (tmp_path / "layouts").mkdir()
    for file in ("layouts/mine.json", "plain"):
        (tmp_path / file).write_text(mine)
    for name in ("mine", "plain"):
        assert tessera("layout", "preview", name, "--people", "2", "-o", "out.png").returncode == 0
    assert tessera("layout", "preview", "no-such", "--people", "2", "-o", "out.png").returncode != 0
    # A view of rooms has the size, the layout and the labels of the settings.
    (tmp_path / "server.yaml").write_text(
        "rooms: {layout: speaker, width: 640, height: 360, views: {wall: {layout: mine, width: 900, height: 300, names: false}}}\n")
    sizes, pictures = {}, {}
    for view in (["wall"], ["portrait"], ["main"], ["main", "--presentation"], ["wall", "mine"], ["wall", "single"]):
        name, more = view[0], view[1:]
        result = tessera("layout", "preview", *more, "--view", name, "--config", "server.yaml", "--people", "4", "-o", "out.png")
        assert result.returncode == 0, result.stderr
        pictures[" ".join(view)] = (tmp_path / "out.png").read_bytes()
        sizes[" ".join(view)] = Image.open(tmp_path / "out.png").size
    assert sizes["wall"] == (900, 300) and sizes["portrait"] == (360, 640) and sizes["main"] == (640, 360)
    assert len(set(pictures.values())) == 5 and pictures["wall"] == pictures["wall mine"]
    assert tessera("layout", "preview", "mine", "--size", "900x300", "--people", "4", "-o", "out.png").returncode == 0
    assert (tmp_path / "out.png").read_bytes() != pictures["wall"], "the view leaves out the names"
    result = tessera("layout", "preview", "--view", "no-such", "--config", "server.yaml", "--people", "4", "-o", "out.png")
    assert result.returncode == 1 and "there is no view no-such in server.yaml; there are main, portrait, wall" in result.stderr
    for arguments, status, words in [
            (["--view", "wall"], 64, "--view needs --config"), (["mine", "--config", "server.yaml"], 64, "--config is for --view"),
            ([], 64, "is missing"), (["--view", "wall", "--config", "server.yaml", "--portrait"], 64, "has a size of its own"),
            (["--view", "wall", "--config", "none.yaml"], 78, "there is no such file")]:
        result = tessera("layout", "preview", *arguments, "--people", "4", "-o", "out.png")
        assert result.returncode == status and words in result.stderr, (arguments, result)


def test_a_layout_file_that_changes_is_taken_up_and_a_broken_one_is_not(tmp_path):
    layouts = tmp_path / "layouts"
    layouts.mkdir()
    for file in (ROOT / "layouts").glob("*.json"):
        (layouts / file.name).write_bytes(file.read_bytes())
    server = Server(tmp_path / "server", arguments=["--layouts", str(layouts)])

    async def run():
        async with await websockets.connect(server.signal_url) as a, await websockets.connect(server.signal_url) as b:
            await ask(a, "joined", type="join", room="r", name="Ada")
            await ask(b, "joined", type="join", room="r", name="Bo")

            def tiles():
                found = server.json("GET", "/api/rooms/r")["tiles"]
                return found["tiles"] if isinstance(found, dict) else found
            while len(tiles()) < 2:
                await asyncio.sleep(0.1)
            before = tiles()
            good = (layouts / "grid.json").read_bytes()
            (layouts / "grid.json").write_text('{"name": "grid", "nonsense"')
            await asyncio.sleep(2.2)
            assert tiles() == before, "the last good one stays"
            assert "grid.json:1:" in server.log_text(), server.log_text()[-500:]
            (layouts / "grid.json").write_bytes((layouts / "picture-in-picture.json").read_bytes().replace(b'"picture-in-picture"', b'"grid"'))
            deadline = time.monotonic() + 2.2
            while tiles() == before:
                assert time.monotonic() < deadline, "the new layout was not taken up"
                await asyncio.sleep(0.1)
            (layouts / "grid.json").write_bytes(good)
            deadline = time.monotonic() + 2.2
            while tiles() != before:
                assert time.monotonic() < deadline, "the old layout did not come back"
                await asyncio.sleep(0.1)
    with server:
        asyncio.run(asyncio.wait_for(run(), 30))


@call
def test_a_cut_off_recording_is_seen_and_mended_by_the_command(tmp_path):
    with Server(tmp_path / "server") as server:
        recording, *_ = recorded_until_killed(server, 4)
        cut = path(server, recording)

        def tessera(*arguments):
            return subprocess.run([PROGRAM, "recording", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=30)
        check = tessera("check", str(cut))
        assert check.returncode == 1 and "not closed" in check.stdout + check.stderr, check.stdout + check.stderr
        assert tessera("repair", str(cut), "-o", "mended.mp4").returncode == 0
        assert decodes_cleanly(tmp_path / "mended.mp4")[0]
        assert tessera("check", "mended.mp4").returncode == 0
        (tmp_path / "rubbish.mp4").write_bytes(b"no film at all" * 100)
        for action in ("check", "repair"):
            result = tessera(action, "rubbish.mp4")
            assert result.returncode == 1 and "rubbish.mp4" in result.stdout + result.stderr, (action, result)
