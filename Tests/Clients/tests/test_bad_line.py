"""Two rows of the table with a real browser, with generous limits: the tight ones are the benchmark's (`./scripts/bench --network`).
And the climb of a peer that sends a REMB but no transport-wide feedback, which is not in the table.
"""

import asyncio
import dataclasses
import time

import pytest

from bench.bad_line import ROWS, measure
from support.aiortc_peer import AiortcPeer
from support.media import TONES

pytestmark = pytest.mark.usefixtures("needs_address")


def run(server, pages, key, seconds):
    row = dataclasses.replace(ROWS[key], seconds=seconds)
    return asyncio.run(asyncio.wait_for(measure(server, pages, row), seconds + 60))


def test_a_browser_on_150_kbit_sees_and_hears_without_a_break(full_server, pages):
    outcome = run(full_server, pages, "thin", 20)
    assert outcome.rate() < 150
    assert outcome.concealed() < 5
    assert len(outcome.gaps(1)) == 0, outcome.gaps(1)
    assert outcome.delay(0.5) < 1500


def test_a_browser_behind_five_per_cent_of_loss_goes_on_seeing_and_hearing(full_server, pages):
    outcome = run(full_server, pages, "loss5", 18)
    assert outcome.concealed() < 5
    assert len(outcome.gaps(1)) <= 1, outcome.gaps(1)
    assert len(outcome.frames) > 200


def test_a_browser_without_udp_sees_and_hears_over_a_thin_line_without_growing_delay(full_server, pages, needs_far_network):
    outcome = run(full_server, pages, "tcp", 20)
    middle = (outcome.row.settled + outcome.row.seconds) / 2
    before, after = (outcome.delay(0.5, start, end) for start, end in ((None, middle), (middle, None)))
    queues = [queue for at, *_, queue in outcome.samples if at > outcome.row.settled]
    print(f"first picture after {outcome.first:.0f} ms, {outcome.rate():.0f} kbit/s, {outcome.shares()}, delay p50 {before:.0f} then {after:.0f} ms, "
          f"p95 {outcome.delay(0.95):.0f} ms, queue of the line up to {max(queues)} ms, concealed {outcome.concealed():.2f} %, "
          f"gaps over 0.5 s {outcome.gaps(0.5)}, {len(outcome.frames)} pictures")
    assert outcome.transport == "tcp"
    assert outcome.rate() < 1000
    assert outcome.concealed() < 5
    assert len(outcome.gaps(1)) == 0, outcome.gaps(1)
    assert after < before + 150 and outcome.delay(0.95) < 1000, (before, after)


# On a busy machine aiortc responds late, which looks like a queue, and the peer then stays on its rung for longer.
@pytest.mark.alone
def test_aiortc_on_a_clean_line_climbs_to_the_top_by_its_own_remb(server):
    async def climb():
        peer = await AiortcPeer(server, "climb", "Ada", "red", TONES[0]).join()
        try:
            started, seen = time.monotonic(), []
            # The server's only information about the link is aiortc's own estimate: neither arrival times nor probes.
            while not seen or seen[-1][0] != "360":
                assert time.monotonic() - started < 25, seen
                await asyncio.sleep(0.25)
                stats = await asyncio.to_thread(server.json, "GET", f"/api/rooms/climb/participants/{peer.id}/stats")
                seen.append((stats["rendition"], stats["estimate"]))
            print(f"the top rung after {time.monotonic() - started:.1f} s: {seen}")
        finally:
            await peer.close()

    asyncio.run(climb())
