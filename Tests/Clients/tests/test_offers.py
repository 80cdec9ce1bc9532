"""Further offers at any time, and unusual offers."""

import asyncio
import time

import pytest

from support.aiortc_peer import AiortcPeer
from support.browser import Chromium, Firefox
from support.media import TONES
from support.people import BrowserPeer, PythonPeer, eventually, goes_on, page_url, picture_is_right, sound_is_right

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")


def test_a_browser_offers_again_in_every_way(server, pages):
    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "again", "Ada", "red", TONES[0], "H264").join()).joined()
        browser = await Chromium().start(page_url(pages, server, "again", "Chromium", "green", TONES[1], "VP8"))
        try:
            bo = await BrowserPeer(browser, "Chromium", "green", TONES[1]).joined()
            peers = [ada, bo]
            await eventually(lambda: picture_is_right(peers), 8, "picture")

            async def others_see(colour):
                seen = (await ada.tile_colours()).get(bo.id)
                return None if seen == colour else f"{seen}, not {colour}"

            # A screen instead of the camera: the same section, another track, and `present`.
            await browser.evaluate("(colour[0] = 50, colour[1] = 190, colour[2] = 200, window.screen2 = cameraTrack(), sender.sender.replaceTrack(screen2)).then(() => 1)")
            await browser.evaluate("(socket.send(JSON.stringify({ type: 'present', on: true })), 1)")
            await browser.evaluate("offerAgain().then(() => 1)")
            await eventually(lambda: others_see("cyan"), 5, "the screen")

            async def presenting(wanted):
                person = next(p for p in ada.peer.participants if p["id"] == bo.id)
                return None if person["presenting"] == wanted else str(person)
            await eventually(lambda: presenting(True), 2, "presenting")
            await browser.evaluate("(socket.send(JSON.stringify({ type: 'present', on: false })), 1)")
            await eventually(lambda: presenting(False), 2, "not presenting")

            # On hold and resumed.
            await browser.evaluate("(pc.getTransceivers().forEach(t => t.direction = 'inactive'), offerAgain().then(() => 1))")
            held = await browser.evaluate("pc.remoteDescription.sdp")
            assert held.count("a=inactive") == 2, held
            await asyncio.sleep(1)
            before = await browser.evaluate("stats().then(s => s['in-video'] ? s['in-video'].packetsReceived : 0)")
            await asyncio.sleep(0.7)
            assert await browser.evaluate("stats().then(s => s['in-video'] ? s['in-video'].packetsReceived : 0)") == before
            await eventually(lambda: others_see(None), 8, "the held one's tile has no picture")
            await browser.evaluate("(pc.getTransceivers().forEach(t => t.direction = 'sendrecv'), offerAgain().then(() => 1))")
            await eventually(lambda: others_see("cyan"), 5, "back from hold")
            await goes_on(bo)
            await eventually(lambda: sound_is_right(peers), 6, "sound after hold")

            # A second video section is for a screen, which nobody presents here; a third one is rejected. The first goes on.
            await browser.evaluate("([2, 3].forEach(() => pc.addTransceiver(cameraTrack(), { direction: 'sendonly' })), offerAgain().then(() => 1))")
            sections = await browser.evaluate("pc.remoteDescription.sdp.split('m=video ').slice(1).map(section => section.startsWith('0 '))")
            assert sections == [False, False, True], sections
            await goes_on(bo)

            # Another codec during the call.
            await browser.evaluate("""(sender.setCodecPreferences(RTCRtpReceiver.getCapabilities('video').codecs.filter(c => /H264|rtx/.test(c.mimeType))),
                offerAgain().then(() => 1))""")
            await browser.wait_for("stats().then(s => s.codecs.includes('video/H264') && !s.codecs.includes('video/VP8'))")
            await goes_on(bo)
            await eventually(lambda: others_see("cyan"), 5, "after the change of codec")
            await eventually(lambda: sound_is_right(peers), 6, "sound at the end")
            assert await browser.evaluate("state.errors") == []
        finally:
            await ada.leave()
            await browser.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_viewers_and_people_without_a_camera(server, pages):
    async def run():
        ada = await PythonPeer(await AiortcPeer(server, "few", "Ada", "red", TONES[0]).join()).joined()
        voice = await AiortcPeer(server, "few", "Voice", "green", TONES[1], camera=False).join()
        looks = await AiortcPeer(server, "few", "Looks", "blue", TONES[2], direction="recvonly").join()
        browser = await Chromium().start(page_url(pages, server, "few", "NoCamera", "blue", TONES[3]) + "&camera=0")
        try:
            await browser.wait_for("state.connected && state.frames > 3")

            async def right():
                if looks.picture is None:
                    return "the recvonly one sees nothing"
                tiles = await ada.tile_colours()
                if tiles.get(ada.id) != "red" or voice.id not in tiles:
                    return f"tiles {tiles}"
                if not (await ada.heard([TONES[1], TONES[3]])) == {TONES[1]: True, TONES[3]: True}:
                    return f"Ada hears {await ada.heard(TONES)}"
                wanted = {TONES[0]: True, TONES[1]: False}
                if await PythonPeer(voice).heard([TONES[0], TONES[1]]) != wanted:
                    return f"Voice hears {await PythonPeer(voice).heard(TONES)}"
                return None
            await eventually(right, 10, "a call with few cameras")
            assert voice.picture is None
        finally:
            await ada.leave()
            await voice.close()
            await looks.close()
            await browser.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def checksum(data):
    value = 7
    for byte in data:
        value = (value * 31 + byte) % 65521
    return f"binary:{len(data)}:{value}"


def test_data_channels_between_browsers_and_aiortc(server, pages):
    async def run():
        ada = await AiortcPeer(server, "data", "Ada", "red", TONES[0], data_channel="tools").join()
        browsers = []
        try:
            browsers.extend(await asyncio.gather(*[
                kind.start(page_url(pages, server, "data", name, "green", TONES[1]) + "&channel=tools")
                for kind, name in ((Chromium(), "Chromium"), (Firefox(), "Firefox"))]))
            for browser in browsers:
                await browser.wait_for("window.channel && channel.readyState === 'open'")
            await asyncio.sleep(0.3)
            big = bytes(i * 7 % 251 for i in range(100_000))
            ada.channel.send("grüße")
            ada.channel.send(big)
            for browser in browsers:
                await browser.wait_for("state.data.length >= 2")
                assert await browser.evaluate("state.data") == ["grüße", checksum(big)]
            for number, browser in enumerate(browsers):
                await browser.evaluate(f"(channel.send('text {number}'), channel.send(Uint8Array.from({{ length: 100000 }}, (_, i) => i * 7 % 251)), 1)")
                deadline = time.monotonic() + 10
                while len(ada.received_data) < 2:
                    assert time.monotonic() < deadline, f"aiortc got {[len(d) for d in ada.received_data]}"
                    await asyncio.sleep(0.05)
                assert ada.received_data[0] == f"text {number}" and ada.received_data[1] == big
                ada.received_data.clear()
            await browsers[0].wait_for("state.data.length >= 4")
            assert await browsers[0].evaluate("state.data.slice(2)") == ["text 1", checksum(big)]
        finally:
            await ada.close()
            for browser in browsers:
                await browser.close()
    asyncio.run(asyncio.wait_for(run(), 60))
