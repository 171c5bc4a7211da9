"""Counters over several workers, and their text for Prometheus."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys

from running import Running, X

from podium.serve.meter import BUCKETS, Meter

LINE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [0-9.e+-]+')


def values(meter: Meter, name: str) -> list[float]:
    return [float(line.split()[-1]) for line in meter.exposition().decode().splitlines() if line.startswith(name)]


def test_a_histogram_counts_each_request_in_every_larger_bucket():
    with contextlib.closing(Meter(("shop",))) as meter:
        for seconds in (0.0004, 0.0005, 0.003, 99.0):
            meter.observe("shop", "score", seconds)
        labels = '{model="shop",operation="score"'
        counts = values(meter, f"podium_request_seconds_bucket{labels}")
        assert len(counts) == len(BUCKETS) + 1
        assert counts[:4] == [2, 2, 2, 3]
        assert counts[-2:] == [3, 4]
        assert values(meter, f"podium_request_seconds_sum{labels}") == [0.0004 + 0.0005 + 0.003 + 99.0]
        assert values(meter, f"podium_request_seconds_count{labels}") == [4]


def test_workers_count_in_rows_of_their_own_and_their_successors_go_on(tmp_path):
    path = tmp_path / "counters"
    path.write_bytes(bytes(Meter.size(("shop",), 1)))
    program = f"""
import pathlib, sys
from podium.serve.meter import Meter
meter = Meter(("shop",), pathlib.Path({str(path)!r}))
meter.add("podium_requests_in_flight", ())
meter.add("podium_reloads_total", ("shop",), 5)
print("counted", flush=True)
sys.stdin.read()
"""
    with contextlib.closing(Meter(("shop",), path)) as meter:
        meter.add("podium_reloads_total", ("shop",))
        for round in (1, 2):
            with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as worker:
                assert worker.stdout is not None
                assert worker.stdout.readline() == "counted\n"
                assert values(meter, "podium_reloads_total") == [1 + 5 * round]
                assert values(meter, "podium_requests_in_flight") == [1]  # not what the killed worker left behind
                worker.kill()


def test_every_line_is_as_prometheus_reads_it(service: Running):
    before = service.counter("podium_requests_total", model="linear", operation="score", status="200")
    assert service.call("/v1/models/linear/score", X.tobytes(), "application/octet-stream").status == 200
    assert service.call("/v1/models/linear/score", b"x").status == 400
    reply = service.call("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.body.decode().splitlines()
    assert all(line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line) for line in lines)
    assert service.counter("podium_requests_total", model="linear", operation="score", status="200") == before + 1
    assert service.counter("podium_requests_total", model="linear", status="400") >= 1
    assert service.counter("podium_model_info", model="linear") == 1
