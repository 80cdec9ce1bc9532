"""The chat of a room: texts and pictures between pages, and what a server does with abuse of them."""

import asyncio
import io
import json
import socket

import numpy as np
import pytest
from PIL import Image

from support.app_peer import within
from support.browser import Firefox
from support.media import TONES
from support.page import Page
from support.server import Server
from support.signalling import ask, connect, read
from support.webrtc_demo_client import DemoPeer

LAST = "document.querySelector('#messages li:last-child')"
SHOWN = "[...document.querySelectorAll('#messages img')].filter(image => image.complete && image.naturalWidth > 0)"


def picture(kind="JPEG", width=640, height=480, seed=1):
    """A picture of noise, so that no coder makes it small: a JPEG of 1280×960 has about 1 MB."""
    pixels = np.random.default_rng(seed).integers(0, 255, (height // 4, width // 4, 3), np.uint8).repeat(4, 0).repeat(4, 1)
    if width > 1000:
        pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, quality=90)
    return buffer.getvalue()


async def choose(page, *files):
    """Opens the file dialogue by the keyboard, and chooses files there."""
    await page.call("Page.setInterceptFileChooserDialog", enabled=True)
    opened = len([event for event in page.events if event["method"] == "Page.fileChooserOpened"])
    await page.evaluate("(document.getElementById('chat-file').focus(), 0)")
    for kind in ("keyDown", "keyUp"):
        await page.call("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, text="\r" if kind == "keyDown" else "")
    while True:
        events = [event for event in page.events if event["method"] == "Page.fileChooserOpened"]
        if len(events) > opened:
            break
        await asyncio.sleep(0.05)
    await page.call("DOM.setFileInputFiles", files=[str(file) for file in files], backendNodeId=events[-1]["params"]["backendNodeId"])


async def bring(page, kind, selector, data, name, media_type):
    """Pastes or drops a file: `paste` or `drop`."""
    make = {"paste": "new ClipboardEvent('paste', { clipboardData: carrier, bubbles: true, cancelable: true })",
            "drop": "new DragEvent('drop', { dataTransfer: carrier, bubbles: true, cancelable: true })"}[kind]
    return await page.evaluate(
        f"(() => {{ const carrier = new DataTransfer(); carrier.items.add(new File([new Uint8Array({json.dumps(list(data))})], {json.dumps(name)},"
        f" {{ type: {json.dumps(media_type)} }})); return !document.querySelector({json.dumps(selector)}).dispatchEvent({make}); }})()")


async def said(page, text):
    await page.wait_for(f"document.getElementById('messages').textContent.includes({json.dumps(text)})")


async def write(page, text, to=""):
    await page.evaluate(f"(document.getElementById('chat-to').value = {json.dumps(to)}, 0)")
    await page.type("#chat-text", text)
    await page.click("#chat-form [type=submit]")


@pytest.mark.usefixtures("needs_address")
def test_texts_and_pictures_between_pages_and_the_history_for_who_comes_late(server, tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(large := picture(width=1280, height=960))
    (tmp_path / "small.png").write_bytes(picture("PNG"))
    (tmp_path / "page.png").write_bytes(b"<!doctype html><script>parent.probe.problems.push('ran')</script>")
    (tmp_path / "notes.txt").write_bytes(b"no picture")
    assert len(large) > 1_000_000

    async def run():
        desk, phone = await asyncio.gather(
            Page().open(f"{server.url}/r/chat?name=Ada&join=1", 1280, 800, False, tmp_path),
            Page().open(f"{server.url}/r/chat?name=Bo&join=1", 390, 844, True, tmp_path))
        late = None
        try:
            for page in (desk, phone):
                await page.wait_for("!document.getElementById('call').hidden")
            await desk.click("#open-chat")
            await write(desk, "here it comes")
            # By the button, as the keyboard presses it: one of 1 MB, one small.
            await choose(desk, tmp_path / "holiday.jpg", tmp_path / "small.png")
            await phone.wait_for("document.getElementById('unread').textContent === '3'")
            await phone.click("#open-chat")
            for page in (desk, phone):
                await page.wait_for(f"{SHOWN}.length === 2")
                assert await page.evaluate(f"{SHOWN}.every(image => image.clientHeight <= 240 && image.clientWidth <= document.getElementById('messages').clientWidth - 24)")
                assert await page.evaluate(f"{SHOWN}.map(image => image.alt)") == [
                    f"Picture from Ada, {len(large) / 1e6:.1f} MB", f"Picture from Ada, {-(-(tmp_path / 'small.png').stat().st_size // 1000)} kB"]
            assert await desk.evaluate("document.getElementById('chat-status').hidden"), "nothing is left to say"
            assert await phone.evaluate("document.querySelector('#messages a').target") == "_blank"
            assert await phone.evaluate("fetch(document.querySelector('#messages a').href).then(answer => answer.blob()).then(blob => blob.size)") == len(large)

            # By a paste, and by a drop; beside the panel a drop does nothing, not even leave the page.
            gif = picture("GIF", 64, 48)
            assert await bring(phone, "paste", "#chat-text", gif, "", "image/gif")
            await desk.wait_for(f"{SHOWN}.length === 3")
            assert await bring(phone, "drop", "#messages", picture("WEBP", 64, 48), "drop.webp", "image/webp")
            await desk.wait_for(f"{SHOWN}.length === 4")
            assert await bring(phone, "drop", "#stage", gif, "x.gif", "image/gif")
            assert (await desk.evaluate(f"{LAST}.textContent")).startswith("Bo")

            # A private one reaches one participant alone.
            await write(phone, "psst", await phone.evaluate("document.querySelectorAll('#chat-to option')[1].value"))
            await said(desk, "psst")
            assert "(private)" in await desk.evaluate(f"{LAST}.textContent")

            # Other files go to the pages that are there now. What only claims to be a picture is not sent, and the sender reads why.
            await choose(desk, tmp_path / "notes.txt")
            await phone.wait_for("document.querySelector('#messages a[download=\"notes.txt\"]') !== null")
            assert await phone.evaluate("document.querySelector('#messages a[download]').href.startsWith('blob:')")
            await choose(desk, tmp_path / "page.png")
            await desk.wait_for("document.getElementById('chat-status').textContent.includes('this is none of them')")
            await desk.fits("desk with pictures")
            await phone.fits("phone with pictures")
            await desk.shot("desk-pictures")
            await phone.shot("phone-pictures")

            # Who comes late, in another browser, sees all of that except what was private.
            late = await Firefox().start(f"{server.url}/r/chat?name=Eve&join=1")
            await late.wait_for("document.querySelectorAll('#messages li').length === 5", 30)
            await late.wait_for("(document.getElementById('open-chat').click(), true)")
            await late.wait_for(f"{SHOWN}.length === 4")
            texts = await late.evaluate("[...document.querySelectorAll('#messages li')].map(line => line.textContent)")
            assert texts[0].startswith("Ada") and texts[0].endswith("\nhere it comes") and not any("psst" in text for text in texts)
            assert await late.evaluate("document.getElementById('unread').hidden")
            await write_in_firefox(late, "I see")
            await said(desk, "I see")

            # A lost socket: what was said meanwhile comes once, and nothing comes twice.
            before = await desk.evaluate("document.querySelectorAll('#messages li').length")
            await desk.evaluate("(probe.sockets.at(-1).close(), 0)")
            await write(phone, "said meanwhile")
            await said(desk, "said meanwhile")
            await desk.wait_for("probe.messages.filter(message => message.type === 'joined').length === 2")
            await asyncio.sleep(0.5)
            assert await desk.evaluate("document.querySelectorAll('#messages li').length") == before + 1
            problems = [*await desk.evaluate("probe.problems"), *await phone.evaluate("probe.problems")]
            assert not problems, problems
        finally:
            await asyncio.gather(desk.close(), phone.close(), *([late.close()] if late else []))
    asyncio.run(asyncio.wait_for(run(), 120))


@pytest.mark.usefixtures("needs_address", "good_line")
def test_the_page_and_apps_with_data_channels_chat_with_each_other(tmp_path):
    """Between the page and two clients of the WebRTC demo, who send on the channel that the server opened and hear on their own."""
    (tmp_path / "small.jpg").write_bytes(small := picture())
    (tmp_path / "large.jpg").write_bytes(large := picture(width=1280, height=960))
    assert len(small) < 262_144 < len(large)

    async def run(server):
        page = await Page().open(f"{server.url}/r/team?name=Di&join=1", 390, 844, True, tmp_path)
        apps = []
        try:
            await page.wait_for("!document.getElementById('call').hidden")
            await page.click("#open-chat")
            for name, colour, tone in (("Ada", "red", TONES[0]), ("Bo", "green", TONES[1])):
                apps.append(await DemoPeer(server, "team", name, colour, tone).join())
            ada, bo = apps
            await within(10, lambda: all(app.sends_on and app.channel.readyState == "open" for app in apps), "a channel each way to each app")

            def both(count):
                return ada.received_data == bo.received_data and ada.received_data[count:]

            await write(page, "from the page 👋")
            await within(10, lambda: both(0) == ["Di: from the page 👋".encode()], "the page's text, with the name")
            await choose(page, tmp_path / "small.jpg")
            await within(10, lambda: both(1) == [small], "the page's picture, as it is")
            await choose(page, tmp_path / "large.jpg")
            await within(10, lambda: both(2), "a line for the page's large picture")
            line = ada.received_data[2].decode()
            assert line.startswith(f"Di: picture of {len(large) / 1e6:.1f} MB https://meet.example/images/"), line
            assert server.get(line.removeprefix("Di: ").split("https://meet.example")[1])[2] == large

            ada.say("grüße".encode())
            await said(page, "grüße")
            assert (await page.evaluate(f"{LAST}.textContent")).startswith("Ada")
            bo.say(picture(seed=7))
            await page.wait_for(f"{SHOWN}.length === 3")
            assert (await page.evaluate(f"{LAST}.textContent")).startswith("Bo")
            ada.say(bytes([0xC3, 0x28, 0, 1]))
            await within(10, lambda: bo.received_data[-1] == bytes([0xC3, 0x28, 0, 1]), "bytes, between the apps alone")
            await within(10, lambda: ada.received_data[-1] == picture(seed=7), "Bo's picture, as it is")
            await asyncio.sleep(0.5)
            assert [len(app.received_data) for app in apps] == [4, 5], "nobody hears itself"
            assert await page.evaluate("document.querySelectorAll('#messages li').length") == 5, "each once"

            late = await connect(server)
            history = (await ask(late, "joined", type="join", room="team", name="Late"))["chat"]
            assert [(message["name"], message["text"], "picture" in message) for message in history] == [
                ("Di", "from the page 👋", False), ("Di", "", True), ("Di", "", True), ("Ada", "grüße", False), ("Bo", "", True)]
            await late.close()
            await page.shot("phone-with-apps")
            assert not await page.evaluate("probe.problems")
        finally:
            await asyncio.gather(page.close(), *(app.close() for app in apps))

    with Server(tmp_path / "server", "http: { publicURL: 'https://meet.example' }\n") as server:
        asyncio.run(asyncio.wait_for(run(server), 90))


async def write_in_firefox(page, text):
    await page.evaluate(f"(document.getElementById('chat-text').value = {json.dumps(text)}, 0)")
    await page.evaluate("(document.getElementById('chat-form').requestSubmit(), 0)")


def path_of(answer):
    return json.loads(answer)["url"]


def test_pictures_need_a_seat_and_are_bounded(server):
    async def run():
        ada = await connect(server)
        joined = await ask(ada, "joined", type="join", room="r", name="Ada")
        eve = await connect(server)
        viewer = await ask(eve, "joined", type="join", room="r", name="Eve", role="viewer")
        assert joined["chat"] == []

        def post(body, seat=joined, room="r", query=""):
            resume = seat["you"]["resume"]
            return server.request("POST", f"/api/rooms/{room}/chat/pictures{query}", body, {"Authorization": f"Bearer {resume['id']}.{resume['secret']}"})

        jpeg = picture()
        assert server.request("POST", "/api/rooms/r/chat/pictures", jpeg, {})[0] == 401
        assert post(jpeg, {"you": {"resume": {"id": joined["you"]["id"], "secret": "guess"}}})[0] == 401
        assert post(jpeg, room="elsewhere")[0] == 401
        assert post(jpeg, viewer)[0] == 403
        assert post(jpeg, query="?to=nobody")[0] == 404
        for wrong in (b"", b"<html><body onload=alert(1)>", jpeg[1:]):
            assert post(wrong)[0] == 415, wrong[:8]
        assert post(b"GIF89a" + bytes((8 << 20) - 5))[0] == 413

        status, _, body = post(jpeg)
        assert status == 201
        told = await read(ada, "chat")
        assert told["picture"] == json.loads(body) and told["picture"]["bytes"] == len(jpeg) and told["text"] == ""
        assert (await read(eve, "chat"))["id"] == told["id"]
        status, headers, content = server.get(path_of(body))
        assert status == 200 and content == jpeg
        assert headers["Content-Type"] == "image/jpeg" and headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in headers["Content-Security-Policy"] and "private" in headers["Cache-Control"]
        status, headers, content = server.request("HEAD", path_of(body), None, {})
        assert status == 200 and headers["Content-Length"] == str(len(jpeg)) and content == b""

        # Above the rate they are refused, with the time to wait.
        answers = [post(jpeg) for _ in range(8)]
        refused = [headers for status, headers, _ in answers if status == 429]
        assert len(refused) >= 3 and all(int(headers["Retry-After"]) > 0 for headers in refused)
        stored = list((server.directory / "data" / "pictures").iterdir())
        assert len(stored) == 1 + len([status for status, _, _ in answers if status == 201])
        await ada.close()
        await eve.close()
    asyncio.run(asyncio.wait_for(run(), 60))
    figures = server.get("/metrics")[2].decode()
    assert 'tessera_limit_refusals_total{name="picture",reason="rate"}' in figures


# As a client sends them that does not tidy up paths.
TRICKS = ["/images/../../server.log", "/images/..%2f..%2fserver.log", "/images/%2e%2e/%2e%2e/server.log", "/images//etc/passwd",
          "/images/" + "a" * 26 + ".jpg%00.txt", "/images/" + "a" * 26 + ".html", "/images/" + "a" * 4000 + ".jpg", "/images/.", "/images/%ff.jpg"]


@pytest.mark.parametrize("path", TRICKS)
def test_no_path_leads_out_of_the_pictures(shared_server, path):
    with socket.create_connection(("127.0.0.1", shared_server.port), 5) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.split(b" ")[1] in (b"400", b"404"), answer[:200]
    assert b"root:" not in answer


@pytest.mark.patient
def test_a_thousand_messages_reach_the_others_at_a_human_rate(server):
    async def run():
        ada, bo = await connect(server), await connect(server)
        await ask(ada, "joined", type="join", room="r", name="Ada")
        await ask(bo, "joined", type="join", room="r", name="Bo")
        for number in range(1000):
            await ada.send(json.dumps({"type": "chat", "text": f"{number} " + "x" * 40}))
        # Those that are read are answered or delivered; the rest waits in the sender's own socket.
        assert (await read(ada, "error"))["code"] == "too_fast"
        await bo.send(json.dumps({"type": "chat", "text": "I am heard"}))
        heard = []
        while not heard or heard[-1] != "I am heard":
            heard.append((await read(bo, "chat"))["text"])
        assert len(heard) < 200, len(heard)
        await ada.close()
        late = await connect(server)
        history = (await ask(late, "joined", type="join", room="r", name="Late"))["chat"]
        assert len(history) <= 100 and "I am heard" in [message["text"] for message in history]
        assert len({message["id"] for message in history}) == len(history)
        await bo.close()
        await late.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_quota_holds_over_a_restart_and_a_folder_that_cannot_be_is_said(tmp_path):
    jpegs = [picture(seed=seed) for seed in range(4)]
    quota = sum(-(-len(jpeg) // 4096) * 4096 for jpeg in jpegs[:2])
    config = f"doors: {{ directory: store, pictureBytes: {quota} }}\n"

    async def send(server, jpeg, expect=201):
        ada = await connect(server)
        resume = (await ask(ada, "joined", type="join", room="r", name="Ada"))["you"]["resume"]
        status, _, body = await asyncio.to_thread(
            server.request, "POST", "/api/rooms/r/chat/pictures", jpeg, {"Authorization": f"Bearer {resume['id']}.{resume['secret']}"})
        assert status == expect, body
        await ada.close()
        return json.loads(body)

    with Server(tmp_path, config) as server:
        assert not (tmp_path / "store" / "pictures").exists()
        urls = [asyncio.run(send(server, jpeg))["url"] for jpeg in jpegs[:2]]
    (tmp_path / "store" / "pictures" / "mine.txt").write_text("of the operator")
    with Server(tmp_path, config) as server:
        assert [server.get(url)[0] for url in urls] == [200, 200]
        urls.append(asyncio.run(send(server, jpegs[2]))["url"])
        assert [server.get(url)[0] for url in urls] == [404, 200, 200]
        assert (tmp_path / "store" / "pictures" / "mine.txt").exists()

    (tmp_path / "file").write_text("no folder")
    with Server(tmp_path, "doors: { directory: file }\n") as server:
        error = asyncio.run(send(server, jpegs[3], 500))["error"]
        assert error["code"] == "picture_failed" and "doors.directory" in error["message"]
        assert "doors.directory" in server.log_text() and "file/pictures" in server.log_text()
