"""Server-sent events of a real server: in a browser, for many readers of whom some do not read, and at the server's end."""

import asyncio
import json
import signal

from support import signalling
from support.browser import Chromium
from support.event_reader import Reader
from support.server import Server

ADMIN = "auth: { adminToken: 'the administrator of this test' }\n"
# What the page gets outlives it, as the id of the last event does.
FOLLOW = """
(() => {
  const last = sessionStorage.getItem('last');
  const source = new EventSource('/api/events' + (last ? '?lastEventId=' + last : ''));
  source.onmessage = event => {
    sessionStorage.setItem('last', event.lastEventId);
    sessionStorage.setItem('seen', JSON.stringify([...JSON.parse(sessionStorage.getItem('seen') ?? '[]'), JSON.parse(event.data)]));
  };
  window.count = type => JSON.parse(sessionStorage.getItem('seen') ?? '[]').filter(event => event.type === type).length;
  return new Promise(done => source.onopen = () => done(true));
})()
"""


def test_a_page_that_is_loaded_again_misses_no_event(tmp_path):
    async def run(server):
        page = await Chromium().start(server.url)
        try:
            for visit in range(4):
                await page.wait_for("document.readyState === 'complete' && !window.isOld")
                await page.evaluate(FOLLOW)
                if visit == 3:
                    await page.wait_for("count('room.ended') >= 3")
                    return json.loads(await page.evaluate("sessionStorage.getItem('seen')"))
                for name in "ab":
                    await asyncio.to_thread(server.json, "PUT", f"/api/rooms/{name}{visit}", {}, 201)
                await page.wait_for(f"count('room.started') >= {2 * visit + 2}")
                await page.evaluate("window.isOld = true")
                await page.call("Page.reload")
                # Mostly while no page reads.
                await asyncio.to_thread(server.request, "DELETE", f"/api/rooms/a{visit}")
        finally:
            await page.close()

    with Server(tmp_path / "server") as server:
        seen = asyncio.run(asyncio.wait_for(run(server), 60))
    assert [event["type"] for event in seen[:1]] == ["reset"] and seen[0]["data"] == {"rooms": []}
    assert [event["sequence"] for event in seen[1:]] == list(range(1, 10)), "no gap, and nothing twice"


def test_readers_that_do_not_read_cost_nothing(tmp_path):
    with Server(tmp_path / "server", config=ADMIN) as server:
        token = "Authorization: Bearer the administrator of this test\r\n"
        server.headers["Authorization"] = token.split(": ")[1].strip()
        readers = [Reader(server, headers=token) for _ in range(45)]
        silent = [Reader(server, headers=token, buffer=4096) for _ in range(5)]
        for reader in readers:
            reader.begin()
        for number in range(20):
            server.json("PUT", f"/api/rooms/warm{number}", {}, 201)
        before = server.resident()
        for _ in range(500):
            server.json("PUT", "/api/rooms/again", {}, 201)
            assert server.request("DELETE", "/api/rooms/again")[0] == 204
        last = 20 + 2 * 500
        for reader in readers:
            events = reader.read(last)
            assert [event["sequence"] for event in events] == list(range(1, last + 1))
        assert server.resident() - before < 100, "MB"
        metrics = server.get("/metrics")[1:][1].decode()
        assert 'tessera_events_total{type="room.started"} 520' in metrics
        assert 'tessera_limited_current{name="event_readers"} 50' in metrics
        more = [Reader(server, headers=token) for _ in range(15)]
        answers = []
        for reader in more:
            reader.socket.settimeout(10)
            answers.append(reader.socket.recv(100)[:12])
        assert sorted(answers) == 14 * [b"HTTP/1.1 200"] + [b"HTTP/1.1 429"], "64 of one address"
        for reader in readers + silent + more:
            reader.close()


def test_the_server_tells_its_end_and_does_not_wait_for_readers(tmp_path):
    async def join(server):
        async with await signalling.connect(server) as socket_:
            await signalling.ask(socket_, "joined", type="join", room="r", name="Ann")
            reader, silent = Reader(server, "/api/rooms/r/events"), Reader(server, buffer=4096)
            await asyncio.to_thread(reader.begin)
            server.process.send_signal(signal.SIGTERM)
            events = await asyncio.to_thread(reader.read, 99, 10)
            silent.close()
            return events

    with Server(tmp_path / "server") as server:
        events = asyncio.run(asyncio.wait_for(join(server), 30))
        assert server.process.wait(12) == 0
    told = [(event["type"], event["data"].get("reason")) for event in events if event["type"] != "participant.updated"]
    assert told == [("participant.left", "draining"), ("room.ended", "draining")]
