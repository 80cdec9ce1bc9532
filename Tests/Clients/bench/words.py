"""What is understood of speech behind bad lines: sentences that a synthesizer speaks (Flite), as a browser played them, read by a recognizer
(PocketSphinx), both in Debian's FFmpeg. A row of `./scripts/bench --network`."""

import asyncio
import base64
import dataclasses
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.bad_line import Relay
from support.browser import Chromium, Firefox
from support.flashes import caller, people, wait_for
from support.media import TONES
from support.page_server import serve_pages
from support.people import BrowserPeer, page_url
from support.server import Server

MODEL = Path("/usr/share/pocketsphinx/model/en-us")
SENTENCES = [
    "The old man walked to the station in the rain", "Please send me the report before the end of the week",
    "We met three people from another country last night", "The children played with a small dog in the garden",
    "She asked the doctor about the price of the medicine", "Every morning he reads the news and drinks a cup of coffee",
    "The train to the city will leave in ten minutes", "My brother wants to build a house near the river",
    "There is enough food on the table for all of us", "The teacher wrote a long letter to the parents",
    "They could not find the right road in the dark", "It takes two hours to drive to the other side of the lake",
]
# Between sentences, in seconds.
PAUSE = 0.7
# The most that may be lost of the words that are right on the clean line.
AIM = 0.05
RECORD = """(() => {
  const node = context.createScriptProcessor(16384, 1, 1), parts = window.parts = [];
  node.onaudioprocess = ({ inputBuffer }) => parts.push(Int16Array.from(inputBuffer.getChannelData(0), value => Math.max(-1, Math.min(1, value)) * 32767));
  context.createMediaStreamSource(new MediaStream([heard])).connect(node);
  node.connect(context.destination);
  return context.sampleRate;
})()"""
READ = """new Promise(done => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(',')[1]);
  reader.readAsDataURL(new Blob(parts));
})"""


@dataclasses.dataclass
class Row:
    name: str
    link: str
    browser: type = Chromium


ROWS = {
    "clean": Row("clean 5 Mbit/s", "rate=5M,delay=10ms"),
    "least": Row("32 kbit/s, 100 ms round trip", "rate=32k,delay=50ms,queue=800ms"),
    "loss20": Row("20 % random loss, 100 ms round trip", "rate=3M,delay=50ms,loss=0.2"),
    "loss30": Row("30 % random loss, 100 ms round trip, 60 kbit/s", "rate=60k,delay=50ms,loss=0.3"),
    "loss30-firefox": Row("the same, Firefox", "rate=60k,delay=50ms,loss=0.3", Firefox),
}


def ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-v", "info", "-nostats", "-y", *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300)


def speak(path):
    """All sentences in one file, which a caller repeats. Returns its length in seconds."""
    inputs = [part for sentence in SENTENCES for part in ("-f", "lavfi", "-i", f"flite=voice=rms:text='{sentence}'")]
    padded = "".join(f"[{number}]apad=pad_dur={PAUSE}[s{number}];" for number in range(len(SENTENCES)))
    joined = "".join(f"[s{number}]" for number in range(len(SENTENCES)))
    ffmpeg(*inputs, "-filter_complex", f"{padded}{joined}concat=n={len(SENTENCES)}:v=0:a=1,volume=-3dB", "-ar", 48000, "-ac", 1, path)
    return float(subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path], check=True, capture_output=True,
                                text=True).stdout)


def recognize(path):
    """The words that the recognizer finds. It decides at pauses, so that a file in one piece gives the words of the last one alone."""
    filters = f"asr=rate=16000:hmm={MODEL}/en-us:dict={MODEL}/cmudict-en-us.dict:lm={MODEL}/en-us.lm.bin,ametadata=print"
    printed = ffmpeg("-i", path, "-af", f"aresample=16000,{filters}", "-f", "null", "-").stderr
    return " ".join(re.findall(r"lavfi\.asr\.text=(.*)", printed)).lower().split()


def right(reference, heard):
    """How many words of `reference` are in `heard` in their order, at the best place: `heard` has more than one pass."""
    def common(window):
        row = [0] * (len(window) + 1)
        for word in reference:
            last = 0
            for index, other in enumerate(window, 1):
                last, row[index] = row[index], last + 1 if word == other else max(row[index], row[index - 1])
        return row[-1]
    length = int(1.2 * len(reference))
    return max(common(heard[start:start + length]) for start in range(0, max(len(heard) - len(reference), 1), 3))


async def record(server, pages, row, seconds, path):
    """What a browser behind the line plays, for so long."""
    relay = Relay(server, row.link, row.link)
    browser = row.browser(apart=True) if row.browser is Chromium else row.browser()
    try:
        url = page_url(pages, server, "words", "Listener", "blue", TONES[1], "H264") + f"&fps=5&relay={relay.port}"
        await browser.start(url)
        await BrowserPeer(browser, "Listener", "blue", TONES[1]).joined(-1)
        # Until the server has found what the line loses.
        await asyncio.sleep(15)
        rate = await browser.evaluate(RECORD)
        await asyncio.sleep(seconds)
        raw = base64.b64decode(await browser.evaluate(READ))
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "s16le", "-ar", str(int(rate)), "-ac", "1", "-i", "-", path], input=raw, check=True, timeout=60)
    finally:
        await browser.close()
        relay.close()


def main(keys):
    reference = " ".join(SENTENCES).lower().split()
    clean = None
    with tempfile.TemporaryDirectory() as directory, serve_pages() as pages:
        spoken = Path(directory, "spoken.wav")
        length = speak(spoken)
        print(f"{len(reference)} words in {length:.0f} s; the recognizer has {right(reference, recognize(spoken))} of them right in the file itself\n")
        print("| line | words right | of the clean line's | aim |\n|---|---|---|---|")
        for key in keys or ROWS:
            row, heard = ROWS[key], Path(directory, f"{key}.wav")
            with Server(Path(directory, key), origin=pages, full=True) as server, \
                    caller(server, "words", "Speaker", "--audio", spoken, "--seconds", 3 * length + 60):
                wait_for(lambda server=server: "Speaker" in people(server, "words"), 10, "nobody speaks")
                try:
                    asyncio.run(asyncio.wait_for(record(server, pages, row, 2 * length + 2, heard), 3 * length + 90))
                except TimeoutError as error:
                    print(f"| {row.name} | none: {str(error)[:60]} | ✗ | ≥ {100 * (1 - AIM):.0f} % |", flush=True)
                    continue
            count = right(reference, recognize(heard))
            clean = count if key == "clean" else clean
            part = f"{100 * count / clean:.0f} % {'✓' if count >= (1 - AIM) * clean else '✗'}" if clean else ""
            print(f"| {row.name} | {count} of {len(reference)} | {part} | ≥ {100 * (1 - AIM):.0f} % |", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
