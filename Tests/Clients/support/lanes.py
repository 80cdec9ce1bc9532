"""Lanes: several processes of pytest that share out the tests of one run, so that the cores are kept busy by tests that wait and tests that work.

Each process is a lane, in a network of its own (`in_namespace.sh`), and is given the same arguments. `CLIENT_LANES` names the folder in which they
agree on who runs what; without it one process runs everything, in the order of the files. `lanes.sh` starts them.

A lane takes a test at a time, or all tests of a module that share a fixture of the module's, so that this starts once. What it took it measures:
seconds, and the cores that these tests and their programs kept busy on average. Both stay in the folder for the next run. The rules:

- `alone`: nothing else runs but what waits: tests of less than `STILL` cores each, with less than `BESIDE_ALONE` together. These come first,
  the longest before all, and not the heaviest, while the lanes start their browsers. Those of them that hardly work (`LIGHT`), and wait for a slow
  line or a clock, run beside each other, all with less than `CALM` together.
- Otherwise the longest that is left and fits: the cores of all that run stay below 0.7 of the machine's (`CLIENT_CORES`), since what keeps one
  core busy on average needs more than that now and then, and what was measured beside others had less than it needs. Of those that are not quiet
  (`QUIET`) no more run than the machine has cores, and they go before quiet ones: lanes beyond the number of cores are for tests that wait. With a
  lane more, 0.75 and the heaviest first the stage was a tenth shorter, and the machine's load reached 21.
- What no run has measured counts by its mark, as most tests of that mark measure: a `patient` test waits more than it works. On a machine of two
  cores two of them fit, or a first run there would take twice as long as the next.
"""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

import pytest

# What a test counts as that no run has measured: its seconds, and its cores by its kind.
SECONDS_PER_TEST = 5
CORES = {"alone": 1, "working": 0.6, "patient": 0.4}
# The cores below which a test disturbs no other that works, and below which none that measures; and those of all beside one that measures.
QUIET, STILL, BESIDE_ALONE = 0.3, 0.2, 0.3
# The cores below which a test that is alone disturbs no other of its kind, and those of all that run beside one of these, with it.
LIGHT, CALM = 0.2, 0.4


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


def processor_seconds(of=None):
    """The processor time of a process (without `of`, this one) and of all below it, with those of them that ended."""
    ticks, children = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of the program, in brackets, may hold anything.
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            process = int(stat.parent.name)
            ticks[process] = sum(int(field) for field in fields[11:15])
            children.setdefault(int(fields[1]), []).append(process)
    family = [of or os.getpid()]
    for process in family:
        family += children.get(process, [])
    return sum(ticks.get(process, 0) for process in family) / os.sysconf("SC_CLK_TCK")


def is_alone(name):
    return name.endswith(" alone")


def choose(expected, taken, finished, cores, workers):
    """The share to run next; None where one must wait for the others, and "" where nothing is left.

    `expected` has each share's seconds and cores, by its name; `taken` are those that run or ran, `finished` those that ran. Of those that are not
    quiet, `workers` may run at a time.
    """
    left = [name for name in expected if name not in taken]
    if not left:
        return ""
    running = {name: expected[name][1] for name in taken if name not in finished and name in expected}
    alone = [share for name, share in running.items() if is_alone(name)]
    beside = [share for name, share in running.items() if not is_alone(name)]
    if alone or any(map(is_alone, left)):
        is_still = all(share <= STILL for share in beside)

        def fits(name):
            share = expected[name][1]
            if not is_alone(name):
                return bool(alone) and share <= STILL and sum(beside) + share <= BESIDE_ALONE
            if share <= LIGHT and alone:
                return max(alone) <= LIGHT and sum(running.values()) + share <= CALM
            return not alone and is_still and sum(beside) <= BESIDE_ALONE
        fit = list(filter(fits, left))
    elif running:
        places = workers - sum(share > QUIET for share in running.values())
        fit = [name for name in left if sum(running.values()) + expected[name][1] <= cores and (places > 0 or expected[name][1] <= QUIET)]
    else:
        fit = left
    return max(fit, key=lambda name: (expected[name][1] > QUIET and not is_alone(name), expected[name][0]), default=None)


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
        """The seconds and cores of each share in runs before."""
        try:
            return json.loads((self.folder / "measured.json").read_text())
        except (OSError, ValueError):
            return {}

    def next(self, all_shares, cores, workers):
        """Takes a share: its name, None or "" as `choose` says."""
        history = self.history()
        expected = {name: history.get(name, [SECONDS_PER_TEST * len(items), CORES[name.split()[-1]]]) for name, items in all_shares.items()}
        with self.state() as state:
            # A lane that died runs nothing any more, and its tests are lost: its exit status is the fault.
            for name, process in state["taken"].items():
                if name not in state["finished"] and not is_alive(process):
                    state["finished"][name] = None
            name = choose(expected, state["taken"], state["finished"], cores, workers)
            if name:
                state["taken"][name] = os.getpid()
        return name

    def finish(self, name, seconds, processor):
        with self.state() as state:
            state["finished"][name] = [round(seconds, 1), round(processor / max(seconds, 0.1), 2)]
            complete = self.history() | {key: value for key, value in state["finished"].items() if value}
            partial = self.folder / f"measured.{os.getpid()}"
            partial.write_text("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(complete.items())) + "\n}\n")
            partial.rename(self.folder / "measured.json")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    folder = os.environ.get("CLIENT_LANES")
    if not folder or session.config.option.collectonly or session.testsfailed:
        return None
    agreement, all_shares = Agreement(folder), shares(session.items)
    workers = os.cpu_count() or 1
    cores = float(os.environ.get("CLIENT_CORES", 0.7 * workers))
    while (name := agreement.next(all_shares, cores, workers)) != "":
        if name is None:
            time.sleep(0.2)
            continue
        began, before = time.monotonic(), processor_seconds()
        try:
            run(session, all_shares[name])
        finally:
            agreement.finish(name, time.monotonic() - began, processor_seconds() - before)
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
