"""Everything that a report says, computed apart from how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.data import RankingData
from podium.data.hashing import check_seed
from podium.errors import ParameterError
from podium.evaluation.intervals import check_confidence, check_count
from podium.report.data_remarks import DataSummary, Remark, summarize_data
from podium.report.explaining import ModelImportance, measure_importance
from podium.report.judging import Judgment, MetricLike, judge
from podium.report.opening import OpenedModel
from podium.report.provenance import Provenance, record_provenance
from podium.report.queries import QueryTable, tabulate_queries
from podium.report.scored import ScoredModel, TrainingSummary, score_model, summarize_training

MOST_EXAMPLES = 100


@dataclass(frozen=True)
class ReportOptions:
    """What can be chosen about a report.

    Attributes:
        metrics: the metrics, the first of which sorts the queries; None for the models' own and the usual ones.
        title: the heading of the page; None for one made from the names.
        examples: number of best, worst and most changed queries each.
        confidence: the confidence of all intervals.
        seed: the seed of all random numbers.
        num_threads: how many threads to use; all cores by default.
    """

    metrics: Sequence[MetricLike] | None = None
    title: str | None = None
    examples: int = 5
    confidence: float = 0.95
    seed: int = 0
    num_threads: int | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if check_count("examples", self.examples, 0) > MOST_EXAMPLES:
            raise ParameterError("examples", self.examples, f"must be at most {MOST_EXAMPLES}")
        check_seed(self.seed)


@dataclass(frozen=True, eq=False)
class ReportContents:
    """Everything that a report says.

    Attributes:
        title: the heading of the page.
        data_name: what the page calls the data.
        data: the data.
        models: the models with their scores.
        summary: counts and remarks on the data.
        trainings: what is known of each model's training.
        judgment: metrics, intervals and tests.
        queries: the queries with their values and documents.
        importances: the importance of the features to each model.
        provenance: how to make the report again.
        options: what was chosen.
    """

    title: str
    data_name: str
    data: RankingData
    models: tuple[ScoredModel, ...]
    summary: DataSummary
    trainings: tuple[TrainingSummary, ...]
    judgment: Judgment
    queries: QueryTable
    importances: tuple[ModelImportance, ...]
    provenance: Provenance
    options: ReportOptions

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks: on the data, the models and the evaluation, warnings first."""
        found = [*self.summary.remarks, *(r for model in self.models for r in model.remarks), *self.judgment.remarks]
        return tuple(sorted(dict.fromkeys(found), key=lambda remark: remark.level != "warning"))


def collect(
    opened: Sequence[OpenedModel],
    data: RankingData,
    options: ReportOptions,
    *,
    data_path: Path | None = None,
    command: str = "",
) -> ReportContents:
    """Compute everything that a report on these models and this data says."""
    threads = options.num_threads
    models = tuple(score_model(each, data, num_threads=threads) for each in opened)
    judgment = judge(
        {model.name: model.caller_scores for model in models},
        data,
        metrics=options.metrics,
        preferred=_own_metric(opened),
        confidence=options.confidence,
        seed=options.seed,
        num_threads=threads,
    )
    importances = tuple(
        measure_importance(model, judgment.main, confidence=options.confidence, seed=options.seed, num_threads=threads)
        for model in models
    )
    queries = tabulate_queries(data, models, judgment, examples=options.examples, num_threads=threads)
    data_name = "the data" if data_path is None else data_path.name
    files = [(each.name, each.path) for each in opened if each.path is not None]
    files += [] if data_path is None else [("data", data_path)]
    return ReportContents(
        title=options.title or f"{_listed_names(opened)} on {data_name}",
        data_name=data_name,
        data=data,
        models=models,
        summary=summarize_data(data, num_threads=threads),
        trainings=tuple(summarize_training(each) for each in opened),
        judgment=judgment,
        queries=queries,
        importances=importances,
        provenance=record_provenance(data, files, command, options.seed),
        options=options,
    )


def _listed_names(opened: Sequence[OpenedModel]) -> str:
    return " and ".join(each.name for each in opened) if len(opened) <= 2 else f"{len(opened)} models"


def _own_metric(opened: Sequence[OpenedModel]) -> str | None:
    """Return the metric that the first Podium model was trained for; a function of a user is not imported for it."""
    for model in opened:
        name = "" if model.ranker is None else str(model.ranker.fitted_parameters_.get("metric") or "")
        if name and ":" not in name:
            return name
    return None
