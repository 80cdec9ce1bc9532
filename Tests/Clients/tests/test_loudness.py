"""A quiet and a loud participant, as another one hears them."""

import asyncio
import math

import pytest

from support.aiortc_peer import AiortcPeer
from support.media import TONES, tone_level


@pytest.mark.patient
@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_whisper_and_a_shout_are_within_four_decibels_after_five_seconds(server):
    """One after the other: Opus spends its bits on the louder of two tones, which would be measured too."""
    async def heard(ear, amplitude):
        talker = await AiortcPeer(server, "loud", "Talker", "red", TONES[0], amplitude=amplitude, camera=False).join()
        try:
            await asyncio.sleep(6)
            halves = [ear.sound[start:][:24000] for start in range(-48000, 0, 24000)]
            return max(20 * math.log10(max(tone_level(half, talker.frequency), 1e-6)) for half in halves)
        finally:
            await talker.close()

    async def run():
        ear = await AiortcPeer(server, "loud", "Ear", "blue", TONES[2], camera=False, amplitude=0).join()
        try:
            levels = [await heard(ear, amplitude) for amplitude in (0.03, 0.3)]
            assert min(levels) > -40 and abs(levels[0] - levels[1]) < 4, f"{levels} of {20 * math.log10(0.3 / 0.03):.0f} dB"
        finally:
            await ear.close()
    asyncio.run(asyncio.wait_for(run(), 60))
