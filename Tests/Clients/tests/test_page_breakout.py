"""Breakout groups on the page: a host on a laptop makes groups and moves a guest on a phone, who comes back."""

import asyncio

import pytest

from support.page import Page

pytestmark = pytest.mark.usefixtures("needs_address")
BADGE = "(document.getElementById('breakout-text')?.textContent ?? '')"
NOTICE = "document.getElementById('notice').textContent"
OFFERS = "probe.sent.filter(({ type }) => type === 'offer').length"
TILES = "(probe.last('tiles')?.tiles ?? []).map(({ participant }) => participant)"
FOCUSED = "document.activeElement.closest('#breakout *')"
CONTROLS = "[...document.querySelectorAll('#breakout :is(button, input, select)')].filter(control => control.checkVisibility())"
IS_IN_VIEW = """(([control, panel]) => control.top >= panel.top && control.bottom <= panel.bottom)(
  [document.activeElement, document.getElementById('breakout')].map(each => each.getBoundingClientRect()))"""
NAMES = "[...document.querySelectorAll('#people-list .who')].map(row => row.textContent)"


def test_a_host_makes_groups_and_a_guest_is_moved_and_comes_back(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/groups?name=Ada&join=1", 1280, 800, False, tmp_path)
        await desk.is_moving()
        phone = await Page().open(f"{server.url}/r/groups?name=Bo&join=1", 390, 844, True, tmp_path)
        try:
            await phone.is_moving()
            await phone.click("#open-people")
            assert await phone.evaluate("document.getElementById('open-breakout')?.hidden ?? true"), "guests have nothing to choose"
            await desk.wait_for(f"{TILES}.length === 2")
            offers = [await page.evaluate(OFFERS) for page in (desk, phone)]
            await makes(desk)
            await moves(desk, phone)
            await chooses(desk, phone)
            await comes_back(desk, phone)
            assert [await page.evaluate(OFFERS) for page in (desk, phone)] == offers, "nobody negotiates again"
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())

    async def makes(desk):
        await desk.click("#open-people")
        await desk.click("#open-room")
        await desk.click("#room-breakout")
        await desk.click("#breakout-make-button")
        await desk.wait_for("document.querySelectorAll('#breakout-groups section').length === 3")
        await desk.type("[data-group='2'] input", "Kitchen")
        await desk.key("Tab")
        await desk.wait_for("probe.last('breakout')?.groups[1].name === 'Kitchen'")
        await desk.fits("desk with groups")
        await desk.audit("desk with groups")

    async def moves(desk, phone):
        await desk.evaluate("(s => { s.value = '2'; s.onchange(); })([...document.querySelectorAll('#breakout-groups [data-group=\"0\"] li')].find(li => li.textContent.includes('Bo')).querySelector('select')), 0")
        await desk.wait_for("document.querySelector('[data-group=\"2\"] li')?.textContent.includes('Bo')")
        await desk.type("#breakout-minutes", "5")
        await desk.click("#breakout-open")
        await phone.wait_for(f"{NOTICE}.includes('You are in Kitchen now') && {BADGE}.startsWith('Kitchen · ')")
        await phone.wait_for(f"{TILES}.length === 1 && {TILES}[0] === probe.last('joined').you.id")
        await desk.wait_for(f"{TILES}.length === 1 && {BADGE}.startsWith('The room · ')")
        await phone.wait_for(f"{NAMES}.length === 1")
        await phone.fits("phone in a group")
        await phone.audit("phone in a group")
        await phone.shot("phone-group")
        # The host looks in, and the group is told.
        await desk.click("[data-group='2'] [data-action='breakout.look']")
        await desk.wait_for(f"{TILES}.length === 1 && {TILES}[0] !== probe.last('joined').you.id")
        await phone.wait_for(f"{NOTICE}.includes('Ada sees or hears this group.')")
        await desk.click("[data-group='2'] [data-action='breakout.look']")
        await desk.click("#breakout-speak")
        await phone.wait_for(f"{NOTICE}.includes('Ada speaks to all groups.')")
        await desk.click("#breakout-speak")
        await desk.audit("desk with open groups")
        await desk.shot("desk-groups")
        await by_keyboard(desk)

    async def by_keyboard(desk):
        """Tab leads through all controls in their order, and each can be seen then; Escape closes the panel, and Enter opens it again."""
        # It shows 5:00 for its first second.
        await desk.wait_for("/^[0-4]:[0-5][0-9]$/.test(document.getElementById('breakout-clock').textContent)", 3)
        assert await desk.evaluate(f"{FOCUSED} !== null"), await desk.evaluate("document.activeElement.outerHTML")
        await desk.evaluate("(document.getElementById('breakout-title').focus(), 0)")
        for number in range(await desk.evaluate(f"{CONTROLS}.length")):
            await desk.key("Tab")
            assert await desk.evaluate(f"{CONTROLS}.indexOf({FOCUSED})") == number, await desk.evaluate(f"{FOCUSED}?.outerHTML")
            assert await desk.evaluate(IS_IN_VIEW), await desk.evaluate(f"{FOCUSED}.outerHTML")
        await desk.key("Escape")
        await desk.wait_for("!document.getElementById('breakout').open && document.activeElement !== document.body")
        await desk.evaluate("(document.getElementById('open-breakout').focus(), 0)")
        await desk.key("Enter")
        await desk.wait_for("document.getElementById('breakout').open && document.activeElement.id === 'breakout-title'")

    async def chooses(desk, phone):
        """Where everybody may, the guest goes to another group itself."""
        await desk.click("#breakout-may-choose")
        await phone.wait_for("document.getElementById('open-breakout')?.hidden === false")
        await phone.click("#open-breakout")
        await phone.wait_for("document.querySelectorAll('#breakout-groups section').length === 3")
        await phone.fits("phone with groups")
        await phone.audit("phone with groups")
        await phone.shot("phone-groups")
        await phone.click("[data-group='1'] [data-action=go]")
        await phone.wait_for(f"{BADGE}.startsWith('Group 1 · ')")
        await phone.click("#breakout button[value=close]")

    async def comes_back(desk, phone):
        await desk.click("#breakout-call-back")
        await phone.wait_for(f"{BADGE}.startsWith('Group 1 · back in ') && {NOTICE}.includes('You are called back')")
        await desk.click("#breakout-close")
        await phone.wait_for(f"{NOTICE}.includes('You are back in the room with everybody.') && document.getElementById('breakout-badge').hidden")
        for page in (desk, phone):
            await page.wait_for(f"{TILES}.length === 2")
        await phone.wait_for(f"{NAMES}.length === 2")
        await desk.wait_for("document.getElementById('breakout-groups').hidden && document.getElementById('breakout-badge').hidden")

    asyncio.run(asyncio.wait_for(run(), 120))
