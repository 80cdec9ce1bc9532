#!/usr/bin/env python3
"""Keeps the record of tests in real time that needed a second try, so that none hides behind it.

Usage: retries.py watch RECORD                     notes the processors' times beside the record, until it is ended
       retries.py note RECORD SUITE TEST MESSAGE   writes a line about one second try into the record of this run
       retries.py finish RECORD HISTORY            prints the record, adds it to the history of the runs on this machine, and ends with 1
                                                   where a test needed a second try in two of the last ten runs

A line of the record: time (UTC), suite (swift or clients), test, load average of the last minute, the processor time in percent that the
host gave to other machines in that minute (steal), and the first line of the failure, separated by tabs. Whole failures stand in `RECORD.log`.
"""

import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

RUNS, TOO_OFTEN = 10, 2
# Seconds between two looks at the processors' times, and how many are kept: those of about a minute.
INTERVAL, KEPT = 10, 7


def processor_times():
    """All of the processors' time since the machine's start, and the stolen part of it; `proc(5)`, /proc/stat, the eighth number."""
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(times), times[7]


def looks(record):
    return Path(f"{record}.times")


def watch(record):
    kept = []
    while True:
        kept = [*kept, "{} {}".format(*processor_times())][-KEPT:]
        looks(record).write_text("\n".join(kept))
        time.sleep(INTERVAL)


def steal(record):
    """The stolen time of the last minute in percent; of the time since the machine's start where nothing watches."""
    path = looks(record)
    all_then, stolen_then = (int(word) for word in path.read_text().split()[:2]) if path.exists() else (0, 0)
    all_now, stolen_now = processor_times()
    return 100 * (stolen_now - stolen_then) / max(all_now - all_then, 1)


def note(record, suite, test, message):
    words = [datetime.now(UTC).isoformat(timespec="seconds"), suite, test, f"{os.getloadavg()[0]:.1f}", f"{steal(record):.1f}"]
    words.append((message.strip().splitlines() or [""])[0][:200])
    with open(record, "a") as file:
        print("\t".join(word.replace("\t", " ").replace("\n", " ") for word in words), file=file)


def tests(lines):
    return {tuple(line.split("\t")[1:3]) for line in lines if line.count("\t") >= 2}


def finish(record, history):
    """The history has the records of the latest runs, each after a line `run TIME`."""
    path = Path(record)
    lines = path.read_text().splitlines() if path.exists() else []
    # Only at the start of a line: a failure may speak of a run too.
    past = re.split(r"^run ", Path(history).read_text(), flags=re.MULTILINE)[1:] if Path(history).exists() else []
    past = past[-(RUNS - 1) :]
    print(f"== Second tries of tests in real time: {len(lines)} ==")
    print("\n".join(lines) or "none")
    whole = Path(f"{record}.log")
    if whole.exists():
        print(whole.read_text())
    often = {test: sum(test in tests(run.splitlines()) for run in past) + 1 for test in tests(lines)}
    often = {test: count for test, count in often.items() if count >= TOO_OFTEN}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    Path(history).write_text("".join(f"run {run}" for run in past) + "".join(f"{line}\n" for line in [f"run {now}", *lines]))
    for (suite, test), count in sorted(often.items()):
        print(f"{suite}: {test} needed a second try in {count} of the last {len(past) + 1} runs. Find its cause and mend it.")
    return 1 if often else 0


match sys.argv[1:]:
    case ["watch", record]:
        watch(record)
    case ["note", record, suite, test, message]:
        note(record, suite, test, message)
    case ["finish", record, history]:
        sys.exit(finish(record, history))
    case _:
        sys.exit(__doc__)
