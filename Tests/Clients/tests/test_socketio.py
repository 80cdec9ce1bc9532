"""Socket.IO 2 over Engine.IO 3 as FLSocketIM's apps speak it: by python-socketio 4, by Debian's older client, and by raw HTTP."""

import asyncio
import base64
import json
import random
import threading
import time

import pytest
import requests
import websocket

from support.browser import Chromium
from support.socketio_client import Raw, SocketIOPeer, account, length, post_form

# A JPEG by its first bytes, and a megabyte of anything.
PICTURE = b"\xff\xd8\xff\xe0" + random.Random(1).randbytes(1 << 20)


def test_accounts_and_users(server):
    """Registration, login, and the list of users, as the apps read them."""
    answer = post_form(server, "/register", userName="alice", password="secret word+&=ü")
    assert answer["code"] == 1 and answer["data"]["auth_date"] > 1_600_000_000_000, answer
    token = answer["data"]["auth_token"]
    assert post_form(server, "/mobileLogin", userName="alice", password="secret word+&=ü")["code"] == 1
    wrong = post_form(server, "/mobileLogin", userName="alice", password="secret")
    assert wrong["code"] == -1 and wrong["data"] == "" and wrong["message"], wrong
    for name, password in [("alice", "x"), ("ALICE", "x"), ("abc", "x"), ("_abcd", "x"), ("room_x", "x"), ("bobby", "")]:
        assert post_form(server, "/register", userName=name, password=password)["code"] == -1, name
    assert Raw(server, "guess").request("EIO=3&transport=polling&auth_token=guess") == (403, b'{"code":4,"message":"Forbidden"}')
    users = server.json("GET", "/allUsers")["data"]
    assert [user["name"] for user in users["allUser"]] == ["alice"] and users["onLineUsers"] == [], users
    Raw(server, token).connect()
    assert server.json("GET", "/allUsers")["data"]["onLineUsers"] == ["alice"]
    # The accounts and their tokens outlive the server.
    file = server.directory / "data" / "accounts.journal"
    assert file.stat().st_mode & 0o777 == 0o600 and token not in file.read_text()
    server.stop()
    server.start()
    Raw(server, token).connect()


def test_the_swift_client_s_requests(server):
    """No version, `b64=1`, lengths in UTF-16 units, and a probe while a GET is pending."""
    alice = Raw(server, account(server, "alice")).connect()
    bobby = Raw(server, account(server, "bobby")).connect()
    assert alice.handshake["pingInterval"] == 25000 and alice.handshake["pingTimeout"] == 60000, alice.handshake
    text = "😀 你好 \u0301"
    bobby.event("chat", {"to_user": "alice", "bodies": {"type": "txt", "msg": text}}, 7)
    message = json.loads(alice.wait('["chat"')[0].removeprefix("421"))[1]
    assert message["bodies"]["msg"] == text and message["from_user"] == "bobby", message
    assert bobby.wait("437[")
    assert alice.post("2probe") == (200, b"ok") and alice.get() == ["3probe"]

    # A probe while a GET is pending.
    pending = []
    poll = threading.Thread(target=lambda: pending.append((alice.get(), time.monotonic())))
    poll.start()
    time.sleep(0.3)
    socket = websocket.create_connection(
        f"ws://127.0.0.1:{server.port}/socket.io/?transport=websocket&auth_token={alice.token}&sid={alice.handshake['sid']}", timeout=10)
    socket.send("2probe")
    assert socket.recv() == "3probe"
    poll.join(2)
    assert pending and pending[0][0] == ["6"], pending
    bobby.event("chat", {"to_user": "alice", "bodies": {"type": "txt", "msg": "between"}}, 8)
    socket.send("5")
    assert "between" in socket.recv()
    socket.send("2")
    assert socket.recv() == "3"
    # An attachment over the WebSocket begins with 0x04, in both directions; on polling it is `b4`.
    picture = bytes(range(256)) * 100
    header = {"to_user": "bobby", "bodies": {"type": "audio", "fileName": "a.amr", "duration": 2.5, "fileData": {"_placeholder": True, "num": 0}}}
    socket.send("451-9" + json.dumps(["chat", header]))
    socket.send_binary(b"\x04" + picture)
    packets = bobby.wait("451-")
    packets += bobby.get() if len(packets) < 2 else []
    assert packets[1].startswith("b4") and base64.b64decode(packets[1][2:]) == picture, packets
    assert json.loads(socket.recv().removeprefix("439"))[0]["bodies"]["fileName"] == "a.amr"
    header["to_user"] = "alice"
    assert bobby.post("451-3" + json.dumps(["chat", header]), "b4" + base64.b64encode(picture).decode()) == (200, b"ok")
    assert socket.recv().startswith("451-")
    assert socket.recv() == b"\x04" + picture
    socket.close()
    assert bobby.wait("offLine")


def test_the_java_client_s_two_posts(server):
    """A binary event in two requests: its packet as text, then its attachment as octets."""
    alice = Raw(server, account(server, "alice"), version="EIO=3&", extra="").connect()
    bobby = Raw(server, account(server, "bobby"), version="EIO=3&", extra="").connect()
    picture = bytes(range(256)) * 1000
    header = json.dumps(["chat", {"to_user": "bobby", "bodies": {
        "type": "audio", "fileName": "ä.amr", "duration": 1, "fileData": {"_placeholder": True, "num": 0}}}], ensure_ascii=False)
    assert alice.post("451-5" + header) == (200, b"ok")
    assert alice.octets((False, b"\x04" + picture)) == (200, b"ok")
    packets = bobby.wait("451-")
    packets += bobby.get() if len(packets) < 2 else []
    assert packets[1] == b"\x04" + picture and "ä.amr" in packets[0]
    assert alice.wait("435[")
    # The packet and its attachment in one payload of octets.
    assert alice.octets((True, ("451-6" + header).encode()), (False, b"\x04" + picture)) == (200, b"ok")
    assert alice.wait("436[")


def test_uploading_a_picture(server):
    """The app's picture of a user: a form with the field `image`, by the HTTP client that logged in and keeps cookies."""
    app = requests.Session()

    def upload(client, name, data):
        answer = client.post(f"{server.url}/uploadFiles", files={name: ("a.jpg", data, "image/jpg")}, data={"name": "ü"}, timeout=20)
        return answer.json() if answer.status_code == 200 else answer.status_code
    token = app.post(f"{server.url}/register", data={"userName": "alice", "password": "secret"}, timeout=20).json()["data"]["auth_token"]
    assert upload(app, "image", PICTURE)["message"] == "log in first"
    alice = Raw(server, token).connect()
    assert upload(requests, "image", PICTURE)["message"] == "log in first"
    answer = upload(app, "image", PICTURE)
    assert answer["code"] == 1 and answer["data"].startswith("images/"), answer
    status, headers, data = server.get("/" + answer["data"])
    assert status == 200 and data == PICTURE and headers["X-Content-Type-Options"] == "nosniff"
    alice.event("chat", {"to_user": "bobby", "bodies": {"type": "txt", "msg": f"look: {server.url}/{answer['data']}"}}, 7)
    assert alice.wait("437[")
    assert upload(app, "image", b"<html>")["code"] == -1
    assert upload(app, "other", PICTURE)["code"] == -1
    assert upload(app, "image", PICTURE * 9) == 413


def test_two_gets_at_once_close_the_session(server):
    alice = Raw(server, account(server, "alice")).connect()
    answers = []
    first = threading.Thread(target=lambda: answers.append(alice.request(alice.query)))
    first.start()
    time.sleep(0.3)
    assert alice.request(alice.query)[0] == 400
    first.join(2)
    assert answers == [(200, b"1:1")]
    assert alice.request(alice.query) == (400, b'{"code":1,"message":"Session ID unknown"}')


def test_newer_clients_are_refused_politely(server):
    """Socket.IO 3 and later speak Engine.IO 4."""
    token = account(server, "alice")
    for version in (4, 2):
        answer = requests.get(f"{server.url}/socket.io/?EIO={version}&transport=polling&auth_token={token}", timeout=10)
        assert (answer.status_code, answer.json()) == (400, {"code": 5, "message": "Unsupported protocol version"})
    socket = websocket.create_connection(f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket&auth_token={token}", timeout=10)
    code, data = socket.recv_data()
    assert code == websocket.ABNF.OPCODE_CLOSE and data[2:] == b"Unsupported protocol version", (code, data)


@pytest.mark.parametrize("transports", [None, ["polling"], ["websocket"]], ids=["upgrade", "polling", "websocket"])
def test_two_people_chat(server, transports):
    """Text, a place, a recording, and a picture of a megabyte each way, each acknowledged; presence; a message to somebody who is away."""
    async def run():
        alice = await SocketIOPeer(server, "alice", transports=transports).connect()
        bobby = await SocketIOPeer(server, "bobby", transports=transports).connect()
        try:
            assert await alice.event("onLine") == {"user": "bobby"}
            text = "hi 😀 你好"
            acknowledgement = await alice.say("bobby", {"type": "txt", "msg": text})
            message = await bobby.event("chat")
            assert message["bodies"]["msg"] == text and message["from_user"] == "alice", message
            assert message["msg_id"] == acknowledgement["msg_id"] and message["timestamp"] == acknowledgement["timestamp"] > 1e12

            for sender, receiver in ((alice, bobby), (bobby, alice)):
                acknowledgement = await sender.say(receiver.name, {"type": "img", "fileName": "a.jpg", "size": {"width": 9, "height": 7.4}, "fileData": PICTURE})
                stored = acknowledgement["bodies"]
                assert "fileData" not in stored and stored["size"] == {"width": 9, "height": 7}, stored
                message = await receiver.event("chat")
                assert message["bodies"].pop("fileData") == PICTURE and message == acknowledgement
                status, _, data = await asyncio.to_thread(server.get, "/" + stored["thumbnailRemotePath"])
                assert status == 200 and data == PICTURE

            sound = bytes(range(256)) * 4096
            acknowledgement = await bobby.say("alice", {"type": "audio", "fileName": "a.amr", "duration": 3.5, "fileData": sound})
            assert "fileData" not in acknowledgement["bodies"] and "size" not in acknowledgement["bodies"]
            received = await alice.event("chat")
            assert received["bodies"]["fileData"] == sound and received["bodies"]["duration"] == 4, "the Android app reads a whole number"

            place = {"type": "loc", "latitude": 52.5, "longitude": 13.4, "locationName": "Mitte", "detailLocationName": "Berlin"}
            acknowledgement = await alice.say("bobby", place)
            assert "fileRemotePath" in acknowledgement["bodies"]
            assert (await bobby.event("chat"))["bodies"]["latitude"] == 52.5
            assert (await alice.say("nobody", {"type": "txt", "msg": "x"}))["msg_id"]
            await asyncio.to_thread(bobby.client.disconnect)
            assert await alice.event("offLine") == {"user": "bobby"}
        finally:
            await alice.close()
            await bobby.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_browser_s_picture_of_a_megabyte(server):
    """By a WebSocket, which browsers send as a message of several frames."""
    token, other = account(server, "alice"), Raw(server, account(server, "bobby")).connect()
    header = json.dumps(["chat", {"to_user": "bobby", "bodies": {
        "type": "img", "fileName": "a.png", "size": {"width": 9, "height": 9}, "fileData": {"_placeholder": True, "num": 0}}}])

    async def run():
        page = Chromium()
        try:
            await page.start(server.url)
            answer = await page.evaluate("""new Promise((done, failed) => {
                const socket = new WebSocket(location.origin.replace("http", "ws") + "/socket.io/?EIO=3&transport=websocket&auth_token=TOKEN")
                socket.onclose = event => failed(new Error("ended with " + event.code))
                socket.onmessage = ({ data }) => {
                    if (data === "40") {
                        const file = new Uint8Array(1 + (1 << 20)).map((_, index) => index)
                        file.set([4, 137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 9, 0, 0, 0, 9, 8, 2, 0, 0, 0])
                        socket.send("451-7" + HEADER)
                        socket.send(file)
                    } else if (data.startsWith("437")) done(data.slice(3))
                }
            })""".replace("TOKEN", token).replace("HEADER", json.dumps(header)))
        finally:
            await page.close()
        stored = json.loads(answer)[0]["bodies"]
        status, _, data = server.get("/" + stored["fileRemotePath"])
        assert status == 200 and len(data) == 1 << 20
    asyncio.run(asyncio.wait_for(run(), 60))
    assert other.wait("451-")


def test_the_older_python_client(server):
    """Debian's python3-socketio-client (PyPI's socketIO-client) of 2015."""
    from socketIO_client import BaseNamespace, SocketIO
    token = account(server, "alice")
    other = Raw(server, account(server, "bobby")).connect()
    received, acknowledged = [], []
    with SocketIO("127.0.0.1", server.port, BaseNamespace, params={"auth_token": token}, wait_for_connection=False) as client:
        client.on("chat", lambda *arguments: received.append(arguments[0]))
        client.emit("chat", {"to_user": "bobby", "bodies": {"type": "txt", "msg": "hello"}}, lambda *arguments: acknowledged.append(arguments[0]))
        client.wait_for_callbacks(seconds=10)
        assert acknowledged and acknowledged[0]["msg_id"], acknowledged
        assert "hello" in other.wait('["chat"')[0]
        other.event("chat", {"to_user": "alice", "bodies": {"type": "txt", "msg": "back"}}, 1)
        deadline = time.monotonic() + 10
        while not received and time.monotonic() < deadline:
            client.wait(seconds=0.5)
        assert received and received[0]["bodies"]["msg"] == "back", received


def test_rubbish_ends_only_its_sender_s_session(server):
    """Wrong lengths, packets, JSON and order; a body above the limit; and a bystander who notices nothing."""
    token = account(server, "alice")
    bystander = Raw(server, account(server, "bobby")).connect()
    deep = "42" + "[" * 5000
    for body, kind in [
        (b"999:42[]", "text/plain"), (b"-1:4", "text/plain"), (b"4:4\xff\xff\xff", "text/plain"), (b"junk", "application/octet-stream"),
        (b"\x01\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\xff", "application/octet-stream"), (f"{length(deep)}:{deep}".encode(), "text/plain"),
        (b"8:459999-[", "text/plain"), (b"3:b4A", "text/plain"), (b"6:b4AAAA", "text/plain"),
    ]:
        alice = Raw(server, token).connect()
        alice.request(alice.query, body, {"Content-Type": kind})
        assert alice.request(alice.query)[0] == 400, body[:40]
    alice = Raw(server, token).connect()
    status, _ = alice.request(alice.query, b"1:2" * ((16 << 20) // 3 + 1), {"Content-Type": "text/plain"})
    assert status == 413, status
    assert alice.post("2") == (200, b"ok")
    socket = websocket.create_connection(
        f"ws://127.0.0.1:{server.port}/socket.io/?EIO=3&transport=websocket&auth_token={token}", timeout=10)
    assert socket.recv().startswith("0{") and socket.recv() == "40"
    socket.send_binary(b"\x09\x09")
    code, _ = socket.recv_data()
    while code != websocket.ABNF.OPCODE_CLOSE:
        code, _ = socket.recv_data()
    bystander.event("chat", {"to_user": "bobby", "bodies": {"type": "txt", "msg": "still here"}}, 1)
    assert bystander.wait("still here")
