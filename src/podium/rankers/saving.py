"""Saving rankers to files, and restoring them."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from podium import __version__
from podium.artifact import Artifact, save_artifact
from podium.errors import FormatError, ParameterError
from podium.functions import printed_path
from podium.metrics import metric as as_metric
from podium.metrics.ties import TieEffect
from podium.models import MODELS
from podium.scoring import Scorer, save_categories
from podium.training import Epoch

Floats = npt.NDArray[np.float64]
NOT_SAVED = ("num_threads", "memory_limit")  # settings on which the model does not depend


class SaveMixin:
    """Mixin that saves and restores a ranker."""

    scorer_: Scorer
    model_name_: str
    model_spec_: str
    force_: str
    schedule_: str
    fitted_parameters_: dict[str, Any]
    resolved_: dict[str, Any]
    fingerprint_: str
    thresholds_: Floats
    learned_: dict[str, Any] | None
    certificate_: dict[str, Any] | None
    n_epochs_: int
    best_epoch_: int
    best_value_: float | None
    ties_: TieEffect | None
    feature_names_: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to one file, which `podium.load` reads.

        Args:
            path: the file to write.
        """
        check_is_fitted(self, "scorer_")
        if self.model_name_ not in MODELS:
            raise ParameterError(
                "model",
                self.model_name_,
                f"cannot be saved, because podium.load restores only {', '.join(MODELS)}",
                "pickle the ranker, or save the model's arrays yourself",
            )
        if "__main__:" in self.force_:
            warnings.warn(
                f"the force {self.force_} is defined in the running script, from which other programs cannot import it: the saved "
                "model can be used anywhere for scoring, but trained further only here; define the force in a module",
                stacklevel=2,
            )
        save_artifact(path, self._artifact())

    def _artifact(self) -> Artifact:
        model = self.scorer_.model
        header = {
            "library": __version__,
            "ranker": type(self).__name__,
            "parameters": self.fitted_parameters_,
            "resolved": _plain(self.resolved_),
            "force": self.force_,
            "schedule": self.schedule_,
            "model": {"name": self.model_name_, "spec": self.model_spec_, "settings": model.settings()},
            "metric": _metric_name(self.fitted_parameters_["metric"]),
            "features": {
                "count": model.n_features,
                "names": None if self.feature_names_ is None else list(self.feature_names_),
                **({} if self.scorer_.normalize is None else {"normalize": self.scorer_.normalize}),
                **({} if self.scorer_.categories is None else {"categories": save_categories(self.scorer_.categories)}),
            },
            "data": self.fingerprint_,
            "training": {"epochs": self.n_epochs_, "best_epoch": self.best_epoch_, "best_value": self.best_value_},
            "more": self._extra_state(),
        }
        arrays = {f"model.{name}": value for name, value in model.arrays().items()}
        return Artifact(header, {**arrays, **{f"more.{name}": value for name, value in self._extra_arrays().items()}})

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON takes them, without those on which the model does not depend."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: _plain(value) for name, value in parameters.items() if name not in NOT_SAVED}

    def _extra_state(self) -> dict[str, Any]:
        """Return what a ranker saves besides its model, as JSON takes it."""
        learned = {} if self.learned_ is None else {"learned": _plain(self.learned_)}
        return {"certificate": self.certificate_, **learned}

    def _extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that a ranker saves besides its model's."""
        return {"thresholds": self.thresholds_} if len(self.thresholds_) else {}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore what `_extra_state` and `_extra_arrays` returned."""
        self.thresholds_ = arrays.get("thresholds", np.empty(0))
        self.certificate_ = more.get("certificate")
        learned = more.get("learned")
        self.learned_ = None if learned is None else {name: _numbers(value) for name, value in learned.items()}

    @classmethod
    def restore(cls, artifact: Artifact, path: str | os.PathLike[str]) -> Self:
        """Return the ranker of a saved model."""
        header = artifact.header
        scorer = Scorer.of(header, artifact.arrays, path)
        try:
            ranker = cls(**cls._known_parameters(header["parameters"]))
            ranker._set_fitted(scorer, header)
            ranker._load_extra_state(
                header["more"],
                {name.removeprefix("more."): v for name, v in artifact.arrays.items() if name.startswith("more.")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(path, f"is a Podium model with a part missing or wrong: {error!r}") from None
        return ranker

    @classmethod
    def _known_parameters(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """Return the saved parameters that this version still has. None is left out where it is no longer allowed."""
        known = {}
        if not isinstance(saved, dict):
            raise TypeError(f"parameters are {saved!r}")
        for name, parameter in cls.parameters().items():  # type: ignore[attr-defined]
            if name in saved and (saved[name] is not None or parameter.none or parameter.default is None):
                known[name] = tuple(saved[name]) if isinstance(saved[name], list) else saved[name]
        return known

    def _set_fitted(self, scorer: Scorer, header: dict[str, Any]) -> None:
        self.scorer_, self.model_ = scorer, scorer.model
        self.fitted_parameters_, self.resolved_ = header["parameters"], header.get("resolved", {})
        self._set_features(scorer.model.n_features, scorer.feature_names)  # type: ignore[attr-defined]
        self.feature_names_ = scorer.feature_names
        self.fingerprint_, self.force_ = header["data"], header["force"]
        self.schedule_ = header.get("schedule", "")
        self.model_name_, self.model_spec_ = header["model"]["name"], header["model"]["spec"]
        training = header["training"]
        self.n_epochs_, self.best_epoch_ = training["epochs"], training["best_epoch"]
        self.best_value_, self.interrupted_ = training["best_value"], False
        self.log_: tuple[Epoch, ...] = ()
        self.ties_ = None


def _numbers(value: Any) -> Any:
    """Return a learned number, or several as the tuple that they were before JSON made a list of them."""
    return tuple(float(each) for each in value) if isinstance(value, list) else float(value)


def _metric_name(name: str) -> str:
    """Return the name as it prints. A user's function is not looked up, because loading a model must not import code."""
    return name if ":" in name else str(as_metric(name))


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back. Mappings with keys that are not text become lists of pairs."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(inner) for key, inner in value.items()}
        return [[_plain(key), _plain(inner)] for key, inner in value.items()]
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return json.loads(json.dumps(value))
    return printed_path(value) if hasattr(value, "__qualname__") else str(value)
