"""The lobby's switches and tests, small and lying screens, keys of other scripts, and the page as an app."""

import asyncio
import json

import pytest

from support.page import Page

pytestmark = pytest.mark.usefixtures("needs_address")
# Devices open when the test says so; loudspeakers and players are noted.
HELD = """(() => {
  const native = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  window.held = { waiting: [], sinks: [], opened: [] };
  navigator.mediaDevices.getUserMedia = async wanted => {
    await new Promise(done => held.waiting.push(done));
    held.opened.push(wanted.video ? 'camera' : 'microphone');
    return native(wanted);
  };
  const sink = HTMLMediaElement.prototype.setSinkId;
  HTMLMediaElement.prototype.setSinkId = function (id) { held.sinks.push([id, this.srcObject?.getAudioTracks().length ?? 0]); return sink.call(this, id); };
  held.open = () => held.waiting.shift()?.();
})()"""
SMALL_TARGETS = """
[...document.querySelectorAll('button, select, input:not([type=checkbox], [type=radio], [type=range])')].filter(each => each.checkVisibility({ opacityProperty: true }))
  .map(each => [each.id || each.textContent, Math.round(each.getBoundingClientRect().width), Math.round(each.getBoundingClientRect().height)])
  .filter(([, width, height]) => width < 44 || height < 44)
"""


def words(id):
    return f"document.getElementById('{id}').getAttribute('aria-label')"


async def key(page, key, code):
    for kind in ("keyDown", "keyUp"):
        await page.call("Input.dispatchKeyEvent", type=kind, key=key, code=code)


def test_the_lobby_is_busy_while_devices_open_and_who_turns_them_off_there_comes_in_so(server, tmp_path):
    async def run():
        page = await Page().open("about:blank", 1366, 768, False, tmp_path)
        try:
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=HELD)
            await page.call("Page.navigate", url=f"{server.url}/r/lobby?name=Ada")
            await page.wait_for("held.waiting.length === 1 && !document.getElementById('preview-busy').hidden")
            assert await page.evaluate("document.getElementById('preview-note').textContent") == "Opening camera and microphone …"
            assert await page.evaluate(words("lobby-audio")) == "Leave the microphone off"
            await page.shot("lobby-busy")
            await page.evaluate("(held.open(), 0)")
            await page.wait_for("held.waiting.length === 1")
            # The camera is not wanted while it opens: its light does not stay on.
            await page.click("#lobby-video")
            await page.evaluate("(held.open(), 0)")
            await page.wait_for("document.getElementById('preview-busy').hidden")
            assert await page.evaluate("document.getElementById('preview').srcObject.getVideoTracks().length") == 0
            await page.click("#lobby-audio")
            assert [await page.evaluate(words(f"lobby-{kind}")) for kind in ("audio", "video")] == ["Switch the microphone on", "Switch the camera on"]
            await page.shot("lobby-off")
            gap = await page.evaluate("document.getElementById('join').getBoundingClientRect().top - document.getElementById('lobby-unrecorded').closest('label').getBoundingClientRect().bottom")
            assert gap >= 6, f"“Do not record me” is {gap} px from Join"
            # No choice of a device has changed, and another microphone does not switch it on.
            assert await page.evaluate("[localStorage.getItem('tessera.camera'), localStorage.getItem('tessera.microphone')]") == [None, None]
            assert await page.evaluate("document.getElementById('camera').value") != "none"
            await page.evaluate("(document.getElementById('microphone').dispatchEvent(new Event('change')), 0)")
            await page.wait_for("held.waiting.length === 1")
            await page.evaluate("(held.open(), 0)")
            await page.wait_for("document.getElementById('preview-busy').hidden")
            assert await page.evaluate(words("lobby-audio")) == "Switch the microphone on"
            await page.click("#test-loudspeaker")
            await page.wait_for("document.getElementById('test-loudspeaker').disabled && held.sinks.some(([, tracks]) => tracks === 1)")
            await page.wait_for("!document.getElementById('test-loudspeaker').disabled")
            await page.audit("lobby with devices off")
            await page.click("#join")
            await page.is_moving()
            assert await page.evaluate("document.activeElement.id") == "call-title"
            state = "probe.sent.findLast(each => each.type === 'state')"
            await page.wait_for(f"{state}.audio === false && {state}.video === false")
            assert await page.evaluate("held.opened") == ["microphone", "camera", "microphone"]
            await page.click("#toggle-audio")
            await page.wait_for(f"{state}.audio === true")
            await page.click("#toggle-video")
            await page.wait_for("held.waiting.length === 1")
            await page.evaluate("(held.open(), 0)")
            await page.wait_for(f"{state}.video === true")
            # The lobby is as it was left, and what was pressed in the call is the call's.
            await page.click("#leave")
            await page.click("#rejoin")
            await page.wait_for("held.waiting.length === 1")
            await page.evaluate("(held.open(), 0)")
            await page.wait_for("document.getElementById('preview-busy').hidden")
            assert [await page.evaluate(words(f"lobby-{kind}")) for kind in ("audio", "video")] == ["Switch the microphone on", "Switch the camera on"]
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_every_control_is_in_sight_and_large_enough_on_phones_tablets_and_at_four_times_the_size(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/sizes?name=Ada", 844, 390, True, tmp_path)

        async def turn(width, height, mobile=True):
            await page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
            await asyncio.sleep(0.3)
            overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert overflow <= 0, f"{width}×{height}: {overflow} pixels of horizontal scroll"
            assert not (small := await page.evaluate(SMALL_TARGETS)), f"{width}×{height}: {small}"
        try:
            await page.wait_for("document.getElementById('preview').videoWidth")
            for width, height in ((844, 390), (390, 844), (820, 1180), (341, 256)):
                await turn(width, height, width != 341)
                box = await page.evaluate("(({ top, bottom }) => [top, bottom])(document.getElementById('join').getBoundingClientRect())")
                assert 0 <= box[0] and box[1] <= height, f"{width}×{height}: Join at {box}"
                await page.shot(f"lobby-{width}")
            await page.click("#join")
            await page.is_moving()
            for width, height in ((390, 844), (844, 390), (820, 1180), (341, 256)):
                await turn(width, height, width != 341)
                await page.fits(f"{width}×{height}")
                await page.shot(f"call-{width}")
                rows = await page.evaluate("new Set([...document.querySelectorAll('.bar button')].filter(each => each.checkVisibility()).map(each => each.offsetTop)).size")
                assert rows == (1 if width > 800 else 2), f"{width}×{height}: {rows} rows"
            # The panel lies before the bar.
            await page.click("#open-people")
            assert await page.evaluate("document.activeElement.id") == "tab-people"
            await turn(341, 256, False)
            await page.key("Escape")
            assert await page.evaluate("document.activeElement.id") == "open-people"
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_keys_count_in_every_script_and_the_page_is_an_app_that_keeps_the_screen_on(server, tmp_path):
    async def run():
        page = await Page().open("about:blank", 1280, 800, False, tmp_path)
        try:
            await page.call("Page.addScriptToEvaluateOnNewDocument", source="""
              window.locks = 0;
              Object.defineProperty(navigator, 'wakeLock', { value: { request: async () => { locks += 1; return { release() { locks -= 1; } }; } } });""")
            await page.call("Page.navigate", url=f"{server.url}/r/keys?name=Ada&join=1")
            await page.is_moving()
            await page.wait_for("locks === 1")
            state = "probe.sent.findLast(each => each.type === 'state')"
            await page.wait_for(f"{state}.audio === true")
            for letter, code in (("ь", "KeyM"), ("M", "KeyM"), ("μ", "KeyM"), ("m", "Semicolon")):
                before = await page.evaluate(f"{state}.audio")
                await key(page, letter, code)
                await page.wait_for(f"{state}.audio === {json.dumps(not before)}")
            await key(page, "р", "KeyH")
            await page.wait_for(f"{state}.hand === true")
            shown = await page.evaluate("[...document.querySelectorAll('[aria-keyshortcuts]')].map(each => [each.id, each.ariaKeyShortcuts])")
            assert dict(shown) == {"toggle-audio": "M", "toggle-video": "V", "toggle-hand": "H", "full-screen": "F"}, shown
            # The focus ring of the first and the last of a list is whole.
            await page.click("#open-layout")
            await page.wait_for("document.querySelectorAll('#layouts button').length > 3")
            ring = await page.evaluate("""(() => {
              const list = document.getElementById('layouts').getBoundingClientRect(), [first] = document.querySelectorAll('#layouts button');
              const box = first.getBoundingClientRect();
              return Math.min(box.left - list.left, box.top - list.top);
            })()""")
            assert ring >= 5, f"3 px of ring at a distance of 2 do not fit {ring} px"
            await page.key("Escape")
            manifest = await page.call("Page.getAppManifest")
            assert manifest["url"].endswith(".webmanifest") and not manifest["errors"], manifest
            errors = await page.call("Page.getInstallabilityErrors")
            # A profile of a test is as one in private.
            faults = [each["errorId"] for each in errors["installabilityErrors"] if each["errorId"] != "in-incognito"]
            assert not faults, faults
            status, headers, _ = server.get(manifest["url"].split(str(server.port), 1)[1])
            assert status == 200 and headers["Content-Type"] == "application/manifest+json"
            await page.click("#leave")
            await page.wait_for("locks === 0")
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))
