"""What a call costs here and in two other programs that can mix one: GStreamer's compositor and FFmpeg's filters (Debian's packages), with the same
files, the same encoder and settings, in turns. Each of them decodes everybody, composes one picture of 1280×720 at 30 frames/s, encodes it once, and
encodes for each person the sound of the others. Tessera does that with everything that a call needs beside: it receives by ICE, DTLS-SRTP and RTP,
and sends the same way, to each at the rate of the line. The other two read files and throw away what they made.

`./scripts/bench --peers [PEOPLE…]`; ROUNDS (5) is the number of turns of each."""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.server import PROGRAM, Server, resident, spent

PEOPLE = [2, 4, 9]
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# A turn: what is not measured, since joins and first keyframes are in it, and what is.
SETTLED, SECONDS = 8, 12
WIDTH, HEIGHT, RATE = 1280, 720, 1500
# 640×360 at 30 frames/s and 500 kbit/s: a soft background that drifts, with a camera's noise, and somebody who moves before it. A tone with syllables.
CLIP = [
    "-f", "lavfi", "-i", "gradients=s=640x360:r=30:speed=0.01:seed=3[wall];color=c=tan:s=140x220:r=30[head];"
    "[wall][head]overlay=x='250+60*sin(t)':y='90+20*sin(2*t)',noise=alls=5:allf=t",
    "-f", "lavfi", "-i", "aevalsrc='0.2*sin(2*PI*220*t)*(0.35+0.65*pow(sin(PI*4*t),2))':s=48000",
    "-t", str(SETTLED + SECONDS + 6), "-c:v", "libx264", "-profile:v", "baseline", "-tune", "zerolatency", "-preset", "veryfast", "-b:v", "500k",
    "-maxrate", "500k", "-bufsize", "500k", "-g", "150", "-pix_fmt", "yuv420p", "-c:a", "libopus", "-b:a", "32k",
]


def grid(people):
    """[(x, y)] and the size of each tile."""
    columns = next(side for side in range(1, people + 1) if side * side >= people)
    width, height = WIDTH // columns, HEIGHT // columns
    return [(index % columns * width, index // columns * height) for index in range(people)], width, height


def gstreamer(clip, people):
    places, width, height = grid(people)
    pads = " ".join(f"sink_{index}::xpos={x} sink_{index}::ypos={y} sink_{index}::width={width} sink_{index}::height={height}"
                    for index, (x, y) in enumerate(places))
    parts = [
        f"compositor name=mix background=black {pads} ! video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1 ! "
        f"x264enc speed-preset=superfast tune=zerolatency bitrate={RATE} key-int-max=300 ! fakesink sync=true"]
    for index in range(people):
        parts.append(f"filesrc location={clip} ! matroskademux name=file{index} "
                     f"file{index}.video_0 ! queue ! h264parse ! avdec_h264 max-threads=1 ! queue ! mix.sink_{index}")
        parts.append(f"file{index}.audio_0 ! queue ! opusdec ! audioconvert ! audioresample ! tee name=voice{index}")
        parts.append(f"audiomixer name=for{index} ! audioconvert ! opusenc bitrate=32000 ! fakesink sync=true")
        parts += [f"voice{index}. ! queue ! for{other}." for other in range(people) if other != index]
    return ["gst-launch-1.0", "-q", *" ".join(parts).split()]


def ffmpeg(clip, people):
    places, width, height = grid(people)
    graph = [f"[{index}:v]scale={width}:{height}[v{index}]" for index in range(people)]
    graph.append("".join(f"[v{index}]" for index in range(people))
                 + f"xstack=inputs={people}:fill=black:layout={'|'.join(f'{x}_{y}' for x, y in places)},pad={WIDTH}:{HEIGHT}[mix]")
    others = people - 1
    for index in range(people):
        graph.append(f"[{index}:a]asplit={others}" + "".join(f"[a{index}for{other}]" for other in range(people) if other != index))
        heard = "".join(f"[a{other}for{index}]" for other in range(people) if other != index)
        graph.append(f"{heard}{'acopy' if others == 1 else f'amix=inputs={others}:normalize=0'}[for{index}]")
    command = ["ffmpeg", "-v", "error", "-nostdin"]
    for _ in range(people):
        command += ["-threads", "1", "-re", "-i", clip]
    command += ["-filter_complex", ";".join(graph), "-map", "[mix]", "-r", "30", "-c:v", "libx264", "-preset", "superfast", "-tune", "zerolatency",
                "-b:v", f"{RATE}k", "-g", "300", "-f", "null", "-"]
    for index in range(people):
        command += ["-map", f"[for{index}]", "-c:a", "libopus", "-b:a", "32k", "-f", "null", "-"]
    return command


def measured(process):
    """Milliseconds of processor time per second, and MB."""
    time.sleep(SETTLED)
    began, before = time.monotonic(), spent(process)
    time.sleep(SECONDS)
    return 1000 * (spent(process) - before) / (time.monotonic() - began), resident(process)


@contextlib.contextmanager
def running(command):
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            yield process
        finally:
            # What has ended by itself cannot be measured, and says why.
            if process.poll() is not None:
                said.seek(0)
                raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said.read()[-2000:].decode(errors='replace')}")
            process.send_signal(signal.SIGINT)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def program(make, clip, people):
    with running([str(part) for part in make(clip, people)]) as process:
        return measured(process.pid)


def tessera(clip, people):
    config = "video: {codecs: [h264]}\nrooms: {framesPerSecond: 30, passthrough: off}\n"
    with tempfile.TemporaryDirectory() as folder, Server(folder, config=config, full=True) as server:
        call = [PROGRAM, "call", server.url, "--room", "peers", "--name", "P", "--count", people, "--video", clip, "--audio", clip]
        with running([str(part) for part in call]):
            cost = measured(server.process.pid)
            people_there = server.json("GET", "/api/rooms/peers")["participants"]
            assert len(people_there) == people, people_there
            return cost


def main(arguments):
    sizes = [int(each) for each in arguments] or PEOPLE
    with tempfile.TemporaryDirectory() as directory:
        clip = Path(directory, "clip.mkv")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *CLIP, clip], check=True)
        ways = {
            "Tessera": lambda people: tessera(clip, people),
            "GStreamer": lambda people: program(gstreamer, clip, people),
            "FFmpeg": lambda people: program(ffmpeg, clip, people),
        }
        print("| people | " + " | ".join(f"{name}, ms/s ± | MB" for name in ways) + " |")
        print("|" + "---|" * (1 + 2 * len(ways)))
        for people in sizes:
            found = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, way in ways.items():
                    found[name].append(way(people))
            cells = []
            for costs in found.values():
                times = [cost for cost, _ in costs]
                spread = (max(times) - min(times)) / 2
                cells += [f"{statistics.median(times):.0f} ± {spread:.0f}", f"{statistics.median(size for _, size in costs):.0f}"]
            print(f"| {people} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
