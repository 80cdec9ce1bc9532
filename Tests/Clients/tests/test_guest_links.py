"""Guest links: made by a host's page or by the API, good until their end, for so many guests, until they are revoked."""

import asyncio
import contextlib
import json
import signal
import time

import pytest

from support.page import Page
from support.server import Server
from support.signalling import ask, connect
from support.tokens import ADMIN, SECRET, token

# What the page offers for download.
SAVED = """
(() => {
  URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return 'blob:none'; };
  HTMLAnchorElement.prototype.click = () => {};
})()
"""


def token_of(link):
    return link["url"].split("?token=")[1]


async def join(sockets, server, name, wanted="joined", **wishes):
    socket = await sockets.enter_async_context(await connect(server))
    return await ask(socket, wanted, type="join", room="board", name=name, **wishes)


def test_a_link_opens_a_room_with_a_pin_for_so_many_guests_until_it_is_revoked(server):
    server.json("PUT", "/api/rooms/board", {"pin": "4711"}, expect=201)
    link = server.json("POST", "/api/rooms/board/links", {"uses": 2}, expect=201)
    watch = server.json("POST", "/api/rooms/board/links", {"role": "viewer"}, expect=201)
    assert link["role"] == "participant" and link["uses"] == 2 and link["used"] == 0
    assert server.request("POST", "/api/rooms/board/links", {"role": "moderator"})[0] == 400
    assert server.request("POST", "/api/rooms/none/links", {})[0] == 404

    async def run():
        async with contextlib.AsyncExitStack() as sockets:
            assert (await join(sockets, server, "Stranger", "error"))["code"] == "pin_required"
            guest = await join(sockets, server, "Ann", token=token_of(link), visit="ann")
            assert guest["you"]["role"] == "participant", "a guest is no host, though the first"
            assert (await join(sockets, server, "Eve", token=token_of(watch)))["you"]["role"] == "viewer"
            await join(sockets, server, "Bo", token=token_of(link), visit="bo")
            assert (await join(sockets, server, "Cy", "error", token=token_of(link)))["code"] == "forbidden"
        assert [(each["id"], each["used"]) for each in server.json("GET", "/api/rooms/board/links")][:2] == [(link["id"], 2), (watch["id"], 1)]
        # The server is killed: links outlive it.
        await asyncio.sleep(1)
        server.stop(signal.SIGKILL)
        server.start()
        server.json("PUT", "/api/rooms/board", {"pin": "4711"}, expect=201)
        async with contextlib.AsyncExitStack() as sockets:
            await join(sockets, server, "Ann", token=token_of(link), visit="ann")
            assert (await join(sockets, server, "Cy", "error", token=token_of(link), visit="cy"))["code"] == "forbidden"
            assert server.request("DELETE", f"/api/rooms/board/links/{link['id']}")[0] == 204
            assert server.request("DELETE", f"/api/rooms/board/links/{link['id']}")[0] == 404
            assert (await join(sockets, server, "Bo", "error", token=token_of(link), visit="bo"))["code"] == "forbidden"
    asyncio.run(run())


def test_in_mode_token_the_server_signs_the_links_of_hosts(tmp_path, pages):
    config = f"auth: {{mode: token, secret: '{SECRET}', adminToken: '{ADMIN}'}}\n"
    with Server(tmp_path / "server", origin=pages, config=config) as server:
        later = int(time.time()) + 600

        def request(method, path, seat, body=None):
            return server.request(method, path, body, {"Authorization": f"Bearer {seat}"})

        async def run():
            async with contextlib.AsyncExitStack() as sockets:
                hosted = await join(sockets, server, "Host", token=token({"room": "board", "role": "moderator", "exp": later}))
                plain = await join(sockets, server, "Plain", token=token({"room": "board", "exp": later}))
                assert "hostKey" not in hosted["you"], "the token says who is the host"
                seats = [f"{each['you']['resume']['id']}.{each['you']['resume']['secret']}" for each in (hosted, plain)]
                assert request("POST", "/api/rooms/board/links", seats[1], {})[0] == 403
                assert request("POST", "/api/rooms/board/links", "", {})[0] == 401
                status, _, body = request("POST", "/api/rooms/board/links", seats[0], {"role": "viewer", "expiresIn": 300})
                link = json.loads(body)
                assert status == 201 and link["url"].startswith("/r/board?token=ey")
                assert (await join(sockets, server, "Guest", token=token_of(link)))["you"]["role"] == "viewer"
                assert server.request("GET", "/api/rooms/board", headers={"Authorization": f"Bearer {token_of(link)}"})[0] == 200
                assert (await join(sockets, server, "No", "error"))["code"] == "unauthorized"
                assert request("DELETE", f"/api/rooms/board/links/{link['id']}", seats[0])[0] == 204
                assert (await join(sockets, server, "Late", "error", token=token_of(link)))["code"] == "forbidden"
                assert server.request("GET", "/api/rooms/board", headers={"Authorization": f"Bearer {token_of(link)}"})[0] == 401
        asyncio.run(run())


@pytest.mark.usefixtures("needs_address")
def test_a_host_invites_by_link_code_mail_and_calendar_and_makes_a_guest_link(server, tmp_path):
    async def run():
        desk = await Page().open(f"{server.url}/r/board?name=Ada&join=1", 1280, 800, False, tmp_path)
        guest = None
        try:
            await desk.is_moving()
            await desk.set_pin("24a68")
            await desk.click("#room-menu button[value=close]")
            await desk.click("#open-invite")
            await desk.wait_for("document.querySelector('#invite-code svg path')?.getAttribute('d').length > 1000")
            assert await desk.evaluate("decodeURIComponent(document.getElementById('mail-link').href).includes('PIN: 24a68')")
            await desk.evaluate(SAVED)
            await desk.click("#save-calendar")
            await desk.wait_for("window.saved?.includes('BEGIN:VEVENT') && window.saved.includes('PIN: 24a68')")
            await desk.shot("desk-invitation")
            await desk.evaluate("(document.getElementById('guest-uses').value = '1', 0)")
            await desk.click("#guest-make")
            await desk.wait_for("document.querySelectorAll('#guest-list li').length === 1 && document.getElementById('link').value.includes('token=guest.')")
            assert not await desk.evaluate("decodeURIComponent(document.getElementById('mail-link').href).includes('24a68')")
            await desk.audit("invitation with a guest link")
            await desk.shot("desk-guest-link")
            url = await desk.evaluate("document.getElementById('link').value")
            guest = await Page().open(f"{url}&name=Bo", 390, 844, True, tmp_path)
            await guest.wait_for("document.getElementById('preview').videoWidth")
            await asyncio.sleep(1)
            assert await guest.evaluate("document.getElementById('pin-field').hidden && !location.href.includes('guest.')")
            await guest.click("#join")
            await guest.is_moving()
            # Loaded again, the one guest is the same one.
            await guest.call("Page.reload")
            await guest.wait_for("document.readyState === 'complete' && document.getElementById('preview')?.videoWidth")
            await guest.click("#join")
            await guest.is_moving()
            await desk.click("#guest-list li button:last-child")
            await desk.wait_for("document.querySelectorAll('#guest-list li').length === 0 && !document.getElementById('link').value.includes('token=')")
            assert not await desk.evaluate("probe.problems") + await guest.evaluate("probe.problems")
        finally:
            await asyncio.gather(*(page.close() for page in (desk, guest) if page))
    asyncio.run(asyncio.wait_for(run(), 120))
