"""The page of recordings after the call: a host finds her own, renames, shares, watches and deletes them; a guest finds none."""

import asyncio
import json

import pytest

from support.page import Page
from support.server import Server
from support.tokens import ADMIN

# The page before may still be there.
STATE = "(document.getElementById('state')?.textContent ?? '')"
ROW = "document.querySelector('#days li')"


def button(number):
    """Watch, download, rename, share, delete."""
    return f"#days li .tools button:nth-of-type({number})"


@pytest.mark.usefixtures("needs_address")
def test_a_host_finds_her_recordings_after_the_call(tmp_path):
    async def run(server):
        host, guest = await asyncio.gather(
            Page().open(f"{server.url}/r/weekly?name=Ada&join=1", 1280, 800, False, tmp_path),
            Page().open(f"{server.url}/r/weekly?name=Bo", 390, 844, True, tmp_path))
        try:
            await host.is_moving()
            await guest.click("#join")
            await guest.is_moving()
            await host.click("#toggle-record")
            await host.click("#record-start")
            await host.wait_for("document.getElementById('recordings-list').textContent.includes('is being recorded')")
            await asyncio.sleep(3)
            # She leaves while it is recorded, without a look at the list.
            await host.key("Escape")
            for page in (guest, host):
                await page.evaluate("(document.getElementById('leave').click(), 0)")
                await page.wait_for("!document.getElementById('ended').hidden")
            assert await guest.evaluate("document.getElementById('ended-recordings').hidden"), "it is not the guest's"
            await complete(server)
            await host.click("#ended-recordings")
            await library(server, host)
            await guest.call("Page.navigate", url=f"{server.url}/recordings")
            await guest.wait_for(f"{STATE}.startsWith('No recordings yet')")
            await guest.fits("the library without recordings")
            await guest.audit("the library without recordings")
            await deleted(server, host)
            for page in (host, guest):
                assert not await page.evaluate("probe.problems.length"), await page.evaluate("probe.problems")
        finally:
            await asyncio.gather(host.close(), guest.close())
    config = f"{{ auth: {{ adminToken: '{ADMIN}' }}, rooms: {{ emptyTimeout: 1s }} }}\n"
    with Server(tmp_path / "server", config=config) as server:
        asyncio.run(asyncio.wait_for(run(server), 120))


async def listed(server):
    """As the administrator has them."""
    status, _, body = await asyncio.to_thread(server.get, "/api/recordings", {"Authorization": f"Bearer {ADMIN}"})
    assert status == 200, body
    return json.loads(body)


async def complete(server):
    for _ in range(150):
        entries = await listed(server)
        if entries and entries[0]["state"] == "finished":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(entries)


async def library(server, host):
    await host.wait_for(f"location.pathname === '/recordings' && {ROW} !== null")
    assert "weekly" in await host.evaluate(f"{ROW}.textContent")
    assert await host.evaluate("document.querySelectorAll('#days h2').length") == 1, "its day"
    await host.wait_for(f"{ROW}.querySelector('img').naturalWidth === 320")
    await host.fits("the library")
    await host.audit("the library")
    await host.shot("library")
    await host.click(button(3))
    await host.type("#days form input", "The <b>vote</b> & more")
    await host.key("Enter")
    await host.wait_for(f"{ROW}.querySelector('h3').textContent === 'The <b>vote</b> & more'")
    entry = (await listed(server))[0]
    assert entry["title"] == "The <b>vote</b> & more", entry
    await host.click(button(4))
    await host.click("#days form button")
    await host.wait_for("document.querySelector('#days form input')?.value.includes('signature=')")
    assert "can watch the recording until" in await host.evaluate(STATE)
    await host.audit("a link to a recording")
    link = (await host.evaluate("document.querySelector('#days form input').value")).removeprefix(server.url)
    status, headers, body = await asyncio.to_thread(server.get, link)
    assert status == 200 and headers["Content-Type"] == "video/mp4" and body[4:8] == b"ftyp"
    await host.click(button(1))
    player = "document.getElementById('recording-player')"
    await host.wait_for(f"{player}.readyState >= 2 && {player}.currentTime > 0.5")
    await host.wait_for("document.querySelectorAll('#recording-chapters button').length > 0")
    await host.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    assert await host.evaluate("document.documentElement.scrollWidth <= innerWidth"), "on a phone"
    await host.shot("library-phone")
    # Without its key nothing of it can be had.
    for path in (f"/api/recordings/{entry['id']}", f"/api/recordings/{entry['id']}/thumbnail"):
        assert (await asyncio.to_thread(server.get, path))[0] == 401


async def deleted(server, host):
    await host.click(button(5))
    await asyncio.sleep(0.3)
    assert await listed(server), "the first press deletes nothing"
    await host.click(button(5))
    await host.wait_for(f"{ROW} === null && {STATE}.includes('is deleted')")
    assert not await listed(server)
    assert not list(server.recordings.glob("*.mp4")) and not list(server.recordings.glob("*.jpg"))
