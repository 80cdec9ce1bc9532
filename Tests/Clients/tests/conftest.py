"""To be run through in_namespace.sh, so that all tests run in a network namespace of their own."""

import contextlib
import os
import shutil
from urllib.parse import quote

import pytest

from support.aiortc_peer import GoodLine
from support.apprtc import SIGNALING
from support.cluster import Cluster
from support.far_network import FarNetwork
from support.lan import can_make_machines
from support.page_server import serve_pages
from support.server import Server, free_port


@contextlib.contextmanager
def running(tmp_path, pages, **settings):
    """A server that must still run at the end of the test."""
    with Server(tmp_path / "server", origin=pages, **settings) as server:
        yield server
        if server.process.poll() is not None:
            pytest.fail(f"the server died with {server.process.returncode}:\n{server.log_text()}")


@pytest.fixture
def server(tmp_path, pages):
    with running(tmp_path, pages) as server:
        yield server


@pytest.fixture(scope="module")
def server_of_module(tmp_path_factory, pages):
    with running(tmp_path_factory.mktemp("server"), pages) as server:
        yield server


@pytest.fixture
def shared_server(server_of_module):
    """The module's server, for tests that need no more than rooms of their own. What they leave in rooms ends with them; counters and recordings
    stay, and nobody stops the server."""
    yield server_of_module
    for room in server_of_module.json("GET", "/api/rooms"):
        server_of_module.json("DELETE", f"/api/rooms/{quote(room['id'], safe='')}", expect=204)


@pytest.fixture
def full_server(tmp_path, pages):
    """A server with the default rooms: 1280×720 at 30 frames a second."""
    with running(tmp_path, pages, full=True) as server:
        yield server


@pytest.fixture
def raw_tcp_server(tmp_path, pages):
    """A server with an endpoint for raw TCP clients at `raw_port`; who names no room there joins the room "hall"."""
    port = free_port()
    with running(tmp_path, pages, config=f"doors: {{rawTCP: '127.0.0.1:{port}', rawTCPRoom: hall}}\n") as server:
        server.raw_port = port
        yield server


@pytest.fixture(scope="session")
def pages():
    with serve_pages() as address:
        yield address


def cannot_run(why):
    """Skips the test; where all tests must run, as in CI, the test fails."""
    (pytest.fail if os.environ.get("CLIENTS_MUST_RUN") else pytest.skip)(why)


@pytest.fixture
def needs_address():
    if "PEER_ADDRESS" not in os.environ:
        cannot_run("this machine does not allow network namespaces, and these clients need an address beside loopback")


@pytest.fixture
def needs_far_network(needs_address):
    if not os.access("/dev/net/tun", os.W_OK):
        cannot_run("this machine has no TUN devices")


@pytest.fixture
def far_network(needs_far_network):
    """Makes separate networks for remote clients, and ends them with the test."""
    with contextlib.ExitStack() as networks:
        yield lambda link="": networks.enter_context(FarNetwork(link))


@pytest.fixture(scope="module")
def cluster_of_module(request, tmp_path_factory):
    """The cluster of the module's tests; `CLUSTER` of the module is added to the settings of its nodes."""
    if not can_make_machines():
        cannot_run("this machine does not allow network namespaces, and each node of a cluster needs one")
    with Cluster(tmp_path_factory.mktemp("cluster"), getattr(request.module, "CLUSTER", None)) as cluster:
        yield cluster


@pytest.fixture
def cluster(cluster_of_module):
    """The module's cluster, healed. No node may end by itself."""
    cluster_of_module.heal()
    yield cluster_of_module
    cluster_of_module.check()


@pytest.fixture
def needs_coturn():
    if not shutil.which("turnserver"):
        cannot_run("this machine has no coturn")


@pytest.fixture
def needs_apprtc_signaling():
    if not SIGNALING.exists():
        cannot_run(f"{SIGNALING} is missing: scripts/packages downloads it from PyPI")


@pytest.fixture
def good_line(monkeypatch):
    """Makes aiortc peers report a good link, however busy the machine is."""
    monkeypatch.setattr("aiortc.rtcrtpreceiver.RemoteBitrateEstimator", GoodLine)
