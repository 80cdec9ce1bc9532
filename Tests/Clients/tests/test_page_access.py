"""The page for everyone: screen readers (axe), the keyboard, large letters, other scripts' direction, light and dark, little motion, other languages."""

import asyncio

import pytest

from support.page import Page
from support.server import ROOT

pytestmark = pytest.mark.usefixtures("needs_address")
FOCUSED = "document.activeElement.id"


async def prefer(page, **features):
    await page.call("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])


async def dialogs(page, scheme):
    """Every dialog of the call, one after the other."""
    for opener, dialog in (("open-layout", "layout-menu"), ("open-settings", "settings"), ("open-invite", "invite"), ("open-room", "room-menu"), (None, "person-menu")):
        await page.evaluate("(document.querySelector('.more').click(), 0)" if opener is None else f"(document.getElementById('{opener}').click(), 0)")
        await page.wait_for(f"document.getElementById('{dialog}')?.open")
        await page.audit(f"{dialog}, {scheme}", colours_only=scheme == "dark")
        await page.shot(f"{dialog}-{scheme}")
        await page.key("Escape")
        await page.wait_for(f"!document.getElementById('{dialog}').open")


def test_no_serious_finding_of_axe_in_lobby_call_and_dialogs_in_light_and_dark(server, tmp_path):
    async def run():
        page = await Page().open(f"{server.url}/r/access?name=Ada", 1280, 800, False, tmp_path)
        phone = await Page().open(f"{server.url}/r/access?name=Bo&join=1", 390, 844, True, tmp_path)
        try:
            await page.wait_for("document.getElementById('room-people').textContent.includes('Bo')")
            for scheme in ("light", "dark"):
                await prefer(page, prefers_color_scheme=scheme)
                await page.audit(f"lobby, {scheme}", colours_only=scheme == "dark")
                await page.shot(f"lobby-{scheme}")
            await page.click("#join")
            await page.is_moving()
            await page.tell(type="role", role="moderator")
            await page.tell(type="waiting", people=[{"id": "w", "name": "Cy"}])
            await phone.click("#toggle-hand")
            await phone.click("#toggle-audio")
            await page.click("#open-people")
            await page.person("Bo", "hand raised")
            for scheme in ("light", "dark"):
                await prefer(page, prefers_color_scheme=scheme)
                await page.audit(f"call with people, {scheme}", colours_only=scheme == "dark")
                await page.shot(f"people-{scheme}")
                await dialogs(page, scheme)
            await page.click("#open-chat")
            await page.type("#chat-text", "see https://example.org")
            await page.click("#chat-form [type=submit]")
            await page.wait_for("document.querySelectorAll('#messages a').length === 1")
            await page.click("#open-reactions")
            await page.click("#line")
            for scheme in ("light", "dark"):
                await prefer(page, prefers_color_scheme=scheme)
                await page.audit(f"chat, reactions and line, {scheme}", colours_only=scheme == "dark")
                await page.shot(f"chat-{scheme}")
            await prefer(phone, prefers_color_scheme="light")
            await phone.audit("phone")
            await phone.shot("phone-light")
            await page.click("#leave")
            await page.wait_for("!document.getElementById('ended').hidden")
            await page.audit("the end")
            assert not await page.evaluate("probe.problems")
        finally:
            await asyncio.gather(page.close(), phone.close())
    asyncio.run(asyncio.wait_for(run(), 150))


def test_a_call_by_the_keyboard_alone(server, tmp_path):
    """From the lobby through the bar, a dialog and the side panel to the end; the focus is always somewhere, and comes back."""
    async def run():
        page = await Page().open(f"{server.url}/r/keys?name=Ada", 1280, 800, False, tmp_path)

        async def tab_to(id, most=40):
            for _ in range(most):
                if await page.evaluate(FOCUSED) == id:
                    return
                await page.key("Tab")
            raise AssertionError(f"no way to {id}: the focus is at {await page.evaluate(FOCUSED)!r}")

        try:
            await page.wait_for("document.getElementById('preview').videoWidth")
            await tab_to("join")
            await page.key("Enter")
            await page.is_moving()
            await tab_to("open-layout")
            await page.key("Enter")
            await page.wait_for("document.querySelectorAll('#layouts .drawing rect').length > 8")
            await page.shot("layouts")
            # Each of the shipped layouts has a picture of its own.
            pictures = await page.evaluate("[...document.querySelectorAll('#layouts .drawing')].map(drawing => drawing.innerHTML)")
            assert len(pictures) == len(list((ROOT / "layouts").glob("*.json"))) - 1 and len(set(pictures)) >= len(pictures) - 1
            await page.key("Escape")
            await page.wait_for(f"{FOCUSED} === 'open-layout'")
            await tab_to("open-people")
            await page.key("Enter")
            await page.wait_for("!document.getElementById('people').hidden")
            await page.evaluate("(document.getElementById('tab-people').focus(), 0)")
            await page.key("ArrowRight")
            await page.wait_for(f"!document.getElementById('chat').hidden && {FOCUSED} === 'tab-chat'")
            await page.key("Escape")
            await page.wait_for(f"{FOCUSED} === 'open-chat'")
            await tab_to("open-reactions")
            await page.key("Enter")
            await page.wait_for("document.activeElement.closest('#reaction-menu') !== null")
            await page.key("Escape")
            await page.wait_for(f"{FOCUSED} === 'open-reactions'")
            await tab_to("leave")
            await page.key("Enter")
            await page.wait_for(f"{FOCUSED} === 'ended-title'")
        finally:
            await page.close()
    asyncio.run(asyncio.wait_for(run(), 150))


def test_large_letters_other_directions_and_languages_and_little_motion(server, tmp_path):
    async def run():
        page = await Page().open("about:blank?", 1280, 800, False, tmp_path)
        try:
            # German by the browser's language; its letters run the other way, as a language's file can say.
            await page.call("Emulation.setUserAgentOverride", userAgent=await page.evaluate("navigator.userAgent"), acceptLanguage="de-AT")
            await page.call("Page.addScriptToEvaluateOnNewDocument", source="""(() => {
              const native = fetch;
              window.fetch = (url, ...rest) => native(url, ...rest).then(answer => (String(url).includes('/words.de')
                ? answer.json().then(words => ({ ok: true, json: async () => ({ ...words, direction: window.name || 'ltr' }) })) : answer));
            })()""")
            await page.call("Page.navigate", url=f"{server.url}/r/zoom?name=Ada")
            await page.wait_for("document.getElementById('join')?.textContent === 'Teilnehmen'")
            assert await page.evaluate("document.documentElement.lang") == "de"
            # 200 % of 1280×800, in either direction.
            await page.call("Emulation.setDeviceMetricsOverride", width=640, height=400, deviceScaleFactor=2, mobile=False)
            for direction in ("ltr", "rtl"):
                await page.evaluate(f"(window.name = '{direction}', 0)")
                await page.call("Page.navigate", url=f"{server.url}/r/zoom?name=Ada&turn={direction}")
                await page.wait_for(f"location.search.endsWith('{direction}') && document.readyState === 'complete' && document.documentElement.dir === '{direction}' && document.getElementById('preview').videoWidth")
                await no_scroll(page, f"lobby, {direction}")
                await page.shot(f"zoom-lobby-{direction}")
                await page.click("#join")
                await page.is_moving()
                await page.fits(f"call, {direction}")
                await page.audit(f"call, {direction}")
                await page.shot(f"zoom-call-{direction}")
                await page.click("#open-people")
                await no_scroll(page, f"people, {direction}")
                await page.shot(f"zoom-people-{direction}")
                await page.click("#side-close")
                await page.click("#open-settings")
                await page.wait_for("document.getElementById('settings').open")
                await no_scroll(page, f"settings, {direction}")
                await page.shot(f"zoom-settings-{direction}")
            await page.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
            await page.evaluate("(document.getElementById('settings').close(), 0)")
            await page.click("#open-people")
            await page.shot("rtl")
            assert await page.evaluate("document.getElementById('side').getBoundingClientRect().left") == 0, "the panel is at the end of the line"
            await prefer(page, prefers_reduced_motion="reduce")
            await page.evaluate("(document.getElementById('recording-badge').hidden = false, 0)")
            assert await page.evaluate("document.getAnimations().length") == 0
            await prefer(page, prefers_reduced_motion="no-preference")
            await page.wait_for("document.getAnimations().length > 0")
            assert not await page.evaluate("probe.problems")
        finally:
            await page.close()

    async def no_scroll(page, where):
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, where
        wide = await page.evaluate("""[...document.querySelectorAll('button, input, select')].filter(control => control.checkVisibility())
            .filter(control => control.getBoundingClientRect().left < -0.5 || control.getBoundingClientRect().right > innerWidth + 0.5).map(({ id }) => id)""")
        assert not wide, f"{where}: {wide}"
    asyncio.run(asyncio.wait_for(run(), 150))
