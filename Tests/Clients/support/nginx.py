"""nginx as scripts/deploy configures it, before the nodes of a test's cluster and without TLS."""

import re
import shutil

from support.cluster import BEARER, HTTP
from support.front import DEPLOY
from support.lan import Program
from support.server import Endpoint

PORT = 8090


class ClusterNginx(Program):
    """On the machine of the cluster's HAProxy, whose address the nodes trust. `endpoint` is where clients connect."""

    # What differs from the file: (pattern, replacement).
    CHANGES = (
        (r"^server \{\n    listen 80;\n(.*\n)*?\}\n", ""), (r"^    listen \[::\].*\n", ""), (r"listen 443 ssl http2;", f"listen {PORT};"),
        (r"^    ssl_.*\n", ""), (r"server_name meet.example;", "server_name _;"))

    def __init__(self, cluster):
        folder = cluster.directory_of("nginx")
        self.endpoint = Endpoint(cluster.front.machine.public, PORT, BEARER)
        servers = "".join(f"    server {node.machine.public}:{HTTP} max_fails=2 fail_timeout=5s;\n" for node in cluster.nodes.values())
        text = (DEPLOY / "nginx" / "tessera.conf").read_text()
        for pattern, replacement in (*self.CHANGES, (r"^    server 10.*\n    # server 10.*\n", servers)):
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
            assert count, f"{pattern} is not in tessera.conf"
        places = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        path = folder / "nginx.conf"
        path.write_text(f"daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log stderr;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {places}\n{text}}}\n")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        super().__init__(cluster.front.machine, [program, "-p", folder, "-c", path, "-e", "stderr"], folder / "nginx.log")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
