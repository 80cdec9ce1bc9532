"""Shared screens: who sees them, how large, how sharp, and how soon."""

import asyncio

import pytest

from support.page import Page

# The colour of the probe's shared screen, and the part of the received picture that has it, in per cent. The page measures in steps of four
# pixels and keeps the first time (`Date.now()`) at which a screen fills the wanted part.
WATCH_FOR_SCREEN = """
(() => {
  const video = document.getElementById('mix'), canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 180];
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  window.screenPart = 0;
  window.screenSeen = null;
  const look = () => {
    pen.drawImage(video, 0, 0, 320, 180);
    const { data } = pen.getImageData(0, 0, 320, 180);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      const isPaper = data[i] > 190 && data[i + 1] > 190 && data[i + 2] > 220;
      const isInk = data[i] < 70 && data[i + 1] < 70 && data[i + 2] > 60 && data[i + 2] < 140;
      if (isPaper || isInk) found++;
    }
    window.screenPart = found / (320 * 180);
    if (window.screenPart >= 0.7) window.screenSeen ??= Date.now();
    video.requestVideoFrameCallback(look);
  };
  look();
})(), 0
"""
IS_GRID = "probe.last('tiles').tiles.length === 3 && new Set(probe.last('tiles').tiles.map(tile => tile.width)).size === 1"
LARGEST = "probe.last('tiles').tiles.reduce((a, b) => (a.width * a.height >= b.width * b.height ? a : b))"


@pytest.mark.usefixtures("needs_address")
def test_a_screen_fills_the_picture_within_a_second_in_a_room_on_the_default_layout(full_server, tmp_path):
    """Three people in a room that was left on `grid`: the screen is large by itself, in the tiles and in the picture that another one
    receives, and the grid returns. Somebody's choice of another layout counts until the sharing ends."""
    async def run():
        pages = await asyncio.gather(*(
            Page().open(f"{full_server.url}/r/default?name={name}&join=1", 1280, 800, False, tmp_path) for name in ("Ada", "Bo", "Cy")))
        ada, bo, _ = pages
        try:
            for page in pages:
                await page.is_moving()
            await bo.wait_for(IS_GRID)
            assert await bo.evaluate("probe.last('joined').layout") == "grid"
            await bo.evaluate(WATCH_FOR_SCREEN)
            await ada.evaluate("(navigator.mediaDevices.getDisplayMedia = async () => { window.sharedAt = Date.now(); return probe.screen(); }, 0)")
            await ada.click("#toggle-screen")
            await bo.wait_for("screenSeen", 10)
            took = await bo.evaluate("screenSeen") - await ada.evaluate("sharedAt")
            tile = await bo.evaluate(LARGEST)
            assert tile["participant"] == await ada.evaluate("probe.last('joined').you.id")
            # The tile's part of the canvas that a picture of 16:9 fills.
            assert min(tile["width"] / 1280, tile["height"] / 720) ** 2 >= 0.7, tile
            assert await bo.evaluate("probe.last('layout').name") == "presentation"
            print(f"the screen was large after {took} ms")
            assert took <= 1000, f"the screen was large after {took} ms"
            await bo.shot("shared")

            await ada.click("#toggle-screen")
            await bo.wait_for(IS_GRID)
            assert await bo.evaluate("probe.last('layout').name") == "grid"

            await ada.click("#toggle-screen")
            await bo.wait_for("probe.last('layout').name === 'presentation'")
            await bo.evaluate("(probe.sockets.at(-1).send(JSON.stringify({ type: 'layout', name: 'grid', scope: 'room' })), 0)")
            await bo.wait_for(IS_GRID)
            await ada.click("#toggle-screen")
            await ada.wait_for("document.querySelector('#toggle-screen').getAttribute('aria-pressed') !== 'true'")
            await ada.click("#toggle-screen")
            await bo.wait_for("probe.last('layout').name === 'presentation'")
            assert not any([await page.evaluate("probe.problems") for page in pages])
        finally:
            await asyncio.gather(*(page.close() for page in pages))
    asyncio.run(asyncio.wait_for(run(), 90))
