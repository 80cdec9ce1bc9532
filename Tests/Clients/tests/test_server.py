"""Start, stop and bad input of the server, observed from outside."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest

from support.server import PROGRAM, Server, free_port


def serve(tmp_path, *arguments, environment=None):
    return subprocess.run(
        [PROGRAM, "serve", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=20,
        env={**os.environ, **(environment or {})})


@pytest.mark.parametrize("yaml, expected", [
    ("rooms: { layuot: grid }", ["rooms.layuot", "layout"]),
    ("rooms: { width: wide }", ["rooms.width", "wide"]),
    ("rooms: { framesPerSecond: 0 }", ["rooms.framesPerSecond", "0"]),
    ("audio: { bitrate: fast }\nhttp: { listen: nowhere }", ["audio.bitrate", "http.listen"]),
])
def test_a_faulty_configuration_stops_the_start_with_a_line_per_fault(tmp_path, yaml, expected):
    (tmp_path / "t.yaml").write_text(yaml)
    result = serve(tmp_path, "--config", "t.yaml")
    assert result.returncode == 78, result.stderr
    for text in expected:
        assert text in result.stderr, result.stderr


def test_a_taken_port_stops_the_start_and_names_the_port(tmp_path):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = serve(tmp_path, "--listen", f"0.0.0.0:{port}", "--media", f"127.0.0.1:{free_port()}")
    assert result.returncode == 78, (result.returncode, result.stderr)
    assert str(port) in result.stderr
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("0.0.0.0", 0))
        port = taken.getsockname()[1]
        result = serve(tmp_path, "--listen", f"127.0.0.1:{free_port()}", "--media", f"0.0.0.0:{port}")
    assert result.returncode == 78, (result.returncode, result.stderr)
    assert str(port) in result.stderr


def test_flags_win_over_environment_and_environment_over_the_file(tmp_path):
    config = "rooms: { width: 640, height: 360, layout: single }\n"
    os.environ["TESSERA_ROOMS_LAYOUT"] = "speaker"
    try:
        with Server(tmp_path, config=config) as server:
            server.json("PUT", "/api/rooms/a", {}, expect=201)
            room = server.json("GET", "/api/rooms/a")
            assert room["layout"] == "speaker"
            assert (room["width"], room["height"]) == (640, 360)
    finally:
        del os.environ["TESSERA_ROOMS_LAYOUT"]


def test_sigterm_ends_with_status_zero_within_ten_seconds(server):
    started = time.monotonic()
    assert server.stop(signal.SIGTERM) == 0
    assert time.monotonic() - started < 10
    server.start()


def test_health_metrics_and_description_answer(shared_server):
    assert shared_server.get("/healthz")[0] == 200
    assert shared_server.get("/readyz")[0] == 200
    status, headers, body = shared_server.get("/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain")
    assert b"# TYPE tessera_" in body
    description = shared_server.json("GET", "/api/openapi.json")
    assert description["openapi"].startswith("3.")
    for path in ["/api/rooms", "/api/rooms/{room}", "/api/rooms/{room}/participants/{id}", "/api/recordings/{id}/file", "/api/layouts/{name}"]:
        assert path in description["paths"], path


def test_unknown_things_are_json_errors_with_the_fitting_status(shared_server):
    for path, status, code in [("/api/rooms/none", 404, "room_not_found"), ("/api/recordings/none", 404, "recording_not_found"),
                               ("/api/nothing", 404, None), ("/api/rooms/none/snapshot.png", 404, "room_not_found")]:
        got, headers, body = shared_server.get(path)
        assert got == status, (path, got, body)
        error = json.loads(body)["error"]
        assert error["message"]
        if code:
            assert error["code"] == code


def test_rooms_can_be_made_changed_and_ended(shared_server):
    shared_server.json("PUT", "/api/rooms/r1", {"layout": "grid", "width": 640, "height": 360}, expect=201)
    assert [r["id"] for r in shared_server.json("GET", "/api/rooms")] == ["r1"]
    assert shared_server.json("PUT", "/api/rooms/r1", {"layout": "speaker"})["layout"] == "speaker"
    assert shared_server.request("PUT", "/api/rooms/r1", {"layout": "no-such"})[0] in (400, 404, 422)
    assert shared_server.request("PUT", "/api/rooms/r1", b"{broken")[0] == 400
    status, headers, png = shared_server.get("/api/rooms/r1/snapshot.png")
    assert status == 200 and headers["Content-Type"] == "image/png" and png.startswith(b"\x89PNG")
    assert shared_server.request("DELETE", "/api/rooms/r1")[0] in (200, 204)
    assert shared_server.json("GET", "/api/rooms") == []


def test_a_broken_layout_is_refused_with_its_place_and_a_good_one_can_be_used(shared_server):
    status, _, body = shared_server.request("PUT", "/api/layouts/mine", b'{"name": "mine",\n  "tilez": []}')
    assert status in (400, 422)
    message = json.loads(body)["error"]["message"]
    assert ":2:" in message or "line 2" in message, message
    grid = next(layout for layout in shared_server.json("GET", "/api/layouts") if layout["name"] == "grid")
    assert grid["description"]


def test_rubbish_on_the_media_port_harms_nobody(server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rubbish:
        for index in range(2000):
            rubbish.sendto(bytes((index * 7 + k * 31) % 256 for k in range(1 + index % 200)), ("127.0.0.1", server.media_port))
    with socket.create_connection(("127.0.0.1", server.media_port)) as stream:
        stream.sendall(b"GET / HTTP/1.1\r\n\r\n" * 50)
    time.sleep(0.3)
    assert server.get("/healthz")[0] == 200
