"""Webhooks of a real server: signed requests, in order, through crashes of the server and faults of receivers and disks."""

import asyncio
import datetime
import json
import re
import signal
import subprocess
import time

import pytest
from standardwebhooks import webhooks as standard

from support.disks import tmpfs
from support.event_reader import Reader
from support.server import Server, free_port
from support.signalling import ask, connect
from support.webhook_receiver import Receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEW_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
FREE = "limits: { joinsPerSecondPerAddress: 1000, requestsPerSecondPerAddress: 10000, messageBytes: 262144 }\n"


def config(*webhooks):
    """The settings with webhooks: URLs, or (URL, other keys)."""
    hooks = [(hook, {}) if isinstance(hook, str) else hook for hook in webhooks]
    return FREE + "webhooks: " + json.dumps([{"url": url, "secret": SECRET, **others} for url, others in hooks]) + "\n"


def come_and_go(server, count, room="r"):
    """So many people join, one after the other, say who they are, and leave again; the first one stays until the end."""
    async def run():
        sockets = [await connect(server)]
        await ask(sockets[0], "joined", type="join", room=room, name="First")
        for number in range(1, count):
            sockets.append(await connect(server))
            await ask(sockets[-1], "joined", type="join", room=room, name=f"Person {number}")
            await ask(sockets[-1], "left", type="leave")
        await ask(sockets[0], "left", type="leave")
        await asyncio.gather(*(socket.close() for socket in sockets))
    asyncio.run(asyncio.wait_for(run(), 60))
    assert server.request("DELETE", f"/api/rooms/{room}")[0] in (204, 404)


def ids(requests):
    return [request.headers["webhook-id"] for request in requests]


def lasting(server, reader):
    """The ids of the events of a whole call of `come_and_go`."""
    events = []
    while not events or events[-1]["type"] != "room.ended":
        events = reader.read(len(events) + 1)
    return [event["id"] for event in events]


def metrics(server, name):
    return server.metrics(f"tessera_webhook_{name}{{")


def test_each_request_is_signed_and_comes_in_the_order_of_the_stream(tmp_path, monkeypatch):
    with Receiver() as receiver:
        hook = (receiver.url("/all?key=geheim"), {"secret": [NEW_SECRET, SECRET], "events": ["room.*", "participant.*", "chat"]})
        with Server(tmp_path / "server", config=config(hook, (receiver.url("/chat"), {"events": "chat"}))) as server:
            reader = Reader(server, "/api/events?types=room.*,participant.*,chat").begin()

            async def run():
                async with await connect(server) as socket:
                    await ask(socket, "joined", type="join", room="r", name="Ä \"quoted\" \n name")
                    await socket.send(json.dumps({"type": "chat", "text": "hello"}))
                    await ask(socket, "left", type="leave")
            asyncio.run(run())
            come_and_go(server, 5)
            wanted = lasting(server, reader)
            requests = receiver.wait("/all?key=geheim", len(wanted))
            assert ids(requests) == wanted, "W6: the sequence of the stream, nothing twice, no gap"
            assert [request.event["type"] for request in receiver.wait("/chat", 1)] == ["chat"]
            # W1
            for request in requests:
                for secret in (SECRET, NEW_SECRET):
                    event = standard.Webhook(secret).verify(request.body, request.headers)
                    assert event["id"] == request.headers["webhook-id"]
                for place in (0, len(request.body) // 2, len(request.body) - 1):
                    changed = bytearray(request.body)
                    changed[place] ^= 1
                    with pytest.raises((standard.WebhookVerificationError, UnicodeDecodeError)):
                        standard.Webhook(SECRET).verify(bytes(changed), request.headers)
                with pytest.raises(standard.WebhookVerificationError):
                    standard.Webhook("whsec_" + 32 * "A").verify(request.body, request.headers)
            assert requests[0].headers["content-type"] == "application/json"

            class Later(datetime.datetime):
                @classmethod
                def now(cls, tz=None):
                    return datetime.datetime.now(tz) + datetime.timedelta(minutes=6)
            monkeypatch.setattr(standard, "datetime", Later)
            with pytest.raises(standard.WebhookVerificationError, match="too old"):
                standard.Webhook(SECRET).verify(requests[-1].body, requests[-1].headers)
            text = server.get("/metrics")[2].decode()
            assert f'tessera_webhook_delivered_total{{host="127.0.0.1:{receiver.port}",webhook="1"}} {len(wanted)}' in text
            assert "geheim" not in text + server.log_text()


@pytest.mark.patient
def test_no_event_is_lost_while_the_receiver_is_down_and_the_server_is_killed(tmp_path):
    """W2."""
    receiver = Receiver(port=free_port())
    with Server(tmp_path / "server", config=config(receiver.url("/"))) as server:
        reader = Reader(server).begin()
        come_and_go(server, 100)
        wanted = lasting(server, reader)
        time.sleep(0.15)
        server.stop(signal.SIGKILL, 5)
        server.start()
        reader = Reader(server).begin()
        come_and_go(server, 100)
        wanted += lasting(server, reader)
        assert metrics(server, "queued") == [len(wanted)] and metrics(server, "failed_attempts_total")[0] >= 1

        def slowly(request):
            time.sleep(0.01)
            return 200
        receiver.answer = slowly
        with receiver:
            receiver.wait("/", 60)
            server.stop(signal.SIGKILL, 5)
            taken = len(receiver.requests)
            server.start()
            deadline = time.monotonic() + 30
            while len(set(ids(receiver.requests))) < len(wanted):
                assert time.monotonic() < deadline, f"{len(set(ids(receiver.requests)))} of {len(wanted)}"
                time.sleep(0.05)
            got = ids(receiver.requests)
            # Only the event whose answer the killed server did not see may come twice.
            assert len(got) - len(wanted) <= 1
            assert list(dict.fromkeys(got)) == wanted and got[taken - 1:taken + 1] != wanted[taken:taken + 2]
            for request in receiver.requests:
                standard.Webhook(SECRET).verify(request.body, request.headers)
            while metrics(server, "queued") != [0]:
                assert time.monotonic() < deadline
                time.sleep(0.05)
    folder = tmp_path / "server" / "data" / "webhooks"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600, 0o600]


@pytest.mark.patient
def test_a_receiver_that_never_answers_holds_up_nothing(tmp_path):
    """W3."""
    with Receiver() as receiver:
        silent = "/silent"
        receiver.answer = lambda request: time.sleep(3600) if request.path == silent else 200
        with Server(tmp_path / "server", config=config(receiver.url(silent), receiver.url("/good"))) as server:
            reader = Reader(server).begin()
            come_and_go(server, 20)
            wanted = lasting(server, reader)
            assert ids(receiver.wait("/good", len(wanted), 5)) == wanted
            assert len(receiver.at(silent)) == 1

            async def stay():
                async with await connect(server) as socket:
                    await ask(socket, "joined", type="join", room="last", name="Last")
                    started = time.monotonic()
                    server.process.send_signal(signal.SIGTERM)
                    assert await asyncio.to_thread(server.process.wait, 12) == 0
                    return time.monotonic() - started
            assert asyncio.run(stay()) < 10
            told = [(request.event["type"], request.event["data"].get("reason")) for request in receiver.at("/good")]
            assert told[-2:] == [("participant.left", "draining"), ("room.ended", "draining")]
            good = ids(receiver.at("/good"))
            receiver.answer = lambda request: 200
            before = len(receiver.at(silent))
            server.start()
            assert ids(receiver.wait(silent, before + len(good))[before:]) == good, "the rest, after the restart"
            time.sleep(0.3)
            assert len(receiver.at(silent)) == before + len(good) and ids(receiver.at("/good")) == good


def test_faults_of_receivers_are_told_and_nothing_leaves_the_url(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True)
    with Receiver(certificate=(tmp_path / "cert.pem", tmp_path / "key.pem")) as selfsigned, Receiver() as receiver:
        answers = {"/moved": (302, {"location": receiver.url("/elsewhere")}), "/gone": 410, "/busy": (429, {"retry-after": "1"}),
            "/endless": (200, {"content-length": str(1 << 40)})}
        receiver.answer = lambda request: answers.get(request.path, 200)
        closed = f"http://127.0.0.1:{free_port()}/"
        hooks = [selfsigned.url(), receiver.url("/moved"), receiver.url("/gone"), receiver.url("/busy"),
            (receiver.url("/endless"), {"timeout": "1s"}), closed]
        with Server(tmp_path / "server", config=config(*hooks)) as server:
            server.json("PUT", "/api/rooms/a", {}, 201)
            receiver.wait("/busy", 2)
            assert server.request("DELETE", "/api/rooms/a")[0] == 204
            answers["/busy"] = 200
            receiver.wait("/busy", 4)
            receiver.wait("/endless", 2)
            assert len(receiver.at("/gone")) == 1 and not receiver.at("/elsewhere")
            assert len(set(ids(receiver.at("/moved")))) == 1, "tried again in its time, as each that fails"
            assert not selfsigned.requests
            assert metrics(server, "off") == [0, 0, 1, 0, 0, 0]
            assert metrics(server, "queued")[:3] == [2, 2, 2] and metrics(server, "queued")[5] == 2
            log = server.log_text()
            for words in ("its certificate cannot be verified", "status 302: redirects are not followed", "answered 410", "status 429",
                    "cannot be reached"):
                assert words in log, words
            busy = receiver.at("/busy")
            assert busy[1].at - busy[0].at > 0.9 and ids(busy[:2]) == 2 * ids(busy[:1]), "after Retry-After, the same event"
            assert busy[0].headers["webhook-timestamp"] != busy[1].headers["webhook-timestamp"], "signed anew"
            started = time.monotonic()
            assert server.stop() == 0 and time.monotonic() - started < 5, "those that fail are not waited for"


@pytest.mark.patient
def test_a_full_disk_keeps_events_in_memory_until_it_has_room(tmp_path):
    folder = tmp_path / "queue"
    with Receiver() as receiver, tmpfs(folder, "64k"):
        receiver.answer = lambda request: 503
        with Server(tmp_path / "server", config=config(receiver.url("/")) + f"events: {{ directory: {folder} }}\n") as server:
            receiver_down = time.monotonic()
            (folder / "filler").write_bytes(bytes(52 << 10))
            reader = Reader(server).begin()
            come_and_go(server, 40)
            wanted = lasting(server, reader)
            assert metrics(server, "in_memory") == [1] and "in memory only" in server.log_text()
            (folder / "filler").unlink()
            deadline = time.monotonic() + 20
            while metrics(server, "in_memory") != [0]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            server.stop(signal.SIGKILL, 5)
            receiver.answer = lambda request: 200
            before = len(receiver.requests)
            server.start()
            assert ids(receiver.wait("/", before + len(wanted))[before:]) == wanted
            assert time.monotonic() - receiver_down < 30


def test_a_webhook_that_cannot_be_used_stops_the_start(tmp_path):
    server = Server(tmp_path / "server", config="webhooks: [{url: 'http://crm.example/', secret: geheim}]\n")
    with pytest.raises(RuntimeError, match=re.escape("webhooks: number 1: ")) as error:
        server.start()
    assert "ended with 78" in str(error.value) and "geheim" not in str(error.value)
