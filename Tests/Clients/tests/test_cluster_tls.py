"""TLS between the nodes, with certificates of scripts/deploy/etcd/certificates, and a node whose certificate another authority signed."""

import asyncio
import os
import random
import socket
import ssl
import subprocess

import pytest

from support.cluster import ADMIN, BACKEND, INTERNAL_PORT, SECRET, Cluster, proof
from support.lan import can_make_machines
from support.light import LightCall
from support.members import join_without_media, later
from support.server import PROGRAM, ROOT

pytestmark = pytest.mark.patient


def certificates(folder, *machines):
    """The authority's folder, with a certificate for each of these machines."""
    subprocess.run(
        [ROOT / "scripts/deploy/etcd/certificates", folder, *(f"{machine.name}={machine.internal}" for machine in machines)],
        check=True, capture_output=True, timeout=30)
    return folder


def tls(folder, name):
    return {"authority": str(folder / "ca.crt"), "certificate": str(folder / f"{name}.crt"), "key": str(folder / f"{name}.key")}


def internal(machine, context=None):
    """The answer of a node's internal listener to one who knows the secret."""
    with socket.create_connection((machine.internal, INTERNAL_PORT), 5) as plain:
        there = context.wrap_socket(plain, server_hostname=machine.internal) if context else plain
        there.sendall(f"GET /cluster/alive HTTP/1.1\r\nHost: x\r\nTessera-Cluster: {proof(machine.name)}\r\nConnection: close\r\n\r\n".encode())
        there.settimeout(5)
        return there.recv(4096)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """n1 and n2 have one authority, n3 has another one."""
    if not can_make_machines():
        (pytest.fail if os.environ.get("CLIENTS_MUST_RUN") else pytest.skip)(
            "this machine does not allow network namespaces, and each node of a cluster needs one")
    folder = tmp_path_factory.mktemp("tls")
    cluster = Cluster(folder)
    cluster.unbelieved = {"n3"}
    machines = [node.machine for node in cluster.nodes.values()]
    ours, theirs = certificates(folder / "ours", *machines), certificates(folder / "theirs", *machines)
    for name, node in cluster.nodes.items():
        node.settings["cluster"]["tls"] = tls(ours if name != "n3" else theirs, name)
    with cluster:
        # Clients come to the third by its own address alone.
        cluster.front.nodes = [node for node in cluster.front.nodes if node.name != "n3"]
        cluster.front.ask(f"set server {BACKEND}/n3 state drain")
        cluster.ours, cluster.theirs = ours, theirs
        yield cluster
        cluster.check()


def test_nodes_speak_tls_and_one_of_another_authority_is_refused_and_named(cluster):
    one, two, three = cluster.nodes.values()
    # A room that is placed at the third, which the others do not understand, goes to another one. Places are drawn, so rooms are made until each
    # node's turn has come; a second try makes others.
    rooms, owners = [], []
    while not (one in owners and two in owners and one.metric("tessera_cluster_proxied_total", result="rubbish") > 0):
        assert len(rooms) < 60, f"no room was placed at each node: {owners}"
        rooms.append(f"tls-{random.randrange(10**9)}")
        assert one.endpoint.request("PUT", f"/api/rooms/{rooms[-1]}", {})[0] == 201
        owners.append(cluster.owner(rooms[-1]))
    assert three not in owners, owners
    room = rooms[owners.index(one)]
    assert all(record["url"].startswith("https://") for record in cluster.etcd.nodes().values()), cluster.etcd.nodes()

    async def run():
        # A call whose members come by a node that forwards.
        async with LightCall(cluster, room) as call:
            await call.start("n2", callers=2, page=False)
            assert two.metric("tessera_cluster_proxied_total") > 0
            assert (await asyncio.to_thread(one.endpoint.json, "GET", f"/api/rooms/{room}"))["participants"]
            answer, seat = await join_without_media(two.endpoint, room, "Text")
            assert answer["type"] == "joined", answer
            await seat.close()
            # The third node finds the room in the store, and cannot speak to its owner.
            status, headers, body = await asyncio.to_thread(three.endpoint.get, f"/api/rooms/{room}")
            assert status == 503 and int(headers["Retry-After"]) > 0, (status, body)
            answer, seat = await join_without_media(three.endpoint, room, "Stranger", 15)
            assert answer["type"] == "error" and answer["retryAfter"] > 0, answer
            await seat.close()
            # Nor do the others speak to it.
            status, headers, _ = await asyncio.to_thread(one.endpoint.get, "/api/rooms")
            assert status == 200 and headers["Tessera-Incomplete"] == "n3", (status, dict(headers))
            await call.well(10)
    asyncio.run(asyncio.wait_for(run(), 60))
    # The log says what is wrong, and where.
    asyncio.run(later(lambda: "cluster.tls" in three.log_text(), 5, f"an error that names the key: {three.log_text()}"))
    fault, = [line for line in three.log_text().splitlines() if "cluster.tls" in line and "n1" in line]
    print(fault)
    assert "error" in fault and "CERTIFICATE_VERIFY_FAILED" in fault and SECRET not in fault, fault
    result = subprocess.run(
        [PROGRAM, "cluster", "status", "--url", one.endpoint.url, "--token", ADMIN], capture_output=True, text=True, timeout=20)
    assert result.returncode == 1 and "n3" in result.stdout, result.stdout + result.stderr


def test_the_internal_port_takes_nobody_without_a_certificate_of_its_authority(cluster):
    machine = cluster.nodes["n1"].machine

    def context(folder=None, name="n2"):
        made = ssl.create_default_context(cafile=cluster.ours / "ca.crt")
        if folder:
            made.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
        return made
    assert internal(machine, context(cluster.ours)).startswith(b"HTTP/1.1 200")
    for who, made in (("plain", None), ("none", context()), ("another authority", context(cluster.theirs))):
        try:
            answer = internal(machine, made)
        except OSError:
            answer = b""
        assert not answer.startswith(b"HTTP/1.1 2"), (who, answer)
