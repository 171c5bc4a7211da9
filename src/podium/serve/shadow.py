"""Shadow scoring: a second version scores what the first has answered, and the differences are logged and counted."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from podium.serve.batch import Batch
from podium.serve.logs import describe_error, write_log
from podium.serve.meter import Meter
from podium.serve.registry import ServedModel

MOST_WAITING = 64  # requests; more are left out, so that a slow shadow never holds up memory
TOP = 10
Floats = npt.NDArray[np.float64]


class Shadow:
    """Scores in one thread of its own, after the answer was sent."""

    def __init__(self, meter: Meter, threads: int) -> None:
        self._meter, self._threads, self._waiting = meter, threads, 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="shadow")

    def submit(self, shadow: ServedModel, answered: ServedModel, batch: Batch, scores: Floats) -> None:
        """Score the documents of a request by the shadow version, later."""
        if self._waiting >= MOST_WAITING:
            self._meter.add("podium_shadow_dropped_total", (shadow.source.name,))
            return
        self._waiting += 1
        task = asyncio.get_running_loop().run_in_executor(self._pool, self._compare, shadow, answered, batch, scores)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[None]) -> None:
        self._waiting -= 1
        task.exception()

    def _compare(self, shadow: ServedModel, answered: ServedModel, batch: Batch, scores: Floats) -> None:
        name = shadow.source.name
        versions = {"model": name, "version": answered.version, "shadow": shadow.version}
        try:
            if shadow.n_features != answered.n_features or shadow.columns != answered.columns:
                raise ValueError("the versions have different features")
            others = shadow.scores(batch.features, batch.sizes, self._threads)
        except Exception as error:
            self._meter.add("podium_shadow_failed_total", (name,))
            write_log("warning", "shadow_failed", **versions, **describe_error(error))
            return
        moved, overlap = compare_rankings(scores, others, batch)
        self._meter.add("podium_shadow_documents_total", (name,), len(scores))
        self._meter.add("podium_shadow_moved_total", (name,), moved)
        difference = float(np.abs(scores - others).max()) if len(scores) else 0.0
        write_log(
            "info",
            "shadow",
            **versions,
            documents=len(scores),
            queries=len(batch.sizes),
            max_difference=difference,
            moved=moved,
            top_overlap=overlap,
        )

    def close(self) -> None:
        """Finish what was submitted."""
        self._pool.shutdown(wait=True)


def compare_rankings(scores: Floats, others: Floats, batch: Batch) -> tuple[int, float]:
    """Return how many documents have another position by the other scores, and the mean overlap of the top ten."""
    moved, overlaps, start = 0, [], 0
    for size in batch.sizes.tolist():
        part = slice(start, start + size)
        first, second = (np.argsort(-values[part], kind="stable") for values in (scores, others))
        moved += int((first != second).sum())
        if size:
            overlaps.append(len(np.intersect1d(first[:TOP], second[:TOP])) / min(TOP, size))
        start += size
    return moved, float(np.mean(overlaps)) if overlaps else 1.0
