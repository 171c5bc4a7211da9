"""A scorer: features in, one score a document out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_features
from podium.data.feature_names import feature_name
from podium.data.normalize import NORMALIZATIONS, normalize
from podium.errors import DataError, FormatError
from podium.models import Model, restore_model
from podium.models.heads import to_scores
from podium.threads import resolve_threads

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scorer:
    """A trained model, ready to score.

    Attributes:
        model: what turns features into outputs.
        feature_names: of the features it was trained on, or None.
        normalize: how features are rescaled inside each query first, or None; whole queries are then needed.
    """

    model: Model
    feature_names: tuple[str, ...] | None = None
    normalize: str | None = None

    @classmethod
    def of(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], path: str | os.PathLike[str]) -> Scorer:
        """The scorer of a saved model."""
        try:
            own = {name.removeprefix("model."): value for name, value in arrays.items() if name.startswith("model.")}
            model = restore_model(header["model"]["name"], header["model"]["settings"], own)
            names = header["features"]["names"]
            if names is not None and len(names) != model.n_features:
                raise ValueError(f"{len(names)} names for {model.n_features} features")
            scale = header["features"].get("normalize")
            if scale is not None and scale not in NORMALIZATIONS:
                raise ValueError(f"no normalization is called {scale!r}")
            return cls(model, None if names is None else tuple(str(name) for name in names), scale)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(path, f"is a Podium model with a part missing or wrong: {error!r}") from None

    def scores(self, rows: RankingData | npt.ArrayLike, *, num_threads: int | None = None) -> Floats:
        """One score a row, in the caller's order."""
        data = rows if isinstance(rows, RankingData) else None
        if self.normalize is not None and data is None:
            raise DataError(
                f"the model rescales features inside each query (normalize={self.normalize!r}), so it scores whole queries: "
                "give podium.RankingData(X, y, qid), with any y"
            )
        features = data.features if data is not None else check_rows(rows)
        if data is not None:
            check_names(data.feature_names, self.feature_names)
            if self.normalize is not None:
                features = normalize(data, self.normalize).features
        outputs = self.model.scores(features, num_threads=resolve_threads(num_threads))
        if not np.isfinite(outputs).all():
            held = int(np.argwhere(~np.isfinite(outputs))[0][0])
            row = held if data is None or data.row_order is None else int(data.row_order[held])
            raise DataError(f"the score of row {row} is not finite; its features are too large for the model")
        scores = to_scores(outputs)
        return scores if data is None else data.to_caller_order(scores)


def check_rows(rows: Any) -> npt.NDArray[np.float32]:
    """Rows given as an array or frame, as float32; NaN is a missing value, infinity is refused."""
    features = as_features(rows)
    if np.isinf(features).any():
        row, column = (int(place) for place in np.argwhere(np.isinf(features))[0])
        raise DataError(
            f"feature {feature_name(column)!r} of row {row} is infinite, or too large for float32; use NaN for a missing value"
        )
    return features


def check_names(given: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """That named features are the ones trained on, in the same order."""
    if given is None or known is None or list(given) == list(known):
        return
    strange = [name for name in given if name not in set(known)]
    missing = [name for name in known if name not in set(given)]
    what = (
        f"unknown: {', '.join(strange[:5])}; missing: {', '.join(missing[:5])}"
        if strange or missing
        else "another order"
    )
    raise DataError(f"the features are not those the model was trained on ({what}); give the same in the same order")
