"""Streams of a room to real servers: what arrives there, and what happens when they are slow, gone or not to be trusted."""

import asyncio
import contextlib
import json
import signal
import subprocess
import threading
import time
import urllib.request

import numpy as np
import pytest

from support.page import Page
from support.recorded import decodes_cleanly, probe, sound
from support.server import Server
from support.stream_servers import LossyLink, RTMPServer, SRTListener, StallingFront, TLSFront, have
from tests.conftest import cannot_run
from tests.test_lip_sync import beeps, caller, flashes, offsets, people, wait_for

HERE = "streams: { hosts: [127.0.0.1, localhost] }\n"
LIPS = 0.045


@pytest.fixture(autouse=True)
def needs_servers():
    if not have("nginx", "srt-live-transmit", "openssl"):
        cannot_run("these tests need nginx with libnginx-mod-rtmp, srt-tools and openssl")


@pytest.fixture
def rtmp(tmp_path):
    with RTMPServer(tmp_path / "rtmp") as server:
        yield server


@contextlib.contextmanager
def serving(tmp_path, config=HERE, **settings):
    with Server(tmp_path / "server", config=config, **settings) as server:
        yield server


@contextlib.contextmanager
def following(server, room):
    """The events of a room, as they come."""
    events = []
    response = urllib.request.urlopen(server.url + f"/api/rooms/{room}/events?types=stream.*", timeout=60)
    response.readline()

    def read():
        with contextlib.suppress(Exception):
            for line in response:
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    if event["type"] != "reset":
                        events.append(event)
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield events


def start(server, url, room="studio", **more):
    return server.json("POST", f"/api/rooms/{room}/streams", {"url": url, **more}, expect=201)


def state(server, stream):
    return server.json("GET", f"/api/rooms/{stream['room']}/streams/{stream['id']}")


def until(server, stream, name, timeout=10):
    deadline = time.monotonic() + timeout
    while (now := state(server, stream))["state"] != name:
        assert time.monotonic() < deadline, f"not {name}: {now}"
        time.sleep(0.1)
    return now


def end(server, stream):
    before = time.monotonic()
    status, _, body = server.request("DELETE", f"/api/rooms/{stream['room']}/streams/{stream['id']}")
    assert status == 204, body
    return time.monotonic() - before


def packets(path, kind="v"):
    """(times, whether keyframes) of a file's packets."""
    listing = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time,flags", "-of", "json", str(path)],
        capture_output=True, check=True).stdout)["packets"]
    return np.array([float(p["pts_time"]) for p in listing]), np.array(["K" in p["flags"] for p in listing])


def tile_brightness(path, tile):
    """(times, mean luma of the tile's middle) of every frame."""
    listing = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "json", str(path)], capture_output=True, check=True).stdout)
    times = np.array([float(frame["pts_time"]) for frame in listing["frames"]])
    crop = "crop={}:{}:{}:{}".format(tile["width"] // 3 // 2 * 2, tile["height"] // 3 // 2 * 2, tile["x"] + tile["width"] // 3, tile["y"] + tile["height"] // 3)
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-vf", crop + ",scale=8:8", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        capture_output=True, check=True).stdout
    values = np.frombuffer(raw, np.uint8).reshape(-1, 64).mean(axis=1)
    count = min(len(times), len(values))
    return times[:count], values[:count]


def top_renditions(server, room="studio"):
    return [r for r in server.json("GET", f"/api/rooms/{room}")["renditions"] if r["codec"] == "h264" and r["kind"] == "rung"]


@pytest.mark.usefixtures("needs_address")
def test_a_stream_has_the_room_in_step_and_costs_no_encode(tmp_path, rtmp):
    with serving(tmp_path, full=True) as server:
        with caller(server, "studio", "Flash", "--seconds", 60), caller(server, "studio", "Other", "--audio", silence(tmp_path), "--seconds", 60):
            wait_for(lambda: len(server.json("GET", "/api/rooms/studio")["tiles"]) == 2 if people(server, "studio") else False, 15, "no tiles")
            stream = start(server, rtmp.url("k3y-of-this-test"))
            assert stream["url"] == f"rtmp://127.0.0.1:{rtmp.port}/live/…" and stream["state"] == "connecting"
            until(server, stream, "live")
            before = top_renditions(server)
            recording = server.json("POST", "/api/rooms/studio/recordings", expect=201)
            second = start(server, rtmp.url("second"), keyframeInterval=1)
            until(server, second, "live")
            assert [(r["height"], r["view"]) for r in top_renditions(server)] == [(r["height"], r["view"]) for r in before], "an encode more"
            room = server.json("GET", "/api/rooms/studio")
            assert room["streaming"] is True
            tiles = {t["participant"]: t for t in room["tiles"]}
            ids = people(server, "studio")
            time.sleep(8)
            server.json("POST", f"/api/recordings/{recording['id']}/stop")
            # The picture stands still from here on.
            for id in ids.values():
                server.json("PATCH", f"/api/rooms/studio/participants/{id}", {"videoMuted": True, "audioMuted": True})
            still = time.monotonic()
            time.sleep(4)
            still = time.monotonic() - still
            assert end(server, stream) < 2 and end(server, second) < 2
            assert server.json("GET", "/api/rooms/studio")["streaming"] is False
    file, = rtmp.files("k3y-of-this-test")
    clean, errors = decodes_cleanly(file)
    assert clean, errors
    assert {s["codec_name"] for s in probe(file)["streams"]} == {"h264", "aac"}
    times, values = tile_brightness(file, tiles[ids["Flash"]])
    late = offsets(flashes(times, values), beeps(sound(file)))
    print("sound late by", [round(float(o) * 1000) for o in late[:, 1]], "ms")
    assert len(late) >= 6 and abs(np.median(late[:, 1])) <= LIPS
    # Each tile has its sender's picture, which moves.
    _, other = tile_brightness(file, tiles[ids["Other"]])
    assert np.ptp(other) > 20 and np.ptp(values) > 20
    when, keys = packets(file)
    assert keys[0] and when[0] < 0.1
    gaps = np.diff(when[keys])
    rate_still = np.sum(when > when[-1] - (still - 1)) / (still - 1)
    print("keyframes each", np.round(gaps, 2), "s; frames a second when still", rate_still)
    assert gaps.max() <= 2.1
    assert 9 <= rate_still <= 31 and np.sum((when > 2) & (when < 7)) / 5 <= 31
    assert np.diff(packets(rtmp.files("second")[0])[0][packets(rtmp.files("second")[0])[1]]).max() <= 1.1
    # The key is told nobody.
    assert "k3y-of-this-test" not in server.log_path.read_text()


def silence(folder):
    from tests.test_lip_sync import RATE, write_wave
    path = folder / "silence.wav"
    write_wave(path, np.zeros(RATE))
    return path


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_a_server_that_dies_gets_the_stream_again_and_one_that_hangs_holds_nothing(tmp_path, rtmp):
    with serving(tmp_path) as server, RTMPServer(tmp_path / "other") as other, caller(server, "studio", "A", "--seconds", 90):
        wait_for(lambda: people(server, "studio"), 10, "nobody joined")
        with following(server, "studio") as events:
            time.sleep(0.3)
            stream, steady = start(server, rtmp.url("s3cret-key")), start(server, other.url("steady"))
            until(server, stream, "live"), until(server, steady, "live")
            rtmp.kill()
            lost = until(server, stream, "retrying")
            assert lost["attempts"] >= 1 and lost["reason"] and "s3cret" not in json.dumps(lost)
            time.sleep(5)
            assert state(server, steady)["state"] == "live"
            back = time.monotonic()
            rtmp.start()
            until(server, stream, "live", 12)
            print("live again after", time.monotonic() - back)
            # A server that reads nothing.
            time.sleep(1)
            rtmp.pause()
            resident = server.resident()
            time.sleep(12)
            grown = server.resident() - resident
            took = end(server, stream)
            print("grown by", grown, "MB, ended in", took, "s, dropped", state(server, stream)["dropped"])
            assert grown < 30 and took < 2.5
            assert state(server, steady)["state"] == "live"
            rtmp.go_on()
            mine = [e["type"] for e in events if e["data"]["id"] == stream["id"]]
            assert mine[:4] == ["stream.started", "stream.live", "stream.retrying", "stream.live"] and mine[-1] == "stream.ended", mine
            assert "s3cret" not in json.dumps(events)
            assert [e["type"] for e in events if e["data"]["id"] == steady["id"]] == ["stream.started", "stream.live"]
            metrics = server.get("/metrics")[2].decode()
            assert 'tessera_streams{state="live"} 1' in metrics and "tessera_stream_bytes_total" in metrics
    assert "s3cret" not in server.log_path.read_text()
    first, second = rtmp.files("s3cret-key")
    assert packets(second)[0][0] < 0.1, "each connection begins at 0"


def continuity_faults(data):
    """Packets of a transport stream whose counter does not follow that of the last one of its PID."""
    faults, last = 0, {}
    for at in range(0, len(data) - 187, 188):
        assert data[at] == 0x47, "not in step"
        pid, flags = (data[at + 1] & 0x1F) << 8 | data[at + 2], data[at + 3]
        if pid == 0x1FFF or not flags & 0x10:
            continue
        counter = flags & 15
        if pid in last and counter != (last[pid] + 1) % 16:
            faults += 1
        last[pid] = counter
    return faults, len(last)


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_a_server_that_reads_nothing_costs_two_seconds_of_media(tmp_path, rtmp):
    with serving(tmp_path, HERE + "video: { renditions: [ { height: 720, bitrate: 20M } ] }\n", full=True) as server, StallingFront(rtmp.port) as front:
        server.json("PUT", "/api/rooms/studio", {"layout": "single"}, expect=201)
        with caller(server, "studio", "A", "--video", noise(tmp_path), "--seconds", 60):
            wait_for(lambda: people(server, "studio"), 10, "nobody joined")
            stream = start(server, f"rtmp://127.0.0.1:{front.port}/live/slow")
            until(server, stream, "live")
            time.sleep(2)
            front.stall()
            began, resident = time.monotonic(), server.resident()
            lost = until(server, stream, "retrying", 25)
            print(f"given up after {time.monotonic() - began:.1f} s: {lost['reason']}; dropped {lost['dropped']}")
            assert "in time" in lost["reason"] and lost["dropped"] > 0
            front.go_on()
            until(server, stream, "live", 15)
            front.stall()
            wait_for(lambda: state(server, stream)["dropped"] > lost["dropped"], 25, "nothing is dropped")
            # Its thread waits for the server now.
            took, grown = end(server, stream), server.resident() - resident
            print("ended in", took, "s, grown by", grown, "MB")
            assert took < 2.2 and grown < 60


def noise(folder):
    """Two seconds of a picture that takes megabits."""
    path = folder / "noise.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "nullsrc=s=640x360:r=15:d=2,geq=random(1)*255:128:128", "-c:v", "libx264", "-preset", "ultrafast",
         "-profile:v", "baseline", "-b:v", "4M", "-g", "15", str(path)], check=True)
    return path


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_srt_carries_an_encrypted_stream_over_a_line_with_loss(tmp_path):
    passphrase, path = "a passphrase for this test", tmp_path / "out.ts"
    quoted = passphrase.replace(" ", "%20")
    with serving(tmp_path) as server, caller(server, "studio", "A", "--seconds", 40):
        wait_for(lambda: people(server, "studio"), 10, "nobody joined")
        with SRTListener(path, quoted.replace("%20", " ")) as listener, LossyLink(listener.port, 0.05) as link:
            time.sleep(0.5)
            wrong = start(server, f"srt://127.0.0.1:{link.port}?passphrase=another-passphrase")
            lost = until(server, wrong, "retrying", 15)
            assert "another" not in json.dumps(lost), lost
            end(server, wrong)
            stream = start(server, f"srt://127.0.0.1:{link.port}?passphrase={quoted}&pbkeylen=16&latency=400000")
            assert quoted not in json.dumps(stream)
            until(server, stream, "live", 15)
            time.sleep(8)
            assert state(server, stream)["dropped"] == 0
            end(server, stream)
            time.sleep(0.5)
            assert link.lost > 50, (link.lost, link.carried)
    data = path.read_bytes()
    faults, streams = continuity_faults(data)
    print(f"{len(data)} bytes, {faults} faults, {link.lost} of {link.lost + link.carried} datagrams lost")
    assert faults == 0 and streams >= 4
    assert {s["codec_name"] for s in probe(path)["streams"]} == {"h264", "aac"}
    assert packets(path)[0][-1] - packets(path)[0][0] > 6
    assert passphrase not in server.log_path.read_text()


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_rtmps_trusts_only_certificates_of_the_name(tmp_path, rtmp):
    with TLSFront(tmp_path, rtmp.port) as front, TLSFront(tmp_path, rtmp.port, "other.example") as other:
        with serving(tmp_path) as server:
            server.json("PUT", "/api/rooms/studio", {}, expect=201)
            stream = start(server, f"rtmps://localhost:{front.port}/live/k3y-of-this")
            failed = until(server, stream, "failed")
            print(failed["reason"])
            assert "certificate" in failed["reason"] and front.received == 0
        both = tmp_path / "both.pem"
        both.write_text(front.certificate.read_text() + other.certificate.read_text())
        with serving(tmp_path / "2", f"streams: {{ hosts: [127.0.0.1, localhost], authorities: '{both}' }}\n") as server:
            server.json("PUT", "/api/rooms/studio", {}, expect=201)
            misnamed = start(server, f"rtmps://localhost:{other.port}/live/k3y-of-this")
            failed = until(server, misnamed, "failed")
            print(failed["reason"])
            assert "certificate" in failed["reason"] and other.received == 0
            stream = start(server, f"rtmps://localhost:{front.port}/live/k3y-of-this")
            until(server, stream, "live")
            assert front.names[-1] == "localhost"
            end(server, stream)
            assert server.json("GET", "/api/rooms/studio/streams")[-1]["state"] == "ended"


def test_what_may_not_be_a_target_is_refused(tmp_path):
    with Server(tmp_path / "server") as server:
        server.json("PUT", "/api/rooms/studio", {}, expect=201)
        for url, word in [
            ("file:///etc/passwd", "url"), ("/etc/passwd", "url"), ("http://live.example/a/b", "not permitted"), ("rtmp://169.254.169.254/a/b", "streams.hosts"),
            ("rtmp://127.0.0.1/a/b", "streams.hosts"), ("rtmp://[::ffff:127.0.0.1]/a/b", "streams.hosts"), ("rtmp://2130706433/a/b", "url"),
            ("srt://10.0.0.1:9000", "streams.hosts"), ("srt://live.example:9000?mode=listener", "caller"), ("rtmp://live.example", "/APP/KEY"),
            ("rtmp://live.example/a/b\r\nX: y", "url"), ("concat:a|b", "url"), ("", "url"), ("tcp://live.example:1", "not permitted"),
        ]:
            status, _, body = server.request("POST", "/api/rooms/studio/streams", {"url": url})
            assert status == 400 and word in json.loads(body)["error"]["message"], (url, status, body)
        # A name is judged by its address.
        stream = start(server, "rtmp://localhost/live/k3y-of-this")
        failed = until(server, stream, "failed")
        assert "localhost (127.0.0.1) is no public address" in failed["reason"] or "localhost (::1)" in failed["reason"], failed
        assert server.request("POST", "/api/rooms/none/streams", {"url": "rtmp://live.example/a/b"})[0] == 404
        assert server.request("POST", "/api/rooms/studio/streams", {"url": "rtmp://live.example/a/b", "view": "none"})[0] == 404
        assert server.request("POST", "/api/rooms/studio/streams", {"url": "rtmp://live.example/a/b", "keyframeInterval": 60})[0] == 400
        assert server.request("DELETE", "/api/rooms/studio/streams/none")[0] == 404
        # Nothing answers at the name, so these four try again.
        for key in range(4):
            start(server, f"rtmp://no-such-host.invalid/live/{key}")
        assert server.request("POST", "/api/rooms/studio/streams", {"url": "rtmp://no-such-host.invalid/live/1"})[0] == 409
        assert server.request("POST", "/api/rooms/studio/streams", {"url": "rtmp://no-such-host.invalid/live/9"})[0] == 409


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_streams_end_in_order_with_their_room_and_with_the_server(tmp_path, rtmp):
    with serving(tmp_path, HERE + "rooms: { emptyTimeout: 2s, create: api }\n") as server:
        server.json("PUT", "/api/rooms/studio", {}, expect=201)
        ended = start(server, rtmp.url("ended"))
        until(server, ended, "live")
        server.request("DELETE", "/api/rooms/studio")
        wait_for(lambda: 'state="live"} 0' in server.get("/metrics")[2].decode(), 5, "the stream outlives its room")
        # A room of the API stays without anyone, but its streams do not.
        server.json("PUT", "/api/rooms/studio", {}, expect=201)
        deserted = start(server, rtmp.url("deserted"))
        with caller(server, "studio", "A", "--seconds", 2):
            wait_for(lambda: people(server, "studio"), 10, "nobody joined")
            until(server, deserted, "live")
            time.sleep(2)
        until(server, deserted, "ended", 10)
        last = start(server, rtmp.url("last"))
        until(server, last, "live")
        time.sleep(1.5)
        before = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0
        took = time.monotonic() - before
        print("drained in", took)
        assert took < 4
    time.sleep(0.3)
    log = rtmp.log()
    assert log.count("deleteStream") >= 3, log[-2000:]
    for name in ["ended", "deserted", "last"]:
        assert decodes_cleanly(rtmp.files(name)[0])[0], name


@pytest.mark.usefixtures("needs_address")
def test_the_page_says_that_the_call_is_streamed_and_asks_who_joins(tmp_path):
    async def run(server):
        page = await Page().open(f"{server.url}/r/studio?name=Ada&join=1", 1280, 800, False, tmp_path)
        late = None
        try:
            await page.is_moving()
            badge = "!document.getElementById('streaming-badge').hidden"
            assert not await page.evaluate(badge)
            # Nobody is told of it only once it is too late: also while the server is not there yet.
            stream = await asyncio.to_thread(start, server, "rtmp://no-such-host.invalid/live/k3y-of-this")
            await page.wait_for(badge)
            assert "streamed live from now on" in await page.evaluate("document.getElementById('streaming-spoken').textContent")
            await page.shot("live")
            late = await Page().open(f"{server.url}/r/studio?name=Bo&join=1", 390, 844, True, tmp_path)
            await late.wait_for("document.getElementById('consent')?.open === true")
            assert "streamed live" in await late.evaluate("document.getElementById('consent-title').textContent")
            await late.fits("the question")
            await late.shot("asked")
            people = (await asyncio.to_thread(server.json, "GET", "/api/rooms/studio"))["participants"]
            assert [(p["audio"], p["video"]) for p in people if p["name"] == "Bo"] == [(False, False)]
            assert await asyncio.to_thread(end, server, stream) < 2.5
            await page.wait_for("document.getElementById('streaming-badge').hidden")
            await late.wait_for("document.getElementById('consent').open === false")
            for one in (page, late):
                assert not await one.evaluate("probe.problems.length"), await one.evaluate("probe.problems")
        finally:
            await asyncio.gather(page.close(), *([late.close()] if late else []))
    with Server(tmp_path / "server") as server:
        asyncio.run(asyncio.wait_for(run(server), 60))
