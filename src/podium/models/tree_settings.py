"""The settings of boosted trees, and how their defaults follow from the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from podium.data import RankingData
from podium.data.feature_names import feature_index, feature_name
from podium.errors import ParameterError, is_integer, short_list
from podium.models.model import Spec, WeakRankerForm
from podium.models.tree_defaults import BY_SIZE, Budget, tree_defaults
from podium.models.trees import TreeModel
from podium.parameters import Search, Settings, setting
from podium.rules import Choice, Custom, Flag, Integer, Real, parse_list, parse_mapping

if TYPE_CHECKING:
    from podium.models.weak_rankers import StumpRankers

FEATURE_EXAMPLE = "numbered from 0 or by name"


def _feature(given: Any) -> int | str:
    if isinstance(given, str) and given:
        return given
    if not is_integer(given) or given < 0:
        raise ValueError
    return int(given)


def _sorted(features: Any) -> Any:
    return tuple(sorted(features, key=lambda feature: (isinstance(feature, str), feature)))


def _features(given: Any) -> tuple[int | str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray | set | frozenset):
        raise TypeError
    return tuple(_sorted({_feature(feature) for feature in given}))


def _directions(given: Any) -> tuple[tuple[int | str, int], ...]:
    pairs = list(given.items()) if isinstance(given, Mapping) else [] if given is None else list(given)
    directions = {_feature(feature): sign for feature, sign in pairs}
    if len(directions) < len(pairs) or not all(is_integer(sign) and abs(sign) == 1 for sign in directions.values()):
        raise ValueError
    return tuple((feature, int(directions[feature])) for feature in _sorted(directions))


def _refuse_monotone_category(feature: int | str) -> NoReturn:
    raise ParameterError(
        "monotone", feature, "is a categorical feature, which has no order", "leave it out of monotone"
    )


@dataclass(kw_only=True, eq=False, repr=False)
class TreeSettings(Settings):
    """How trees are grown."""

    num_leaves: int | None = setting(
        None,
        Integer(2, 32768),
        "Maximum number of leaves per tree.",
        none=BY_SIZE,
        search=Search(4, 128, log=True),
        option=True,
        core=True,
    )
    max_depth: int | None = setting(None, Integer(1, 2**31 - 1), "Maximum depth of a tree.", none="no limit", core=True)
    growth: str | None = setting(
        None,
        Choice("leaf", "depth", "symmetric"),
        "Which leaf is split next: 'leaf' takes the one with the largest gain, 'depth' grows level by level, and 'symmetric' splits "
        "all leaves of a level by the same threshold.",
        none="symmetric, or leaf if num_leaves is given or a feature is monotone or categorical",
        core=True,
    )
    l1: float = setting(
        0.0, Real(least=0), "L1 penalty: the sum of forces in a leaf is moved towards 0 by this much.", core=True
    )
    l2: float | None = setting(
        None,
        Real(least=0),
        "L2 penalty: the value of a leaf is Σ force / (Σ curvature + l2).",
        none="3, times the mean weight if documents, queries or pairs have weights",
        search=Search(1e-3, 100.0, log=True),
        option=True,
        core=True,
    )
    min_documents: int | None = setting(
        None,
        Integer(1, 2**31 - 1),
        "Minimum number of documents per leaf, of those from which the tree is grown.",
        none="one for every 150 documents of the data, from 1 to 20",
        search=Search(1, 200, log=True),
        suspect=True,
        core=True,
    )
    min_curvature: float = setting(1e-3, Real(above=0), "Minimum sum of curvatures per leaf.", core=True)
    min_gain: float = setting(0.0, Real(least=0), "Minimum gain of a split.", core=True)
    max_bins: int = setting(
        255, Integer(2, 255), "Maximum number of bins per feature, not counting the one for missing values."
    )
    row_sampling: float | None = setting(
        None,
        Real(above=0, most=1),
        "Share of the documents from which a tree is grown.",
        none=BY_SIZE,
        search=Search(0.1, 1.0),
        core=True,
    )
    sampling: str = setting(
        "force",
        Choice("force", "uniform"),
        "How documents are sampled: 'force' prefers documents with strong forces, and weights them so that no sum is biased; "
        "'uniform' takes all with the same probability.",
        core=True,
    )
    query_sampling: float | None = setting(
        None,
        Real(above=0, most=1),
        "Share of the queries from which a tree is grown.",
        none=BY_SIZE,
        search=Search(0.2, 1.0),
        core=True,
    )
    column_sampling: float | None = setting(
        None,
        Real(above=0, most=1),
        "Share of the features from which a tree is grown.",
        none=BY_SIZE,
        search=Search(0.2, 1.0),
        core=True,
    )
    random_strength: float = setting(
        0.0,
        Real(least=0),
        "Strength of noise on gains: when splits are compared, the gain of every feature is multiplied by e^(strength·z), z standard normal.",
        core=True,
    )
    random_thresholds: bool = setting(
        False,
        Flag(),
        "Whether a node considers a single random threshold per feature instead of all.",
        core=True,
    )
    forests: int | None = setting(
        None,
        Integer(1, 1000),
        "Number of forests that are grown side by side from different random samples and averaged. Every round grows one tree "
        "in each.",
        none=BY_SIZE,
    )
    monotone: Any = setting(
        (),
        Custom(
            _directions,
            "must give features, numbered from 0 or by name, and +1 or -1, as in {3: 1, 'price': -1}",
            parse_mapping,
            "FEATURE:SIGN,…",
        ),
        "Features mapped to +1 or -1, as in {'price': -1}: as the feature rises, the score never falls (+1) or never rises (-1).",
        core=True,
    )
    categorical: Any = setting(
        None,
        Custom(
            _features,
            "must be a list of features, numbered from 0 or by name, as in [3, 'brand']",
            parse_list,
            "FEATURE,…",
        ),
        "Features whose values are categories without an order; an empty list compares all codes as numbers. If there are more than "
        "`max_bins` categories, the rarest count as missing.",
        none="the categorical features of the data",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class TreesSpec(TreeSettings, Spec):
    """Boosted regression trees."""

    name = "trees"
    summary = "Boosted regression trees: trees, trees(num_leaves=31, l2=1)."
    formula = "s = Σ_t tree_t(x), a leaf gives rate · Σλ / (Σw + l2)"
    model = TreeModel
    grows = True

    def check_together(self) -> None:
        """Symmetric trees take neither monotone nor categorical features, and no feature can be both."""
        if self.growth == "symmetric" and (self.monotone or self.categorical):
            raise ParameterError(
                "growth",
                self.growth,
                "takes no monotone and no categorical features",
                "use {growth='leaf'} or {growth='depth'}",
            )
        both = {feature for feature, _ in self.monotone} & set(self.categorical or ())
        if both:
            _refuse_monotone_category(_sorted(both)[0])

    def resolve(self, data: RankingData, budget: Budget | None = None) -> Self:
        """Choose what is None from the data and the effort, and turn names of features into numbers."""
        growth = self.growth or self._choose_growth(data)
        chosen = {"growth": growth, **tree_defaults(budget or Budget.of(data), growth)}
        own = self.parameters()
        given = {name: value for name, value in chosen.items() if name in own and getattr(self, name) is None}

        def column(feature: int | str, parameter: str) -> int:
            return feature_index(feature, data.feature_names, data.n_features, parameter=parameter)

        given["monotone"] = tuple((column(feature, "monotone"), sign) for feature, sign in self.monotone)
        given["categorical"] = tuple(column(feature, "categorical") for feature in self._categorical_features(data))
        for feature, _ in given["monotone"]:
            if feature in given["categorical"]:
                _refuse_monotone_category(feature_name(feature, data.feature_names))
        if self.forests is None and not replace(self, **given).is_random:
            given["forests"] = 1
        return replace(self, **given)

    def _choose_growth(self, data: RankingData) -> str:
        categorical = data.categorical_features if self.categorical is None else self.categorical
        return "leaf" if self.num_leaves is not None or self.monotone or categorical else "symmetric"

    def _categorical_features(self, data: RankingData) -> Sequence[int | str]:
        """Return the features to split by category: those that were given, or else the categorical ones of the data."""
        if self.categorical is not None:
            return tuple(self.categorical)
        found = tuple(data.categorical_features or ())
        if found and self.growth == "symmetric":
            names = short_list([feature_name(feature, data.feature_names) for feature in found])
            raise ParameterError(
                "growth",
                self.growth,
                f"takes no categorical features, and the data has {names}",
                "use {growth='leaf'} or {growth='depth'}, or {categorical=()} to compare the codes of categories as numbers",
            )
        return found

    @property
    def is_stumps(self) -> bool:
        """Whether trees have two leaves."""
        return self.num_leaves == 2

    @property
    def weak_rankers(self) -> WeakRankerForm | None:
        """Threshold stumps, if trees have two leaves and no feature is to be split by category."""
        if not self.is_stumps or self.categorical:
            return None
        from podium.models.weak_rankers import stump_rankers

        def make(data: RankingData, num_threads: int) -> StumpRankers:
            return stump_rankers(data, self.max_bins, num_threads)

        return WeakRankerForm(make, frozenset({"num_leaves", "max_bins", "categorical"}))

    @property
    def is_random(self) -> bool:
        """Whether trees draw rows, queries, columns or splits; without that, forests side by side would hardly differ."""
        shares = (self.row_sampling, self.query_sampling, self.column_sampling)
        return self.random_thresholds or self.random_strength > 0 or any(share != 1 for share in shares)
