"""What leaves a page, and what its buttons say of that."""

import asyncio

# What has left the page: [bytes, energy of the microphone, encoded pictures].
SENT = """
(async () => {
  const sent = [0, 0, 0];
  for (const one of (window.watched ?? window).connections.filter(({ connectionState }) => connectionState !== 'closed')) {
    for (const entry of (await one.getStats()).values()) {
      if (entry.type === 'outbound-rtp') sent[0] += entry.bytesSent;
      if (entry.type === 'media-source' && entry.kind === 'audio') sent[1] += entry.totalAudioEnergy;
      if (entry.type === 'outbound-rtp' && entry.kind === 'video') sent[2] += entry.framesEncoded ?? 0;
    }
  }
  return sent;
})()
"""


def label(button):
    """What the button of the microphone (`audio`) or the camera (`video`) says."""
    return f"document.getElementById('toggle-{button}').getAttribute('aria-label')"


async def leaves(page, seconds=1.6):
    """What leaves the page meanwhile: bytes, energy of the microphone (the fake one beeps once a second), pictures. The page has its connections in
    `connections`, or is a watched one."""
    before = await page.evaluate(SENT)
    await asyncio.sleep(seconds)
    return [now - then for now, then in zip(await page.evaluate(SENT), before)]
