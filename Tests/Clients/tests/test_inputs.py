"""Inputs: sources that the server pulls into a room, from real servers, and what it must not pull."""

import contextlib
import io
import json
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from support.server import Server, free_port
from support.sources import PASSPHRASE, Trap, make_clip, program, redirecting_rtsp, rtmp_server, rtsp_server, send_srt, serve_files
from tests.test_lip_sync import caller, check, people, wait_for, write_wave

# The addresses of the tests' own servers are internal.
HOSTS = "['127.0.0.1', localhost]"


@contextlib.contextmanager
def serving(tmp_path, hosts=HOSTS, more=""):
    media = tmp_path / "media"
    media.mkdir(exist_ok=True)
    config = f"inputs: {{ directory: '{media}', hosts: {hosts}{more} }}\n"
    with Server(tmp_path / "server", config=config) as server:
        server.media_folder = media
        # Small, but at the clip's rate.
        server.json("PUT", "/api/rooms/r", {"layout": "single", "framesPerSecond": 30}, expect=201)
        yield server
        assert server.process.poll() is None, server.log_text()


def add(server, url, name="Clip", expect=201, **more):
    return server.json("POST", "/api/rooms/r/inputs", {"url": url, "name": name, **more}, expect=expect)


def state(server, entry):
    return server.json("GET", f"/api/rooms/r/inputs/{entry['id']}")


def show(server, entry):
    """Makes the input the room's picture, whoever came first."""
    wait_for_state(server, entry, "live")
    server.json("PATCH", f"/api/rooms/r/participants/{entry['participant']}", {"pinned": True})


def wait_for_state(server, entry, *wanted, seconds=20):
    deadline = time.monotonic() + seconds
    while (now := state(server, entry))["state"] not in wanted:
        assert time.monotonic() < deadline, (now, server.log_text())
        time.sleep(0.05)
    return now


def snapshot(server):
    # One address gets two pictures a second.
    time.sleep(0.6)
    status, _, body = server.get("/api/rooms/r/snapshot.png")
    assert status == 200, body
    return np.asarray(Image.open(io.BytesIO(body)).convert("RGB")).astype(int)


def has_colour(picture, colour):
    """Whether the upper middle has this colour."""
    height, width, _ = picture.shape
    top = picture[height // 8:height // 6, width // 3:width // 2].reshape(-1, 3).mean(axis=0)
    return abs(top - colour).max() < 12


def is_green(picture):
    """Whether the picture is the clip's, as bright as it is."""
    return has_colour(picture, [0x30, 0x60, 0x30])


def is_marked(picture):
    """Whether the picture is half as bright, and its middle shows something: the mark of a frozen picture.

    One picture in eleven of the clip is of its white flash, and the last one may be.
    """
    height, width, _ = picture.shape
    middle = picture[height // 2 - 20:height // 2 + 20, width // 2 - 20:width // 2 + 20].reshape(-1, 3)
    is_dim = has_colour(picture, [0x18, 0x30, 0x18]) or has_colour(picture, [0x7F, 0x7F, 0x7F])
    return is_dim and middle.std(axis=0).max() > 40


@contextlib.contextmanager
def listener(server, tmp_path, seconds=90):
    """Somebody who hears and says nothing: a picture is made, and recorded, only while people are in the room."""
    silence = tmp_path / "silence.wav"
    write_wave(silence, np.zeros(48000))
    with caller(server, "r", "Ear", "--audio", silence, "--seconds", seconds):
        wait_for(lambda: "Ear" in people(server, "r"), 10, "nobody joined")
        yield


def recorded(server, seconds):
    recording = server.json("POST", "/api/rooms/r/recordings", expect=201)
    time.sleep(seconds)
    finished = server.json("POST", f"/api/recordings/{recording['id']}/stop")
    return next(server.recordings.rglob(finished["file"].split("/")[-1]))


def in_sync(server, what, seconds=8, least=5):
    """The clip's flash and beep, in a recording of the room."""
    wait_for(lambda: is_green(snapshot(server)), 10, f"{what}: no picture")
    time.sleep(1)
    return check(recorded(server, seconds), what, least)


@pytest.mark.usefixtures("needs_address")
def test_a_looping_file_is_a_participant(tmp_path):
    with serving(tmp_path) as server:
        (server.media_folder / "clips").mkdir()
        make_clip(server.media_folder / "clips/flash.mp4")
        entry = add(server, "clips/flash.mp4", "Clip", loop=True)
        assert entry["state"] in ("connecting", "live") and entry["url"] == "clips/flash.mp4"
        wait_for_state(server, entry, "live")
        room = server.json("GET", "/api/rooms/r")
        (participant,) = room["participants"]
        assert participant["id"] == entry["participant"] and participant["input"] and participant["name"] == "Clip"
        with listener(server, tmp_path):
            # Two ends of the clip are in it.
            in_sync(server, "file", seconds=9, least=7)
        server.json("PATCH", f"/api/rooms/r/participants/{participant['id']}", {"audioMuted": True, "pinned": True, "volume": 0.5})
        # A host removes the participant: the input has ended.
        assert server.request("DELETE", f"/api/rooms/r/participants/{participant['id']}")[0] == 204
        assert state(server, entry)["state"] == "ended"
        second = add(server, "clips/flash.mp4", "Again")
        # Without loop the file has an end, and then nobody is there.
        wait_for_state(server, second, "ended")
        wait_for(lambda: "Again" not in people(server, "r"), 5, "the participant stayed")
        third = add(server, "clips/flash.mp4", "Third", loop=True)
        assert server.request("DELETE", f"/api/rooms/r/inputs/{third['id']}")[0] == 204
        assert server.request("GET", f"/api/rooms/r/inputs/{third['id']}")[0] == 404
        assert "Third" not in people(server, "r")


@pytest.mark.usefixtures("needs_address")
def test_an_srt_source_goes_and_comes_back(tmp_path):
    clip, port = make_clip(tmp_path / "clip.mp4", options=("-bf", "0")), free_port()
    with serving(tmp_path) as server, listener(server, tmp_path):
        with send_srt(clip, port):
            entry = add(server, f"srt://127.0.0.1:{port}?passphrase={PASSPHRASE}", "Camera")
            assert PASSPHRASE not in json.dumps(entry)
            show(server, entry)
            in_sync(server, "srt", seconds=6, least=4)
        gone = time.monotonic()
        wait_for(lambda: is_marked(snapshot(server)), 5, "no mark on the frozen picture")
        time.sleep(max(0, gone + 5.5 - time.monotonic()))
        picture = snapshot(server)
        assert not is_green(picture) and not is_marked(picture), "the picture stayed"
        lost = wait_for_state(server, entry, "retrying", seconds=10)
        assert lost["attempts"] >= 1 and lost["reason"]
        with send_srt(clip, port):
            wait_for_state(server, entry, "live", seconds=15)
            wait_for(lambda: is_green(snapshot(server)), 10, "no picture after the source came back")
        assert PASSPHRASE not in server.log_text()


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_a_source_may_call_an_srt_listener(tmp_path):
    clip, port = make_clip(tmp_path / "clip.mp4", options=("-bf", "0")), free_port()
    with serving(tmp_path) as server, listener(server, tmp_path):
        entry = add(server, f"srt://0.0.0.0:{port}?mode=listener&passphrase={PASSPHRASE}", "Contribution")
        time.sleep(0.5)
        assert state(server, entry)["state"] == "connecting"
        with program(
            "ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", clip, "-c", "copy", "-f", "mpegts",
            f"srt://127.0.0.1:{port}?passphrase={PASSPHRASE}"):
            show(server, entry)
            wait_for(lambda: is_green(snapshot(server)), 10, "no picture")


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_files_and_playlists_of_a_web_server(tmp_path):
    web = tmp_path / "web"
    web.mkdir()
    # The index at the end: the server must be asked for parts.
    make_clip(web / "late.mp4", seconds=12, options=("-movflags", "0"))
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(web / "late.mp4"), "-c", "copy", "-f", "hls", "-hls_time", "2", "-hls_list_size", "0",
         str(web / "list.m3u8")], check=True)
    with serving(tmp_path) as server, serve_files(web, {"/moved": (302, {"Location": "/late.mp4"})}) as files, listener(server, tmp_path):
        for path in ("/moved", "/list.m3u8"):
            entry = add(server, files.url.replace("127.0.0.1", "localhost") + path, loop=True)
            show(server, entry)
            in_sync(server, path, seconds=5, least=3)
            server.request("DELETE", f"/api/rooms/r/inputs/{entry['id']}")


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_rtmp_and_rtsp_servers(tmp_path):
    clip = make_clip(tmp_path / "clip.mp4", seconds=20, options=("-bf", "0"))
    with serving(tmp_path) as server, listener(server, tmp_path):
        for what, source in (("rtmp", rtmp_server(tmp_path / "nginx", clip)), ("rtsp", rtsp_server(clip))):
            with source as url:
                entry = add(server, url)
                show(server, entry)
                in_sync(server, what, seconds=5, least=3)
                server.request("DELETE", f"/api/rooms/r/inputs/{entry['id']}")


@pytest.mark.patient
def test_what_must_not_be_pulled(tmp_path):
    web = tmp_path / "web"
    web.mkdir()
    make_clip(web / "clip.mp4", seconds=1)
    # Only these two: a name would do for any address.
    with serving(tmp_path, "['127.0.0.1']") as server, Trap() as trap, serve_files(web) as files:
        (tmp_path / "secret.mp4").write_bytes((web / "clip.mp4").read_bytes())
        (server.media_folder / "link.mp4").symlink_to("../secret.mp4")
        for url in (
            "file:///etc/passwd", "/etc/passwd", "../secret.mp4", "http://169.254.169.254/latest/meta-data/", f"http://{trap.address}/clip.mp4",
            "ftp://127.0.0.1/clip.mp4", "concat:a.mp4|b.mp4", "http://10.0.0.1/", "rtsp://[::1]/x", "tcp://127.0.0.1:80",
            "srt://0.0.0.0:9000?mode=listener",
        ):
            refused = server.json("POST", "/api/rooms/r/inputs", {"url": url, "name": "x"}, expect=400)
            assert refused["error"]["code"] in ("bad_request", "bad_message"), refused
        files.routes |= {
            "/away": (302, {"Location": f"http://{trap.address}/clip.mp4"}), "/file": (302, {"Location": "file:///etc/passwd"}),
            "/cloud": (307, {"Location": "http://169.254.169.254/latest/meta-data/"}),
        }
        part = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n"
        (web / "file.m3u8").write_text(part.format("file:///etc/passwd.ts"))
        (web / "inner.m3u8").write_text(part.format(f"http://{trap.address}/a.ts"))
        (web / "variant.m3u8").write_text(f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nhttp://{trap.address}/inner.m3u8\n")
        (web / "key.m3u8").write_text(
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + f'#EXT-X-KEY:METHOD=AES-128,URI="http://{trap.address}/key"\n#EXTINF:2,\n/clip.mp4\n')
        (server.media_folder / "list.m3u8").write_text(part.format("link.mp4"))
        (server.media_folder / "list.mp4").write_text(f"ffconcat version 1.0\nfile '{tmp_path}/secret.mp4'\n")
        with redirecting_rtsp(trap.address) as rtsp:
            urls = ["link.mp4", "list.m3u8", "list.mp4", f"rtsp://127.0.0.1:{rtsp}/x"] + [
                files.url + path for path in ("/away", "/file", "/cloud", "/file.m3u8", "/inner.m3u8", "/variant.m3u8", "/key.m3u8")]
            for url in urls:
                entry = add(server, url)
                if url.endswith("m3u8") and url.startswith("http"):
                    # The library may take a part that it cannot have for a part that is lost.
                    over = wait_for_state(server, entry, "failed", "retrying", "ended")
                else:
                    over = wait_for_state(server, entry, "failed")
                print(url, over["state"], over.get("reason"))
                assert over["state"] != "live"
                server.request("DELETE", f"/api/rooms/r/inputs/{entry['id']}")
        time.sleep(0.5)
        assert trap.bytes == b"", trap.bytes
        assert trap.connections == 0
        assert not people(server, "r")


@pytest.mark.patient
def test_rubbish_and_silence_hold_nothing_up(tmp_path):
    """Sources that send noise, nothing, or the beginning of something; every request is answered at once meanwhile."""
    web = tmp_path / "web"
    web.mkdir()
    noise = np.random.default_rng(3).integers(0, 256, 3 << 20, np.uint8).tobytes()
    clip = make_clip(web / "clip.mp4", seconds=3).read_bytes()
    (web / "noise.mp4").write_bytes(noise)
    (web / "damaged.mp4").write_bytes(clip[:6000] + noise[:20000] + clip[26000:])
    (web / "long.m3u8").write_bytes(b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + b"#EXTINF:1,\na.ts\n" * 400_000)
    make_clip(web / "large.mp4", seconds=1, options=("-s", "2560x1440"))
    silent = Trap("127.0.0.1")
    silent.socket.listen(16)
    with serving(tmp_path, more=", maxPerRoom: 8, maxPixels: 2088960") as server, serve_files(web) as files, silent:
        before = server.resident()
        entries = [add(server, f"{files.url}/{name}") for name in ("noise.mp4", "damaged.mp4", "long.m3u8", "large.mp4")]
        entries += [add(server, f"{scheme}://{silent.address}/a/b") for scheme in ("rtmp", "rtsp", "http")]
        add(server, f"srt://{silent.address}", "Last")
        slowest = 0
        for _ in range(40):
            began = time.monotonic()
            server.json("GET", "/api/rooms/r/inputs")
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        assert slowest < 1, slowest
        more = [server.request("POST", "/api/rooms/r/inputs", {"url": f"rtsp://{silent.address}/{n}", "name": "More"})[0] for n in range(9)]
        assert 409 in more and set(more) <= {201, 409}, more
        assert wait_for_state(server, entries[3], "failed", "ended", "live")["state"] != "connecting"
        for entry in server.json("GET", "/api/rooms/r/inputs"):
            print(entry["url"], entry["state"], entry.get("reason"))
            began = time.monotonic()
            assert server.request("DELETE", f"/api/rooms/r/inputs/{entry['id']}")[0] == 204
            assert time.monotonic() - began < 1
        assert not people(server, "r")
        assert server.resident() - before < 150
