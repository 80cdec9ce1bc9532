"""The members of a call in a cluster: whether all see and hear each other, since when, and what a call must keep."""

import asyncio
import json
import os
import time

import websockets

from support.lan import BOUND
from support.returning import wall
from support.server import PROGRAM

# The time (ms) for which picture and sound must have gone on.
STEADY = 1000


async def later(check, timeout, what, pause=0.1):
    """Waits until a function that may block returns something truthy, and returns it; an OSError is a no."""
    deadline, value = time.monotonic() + timeout, None
    while True:
        try:
            if value := await asyncio.to_thread(check):
                return value
        except OSError as error:
            value = error
        assert time.monotonic() < deadline, f"{what} did not come within {timeout} s: {value!r}"
        await asyncio.sleep(pause)


def fault(state, members, ids, start):
    """What is not as it should be in a member's state; None: nothing."""
    if not ids <= set(state["tiles"]):
        return f"sees {len(ids & set(state['tiles']))} of {len(ids)} tiles"
    # On a busy machine aiortc's line seems too thin for a moving picture: what it hears shows that it is there.
    has_stills = (state.get("line") or {}).get("mode") in ("stills", "audio")
    for kind in ("sound",) if has_stills else ("picture", "sound"):
        if state[kind] is None:
            return f"no {kind}; {state.get('line')}"
        if wall() - max(state[kind], start) < STEADY:
            return f"{kind} for {wall() - max(state[kind], start):.0f} ms only"
    return None


async def all_well(members, timeout, start=None, more=(), what="the call"):
    """Waits until each member has all tiles, its picture moves and it hears all others, for a second; `more`: ids of other participants. Returns
    the seconds from `start` (ms of the epoch) until the last one had this, and the states by name."""
    start = wall() if start is None else start
    deadline = time.monotonic() + timeout + STEADY / 1000
    while True:
        states = {
            member.name: await member.state([other.frequency for other in members if other is not member]) for member in members}
        ids = {state["id"] for state in states.values()} | set(more)
        faults = {name: fault(state, members, ids, start) for name, state in states.items()}
        if not any(faults.values()):
            last = max(max(state["picture"] or 0, state["sound"]) for state in states.values())
            return max(0.0, last - start) / 1000, states
        assert time.monotonic() < deadline, f"{what} was not well within {timeout} s: {faults}"
        await asyncio.sleep(0.1)


async def longest_gaps(members, start):
    """The longest gaps in ms of picture and of sound since then, by the members' names."""
    return {member.name: await member.gaps(start, [other.frequency for other in members if other is not member]) for member in members}


async def close(members):
    for member in members:
        await member.close()


class Callers:
    """`tessera call` with one or more participants; its lines are in `log_path`."""

    def __init__(self, endpoint, room, name, directory, *options):
        self.endpoint, self.room, self.name = endpoint, room, name
        self.log_path = directory / f"{name}.log"
        self.command = [*BOUND, PROGRAM, "call", endpoint.url, "--room", room, "--name", name, *map(str, options)]

    async def start(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TESSERA")}
        with open(self.log_path, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(*self.command, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL, env=environment)
        return self

    def lines(self):
        return self.log_path.read_text(errors="replace").splitlines()

    async def close(self):
        if self.process.returncode is None:
            self.process.terminate()
            try:
                await asyncio.wait_for(self.process.wait(), 5)
            except TimeoutError:
                self.process.kill()


def kept(room):
    """What of `GET /api/rooms/{room}` a call must keep when its owner dies or gives it away."""
    people = {
        person["id"]: {key: person[key] for key in ("name", "role", "audioMuted", "videoMuted", "pinned", "volume")} for person in room["participants"]}
    return {"people": people} | {key: room[key] for key in ("layout", "locked", "layoutLocked", "admit", "pin", "maxParticipants", "onPresent")}


async def ask(endpoint, method, path, body=None, expect=200):
    return await asyncio.to_thread(endpoint.json, method, path, body, expect)


async def join_without_media(endpoint, room, name, timeout=6, **more):
    """The first answer to a join over /signal, and the open socket."""
    socket = await websockets.connect(endpoint.signal_url, max_size=1 << 20, open_timeout=timeout)
    await socket.send(json.dumps({"type": "join", "room": room, "name": name, **more}))
    while True:
        message = json.loads(await asyncio.wait_for(socket.recv(), timeout))
        if message["type"] in ("joined", "error"):
            return message, socket
