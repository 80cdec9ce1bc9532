"""HAProxy and nginx (Debian's packages) with the configurations of scripts/deploy, before servers of a test."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import websockets

from support.server import ROOT, Server, free_port

DEPLOY = ROOT / "scripts" / "deploy"
NAME = "meet.example"


def settings(kind):
    """What a node needs behind this front, as the file beside its configuration says, for a front on this machine."""
    text = (DEPLOY / kind / "tessera.yaml").read_text()
    return re.sub(r"trustedProxies: \[[^\]]*\]", "trustedProxies: [127.0.0.1]", "".join(
        line + "\n" for line in text.split("\n") if not re.match(r"\s*listen:|media:|\s*#", line)))


def changed(text, changes):
    """A configuration of scripts/deploy with what a test has otherwise: (pattern, replacement), each of which must be there."""
    for old, new in changes:
        text, count = re.subn(old, new, text, flags=re.MULTILINE)
        assert count, f"{old} is not in the configuration"
    return text


def nginx_command(folder, changes, servers, errors):
    """The command of an nginx with the configuration of scripts/deploy, so changed, before `servers` (HOST:PORT); `errors`: where its log goes."""
    upstream = "".join(f"    server {server} max_fails=2 fail_timeout=5s;\n" for server in servers)
    text = changed((DEPLOY / "nginx" / "tessera.conf").read_text(), [*changes, (r"^    (# )?server 10.*\n    # server 10.*\n", upstream)])
    places = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.geteuid() == 0 else ""
    path = folder / "nginx.conf"
    path.write_text(f"daemon off; {user}worker_processes 1; pid {folder}/nginx.pid; error_log {errors} info;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {places}\n{text}}}\n")
    return [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", path, "-e", errors]


class Front:
    """`with Front("haproxy", folder, ports) as front:` listens for HTTPS, and sends to the servers at these ports of 127.0.0.1."""

    def __init__(self, kind, folder, ports):
        self.kind, self.folder, self.ports = kind, folder, ports
        self.http, self.https = free_port(), free_port()
        folder.mkdir()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={NAME}",
             "-addext", f"subjectAltName=DNS:{NAME},DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
            check=True, capture_output=True)
        self.context = ssl.create_default_context(cafile=folder / "certificate.pem")
        self.url = f"https://localhost:{self.https}"
        self.signal_url = f"wss://localhost:{self.https}/signal"

    def haproxy(self):
        text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
        pem = self.folder / "tessera.pem"
        pem.write_text((self.folder / "certificate.pem").read_text() + (self.folder / "key.pem").read_text())
        text = changed(text, [
            (r"^    log /dev/log local0$", "    log stdout format raw local0"), (r"^    (user|group) haproxy\n", ""),
            (r"/run/haproxy/admin.sock", str(self.folder / "admin.sock")), (r":::80 v4v6", f"127.0.0.1:{self.http}"),
            (r":::443 v4v6", f"127.0.0.1:{self.https}"), (r"/etc/haproxy/tessera.pem", str(pem)),
        ])
        # As many nodes as there are ports.
        text = re.sub(r"(    server n\d .*\n)+", "".join(f"    server n{n} 127.0.0.1:{port}\n" for n, port in enumerate(self.ports, 1)), text)
        path = self.folder / "haproxy.cfg"
        path.write_text(text)
        return [shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", path]

    def nginx(self):
        return nginx_command(self.folder, [
            (r"^    listen \[::\].*\n", ""), (r"listen 80;", f"listen 127.0.0.1:{self.http};"), (r"listen 443 ", f"listen 127.0.0.1:{self.https} "),
            (r"/etc/nginx/tessera.crt", str(self.folder / "certificate.pem")), (r"/etc/nginx/tessera.key", str(self.folder / "key.pem")),
            (r"server_name meet.example;", "server_name meet.example localhost;"),
        ], [f"127.0.0.1:{port}" for port in self.ports], self.folder / "error.log")

    def __enter__(self):
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([str(part) for part in getattr(self, self.kind)()], stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while True:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    return self
            except OSError:
                pass
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.__exit__()
                raise RuntimeError(f"{self.kind} does not answer: {self.log()}")
            time.sleep(0.05)

    def __exit__(self, error=None, *_):
        if error:
            # Who waits for whom: what is not read yet shows as a queue, of clients, the front and the server.
            connections = subprocess.run(["ss", "--tcp", "--numeric", "--all"], capture_output=True, text=True).stdout
            print(f"-- {self.kind} --\n{self.log()}\n-- connections --\n{connections}")
        self.process.kill()
        self.process.wait()

    def log(self):
        paths = [path for path in (self.folder / "log", self.folder / "error.log") if path.exists()]
        return "".join(path.read_text(errors="replace")[-3000:] for path in paths)

    def open(self, source="127.0.0.1", name="localhost"):
        """A TLS connection from this address of loopback."""
        plain = socket.create_connection(("127.0.0.1", self.https), 10, source_address=(source, 0))
        return self.context.wrap_socket(plain, server_hostname=name)

    def socket(self):
        return SecureSocket(self.signal_url, self.context)

    def request(self, method, path, body=None, headers=None, scheme="https"):
        """(status, headers, bytes), redirects not followed."""
        if body is not None and not isinstance(body, bytes):
            raise TypeError(body)
        url = f"{scheme}://localhost:{self.https if scheme == 'https' else self.http}{path}"
        request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
        handlers = [NoRedirect(), urllib.request.HTTPSHandler(context=self.context)]
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=20) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def states(self):
        """{backend: {server: state}} as HAProxy has it: UP, NOLB (no new connections), DOWN."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self.folder / "admin.sock"))
            admin.sendall(b"show stat\n")
            rows = [line.split(",") for line in b"".join(iter(lambda: admin.recv(1 << 16), b"")).decode().splitlines()]
        found = {}
        for row in rows[1:]:
            if len(row) > 17 and row[1] not in ("FRONTEND", "BACKEND"):
                found.setdefault(row[0], {})[row[1]] = row[17].split()[0]
        return found


class SecureSocket:
    """A WebSocket over TLS whose calls wait. One thread reads and writes, which is what `websockets.sync` does not do: before Python 3.13 nothing
    guards the TLS state between its two, and about one handshake in a thousand was never answered."""

    def __init__(self, url, context):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        try:
            self.socket = self.wait(websockets.connect(url, ssl=context).__aenter__())
        except BaseException:
            self.end()
            raise

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def send(self, text):
        self.wait(self.socket.send(text))

    def recv(self, seconds):
        return self.wait(asyncio.wait_for(self.socket.recv(), seconds))

    @property
    def close_code(self):
        return self.socket.close_code

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, websockets.WebSocketException):
            self.wait(self.socket.close())
        self.end()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def behind(kind, folder, config="", **more):
    """A server with the settings that the front needs, and `config`, which must not have `http`."""
    return Server(folder, config=settings(kind) + config, **more)
