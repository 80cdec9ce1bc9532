"""The page of a moderator, of who waits, and of who needs a PIN, with the server's messages put in by the test."""

import asyncio
import json

import pytest

from support.page import Page
from support.signalling import ask, connect

pytestmark = pytest.mark.usefixtures("needs_address")


def actions(page, dialog):
    return page.evaluate(f"[...document.querySelectorAll('#{dialog} button[data-action]')].map(button => button.dataset.action)")


async def sends(page, **message):
    """Waits until the page has sent exactly this message."""
    wanted = json.dumps(message, separators=(",", ":"))
    await page.wait_for(f"probe.sent.some(message => JSON.stringify(message) === {json.dumps(wanted)})", 5)


def test_a_moderator_has_tools_for_people_and_room_and_nobody_else_has(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/hosted?name=Ada&join=1&lang=en", 1280, 800, False, tmp_path)
        phone = await Page().open(f"{server.url}/r/hosted?name=Bo&join=1&lang=en", 390, 844, True, tmp_path)
        try:
            for one in (page, phone):
                await one.is_moving()
            await page.click("#open-people")
            await page.person("Bo", "microphone on")
            await page.tell(type="role", role="participant")
            assert await page.evaluate("document.querySelectorAll('.more').length") == 0
            assert await page.evaluate("document.getElementById('open-room').hidden")
            await page.tell(type="role", role="moderator")
            await people(page)
            await room(page)
            await waiting(page)
            await phone.tell(type="role", role="moderator")
            await phone.tell(type="waiting", people=[{"id": "w1", "name": "Cy"}, {"id": "w2", "name": "مريم"}])
            await phone.click("#open-people")
            await phone.fits("phone of a moderator")
            await phone.shot("phone-host")
            await phone.click(".more")
            await phone.fits("phone with a person's menu")
            await phone.shot("phone-person")
            assert not await page.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(page.close(), phone.close())

    async def people(page):
        bo = await page.evaluate("probe.last('joined').participants.concat(probe.messages.flatMap(m => m.joined ?? m.participants ?? [])).find(p => p.name === 'Bo').id")
        assert await page.evaluate("document.querySelectorAll('.more').length") == 1, "only others have a menu"
        await page.click(".more")
        assert await actions(page, "person-menu") == ["mute", "audience", "moderator", "presenter", "remove"]
        await page.shot("desk-person")
        await page.click("#person-menu [data-action=mute]")
        await sends(page, type="moderate", action="mute", participant=bo)
        assert not await page.evaluate("document.getElementById('person-menu').open")
        await page.click(".more")
        await page.click("#person-menu [data-action=presenter]")
        await sends(page, type="moderate", action="role", participant=bo, role="presenter")
        await page.click(".more")
        await page.click("#person-menu [data-action=remove]")
        assert await page.evaluate("probe.sent.every(({ action }) => action !== 'remove')"), "one press removes nobody"
        await page.click("#person-menu [data-action=remove]")
        await sends(page, type="moderate", action="remove", participant=bo)

    async def room(page):
        await page.click("#open-room")
        await page.fits("desk with the room's menu")
        await page.shot("desk-room-menu")
        await page.click("#room-locked")
        await sends(page, type="room", locked=True)
        await page.tell(type="room", locked=True, layoutLocked=False, admit="moderator", pin=True)
        assert await page.evaluate("document.getElementById('room-admit').checked && !document.getElementById('locked-badge').hidden")
        await page.type("#room-pin", "2468")
        await page.click("#room-pin-set")
        await sends(page, type="room", pin="2468")
        await page.click("#room-pin-clear")
        await sends(page, type="room", pin="")
        await page.click("#mute-all")
        await sends(page, type="moderate", action="muteAll")
        await page.click("#open-room")
        await page.click("#end-room")
        await page.key("Escape")
        await page.wait_for("!document.getElementById('room-menu').open")
        assert await page.evaluate("probe.sent.every(({ action }) => action !== 'end')")

    async def waiting(page):
        await page.tell(type="waiting", people=[{"id": "w1", "name": "Cy"}, {"id": "w2", "name": "<b>Di</b>"}])
        assert await page.evaluate("document.getElementById('waiting-count').textContent") == "2 wait to be let in"
        assert await page.evaluate("document.querySelectorAll('#waiting-list b').length") == 0
        await page.shot("desk-waiting-people")
        await page.click("#waiting-list [data-action=refuse]")
        await sends(page, type="moderate", action="refuse", participant="w1")
        await page.click("#admit-all")
        await sends(page, type="moderate", action="admit")
        await page.tell(type="waiting", people=[])
        assert await page.evaluate("document.getElementById('waiting-people').hidden")

    asyncio.run(asyncio.wait_for(run(), 90))


def test_who_waits_sees_it_and_pins_stay_out_of_the_address(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/closed?name=Cy&lang=en", 390, 844, True, tmp_path)
        try:
            await page.wait_for("document.getElementById('preview').videoWidth")
            assert await page.evaluate("document.getElementById('pin-field').hidden && document.getElementById('token-field').hidden")
            # The answers of the server come from the test: nothing is sent to the real one.
            await page.evaluate("(WebSocket.prototype.send = function(text) { probe.sent.push(JSON.parse(text)); }, 0)")
            await page.click("#join")
            await page.wait_for("probe.sent.length === 1")
            await page.tell(type="error", code="pin_required", message="a PIN", fatal=True)
            await page.wait_for("document.activeElement.id === 'pin'")
            await page.shot("phone-pin")
            await page.type("#pin", "1234")
            await page.click("#join")
            await page.wait_for("probe.sent.length === 2")
            assert await page.evaluate("probe.sent[1].pin") == "1234"
            assert "1234" not in await page.evaluate("location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
            await page.tell(type="error", code="unauthorized", message="no token", fatal=True)
            await page.type("#token", "eyJ")
            await page.click("#join")
            await page.wait_for("probe.sent.length === 3")
            assert await page.evaluate("probe.sent[2].token") == "eyJ"
            assert "eyJ" not in await page.evaluate("location.href")
            await page.tell(type="waiting")
            await page.wait_for("document.getElementById('lobby').hidden && !document.getElementById('waiting').hidden")
            await page.fits("waiting page")
            await page.shot("phone-waiting")
            await page.tell(type="error", code="refused", message="refused", fatal=True)
            await page.wait_for("document.getElementById('join-error').textContent.includes('not let in')")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 60))


def test_being_muted_and_being_asked_are_told_and_the_audience_sends_nothing(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/told?name=Ada&join=1&lang=en", 1280, 800, False, tmp_path)
        host = await connect(server)
        try:
            await page.is_moving()
            id = (await ask(host, "joined", type="join", room="told", name="Hope"))["you"]["id"]
            await page.wait_for("document.querySelectorAll('#people-list li').length === 2")
            await page.tell(type="muted", by=id)
            await page.wait_for("document.getElementById('notice').textContent.includes('Hope has muted you')")
            await page.wait_for("document.getElementById('toggle-audio').classList.contains('off') && probe.sent.at(-1).audio === false")
            await page.tell(type="asked", action="unmute", by=id)
            await page.shot("desk-asked")
            await page.click("#notice button")
            await page.wait_for("probe.sent.at(-1).audio === true")
            viewer = await Page().open(f"{server.url}/r/told?name=Vi&role=viewer&join=1&lang=en", 390, 844, True, tmp_path)
            try:
                await viewer.is_moving()
                assert await viewer.evaluate("['toggle-audio', 'toggle-video', 'toggle-screen', 'toggle-record'].every(id => document.getElementById(id).hidden)")
                assert await viewer.evaluate("document.getElementById('preview').srcObject.getTracks().every(track => track.readyState === 'ended')")
                await viewer.tell(type="role", role="participant")
                await viewer.wait_for("!document.getElementById('toggle-audio').hidden")
                await viewer.shot("phone-on-stage")
                assert not await viewer.evaluate("probe.sent.findLast(message => message.type === 'state').audio"), "on stage one is muted first"
                await viewer.click("#notice button")
                await viewer.wait_for("probe.sent.at(-1).audio === true")
                assert not await page.evaluate("probe.problems") + await viewer.evaluate("probe.problems")
            finally:
                await viewer.close()
        finally:
            await host.close()
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 90))
