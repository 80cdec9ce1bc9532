"""Serves the test pages, as a website beside the server would."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path

PAGES = Path(__file__).resolve().parent / "pages"


@contextlib.contextmanager
def serve_pages(directory=PAGES):
    """The address of the pages in a directory, which are served until the block ends."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(directory))
    web = http.server.ThreadingHTTPServer(("0.0.0.0", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()
