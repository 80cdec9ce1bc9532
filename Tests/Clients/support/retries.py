"""Writes down each test that needed a second try: a line in the file that `RETRIES_RECORD` names.

A line has, separated by tabs: the time (ISO 8601, UTC), the suite ("clients"), the test, the load average of the last minute, the part of the
processors' time that the host gave to others while the test ran (`steal` of proc(5), in per cent), and the first line of the failure. The whole failure, with what the
test had printed, stands in a file beside it whose name ends in `.log`: the second try leaves nothing else of the first.
"""

import datetime
import os


def processor_times():
    """(stolen, all) ticks since the machine's start; without proc(5), zeros."""
    try:
        with open("/proc/stat") as file:
            ticks = [int(field) for field in file.readline().split()[1:9]]
    except OSError:
        return 0, 0
    return ticks[7], sum(ticks)


def first_line(report):
    """What went wrong, in one line: the failed assertion or the exception."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr)).splitlines()
    return " ".join(next((line for line in lines if line.strip()), "").split())[:300]


def line(test, load, steal, failure, now=None):
    now = now or datetime.datetime.now(datetime.UTC)
    return "\t".join((now.strftime("%Y-%m-%dT%H:%M:%SZ"), "clients", test, f"{load:.1f}", f"{steal:.1f}", failure)) + "\n"


# The characters of a failure that are kept, from its end.
WHOLE = 20_000


class Retries:
    def __init__(self, path):
        self.path = path
        self.began = processor_times()

    def pytest_runtest_logstart(self):
        self.began = processor_times()

    def pytest_runtest_logreport(self, report):
        # pytest-rerunfailures' word for a failure that it tries again.
        if report.outcome != "rerun":
            return
        now = processor_times()
        steal = 100 * (now[0] - self.began[0]) / max(now[1] - self.began[1], 1)
        self.began = now
        # One write of less than a page, so that lines of lanes beside each other do not mix.
        with open(self.path, "a") as file:
            file.write(line(report.nodeid, os.getloadavg()[0], steal, first_line(report)))
        with open(f"{self.path}.log", "a") as file:
            printed = "\n".join(f"-- {title} --\n{text}" for title, text in report.sections)
            file.write(f"== {report.nodeid} ==\n{(report.longreprtext + chr(10) + printed)[-WHOLE:]}\n")


def pytest_configure(config):
    if path := os.environ.get("RETRIES_RECORD"):
        config.pluginmanager.register(Retries(path), "tessera-retries")
