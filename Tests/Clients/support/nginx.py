"""nginx as scripts/deploy configures it, before the nodes of a test's cluster and without TLS."""

from support.cluster import BEARER, HTTP
from support.front import nginx_command
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
        command = nginx_command(folder, self.CHANGES, [f"{node.machine.public}:{HTTP}" for node in cluster.nodes.values()], "stderr")
        super().__init__(cluster.front.machine, command, folder / "nginx.log")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
