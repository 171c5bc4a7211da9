"""The models of a report: opened from files or taken as they are, named, and with their training logs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import Run
from podium.errors import FormatError, ParameterError
from podium.files import distinct_names
from podium.formats import read_scores
from podium.formats.opening import read_head
from podium.kinds import KINDS, recognize
from podium.rankers import BaseRanker, ImportedRanker
from podium.rankers.opening import open_ranker
from podium.scoring import Scorer

LOG_SUFFIX = ".log.jsonl"


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """One model of a report, before it has scored anything.

    Attributes:
        name: what the page calls it.
        ranker: the ranker, or None if only a scorer or scores were given.
        scorer: what computes its scores, or None if scores were given.
        scores: scores that were given, in the caller's row order, or None.
        path: the file that it was read from, or None.
        log: the training log: rows of JSON lines, without the settings; empty if there is none.
        log_path: the file of the log, or None.
        no_log: why there is no log, as a whole sentence; "" if there is one.
    """

    name: str
    ranker: BaseRanker | None = None
    scorer: Scorer | None = None
    scores: npt.NDArray[Any] | None = None
    path: Path | None = None
    log: tuple[dict[str, Any], ...] = ()
    log_path: Path | None = None
    no_log: str = ""

    @property
    def curve_source(self) -> Any:
        """What the learning curve is drawn from: the log's file, or the ranker that was trained in this process."""
        return self.log_path if self.log_path is not None else self.ranker


def open_models(models: Any) -> list[OpenedModel]:
    """Return the models of a report: one or several rankers, scorers, arrays of scores or paths; a mapping names them."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
        if len(named) < len(models):
            raise ParameterError("models", rule="has two models of one name", remedy="give each its own name")
    else:
        several = list(models) if _is_several(models) else [models]
        named = dict(zip(_names(several), several, strict=True))
    if not named:
        raise ParameterError("models", rule="is empty", remedy="give at least one model")
    return [_opened(name, model) for name, model in named.items()]


def _is_several(models: Any) -> bool:
    """Whether a sequence of models was given, and not the scores of one."""
    if not isinstance(models, Sequence) or isinstance(models, str | bytes):
        return False
    return not models or not all(isinstance(each, int | float) for each in models)


def _names(models: Sequence[Any]) -> list[str]:
    """Return a name for each model: that of its file, or of its class, or a number where these are not distinct."""
    if all(isinstance(model, str | os.PathLike) for model in models):
        return distinct_names([Path(model) for model in models])
    called = [
        Path(model).name.split(".")[0] if isinstance(model, str | os.PathLike) else type(model).__name__
        for model in models
    ]
    return [f"{name} {k + 1}" if called.count(name) > 1 else name for k, name in enumerate(called)]


def _opened(name: str, model: Any) -> OpenedModel:
    if isinstance(model, str | os.PathLike):
        return _read(name, Path(model))
    if isinstance(model, BaseRanker):
        if not hasattr(model, "scorer_"):
            raise ParameterError("models", name, "is not fitted", "call fit first")
        rows = tuple(row.to_dict() for row in model.log_)
        reason = "" if rows else _no_log(name, model, None)
        return OpenedModel(name, model, model.scorer_, log=rows, no_log=reason)
    if isinstance(model, Scorer):
        return OpenedModel(name, scorer=model, no_log=f"{name} was given as a scorer, which keeps no training log.")
    if isinstance(model, Run):
        raise ParameterError(
            "models", name, "is a run, which may lack documents of the data", "give run.scores_for(data)"
        )
    if not isinstance(model, Sequence) and not hasattr(model, "__array__"):
        raise ParameterError(
            "models",
            model,
            "must be a ranker, a scorer, an array of scores, or the path of a model",
            "models of other libraries become rankers by podium.from_lightgbm and the like",
        )
    return OpenedModel(
        name, scores=np.asarray(model), no_log=f"{name} was given as scores, which keep no training log."
    )


def _read(name: str, path: Path) -> OpenedModel:
    """Open a file: a Podium model, a model of another library, or scores."""
    kind = recognize(path, read_head(path))
    if kind == "scores":
        scores = read_scores(path)
        if isinstance(scores, Run):
            raise FormatError(path, "is a TREC run; a report needs one score per document")
        no_log = f"{name} is a file of scores, which keeps no training log."
        return OpenedModel(name, scores=np.asarray(scores), path=path, no_log=no_log)
    if kind is not None and kind in DATA_KINDS:
        raise FormatError(path, f"is {KINDS[kind].noun}, not a model; name the models first and the data last")
    ranker = open_ranker(path)
    if isinstance(ranker, ImportedRanker):
        return OpenedModel(name, ranker, ranker.scorer_, path=path, no_log=_no_log(name, ranker, path))
    rows, log_path, reason = _read_log(name, path, ranker)
    return OpenedModel(name, ranker, ranker.scorer_, path=path, log=rows, log_path=log_path, no_log=reason)


DATA_KINDS = ("cache", "parquet", "arrow", "letor", "csv", "tsv", "qrels", "trec-run")


def _read_log(name: str, path: Path, ranker: BaseRanker) -> tuple[tuple[dict[str, Any], ...], Path | None, str]:
    """Return the rows of the log beside a model and its path, or why there is none. A log of another training is not used."""
    log = Path(f"{path}{LOG_SUFFIX}")
    if not log.is_file():
        return (), None, _no_log(name, ranker, path)
    try:
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        rows = tuple(line for line in lines[1:] if isinstance(line["epoch"], int))
    except (ValueError, KeyError, TypeError):
        return (), None, f"{log.name} cannot be read as a training log, so {name} has no learning curve."
    if len(rows) != ranker.n_epochs_ or lines[0].get("ranker") != type(ranker).__name__:
        return (), None, f"{log.name} belongs to another training, so {name} has no learning curve."
    return rows, log, ""


def _no_log(name: str, ranker: BaseRanker, path: Path | None) -> str:
    if isinstance(ranker, ImportedRanker):
        return f"{name} was trained by another library, and its file holds no training log."
    beside = "MODEL" if path is None else path.name
    return f"No training log of {name} was found; podium train writes one to {beside}{LOG_SUFFIX}."
