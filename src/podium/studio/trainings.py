"""Trainings that run while the page watches: one at a time, in a thread, each round reported."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from podium.data.presentation import query_title, ranks_of
from podium.data.splits import query_folds
from podium.errors import PodiumError
from podium.serve.logs import describe_error, write_log
from podium.serve.problems import RequestError
from podium.studio.ranker_forms import make_ranker
from podium.studio.workspace import Workspace

if TYPE_CHECKING:
    from podium.data import RankingData
    from podium.rankers import BaseRanker
    from podium.training import Epoch

Floats = npt.NDArray[np.float64]
VALID_FOLDS = 5  # one of as many parts of the queries is kept for validation
MOST_TRAINING_DOCUMENTS = 200_000
MOST_SECONDS = 900.0  # of one training
MOST_WAITING_SECONDS = 5.0  # for a round to end when the studio ends
MOST_TRAININGS = 20  # whose curves are kept
MOST_WATCHABLE = 200  # validation queries that are offered
MOST_WATCHED = 30  # documents of the watched query that are shown
MOST_LEVELS = 100  # different labels of it that are sent
MOST_FILES = 10_000  # of one ranker in the folder


class RankedNow(msgspec.Struct):
    """A validation query as the model ranks it at present: its best documents, in the order of the query."""

    query: int
    n_documents: int
    levels: list[float]
    documents: list[int]
    names: list[str]
    labels: list[float]
    scores: list[float]
    ranks: list[int]


class WatchableQuery(msgspec.Struct):
    """A validation query that can be watched: its number and its name."""

    number: int
    title: str


class TrainingRow(msgspec.Struct):
    """One round: the metric on the training and on the validation data."""

    round: int
    train: float | None
    valid: float | None
    best: bool
    seconds: float


class ShownTraining(msgspec.Struct):
    """A training as the page shows it. `rows` begins with the row that was asked for."""

    id: int
    ranker: str
    metric: str
    unit: str
    state: str
    message: str
    rounds: int
    max_rounds: int
    best_round: int | None
    train_queries: int
    valid_queries: int
    watchable: list[WatchableQuery]
    rows: list[TrainingRow]
    ranking: RankedNow | None
    model: str | None
    saved_as: str | None


class LiveTraining:
    """One training. It is a callback of its own ranker: it keeps every row and the latest scores of the validation data.

    Args:
        number: Its number, counted from 1.
        name: The name of the ranker.
        ranker: The ranker with its settings.
        workspace: The data to train on. One part of its queries is kept for validation.
        pause: Seconds to wait after each round, so that people can watch.
    """

    def __init__(self, number: int, name: str, ranker: BaseRanker, workspace: Workspace, pause: float) -> None:
        self.number, self.name, self.ranker, self.workspace, self.pause = number, name, ranker, workspace, pause
        self.max_rounds, self.unit = ranker.max_epochs, ranker.unit
        self.state, self.message = "running", ""
        self.model: str | None = None
        self.saved_as: str | None = None
        self.train_numbers, self.valid_numbers = split_queries(workspace.data)
        self._rows: list[TrainingRow] = []
        self._best: int | None = None
        self._scores: Floats | None = None
        self._offsets = np.cumsum([0, *workspace.data.query_sizes[self.valid_numbers].tolist()])
        self._stop = threading.Event()
        self._timed_out = False
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"training-{number}", daemon=True)

    def start(self) -> None:
        """Begin to train."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the training to end after the round that it is in; its best round so far is kept."""
        self._stop.set()

    def join(self) -> None:
        """Wait until the training has ended; not for long, because a single round can take minutes."""
        self._thread.join(MOST_WAITING_SECONDS)

    @property
    def running(self) -> bool:
        """Whether the training has not ended yet."""
        return self.state == "running"

    def __call__(self, row: Epoch) -> bool:
        """Keep a row of the log; return whether to stop."""
        with self._lock:
            self._rows.append(TrainingRow(row.epoch, row.train, row.valid, row.best, row.seconds))
            if row.best_epoch is not None or row.best:
                self._best = row.best_epoch or row.epoch
        self._timed_out = time.monotonic() - self._began > MOST_SECONDS
        return self._stop.wait(self.pause) or self._timed_out

    def receive_scores(self, scores: Floats) -> None:
        """Keep the scores of the validation data after a round."""
        with self._lock:
            self._scores = scores.copy()

    def _run(self) -> None:
        state, message, model = "failed", "", None
        try:
            model = self._train()
            state = "stopped" if self._stop.is_set() or self._timed_out else "finished"
            if self._timed_out and not self._stop.is_set():
                message = (
                    f"It reached the limit of {MOST_SECONDS / 60:.0f} minutes; its best {self.unit} so far is kept."
                )
        except PodiumError as error:
            message = str(error)
        except Exception as error:
            message = "training failed; the log of the studio says where"
            write_log("error", "training_failed", ranker=self.name, **describe_error(error))
        with self._lock:
            self.model, self.message, self.state = model, message, state

    def _train(self) -> str:
        data, numbers = self.workspace.data, self.valid_numbers
        valid = data.select(numbers) if len(numbers) else None
        self.ranker.fit(data.select(self.train_numbers), valid=valid, callbacks=[self])
        if valid is not None:
            self.receive_scores(valid.from_caller_order(self.ranker.predict(valid)))
        with self._lock:
            self._best = self.ranker.best_epoch_
        called = f"{self.name} (training {self.number})"
        return self.workspace.add(called, self.ranker, trained_on=self.train_numbers).name

    def show(self, since: int = 0, query: int | None = None) -> ShownTraining:
        """Return the rows from number `since` on, and how a validation query is ranked now."""
        with self._lock:
            state, message, model, saved_as = self.state, self.message, self.model, self.saved_as
            rows, best, scores, rounds = self._rows[max(since, 0) :], self._best, self._scores, len(self._rows)
        texts = self.workspace.query_texts
        watchable = [WatchableQuery(k, query_title(texts[k])) for k in self.valid_numbers.tolist()[:MOST_WATCHABLE]]
        return ShownTraining(
            id=self.number,
            ranker=self.name,
            metric=str(self.ranker.metric),
            unit=self.unit,
            state=state,
            message=message,
            rounds=rounds,
            max_rounds=self.max_rounds,
            best_round=best,
            train_queries=len(self.train_numbers),
            valid_queries=len(self.valid_numbers),
            watchable=watchable,
            rows=rows,
            ranking=None if scores is None or not watchable else self._ranked(scores, query),
            model=model,
            saved_as=saved_as,
        )

    def _ranked(self, scores: Floats, query: int | None) -> RankedNow:
        numbers = self.valid_numbers
        place = int(np.searchsorted(numbers, query)) if query is not None else 0
        if place >= len(numbers) or (query is not None and numbers[place] != query):
            place = 0
        number = int(numbers[place])
        rows, held = self.workspace.rows(number), scores[self._offsets[place] : self._offsets[place + 1]]
        places, labels, names = ranks_of(held), self.workspace.data.labels[rows], self.workspace.document_names(number)
        best, levels = np.flatnonzero(places <= MOST_WATCHED), np.unique(labels)
        return RankedNow(
            query=number,
            n_documents=len(held),
            levels=(levels if len(levels) <= MOST_LEVELS else np.unique(labels[best])).tolist(),
            documents=best.tolist(),
            names=[names[k] for k in best],
            labels=labels[best].tolist(),
            scores=held[best].tolist(),
            ranks=places[best].tolist(),
        )

    def save(self, folder: Path) -> str:
        """Write the model into the folder, under a name that is not taken, and return the name."""
        if self.model is None:
            raise RequestError(409, "not_trained", "there is no model yet; wait until the training has ended")
        with self._lock:
            if self.saved_as is None:
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                    path = free_path(folder, self.name)
                    self.ranker.save(path)
                except OSError as error:
                    reason = error.strerror or type(error).__name__
                    raise RequestError(409, "not_saved", f"the model cannot be written to {folder}: {reason}") from None
                self.saved_as = path.name
            return self.saved_as


class Trainings:
    """All trainings of a studio, at most one of them running.

    Args:
        workspace: The data to train on; trained models are added to it.
        folder: Where models are saved.
        num_threads: How many threads train; all cores by default.
    """

    def __init__(self, workspace: Workspace, folder: Path, *, num_threads: int | None = None) -> None:
        self._workspace, self.folder, self._num_threads = workspace, folder, num_threads
        self._all: dict[int, LiveTraining] = {}
        self._lock = threading.Lock()

    def start(self, name: str, settings: Mapping[str, Any], metric: str, pause: float) -> LiveTraining:
        """Begin a training, unless one is running."""
        ranker = make_ranker(name, settings, metric=metric, num_threads=self._num_threads)
        with self._lock:
            if any(each.running for each in self._all.values()):
                raise RequestError(409, "busy", "a training is running; stop it first, or wait until it has ended")
            while len(self._all) >= MOST_TRAININGS:
                self._all.pop(min(self._all))
            number = max(self._all, default=0) + 1
            training = self._all[number] = LiveTraining(number, name, ranker, self._workspace, pause)
            training.start()
        return training

    def find(self, number: int) -> LiveTraining:
        """Return a training by its number."""
        with self._lock:
            found = self._all.get(number)
        if found is None:
            raise RequestError(404, "unknown_training", "there is no training of this number; start one first")
        return found

    def latest(self) -> LiveTraining | None:
        """Return the training that was started last, or None."""
        with self._lock:
            return self._all[max(self._all)] if self._all else None

    def close(self) -> None:
        """Stop the training that is running, and wait until it has ended."""
        with self._lock:
            running = [each for each in self._all.values() if each.running]
        for each in running:
            each.stop()
        for each in running:
            each.join()


def split_queries(data: RankingData) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers of the queries to train on and of those for validation; of large data, only some queries.

    Without enough queries to keep some for validation, all are trained on.
    """
    numbers = np.arange(data.n_queries)
    if data.n_queries < VALID_FOLDS:
        return numbers, numbers[:0]
    train, valid = query_folds(data, VALID_FOLDS)[0]
    kept = np.cumsum(data.query_sizes[train]) <= MOST_TRAINING_DOCUMENTS
    kept[0] = True
    few = np.cumsum(data.query_sizes[valid]) <= MOST_TRAINING_DOCUMENTS // (VALID_FOLDS - 1)
    few[0] = True
    return train[kept], valid[few]


def free_path(folder: Path, name: str) -> Path:
    """Return a path for a model of a ranker that does not exist yet."""
    for number in range(1, MOST_FILES):
        path = folder / f"{name}-{number}.podium"
        if not path.exists():
            return path
    raise RequestError(409, "full", f"the folder has {MOST_FILES:,} models of {name}; move some of them away")
