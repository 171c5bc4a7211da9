"""Hypothesis strategies for RankingData of every shape, and small data sets by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from podium import Pairs, RankingData
from podium.data import Strings
from podium.models import model as as_model
from podium.training import SCHEDULES

LARGEST = float(np.finfo(np.float32).max)
WORD = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
FEATURE = st.one_of(
    st.floats(-LARGEST, LARGEST, width=32), st.just(float("nan")), st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e-45])
)
LABEL = st.one_of(st.integers(0, 4).map(float), st.floats(-1e300, 1e300))
WEIGHT = st.floats(0, 1e300)


@st.composite
def ranking_data(draw: Any, *, words: bool = False, n_features: int | None = None, ids: bool = False) -> RankingData:
    """Data with any mix of parts, no pairs; `words`: ids without blanks; `ids`: always with document ids."""
    rows = draw(st.integers(1, 12))
    columns = draw(st.integers(0, 4)) if n_features is None else n_features
    text = WORD.map(lambda word: f"q{word}") if words else ANY_TEXT.map(lambda name: f"q{name}")
    pool = draw(
        st.one_of(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4), st.lists(text, min_size=1))
    )
    qid = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    documents = None
    if ids or draw(st.booleans()):
        documents = draw(st.lists(WORD if words else ANY_TEXT, min_size=rows, max_size=rows, unique=words))
    cells = draw(st.lists(FEATURE, min_size=rows * columns, max_size=rows * columns))
    names = draw(
        st.none() | st.lists(WORD.map(lambda name: f"x{name}"), min_size=columns, max_size=columns, unique=True)
    )
    return RankingData(
        np.array(cells, np.float32).reshape(rows, columns),
        draw(st.lists(LABEL, min_size=rows, max_size=rows)),
        qid,
        document_ids=documents,
        document_weights=draw(st.none() | st.lists(WEIGHT, min_size=rows, max_size=rows)),
        query_weights=draw(st.none() | st.fixed_dictionaries(dict.fromkeys(qid, WEIGHT))),
        feature_names=names if columns else None,
    )


def assert_same(a: RankingData, b: RankingData, *, apart_from: tuple[str, ...] = ()) -> None:
    """Every part equal, bit for bit, with the same type."""
    for name in set(RankingData.PARTS) - set(apart_from):
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            assert left.dtype.kind == right.dtype.kind, name
            assert left.shape == right.shape, name
            if left.dtype.kind == "f":
                missing = np.isnan(left)
                assert (missing == np.isnan(right)).all(), name
                left, right = left[~missing].tobytes(), right[~missing].tobytes()
                assert left == right, name
            else:
                assert left.tolist() == right.tolist(), name
        elif isinstance(left, Strings) and isinstance(right, Strings):
            assert list(left) == list(right), name
        else:
            assert left == right, name


def small(**parts: Any) -> RankingData:
    """Two queries of two and three documents; the rows of the second are not contiguous."""
    given: dict[str, Any] = {
        "X": np.arange(10, dtype=np.float32).reshape(5, 2),
        "y": [0, 1, 2, 0, 1],
        "qid": ["b", "a", "b", "a", "a"],
    }
    return RankingData(**(given | parts))


def with_everything() -> RankingData:
    """The small data with every optional part."""
    return small(
        document_ids=["d0", "d1", "d2", "d3", "d4"],
        document_weights=[1.0, 2.0, 3.0, 4.0, 5.0],
        query_weights={"a": 0.5, "b": 2.0},
        pairs=Pairs.of([2, 4, 1], [0, 1, 3], [1.0, 0.5, 0.75], [1.0, 2.0, 3.0]),
        feature_names=["length", "score"],
    )


def any_schedule(model: Any, **settings: Any) -> dict[str, Any]:
    """Sort settings into those of a schedule, which is made of them, and those of the ranker."""
    if "epochs" in settings and as_model(model).grows:
        settings["n_estimators"] = settings.pop("epochs")
    kind = SCHEDULES[settings.pop("optimizer", "boosting" if as_model(model).grows else "adam")]
    own = {name: settings.pop(name) for name in list(settings) if name in kind.parameters()}
    return {"schedule": kind(**own), **settings}
