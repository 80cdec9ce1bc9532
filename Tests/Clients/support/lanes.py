"""Lanes: several processes of pytest that share out the tests of one run, so that two cores are kept busy by tests that wait and tests that work.

Each process is a lane, in a network of its own (`in_namespace.sh`), and is given the same arguments. `CLIENT_LANES` names the folder in which they
agree on who runs what; without it one process runs everything, in the order of the files. `lanes.sh` starts them.

A lane takes a test at a time, or all tests of a module that share a fixture of the module's, so that this starts once. It takes the longest that
is left, by the seconds of the run before, which stay in the folder. Three rules say what may run beside what:

- `alone`: nothing else runs. These come first.
- no mark: the test encodes, decodes or drives browsers. There is one of these at a time for every two cores of the machine: server and clients
  keep two busy.
- `patient`: the test waits more than it works. Every other lane takes these.
"""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

import pytest

# What a test counts as that no run has measured.
SECONDS_PER_TEST = 5


def kind(item):
    return next((mark for mark in ("alone", "patient") if item.get_closest_marker(mark)), "working")


def module(item):
    return item.nodeid.split("::")[0]


def shares_fixture(item):
    return any(definitions[-1].scope in ("module", "class", "package") for definitions in item._fixtureinfo.name2fixturedefs.values())


def shares(items):
    """What a lane takes at a time, by its name: the test's or the module's, and its kind."""
    found = {}
    for item in items:
        found.setdefault(f"{module(item) if shares_fixture(item) else item.nodeid} {kind(item)}", []).append(item)
    return found


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def choose(names, taken, finished, seconds, cores):
    """The share to run next; None where one must wait for the others, and "" where nothing is left.

    `taken` are those that run or ran, `finished` those that ran.
    """
    left = [name for name in names if name not in taken]
    if not left:
        return ""
    running = [name.split()[-1] for name in taken if name not in finished]
    if "alone" in running:
        return None
    if any(name.endswith(" alone") for name in left):
        left = [name for name in left if name.endswith(" alone")] if not running else []
    elif running.count("working") >= cores:
        left = [name for name in left if name.endswith(" patient")]
    return max(left, key=lambda name: seconds[name], default=None)


class Agreement:
    """What the lanes of one run know of each other: a file that one of them has locked while it reads and writes."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def state(self):
        with open(self.folder / "state.json", "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            state = json.loads(file.read() or '{"taken": {}, "finished": {}}')
            yield state
            file.truncate(0)
            file.write(json.dumps(state))

    def history(self):
        """The seconds of each share in runs before."""
        try:
            return json.loads((self.folder / "seconds.json").read_text())
        except (OSError, ValueError):
            return {}

    def next(self, all_shares, cores):
        """Takes a share: its name, None or "" as `choose` says."""
        history = self.history()
        seconds = {name: history.get(name, SECONDS_PER_TEST * len(items)) for name, items in all_shares.items()}
        with self.state() as state:
            # A lane that died runs nothing any more, and its tests are lost: its exit status is the fault.
            for name, process in state["taken"].items():
                if name not in state["finished"] and not is_alive(process):
                    state["finished"][name] = 0
            name = choose(list(all_shares), state["taken"], state["finished"], seconds, cores)
            if name:
                state["taken"][name] = os.getpid()
        return name

    def finish(self, name, seconds):
        with self.state() as state:
            state["finished"][name] = round(seconds, 1)
            if seconds:
                complete = self.history() | {key: value for key, value in state["finished"].items() if value}
                partial = self.folder / f"seconds.{os.getpid()}"
                partial.write_text(json.dumps(complete, indent=0, sort_keys=True))
                partial.rename(self.folder / "seconds.json")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    folder = os.environ.get("CLIENT_LANES")
    if not folder or session.config.option.collectonly or session.testsfailed:
        return None
    agreement, all_shares = Agreement(folder), shares(session.items)
    cores = int(os.environ.get("CLIENT_CORES", max((os.cpu_count() or 1) // 2, 1)))
    while (name := agreement.next(all_shares, cores)) != "":
        if name is None:
            time.sleep(0.2)
            continue
        began = time.monotonic()
        try:
            run(session, all_shares[name])
        finally:
            agreement.finish(name, time.monotonic() - began)
    return True


def run(session, items):
    # What the module shares ends with its last test, and what the session shares does not: for that the next test is one of another module.
    elsewhere = next((item for item in session.items if module(item) != module(items[0])), None)
    for index, item in enumerate(items):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=items[index + 1] if index + 1 < len(items) else elsewhere)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
