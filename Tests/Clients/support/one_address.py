"""One address before several servers, as in a cluster: a move, a lost server and a dead machine are the test's own to make.

The servers know nothing of each other. A client that comes to another one with the ticket of its seat joins there anew, and the front gives it the
id of its first seat, as a cluster does."""

import asyncio
import contextlib
import json
import time

import aiohttp
from aiohttp import web

# How long a message waits for the first seats of those whom it is about, in s: who has gone before the own join was answered has none.
KNOWN_WITHIN = 3
HOP_BY_HOP = {"connection", "upgrade", "transfer-encoding", "content-encoding", "content-length", "host", "origin", "keep-alive"}


def people_in(message):
    """The ids of the seats that a server's message is about."""
    listed = [person for key in ("participants", "joined", "changed", "tiles") if isinstance(message.get(key), list) for person in message[key]]
    return {person.get("id") or person.get("participant") for person in listed} - {None}


class Pipe:
    """One client's socket and its socket to a server."""

    def __init__(self, client, server):
        self.client, self.server, self.upstream, self.join = client, server, None, None
        self.is_frozen = asyncio.Event()


class Front:
    def __init__(self, *servers):
        self.servers, self.owner = servers, servers[0]
        self.pipes, self.seats, self.public = [], {}, {}
        # Whether new sockets are not answered; the messages of new clients by type, with their times.
        self.is_dead, self.seen = False, []

    async def __aenter__(self):
        app = web.Application(client_max_size=16 << 20)
        app.router.add_route("GET", "/signal", self.signal)
        app.router.add_route("*", "/{path:.*}", self.forward)
        # A server upgrades the first request of a connection alone.
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True), auto_decompress=False)
        self.runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        for pipe in list(self.pipes):
            await self.end(pipe)
        await self.session.close()
        await self.runner.cleanup()

    async def forward(self, request):
        headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP_BY_HOP}
        async with self.session.request(request.method, self.owner.url + request.path_qs, headers=headers, data=await request.read()) as answer:
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in HOP_BY_HOP - {"content-encoding"}}
            return web.Response(status=answer.status, headers=kept, body=await answer.read())

    # ---- What happens to the servers

    def at(self, server):
        return [pipe for pipe in self.pipes if pipe.server is server and pipe.upstream]

    async def move(self, server, within):
        """Moves all rooms to a server, as a drain does."""
        before, self.owner = self.owner, server
        pipes = self.at(before)
        for pipe in pipes:
            await pipe.client.send_str(json.dumps({"type": "moving", "within": within}))

        async def end():
            await asyncio.sleep(within)
            await self.lose(pipes)
        self.ending = asyncio.ensure_future(end())

    async def lose(self, pipes, server=None):
        """Ends these clients' seats with `moved`; `server` has the rooms from now on."""
        self.owner = server or self.owner
        for pipe in pipes:
            if not pipe.client.closed:
                await pipe.client.send_str(json.dumps({"type": "left", "reason": "moved"}))
                await self.end(pipe)

    async def cut(self, server):
        """Closes all sockets at once; `server` has the rooms from now on."""
        self.owner = server
        for pipe in list(self.pipes):
            await self.end(pipe)

    async def end(self, pipe):
        pipe.client._req.transport and pipe.client._req.transport.abort()
        if pipe.upstream:
            await pipe.upstream.close()

    def freeze(self):
        """Nothing goes by the present sockets any more, which stay open."""
        for pipe in self.pipes:
            pipe.is_frozen.set()

    # ---- A client's socket

    async def signal(self, request):
        while self.is_dead:
            await asyncio.sleep(0.05)
        client = web.WebSocketResponse(max_msg_size=1 << 20)
        try:
            await client.prepare(request)
        except ConnectionResetError:
            return web.Response()
        pipe = Pipe(client, self.owner)
        self.pipes.append(pipe)
        try:
            await self.up(pipe)
        finally:
            self.pipes.remove(pipe)
            if pipe.upstream:
                await pipe.upstream.close()
        return client

    async def up(self, pipe):
        async for frame in pipe.client:
            if pipe.is_frozen.is_set() or frame.type != aiohttp.WSMsgType.TEXT:
                continue
            message = json.loads(frame.data)
            self.seen.append((time.monotonic(), message["type"], message))
            if message["type"] == "join":
                await self.join(pipe, message)
            else:
                await pipe.upstream.send_str(self.own(frame.data, pipe.server))

    async def join(self, pipe, message):
        pipe.server = self.owner
        if pipe.upstream:
            await pipe.upstream.close()
        pipe.upstream = await self.session.ws_connect(pipe.server.signal_url, max_msg_size=1 << 20)
        pipe.join = message
        seat = self.seats.get(message.get("resume", {}).get("id"))
        if seat and seat[0] is pipe.server:
            message = {**message, "resume": {"id": seat[1], "secret": seat[2]}}
        else:
            message = {key: value for key, value in message.items() if key != "resume"}
        await pipe.upstream.send_json(message)
        asyncio.ensure_future(self.down(pipe, pipe.upstream, "resume" in message))

    async def down(self, pipe, upstream, is_resume):
        with contextlib.suppress(aiohttp.ClientConnectionError, ConnectionError):
            await self.copy(pipe, upstream, is_resume)

    async def copy(self, pipe, upstream, is_resume):
        async for frame in upstream:
            if pipe.is_frozen.is_set():
                continue
            text = frame.data
            message = json.loads(text)
            if message["type"] == "error" and is_resume:
                # The seat has ended there: its ticket makes another one.
                is_resume = False
                await upstream.send_json({key: value for key, value in pipe.join.items() if key != "resume"})
                continue
            if message["type"] == "joined":
                you = message["you"]
                public = pipe.join.get("resume", {}).get("id") or you["id"]
                self.public[you["id"]], self.seats[public] = public, (pipe.server, you["id"], you["resume"]["secret"])
                if not is_resume:
                    message["fresh"] = True
                text = json.dumps(message)
            await self.know(people_in(message))
            for theirs, ours in self.public.items():
                text = text.replace(theirs, ours)
            if not pipe.client.closed:
                await pipe.client.send_str(text)
        if not pipe.is_frozen.is_set() and not pipe.client.closed:
            await pipe.client.close()

    async def know(self, people):
        """Waits for the answers to these people's own joins, which may come later than what others are told of them: under another id
        somebody new would be there, who then leaves."""
        deadline = time.monotonic() + KNOWN_WITHIN
        while (unknown := people - self.public.keys()) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for person in unknown:
            self.public[person] = person

    def own(self, text, server):
        """A client's message with the ids of the server's own seats."""
        for public, (owner, theirs, _) in self.seats.items():
            if owner is server:
                text = text.replace(public, theirs)
        return text
