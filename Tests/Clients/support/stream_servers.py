"""Servers that take a room's stream: nginx with its RTMP module, with TLS before it, and an SRT listener behind a link with loss."""

import contextlib
import random
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

from support.server import free_port

NGINX = """
load_module modules/ngx_rtmp_module.so;
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log info;
events {{ worker_connections 64; }}
rtmp {{
  access_log {folder}/access.log;
  server {{
    listen 127.0.0.1:{port}; chunk_size 4096;
    application live {{ live on; record all; record_path {folder}; record_suffix -%s.flv; }}
  }}
}}
"""


def have(*programs):
    return all(shutil.which(program) or shutil.which(program, path="/usr/sbin") for program in programs)


class RTMPServer:
    """nginx, which records what is published as NAME-SECONDS.flv. It can be stopped, killed and started again on its port."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=self.port))
        self.process = None

    def url(self, key, app="live"):
        return f"rtmp://127.0.0.1:{self.port}/{app}/{key}"

    def start(self):
        self.process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "nginx.log")])
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise RuntimeError((self.folder / "nginx.log").read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def files(self, key):
        return sorted(self.folder.glob(f"{key}-*.flv"))

    def log(self):
        return (self.folder / "nginx.log").read_text()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.kill()


class TLSFront:
    """Ends TLS before a server on loopback, with a certificate for `name` that it signs itself (`certificate` is its PEM file)."""

    def __init__(self, folder, port, name="localhost"):
        self.certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(self.certificate)], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.names = []
        self.context.sni_callback = lambda _, name, __: self.names.append(name)
        self.inner = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        # What came through TLS: nothing may, where the certificate is refused.
        self.received = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as outer, socket.create_connection(("127.0.0.1", self.inner)) as inner:
                threading.Thread(target=self.back, args=(inner, outer), daemon=True).start()
                while data := outer.recv(1 << 16):
                    self.received += len(data)
                    inner.sendall(data)
        except OSError:
            pass

    @staticmethod
    def back(inner, outer):
        try:
            while data := inner.recv(1 << 16):
                outer.sendall(data)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class StallingFront:
    """Carries connections to `port`, with a small buffer, and stops reading what comes when it is told to."""

    def __init__(self, port):
        self.inner = port
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.port = self.listener.getsockname()[1]
        self.reads = threading.Event()
        self.reads.set()
        threading.Thread(target=self.serve, daemon=True).start()

    def stall(self):
        self.reads.clear()

    def go_on(self):
        self.reads.set()

    def serve(self):
        while True:
            try:
                outer, _ = self.listener.accept()
            except OSError:
                return
            inner = socket.create_connection(("127.0.0.1", self.inner))
            threading.Thread(target=self.carry, args=(outer, inner, self.reads), daemon=True).start()
            threading.Thread(target=self.carry, args=(inner, outer, None), daemon=True).start()

    @staticmethod
    def carry(source, target, reads):
        try:
            while True:
                if reads:
                    reads.wait()
                if not (data := source.recv(1 << 14)):
                    break
                target.sendall(data)
        except OSError:
            pass
        for side in (source, target):
            # Ends the other thread's wait too, which a close does not.
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on()
        self.listener.close()


class LossyLink:
    """Carries datagrams to `port` and back and loses some of them, the same ones for each seed."""

    def __init__(self, port, loss, seed=1):
        self.outer, self.inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.outer.bind(("127.0.0.1", 0))
        self.inner.connect(("127.0.0.1", port))
        self.port = self.outer.getsockname()[1]
        self.loss, self.random = loss, random.Random(seed)
        self.carried = self.lost = 0
        self.is_open = True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        client = None
        while self.is_open:
            for ready in select.select([self.outer, self.inner], [], [], 0.1)[0]:
                try:
                    data, address = ready.recvfrom(2048)
                except OSError:
                    continue
                if ready is self.outer:
                    client = address
                if self.random.random() < self.loss:
                    self.lost += 1
                    continue
                self.carried += 1
                try:
                    self.inner.send(data) if ready is self.outer else self.outer.sendto(data, client)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.thread.join()
        self.outer.close()
        self.inner.close()


class SRTListener:
    """srt-live-transmit, which writes what it receives into a file."""

    def __init__(self, path, passphrase):
        self.path, self.port = path, free_port()
        self.output = open(path, "wb")
        self.process = subprocess.Popen(
            ["srt-live-transmit", "-q", "-loglevel:fatal", f"srt://127.0.0.1:{self.port}?mode=listener&passphrase={passphrase}&pbkeylen=16", "file://con"],
            stdout=self.output, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()
