"""Run through in_namespace.sh, so that everything happens in a network namespace of the test's own."""

import functools
import http.server
import os
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from server import Server  # noqa: E402


@pytest.fixture
def server(tmp_path, pages):
    with Server(tmp_path / "server", origin=pages) as server:
        yield server
        if server.process.poll() is not None:
            pytest.fail(f"the server died with {server.process.returncode}:\n{server.log_text()}")


@pytest.fixture(scope="session")
def pages():
    """The address of the test pages."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(HERE / "pages"))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()


@pytest.fixture
def needs_address():
    if "PEER_ADDRESS" not in os.environ:
        pytest.skip("this machine does not allow network namespaces, and these clients need an address beside loopback")
