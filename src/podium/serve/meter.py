"""Counters that all workers share, and their text for Prometheus.

Every worker counts in a row of its own of one small file, so that no lock is needed on the way of a request, and any worker can
add up all rows when it is asked. A worker that is killed leaves its row behind, and the one that takes its place goes on counting
there. prometheus-client does the same with one file per process and metric, which has to be cleaned up after each process.
"""

from __future__ import annotations

import bisect
import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 422, 500, 503)
OPERATIONS = ("score", "rank")
ROLES = ("default", "canary", "other")
UNKNOWN_MODEL = ""
SPARE_ROWS = 8  # for workers that start before the ones they replace have ended
HELP = {
    "podium_requests_total": "Requests by model, operation and status; the model is empty if there is none of the name.",
    "podium_request_seconds": "Time from a request's headers to its answer, of requests that were answered with 200.",
    "podium_documents_total": "Documents scored, by model and the role of the version that answered.",
    "podium_requests_in_flight": "Requests being handled at this moment.",
    "podium_shadow_documents_total": "Documents scored by the shadow version.",
    "podium_shadow_moved_total": "Documents that the shadow version ranks at another position.",
    "podium_shadow_failed_total": "Requests that the shadow version could not score.",
    "podium_shadow_dropped_total": "Requests that the shadow version left out because it was behind.",
    "podium_reloads_total": "Model files loaded again because they had changed.",
    "podium_reload_failures_total": "Changed model files that could not be loaded; the old model stays in service.",
}
PER_MODEL = tuple(name for name in HELP if name.startswith(("podium_shadow", "podium_reload")))
Slot = tuple[str, tuple[str, ...]]


def _slots(models: Iterable[str]) -> Iterator[Slot]:
    yield "podium_requests_in_flight", ()
    for model in (*models, UNKNOWN_MODEL):
        for operation in OPERATIONS:
            for status in STATUSES:
                yield "podium_requests_total", (model, operation, str(status))
        if model == UNKNOWN_MODEL:
            continue
        for operation in OPERATIONS:
            for bound in (*map(str, BUCKETS), "+Inf", "sum"):
                yield "podium_request_seconds", (model, operation, bound)
        for role in ROLES:
            yield "podium_documents_total", (model, role)
        for name in PER_MODEL:
            yield name, (model,)


class Meter:
    """The counters of one worker, and the sums over all workers."""

    def __init__(self, models: Sequence[str], path: Path | None = None) -> None:
        self.models = tuple(models)
        self._places = {slot: place for place, slot in enumerate(_slots(models))}
        self._file: IO[bytes] = tempfile.TemporaryFile() if path is None else path.open("r+b")  # noqa: SIM115
        if path is None:
            self._file.truncate(self.size(models, 0))
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._all = memoryview(self._map).cast("d")
        width = len(self._places)
        row = self._claim_row(len(self._all) // width)
        self._row = self._all[row * width : (row + 1) * width]
        self._row[self._places["podium_requests_in_flight", ()]] = 0.0

    @classmethod
    def size(cls, models: Sequence[str], workers: int) -> int:
        """Return the size of the file of this many workers."""
        return 8 * len(list(_slots(models))) * (workers + SPARE_ROWS)

    def _claim_row(self, rows: int) -> int:
        """Return the first row that no living process has; the system gives it back when this process ends."""
        for row in range(rows):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, row, os.SEEK_SET)
            except OSError:
                continue
            return row
        raise RuntimeError("more workers are running than the file of counters has rows")

    def close(self) -> None:
        """Count no longer."""
        self._row.release()
        self._all.release()
        self._map.close()
        self._file.close()

    def add(self, name: str, labels: tuple[str, ...], amount: float = 1.0) -> None:
        """Add to a counter."""
        self._row[self._places[name, labels]] += amount

    def observe(self, model: str, operation: str, seconds: float) -> None:
        """Count a request that took this long."""
        bound = bisect.bisect_left(BUCKETS, seconds)
        first = self._places["podium_request_seconds", (model, operation, str(BUCKETS[0]))]
        self._row[first + bound] += 1
        self._row[first + len(BUCKETS) + 1] += seconds

    def exposition(self, info: Iterable[str] = ()) -> bytes:
        """Return all counters, added up over the workers, as Prometheus reads them; `info` are further lines."""
        width = len(self._places)
        totals = [sum(self._all[place::width]) for place in range(width)]
        lines: list[str] = []
        for name, help in HELP.items():
            kind = {"podium_request_seconds": "histogram", "podium_requests_in_flight": "gauge"}.get(name, "counter")
            lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
            if kind == "histogram":
                lines += self._histograms(totals)
                continue
            for (metric, labels), place in self._places.items():
                if metric == name:
                    lines.append(f"{name}{_labels(name, labels)} {totals[place]:.17g}")
        return ("\n".join([*lines, *info]) + "\n").encode()

    def _histograms(self, totals: Sequence[float]) -> Iterator[str]:
        for model in self.models:
            for operation in OPERATIONS:
                first = self._places["podium_request_seconds", (model, operation, str(BUCKETS[0]))]
                labels = f'model="{model}",operation="{operation}"'
                count = 0.0
                for offset, bound in enumerate((*map(str, BUCKETS), "+Inf")):
                    count += totals[first + offset]
                    yield f'podium_request_seconds_bucket{{{labels},le="{bound}"}} {count:.17g}'
                yield f"podium_request_seconds_sum{{{labels}}} {totals[first + len(BUCKETS) + 1]:.17g}"
                yield f"podium_request_seconds_count{{{labels}}} {count:.17g}"


def _labels(name: str, values: tuple[str, ...]) -> str:
    names = {"podium_requests_total": ("model", "operation", "status"), "podium_documents_total": ("model", "role")}
    words = ",".join(f'{label}="{value}"' for label, value in zip(names.get(name, ("model",)), values, strict=False))
    return f"{{{words}}}" if words else ""
