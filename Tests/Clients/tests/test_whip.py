"""WHIP and WHEP over HTTP, with aiortc and Chromium."""

import asyncio
import time

import pytest

from support.aiortc_peer import AiortcPeer, HTTPPeer
from support.browser import Chromium
from support.media import TONES, colour_at, nearest_colour, tone_level
from support.people import eventually, page_url
from support.server import SMALL, Server

SDP = {"Content-Type": "application/sdp"}
FRAGMENT = {"Content-Type": "application/trickle-ice-sdpfrag"}


def colours(peer, tiles):
    if peer.picture is None or tiles is None:
        return None
    canvas = (tiles["width"], tiles["height"])
    frame = peer.rgb()
    return {t["participant"]: nearest_colour(colour_at(frame, t, canvas)) or colour_at(frame, t, canvas) for t in tiles["tiles"]}


async def sees(peer, server, expected, what, timeout=8):
    """Waits until the peer's picture has exactly these participants in these colours."""
    async def check():
        tiles = (await asyncio.to_thread(server.json, "GET", f"/api/rooms/{peer.room}"))["tiles"]
        if isinstance(tiles, list):
            tiles = {"width": int(SMALL["TESSERA_ROOMS_WIDTH"]), "height": int(SMALL["TESSERA_ROOMS_HEIGHT"]), "tiles": tiles}
        seen = colours(peer, tiles)
        return None if seen == expected else f"{seen}, not {expected}"
    await eventually(check, timeout, what)


async def hears(peer, expected, what, timeout=8):
    async def check():
        last = peer.sound[-24000:]
        levels = {f: len(last) == 24000 and tone_level(last, f) > 0.02 for f in expected}
        return None if levels == expected else f"{levels}, not {expected}"
    await eventually(check, timeout, what)


@pytest.mark.usefixtures("needs_address", "good_line")
def test_publishers_and_viewers_over_http_share_a_room_with_signalled_ones(tmp_path):
    config = "ice: { stun: ['stun:stun.example:3478'], turn: { urls: ['turn:turn.example:3478?transport=udp'], secret: s3cret } }\n"

    async def run(server):
        ada = await AiortcPeer(server, "web", "Ada", "red", TONES[0]).join()
        both = await HTTPPeer(server, "web", "Both", "green", TONES[1]).join()
        gives = await HTTPPeer(server, "web", "Gives", "blue", TONES[2], "H264", direction="sendonly").join()
        views = await HTTPPeer(server, "web", "Views", "yellow", TONES[3], direction="recvonly").join("whep")
        as_ada = await HTTPPeer(server, "web", "AsAda", "yellow", TONES[3], direction="recvonly").join("whep", f"&as={ada.id}")
        peers = [ada, both, gives, views, as_ada]
        try:
            links = both.headers.get_all("Link")
            assert any('stun:stun.example:3478' in link and 'rel="ice-server"' in link for link in links), links
            assert any('turn:turn.example' in link and 'username=' in link and 'credential=' in link for link in links), links
            assert both.headers["ETag"].startswith('"') and "trickle-ice-sdpfrag" in both.headers["Accept-Patch"]
            assert both.session.startswith("/whip/web/") and views.session.startswith("/whep/web/")
            assert "a=ice-lite" in both.answer and "a=candidate:" in both.answer
            expected = {ada.id: "red", both.id: "green", gives.id: "blue"}
            for peer in (ada, both, views, as_ada):
                await sees(peer, server, expected, peer.name)
            await hears(both, {TONES[0]: True, TONES[1]: False, TONES[2]: True}, "sendrecv at /whip")
            await hears(views, {TONES[0]: True, TONES[1]: True, TONES[2]: True}, "the viewer")
            await hears(as_ada, {TONES[0]: False, TONES[1]: True, TONES[2]: True}, "?as=Ada")
            assert gives.picture is None

            # The end of a session is announced to all at once, and its URL is no longer valid.
            assert (await asyncio.to_thread(server.request, "DELETE", gives.session))[0] == 200
            del expected[gives.id]
            await sees(ada, server, expected, "after DELETE", 3)
            assert (await asyncio.to_thread(server.request, "DELETE", gives.session))[0] == 404
            # A session belongs to its own endpoint only.
            assert (await asyncio.to_thread(server.request, "DELETE", both.session.replace("/whip/", "/whep/")))[0] == 404
            # A viewer can also leave, by DTLS's close_notify.
            await both.close()
            del expected[both.id]
            await sees(ada, server, expected, "after the publisher closed", 5)
        finally:
            for peer in peers:
                await peer.close()

    with Server(tmp_path / "server", config=config) as server:
        asyncio.run(asyncio.wait_for(run(server), 60))


def test_every_refusal_has_its_status(server):
    async def offer():
        peer = HTTPPeer(server, "codes", "Ada", "red", TONES[0])
        await peer.prepare()
        sdp = peer.pc.localDescription.sdp
        await peer.close()
        return sdp
    sdp = asyncio.run(offer())
    assert server.request("POST", "/whip/codes", sdp.encode(), {"Content-Type": "text/plain"})[0] == 415
    assert server.request("POST", "/whip/codes", b"v=0 nonsense", SDP)[0] == 400
    assert server.request("POST", "/whip/codes", b"", SDP)[0] == 400
    assert server.request("POST", "/whip/codes", sdp.encode(), {**SDP, "Accept": "text/html"})[0] == 406
    assert server.request("POST", "/whip/codes", b"v=0\r\n" + b"a" * 70_000, SDP)[0] == 413
    # Refused requests leave no participant behind.
    assert all(room["participants"] == 0 for room in server.json("GET", "/api/rooms"))
    useless = "\r\n".join(line for line in sdp.split("\r\n") if "opus" not in line).replace("VP8", "AV2").replace("H264", "AV2") + "\r\n"
    status, _, body = server.request("POST", "/whip/codes", useless.replace("PCMU", "X").replace("PCMA", "Y").encode(), SDP)
    assert status == 406, (status, body)
    assert server.json("GET", "/api/rooms") == [], "nor an empty room"
    assert server.request("POST", "/whep/none", sdp.encode(), SDP)[0] == 404
    for method in ["GET", "PUT", "PATCH", "DELETE"]:
        status, headers, _ = server.request(method, "/whip/codes")
        assert status == 405 and "POST" in headers["Allow"], (method, status)
    status, headers, _ = server.request("OPTIONS", "/whip/codes")
    assert status in (200, 204) and headers["Accept-Post"] == "application/sdp"
    assert server.request("DELETE", "/whip/codes/none")[0] == 404

    time.sleep(1)
    status, headers, body = server.request("POST", "/whip/codes?name=Ada", sdp.encode(), {"Content-Type": "application/sdp; charset=utf-8"})
    assert status == 201 and headers["Content-Type"].startswith("application/sdp"), (status, body)
    session, tag = headers["Location"], headers["ETag"]
    status, _, _ = server.request("POST", "/whep/codes?as=nobody", sdp.encode(), SDP)
    assert status == 404
    ufrag = next(line for line in sdp.split("\r\n") if line.startswith("a=ice-ufrag:"))
    password = next(line for line in sdp.split("\r\n") if line.startswith("a=ice-pwd:"))
    trickle = f"{ufrag}\r\n{password}\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n".encode()
    assert server.request("PATCH", session, trickle, {**SDP, "If-Match": tag})[0] == 415
    assert server.request("PATCH", session, trickle, FRAGMENT)[0] == 428
    assert server.request("PATCH", session, trickle, {**FRAGMENT, "If-Match": '"other"'})[0] == 412
    assert server.request("PATCH", session, b"\x00rubbish", {**FRAGMENT, "If-Match": tag})[0] == 400
    assert server.request("PATCH", session, trickle, {**FRAGMENT, "If-Match": tag})[0] == 204
    for method in ["GET", "PUT", "POST"]:
        status, headers, _ = server.request(method, session)
        assert status == 405 and "PATCH" in headers["Allow"], (method, status)

    # An ICE restart: new credentials of the client, a new ETag, and the old one is invalid.
    status, headers, body = server.request(
        "PATCH", session, b"a=ice-ufrag:NEWU\r\na=ice-pwd:0123456789012345678901\r\n", {**FRAGMENT, "If-Match": "*"})
    assert status == 200 and headers["ETag"] != tag and b"a=ice-ufrag:" in body and b"a=candidate:" in body, (status, body)
    assert headers["Content-Type"].startswith("application/trickle-ice-sdpfrag")
    assert server.request("PATCH", session, trickle, {**FRAGMENT, "If-Match": tag})[0] == 412
    assert server.request("DELETE", session)[0] == 200
    assert server.request("PATCH", session, trickle, {**FRAGMENT, "If-Match": "*"})[0] == 404
    assert server.json("GET", "/api/rooms/codes")["participants"] == []


@pytest.mark.usefixtures("needs_address", "good_line")
def test_chromium_publishes_by_whip_and_restarts_ice(server, pages):
    async def run():
        ada = await AiortcPeer(server, "w", "Ada", "red", TONES[0]).join()
        chromium = await Chromium().start(
            page_url(pages, server, "w", "Chromium", "green", TONES[1]) + f"&whip={server.url}/whip/w%3Fname=Chromium")
        try:
            await chromium.wait_for("state.connected && state.frames > 5")
            assert await chromium.evaluate("state.status") == 201
            people = server.json("GET", "/api/rooms/w")["participants"]
            other = next(p["id"] for p in people if p["name"] == "Chromium")
            await sees(ada, server, {ada.id: "red", other: "green"}, "Chromium by WHIP")
            before = await chromium.evaluate("stats().then(s => s['in-video'].framesDecoded)")
            status, tag, ours = await chromium.evaluate("restartWHIP()")
            assert status == 200 and tag != await chromium.evaluate("state.tag") and "a=ice-pwd:" in ours
            await chromium.wait_for("stats().then(s => s.pair && s.pair.state === 'succeeded' && pc.iceConnectionState === 'connected')")
            await asyncio.sleep(1)
            after = await chromium.evaluate("stats().then(s => s['in-video'].framesDecoded)")
            assert after > before + 7, (before, after)
            await sees(ada, server, {ada.id: "red", other: "green"}, "after the restart")
            assert await chromium.evaluate("fetch(state.session, { method: 'DELETE' }).then(r => r.status)") == 200
            await sees(ada, server, {ada.id: "red"}, "after DELETE", 3)
        finally:
            await ada.close()
            await chromium.close()
    asyncio.run(asyncio.wait_for(run(), 60))
