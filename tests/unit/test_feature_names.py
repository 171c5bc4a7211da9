"""A feature has one name everywhere, and every feature parameter takes names and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from podium import ParameterError, RankingData
from podium.data.feature_names import default_names, feature_index, feature_indices, feature_name

NAMES = ("price", "age", "3")


def test_a_feature_without_a_name_is_called_by_its_column() -> None:
    assert default_names(3) == ("f0", "f1", "f2")
    assert feature_name(38) == "f38"
    assert feature_name(1, NAMES) == "age"


@pytest.mark.parametrize(
    ("feature", "names", "column"),
    [
        ("age", NAMES, 1),
        (1, NAMES, 1),
        (np.int32(1), NAMES, 1),
        ("1", NAMES, 1),
        ("3", NAMES, 2),  # a name is preferred to a number
        ("f2", None, 2),
        (2, None, 2),
        ("2", None, 2),
    ],
)
def test_a_feature_by_name_or_number(feature: Any, names: Any, column: int) -> None:
    assert feature_index(feature, names, 3) == column


@pytest.mark.parametrize(
    ("feature", "names", "message"),
    [
        (
            "prize",
            NAMES,
            "^feature='prize' is not one of the 3 features; did you mean 'price'\\? Known: price, age, 3$",
        ),
        ("zzz", NAMES, "^feature='zzz' is not one of the 3 features; known: price, age, 3$"),
        ("f1", NAMES, "^feature='f1' is not one of the 3 features; known: price, age, 3$"),
        (
            "f3",
            None,
            "^feature='f3' is not one of the 3 features; the features have no names of their own: give f0 to f2",
        ),
        (3, None, "^feature=3 is not one of the 3 features; give a name, or a number from 0 to 2$"),
        ("7", NAMES, "^feature='7' is not one of the 3 features; give a name, or a number from 0 to 2$"),
        (-1, NAMES, "^feature=-1 is not one of the 3 features"),
        (10**30, None, "is not one of the 3 features"),
        ("²", None, "is not one of the 3 features"),
        (True, NAMES, "^feature=True must be a feature's name or number"),
        (1.0, NAMES, "^feature=1.0 must be a feature's name or number"),
        (None, NAMES, "^feature=None must be a feature's name or number"),
    ],
    ids=str,
)
def test_a_feature_that_is_not_there(feature: Any, names: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        feature_index(feature, names, 3)
    assert (raised.value.parameter, raised.value.value) == ("feature", feature)


def test_an_error_lists_few_of_many_names_and_names_its_parameter() -> None:
    with pytest.raises(ParameterError, match=r"^monotone='x' .*; known: n0, n1, .*n19, …$"):
        feature_index("x", [f"n{k}" for k in range(300)], 300, parameter="monotone")
    with pytest.raises(ParameterError, match="names a feature, but the data has none"):
        feature_index("x", None, 0)


def test_several_features() -> None:
    assert feature_indices(["age", 0], NAMES, 3) == [1, 0]
    with pytest.raises(ParameterError, match=r"categorical=\['age', 1\] names the feature 'age' twice"):
        feature_indices(["age", 1], NAMES, 3, parameter="categorical")
    with pytest.raises(ParameterError, match=r"must be a list of names or numbers; write \['age'\] for one"):
        feature_indices("age", NAMES, 3)


def test_what_letor_writes_as_39_is_f38_everywhere(tmp_path: Any) -> None:
    path = tmp_path / "data.txt"
    path.write_text("".join(f"{row % 2} qid:{row // 4} 39:{row % 2} 40:0\n" for row in range(40)))
    data = podium.read(path)
    assert "f39" in podium.data.describe(data).constant_features
    assert "f38" not in podium.data.describe(data).constant_features
    ranker = podium.MART(n_estimators=2, num_leaves=2, min_documents=2).fit(data)
    assert ranker.why(data, above=2, below=1, query=0).reasons[0].feature == "f38"
    assert podium.permutation_importance(ranker, data, repeats=1).features[38] == "f38"
    assert podium.to_frame(data).columns[2 + 38] == "f38"
    scaled = podium.data.normalize(data, "minmax", features=["f38"])
    np.testing.assert_array_equal(scaled.features, data.features)
    X = data.features.copy()
    X[3, 38] = np.inf
    with pytest.raises(podium.DataError, match="feature 'f38' of row 3 is infinite"):
        RankingData(X, data.labels, data.qid)
    with pytest.raises(podium.DataError, match="feature 'f38' of row 3 is infinite"):
        ranker.scorer_.scores(X)
