"""The page in a frame of another site: by default it shows nothing there; where the settings name the site, a call works in it."""

import asyncio

import pytest

from support.browser import Chromium
from support.server import Server

FRAME = """
new Promise(done => {
  const frame = document.createElement('iframe');
  frame.allow = 'camera; microphone; display-capture; autoplay';
  frame.src = %r;
  frame.onload = () => done(true);
  document.body.append(frame);
})
"""


@pytest.mark.usefixtures("needs_address")
@pytest.mark.parametrize("is_listed", [True, False])
def test_a_call_in_a_frame_works_on_listed_sites_and_on_no_others(tmp_path, pages, is_listed):
    """Both sites show the same file; the settings list one."""
    site = pages if is_listed else pages.replace("127.0.0.1", "127.0.0.2")

    async def run(server):
        page = await Chromium().start(f"{site}/apps.js")
        try:
            await page.wait_for("document.readyState === 'complete' && Boolean(document.body)")
            await page.evaluate(FRAME % f"{server.url}/r/framed?name=Ada&join=1")
            for _ in range(100 if is_listed else 30):
                status, _, body = await asyncio.to_thread(server.get, "/api/rooms/framed")
                if status == 200 and b'"video":true' in body:
                    break
                await asyncio.sleep(0.1)
            return status, body
        finally:
            await page.close()
    with Server(tmp_path / "server", config=f"http: {{ frameAncestors: ['{pages}'] }}\n") as server:
        status, body = asyncio.run(asyncio.wait_for(run(server), 60))
    if is_listed:
        assert status == 200 and b'"audio":true' in body and b'"video":true' in body, body
    else:
        assert status == 404, body
