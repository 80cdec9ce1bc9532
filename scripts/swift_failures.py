#!/usr/bin/env python3
"""Reads the event stream of a run of Swift tests (ST-0002) and tells what failed.

Usage: swift_failures.py print EVENTS          each failure, with the line that runs its test alone
       swift_failures.py filter EVENTS MOST    a filter for the tests that failed; nothing where more than MOST did, or one that never ended
       swift_failures.py note EVENTS RECORD    writes a line about each into the record of second tries (scripts/retries.py)

A parameterised test whose argument is called `seed` runs with one seed alone where SIMULATION_SEED names it (`seeds` in Tests/TestSupport).
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def failures(events):
    """The tests that failed, each with its messages."""
    found, running = {}, set()
    for line in Path(events).read_text(errors="replace").splitlines() if Path(events).exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # The last line of a run that crashed.
        if entry.get("kind") != "event":
            continue
        payload = entry["payload"]
        test = payload.get("testID", "")
        # A suite has no function.
        if "/" in test and payload["kind"] == "testStarted":
            running.add(test)
        elif payload["kind"] == "testEnded":
            running.discard(test)
        elif payload["kind"] == "issueRecorded" and not payload["issue"].get("isKnown"):
            place = payload["issue"].get("sourceLocation") or {}
            text = "; ".join(message["text"] for message in payload.get("messages", []))
            if case := payload.get("_testCase"):
                text = f"with {arguments(test, case['displayName'])}: {text}"
            found.setdefault(test, []).append(f"{place.get('fileID', '?')}:{place.get('line', '?')}: {text}")
    for test in {test for test in running if not any(other != test and other.startswith(test) for other in running)}:
        found.setdefault(test, []).append("The test did not end: it hung, or the process crashed in it.")
    return found


def arguments(test, values):
    """The arguments of a case by their labels: `seed = 7`."""
    labels = re.findall(r"(\w+):", re.sub(r".*\(", "", name(test)))
    return ", ".join(f"{label} = {value}" for label, value in zip(labels, values.split(", ")))


def name(test):
    """TARGET.SUITE/FUNCTION of an id, which has the place in the source behind it."""
    return re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test)


def pattern(test):
    """A filter for one test: the names of raw identifiers have signs that mean something in a regular expression."""
    return "^" + re.sub(r"[^A-Za-z0-9_/]", ".", name(test)) + "(/|$)"


def alone(test, messages):
    seed = re.search(r"\bseed = (\d+)", " ".join(messages))
    return (f"SIMULATION_SEED={seed[1]} " if seed else "") + f"swift test --filter '{pattern(test)}'"


def show(events):
    for test, messages in failures(events).items():
        print(f"✘ {name(test)}")
        for message in messages[:5]:
            print(f"    {message[:400]}")
        if len(messages) > 5:
            print(f"    and {len(messages) - 5} more")
        print(f"  alone: {alone(test, messages)}")


def choose(events, most):
    found = failures(events)
    if len(found) <= int(most):
        print("|".join(pattern(test) for test in found))


def note(events, record):
    retries = Path(__file__).with_name("retries.py")
    for test, messages in failures(events).items():
        subprocess.run([retries, "note", record, "swift", name(test), messages[0]], check=True)


match sys.argv[1:]:
    case ["print", events]:
        show(events)
    case ["filter", events, most]:
        choose(events, most)
    case ["note", events, record]:
        note(events, record)
    case _:
        sys.exit(__doc__)
