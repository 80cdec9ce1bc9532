"""A dozen of the attacks of `./scripts/bench --attack`, short, with limits that a busy machine meets."""

import json
import os
import subprocess

import pytest

from support.server import PROGRAM

BENCH = os.environ.get("BENCH")

# One attack for each kind of limit; the whole table takes twenty minutes.
ATTACKS = [
    "tmmbr-63-0", "tmmbr-46-511", "twcc-lie-4", "ssrc-flood-rtp", "sdp-bomb-once", "sdp-bomb-signal", "h264-units-many", "sctp-fragments",
    "http-silent-256", "tcp-media-churn", "signal-json-text", "half-open",
]

# A turn of the loop that takes too long causes a gap of hundreds of milliseconds and more.
LONGEST_SILENCE_MS = 250
LONGEST_STILL_MS = 1500


@pytest.fixture(scope="module")
def rows():
    if not BENCH:
        pytest.skip("BENCH names no benchmark program")
    result = subprocess.run(
        [BENCH, "attack", "--server", PROGRAM, "--only", ",".join(ATTACKS), "--seconds", "3", "--quick", "--json"],
        capture_output=True, text=True, timeout=420)
    assert result.returncode == 0, result.stderr[-4000:]
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_call_goes_on_while_another_attacks(rows, name):
    row = rows[name]
    undisturbed = rows["nothing"]["audioGap"]
    assert row["verdict"] != "died", row
    assert row["audioGap"] < LONGEST_SILENCE_MS + undisturbed, row
    assert row["pictureGap"] < LONGEST_STILL_MS, row
    assert row["checks"] == 0 or row["failedChecks"] < row["checks"] / 2, row
    assert row["newcomerAfterwards"] >= 0, row
    assert row["memoryPeak"] < row["memoryBefore"] + row["memoryLimit"], row
