"""How the lanes share out the modules, and what is written of second tries: by runs of pytest over modules that the tests write."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import CLIENTS
from support.lanes import choose, processor_seconds
from support.retries import line

# The seconds and cores of each.
EXPECTED = {
    "a working": [5, 1], "b working": [9, 1], "c patient": [3, 0.4], "d patient": [7, 0.1], "e alone": [1, 1], "f working": [4, 0.5], "g patient": [2, 0.02],
}
MARKED = '''
import json, os, time, pytest
from pathlib import Path

def note(name):
    began = time.monotonic()
    time.sleep(0.5)
    with open(os.environ["NOTES"], "a") as file:
        file.write(json.dumps([name, began, time.monotonic(), os.getpid()]) + "\\n")
'''


@pytest.mark.parametrize("taken, finished, expected", [
    ([], [], "e alone"),
    # What waits runs beside those that are alone, and they beside it, as long as all of it together waits.
    (["e alone"], [], "d patient"),
    (["e alone", "d patient"], [], "g patient"),
    (["e alone", "d patient", "g patient"], [], None),
    (["d patient", "g patient"], [], "e alone"),
    (["c patient"], [], None),
    (["e alone", "g patient"], ["e alone", "g patient"], "b working"),
    (["e alone", "g patient", "b working"], ["e alone", "g patient"], "f working"),
    (["e alone", "g patient", "b working", "f working"], ["e alone", "g patient"], None),
    # Two that work at most, and such before one that is quiet, though that is longer.
    (["e alone", "g patient", "b working", "f working"], ["e alone", "g patient", "f working"], "c patient"),
    (["e alone", "g patient", "b working", "f working", "c patient"], ["e alone", "g patient", "f working"], "d patient"),
    (["e alone", "g patient", "b working", "f working", "c patient", "d patient"], ["e alone", "g patient", "b working", "f working"], "a working"),
    (list(EXPECTED), [], ""),
])
def test_the_longest_that_fits_goes_first_and_alone_is_alone(taken, finished, expected):
    assert choose(EXPECTED, taken, finished, cores=1.5, workers=2) == expected


def test_alone_waits_for_those_that_work_and_nothing_new_starts_before_it():
    assert choose({name: EXPECTED[name] for name in ("a working", "e alone", "c patient")}, ["a working"], [], cores=9, workers=2) is None


@pytest.mark.parametrize("taken, expected", [
    ([], "bad day alone"),
    # Beside what waits, although it is alone, runs another such test, and never one that works.
    (["lobby alone"], "camera alone"),
    (["camera alone"], "lobby alone"),
    (["camera alone", "lobby alone"], "quiet patient"),
    (["bad day alone"], "quiet patient"),
    (["forwarded alone"], "quiet patient"),
    (["forwarded alone", "quiet patient"], None),
])
def test_what_waits_alone_runs_beside_another_that_does(taken, expected):
    shares = {
        "bad day alone": [74, 0.31], "lobby alone": [18, 0.1], "camera alone": [12, 0.2], "forwarded alone": [25, 1.1], "page working": [90, 0.5],
        "quiet patient": [5, 0.1],
    }
    assert choose(shares, taken, [], cores=1.4, workers=2) == expected


def test_what_needs_more_than_the_machine_has_runs_by_itself():
    assert choose({"big working": [9, 4], "small patient": [1, 0.1]}, [], [], cores=1.5, workers=2) == "big working"
    assert choose({"big working": [9, 4], "small patient": [1, 0.1]}, ["big working"], [], cores=1.5, workers=2) is None


def test_the_processor_time_of_programs_that_run_and_ended_counts():
    # A family of its own: of this process's the programs of other tests end meanwhile.
    spin = "import time\nwhile time.process_time() < 0.6: pass\nprint(flush=True)\n"
    parent = f"import subprocess, sys\nrun = [sys.executable, '-c', {spin!r}]\nsubprocess.run(run)\nrun[2] += 'time.sleep(60)'\nsubprocess.run(run)\n"
    family = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert family.stdout.readline() and family.stdout.readline()
        assert 1.1 <= processor_seconds(of=family.pid) < 5
    finally:
        os.killpg(family.pid, signal.SIGKILL)
        family.communicate()


def lane(folder, *arguments, **environment):
    """A process of pytest over the modules of a folder, as the tests' own runs start it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CLIENT_", "TESSERA_"))} | environment
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-c", str(CLIENTS / "pyproject.toml"), "--rootdir", str(folder), "-p", "no:cacheprovider", *arguments, str(folder)],
        cwd=CLIENTS, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_lanes_run_every_test_once_with_what_a_module_shares_and_remember_the_seconds(tmp_path):
    modules, notes, agreed = tmp_path / "modules", tmp_path / "notes", tmp_path / "lanes"
    modules.mkdir()
    shared = '@pytest.fixture(scope="module")\ndef shared():\n    with open(os.environ["NOTES"] + ".shared", "a") as file:\n        file.write("started\\n")\n'
    for name in ("one", "two", "three"):
        tests = [f"def test_{name}_{number}(shared):\n    note('{name}')\n" for number in range(2)]
        (modules / f"test_{name}.py").write_text(MARKED + shared + "\n".join(tests))
    (modules / "test_four.py").write_text(MARKED + "pytestmark = pytest.mark.alone\n\ndef test_alone():\n    note('alone')\n")
    environment = {"CLIENT_LANES": str(agreed), "NOTES": str(notes), "CLIENT_CORES": "2.5"}
    lanes = [lane(modules, "-q", **environment) for _ in range(2)]
    outputs = [each.communicate(timeout=60)[0] for each in lanes]
    assert [each.returncode for each in lanes] == [0, 0], outputs
    ran = [json.loads(each) for each in notes.read_text().splitlines()]
    assert sorted(name for name, *_ in ran) == ["alone", "one", "one", "three", "three", "two", "two"], outputs
    for name in ("one", "two", "three"):
        assert len({process for module, *_, process in ran if module == name}) == 1, "a module is in one lane"
    (alone,) = (each for each in ran if each[0] == "alone")
    assert not [each for each in ran if each is not alone and each[1] < alone[2] and alone[1] < each[2]], "something ran beside it"
    assert len((tmp_path / "notes.shared").read_text().splitlines()) == 3
    history = json.loads((agreed / "measured.json").read_text())
    assert set(history) == {"test_one.py working", "test_two.py working", "test_three.py working", "test_four.py::test_alone alone"}
    assert all(0.4 < seconds < 30 and 0 <= cores < 2 for seconds, cores in history.values()), history


def test_a_lane_that_dies_leaves_the_others_their_work_and_its_status_says_so(tmp_path):
    modules, agreed = tmp_path / "modules", tmp_path / "lanes"
    modules.mkdir()
    (modules / "test_dies.py").write_text(MARKED + "pytestmark = pytest.mark.alone\n\ndef test_dies():\n    os.kill(os.getpid(), 9)\n")
    (modules / "test_lives.py").write_text("def test_lives():\n    pass\n")
    first = lane(modules, "-q", CLIENT_LANES=str(agreed))
    output = first.communicate(timeout=60)[0]
    assert first.returncode == -9, output
    second = lane(modules, "-q", CLIENT_LANES=str(agreed))
    output = second.communicate(timeout=60)[0]
    assert second.returncode == 0 and "1 passed" in output, output


def test_a_second_try_is_written_down_with_time_load_steal_and_the_failure(tmp_path):
    modules, file = tmp_path / "modules", tmp_path / "retries.tsv"
    modules.mkdir()
    (modules / "test_shaky.py").write_text(
        "tries = []\n\ndef test_shaky():\n    tries.append(1)\n    print('try', len(tries))\n    assert len(tries) > 1, 'not the\\tfirst time'\n\ndef test_steady():\n    pass\n")
    began = time.time()
    run = lane(modules, "-q", "--reruns", "1", RETRIES_RECORD=str(file))
    output = run.communicate(timeout=60)[0]
    assert run.returncode == 0, output
    (fields,) = [each.split("\t") for each in file.read_text().splitlines()]
    assert fields[1:3] == ["clients", "test_shaky.py::test_shaky"] and fields[5] == "AssertionError: not the first time", fields
    assert abs(time.mktime(time.strptime(fields[0], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone - began) < 60
    assert float(fields[3]) >= 0 and 0 <= float(fields[4]) <= 100
    whole = Path(f"{file}.log").read_text()
    assert "test_shaky.py::test_shaky" in whole and "> " in whole and "try 1" in whole and "try 2" not in whole, whole
    assert line("a", 1.25, 0, "b").count("\t") == 5
