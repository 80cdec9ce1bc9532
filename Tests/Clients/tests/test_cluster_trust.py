"""What strangers and forwarded requests may do in a cluster, what a client's address counts for, and what a server without a cluster does not do."""

import asyncio
import contextlib
import json
import subprocess
import time

import pytest
import websockets

from support.cluster import ADMIN, INTERNAL_PORT, Node, proof
from support.lan import PUBLIC, ip, until
from support.members import join_without_media
from support.server import PROGRAM, Endpoint
from support.tokens import token

pytestmark = pytest.mark.patient

# No administrator's token: who comes from the machine itself is the administrator. The usual five joins a second of one address.
LIMIT = 4
CLUSTER = {"rooms": {"emptyTimeout": "1s"}, "auth": {"adminToken": ""}, "limits": {"joinsPerSecondPerAddress": 5, "rooms": LIMIT, "roomsPerAddress": LIMIT}}


async def leave(sockets):
    """Ends the seats at once, and their rooms soon."""
    async def end(socket):
        with contextlib.suppress(websockets.ConnectionClosed):
            await socket.send(json.dumps({"type": "leave"}))
        await socket.close()
    await asyncio.gather(*map(end, sockets))


def internal(node, method, path, headers=None, body=None):
    return Endpoint(node.machine.internal, INTERNAL_PORT).request(method, path, body, headers)


def test_foreign_requests_to_the_internal_port_are_refused(cluster):
    node = cluster.nodes["n1"]
    wrong = {
        "none": {}, "rubbish": {"Tessera-Cluster": "rubbish"}, "secret": {"Tessera-Cluster": proof("n1", "another secret")},
        "audience": {"Tessera-Cluster": proof("n1", aud="seat")}, "node": {"Tessera-Cluster": proof("n2")}, "expired": {"Tessera-Cluster": proof("n1", seconds=-60)},
        "long": {"Tessera-Cluster": proof("n1", seconds=86400)}, "admin": {"Authorization": f"Bearer {ADMIN}"},
        "algorithm": {"Tessera-Cluster": token({"aud": "node:n1", "iss": "n2", "exp": int(time.time()) + 20}, "", "none")},
    }
    for why, headers in wrong.items():
        for method, path in (("GET", "/cluster/alive"), ("GET", "/api/rooms"), ("PUT", "/api/rooms/x"), ("GET", "/"), ("POST", "/whip/x")):
            status, _, body = internal(node, method, path, headers, {} if method == "PUT" else None)
            assert status == 401, f"{why}: {method} {path}: {status} {body[:200]!r}"

        async def signal(headers=headers):
            with pytest.raises(websockets.InvalidStatus) as refusal:
                await websockets.connect(f"ws://{node.machine.internal}:{INTERNAL_PORT}/signal", additional_headers=headers, open_timeout=5)
            return refusal.value.response.status_code
        assert asyncio.run(signal()) == 401, why
    status, _, body = internal(node, "GET", "/cluster/alive", {"Tessera-Cluster": proof("n1")})
    assert status == 200 and json.loads(body)["node"] == "n1", (status, body)
    assert json.loads(body)["standing"] == "sure"
    # The public port knows nothing of it.
    assert node.endpoint.request("GET", "/cluster/alive", headers={"Tessera-Cluster": proof("n1")})[0] == 404


def curl(machine, method, url, body="{}"):
    """The status of a request from a machine itself."""
    return int(machine.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "8", "-X", method, "-H", "Content-Type: application/json",
                           "-d", body, url))


def test_a_forwarded_request_is_never_local(cluster):
    """A room is at another node than the one that is asked at its own loopback, and that node forwards over the internal port, as its client."""
    async def make():
        """A room at each node."""
        sockets, found = [], {}
        for number in range(12):
            if len(found) == 3:
                break
            answer, socket = await join_without_media(cluster.endpoints[number % 3], f"local-{number}", "Ada")
            sockets.append(socket)
            assert answer["type"] == "joined", answer
            owner = await asyncio.to_thread(cluster.owner, f"local-{number}")
            found.setdefault(owner.name, f"local-{number}")
            await asyncio.sleep(0.25)
        statuses = {}
        for asked in cluster.nodes.values():
            for owner, room in found.items():
                statuses[asked.name, owner] = await asyncio.to_thread(
                    curl, asked.machine, "PUT", f"http://127.0.0.1:8080/api/rooms/{room}", json.dumps({"locked": True}))
        # Nobody is local who claims it.
        foreign = {owner: (await asyncio.to_thread(
            cluster.nodes["n1"].endpoint.request, "PUT", f"/api/rooms/{room}", {}, {"Tessera-Client": "127.0.0.1", "Host": "localhost"}))[0]
            for owner, room in found.items()}
        await leave(sockets)
        return found, statuses, foreign
    found, statuses, foreign = asyncio.run(make())
    print(found, statuses, foreign)
    assert len(found) >= 2, "all rooms are at one node"
    for (asked, owner), status in statuses.items():
        assert status == 200 if asked == owner else status in (401, 403), (asked, owner, status)
    assert all(status in (401, 403, 421) for status in foreign.values()), foreign


def test_the_client_s_address_reaches_limits_and_logs(cluster):
    """Through HAProxy and a node that forwards: one address has its five joins a second, and another its own."""
    noisy, quiet = f"{PUBLIC}.101", f"{PUBLIC}.102"
    ip(f"address replace {noisy}/24 dev public", f"address replace {quiet}/24 dev public")

    async def run():
        cluster.front.only("n1")
        sockets, codes = [], []

        async def join(address, room, name):
            socket = await websockets.connect(cluster.front.endpoint.signal_url, local_addr=(address, 0))
            sockets.append(socket)
            await socket.send(json.dumps({"type": "join", "room": room, "name": name}))
            message = json.loads(await asyncio.wait_for(socket.recv(), 12))
            return message.get("code", message["type"])
        try:
            codes = await asyncio.gather(*(join(noisy, "limits", f"Noisy {number}") for number in range(40)), join(quiet, "limits", "Quiet"))
            assert "too_fast" in codes[:-1], codes
            assert codes[-1] == "joined", codes
        finally:
            await leave(sockets)
        return codes
    codes = asyncio.run(asyncio.wait_for(run(), 40))
    print({code: codes.count(code) for code in codes})
    lines = "".join(node.log_path.read_text(errors="replace") for node in cluster.nodes.values())
    refused = [line for line in lines.splitlines() if "a join was refused" in line and "too_fast" in line]
    assert refused and all(noisy in line for line in refused), refused[:3]


def test_full_nodes_get_no_room_and_where_all_are_full_nobody_gets_one(cluster):
    """A node tells its load every two seconds: who is refused meanwhile comes again, as clients do."""
    def rooms():
        return {name: int(node.metric("tessera_rooms")) for name, node in cluster.nodes.items()}

    async def run():
        until(lambda: not any(rooms().values()), 10, "empty nodes")
        sockets, number, refusals = [], 0, []
        while sum((shares := await asyncio.to_thread(rooms)).values()) < LIMIT * 3:
            assert number < LIMIT * 3 + 12, f"{shares} after {number} joins"
            address = f"{PUBLIC}.{110 + number}"
            ip(f"address replace {address}/24 dev public")
            socket = await websockets.connect(cluster.endpoints[number % 3].signal_url, local_addr=(address, 0))
            sockets.append(socket)
            await socket.send(json.dumps({"type": "join", "room": f"full-{number}", "name": "Ada"}))
            message = json.loads(await asyncio.wait_for(socket.recv(), 10))
            if message["type"] == "error":
                assert message["code"] == "overloaded" and message["retryAfter"] > 0, message
                refusals.append(message["message"])
                await asyncio.sleep(2.2)
            number += 1
        await asyncio.sleep(2.2)
        answers = [await asyncio.to_thread(node.endpoint.request, "POST", f"/whip/full-{node.name}", b"v=0\r\n", {"Content-Type": "application/sdp"})
                   for node in cluster.nodes.values()]
        answer, socket = await join_without_media(cluster.front.endpoint, "full-signal", "Ada")
        await leave([*sockets, socket])
        return shares, refusals, answers, answer
    shares, refusals, answers, answer = asyncio.run(asyncio.wait_for(run(), 60))
    print(shares, refusals)
    assert set(shares.values()) == {LIMIT}
    assert answer["code"] == "overloaded" and answer["retryAfter"] > 0, answer
    assert all(status == 503 and int(headers["Retry-After"]) > 0 for status, headers, _ in answers), answers


def test_without_the_keys_nothing_connects_anywhere(cluster, tmp_path):
    """A server alone on a machine: TCP's and UDP's own counters say what it began. The nodes of the cluster prove that they count."""
    machine = cluster.lan.machines.get("single") or cluster.lan.add("single", 61)
    server = Node(machine, [], tmp_path / "single", {})
    del server.settings["cluster"]

    def began(where):
        """(TCP connections begun, UDP packets sent)"""
        tables = {}
        lines = where.run("cat", "/proc/net/snmp").splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            tables[names.split()[0]] = dict(zip(names.split()[1:], map(int, values.split()[1:])))
        return tables["Tcp:"]["ActiveOpens"], tables["Udp:"]["OutDatagrams"]
    server.start()
    try:
        until(server.is_ready, 10, "the server")

        async def join():
            answer, socket = await join_without_media(server.endpoint, "alone", "Ada")
            await asyncio.sleep(1)
            await socket.close()
            return answer
        assert asyncio.run(join())["type"] == "joined"
        assert began(machine) == (0, 0)
        assert server.stop() == 0
        assert began(machine) == (0, 0)
        assert all(began(node.machine)[0] > 0 for node in cluster.nodes.values())
    finally:
        server.kill()


@pytest.mark.parametrize("key, settings", [
    ("cluster.etcd", {"etcd": ["10.0.0.1:2379"]}),
    ("cluster.secret", {"secret": ""}),
    ("cluster.node", {"node": "a node"}),
    ("cluster.listen", {"listen": "nowhere"}),
    ("cluster.advertise", {"advertise": "nowhere"}),
    ("cluster.ttl", {"ttl": "1s"}),
    ("cluster.drain.mode", {"drain": {"mode": "run"}}),
    ("cluster.drain.within", {"drain": {"within": "0s"}}),
    ("cluster.tls.key", {"tls": {"certificate": "/nowhere/cert.pem"}}),
    ("cluster.tls.certificate", {"tls": {"certificate": "/nowhere/cert.pem", "key": "/nowhere/key.pem"}}),
    ("cluster.tls.authority", {"tls": {"authority": "/nowhere/ca.pem"}}),
    ("cluster.rol", {"rol": "edge"}),
])
def test_a_faulty_key_stops_the_start(tmp_path, key, settings):
    path = tmp_path / "tessera.yaml"
    path.write_text(json.dumps({"cluster": {"etcd": ["http://127.0.0.1:9"], "secret": "a secret that is long enough, for nodes"} | settings}))
    result = subprocess.run([PROGRAM, "serve", "--config", path, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=20, cwd=tmp_path)
    assert result.returncode == 78, (result.returncode, result.stderr)
    lines = [line for line in result.stderr.splitlines() if key in line]
    assert lines and ":" in lines[0], result.stderr
    assert "a secret that" not in result.stderr
