"""Models that have scored the data of a report, and what is known of their training."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.canonical import fingerprint
from podium.data.conversion import as_numbers
from podium.data.feature_names import default_names
from podium.errors import DataError
from podium.models.trees import TreeModel
from podium.rankers import BaseRanker, ImportedRanker
from podium.report.data_remarks import Remark
from podium.report.opening import OpenedModel
from podium.report.texts import as_sentence, cut
from podium.scoring import Scorer, match_features

Floats = npt.NDArray[np.float64]
LONGEST_FACT = 300
LONGEST_CODE = 3000


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """One model of a report with its scores.

    Attributes:
        opened: the model as it was given.
        data: the data with the features of the model.
        caller_scores: one score per row, in the caller's order.
        remarks: what was noticed while the data was scored.
    """

    opened: OpenedModel
    data: RankingData
    caller_scores: Floats
    remarks: tuple[Remark, ...]

    @property
    def name(self) -> str:
        """What the page calls the model."""
        return self.opened.name

    @property
    def ranker(self) -> BaseRanker | None:
        """The ranker, or None if only a scorer or scores were given."""
        return self.opened.ranker

    @property
    def scorer(self) -> Scorer | None:
        """What computes the scores, or None if scores were given."""
        return self.opened.scorer

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the model's features; those of the data if the model has none."""
        known = (None if self.scorer is None else self.scorer.feature_names) or self.data.feature_names
        return tuple(known) if known is not None else default_names(self.data.n_features)

    @functools.cached_property
    def scores(self) -> Floats:
        """One score per document, grouped by query."""
        return self.data.from_caller_order(self.caller_scores)

    @functools.cached_property
    def features(self) -> npt.NDArray[np.float32]:
        """The features as the model takes them, grouped by query."""
        assert self.scorer is not None
        return self.scorer.features(self.data)


def score_model(opened: OpenedModel, data: RankingData, *, num_threads: int | None = None) -> ScoredModel:
    """Score the data with a model. Warnings about features become remarks, and errors name the model."""
    if opened.scorer is None:
        return ScoredModel(opened, data, _given_scores(opened, data), ())
    scorer = opened.scorer
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            matched = match_features(data, scorer.model.n_features, scorer.feature_names, scorer.categories)
            scores = scorer.scores(matched, num_threads=num_threads)
    except DataError as error:
        raise DataError(f"{opened.name} cannot score the data: {error}") from None
    remarks = [
        Remark("note", f"{opened.name}: {as_sentence(text)}") for text in dict.fromkeys(str(w.message) for w in told)
    ]
    if scorer.model.has_splits and not cast(TreeModel, scorer.model).has_counts:
        remarks.append(
            Remark(
                "note",
                f"The file of {opened.name} does not say how many training documents fell into each leaf, so that contributions of "
                "its features weigh all leaves equally.",
            )
        )
    if opened.ranker is not None and opened.ranker.fingerprint_ in (fingerprint(data), fingerprint(matched)):
        remarks.append(
            Remark(
                "warning",
                f"{opened.name} was trained on this very data, so that its values here say little about new queries.",
            )
        )
    return ScoredModel(opened, matched, np.asarray(scores, np.float64), tuple(remarks))


def _given_scores(opened: OpenedModel, data: RankingData) -> Floats:
    scores = as_numbers(opened.name, opened.scores)
    if scores.shape != (data.n_documents,):
        where = opened.name if opened.path is None else str(opened.path)
        raise DataError(
            f"{where} has scores of shape {scores.shape}, but the data has {data.n_documents} documents; there must be one score per "
            "document, in the same order"
        )
    return np.asarray(scores, np.float64)


@dataclass(frozen=True)
class TrainingSummary:
    """What is known of how a model was trained.

    Attributes:
        name: what the page calls the model.
        kind: the class of the ranker, or what else was given.
        facts: what it is made of and how training ended, as rows of a table.
        settings: every setting with the value that was used, as text.
        code: Python code that trains it again, or "" if that is unknown.
        missing: why the settings are unknown, as a whole sentence; "" if they are known.
    """

    name: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    settings: dict[str, str]
    code: str
    missing: str


def summarize_training(opened: OpenedModel) -> TrainingSummary:
    """Return what is known of how a model was trained."""
    name, ranker = opened.name, opened.ranker
    if opened.scorer is None:
        return TrainingSummary(name, "scores", (), {}, "", f"{name} was given as scores, so its training is unknown.")
    size = (("Features", f"{opened.scorer.model.n_features:,}"),)
    if ranker is None:
        return TrainingSummary(
            name, "scorer", size, {}, "", f"{name} was given as a scorer, which does not know its training."
        )
    trees = (
        (("Trees", f"{ranker.n_trees_:,}"),) if opened.scorer.model.has_splits and hasattr(ranker, "n_trees_") else ()
    )
    if isinstance(ranker, ImportedRanker):
        missing = f"{name} was trained by another library, and its file does not hold the settings."
        return TrainingSummary(name, f"imported from {ranker.source}", (*size, *trees), {}, "", missing)
    facts = [
        ("Force", ranker.force_),
        ("Model", ranker.model_spec_),
        ("Schedule", ranker.schedule_),
        ("Metric", str(ranker.fitted_parameters_.get("metric", ""))),
        *size,
        *trees,
        ("Kept", f"{ranker.unit} {ranker.best_epoch_} of {ranker.n_epochs_}"),
        (
            "Best value in validation",
            "no validation data" if ranker.best_value_ is None else f"{ranker.best_value_:.4f}",
        ),
        *((f"Learned {key}", _text(value)) for key, value in ranker.outcome.items()),
        ("Training data (SHA-256 of its content)", ranker.fingerprint_),
    ]
    settings = {key: _text(value) for key, value in (ranker.resolved_ or ranker.fitted_parameters_).items()}
    judged = "" if ranker.best_value_ is None else ", valid=valid"
    told = tuple((key, cut(value, LONGEST_FACT)) for key, value in facts if value)
    return TrainingSummary(
        name, type(ranker).__name__, told, settings, cut(f"podium.{ranker!r}.fit(train{judged})", LONGEST_CODE), ""
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return {None: "none", True: "yes", False: "no"}.get(value, str(value)) if _is_plain(value) else str(value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool)
