"""Calls in pages of others: the worked example of Embedding.md, and the server's page in a frame."""

import asyncio
import json
import re

import pytest

from support.browser import Chromium, Firefox
from support.page import Page
from support.page_server import serve_pages
from support.server import ROOT, Server

GUIDE = ROOT / "Sources" / "Gateway" / "Gateway.docc" / "Embedding.md"
FRAMES = "document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames"


def example(server, name):
    """The page of the guide, for this server and a participant of this name."""
    page = re.search(r"```html\n(<!doctype html>.*?)```", GUIDE.read_text(), re.S)[1]
    assert page.count("\n") <= 15
    for theirs, ours in (("https://meet.example", server.url), ("'Ada'", f"'{name}'")):
        assert page.count(theirs) == 1
        page = page.replace(theirs, ours)
    # The test looks at the call from outside.
    return page.replace("show();\n</script>", "show();\n  window.call = call;\n</script>")


@pytest.mark.usefixtures("needs_address")
def test_ten_lines_of_another_site_make_a_call(tmp_path):
    async def run(server, site):
        for name in ("Ada", "Fox"):
            (tmp_path / "site" / f"{name}.html").write_text(example(server, name))
        ada, fox = await Chromium().start(f"{site}/Ada.html"), await Firefox().start(f"{site}/Fox.html")
        try:
            for page in (ada, fox):
                await page.wait_for("document.getElementById('people').textContent.split(', ').sort().join() === 'Ada,Fox'")
                await page.wait_for("picture.videoWidth > 0")
            seen = await ada.evaluate(FRAMES)
            await ada.wait_for(f"{FRAMES} > {seen} + 5")
            assert await ada.evaluate("call.me.name") == "Ada"
            await ada.evaluate("(document.getElementById('mute').click(), 0)")
            await fox.wait_for("call.people.list.find(person => person.name === 'Ada').audio === false")
            await messages(ada, fox)
            await ada.evaluate("(call.leave(), 0)")
            await fox.wait_for("document.getElementById('people').textContent === 'Fox'")
            assert not ada.console() + fox.console()
        finally:
            await asyncio.gather(ada.close(), fox.close())

    (tmp_path / "site").mkdir()
    with serve_pages(tmp_path / "site") as site, Server(tmp_path / "server", origin=site) as server:
        asyncio.run(asyncio.wait_for(run(server, site), 60))


async def messages(ada, fox):
    """Chat, a reaction and a file reach the other page; what exceeds a limit reaches none."""
    await fox.evaluate(
        "(window.got = [], ['chat', 'reaction', 'file'].forEach(type => call.addEventListener(type, ({ detail }) => got.push({ type, ...detail }))), 0)")
    await ada.wait_for("call.channel.isOpen")
    await fox.wait_for("call.channel.isOpen")
    await ada.evaluate("(call.chat('hello'), call.channel.react('👏'), call.channel.react('<b>'), 0)")
    await fox.wait_for("got.some(({ type, text }) => type === 'chat' && text === 'hello')")
    await fox.wait_for("got.some(({ type, reaction }) => reaction === '👏')")
    assert await ada.evaluate("call.channel.sendFile(new File([new Uint8Array(9 << 20)], 'large.bin'))") is False
    assert await ada.evaluate("call.channel.sendFile(new File([new Uint8Array(40000).map((_, index) => index * 7)], 'plan.bin'))")
    await fox.wait_for("got.some(({ progress }) => progress === 1)")
    assert await fox.evaluate(
        "fetch(got.find(({ progress }) => progress === 1).url).then(answer => answer.arrayBuffer())"
        ".then(content => content.byteLength === 40000 && new Uint8Array(content).every((byte, index) => byte === (index * 7) % 256))")
    # Announcements of a faulty sender: too large, without a name, of a stranger; then parts that nothing announced.
    await ada.evaluate("""(() => {
        const { channel } = call.channel, id = '0123456789abcdef', from = call.id, name = 'x';
        for (const file of [{ id, name, bytes: 1e9 }, { id, bytes: 4 }, { id: '../../../../etc/pw', name, bytes: 4 }]) channel.send(JSON.stringify({ file, from }));
        channel.send(JSON.stringify({ file: { id, name, bytes: 4 }, from: 'stranger' }));
        channel.send(new TextEncoder().encode(id + 'abcd'));
        for (const text of ['', 'null', '[]', '{"reaction":{}}']) channel.send(text);
        for (let turn = 0; turn < 40; turn++) channel.send(JSON.stringify({ reaction: '🎉', from }));
        channel.send(JSON.stringify({ file: { id, name: 'last', bytes: 4 }, from }));
    })()""")
    await fox.wait_for("got.some(({ name }) => name === 'last')")
    assert await fox.evaluate("got.filter(({ type, name }) => type === 'file' && name === 'x').length") == 0
    assert await fox.evaluate("got.filter(({ reaction }) => reaction === '🎉').length") <= 10


@pytest.mark.usefixtures("needs_address")
def test_the_frame_of_the_guide_is_in_the_call(tmp_path):
    async def run(server, site):
        frame = re.search(r"<iframe .*</iframe>", GUIDE.read_text())[0].replace("https://meet.example", server.url)
        (tmp_path / "site" / "frame.html").write_text(f"<!doctype html>{frame}")
        page = await Chromium().start(f"{site}/frame.html", trusted=server.url)
        try:
            def seated():
                status, _, body = server.get("/api/rooms/kitchen")
                return status == 200 and [(person["name"], person["video"]) for person in json.loads(body)["participants"]] == [("Ada", True)]
            for _ in range(100):
                if await asyncio.to_thread(seated):
                    break
                await asyncio.sleep(0.1)
            else:
                raise AssertionError(page.console())
        finally:
            await page.close()

    (tmp_path / "site").mkdir()
    with serve_pages(tmp_path / "site") as site, Server(tmp_path / "server", config=f"http: {{frameAncestors: ['{site}']}}\n") as server:
        asyncio.run(asyncio.wait_for(run(server, site), 60))


@pytest.mark.usefixtures("needs_address")
def test_the_frame_of_the_guide_does_what_its_page_says(tmp_path):
    async def run(server, site):
        example = next(text for text in re.findall(r"```html\n(.*?)```", GUIDE.read_text(), re.S) if "postMessage" in text)
        (tmp_path / "site" / "frame.html").write_text("<!doctype html>" + example.replace("https://meet.example", server.url))
        page = await Chromium().start(f"{site}/frame.html", trusted=server.url)

        async def heard(expected):
            for _ in range(150):
                status, _, body = await asyncio.to_thread(server.get, "/api/rooms/kitchen")
                if (status == 200 and [(person["name"], person["audio"]) for person in json.loads(body)["participants"]]) == expected:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError((status, body, page.console()))
        try:
            await heard([("Ada", True)])
            await page.wait_for("mute.textContent === 'Mute'")
            await page.evaluate("(mute.click(), 0)")
            await heard([("Ada", False)])
            await page.wait_for("mute.textContent === 'Unmute'")
        finally:
            await page.close()

    (tmp_path / "site").mkdir()
    with serve_pages(tmp_path / "site") as site, Server(tmp_path / "server", config=f"http: {{frameAncestors: ['{site}']}}\n") as server:
        asyncio.run(asyncio.wait_for(run(server, site), 60))


@pytest.mark.usefixtures("needs_address")
def test_the_embedded_page_has_the_picture_and_few_buttons(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/frame?embed=1&name=Ada&join=1&lang=en", 480, 320, False, tmp_path)
        try:
            await page.is_moving()
            shown = await page.evaluate("[...document.querySelectorAll('.bar button')].filter(button => button.checkVisibility()).map(button => button.id)")
            assert shown == ["toggle-audio", "toggle-video", "toggle-screen", "toggle-hand", "open-settings", "leave"]
            assert await page.evaluate("document.getElementById('mix').clientHeight") > 240
            assert "embed=1" in await page.evaluate("location.search"), "a reload is embedded again"
            # A small frame, a laptop's window and a phone.
            for name, width, height, mobile in (("small", 480, 320, False), ("laptop", 1280, 800, False), ("phone", 390, 844, True)):
                await page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
                # A phone held upright gets its own picture in a frame, too.
                await page.wait_for(f"innerWidth === {width} && probe.last('tiles').width {'<' if mobile else '>'} probe.last('tiles').height")
                await page.is_moving()
                await page.fits(f"embedded page, {name}")
                await page.audit(f"embedded page, {name}")
                await page.shot(f"embedded-{name}")
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


# The page of a portal, which keeps what its frame says; a frame of a third site beside it tries the same, and reports what it hears.
PORTAL = """<!doctype html>
<iframe id="call" src="%(frame)s" allow="camera; microphone; display-capture; fullscreen; autoplay; screen-wake-lock"></iframe>
<iframe id="other" src="%(other)s"></iframe>
<script>
  const told = [], frame = document.getElementById('call');
  let heard = null;
  addEventListener('message', ({ source, origin, data }) => {
    if (source === frame.contentWindow && origin === '%(server)s') told.push(data);
    else heard = data;
  });
  const send = (message, target = '%(server)s') => frame.contentWindow.postMessage({ tessera: 1, ...message }, target);
  const last = event => told.findLast(message => message.event === event);
</script>
"""
HOSTILE = """<!doctype html>
<iframe src="%(frame)s"></iframe>
<script>
  let tries = 0;
  const heard = [], commands = ['hello', 'join', 'mute', 'unmute', 'leave'].map(command => ({ tessera: 1, command, id: command }));
  addEventListener('message', ({ data }) => heard.push(data));
  setInterval(() => {
    for (const target of [parent.frames[0], frames[0]]) for (const command of commands) target.postMessage(command, '*');
    top.postMessage({ heard, tries: tries += 1 }, '*');
  }, 100);
</script>
"""


@pytest.mark.usefixtures("needs_address")
def test_a_frame_takes_commands_of_the_page_around_it_and_tells_what_happens(tmp_path):
    async def run(server, site, other):
        frame = f"{server.url}/r/kitchen?embed=1&lang=en&buttons=audio,people,leave"
        (tmp_path / "site" / "portal.html").write_text(PORTAL % {"frame": frame, "other": f"{other}/hostile.html", "server": server.url})
        (tmp_path / "other" / "hostile.html").write_text(HOSTILE % {"frame": frame})
        page = await Chromium().start(f"{site}/portal.html", trusted=server.url)

        async def ask(command, expected, **fields):
            await page.evaluate(f"(told.length = 0, send({json.dumps({'command': command, 'id': 7, **fields})}), 0)")
            await page.wait_for(expected)

        def seated():
            status, _, body = server.get("/api/rooms/kitchen")
            return json.loads(body)["participants"] if status == 200 else []
        try:
            await page.wait_for("last('ready')")
            # The frame says nothing more before a hello, to nobody.
            await page.wait_for("heard?.tries >= 5")
            assert await page.evaluate("JSON.stringify(told)") == '[{"tessera":1,"event":"ready"}]'
            await ask("hello", "last('state')?.phase === 'lobby' && last('done')?.id === 7")
            await ask("mute", "last('error')?.code === 'phase' && last('error').id === 7")
            await ask("join", "last('joined') && last('people')?.people.length === 1", name="Ada")
            assert await page.evaluate("[last('joined').room, last('joined').name, last('people').people[0].name].join()") == "kitchen,Ada,Ada"
            await page.wait_for("last('muted')?.muted === false && last('camera')?.on === true")
            await ask("mute", "last('muted')?.muted === true && last('done')?.command === 'mute'")
            await page.wait_for("last('people')?.people[0].audio === false")
            await ask("unmute", "last('muted')?.muted === false")
            await ask("camera", "last('camera')?.on === false", on=False)
            await ask("hand", "last('hand')?.on === true", on=True)
            await ask("layout", "last('layout')?.name === 'speaker' && last('layout').scope === 'me'", name="speaker")
            await ask("layout", "last('error')?.code === 'unknown_layout'", name="no-such-layout")
            await ask("layout", "last('error')?.code === 'field'", name=7)
            assert [(person["name"], person["audio"], person["video"], person["hand"]) for person in await asyncio.to_thread(seated)] == [("Ada", True, False, True)]
            await ask("leave", "last('left')?.reason === null")
            await page.wait_for("last('camera')?.on === false || last('muted')?.muted === true")
            # The frame of the third site has tried everything all the while, at the call and at a frame of its own.
            tries = await page.evaluate("heard.tries")
            await page.wait_for(f"heard.tries >= {tries + 3}")
            assert await page.evaluate("heard.heard.length") == 0 and tries > 10
        except TimeoutError:
            raise AssertionError(await page.evaluate("JSON.stringify({ told, heard })")) from None
        finally:
            await page.close()

    for name in ("site", "other"):
        (tmp_path / name).mkdir()
    with serve_pages(tmp_path / "site") as site, serve_pages(tmp_path / "other") as other, \
            Server(tmp_path / "server", config=f"http: {{frameAncestors: ['{site}']}}\n") as server:
        asyncio.run(asyncio.wait_for(run(server, site, other), 90))


@pytest.mark.usefixtures("needs_address")
def test_the_frames_address_chooses_its_buttons(server, tmp_path):
    shown = "[...document.querySelectorAll('.bar button')].filter(button => button.checkVisibility()).map(button => button.id).join()"

    async def run():
        for wanted, expected in (("audio,people,leave,nonsense", "toggle-audio,open-people,leave"), ("none", "")):
            page = await Page().open(f"{server.url}/r/buttons?embed=1&name=Ada&join=1&lang=en&buttons={wanted}", 640, 360, False, tmp_path)
            try:
                await page.is_moving()
                assert await page.evaluate(shown) == expected
                if not expected:
                    continue
                await page.evaluate("document.getElementById('open-people').click()")
                await page.wait_for("document.getElementById('people-list').checkVisibility()")
                await page.fits("embedded page with its list of people")
                await page.shot("embedded-people")
            finally:
                await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.usefixtures("needs_address")
def test_a_join_that_fails_says_what_to_do(tmp_path):
    """The module in a page that the server does not know: its error is a sentence."""
    async def run(server, site):
        (tmp_path / "site" / "stranger.html").write_text("<!doctype html>")
        page = await Chromium().start(f"{site}/stranger.html")
        try:
            # The server's own copy of the module is for the pages that the settings name.
            await page.evaluate(f"(import('{site}/tessera.js').then(({{ join }}) => join({{ server: '{server.url}', room: 'r', name: 'Ada' }}))"
                                ".catch(error => { window.failure = error; }), 0)")
            await page.wait_for("window.failure instanceof Error", 40)
            code, message = await page.evaluate("failure.code"), await page.evaluate("failure.message")
            assert code == "unreachable" and message == (
                f"{server.url} cannot be reached: check that the server runs, and that its http.allowedOrigins lists {site}")
        finally:
            await page.close()

    (tmp_path / "site").mkdir()
    with serve_pages(tmp_path / "site") as site, Server(tmp_path / "server") as server:
        (tmp_path / "site" / "tessera.js").write_bytes(server.get("/assets/tessera.js")[2])
        asyncio.run(asyncio.wait_for(run(server, site), 60))
