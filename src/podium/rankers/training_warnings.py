"""Warnings about a training whose result may be poor, each with a class of its own, so that it can be told from the others."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from podium.data import RankingData
from podium.errors import Spell, python_spelling, spell_options
from podium.forces import Force
from podium.training import Plan

if TYPE_CHECKING:
    from podium.rankers.base import BaseRanker

CANCELED = 1e-9  # of the strongest pair: a smaller sum of pulls is rounding
SCORE_BLOCK = 64  # queries that are scored together when looking for scores that differ
FIRST_EPOCHS = 3  # a best epoch this early is worth a warning


class TrainingWarning(UserWarning):
    """The result of a training may be poor.

    Args:
        message: what was found.
        remedy: what to do about it. It names settings in braces, as in "use {n_estimators=600}": Python shows them as
            `n_estimators=600`, the command line as its own options.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(self.phrase(python_spelling))

    def phrase(self, spell: Spell) -> str:
        """Return the message with every setting of the remedy spelled by `spell(name, value or None)`."""
        return f"{self.message}; {spell_options(self.remedy, spell)}" if self.remedy else self.message


class InterruptedWarning(TrainingWarning):
    """Training was interrupted, and the best epoch so far is kept."""


class NothingRankedWarning(TrainingWarning):
    """All documents of each query have the same score, or nothing in the data could move a score."""


class UnsolvedWarning(TrainingWarning, ConvergenceWarning):  # type: ignore[misc]
    """A solver used up its epochs before its tolerance was met."""


class BestEpochWarning(TrainingWarning, ConvergenceWarning):  # type: ignore[misc]
    """The best epoch on the validation data is one of the first, or the last one allowed."""


class CycleWarning(TrainingWarning, ConvergenceWarning):  # type: ignore[misc]
    """The phases of a training do not settle."""


def warn_of(ranker: BaseRanker, plan: Plan, data: RankingData) -> None:
    """Warn about a ranker that was just trained, if its result may be poor."""
    if ranker.interrupted_:
        found = f"training was interrupted; the best so far ({plan.schedule.unit} {ranker.best_epoch_}) is kept"
        warnings.warn(InterruptedWarning(found), stacklevel=4)
    constant = _constant_scores(ranker, plan.force, data)
    warning = constant if constant is not None else _poor_choice(ranker, plan)
    if warning is not None:
        warnings.warn(warning, stacklevel=4)


def _poor_choice(ranker: BaseRanker, plan: Plan) -> TrainingWarning | None:
    """Return a warning if the kept epoch is a poor choice, or None."""
    schedule = plan.schedule
    unit, limit = schedule.unit, schedule.max_epochs
    early = schedule.first_choice(ranker.n_epochs_) + FIRST_EPOCHS - 1
    if ranker.ran_out:
        return UnsolvedWarning(
            f"the solver stopped after {ranker.n_epochs_} {unit}s, all it was allowed, before its tolerance was met",
            f"allow more {unit}s, or a larger tolerance",
        )
    if ranker.best_value_ is not None and ranker.n_epochs_ > early >= ranker.best_epoch_:
        return BestEpochWarning(
            f"the best {unit} on the validation data is number {ranker.best_epoch_} of {ranker.n_epochs_}: the model has hardly "
            "been trained",
            "try a smaller learning_rate, or more validation queries",
        )
    if ranker.best_value_ is not None and ranker.best_epoch_ == limit and not ranker.interrupted_:
        length = next((p.name for p in ranker.parameters().values() if p.budget and p.option), None)
        example = f", as in {{{length}={2 * getattr(ranker, length)}}}" if length else ""
        return BestEpochWarning(
            f"the best {unit} on the validation data is the last one allowed, number {limit}: the model may still improve",
            f"allow more {unit}s{example}",
        )
    return None


def _constant_scores(ranker: BaseRanker, force: Force, data: RankingData) -> NothingRankedWarning | None:
    """Return a warning if all documents of each query have the same score though their labels differ, or None."""
    queries = _compared_queries(data)
    if not len(queries):
        if not force.compares or data.pairs is not None:
            return None
        found = (
            "every training query has only one document"
            if len(data) == data.n_queries
            else "no training query has two documents with different labels"
        )
        return NothingRankedWarning(
            f"nothing is ranked: {found}",
            "documents are compared only if they share a query id, so check the query ids and the labels",
        )
    if _has_nothing_to_couple(force, data, queries):
        return NothingRankedWarning(
            f"nothing was learned: no training query has two preferences that {force} couples",
            "use topology 'independent' or 'winner', which learn from single preferences",
        )
    if _scores_differ(ranker, data, queries):
        return None
    tried = next((name for name, parameter in ranker.parameters().items() if parameter.suspect), None)
    return NothingRankedWarning(
        "nothing is ranked: all documents of each training query get the same score",
        "" if tried is None else f"try another {tried}, or features of another scale",
    )


def _compared_queries(data: RankingData) -> npt.NDArray[np.int64]:
    """Return the queries in which a document should rank above another one: by pairs, if there are any, or by labels.

    Pairs that cancel out, as those of a circle do, ask for equal scores.
    """
    if data.pairs is not None:
        pull = data.pairs.weight * (data.pairs.probability - 0.5)
        net = np.zeros(len(data))
        np.add.at(net, data.pairs.winner, pull)
        np.add.at(net, data.pairs.loser, -pull)
        pulled = np.abs(net) > CANCELED * np.abs(pull).max(initial=0)
        return np.unique(data.document_queries[pulled])
    differ = np.flatnonzero(np.diff(data.labels) * (np.diff(data.document_queries) == 0))
    return np.unique(data.document_queries[differ])


def _has_nothing_to_couple(force: Force, data: RankingData, queries: npt.NDArray[np.int64]) -> bool:
    """Return whether a force over pairs of preferences finds no two of them in any query, so that every cost is 0."""
    acting = force.acting
    if acting.definition.over != "preferences" or acting.definition.needs_documents(acting):
        return False
    for block in np.split(
        queries, range(1, len(queries), SCORE_BLOCK)
    ):  # the first query alone is nearly always enough
        some = data.select(block)
        if acting.cost(np.zeros(len(some)), some).any():
            return False
    return True


def _scores_differ(ranker: BaseRanker, data: RankingData, queries: npt.NDArray[np.int64]) -> bool:
    """Return whether two documents of one of these queries have different scores."""
    for first in range(0, len(queries), SCORE_BLOCK):
        some = data.select(queries[first : first + SCORE_BLOCK])
        scores = some.from_caller_order(ranker.scorer_.scores(some, num_threads=ranker.num_threads))
        if (np.diff(scores) * (np.diff(some.document_queries) == 0)).any():
            return True
    return False
