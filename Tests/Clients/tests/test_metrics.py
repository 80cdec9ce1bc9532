"""What scripts/deploy has for operators: a real Prometheus reads a server with a call, and every query of it is run."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import time

import pytest
from websockets.sync.client import connect

from support.prometheus import DEPLOY, IN_CLUSTERS, RULES, Prometheus, check_queries, dashboards, panels, promtool, selectors
from support.server import PROGRAM, ROOT, Server, free_port

TOKEN = "the administrator of this server"
PAGES = ROOT / "Sources" / "Gateway" / "Gateway.docc"

# Panels that have no data in this call, and why.
NO_DATA = {
    ("tessera-overview.json", "Certificate ends in"): "the server has no HTTPS here",
    ("tessera-overview.json", "Failed connections"): "none failed, and a reason appears with its first",
    ("tessera-recordings.json", "Time until the reserve is reached"): "Prometheus needs an hour of a shrinking disk",
}
# Series that alerts read and that a call like this does not have, and why.
NO_SERIES = {
    "tessera_certificate_expiry_timestamp_seconds": "the server has no HTTPS here",
    "up": "there is no etcd here",
    **{f"tessera_cluster_{name}": "the server is alone; test_deploy.py has a cluster" for name in (
        "state", "nodes", "lease_margin_seconds", "placements_total", "store_errors_total", "proxied_total")},
}


@pytest.fixture
def needs_prometheus():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        from tests.conftest import cannot_run
        cannot_run("this machine has no prometheus")


def documented():
    """{name: type} of the page of all metrics."""
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", (PAGES / "Metrics.md").read_text(), re.MULTILINE))


@pytest.mark.usefixtures("needs_prometheus")
def test_the_alerts_are_well_formed_and_tested_and_say_what_to_do():
    folder = DEPLOY / "prometheus"
    for result in [promtool("check", "rules", "tessera.rules.yml", cwd=folder), promtool("test", "rules", "tessera.test.yml", cwd=folder)]:
        assert result.returncode == 0, result.stdout + result.stderr
    rules, tests = RULES.read_text(), (folder / "tessera.test.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) == len(set(alerts)) > 15
    headings = re.findall(r"^## (\w+)$", (PAGES / "Runbook.md").read_text(), re.MULTILINE)
    for text in re.split(r"- alert: ", rules)[1:]:
        name = text.split()[0]
        assert f"alertname: {name}\n" in tests, f"{name} has no test"
        assert f"exp_labels: {{ severity: {re.search(r'severity: (page|ticket)', text)[1]}" in tests
        assert name in headings, f"{name} has no heading in Runbook.md"
        assert f'runbook: "Runbook.md#{name.lower()}"' in text, name
        summary = re.search(r'summary: "(.*)"', text)[1]
        assert any(f"$labels.{label}" in summary for label in ("instance", "room", "job")), name
        assert re.search(r": \w+ |\. \w+", summary), f"{name}: the summary says nothing to do"
    assert {name for name in headings if name.startswith("Tessera")} == set(alerts)


def test_the_dashboards_are_whole():
    boards = dashboards()
    assert len({board["uid"] for board in boards.values()}) == len(boards) >= 3
    for name, board in boards.items():
        variables = {variable["name"]: variable for variable in board["templating"]["list"]}
        assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
        ids = [panel["id"] for panel in board["panels"]] + [panel["id"] for row in board["panels"] for panel in row.get("panels", [])]
        assert len(ids) == len(set(ids)), name
        titles = [panel["title"] for panel in panels(board)]
        assert len(titles) == len(set(titles)) > 5, name
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
            assert place["x"] + place["w"] <= 24 and not cells & taken, (name, panel["title"])
            taken |= cells
        for panel in panels(board):
            where = (name, panel["title"])
            assert panel["fieldConfig"]["defaults"]["unit"], where
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, where
            refs = [target["refId"] for target in panel["targets"]]
            assert refs and len(refs) == len(set(refs)), where
            for target in panel["targets"]:
                assert target["datasource"]["uid"] == "${datasource}", where
                used = set(re.findall(r"\$\{?(\w+)", target["expr"]))
                assert used <= set(variables) | {"__rate_interval"}, (where, used)
                for series in selectors(target["expr"]):
                    base = re.sub(r"_(bucket|sum|count)$", "", series.split("{")[0])
                    assert base in documented() or base == "up", (where, series)
        for series in selectors(json.dumps(variables)):
            assert series.split("{")[0] in documented(), series


class Call:
    """Two people in room `call`, by `tessera call`, until the end of the block."""

    def __init__(self, server):
        self.processes = [
            subprocess.Popen(
                [PROGRAM, "call", server.url, "--room", "call", "--name", name, "--codec", codec], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for name, codec in [("Ann", "h264"), ("Ben", "vp8")]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.send_signal(signal.SIGINT)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def check_alerts(prometheus):
    """Every alert is evaluated, none of this good call fires but those that it is for, and all series that they read exist."""
    groups = prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == RULES.read_text().count("- alert:")
    for rule in rules:
        assert rule["health"] == "ok" and not rule.get("lastError"), rule
        prometheus.query(rule["query"])
        for series in selectors(rule["query"]):
            if series.split("{")[0] not in NO_SERIES:
                assert prometheus.query(series), f"{rule['name']} reads {series}, which is not there"
    firing = {rule["name"] for rule in rules if rule["state"] == "firing"}
    assert firing <= {"TesseraOverloaded", "TesseraRefusesRooms", "TesseraAudioLate"}, firing


@pytest.mark.usefixtures("needs_prometheus")
def test_prometheus_reads_a_call_and_every_query_has_data(tmp_path):
    config = f"auth: {{adminToken: '{TOKEN}'}}\nmetrics: {{rooms: 2}}\nrecording: {{preRoll: 3s}}\n"
    # A receiver that nobody is: its events wait.
    config += f"webhooks: [{{url: 'http://127.0.0.1:{free_port()}/', secret: whsec_{'QUFB' * 8}}}]\n"
    with Server(tmp_path / "server", config=config) as server:
        server.headers["Authorization"] = f"Bearer {TOKEN}"
        server.json("PUT", "/api/rooms/full", {"maxParticipants": 1}, expect=201)
        with Call(server), only_seat(server), Prometheus(tmp_path / "prometheus", server, TOKEN) as prometheus:
            result = promtool("check", "config", prometheus.config)
            assert result.returncode == 0, result.stdout + result.stderr
            refuse(server)
            prometheus.until('tessera_room_participants{room="call"} == 2', 20, "two people in the call")
            server.json("PATCH", "/api/rooms/call/participants/" + person(server, "Ann"), {"name": "Anna"})
            recording = server.json("POST", "/api/rooms/call/recordings", {}, expect=201)
            prometheus.until('min_over_time(tessera_room_audio_delay_seconds{room="call", over="mean"}[3s]) > 0', 20, "audio")
            prometheus.until('rate(tessera_room_pictures_shown_seconds_total{room="call"}[5s]) > 1.2', 20, "pictures")
            prometheus.until('rate(tessera_room_audio_played_seconds_total{room="call"}[5s]) > 1.5', 20, "audio that is played")
            prometheus.until('sum(rate(tessera_picture_delay_seconds_count{part="total"}[5s])) > 5', 20, "pictures that leave")
            prometheus.until('min_over_time(tessera_room_audio_video_offset_seconds{room="call", over="mean"}[2s])', 20, "lips")

            assert check_queries(prometheus, {*NO_DATA, *IN_CLUSTERS}) > 70
            check_alerts(prometheus)
            check_figures(prometheus)
            check_page(server)

            server.json("POST", f"/api/recordings/{recording['id']}/stop", {})
            # What outsiders read, and what remains of a room that has ended.
            server.json("PUT", "/api/rooms/call", {"pin": "2718"})
            own, server.headers = server.headers, {}
            outside = server.get("/metrics")[2].decode()
            server.headers = own
            assert "tessera_rooms 2\n" in outside and 'room="call"' not in outside and 'tessera_room_participants{room="#other"} 2' in outside
            assert 'room="call"' in server.get("/metrics")[2].decode()
            assert server.request("DELETE", "/api/rooms/call")[0] == 204
            assert 'room="call"' not in server.get("/metrics")[2].decode()
            deadline = time.monotonic() + 5
            while prometheus.query('{room="call"}'):
                assert time.monotonic() < deadline, "the series of a room outlive it"
                time.sleep(0.2)


@contextlib.contextmanager
def only_seat(server, expect="joined"):
    """Joins room `full`, which has one seat, until the end of the block."""
    with connect(server.signal_url) as socket:
        socket.send(json.dumps({"type": "join", "room": "full", "name": "Eve"}))
        answer = json.loads(socket.recv(5))
        assert answer["type"] == expect, answer
        yield answer


def refuse(server):
    """Three joins that are refused, within some seconds, so that Prometheus sees a rate."""
    for _ in range(3):
        with only_seat(server, expect="error") as error:
            assert error["code"] == "room_full", error
        time.sleep(0.5)


def person(server, name):
    return next(each["id"] for each in server.json("GET", "/api/rooms/call")["participants"] if each["name"] == name)


def check_figures(prometheus):
    """The figures of a call of two on one machine."""
    def value(expression):
        found = prometheus.query(expression)
        assert len(found) == 1, f"{expression}: {found}"
        return found[0][1]
    call = '{room="call"}'
    assert value("tessera_rooms") == 2 and value("tessera_participants") == 3 and value("tessera_rooms_with_series") == 2
    assert value('sum(tessera_rendition_members{room="call", view="main"})') >= 2
    assert 0.005 < value(f"tessera_room_picture_delay_seconds_sum{call} / tessera_room_picture_delay_seconds_count{call}") < 1
    for over in ["mean", "worst"]:
        assert 0.01 < value(f'tessera_room_audio_delay_seconds{{room="call", over="{over}"}}') < 0.5
        assert abs(value(f'tessera_room_audio_video_offset_seconds{{room="call", over="{over}"}}')) < 0.2
        assert 2000 < value(f'tessera_room_link_estimate_bytes_per_second{{room="call", over="{over}"}}') < 1e8
        assert 0 < value(f'tessera_room_round_trip_seconds{{room="call", over="{over}"}}') < 0.5
    assert not prometheus.query('tessera_room_audio_delay_seconds{room="full"}'), "who sends no audio has no delay of it"
    # Two people: two seconds of audio and of pictures in each second.
    assert 1 < value(f"rate(tessera_room_audio_played_seconds_total{call}[5s])") < 3
    assert 0.5 < value(f"rate(tessera_room_pictures_shown_seconds_total{call}[5s])") < 3
    for direction in ["in", "out"]:
        rate = f'rate(tessera_room_media_%s_total{{room="call", direction="{direction}"}}[5s])'
        assert 50 < value(rate % "packets") < 2000 and 5000 < value(rate % "bytes") < 2_000_000
        assert value(rate % "packets_lost") <= 0.2 * value(rate % "packets")
    # The only room that media runs in is all rooms together.
    for name in ["audio_played_seconds_total", "media_packets_total", "pictures_shown_seconds_total"]:
        assert value(f"sum(tessera_room_{name}{call}) / sum(tessera_{name})") == pytest.approx(1)


def check_page(server):
    """Every name of a real page, with its type, is in Metrics.md, and promtool finds it well formed."""
    page = server.get("/metrics")[2].decode()
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    known = documented()
    assert {name: kind for name, kind in types.items() if known.get(name) != kind} == {}
    lines = [line.rsplit(" ", 1)[0] for line in page.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)), "no series stands there twice"
    result = promtool("check", "metrics", input=page)
    assert result.returncode == 0, result.stdout + result.stderr
