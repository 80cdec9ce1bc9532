"""Traces of joins in a real call, as an OpenTelemetry collector gets them."""

import asyncio
import time

import pytest

from support.people import pair
from support.server import Server
from support.webhook_receiver import Receiver


@pytest.mark.usefixtures("needs_address", "good_line")
def test_a_join_has_spans_from_the_offer_to_the_first_frames(tmp_path):
    with Receiver() as collector:
        config = f"tracing: {{ otlp: '{collector.url('/v1/traces')}' }}\n"
        with Server(tmp_path / "server", config=config) as server:
            began = time.time_ns()

            def spans():
                return [span for request in collector.requests for resource in request.event["resourceSpans"]
                    for scope in resource["scopeSpans"] for span in scope["spans"]]

            async def run():
                async with pair(server):
                    deadline = time.monotonic() + 15
                    while len(spans()) < 12:
                        assert time.monotonic() < deadline, spans()
                        await asyncio.sleep(0.1)
            asyncio.run(asyncio.wait_for(run(), 60))
            ended = time.time_ns()
            joins = [span for span in spans() if span["name"] == "join"]
            assert len(joins) == 2 and all(join["status"] == {"code": 1} for join in joins)
            for join in joins:
                steps = {span["name"]: span for span in spans() if span.get("parentSpanId") == join["spanId"]}
                assert list(steps) == ["signalling", "ice", "dtls", "first decoded frame", "first frame sent"]
                times = [int(steps[name][key]) for name in ("signalling", "ice", "dtls") for key in ("startTimeUnixNano", "endTimeUnixNano")]
                assert times == sorted(times) and began <= int(join["startTimeUnixNano"]) == times[0]
                assert all(times[-1] <= int(steps[name]["endTimeUnixNano"]) <= ended for name in ("first decoded frame", "first frame sent"))
                print({name: (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e6 for name, span in steps.items()})
            assert "tessera_traces_sent_total 2" in server.get("/metrics")[2].decode()
