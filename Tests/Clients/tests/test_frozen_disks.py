"""Folders whose disk does not answer: what needs the disk is refused in time, and calls, joins and the server's end go on."""

import asyncio
import concurrent.futures
import contextlib
import json
import subprocess
import time

import pytest

from support import CLIENTS
from support.people import pair
from support.server import Server
from support.signalling import ask, connect

pytestmark = [pytest.mark.patient, pytest.mark.usefixtures("needs_address", "good_line")]

LAYOUT = json.dumps({"name": "mine", "description": "all", "rules": [{"regions": [{"kind": "grid"}]}]}).encode()
# A PNG of one pixel.
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301010018dd8db00000000049454e44"
                      "ae426082")
# Each folder below the server's, and a request that needs it; None: no client's request does.
FOLDERS = {
    "layouts": ("PUT", "/api/layouts/mine", LAYOUT),
    "data/avatars": ("PUT", "/api/avatars/ann", PIXEL),
    "data/rooms.json": None,
    "recordings": ("POST", "/api/rooms/other/recordings", b"{}"),
    "data": ("GET", "/api/avatars/ann", None),
}


@pytest.fixture(scope="module")
def frozen_library(tmp_path_factory):
    library = tmp_path_factory.mktemp("frozen") / "frozen.so"
    made = subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(CLIENTS / "support" / "frozen.c"), "-ldl"], capture_output=True,
                          text=True)
    assert made.returncode == 0, made.stderr
    return library


async def moves(*peers):
    """Waits until each has twenty new pictures, and returns the longest time between two of them."""
    begin = time.monotonic()
    while not all(sum(at > begin for at in peer.picture_times) >= 20 for peer in peers):
        assert time.monotonic() - begin < 8, [len(peer.picture_times) for peer in peers]
        await asyncio.sleep(0.05)


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_that_does_not_answer_holds_up_nothing_else(tmp_path, frozen_library, folder):
    home = tmp_path / "server"
    for name in ("layouts", "data/avatars", "recordings"):
        (home / name).mkdir(parents=True)
    frozen, request = tmp_path / "frozen", FOLDERS[folder]
    server = Server(home, config=f"doors: {{ directory: {home / 'data'} }}\n", arguments=("--layouts", str(home / "layouts")))
    server.environment |= {"LD_PRELOAD": str(frozen_library), "FROZEN": str(frozen)}

    def freeze(on):
        frozen.write_text(f"{home / folder}\n" if on else "")

    async def run():
        async with pair(server) as (ada, bo), contextlib.AsyncExitStack() as stack:
            socket = await stack.enter_async_context(await connect(server))
            await ask(socket, "joined", type="join", room="other", name="Cy")
            freeze(True)
            # Longer than the polls of all folders are apart, and than a disk may be silent before the log says so.
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                asked = [threads.submit(server.request, *request) for _ in range(8 if request else 0)]
                end = time.monotonic() + 7
                while time.monotonic() < end:
                    begin = time.monotonic()
                    assert await asyncio.to_thread(lambda: server.get("/api/rooms")[0]) == 200
                    async with await connect(server) as other:
                        await ask(other, "joined", type="join", room=f"new-{begin}".replace(".", "-"), name="Di")
                    assert time.monotonic() - begin < 1, "a request or a join waits for the disk"
                    await asyncio.sleep(0.5)
                answers = [await asyncio.wrap_future(each) for each in asked]
                # A room's recording is started once at a time.
                assert all(status == 503 and headers["Retry-After"] or status == 409 for status, headers, _ in answers), answers
                assert not answers or any(status == 503 for status, *_ in answers), answers
            await ask(socket, "layout", type="layout", name="speaker", scope="room")
            await moves(ada, bo)
            assert "a disk does not answer" in server.log_text()
            freeze(False)
            await asyncio.to_thread(until, lambda: "a disk answers again" in server.log_text())
            if request:
                await asyncio.to_thread(until, lambda: server.request(*request)[0] < 500)
            await moves(ada, bo)
    with server:
        asyncio.run(asyncio.wait_for(run(), 90))
        freeze(True)
        assert server.stop() == 0
