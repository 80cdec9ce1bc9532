"""A page of another site in the browser of somebody who is logged in: whatever it tries, with the ids of the people at hand, it gets and does nothing."""

import asyncio
import json

import pytest

from support.aiortc_peer import AiortcPeer
from support.app_peer import people_of
from support.apprtc import Client
from support.browser import Chromium, Firefox
from support.media import TONES
from support.server import Server
from support.socketio_client import account

pytestmark = pytest.mark.usefixtures("needs_address", "good_line")

# What a page sees of a request whose answer it may not read, and of one that no CORS rule stopped from being sent. Everything else is a gain.
NOTHING = ("refused", "unread", "sent", "nothing in time")


def state(server):
    """Everything that the page wants to change: rooms with their settings, people, and accounts."""
    rooms = {room["id"]: server.json("GET", f"/api/rooms/{room['id']}") for room in server.json("GET", "/api/rooms")}
    users = server.json("GET", "/allUsers")["data"]["allUser"]
    return {name: sorted(p["name"] for p in room["participants"]) for name, room in rooms.items()}, sorted(user["name"] for user in users if not user["name"].startswith("room_"))


async def attacked(kind, server, pages):
    """The page's gains, the state before and after, and what the page reads of the tab in which its visitor is logged in."""
    # Without auth.adminToken the browser's place on this machine makes its user the administrator: the most that a page could act for.
    ada = await AiortcPeer(server, "plenum", "Ada", "red", TONES[0]).join()
    droid = await asyncio.to_thread(Client, server, "plenum", "?name=Droid")
    # Registered, it keeps its seat until somebody ends it.
    registered = await droid.connect()
    await asyncio.to_thread(account, server, "alice")
    browser = await (kind(apart=True) if kind is Chromium else kind()).start(f"{pages}/hostile.html")
    try:
        await browser.wait_for("typeof attack === 'function'")
        await browser.evaluate(f"(window.victim = window.open({json.dumps(server.url + '/?room=plenum&name=Vic')}), 1)")
        for _ in range(100):
            if "victim" in await browser.evaluate("typeof window.victim + 'victim'"):
                break
        await asyncio.sleep(2)
        before = await asyncio.to_thread(state, server)
        known = {"room": "plenum", "participant": people_of(server, "plenum")["Ada"], "client": droid.id, "user": "alice"}
        got = await browser.evaluate(f"attack({json.dumps(server.url)}, {json.dumps(known)})")
        peeked = await browser.evaluate("peek(window.victim)")
        return got, before, await asyncio.to_thread(state, server), peeked
    finally:
        await browser.close()
        await registered.close()
        await ada.close()


@pytest.mark.parametrize("kind", [Chromium, Firefox])
def test_a_page_of_another_site_gets_and_does_nothing(tmp_path, pages, kind):
    with Server(tmp_path / "server") as server:
        got, before, after, peeked = asyncio.run(asyncio.wait_for(attacked(kind, server, pages), 120))
        assert {name: gain for name, gain in got.items() if not gain.startswith(NOTHING)} == {}
        assert set(peeked.values()) == {"refused"}, peeked
        # A form's, a beacon's or a no-cors request arrived, and did nothing.
        assert after == before and "Ada" in after[0]["plenum"] and after[1] == ["alice"], (before, after)
        metrics = server.get("/metrics")[2].decode()
        assert int(metrics.split('tessera_http_requests_refused_total{reason="origin"} ')[1].split()[0]) >= 30
        assert 'tessera_joins_total{family="apprtc"} 1\n' in metrics
        assert 'tessera_socketio_sessions 0\n' in metrics


def test_the_same_page_gets_in_where_the_settings_list_it(tmp_path, pages):
    """The page's tries are right: with its site in http.allowedOrigins they succeed."""
    with Server(tmp_path / "server", origin=pages) as server:
        got, before, after, _ = asyncio.run(asyncio.wait_for(attacked(Chromium, server, pages), 120))
        for name in ("ws register", "ws signal", "ws room", "ws root"):
            assert got[name] == "opened", (name, got[name])
        for name in ("rooms", "people", "users", "join", "register", "new room"):
            assert got[f"cors include {name}"].startswith(("200", "201")), (name, got[f"cors include {name}"])
        assert "evil_one" in after[1] and "evil" in after[0] and before != after, (before, after)
