"""Evaluate one system: scores or a run against judged data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Run
from podium.data.canonical import check_data
from podium.data.conversion import as_numbers
from podium.data.hashing import check_seed
from podium.errors import DataError, ParameterError
from podium.evaluation.intervals import check_confidence, check_draws, check_method
from podium.evaluation.join import JudgedDocuments, id_ranks, join_run
from podium.evaluation.result import Asked, Evaluation, IntervalOptions
from podium.functions import Function
from podium.metrics import Documents, Metric, metric, per_query, split_metric_name, tie_values
from podium.names import expand_cutoffs

Metrics = str | Metric | Function | Iterable[str | Metric | Function]
Ranking = npt.ArrayLike | Run | Any
"""Scores of the rows of some data, a run, or a ranker or scorer that gives scores."""
DEFAULT_METRICS = ("ndcg@1", "ndcg@5", "ndcg@10", "map", "mrr")


def evaluate(
    scores: Ranking,
    data: RankingData,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    confidence: float = 0.95,
    interval: str = "student",
    bootstrap: int | None = None,
    seed: int = 0,
    complete: bool = False,
    max_documents: int | None = None,
    num_threads: int | None = None,
) -> Evaluation:
    """Evaluate one system: the value of each query, and the mean of each metric with its intervals.

    Where documents of a query have tied scores, the result says how much the order among them matters (`ties`).

    Every query counts alike, as is usual: `query_weights` and `document_weights` of the data are for training, and
    have no part in values, means or intervals.

    Args:
        scores: one per row of `data`, in the caller's row order; or a Run, joined to the judgments in `data` by query id
            and document id. With a run, a metric that names no convention follows trec_eval's. A trained ranker or a
            scorer stands for the scores that it gives to `data`.
        data: the judged documents.
        metrics: names such as "ndcg@10", functions of yours (see `custom_metric`) or Metrics; one or several. "ndcg@1,3,5"
            is three. By default ndcg@1, ndcg@5, ndcg@10, map and mrr.
        confidence: the confidence of both intervals, at most 0.9999.
        interval: "student" for mean ± t·SE within the metric's range, which is right for few queries too, or "normal" for mean ± z·SE, the papers'
            mean ± 1.96·SE for 95 %.
        bootstrap: how many times the bootstrap draws the queries; by default 2,000, and more for a confidence above 0.99.
        seed: the seed of the bootstrap.
        complete: with a run, average over all judged queries, those missing from the run scoring 0 (trec_eval -c).
        max_documents: with a run, keep only this many documents from the top of each query (trec_eval -M).
        num_threads: how many threads to use; all cores by default.
    """
    check_data("data", data)
    scores = _scores_of_ranker(scores, data)
    asked = as_asked(metrics, for_run=isinstance(scores, Run))
    confidence = check_confidence(confidence)
    intervals = IntervalOptions(
        check_method(interval), confidence, check_draws(bootstrap, confidence), check_seed(seed)
    )
    if isinstance(scores, Run):
        table = join_run(scores, data, complete=complete, max_documents=max_documents)
        missing = _missing_values(scores, data, table, asked.used, num_threads) if not complete else None
    else:
        if complete or max_documents is not None:
            name = "complete" if complete else "max_documents"
            raise ParameterError(
                name, rule="is for runs; an array of scores ranks every document", remedy="leave it out"
            )
        table = _table_of_scores(scores, data, asked.used)
        missing = None
    values, empty = per_query(asked.used, table.documents, num_threads=num_threads)
    return Evaluation(
        asked,
        data.query_ids[table.query_numbers],
        table.query_numbers,
        values,
        empty,
        ties=tie_values(asked.used, table.documents, values, num_threads=num_threads),
        intervals=intervals,
        missing=missing,
    )


def _scores_of_ranker(given: Ranking, data: RankingData) -> npt.ArrayLike | Run:
    """Return the scores that a ranker or a scorer gives to the data; anything else as it is."""
    for method in ("predict", "scores"):
        score = getattr(given, method, None)
        if callable(score) and not isinstance(given, Run | type):
            scores: npt.ArrayLike = score(data)
            return scores
    return given


def _missing_values(
    run: Run, data: RankingData, table: JudgedDocuments, metrics: tuple[Metric, ...], num_threads: int | None
) -> npt.NDArray[np.float64] | None:
    """Return the values of the judged queries that a run lacks, [metrics × queries], as `complete` counts them; None if it has all."""
    lacking = np.setdiff1d(np.arange(data.n_queries), table.query_numbers)
    if not len(lacking):
        return None
    whole = join_run(run, data, complete=True)
    return per_query(metrics, whole.documents, num_threads=num_threads)[0][:, lacking]


def as_asked(metrics: Metrics, *, for_run: bool = False) -> Asked:
    """Return the metrics, each once, in the order given. For a run, those that name no convention follow trec_eval's."""
    several = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics]
    if not several:
        raise ParameterError("metrics", rule="is empty", remedy="name at least one, as in ['ndcg@10', 'map']")
    used: dict[Metric, int] = {}
    labels: dict[str, int] = {}
    spellings: dict[str, int] = {}
    names = [name for each in several for name in (expand_cutoffs(each) if isinstance(each, str) else [each])]
    for each in names:
        meant = metric(each)
        taken = _trec_eval_by_default(each, meant) if for_run else meant
        if taken not in used:
            used[taken] = len(used)
            label = meant.label if meant.label not in labels else str(taken)
            if label in labels:
                rule = f"has two metrics that are called {label!r}"
                remedy = "name one of them: podium.custom_metric(function, name=…)"
                raise ParameterError("metrics", rule=rule, remedy=remedy)
            labels[label] = used[taken]
        spellings[str(each)] = used[taken]
    return Asked(tuple(used), labels, spellings)


def _trec_eval_by_default(each: str | Metric | Function, meant: Metric) -> Metric:
    if meant.custom is not None:
        return meant.with_parameters(ties="trec_eval") if meant.parameters["ties"] == "auto" else meant
    # A parameter that the caller gave stays, even if it is the default and therefore not part of the metric's name.
    spelled = split_metric_name(each).settings if isinstance(each, str) else dict(meant.given)
    if "convention" not in meant.parameters or "convention" in spelled:
        return meant
    return meant.definition(cutoff=meant.cutoff, **{**spelled, "convention": "trec_eval"})


def _table_of_scores(scores: npt.ArrayLike, data: RankingData, asked: tuple[Metric, ...]) -> JudgedDocuments:
    given = as_numbers("scores", scores)
    if given.shape != (data.n_documents,):
        raise DataError(f"scores have shape {given.shape} for {data.n_documents} rows of data; give one score per row")
    by_id = any(each.parameters.get("ties") == "trec_eval" for each in asked) and data.document_ids is not None
    documents = Documents(
        scores=data.from_caller_order(given),
        labels=data.labels,
        query_offsets=data.query_offsets,
        tie_order=id_ranks(data.document_ids) if by_id and data.document_ids is not None else None,
        row_order=data.row_order,
    )
    return JudgedDocuments(documents, np.arange(data.n_queries))
