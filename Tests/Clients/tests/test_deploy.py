"""scripts/deploy beside the pages Operations.md and Runbook.md: etcd, a cluster, manifests, and each command of the pages run for real."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from support.etcd_members import PASSWORD, ROOT_PASSWORD, EtcdMembers
from support.flashes import wait_for
from support.pages_of_docs import AS_ROOT, PAGES, blocks, shell
from support.prometheus import DEPLOY, IN_CLUSTERS, Prometheus, check_queries
from support.server import PROGRAM, ROOT, Server, free_port

TOKEN = "the administrator of this server"
CLUSTER = re.compile(r"tessera cluster|/api/cluster|/api/node/|tessera_cluster")
# What the blocks for root may call.
PROGRAMS = {
    "systemctl", "journalctl", "gcore", "dmesg", "coredumpctl", "vmstat", "openssl", "ip", "ss", "timedatectl", "sysctl", "iostat", "smartctl", "df", "ls", "mv",
    "tessera", "curl", "scripts/deploy/etcd/certificates",
}


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            from conftest import cannot_run
            if program == "kubectl":
                # Debian's own is too old for these manifests, so that scripts/packages cannot install it.
                pytest.skip("this machine has no kubectl")
            cannot_run(f"this machine has no {program}")


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(ms|s|m|h)", text).groups()
    return float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


# etcd

def test_etcd_takes_the_keys_of_tessera_from_its_user_and_nothing_from_others():
    needs("etcd", "etcdctl", "openssl")
    with EtcdMembers(quota=6 << 20) as etcd:
        key, other = (base64.b64encode(name).decode() for name in (b"/tessera/1/nodes/n1", b"/tessera/2/x"))
        status, answer = etcd.ask("/v3/auth/authenticate", {"name": "tessera", "password": PASSWORD})
        assert status == 200, answer
        token = answer["token"]
        # A token of one member is good at all.
        status, lease = etcd.ask("/v3/lease/grant", {"TTL": 6}, token, etcd.urls[1])
        assert status == 200
        put = {"key": key, "value": base64.b64encode(b"{}").decode(), "lease": lease["ID"]}
        assert etcd.ask("/v3/kv/put", put, token, etcd.urls[2])[0] == 200
        everything = {"key": base64.b64encode(b"/tessera/1/").decode(), "range_end": base64.b64encode(b"/tessera/10").decode()}
        assert etcd.ask("/v3/kv/range", everything, token)[1]["count"] == "1"
        for path, body in [
            ("/v3/kv/put", {"key": other, "value": key}), ("/v3/kv/range", {"key": other}), ("/v3/kv/range", {"key": "AA==", "range_end": "AA=="}),
            ("/v3/auth/user/list", {}), ("/v3/kv/deleterange", {"key": "AA==", "range_end": "AA=="}),
        ]:
            status, answer = etcd.ask(path, body, token)
            assert status != 200 and "permission denied" in answer["error"], (path, answer)
            assert etcd.ask(path, body)[0] != 200, path
        assert etcd.ask("/v3/auth/authenticate", {"name": "tessera", "password": "another"})[0] != 200

        # A lost member is replaced by the commands of the page.
        etcd.kill(3)
        shutil.rmtree(etcd.folder / "data-3")
        replace, = [commands for heading, commands in blocks("Operations.md") if heading == "Replace a member of etcd"]
        shell(etcd.local(replace), **etcd.variables, ETCDCTL_USER=f"root:{ROOT_PASSWORD}")
        etcd.start(3, state="existing")
        wait_for(lambda: etcd.ask("/v3/kv/range", everything, token, etcd.urls[2])[0] == 200 if listens(etcd.urls[2]) else False, 15, "the new member")

        # A full member takes no writes, until the commands of the runbook have run.
        full, = [commands for heading, commands in blocks("Runbook.md") if heading == "TesseraEtcdSpace"]
        large = {"key": key, "value": base64.b64encode(os.urandom(400_000)).decode()}
        for _ in range(80):
            status, answer = etcd.ask("/v3/kv/put", large, token)
            if status != 200:
                break
        assert "space exceeded" in str(answer), answer
        assert "NOSPACE" in etcd.control("alarm", "list").stdout
        shell(full, **etcd.variables, ETCDCTL_USER=f"root:{ROOT_PASSWORD}", timeout=60)
        assert etcd.ask("/v3/kv/put", large, token)[0] == 200
        assert "NOSPACE" not in etcd.control("alarm", "list").stdout


def listens(url):
    import socket
    host, port = url.removeprefix("https://").split(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
        return True
    except OSError:
        return False


# The runbook

def test_every_alert_has_a_section_that_says_what_callers_notice_and_what_to_type():
    text = (PAGES / "Runbook.md").read_text()
    known = set(re.findall(r"^\| `(\w+)` \|", (PAGES / "Metrics.md").read_text(), re.MULTILINE))
    names = known | {each + end for each in known for end in ("_sum", "_count", "_bucket")}
    routes = {(method, re.sub(r"\{\w+\}", "X", path)) for method, path in re.findall(
        r"^\| `(\w+) (/[^`?]*)`", (PAGES / "WhoCanDoWhat.md").read_text(), re.MULTILINE)}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name = section.split("\n")[0]
        if not name.startswith("Tessera"):
            continue
        assert "\nCallers: " in section and "\nLook at: " in section and "```sh\n" in section, name
    for heading, commands in blocks("Runbook.md") + blocks("Operations.md"):
        subprocess.run(["bash", "-n", "-c", commands], check=True)
        for pattern in re.findall(r"figures (\"[^\"]+\"|\S+)", commands):
            # What grep gets, one alternative after the other, up to a label.
            for part in re.split(r"\|(?![^(]*\))", pattern.strip('"')):
                assert any(re.match(re.split(r"\\?\{|\[| ", part)[0], each) for each in names), f"{heading}: {part}"
        for method, path in re.findall(r"(?:-X (\w+) )?\"\$NODE(/[^\"]*)\"", commands):
            assert (method or "GET", re.sub(r"\$\w+", "X", path)) in routes, f"{heading}: {method} {path}"
        for subcommand in re.findall(r"^tessera (recording \w+|cluster \w+)", commands, re.MULTILINE):
            assert subprocess.run([PROGRAM, *subcommand.split(), "--help"], capture_output=True).returncode == 0, f"{heading}: tessera {subcommand}"
        if commands.startswith(AS_ROOT):
            for line in commands.splitlines()[1:]:
                assert line.split()[0] in PROGRAMS, f"{heading}: {line}"
                unit = re.match(r"(?:systemctl \w+|journalctl -u|coredumpctl list) (\w+)", line)
                assert not unit or unit[1] in ("tessera", "etcd"), line


def test_the_commands_of_the_runbook_work_at_a_server(tmp_path):
    needs("jq", "curl")
    target = free_port()
    config = (
        f"auth: {{adminToken: '{TOKEN}'}}\n"
        f"webhooks: [{{url: 'http://127.0.0.1:{target}/', secret: whsec_{'QUFB' * 8}}}]\n"
        "recording: {onFinished: ['/bin/true', '{file}']}\n")
    prelude, *rest = blocks("Runbook.md")
    with Server(tmp_path / "server", config=config) as server:
        server.headers["Authorization"] = f"Bearer {TOKEN}"
        with subprocess.Popen([PROGRAM, "call", server.url, "--room", "call", "--name", "Ann"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as ann:
            try:
                wait_for(lambda: server.get("/api/rooms/call")[0] == 200, 15, "a call")
                recording = server.json("POST", "/api/rooms/call/recordings", {}, expect=201)
                time.sleep(1.5)
                finished = server.json("POST", f"/api/recordings/{recording['id']}/stop", {})["id"]
                variables = {"NODE": server.url, "TOKEN": TOKEN, "ROOM": "call"}
                count = 0
                for _heading, commands in rest:
                    if commands.startswith(AS_ROOT) or "etcdctl" in commands or CLUSTER.search(commands):
                        continue
                    shell(prelude[1] + commands, **variables, ID=finished)
                    count += 1
                assert count > 30
                # Those who type them see what they are for.
                room = next(commands for heading, commands in rest if heading == "TesseraRoomQuality")
                assert "Ann" in shell(prelude[1] + room, **variables)
            finally:
                ann.send_signal(signal.SIGINT)


# A cluster, as the page says

def node(folder, etcd, number, **more):
    """A node with the settings of the page."""
    text, = re.findall(r"```yaml\n(cluster:\n.*?)```", (PAGES / "Operations.md").read_text(), re.DOTALL)
    internal = free_port()
    text = etcd.local(text)
    for old, new in [
        ("/run/credentials/tessera.service/ca.crt", str(etcd.authority)),
        ("/run/credentials/tessera.service/node.", f"{etcd.folder}/ca/n{number}."), ("node: n1", f"node: n{number}"),
        ("listen: 0.0.0.0:8081", f"listen: 127.0.0.{number}:{internal}"), ("advertise: 127.0.0.1:8081", f"advertise: 127.0.0.{number}:{internal}"),
    ]:
        assert old in text, (old, text)
        text = text.replace(old, new)
    server = Server(folder, config=f"auth: {{adminToken: '{TOKEN}'}}\n" + text, **more)
    server.environment |= {"TESSERA_CLUSTER_PASSWORD": PASSWORD, "TESSERA_CLUSTER_SECRET": "a secret that all nodes of this cluster have"}
    server.headers["Authorization"] = f"Bearer {TOKEN}"
    return server


def is_ready(server):
    return server.get("/readyz")[0] == 200


class ClusterPrometheus(Prometheus):
    """Reads two nodes, and etcd."""

    def __init__(self, directory, servers, etcd):
        super().__init__(directory, servers[0], TOKEN)
        text = self.config.read_text()
        first = f'["127.0.0.1:{servers[0].port}"]'
        assert first in text
        text = text.replace(first, json.dumps([f"127.0.0.1:{server.port}" for server in servers]))
        text = re.sub(r"  # (- job_name: etcd\n)  # (.*\n)  # (.*\n)", r"  \1  \2  \3", text)
        text = re.sub(r"10\.0\.0\.1(\d):2381", rf"127.0.0.1\1:{etcd.metrics}", text)
        assert "\n  - job_name: etcd\n" in text
        self.config.write_text(text)


@pytest.mark.patient
def test_a_cluster_by_the_pages_commands_and_its_figures(tmp_path):
    needs("etcd", "etcdctl", "openssl", "jq", "curl", "prometheus")
    prelude = blocks("Runbook.md")[0][1]
    with EtcdMembers() as etcd, node(tmp_path / "n1", etcd, 1) as first, node(tmp_path / "n2", etcd, 2) as second:
        wait_for(lambda: is_ready(first) and is_ready(second), 15, f"two nodes: {first.log_text()}")
        with ClusterPrometheus(tmp_path / "prometheus", [first, second], etcd) as prometheus:
            # A room that the other node has.
            for number in range(20):
                first.json("PUT", f"/api/rooms/r{number}", {}, expect=201)
                second.json("GET", f"/api/rooms/r{number}")
            prometheus.until("sum(tessera_cluster_owned_rooms) == 20 and min(tessera_cluster_owned_rooms) > 0", 15, "rooms on both")
            prometheus.until("sum(rate(tessera_cluster_proxied_total[5s])) >= 0 and sum(tessera_cluster_proxied_total) > 0", 15, "proxied requests")
            assert check_queries(prometheus, only=IN_CLUSTERS | {("tessera-overview.json", "Capacity used")}) > 70
            for rule in (rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]):
                assert rule["health"] in ("ok", "unknown"), rule
                if group_of(rule) == "tessera-cluster":
                    assert not prometheus.query(rule["query"]), f"{rule['name']} would fire in a good cluster"
            for series in ('etcd_mvcc_db_total_size_in_bytes{job="etcd"}', 'etcd_server_quota_backend_bytes{job="etcd"}', 'up{job="etcd"} == 1'):
                assert len(prometheus.query(series)) == 3, series

            # The commands of both pages that need a cluster.
            variables = {"NODE": first.url, "TOKEN": TOKEN, **etcd.variables, "ETCDCTL_USER": f"root:{ROOT_PASSWORD}"}
            drain, = [commands for heading, commands in blocks("Operations.md") if "/api/node/drain" in commands]
            count = 0
            for heading, commands in blocks("Runbook.md"):
                if commands.startswith(AS_ROOT) or heading == "TesseraEtcdSpace" or not ("etcdctl" in commands or CLUSTER.search(commands)):
                    continue
                shell(prelude + commands, **variables)
                count += 1
            assert count > 12
            printed = shell(prelude + drain, **variables)
            assert '"draining"' in printed, printed
            wait_for(lambda: is_ready(first), 5, "the drain is taken back")

            # What the alerts are for.
            second.process.kill()
            prometheus.until(query("TesseraNodeMissing"), 15, "a node that died is missing")
            etcd.kill(1)
            prometheus.until(query("TesseraEtcdMemberDown"), 10, "a member that died")
            etcd.kill(2, 3)
            prometheus.until(query("TesseraStoreUnreachable"), 20, "no etcd")
            assert is_ready(first) and first.get("/healthz")[0] == 200, "a store that is away changes nothing"
            etcd.start(1, 2, 3)
            prometheus.until('tessera_cluster_state{state="sure"} == 1', 20, "etcd is back")
            # A new etcd, which knows nothing: the node registers itself and claims its rooms. Those from before went with the drain.
            for number in range(3):
                first.json("PUT", f"/api/rooms/s{number}", {}, expect=201)
            rooms = len(first.json("GET", "/api/rooms"))
            etcd.lose_everything()
            prometheus.until(f'tessera_cluster_state{{state="sure"}} == 1 and on (instance) tessera_cluster_owned_rooms == {rooms}', 30, "the rooms in a new etcd")
            assert rooms and len(first.json("GET", "/api/rooms")) == rooms


def query(alert):
    rules = yaml.safe_load((DEPLOY / "prometheus" / "tessera.rules.yml").read_text())
    return next(rule["expr"] for group in rules["groups"] for rule in group["rules"] if rule["alert"] == alert)


def group_of(rule):
    rules = yaml.safe_load((DEPLOY / "prometheus" / "tessera.rules.yml").read_text())
    return next(group["name"] for group in rules["groups"] for each in group["rules"] if each["alert"] == rule["name"])


# Kubernetes

def render(folder):
    result = subprocess.run(["kubectl", "kustomize", DEPLOY / "kubernetes" / folder], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return list(yaml.safe_load_all(result.stdout))


def one(documents, kind, name):
    """By its name, which has a hash at the end where kustomize made it."""
    found, = [each for each in documents if each["kind"] == kind and re.fullmatch(name + r"(-[a-z0-9]{10})?", each["metadata"]["name"])]
    return found


@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_the_manifests_are_what_kubernetes_takes(folder):
    needs("kubectl")
    documents = render(folder)
    for document in documents:
        for version in ("1.30", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(document, version, strict=True)
    names = {(each["kind"], each["metadata"]["name"]) for each in documents}
    assert len(names) == len(documents)
    for kind in ("StatefulSet", "Service", "PodDisruptionBudget"):
        for name in ("tessera", "etcd"):
            assert (kind, name) in names
    for name in ("tessera", "etcd"):
        stateful = one(documents, "StatefulSet", name)
        pod = stateful["spec"]["template"]["spec"]
        labels = stateful["spec"]["template"]["metadata"]["labels"]
        # One pod a machine; the selectors meet the pods; the named ports exist.
        rule, = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert rule["topologyKey"] == "kubernetes.io/hostname" and rule["labelSelector"]["matchLabels"].items() <= labels.items()
        assert one(documents, "Service", stateful["spec"]["serviceName"])["spec"]["clusterIP"] == "None"
        assert one(documents, "PodDisruptionBudget", name)["spec"]["selector"]["matchLabels"].items() <= labels.items()
        container, = pod["containers"]
        ports = {port["name"] for port in container["ports"]}
        for service in documents:
            if service["kind"] == "Service" and service["spec"]["selector"].items() <= labels.items():
                assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
        # Liveness and readiness are never the same.
        live, ready = (json.dumps({key: value for key, value in container[probe].items() if key in ("httpGet", "tcpSocket", "exec")})
            for probe in ("livenessProbe", "readinessProbe"))
        assert live != ready
        volumes = {volume["name"] for volume in pod.get("volumes", [])} | {each["metadata"]["name"] for each in stateful["spec"]["volumeClaimTemplates"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        assert pod["securityContext"]["runAsNonRoot"] and container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    # What the base leaves empty and an installation must give.
    assert any(value for value in one(documents, "Secret", "tessera")["data"].values()) == (folder != "base")
    # etcd's settings beside those of etcd.env: what is in both is the same, but for addresses and certificates.
    env = dict(line.split("=", 1) for line in (DEPLOY / "etcd" / "etcd.env").read_text().splitlines() if line.startswith("ETCD"))
    for setting in one(documents, "StatefulSet", "etcd")["spec"]["template"]["spec"]["containers"][0]["env"]:
        if setting["name"].startswith(("ETCD_AUTO", "ETCD_QUOTA", "ETCD_STRICT", "ETCD_INITIAL_CLUSTER_TOKEN")):
            assert setting["value"] == env[setting["name"]], setting


# Runs inside a network of its own, so that the ports are those of the manifest: starts the server, asks, and prints what it found.
PROBE = """
import json, os, signal, subprocess, sys, time, urllib.error, urllib.request
command, environment, folder, ports = json.loads(sys.argv[1])
server = subprocess.Popen(command, cwd=folder, env={**environment, "PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
def get(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['http']}{path}", timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
deadline = time.monotonic() + 20
while time.monotonic() < deadline and server.poll() is None:
    try:
        get("/healthz")
        break
    except OSError:
        time.sleep(0.1)
found = {}
if server.poll() is None:
    found = {path: get(path) for path in ("/healthz", "/readyz?overload=ignore")}
    for protocol in ("tcp", "udp"):
        lines = subprocess.run(["ss", "-lnH", "-" + protocol[0]], capture_output=True, text=True).stdout.splitlines()
        found[protocol] = sorted({int(line.split()[3].rsplit(":", 1)[1]) for line in lines})
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
found["log"] = server.communicate(timeout=60)[0].decode()[-3000:]
found["status"] = server.returncode
print(json.dumps(found))
"""


@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_the_manifests_fit_the_server(tmp_path, folder):
    needs("kubectl", "ss", "setpriv")
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode:
        from conftest import cannot_run
        cannot_run("this machine does not allow network namespaces")
    documents = render(folder)
    pod = one(documents, "StatefulSet", "tessera")["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert pod["hostNetwork"] and pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert all(port["hostPort"] == port["containerPort"] for port in container["ports"])

    text = one(documents, "ConfigMap", "tessera")["data"]["tessera.yaml"]
    settings = yaml.safe_load(text)
    wait = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] >= wait + seconds(settings["cluster"]["drain"]["within"]) + 5
    for key, port in [("http", "http"), ("media", "media"), ("media", "media-tcp"), ("cluster", "cluster")]:
        assert int(settings[key]["listen"].split(":")[1]) == ports[port], key

    # The server with the very settings and variables of the manifest, its user, and a folder for its volume.
    secret = one(documents, "Secret", "tessera")["data"]
    environment = {name: base64.b64decode(value).decode() for name, value in secret.items()}
    environment |= {"TESSERA_CLUSTER_SECRET": "x" * 32, "TESSERA_AUTH_ADMINTOKEN": "y" * 32} if folder == "base" else {}
    fields = {"metadata.name": "tessera-0", "status.hostIP": "127.0.0.1"}
    for each in container["env"]:
        value = each.get("value") or fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        environment[each["name"]] = re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], value)
    state = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path) / f"tessera-manifests-{os.getpid()}"
    state.mkdir()
    try:
        (state / "tessera.yaml").write_text(text.replace("/var/lib/tessera", str(state)))
        user, group = pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
        os.chown(state, user, group)
        program = state / "tessera"
        shutil.copy(PROGRAM, program)
        start = [str(program), *container["command"][1:]]
        start[start.index("/etc/tessera/tessera.yaml")] = str(state / "tessera.yaml")
        command = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--", *start]
        result = subprocess.run(
            ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "probe", sys.executable, "-c", PROBE,
             json.dumps([command, environment, str(state), ports])], capture_output=True, text=True, timeout=100)
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
    finally:
        shutil.rmtree(state)
    assert found["status"] == 0, found["log"]
    probes = {probe: container[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe", "startupProbe")}
    assert all(each["port"] == "http" for each in probes.values())
    # There is no etcd: the process lives, and is to get nobody.
    assert found[probes["livenessProbe"]["path"]][0] == 200 and found[probes["startupProbe"]["path"]][0] == 200
    assert found[probes["readinessProbe"]["path"]][0] == 503
    # What HAProxy looks for in the answer of a node that is cut off.
    unwanted = re.search(r'expect ! string "(.*)"', (DEPLOY / "haproxy" / "haproxy.cfg").read_text())[1]
    assert unwanted in found[probes["readinessProbe"]["path"]][1], found
    assert {ports["http"], ports["cluster"], ports["media-tcp"]} <= set(found["tcp"]) and ports["media"] in found["udp"], found


# Capacity

def test_the_page_of_capacity_has_the_figures_of_the_benchmarks():
    pages = ROOT / "Sources" / "Conference" / "Conference.docc"
    capacity, benchmarks = ((pages / name).read_text() for name in ("Capacity.md", "Benchmarks.md"))
    costs = {row[0]: int(row[1]) for row in re.findall(r"^\| ([^|]+) \|(?: \d+ \|){5} (\d+) \| \d+ \| [\d.]+ \(", benchmarks, re.MULTILINE)}
    rows = re.findall(r"^\| (\d+[^|]*) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", capacity, re.MULTILINE)
    assert len(rows) == 5
    for people, cost, rooms, persons in rows:
        assert costs[people] == int(cost), people
        assert float(rooms) == pytest.approx(600 / int(cost), abs=0.06)
        assert float(persons) == pytest.approx(600 / int(cost) * int(people.split(",")[0]), rel=0.06)
    for figure in ("23.3", "1.80 times", "0.165 ms", "266 ms/s", "0.59", "129"):
        assert figure in benchmarks and figure in capacity, figure
