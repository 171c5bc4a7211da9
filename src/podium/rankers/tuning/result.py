"""What a search found: its trials, the best of them, and which settings mattered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.rankers.base import BaseRanker
from podium.result_tables import ResultTable, TabularResult

SHOWN_TRIALS = 10


@dataclass(frozen=True)
class Trial:
    """One choice of parameters, and what came of it.

    Attributes:
        number: the number of the trial, counted from 0 as Optuna counts.
        parameters: the parameters that were tried, by name.
        state: "complete"; "pruned" if training was ended early because others did better; or "failed".
        value: the metric by which complete trials are compared; None for other trials, which are never chosen.
        best_epoch: the epoch or round that was kept; None with cross-validation.
        epochs: the number of epochs or rounds that were trained, over all folds.
        seconds: how long training took.
        error: why training failed, or None.
    """

    number: int
    parameters: dict[str, Any]
    state: str
    value: float | None = None
    best_epoch: int | None = None
    epochs: int = 0
    seconds: float = 0.0
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as JSON takes it."""
        return asdict(self)


@dataclass(frozen=True)
class Tuning(TabularResult):
    """The result of a search.

    Attributes:
        ranker: a ranker that was trained with the best parameters.
        trials: all trials: complete ones from best to worst, then pruned ones, then failed ones.
        metric: the metric that trials are compared by.
        importances: for each parameter, the share of the variation of the metric that it explains (fANOVA, from the complete
            trials), the largest first. Empty if fewer than two trials are complete.
        study: the file that holds the trials, or None.
    """

    ranker: BaseRanker
    trials: tuple[Trial, ...]
    metric: str
    importances: Mapping[str, float]
    study: Path | None = None

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the ranker, as JSON takes it."""
        return {
            "study": None if self.study is None else str(self.study),
            "metric": self.metric,
            "best": self.best.to_dict(),
            "importances": dict(self.importances),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def _frame_columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for trial in self.trials:
            row = trial.to_dict()
            parameters = row.pop("parameters")
            for name, value in {"number": row.pop("number"), **parameters, **row}.items():
                columns.setdefault(name, []).append(str(value) if isinstance(value, tuple) else value)
        return columns

    def _result_table(self) -> ResultTable:
        names = list(dict.fromkeys(name for trial in self.trials for name in trial.parameters))
        rows = [
            (
                str(trial.number),
                trial.state if trial.value is None else f"{trial.value:.4f}",
                *(_short(trial.parameters[name]) if name in trial.parameters else "" for name in names),
                f"{trial.seconds:.1f}",
            )
            for trial in self.trials[:SHOWN_TRIALS]
        ]
        importances = ", ".join(f"{name} {share:.2f}" for name, share in self.importances.items())
        notes = [f"Importance: {importances}"] if importances else []
        rest = len(self.trials) - len(rows)
        if rest:
            notes.append(f"{rest} more {'trial' if rest == 1 else 'trials'}; to_frame() has all.")
        title = f"{len(self.trials)} trials, the best first"
        return ResultTable(title, ("trial", self.metric, *names, "seconds"), rows, notes)

    def __str__(self) -> str:
        rows = [f"{'trial':>5}  {self.metric:>12}  parameters"]
        for trial in self.trials[:SHOWN_TRIALS]:
            value = trial.state if trial.value is None else f"{trial.value:.4f}"
            given = ", ".join(f"{name}={value!r}" for name, value in trial.parameters.items())
            rows.append(f"{trial.number:>5}  {value:>12}  {given}")
        if self.importances:
            rows.append("importance: " + ", ".join(f"{name} {share:.2f}" for name, share in self.importances.items()))
        return "\n".join(rows)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
