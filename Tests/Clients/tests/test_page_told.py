"""What people are told in a call: who waits, who presents, who changed the picture, who wrote what, and how the link is."""

import asyncio
import signal

import pytest

from support.page import Page

pytestmark = pytest.mark.usefixtures("needs_address")
NOTICE = "document.getElementById('notice').textContent"
BUTTONS = "[...document.querySelectorAll('#notice button')].map(button => button.textContent).join()"
SHOWN = "!document.getElementById('notice').hidden"
LINE = "document.getElementById('line').textContent"


async def press(page, text):
    """Presses the button of a notice, once it takes presses: one that has just changed does not."""
    await asyncio.sleep(0.7)
    await page.evaluate(f"([...document.querySelectorAll('#notice button')].find(button => button.textContent === '{text}').click(), 0)")


async def joins(server, room, name, tmp_path, query="", mobile=False):
    page = Page()
    await page.open(f"{server.url}/r/{room}?name={name}&join=1&lang=en{query}", 390 if mobile else 1280, 844 if mobile else 800, mobile, tmp_path)
    return page


def test_who_waits_is_told_and_let_in_from_the_notice_and_no_lighter_word_takes_its_place(server, tmp_path):
    async def run():
        desk = await joins(server, "door", "Ada", tmp_path)
        guests = []
        try:
            await desk.is_moving()
            await desk.click("#open-people")
            await desk.click("#open-room")
            await desk.click("#room-admit")
            await desk.wait_for("probe.last('room')?.admit === 'moderator'")
            await desk.key("Escape")
            await desk.click("#side-close")
            await desk.wait_for("!document.getElementById('alone').hidden")
            guests.append(bo := await joins(server, "door", "Bo", tmp_path, mobile=True))
            await desk.wait_for(f"{NOTICE}.startsWith('Bo waits to be let in.') && {BUTTONS} === 'Admit,Refuse'")
            assert await desk.evaluate("document.getElementById('alone').hidden"), "somebody is at the door"
            assert await desk.evaluate("document.title === '(1) door – Tessera' && document.getElementById('waiting-badge').textContent === '1'")
            assert await desk.evaluate("document.getElementById('spoken-now').textContent") == "Bo waits to be let in."
            await desk.wait_for("document.querySelector('link[rel=icon]').href.includes('circle')")
            await desk.audit("somebody waits")
            await desk.shot("desk-somebody-waits")
            # No word about others takes its place, and the button lets in.
            await desk.tell(type="participantsChanged", joined=[{"id": "x1", "name": "Eve", "role": "participant", "audio": False, "video": False}], changed=[], left=[], viewers=0)
            await desk.wait_for(f"{NOTICE}.includes('Eve has joined.') && {NOTICE}.startsWith('Bo waits')")
            await press(desk, "Admit")
            await bo.is_moving()
            await desk.wait_for("document.title === 'door – Tessera' && document.getElementById('waiting-badge').hidden")
            await desk.wait_for("!document.querySelector('link[rel=icon]').href.includes('circle')")
            # The host asks; who asked to unmute stands while others come and go.
            await desk.click("#toggle-audio")
            await desk.wait_for("document.getElementById('toggle-audio').textContent.trim() === 'Unmute'")
            await desk.tell(type="asked", action="unmute", by=await bo.evaluate("probe.last('joined').you.id"))
            await desk.wait_for(f"{NOTICE}.startsWith('Bo asks you to switch your microphone on.')")
            for name in ("Dee", "Eli"):
                guests.append(await joins(server, "door", name, tmp_path, mobile=True))
            await desk.wait_for(f"{NOTICE}.includes('2 wait to be let in') && {BUTTONS} === 'Unmute,Admit all,Show'")
            assert await desk.evaluate(f"{NOTICE}.startsWith('Bo asks you')")
            await press(desk, "Show")
            await desk.wait_for("!document.getElementById('waiting-people').hidden && document.activeElement.dataset.action === 'admit'")
            await desk.click("#waiting-list [data-action=refuse]")
            await desk.wait_for("document.querySelectorAll('#waiting-list li').length === 1")
            assert not await desk.evaluate(f"{NOTICE}.includes('let in')"), "who has looked is not told again of one that is left"
            await press(desk, "Unmute")
            await desk.wait_for("document.getElementById('toggle-audio').textContent.trim() === 'Mute'")
            assert not await desk.evaluate("probe.problems")
        finally:
            await asyncio.gather(*(page.close() for page in (desk, *guests)))

    asyncio.run(asyncio.wait_for(run(), 120))


def test_who_presents_and_who_changed_the_picture_is_said(server, tmp_path):
    async def run():
        desk = await joins(server, "show", "Ada", tmp_path)
        phone = await joins(server, "show", "Bo", tmp_path, mobile=True)
        badge = "document.getElementById('presenting-badge').hidden ? '' : document.getElementById('presenting-text').textContent"
        try:
            await asyncio.gather(desk.is_moving(), phone.is_moving())
            for page in (desk, phone):
                await page.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => probe.screen(), 0)")
            await desk.click("#toggle-screen")
            await phone.wait_for(f"{NOTICE}.includes('Ada is presenting') && ({badge}) === 'Ada is presenting'")
            assert await phone.evaluate("document.getElementById('stop-presenting').hidden")
            await desk.wait_for(f"({badge}) === 'You are presenting'")
            # The tile of the screen says that it is one, the other is Ada's.
            await phone.wait_for("[...document.querySelectorAll('#overlay span')].map(label => label.textContent).join() === 'Ada – screen'", 15)
            await desk.audit("presenting")
            await desk.shot("desk-presenting")
            await phone.shot("phone-presenting")
            await phone.fits("phone of one who is presented to")
            # Somebody else begins: who presented is told.
            await phone.click("#toggle-screen")
            await desk.wait_for(f"{NOTICE}.includes('Bo is presenting now, too.')")
            await desk.click("#stop-presenting")
            await desk.wait_for(f"({badge}) === 'Bo is presenting' && document.getElementById('toggle-screen').getAttribute('aria-pressed') === 'false'")
            await phone.click("#stop-presenting")
            await phone.wait_for(f"({badge}) === ''")
            # A picture for everyone is everybody's affair; one for oneself is asked first.
            await desk.wait_for(f"!{SHOWN}", 15)
            await phone.click("#open-layout")
            await phone.wait_for("document.querySelector('[name=scope][value=me]').checked && document.querySelector('#layouts [data-layout=speaker]') !== null")
            await phone.click("[name=scope][value=room]")
            await phone.click("#layouts [data-layout=speaker]")
            await desk.wait_for(f"{NOTICE} === 'Bo has changed the picture for everyone: Speaker'")
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())

    asyncio.run(asyncio.wait_for(run(), 120))


def test_what_is_written_is_never_lost_and_names_both_ends(server, tmp_path):
    async def run():
        desk = await joins(server, "written", "Ada", tmp_path)
        # A name that begins on the right, in a page that begins on the left; and a clock of 24 hours.
        phone = Page()
        await phone.open(f"{server.url}/r/written?name=דוד&join=1&lang=en-GB", 390, 844, True, tmp_path)
        try:
            await asyncio.gather(desk.is_moving(), phone.is_moving())
            assert await phone.evaluate("location.search") == "?join=1&lang=en-GB", "who copies the address invites nobody under this name"
            await desk.click("#open-people")
            sides = await desk.evaluate("""[...document.querySelectorAll('#people-list .who')].map(who => {
                const range = document.createRange(); range.selectNodeContents(who);
                return [who.title, Math.round(range.getBoundingClientRect().left - who.getBoundingClientRect().left)]; })""")
            assert sorted(sides) == [["Ada (you)", 0], ["דוד", 0]], sides
            await desk.click("#open-chat")
            await desk.type("#chat-text", long := "語" * 3000)
            await desk.click("#chat-form [type=submit]")
            await desk.wait_for("document.getElementById('chat-status').textContent.startsWith('This is too long')")
            assert await desk.evaluate("document.getElementById('chat-text').value") == long
            assert await desk.evaluate("document.getElementById('chat-length').textContent") == "9,000 of 8,192 bytes"
            await desk.fits("a long message")
            # What the server refuses is in the field again, for the same receiver.
            other = await phone.evaluate("probe.last('joined').you.id")
            await desk.evaluate(f"(document.getElementById('chat-to').value = '{other}', 0)")
            await desk.evaluate("(probe.sockets.at(-1).send = () => {}, 0)")
            await desk.type("#chat-text", "psst")
            await desk.click("#chat-form [type=submit]")
            await desk.wait_for("document.getElementById('chat-text').value === ''")
            await desk.tell(type="error", code="too_fast", message="slowly", fatal=False, about="chat")
            await desk.wait_for("document.getElementById('chat-text').value === 'psst' && document.getElementById('chat-status').textContent.includes('not sent')")
            assert await desk.evaluate("document.getElementById('chat-to').value") == other
            await desk.evaluate("(delete probe.sockets.at(-1).send, 0)")
            await desk.click("#chat-form [type=submit]")
            await desk.wait_for("document.querySelector('#messages b')?.textContent === 'Ada to דוד (private)'")
            # The chat is closed there: the message itself is shown.
            await phone.wait_for(f"{NOTICE}.includes('Ada, only to you: psst')")
            await phone.shot("phone-preview")
            await press(phone, "Show")
            await phone.wait_for("document.querySelector('#messages b')?.textContent === 'Ada to you (private)'")
            assert await phone.evaluate("/^\\d\\d:\\d\\d$/.test(document.querySelector('#messages time').textContent)")
            # The receiver leaves: what is being written for him does not go to everyone.
            await desk.type("#chat-text", "a secret")
            await phone.click("#side-close")
            await phone.click("#leave")
            await desk.wait_for("document.querySelector('#chat-to option:checked').textContent === 'Somebody who has left'")
            await desk.click("#chat-form [type=submit]")
            await desk.wait_for("document.getElementById('chat-text').value === 'a secret'")
            assert not await desk.evaluate("probe.problems") + await phone.evaluate("probe.problems")
        finally:
            await asyncio.gather(desk.close(), phone.close())

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_server_that_stands_still_is_no_good_line_and_layouts_speak_german(server, tmp_path):
    async def run():
        page = await joins(server, "still", "Ada", tmp_path)
        try:
            await page.is_moving()
            await page.wait_for(f"['Good line', 'The picture is getting larger', 'The server is busy: smaller picture'].includes({LINE})")
            server.process.send_signal(signal.SIGSTOP)
            try:
                await page.wait_for(f"['Nothing arrives', 'No connection'].includes({LINE})", 5)
                assert await page.evaluate("document.getElementById('line').classList.contains('poor')")
                await page.shot("desk-nothing-arrives")
                await asyncio.sleep(3)
                assert await page.evaluate(f"['Nothing arrives', 'No connection'].includes({LINE})")
            finally:
                server.process.send_signal(signal.SIGCONT)
            await page.wait_for(f"{LINE} === 'Good line' || {LINE}.startsWith('The server is busy') || {LINE} === 'The picture is getting larger'", 15)
        finally:
            await page.close()
        page = await Page().open(f"{server.url}/r/still?name=Ada&join=1&lang=de", 390, 844, True, tmp_path)
        try:
            await page.is_moving()
            assert await page.evaluate("document.querySelector('#toggle-audio span').textContent.replace('\\u00ad', '')") == "Stummschalten"
            assert await page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('#toggle-audio span'))"), "the word is cut"
            await page.click("#open-layout")
            await page.wait_for("document.querySelector('#layouts [data-layout=grid] small')?.textContent.startsWith('Alle gleich groß.')")
            assert await page.evaluate("[...document.querySelectorAll('#layouts small')].every(about => !/ the | of /.test(about.textContent))")
            await page.shot("phone-layouts-german")
        finally:
            await page.close()

    asyncio.run(asyncio.wait_for(run(), 90))
