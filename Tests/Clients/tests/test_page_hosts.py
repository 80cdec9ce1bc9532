"""Host tools on the page: a moderator on a laptop, a participant on a phone, and somebody who needs a PIN and has to wait."""

import asyncio
import json
import signal
import time

import pytest

from support.page import Page
from support.server import Server
from support.signalling import ask, connect, read
from support.tokens import ADMIN, SECRET, token

pytestmark = pytest.mark.usefixtures("needs_address")
NOTICE = "document.getElementById('notice').textContent"
# Notes the tones that the page gives to its loudspeaker from now on, in Hz.
TONES = """(() => {
    window.tones = [];
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (at) { tones.push(this.frequency.value); return start.call(this, at); };
})()"""
OFF = "document.getElementById('toggle-audio').classList.contains('off')"
ACTIONS = "[...document.querySelectorAll('#person-menu button[data-action]')].map(button => button.dataset.action)"


async def do(page, action):
    """Chooses an action of the menu of the other participant."""
    await page.wait_for("document.querySelector('.more') !== null")
    await page.click(".more")
    await page.click(f"#person-menu [data-action={action}]")


async def in_the_room_menu(page, selector):
    await page.click("#open-room")
    await page.click(selector)
    if await page.evaluate("document.getElementById('room-menu').open"):
        await page.click("#room-menu button[value=close]")


def test_a_moderator_has_tools_for_people_and_room_and_nobody_else_has(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/hosted?name=Ada&join=1", 1280, 800, False, tmp_path)
        await desk.is_moving()
        phone = await Page().open(f"{server.url}/r/hosted?name=Bo&join=1", 390, 844, True, tmp_path)
        try:
            await phone.is_moving()
            assert await phone.evaluate("document.querySelectorAll('.more').length === 0 && document.getElementById('open-room').hidden")
            await desk.click("#open-people")
            await desk.person("Bo", "microphone on")
            assert await desk.evaluate("document.querySelectorAll('.more').length") == 1, "only others have a menu"
            await one_person(desk, phone)
            await screen_and_stage(desk, phone)
            await room(desk, phone)
            await ends(desk, phone)
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())

    async def one_person(desk, phone):
        await desk.click(".more")
        assert await desk.evaluate(ACTIONS) == ["spotlight", "mute", "stopVideo", "audience", "moderator", "presenter", "recorded", "remove"]
        await desk.shot("desk-person")
        await desk.key("Escape")
        await do(desk, "mute")
        await phone.wait_for(f"{NOTICE}.includes('Ada has muted you.') && {OFF}")
        await desk.person("Bo", "muted")
        await do(desk, "askToUnmute")
        await phone.wait_for(f"{NOTICE}.startsWith('Ada asks you')")
        await phone.shot("phone-asked")
        await phone.click("#notice button")
        await desk.person("Bo", "microphone on")
        await phone.click("#toggle-hand")
        await desk.person("Bo", "hand raised")
        await do(desk, "lowerHand")
        await phone.wait_for("document.getElementById('toggle-hand').getAttribute('aria-pressed') === 'false'")

    async def screen_and_stage(desk, phone):
        await phone.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => probe.screen(), 0)")
        await phone.click("#toggle-screen")
        await desk.person("Bo", "shares the screen")
        await do(desk, "stopScreen")
        await phone.wait_for(f"{NOTICE}.includes('Ada has stopped your screen.') && document.getElementById('toggle-screen').getAttribute('aria-pressed') === 'false'")
        await do(desk, "audience")
        await phone.wait_for("['toggle-audio', 'toggle-video', 'toggle-screen', 'toggle-record'].every(id => document.getElementById(id).hidden)")
        assert await phone.evaluate("document.getElementById('preview').srcObject.getTracks().every(track => track.readyState === 'ended')")
        await phone.click("#toggle-hand")
        await desk.person("Bo", "hand raised")
        await do(desk, "stage")
        await phone.wait_for(f"{NOTICE}.includes('You can speak') && {OFF}")
        await phone.shot("phone-on-stage")
        await phone.click("#notice button")
        await desk.person("Bo", "microphone on")

    async def room(desk, phone):
        await desk.click("#open-room")
        await desk.fits("desk with the room's menu")
        await desk.audit("desk with the room's menu")
        await desk.shot("desk-room-menu")
        await desk.click("#room-menu button[value=close]")
        await in_the_room_menu(desk, "#room-layout-locked")
        await phone.wait_for("probe.last('room')?.layoutLocked === true")
        await phone.click("#open-layout")
        await phone.wait_for("document.querySelector('[name=scope][value=room]').disabled && !document.getElementById('layout-locked').hidden")
        await phone.key("Escape")
        await in_the_room_menu(desk, "#mute-all")
        await phone.wait_for(OFF)
        assert not await desk.evaluate(OFF), "one's own microphone stays on"

    async def ends(desk, phone):
        """The role is handed on; the new moderator removes one and ends the call, each at the second press."""
        await do(desk, "moderator")
        await phone.wait_for(f"{NOTICE}.includes('You are a moderator now.')")
        await phone.click("#open-people")
        await phone.fits("phone of a moderator")
        await phone.audit("phone of a moderator")
        await phone.shot("phone-host")
        await phone.click(".more")
        await phone.fits("phone with a person's menu")
        await phone.audit("phone with a person's menu")
        await phone.shot("phone-person")
        await phone.click("#person-menu [data-action=remove]")
        await asyncio.sleep(0.3)
        assert await desk.evaluate("document.getElementById('ended').hidden"), "one press removes nobody"
        await phone.click("#person-menu [data-action=remove]")
        await desk.wait_for("document.getElementById('ended-text').textContent.includes('removed')")
        await phone.click("#open-room")
        await phone.click("#end-room")
        await phone.click("#end-room")
        await phone.wait_for("document.getElementById('ended-text').textContent.includes('closed for everyone')")

    asyncio.run(asyncio.wait_for(run(), 150))


def test_the_page_of_the_host_is_the_host_again_after_a_restart_and_a_reload(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/kept?name=Ada&join=1", 1280, 800, False, tmp_path)
        try:
            await desk.is_moving()
            await desk.wait_for("localStorage.getItem('tessera.hosts')?.includes('kept')")
            await asyncio.sleep(1)
            server.stop(signal.SIGKILL)
            # The guest is first, and the page comes back by itself.
            server.start()
            guest = await connect(server)
            first = await ask(guest, "joined", type="join", room="kept", name="Guest")
            await desk.wait_for("probe.last('joined')?.you.role === 'moderator' && document.getElementById('people-count').textContent === '2'", 20)
            assert first["you"]["role"] == "participant" or len(first["participants"]) == 2
            # A page that is loaded again leaves, and nobody else is the host meanwhile.
            await desk.call("Page.reload")
            await desk.wait_for("window.probe?.last('joined')?.you.role === 'moderator'", 20)
            await guest.send(json.dumps({"type": "moderate", "action": "muteAll"}))
            assert (await read(guest, "error"))["code"] == "forbidden"
            await guest.close()
        finally:
            await desk.close()
    asyncio.run(asyncio.wait_for(run(), 90))


def test_a_pin_is_asked_for_and_who_waits_is_let_in_or_refused(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/closed?name=Ada&join=1", 1280, 800, False, tmp_path)
        await desk.is_moving()
        await desk.set_pin("24a68")
        await desk.click("#room-admit")
        await desk.wait_for("probe.last('room').pin && probe.last('room').admit === 'moderator'")
        await desk.key("Escape")
        guest = await Page().open(f"{server.url}/r/closed?name=Cy", 390, 844, True, tmp_path)
        try:
            await guest.wait_for("document.getElementById('preview').videoWidth")
            # The lobby knows that the room has one.
            await guest.wait_for("!document.getElementById('pin-field').hidden")
            assert await guest.evaluate("document.getElementById('token-field').hidden")
            await guest.click("#join")
            await guest.wait_for("document.activeElement.id === 'pin'")
            await guest.audit("a PIN is asked for")
            await guest.shot("phone-pin")
            await guest.type("#pin", "9999")
            await guest.click("#join")
            await guest.wait_for("document.getElementById('join-error').textContent === 'This is not the room\\'s PIN.'")
            await desk.evaluate(TONES)
            await waits(guest)
            await guest.shot("phone-waiting")
            await desk.wait_for("document.getElementById('waiting-count').textContent === '1 waits to be let in'")
            assert await desk.evaluate("tones") == [659, 880, 659], "the desk hears that somebody waits"
            await desk.audit("who waits")
            await desk.shot("desk-waiting-people")
            await desk.click("#waiting-list [data-action=refuse]")
            await guest.wait_for("document.getElementById('join-error').textContent.includes('not let in')")
            await waits(guest)
            await desk.wait_for("document.querySelector('#waiting-list [data-action=admit]') !== null")
            await desk.click("#waiting-list [data-action=admit]")
            await guest.is_moving()
            await desk.wait_for("document.getElementById('waiting-people').hidden")
            assert "24a68" not in await guest.evaluate("location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
            await in_the_room_menu(desk, "#room-locked")
            for page in (desk, guest):
                await page.wait_for("!document.getElementById('locked-badge').hidden")
            assert not await desk.evaluate("probe.problems") + await guest.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), guest.close())

    async def waits(guest):
        await guest.type("#pin", "24a68")
        await guest.click("#join")
        await guest.wait_for("document.getElementById('lobby').hidden && !document.getElementById('waiting').hidden")
        await guest.fits("waiting page")
        await guest.audit("waiting page")

    asyncio.run(asyncio.wait_for(run(), 150))


def test_a_token_is_asked_for_and_stays_out_of_the_address(tmp_path):
    async def run(server):
        page = await Page().open(f"{server.url}/r/closed?name=Cy", 390, 844, True, tmp_path)
        try:
            await page.wait_for("document.getElementById('preview').videoWidth")
            await page.click("#join")
            await page.wait_for("document.activeElement.id === 'token'")
            await page.shot("phone-token")
            await page.type("#token", secret := token({"room": "closed", "exp": int(time.time()) + 600}))
            await page.click("#join")
            await page.is_moving()
            assert secret not in await page.evaluate("location.href + JSON.stringify(localStorage)")
            # A guest's token lists the layouts; recording is not for its role.
            assert await page.evaluate("document.getElementById('toggle-record').hidden")
            await page.click("#open-layout")
            await page.wait_for("document.querySelectorAll('#layouts [data-layout]').length > 4")
        finally:
            await page.close()
    # Without an administrator's token a page on this machine would be an administrator's, and could ask without its guest's.
    with Server(tmp_path / "server", config=f"auth: {{mode: token, secret: '{SECRET}', adminToken: '{ADMIN}'}}\n") as server:
        asyncio.run(asyncio.wait_for(run(server), 60))
