"""Sources for inputs: a clip with a flash and a beep in each second, and the servers that send it."""

import contextlib
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

from support.server import free_port

PASSPHRASE = "sesamesesame"


def make_clip(path, seconds=4, options=()):
    """A green picture and silence; in the middle of each second 91 ms of white, and of a tone of 1 kHz."""
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
         f"color=c=0x306030:s=640x360:r=30:d={seconds},drawbox=c=white:t=fill:enable='between(mod(t,1),0.499,0.59)'",
         "-f", "lavfi", "-i", f"aevalsrc='0.3*sin(2*PI*1000*t)*between(mod(t,1),0.5,0.6)':s=48000:d={seconds}",
         "-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-movflags", "+faststart",
         *options, str(path)], check=True)
    return path


@contextlib.contextmanager
def program(*command, **options):
    """A program that ends with the block."""
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def send_srt(clip, port):
    """ffmpeg as an SRT listener that sends the clip again and again, to whoever comes first."""
    return program(
        "ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", clip, "-c", "copy", "-f", "mpegts",
        f"srt://127.0.0.1:{port}?mode=listener&passphrase={PASSPHRASE}")


class Files(http.server.BaseHTTPRequestHandler):
    """Files with ranges, and the answers of `routes`: a status and headers."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path in self.server.routes:
            status, headers = self.server.routes[self.path]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = self.server.folder / self.path.lstrip("/").split("?")[0]
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        first, last = 0, len(data) - 1
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            start, _, end = wanted[6:].partition("-")
            first, last = int(start), min(last, int(end)) if end else last
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(data[first:last + 1])

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve_files(folder, routes=None):
    """A web server on loopback; `asked` has the paths of its requests."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    server.folder, server.routes, server.asked = Path(folder), routes or {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Trap:
    """An internal server that nobody may reach: it takes connections, and keeps what they send."""

    def __init__(self, address="127.0.0.2"):
        self.socket = socket.create_server((address, 0))
        self.address = f"{address}:{self.socket.getsockname()[1]}"
        self.connections, self.bytes = 0, b""
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.connections += 1
                connection.settimeout(2)
                with contextlib.suppress(OSError):
                    self.bytes += connection.recv(4096)
                connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@contextlib.contextmanager
def redirecting_rtsp(target):
    """An RTSP server that answers everything with a redirection. Yields its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    while text := connection.recv(4096).decode():
                        number = next(line for line in text.split("\r\n") if line.lower().startswith("cseq"))
                        if text.startswith("OPTIONS"):
                            connection.sendall(f"RTSP/1.0 200 OK\r\n{number}\r\nPublic: OPTIONS, DESCRIBE, SETUP, PLAY\r\n\r\n".encode())
                        else:
                            connection.sendall(f"RTSP/1.0 302 Found\r\n{number}\r\nLocation: rtsp://{target}/x\r\n\r\n".encode())

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


@contextlib.contextmanager
def rtsp_server(clip):
    """GStreamer's RTSP server with the clip. Yields the URL."""
    port = free_port()
    script = Path(__file__).with_name("gstreamer_rtsp.py")
    with program("/usr/bin/python3", script, clip, port):
        wait_for_port(port)
        yield f"rtsp://127.0.0.1:{port}/clip"


@contextlib.contextmanager
def rtmp_server(folder, clip):
    """nginx with its RTMP module, to which ffmpeg sends the clip again and again. Yields the URL to pull."""
    port, folder = free_port(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    module = "/usr/lib/nginx/modules/ngx_rtmp_module.so"
    (folder / "nginx.conf").write_text(
        f"load_module {module};\ndaemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"rtmp {{ server {{ listen 127.0.0.1:{port}; application live {{ live on; }} }} }}\n")
    user = {"user": "root"} if os.geteuid() == 0 else {}
    with program(shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log", **user):
        wait_for_port(port)
        url = f"rtmp://127.0.0.1:{port}/live/clip"
        with program("ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", clip, "-c", "copy", "-f", "flv", url):
            yield url


def wait_for_port(port, seconds=10):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens at port {port}"
            time.sleep(0.1)
