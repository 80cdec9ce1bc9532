"""A real Prometheus (Debian's package) for one test, with the configuration of scripts/deploy, and always ended with the test."""

import json
import math
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from support.server import ROOT, free_port

DEPLOY = ROOT / "scripts" / "deploy"
RULES = DEPLOY / "prometheus" / "tessera.rules.yml"

# Panels that only a cluster has data for: test_deploy.py has one.
IN_CLUSTERS = {("tessera-overview.json", title) for title in (
    "Standing of nodes", "Nodes in the cluster", "Rooms owned", "Lease margin", "Placements", "Errors of the store", "Passed on to other nodes",
    "Open pipes",
)}


class Prometheus:
    """`with Prometheus(tmp_path, server, token) as prometheus:` reads the server each second and evaluates the alerts."""

    def __init__(self, directory, server, token):
        self.directory = directory
        self.port = free_port()
        directory.mkdir()
        shutil.copy(RULES, directory)
        (directory / "tessera.token").write_text(token)
        self.config = directory / "prometheus.yml"
        text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        for old, new in [("_interval: 15s", "_interval: 1s"), ("localhost:8080", f"127.0.0.1:{server.port}")]:
            assert old in text
            text = text.replace(old, new)
        self.config.write_text(text)

    def __enter__(self):
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.config}", f"--storage.tsdb.path={self.directory / 'data'}",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, path, **parameters):
        """The `data` of an answer; an error of Prometheus is the test's."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression):
        """[(labels, value)] of an instant query."""
        result = self.ask("query", query=expression)
        assert result["resultType"] == "vector", expression
        return [(each["metric"], float(each["value"][1])) for each in result["result"]]

    def until(self, expression, timeout, what):
        """Waits until the query has an answer."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                if found := self.query(expression):
                    return found
            except OSError:
                pass
            assert time.monotonic() < deadline, f"{what}: {(self.directory / 'log').read_text()[-3000:]}"
            time.sleep(0.2)


def promtool(*arguments, **more):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, **more)


def dashboards():
    """{file name: dashboard}"""
    return {path.name: json.loads(path.read_text()) for path in sorted((DEPLOY / "grafana").glob("*.json"))}


def panels(board):
    """The panels that show something, those of rows that are folded too."""
    for panel in board["panels"]:
        yield from panel["panels"] if panel["type"] == "row" else [panel]


def selectors(expression):
    """The series that an expression reads: names with their matchers."""
    return re.findall(r"\b((?:(?:tessera|process)_\w+|up\b)(?:\{[^}]*\})?)", re.sub(r"\{\{.*?\}\}", "", expression))


def check_queries(prometheus, without=(), only=None):
    """Runs every query of every panel, and requires data of all but those `without`: (file name, title). `only`: of these alone. Returns how many."""
    values = {"$__rate_interval": "5s", "$instance": ".*", "$room": "call"}
    count = 0
    for name, board in dashboards().items():
        for panel in panels(board):
            for target in panel["targets"]:
                expression = target["expr"]
                for variable, value in values.items():
                    expression = expression.replace(variable, value)
                found = prometheus.query(expression)
                count += 1
                where = (name, panel["title"])
                if where in without or (only is not None and where not in only):
                    continue
                assert found, f"{name}: {panel['title']}: no data for {expression}"
                assert not any(math.isnan(value) or math.isinf(value) for _, value in found), f"{name}: {panel['title']}: {found} for {expression}"
    return count
