"""The native signalling without a library: one JSON object per frame."""

import asyncio
import json

import websockets


async def connect(server):
    return await websockets.connect(server.signal_url, max_size=1 << 20)


async def ask(socket, wanted, **message):
    await socket.send(json.dumps(message))
    return await read(socket, wanted)


async def read(socket, wanted):
    while True:
        answer = json.loads(await asyncio.wait_for(socket.recv(), 5))
        if answer["type"] == wanted:
            return answer
