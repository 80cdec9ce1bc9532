"""Two rows of the table with a real browser, with generous bounds: the tight figures are the benchmark's (`./scripts/bench --network`)."""

import asyncio
import dataclasses

import pytest

from bad_line import ROWS, measure

pytestmark = pytest.mark.usefixtures("needs_address")


def run(server, pages, key, seconds):
    row = dataclasses.replace(ROWS[key], seconds=seconds)
    return asyncio.run(asyncio.wait_for(measure(server, pages, row), seconds + 60))


def test_a_browser_on_150_kbit_sees_and_hears_without_a_break(full_server, pages):
    outcome = run(full_server, pages, "thin", 25)
    assert outcome.rate() < 150
    assert outcome.concealed() < 5
    assert len(outcome.gaps(1)) == 0, outcome.gaps(1)
    assert outcome.delay(0.5) < 1500


def test_a_browser_behind_five_per_cent_of_loss_goes_on_seeing_and_hearing(full_server, pages):
    outcome = run(full_server, pages, "loss5", 25)
    assert outcome.concealed() < 5
    assert len(outcome.gaps(1)) <= 1, outcome.gaps(1)
    assert len(outcome.frames) > 200
