"""Tracks of single participants beside a recording: on its timeline after loss, a rejoin and a pause, and after a killed server."""

import json
import subprocess
import time

import numpy as np
import pytest

from support.flashes import RATE, beep_starts, brightness, caller, figures, offsets, people, wait_for, write_wave
from support.recorded import path, probe, sound, state
from support.server import PROGRAM, Server, from_outside
from support.stream_servers import RTMPServer

# Tracks and the recording agree to this.
LIMIT = 0.02
# The most that sound and picture may be apart anywhere.
LIPS = 0.045


def seen(server, room, name, frames=30):
    def look():
        return name in people(server, room) and figures(server, room, name)["received"]["video"]["frames"] > frames
    wait_for(look, 15, f"no pictures of {name}")


def flash_errors(server, track, starts):
    """By how much each beep begins outside of the time in which its flash may have begun. The caller's picture is white where the middle of its time
    is in the flash: that is after the middle of the last dark picture, and before that of the first white one. Between them may be a picture that
    the line lost for good."""
    times, values = brightness(server.recordings / track["file"])
    bright = values > (values.min() + values.max()) / 2
    half = np.median(np.diff(times)) / 2
    errors = []
    for first in np.nonzero(bright[1:] & ~bright[:-1])[0] + 1:
        earliest, latest = times[[first - 1, first]] + half + track["start"]
        beep = starts[np.argmin(np.abs(starts - latest))]
        if abs(beep - latest) < 0.5:
            errors.append(max(earliest - beep, beep - latest, 0))
    return np.array(errors)


def check_tracks(server, entry, least):
    """Each beep of the audio tracks is one of the recording, and each camera's flashes are with the beeps of its participant."""
    recorded = beep_starts(sound(path(server, entry)))
    everyone = {track["participant"]: [one for one in entry["tracks"] if one["participant"] == track["participant"]] for track in entry["tracks"]}
    for mine in everyone.values():
        heard = [beep_starts(sound(server.recordings / track["file"])) + track["start"] for track in mine if track["kind"] == "audio"]
        starts = np.concatenate(heard)
        if not len(starts):
            continue
        apart = offsets(starts, recorded)[:, 1]
        print(f"{mine[0]['name']}: beeps of the recording late by {[round(1000 * float(one), 1) for one in apart]} ms")
        # On a busy machine the mix's buffer grows for a while: the beeps of such a time are late in it, and in no track.
        late = np.abs(apart)
        assert len(late) >= least and np.median(late) < LIMIT / 2 and np.mean(late > LIMIT) < 1 / 3 and np.max(late) < LIPS, apart
        for camera in [track for track in mine if track["kind"] == "camera"]:
            errors = flash_errors(server, camera, starts)
            print(f"{camera['name']}, {camera['codec']} from {camera['start']:.2f} s: beeps off by {[round(1000 * float(one), 1) for one in errors]} ms")
            # A machine that is busy may capture a picture late.
            assert len(errors) >= least and np.median(errors) < LIMIT / 2 and np.sum(errors > LIMIT) <= 1, errors


def until_part_of_second(part):
    """Waits for a time between beeps, which callers send in the first tenth of each second of the monotonic clock, and the room mixes a little later."""
    time.sleep((part - time.monotonic()) % 1)


@pytest.mark.patient
def test_tracks_are_aligned_after_loss_a_rejoin_and_a_pause(full_server, far_network, tmp_path):
    server, room = full_server, "tracks"
    silence = tmp_path / "silence.wav"
    write_wave(silence, np.zeros(RATE))
    far = far_network("rate=3M,delay=30ms,loss=5%")

    def join():
        return caller(server, room, "Far", "--codec", "vp8", prefix=far.prefix, url=from_outside(server.url))

    with caller(server, room, "Near", "--codec", "h264", "--audio", silence):
        with join():
            seen(server, room, "Far")
            seen(server, room, "Near")
            usual = server.json("POST", f"/api/rooms/{room}/recordings", expect=201)
            time.sleep(1)
            renditions = len(server.json("GET", f"/api/rooms/{room}")["renditions"])
            entry = server.json("POST", f"/api/rooms/{room}/recordings", {"tracks": True}, expect=201)
            assert server.request("POST", f"/api/rooms/{room}/recordings")[0] == 409
            time.sleep(6)
            now = server.json("GET", f"/api/rooms/{room}")
            assert [one["id"] for one in now["recordings"]] == [usual["id"], entry["id"]]
            # A viewer's bandwidth may have changed meanwhile, which ends a rendition.
            assert len(now["renditions"]) <= renditions, now["renditions"]
            # No beep is cut: of one, tracks and recording may have more and less than is recognized, and the next one is 0.35 s away here.
            until_part_of_second(0.9)
            server.json("PATCH", f"/api/recordings/{entry['id']}", {"state": "paused"})
            time.sleep(1.65)
            server.json("PATCH", f"/api/recordings/{entry['id']}", {"state": "recording"})
            time.sleep(4)
        # Its `leave` goes over the line that loses packets; without it the seat is kept for 15 s.
        wait_for(lambda: "Far" not in people(server, room), 25, "Far is still there")
        with join():
            seen(server, room, "Far", 0)
            time.sleep(6)
            entry = server.json("POST", f"/api/recordings/{entry['id']}/stop")
            server.json("POST", f"/api/recordings/{usual['id']}/stop")
    print(json.dumps(entry["tracks"], indent=1))
    kinds = sorted((track["name"], track["kind"], track["codec"]) for track in entry["tracks"])
    # Who joins again has files of its own.
    near = [("Near", "audio", "opus"), ("Near", "camera", "h264")]
    assert kinds == [("Far", "audio", "opus")] * 2 + [("Far", "camera", "vp8")] * 2 + near, kinds
    assert len({track["participant"] for track in entry["tracks"]}) == 3
    assert entry["duration"] > 15 and not entry.get("dropped"), entry
    check_tracks(server, entry, 4)
    for number, track in enumerate(entry["tracks"], 1):
        status, headers, part = server.get(f"/api/recordings/{entry['id']}/file?track={number}", {"Range": "bytes=0-3"})
        assert status == 206 and part == b"\x1a\x45\xdf\xa3" and "matroska" in headers["Content-Type"] + "matroska" * (track["codec"] != "h264")
        assert abs(float(probe(server.recordings / track["file"])["format"]["duration"]) - track["duration"]) < 0.1
    text = subprocess.run([PROGRAM, "recording", "check", "--quick", str(path(server, entry))], capture_output=True, text=True, check=True).stdout
    assert "6 tracks of participants" in text and "camera of Far, vp8" in text, text


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address")
def test_a_killed_server_loses_two_seconds_of_tracks_and_audio_alone_at_most(tmp_path):
    delivered = tmp_path / "delivered"
    config = {
        "recording": {"preRoll": "4s", "audio": "opus", "onFinished": ["sh", "-c", f"echo $TESSERA_ID >> {delivered}"]},
        "streams": {"hosts": ["127.0.0.1"]},
    }
    with RTMPServer(tmp_path / "rtmp") as rtmp, Server(tmp_path / "server", config=json.dumps(config)) as server:
        room = "killed"
        with caller(server, room, "Ann", "--codec", "h264"):
            seen(server, room, "Ann", 60)
            time.sleep(2)
            entry = server.json("POST", f"/api/rooms/{room}/recordings", {"tracks": True}, expect=201)
            audio = server.json("POST", f"/api/rooms/{room}/recordings", {"audioOnly": True}, expect=201)
            assert entry["preRoll"] > 1, entry
            started = time.monotonic()
            stream = f"/api/rooms/{room}/streams/" + server.json("POST", f"/api/rooms/{room}/streams", {"url": rtmp.url("killed")}, expect=201)["id"]
            time.sleep(6)
            assert server.json("GET", stream)["state"] == "live" and not delivered.exists()
            # One encode for all of them.
            encodes = [each["height"] for each in server.json("GET", f"/api/rooms/{room}")["renditions"] if each["codec"] == "h264" and each["kind"] == "rung"]
            assert encodes.count(max(encodes)) == 1, encodes
            server.process.kill()
            length = time.monotonic() - started
            server.process.wait(3)
        server.start()
        wait_for(lambda: state(server, audio)["state"] == "finished" and state(server, entry)["state"] == "finished", 15, "not repaired")
        entry, audio = state(server, entry), state(server, audio)
        # What a crash left open is delivered too, after its repair, and each once.
        wait_for(lambda: delivered.exists() and sorted(delivered.read_text().split()) == sorted([entry["id"], audio["id"]]), 15, "not delivered")
        assert len(brightness(rtmp.files("killed")[0])[0]) > 60, "the stream until then does not play"
        assert entry["repaired"] and entry["duration"] > entry["preRoll"] + length - 2, (entry, length)
        assert audio["repaired"] and audio["file"].endswith(".m4a") and length - 2 < audio["duration"] < length + 0.5, (audio, length)
        streams = probe(path(server, audio))["streams"]
        # Its chapters are a stream of data.
        assert [stream["codec_name"] for stream in streams if stream["codec_type"] != "data"] == ["opus"], streams
        headers = server.get(f"/api/recordings/{audio['id']}/file", {"Range": "bytes=0-3"})[1]
        assert headers["Content-Type"] == "audio/mp4"
        assert sorted(track["kind"] for track in entry["tracks"]) == ["audio", "camera"], entry
        for track in entry["tracks"]:
            # Tracks begin with the start: what was kept before is of the whole room.
            assert entry["preRoll"] - 0.5 < track["start"] < entry["preRoll"] + 2 and track["duration"] > length - 3.5, (track, length)
            assert track["start"] + track["duration"] > entry["preRoll"] + length - 2, (track, entry, length)
        check_tracks(server, entry, 3)
