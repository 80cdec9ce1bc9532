"""Flash and beep of `tessera call`, both 100 ms at each full second of one clock, as the room sends them: in a recording and at peers."""

import contextlib
import subprocess
import time

import numpy as np
import pytest

from support.flashes import RATE, beeps, brightness, caller, figures, flashes, offsets, people, wait_for, write_wave
from support.recorded import measured_offset, sound

# The threshold of perception (ITU-R BT.1359): audio 45 ms ahead of the video.
LIMIT = 0.045


def check(path, what, least):
    found = offsets(flashes(*brightness(path)), beeps(sound(path)))
    assert len(found) >= least, f"{what}: {len(found)} flashes with a beep, expected {least}"
    report = f"{what}: sound late by {[round(float(o) * 1000) for o in found[:, 1]]} ms"
    print(report)
    third = max(3, len(found) // 3)
    # One picture may come at the wrong tick; the median at the start and at the end must be right.
    assert abs(np.median(found[:third, 1])) <= LIMIT, f"at the start, {report}"
    assert abs(np.median(found[-third:, 1])) <= LIMIT, f"at the end, {report}"
    return 1000 * float(np.median(found[:, 1]))


def two_files(folder):
    """Four seconds with a flash and a beep in the middle of each: a file of VP8 alone, and one of audio alone."""
    video, audio = folder / "flash.webm", folder / "beep.wav"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=black:s=640x360:r=30:d=4,drawbox=c=white:t=fill:enable='between(mod(t,1),0.499,0.59)'",
         "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "500k", "-g", "30", "-lag-in-frames", "0", "-auto-alt-ref", "0", str(video)], check=True)
    at = np.arange(RATE * 4)
    write_wave(audio, 0.3 * np.sin(2 * np.pi * 1000 * at / RATE) * ((at % RATE >= 0.5 * RATE) & (at % RATE < 0.6 * RATE)))
    return "--video", video, "--audio", audio


# Alone: sender, server and measuring receiver share the cores, and a frame is late by what each waits for them.
@pytest.mark.alone
@pytest.mark.usefixtures("needs_address")
def test_flash_and_beep_stay_together_in_a_recording_and_at_a_peer(full_server, tmp_path):
    """Those of the test pattern, and those of two files, which a caller plays together: in two rooms at the same time."""
    server, silence = full_server, tmp_path / "silence.wav"
    write_wave(silence, np.zeros(RATE))
    senders = {"pattern": ("--codec", "h264"), "files": ("--codec", "vp8", *two_files(tmp_path))}
    saved = {room: tmp_path / f"saved-{room}.mp4" for room in senders}
    recordings = {}
    with contextlib.ExitStack() as stack:
        for room, arguments in senders.items():
            # The room's picture is the flash only, whoever joins.
            server.json("PUT", f"/api/rooms/{room}", {"layout": "single"}, expect=201)
            stack.enter_context(caller(server, room, "Flash", *arguments, "--seconds", 40))
        for room in senders:
            wait_for(lambda room=room: "Flash" in people(server, room), 10, "nobody joined")
            wait_for(lambda room=room: figures(server, room, "Flash")["received"]["video"]["frames"] > 60, 15, "no pictures")
            recordings[room] = server.json("POST", f"/api/rooms/{room}/recordings", expect=201)
        time.sleep(2)
        with contextlib.ExitStack() as late:
            for room, arguments in senders.items():
                # A late participant must be in sync from the start.
                late.enter_context(caller(server, room, "Ear", *arguments[:2], "--audio", silence, "--save", saved[room], "--seconds", 30))
            time.sleep(8)
        finished = {room: server.json("POST", f"/api/recordings/{recording['id']}/stop") for room, recording in recordings.items()}
        for room in senders:
            print(room, figures(server, room, "Flash"))
    for room in senders:
        recorded = next(server.recordings.rglob(finished[room]["file"].split("/")[-1]))
        # The program measures the same as this test: from onset to onset, and not from middle to middle.
        offset = check(recorded, f"recording of {room}", 7)
        assert abs(measured_offset(recorded) - offset) < 30, (measured_offset(recorded), offset)
        check(saved[room], f"peer of {room}", 5)
    assert sorted(tmp_path.glob("saved*")) == sorted(saved.values())


def residue(samples, frequency, block=480):
    """The residue of each 10 ms without the tone, relative to the tone; a click, a gap and a phase jump are all visible in it."""
    wave_ = np.stack([np.cos(2 * np.pi * frequency * np.arange(block) / RATE), np.sin(2 * np.pi * frequency * np.arange(block) / RATE)], axis=1)
    blocks = samples[:len(samples) // block * block].reshape(-1, block).T.astype(np.float64)
    fit = wave_ @ np.linalg.lstsq(wave_, blocks, rcond=None)[0]
    return np.sqrt(np.mean((blocks - fit) ** 2, axis=0))


@pytest.mark.usefixtures("needs_address")
def test_a_tone_comes_through_without_a_click(server, tmp_path):
    """Twelve seconds of a tone, and then its speaker leaves during the tone."""
    room, frequency, amplitude = "tone", 600, 0.2
    tone = tmp_path / "tone.wav"
    write_wave(tone, amplitude * np.sin(2 * np.pi * frequency * np.arange(RATE * 2) / RATE))
    silence = tmp_path / "silence.wav"
    write_wave(silence, np.zeros(RATE))
    with caller(server, room, "Ear", "--audio", silence, "--seconds", 50):
        with caller(server, room, "Tone", "--audio", tone, "--seconds", 45):
            wait_for(lambda: {"Ear", "Tone"} <= set(people(server, room)), 10, "nobody joined")
            time.sleep(3)
            before = figures(server, room, "Tone")
            recording = server.json("POST", f"/api/rooms/{room}/recordings", expect=201)
            time.sleep(12)
            after = figures(server, room, "Tone")
            server.request("DELETE", f"/api/rooms/{room}/participants/{people(server, room)['Tone']}")
            time.sleep(1)
        finished = server.json("POST", f"/api/recordings/{recording['id']}/stop")
    samples = sound(next(server.recordings.rglob(finished["file"].split("/")[-1])))
    level = np.abs(samples)
    heard = np.nonzero(level > amplitude / 2)[0]
    assert len(heard) and heard[-1] - heard[0] > 10 * RATE, "the tone is not in the recording"
    noise = residue(samples[heard[0] + RATE // 10:heard[-1] - RATE // 10], frequency)
    disturbed = int(np.sum(noise > amplitude / 20)) * 10
    concealed = after["concealedMs"] - before["concealedMs"]
    print(f"disturbed {disturbed} ms, concealed {concealed} ms, delay {after['audioDelayMs']:.0f} ms, worst {noise.max():.3f}")
    # A busy machine may delay the sender: then the gap is concealed or the audio stretched. The simulated call allows neither.
    assert disturbed <= 4 * concealed + 60
    # The end is a ramp over a tick, without energy at frequencies other than the tone.
    end = samples[heard[-1] - RATE // 20:heard[-1] + RATE // 20].astype(np.float64)
    spectrum = np.abs(np.fft.rfft(end * np.hanning(len(end)))) / len(end) * 4
    high = spectrum[int(5000 * len(end) / RATE):].max()
    assert high < 0.002, f"a click of {high:.4f} at the end"
