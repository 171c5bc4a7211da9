"""Every ranker is a scikit-learn estimator, learns, and gives the same model for any threads and kind of input."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import podium
from podium.rankers import RANKERS, BaseRanker

Pairs = podium.Pairs
QUICK: dict[str, dict[str, Any]] = {
    "kernel-ranknet": {"epochs": 100, "landmarks": 50},
    "ranksvm": {"epochs": 100},
    "lambdamart": {"n_estimators": 20, "num_leaves": 6, "learning_rate": 0.3, "min_documents": 5, "row_sampling": 0.8},
    "mart": {"n_estimators": 20, "num_leaves": 6, "learning_rate": 0.3, "min_documents": 5, "row_sampling": 0.8},
    "rankboost": {"n_estimators": 40},
    "adarank": {"n_estimators": 40, "sharpness": 30.0},
    "prank": {"epochs": 5},
    "quadratic-prank": {"epochs": 5},
    "oap-bpm": {"epochs": 5},
    "structrank": {"epochs": 4, "starts": 1, "norm": 30.0, "step": "project", "metric": "ndcg@10"},
    "ranker of trees": {
        "model": "trees(num_leaves=6, min_documents=5, row_sampling=0.8)",
        "schedule": "boosting(rounds=20, rate=0.3)",
    },
    "ranker": {"schedule": "adam(epochs=5, rate=0.05)"},
}


def quick(name: str, **others: Any) -> Any:
    """Return a ranker of this name with settings that train quickly."""
    kind: Callable[..., BaseRanker] = podium.Ranker if name.startswith("ranker") else RANKERS[name]
    return kind(**(QUICK.get(name, {"epochs": 5, "learning_rate": 0.05}) | others))


EVERY = [*RANKERS, "ranker", "ranker of trees"]
ONLINE = ["prank", "quadratic-prank", "oap-bpm"]
TREES = ["lambdamart", "mart", "rankboost", "ranker of trees"]
TRAIN = podium.synthetic.network(queries=40, documents=15, features=8, hidden=3, seed=0)
TEST = podium.synthetic.network(queries=80, documents=15, features=8, hidden=3, seed=1, generator_seed=0)
X, Y, QID = TRAIN.features, TRAIN.labels, TRAIN.qid


def by_name(names=EVERY):
    return pytest.mark.parametrize("name", names)


def saved(ranker: Any, path: Path) -> bytes:
    ranker.save(path)
    return path.read_bytes()


def ndcg(scores: np.ndarray, data: podium.RankingData) -> float:
    return podium.evaluate(scores, data, "ndcg@10").mean["ndcg@10"]


# ---- scikit-learn

WEIGHTS_ELSEWHERE = {
    "check_sample_weight_equivalence_on_dense_data": "random starts, samples of rows and a mean over pairs see repeated rows"
}
NO_WEIGHTS = (podium.AdaRank, podium.ListNet, podium.ListMLE, podium.PRank, podium.QuadraticPRank, podium.OAPBPM)
MATCHED_BY_NAME = {
    "check_dataframe_column_names_consistency": "columns are matched by name, so that another order is not refused"
}
UNWEIGHTED = {
    f"check_{name}": "a force over lists or a perceptron refuses document weights"
    for name in (
        "sample_weights_pandas_series",
        "sample_weights_not_an_array",
        "sample_weights_list",
        "sample_weights_shape",
        "sample_weights_not_overwritten",
    )
}


@parametrize_with_checks(
    [
        podium.RankNet(epochs=2),
        podium.LambdaRank(epochs=2),
        podium.ListNet(epochs=2),
        podium.ListMLE(epochs=2),
        podium.KernelRankNet(epochs=5, landmarks=20),
        podium.RankSVM(epochs=20),
        podium.StructRank(epochs=2, starts=1, norm=10.0),
        podium.OrdinalRegression(epochs=2),
        podium.LambdaMART(n_estimators=3, min_documents=1),
        podium.MART(n_estimators=3, min_documents=1),
        podium.RankBoost(n_estimators=3),
        podium.AdaRank(n_estimators=3),
        podium.PRank(epochs=2),
        podium.QuadraticPRank(epochs=2),
        podium.OAPBPM(epochs=2, perceptrons=5),
        podium.RankProp(epochs=2, phase_epochs=1),
        podium.Ranker(schedule="adam(epochs=2)"),
        podium.Ranker(model="trees", schedule="boosting(rounds=2)"),
    ],
    expected_failed_checks=lambda ranker: (
        MATCHED_BY_NAME
        | ({} if isinstance(ranker, podium.RankSVM) else WEIGHTS_ELSEWHERE)
        | (UNWEIGHTED if isinstance(ranker, NO_WEIGHTS) else {})
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_checks_see_every_ranker():
    parametrized = test_scikit_learn_checks.pytestmark[-1].args[1]
    assert {type(case[0] if type(case) is tuple else case.values[0]) for case in parametrized} == {
        *RANKERS.values(),
        podium.Ranker,
    }


@by_name()
def test_parameters_are_got_set_and_cloned(name):
    ranker = quick(name, seed=3)
    parameters = ranker.get_params()
    assert parameters["seed"] == 3
    copied = clone(ranker.fit(TRAIN))
    assert copied.get_params() == parameters
    with pytest.raises(NotFittedError):
        copied.predict(TEST)
    assert ranker.set_params(seed=4, metric="map") is ranker
    assert ranker.get_params() == {**parameters, "seed": 4, "metric": "map"}
    with pytest.raises(ValueError, match="Invalid parameter 'sede'"):
        ranker.set_params(sede=4)
    with pytest.raises(TypeError, match="sede"):
        type(ranker)(sede=4)
    changed = {key for key, value in parameters.items() if value != type(ranker)().get_params()[key]}
    assert all(f"{key}=" in repr(clone(copied)) for key in changed)


@by_name()
def test_fitting_is_repeatable_and_depends_on_the_seed_only(name, tmp_path):
    first = saved(quick(name).fit(TRAIN), tmp_path / "a.podium")
    assert saved(quick(name).fit(TRAIN), tmp_path / "b.podium") == first
    ranker = quick(name)
    ranker.fit(TEST)
    assert saved(ranker.fit(TRAIN), tmp_path / "c.podium") == first  # nothing remains of the previous fit
    other = quick(name, seed=1).fit(TRAIN)
    same = np.array_equal(other.predict(TEST), ranker.predict(TEST))
    assert same == (name in ("ranksvm", "rankboost", "adarank"))  # which use no random numbers


@by_name()
def test_cross_validation_routes_query_ids_as_groups(name):
    ranker = quick(name, metric="ndcg@5")
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(ranker, X, Y, cv=GroupKFold(3), params={"groups": QID})
    expected = []
    for train, test in GroupKFold(3).split(X, Y, QID):
        assert not set(QID[train]) & set(QID[test])
        fitted = clone(ranker).fit(X[train], Y[train], qid=QID[train])
        part = podium.RankingData(X[test], Y[test], QID[test])
        expected.append(podium.evaluate(fitted.predict(X[test]), part, "ndcg@5").mean["ndcg@5"])
    np.testing.assert_array_equal(found, expected)


@by_name(["ranknet", "ranksvm", "ranker"])
def test_grid_search_routes_query_ids_as_groups(name):
    slow, fast = ("adam(epochs=5, rate=1e-9)", "adam(epochs=5, rate=0.05)") if name == "ranker" else (1e-9, 0.05)
    rate = "schedule" if name == "ranker" else "learning_rate"
    grid = {"C": [0.001, 1.0]} if name == "ranksvm" else {rate: [slow, fast], "seed": np.arange(2)}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(quick(name), grid, cv=GroupKFold(3)).fit(X, Y, groups=QID)
    values = search.cv_results_["mean_test_score"]
    assert len(values) == math.prod(map(len, grid.values()))
    assert search.best_score_ == max(values) > min(values)
    if name != "ranksvm":
        assert search.best_params_[rate] == fast
    best = clone(search.best_estimator_).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(search.predict(TEST.features), best.predict(TEST.features))


def test_a_metric_where_less_is_better_is_searched_the_right_way_round():
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"learning_rate": [1e-9, 0.05]}
        search = GridSearchCV(quick("ranknet", metric="pairwise_error"), grid, cv=GroupKFold(3)).fit(X, Y, groups=QID)
    assert search.best_params_ == {"learning_rate": 0.05}
    assert -0.5 < search.best_score_ < 0
    ranker = quick("ranknet", metric="pairwise_error").fit(TRAIN)
    assert ranker.score(TEST) == -podium.evaluate(ranker.predict(TEST), TEST, "pairwise_error").mean["pairwise_error"]


def test_pipelines():
    scaled = StandardScaler().fit_transform(X)
    expected = quick("ranknet").fit(scaled, Y, qid=QID).predict(StandardScaler().fit(X).transform(TEST.features))
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", quick("ranknet"))])
    np.testing.assert_array_equal(pipeline.fit(X, Y, rank__qid=QID).predict(TEST.features), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), quick("ranknet")).fit(X, Y, groups=QID)
        np.testing.assert_array_equal(routed.predict(TEST.features), expected)
        assert routed.score(TEST.features, TEST.labels, groups=TEST.qid) == pytest.approx(ndcg(expected, TEST))
        scores = cross_val_score(routed, X, Y, cv=GroupKFold(2), params={"groups": QID})
        assert (scores > 0.7).all()


def test_without_query_ids_all_rows_are_one_query_with_a_warning():
    with pytest.warns(UserWarning, match="qid is missing, so that all rows count as one query"):
        alone = quick("ranknet").fit(X, Y)
    whole = quick("ranknet").fit(X, Y, qid=np.zeros(len(X), int))
    np.testing.assert_array_equal(alone.predict(X), whole.predict(X))
    with pytest.raises(
        podium.ParameterError, match="qid is part of a RankingData, as the labels are; leave out y and qid"
    ):
        quick("ranknet").fit(TRAIN, Y)
    with pytest.raises(podium.DataError, match=r"599"):
        quick("ranknet").fit(X, Y, qid=QID[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="qid is missing"):
            cross_val_score(quick("ranknet"), X, Y, cv=KFold(2), error_score="raise")


@by_name()
def test_pickled_rankers_give_the_same_scores(name):
    ranker = quick(name).fit(TRAIN, valid=TEST)
    again = pickle.loads(pickle.dumps(ranker))
    assert again.predict(TEST).tobytes() == ranker.predict(TEST).tobytes()
    assert again.log_ == ranker.log_
    assert pickle.loads(pickle.dumps(quick(name))).get_params() == quick(name).get_params()


# ---- frames and names

NAMES = [f"x{k}" for k in range(8)]


def frames(features: np.ndarray, names=NAMES) -> list[Any]:
    return [pd.DataFrame(features, columns=names), pl.DataFrame(dict(zip(names, features.T, strict=True)))]


@by_name()
def test_frames_keep_their_names_and_are_checked(name, tmp_path):
    plain = quick(name).fit(X, Y, qid=QID)
    assert plain.feature_names_ is None
    turned = NAMES[::-1]
    for k, frame in enumerate(frames(X)):
        ranker = quick(name).fit(frame, Y, qid=QID)
        assert ranker.feature_names_ == tuple(NAMES)
        assert ranker.feature_names_in_.tolist() == NAMES
        ranker.save(tmp_path / "a.podium")
        from_data = quick(name).fit(podium.RankingData(frame, Y, QID))
        for asked in (ranker, podium.load(tmp_path / "a.podium"), from_data):
            for given in (
                frames(TEST.features)[k],
                podium.RankingData(frames(TEST.features)[k], TEST.labels, TEST.qid),
            ):
                np.testing.assert_array_equal(asked.predict(given), plain.predict(TEST.features))
            other = frames(TEST.features, [*NAMES[:-1], "y"])[k]
            backwards = frames(TEST.features[:, ::-1], turned)[k]
            for given in (lambda frame: frame, lambda frame: podium.RankingData(frame, TEST.labels, TEST.qid)):
                with pytest.raises(podium.DataError, match=r"has no feature .*, which the model was trained on"):
                    asked.predict(given(other))
                np.testing.assert_array_equal(asked.predict(given(backwards)), plain.predict(TEST.features))
            with pytest.warns(UserWarning, match="does not have valid feature names"):
                asked.predict(TEST.features)


def test_missing_values_of_frames_are_missing():
    holes = X.copy()
    holes[::7, 2] = np.nan
    nullable = pd.DataFrame(holes, columns=NAMES).astype("Float64")
    assert nullable.isna().sum().sum() == len(holes[::7])
    expected = quick("listnet").fit(holes, Y, qid=QID).predict(holes)
    ranker = quick("listnet").fit(nullable, Y, qid=QID)
    np.testing.assert_array_equal(ranker.predict(nullable), expected)
    assert np.isfinite(expected).all()


@by_name()
def test_rows_of_another_shape_or_too_large_are_refused(name):
    ranker = quick(name).fit(TRAIN)
    with pytest.raises(ValueError, match="7 features"):
        ranker.predict(TEST.features[:, :7])
    with pytest.raises(podium.DataError, match="7 features"):
        ranker.predict(podium.RankingData(TEST.features[:, :7], TEST.labels, TEST.qid))
    big = TEST.features.astype(np.float64)
    big[3, 2] = 1e300
    with pytest.raises(podium.DataError, match=r"feature 'f2' of row 3 is infinite, or too large"):
        ranker.predict(big)
    with pytest.raises(ValueError, match="infinity or a value too large"):
        quick(name).fit(big, TEST.labels, qid=TEST.qid)


# ---- input and output


@by_name()
def test_arrays_and_ranking_data_are_one_way_in(name, tmp_path):
    valid = (TEST.features, TEST.labels, TEST.qid)
    arrays = saved(quick(name).fit(X, Y, qid=QID, valid=valid), tmp_path / "a.podium")
    assert saved(quick(name).fit(TRAIN, valid=TEST), tmp_path / "b.podium") == arrays
    text = [f"{value}" for value in QID]  # ids of another kind with the same text
    assert saved(quick(name).fit(X.tolist(), Y.tolist(), qid=text, valid=valid), tmp_path / "c.podium") == arrays
    # The rows of a query are not contiguous, but keep their order.
    place = np.arange(len(X)) - np.repeat(TRAIN.query_offsets[:-1], TRAIN.query_sizes)
    mixed = np.argsort(place, kind="stable")
    found = quick(name).fit(X[mixed], Y[mixed], qid=QID[mixed], valid=valid)
    assert saved(found, tmp_path / "d.podium") == arrays


@by_name()
def test_scores_come_back_in_the_callers_order(name):
    ranker = quick(name).fit(TRAIN)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(TEST))
    plain = ranker.predict(TEST.features)
    np.testing.assert_array_equal(ranker.predict(TEST.features[order]), plain[order])
    mixed = podium.RankingData(TEST.features[order], TEST.labels[order], TEST.qid[order])
    np.testing.assert_array_equal(ranker.predict(mixed), plain[order])
    assert ranker.score(mixed) == pytest.approx(ranker.score(TEST), rel=1e-12)
    assert ranker.score(TEST.features, TEST.labels, qid=TEST.qid) == ranker.score(TEST)
    assert ranker.score(TEST) == ndcg(plain, TEST)


def test_ranks_count_from_one_inside_each_query():
    ranker = quick("ranknet").fit(TRAIN)
    rng = np.random.default_rng(1)
    order = rng.permutation(300)
    features, qid = TEST.features[order].copy(), TEST.qid[order]
    features[5] = features[int(np.flatnonzero(qid == qid[5])[-1])]  # two equal documents in one query
    scores = ranker.predict(features)
    expected = [
        1 + sum(qid[j] == qid[i] and (scores[j] > scores[i] or (scores[j] == scores[i] and j < i)) for j in range(300))
        for i in range(300)
    ]
    for found in (
        ranker.rank(features, qid=qid),
        ranker.rank(podium.RankingData(features, np.zeros(300), qid)),
        ranker.rank(pd.DataFrame(features).to_numpy(), qid=[str(value) for value in qid]),
    ):
        assert found.tolist() == expected
        assert found.dtype == np.int64


@by_name()
def test_the_model_is_the_same_bytes_for_any_number_of_threads(name, tmp_path):
    data = podium.synthetic.network(queries=30, documents=50, features=80, hidden=3, seed=2)
    wide = {"hidden": (32,)} if name in ("ranknet", "lambdarank", "listmle") else {}
    files = [
        saved(quick(name, num_threads=threads, **wide).fit(data, valid=TEST_WIDE), tmp_path / "a.podium")
        for threads in (1, 2, 5)
    ]
    assert files[0] == files[1] == files[2]
    ranker = podium.load(tmp_path / "a.podium")
    scores = [ranker.set_params(num_threads=threads).predict(data).tobytes() for threads in (1, 2, 5)]
    assert scores[0] == scores[1] == scores[2]


TEST_WIDE = podium.synthetic.network(queries=30, documents=50, features=80, hidden=3, seed=3, generator_seed=2)


# ---- learning


@by_name()
def test_rankers_learn(name):
    train = podium.synthetic.network(queries=60, documents=20, features=10, hidden=3, seed=0)
    test = podium.synthetic.network(queries=100, documents=20, features=10, hidden=3, seed=1, generator_seed=0)
    single = max(ndcg(sign * test.features[:, j], test) for j in range(10) for sign in (1, -1))
    longer: dict[str, Any] = {"epochs": 30, "learning_rate": 0.01}
    local = [*TREES, "structrank", "adarank"]  # trees, neighbors and single features fit a linear function slowly
    others = {} if name in ("ranksvm", *local) else {"landmarks": 200} if name == "kernel-ranknet" else longer
    others = (
        {"epochs": 30} if name in ONLINE else {"schedule": "adam(epochs=30, rate=0.01)"} if name == "ranker" else others
    )
    found = ndcg(quick(name, **others).fit(train).predict(test), test)
    assert found > single + 0.2 if name not in local else found > single + 0.05
    assert found > (0.98 if name not in local else 0.85)


@by_name()
def test_the_effect_of_tied_validation_scores_is_that_of_evaluate(name):
    """Every validation document stands twice, with another label, so that each score is tied."""
    rows = np.arange(60).repeat(2)
    labels = TEST.labels[rows] + np.tile([0.0, 1.0], 60)
    valid = podium.RankingData(TEST.features[rows], labels, TEST.qid[rows])
    ranker = quick(name, metric="ndcg@10").fit(TRAIN, valid=valid)
    found = podium.evaluate(ranker.predict(valid), valid, "ndcg@10").ties["ndcg@10"]
    assert (found.n_affected, found.n_queries) == (4, 4)
    assert ranker.ties_ == found
    assert quick(name).fit(TRAIN).ties_ is None


def test_nets_and_kernels_learn_what_a_line_cannot():
    train = podium.synthetic.polynomial(queries=60, documents=20, features=4, seed=0)
    test = podium.synthetic.polynomial(queries=100, documents=20, features=4, seed=1, generator_seed=0)
    line = ndcg(podium.RankNet(hidden=(), epochs=30, learning_rate=0.02).fit(train).predict(test), test)
    net = ndcg(podium.RankNet(hidden=(16,), epochs=60, learning_rate=0.02).fit(train).predict(test), test)
    kernel = ndcg(podium.KernelRankNet(landmarks=150).fit(train).predict(test), test)
    svm = ndcg(podium.RankSVM(kernel="poly", degree=3, landmarks=150, C=10.0).fit(train).predict(test), test)
    assert min(net, kernel, svm) > line + 0.03


def test_thresholds_cut_the_scores_into_levels():
    ranker = podium.OrdinalRegression(epochs=60, learning_rate=0.05).fit(TRAIN)
    assert (np.diff(ranker.thresholds_) > 0).all()
    assert len(ranker.thresholds_) == 5
    scores, levels = ranker.predict(TEST), ranker.predict_level(TEST)
    below = 1 / (1 + np.exp(scores[:, None] - ranker.thresholds_))  # P(l ≤ k)
    chances = np.diff(np.column_stack([np.zeros(len(scores)), below, np.ones(len(scores))]), axis=1)
    np.testing.assert_array_equal(levels, chances.argmax(axis=1))
    assert (np.diff(levels[np.argsort(scores)]) >= 0).all()
    assert np.abs(levels - TEST.labels).mean() < 0.5 < np.abs(np.median(TEST.labels) - TEST.labels).mean()
    with pytest.raises(NotFittedError):
        podium.OrdinalRegression().predict_level(TEST)


# ---- preferences given pair by pair


def one_hot(n: int, pairs: Pairs, **parts: Any) -> podium.RankingData:
    """Return documents that a linear model can score in any way."""
    return podium.RankingData(np.eye(n), np.zeros(n), np.zeros(n, int), pairs=pairs, **parts)


def exact(**others: Any) -> podium.RankNet:
    settings = {"hidden": (), "standardize": False, "optimizer": "lbfgs", "tolerance": 1e-9, "metric": "p@1"}
    return podium.RankNet(**(settings | others))


@pytest.mark.parametrize("hidden", [(), (6,)])
@pytest.mark.parametrize("n", [3, 5])
def test_a_cycle_of_preferences_gives_near_equal_scores(n, hidden):
    cycle = Pairs.of(np.arange(n), (np.arange(n) + 1) % n)
    settings: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.02, "epochs": 400, "metric": "p@1"}
    data = one_hot(n, cycle)
    scores = podium.RankNet(hidden=hidden, **settings).fit(data).predict(data)
    assert np.ptp(scores) < 0.02
    line = one_hot(n, Pairs.of(np.arange(n - 1), np.arange(1, n)))
    assert np.ptp(podium.RankNet(hidden=hidden, **settings).fit(line).predict(line)) > 1  # so the cycle held it back


@pytest.mark.parametrize("n", [3, 6])
def test_a_cycle_has_its_optimum_at_equal_scores(n):
    data = one_hot(n, Pairs.of(np.arange(n), (np.arange(n) + 1) % n, 0.9))
    skewed = one_hot(n, Pairs.of(np.arange(n), (np.arange(n) + 1) % n, [0.9] * (n - 1) + [0.6]))
    assert np.ptp(exact().fit(data).predict(data)) < 1e-6
    assert np.ptp(exact().fit(skewed).predict(skewed)) > 0.1


@pytest.mark.parametrize(
    "pairs",
    [
        Pairs.of([0, 1], [1, 0]),
        Pairs.of([0], [1], 0.5),
        Pairs.of([0, 1], [1, 0], 0.5),
        Pairs.of([0, 0], [1, 1], [0.8, 0.2]),
    ],
)
def test_contradictory_preferences_give_equal_scores(pairs):
    data = one_hot(2, pairs)
    scores = exact().fit(data).predict(data)
    assert abs(scores[0] - scores[1]) < 1e-7


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("probability", [0.7, 0.95, 0.2, 0.5])
def test_a_soft_target_is_met_by_the_gap_of_the_scores(probability, sigma):
    data = one_hot(2, Pairs.of([0], [1], probability))
    scores = exact(sigma=sigma).fit(data).predict(data)
    np.testing.assert_allclose(scores[0] - scores[1], math.log(probability / (1 - probability)) / sigma, atol=1e-6)


def test_log_odds_add_along_a_chain_and_weights_vote():
    chain = one_hot(4, Pairs.of([0, 1, 2], [1, 2, 3], [0.7, 0.6, 0.9]))
    scores = exact().fit(chain).predict(chain)
    expected = [math.log(p / (1 - p)) for p in (0.7, 0.6, 0.9)]
    np.testing.assert_allclose(-np.diff(scores), expected, atol=1e-5)
    votes = one_hot(2, Pairs.of([0, 1], [1, 0], 1.0, [3.0, 1.0]))  # three against one
    scores = exact().fit(votes).predict(votes)
    np.testing.assert_allclose(scores[0] - scores[1], math.log(3), atol=1e-6)


def test_pairs_take_the_place_of_labels():
    upside_down = podium.RankingData(np.eye(2), [1.0, 0.0], [0, 0], pairs=Pairs.of([1], [0]))
    for name in ("ranknet", "ranksvm"):
        scores = quick(name, standardize=False).fit(upside_down).predict(upside_down)
        assert scores[1] > scores[0]


def test_pairs_across_queries_are_refused():
    for pairs in (Pairs.of([0], [3]), Pairs.of([0, 2], [1, 1])):
        with pytest.raises(
            podium.DataError, match="joins documents of two queries; both documents of a pair must belong"
        ):
            podium.RankingData(np.eye(4), np.zeros(4), [0, 0, 1, 1], pairs=pairs)
    with pytest.raises(podium.DataError, match=r"probability\[0\] = 1.5 must lie in \[0, 1\]"):
        Pairs.of([0], [1], 1.5)


# ---- RankSVM against a solver that lists the pairs


def differences(data: podium.RankingData, inputs: np.ndarray, query_norm: bool) -> tuple[np.ndarray, np.ndarray]:
    """(inputs of the winner minus those of the loser, weight in the mean) of every pair, listed."""
    if data.pairs is not None:
        winner, loser, weight = data.pairs.winner, data.pairs.loser, data.pairs.weight
        share, other = data.pairs.probability, 1 - data.pairs.probability
        weight = np.concatenate([weight * share, weight * other])
        winner, loser = np.concatenate([winner, loser]), np.concatenate([loser, winner])
    else:
        same = data.document_queries[:, None] == data.document_queries
        winner, loser = np.nonzero(same & (data.labels[:, None] > data.labels))
        weight = np.ones(len(winner))
    if query_norm:
        weight = weight / np.bincount(data.document_queries[winner], weight)[data.document_queries[winner]]
    weight = weight / weight.sum()
    return (inputs[winner] - inputs[loser])[weight > 0], weight[weight > 0]


def brute_force(rows: np.ndarray, weight: np.ndarray, C: float, loss: str) -> tuple[np.ndarray, float]:
    """(w, objective) of scikit-learn's LinearSVC, which wants two classes: every other pair is turned round."""
    sign = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    solver = LinearSVC(loss=loss, dual=True, fit_intercept=False, C=C, tol=1e-9, max_iter=1_000_000, random_state=0)
    w = solver.fit(rows * sign[:, None], sign, sample_weight=weight).coef_[0]
    return w, objective(w, rows, weight, C, loss)


def objective(w: np.ndarray, rows: np.ndarray, weight: np.ndarray, C: float, loss: str) -> float:
    slack = np.maximum(0, 1 - rows @ w)
    return float(0.5 * w @ w + C * (weight * (slack if loss == "hinge" else slack**2)).sum())


def assert_solved(data: podium.RankingData, loss: str, query_norm: bool, C: float, **others: Any) -> None:
    ranker = podium.RankSVM(C=C, loss=loss, query_norm=query_norm, **others).fit(data)
    model, found = ranker.model_, ranker.certificate_
    rows, weight = differences(data, model.map(data.features), query_norm)
    own = objective(model.vector[:-1], rows, weight, C, loss)
    np.testing.assert_allclose(found["objective"], own, rtol=1e-9)
    _, least = brute_force(rows, weight, C, loss)
    assert found["objective"] <= least * (1 + 1e-4)
    assert found["objective"] - found["gap"] <= least * (1 + 1e-9)  # the bound lies below every point
    assert found["gap"] <= 1e-4 * found["objective"]
    assert found["verdict"] == "converged"
    assert ranker.C_ == C


def sample(seed: int) -> podium.RankingData:
    return podium.synthetic.polynomial(queries=8, documents=9, features=6, seed=seed)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("query_norm", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 100.0])
def test_ranksvm_is_as_good_as_a_solver_that_lists_the_pairs(loss, query_norm, C):
    assert_solved(sample(0), loss, query_norm, C)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("query_norm", [True, False])
def test_ranksvm_on_ohsumed(loss, query_norm, data_dir):
    train, _, _ = podium.read_folds(data_dir / "ohsumed/QueryLevelNorm/Fold1")
    kept = np.zeros(len(train), bool)
    kept[:: 1 + len(train) // 400] = True
    few = train.select(np.arange(12)).select_documents(kept[: train.query_offsets[12]])
    assert_solved(few, loss, query_norm, 30.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("query_norm", [True, False])
def test_ranksvm_with_pairs_given(loss, query_norm):
    data = sample(1)
    rng = np.random.default_rng(2)
    first = rng.integers(0, 9, 60) + 9 * rng.integers(0, 8, 60)
    second = first // 9 * 9 + (first % 9 + rng.integers(1, 9, 60)) % 9
    pairs = Pairs.of(first, second, rng.choice([1.0, 0.7, 0.5, 0.0], 60), rng.random(60) + 0.1)
    assert_solved(data.replace(pairs=pairs), loss, query_norm, 30.0)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_ranksvm_with_a_kernel_and_every_landmark_is_exact(kernel):
    """With every document a landmark, against the listed pairs in the kernel's own space."""
    data = sample(3)
    ranker = podium.RankSVM(C=100.0, kernel=kernel, width=2.0, degree=2, query_norm=False, tolerance=1e-6).fit(data)
    x = ranker.model_.map(data.features)
    squared = ((x[:, None] - x) ** 2).sum(axis=2)
    matrix = np.exp(-squared / 8) if kernel == "rbf" else (x @ x.T / 4 + 1) ** 2
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-9 * values[-1]
    inputs = vectors[:, kept] * np.sqrt(values[kept])  # φ with φ(a)·φ(b) = k(a, b)
    rows, weight = differences(data, inputs, query_norm=False)
    w, least = brute_force(rows, weight, 100.0, "hinge")
    assert ranker.certificate_["objective"] == pytest.approx(least, rel=1e-4)
    np.testing.assert_allclose(np.diff(ranker.predict(data)), np.diff(inputs @ w), atol=0.05)


@pytest.mark.parametrize("tolerance", [0.3, 0.03, 1e-3, 1e-8])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_bounds_the_distance_to_the_optimum_at_every_tolerance(tolerance, loss):
    data = sample(4)
    rough = podium.RankSVM(loss=loss, tolerance=tolerance).fit(data)
    fine = podium.RankSVM(loss=loss, tolerance=1e-10, epochs=5000).fit(data).certificate_
    found = rough.certificate_
    assert 0 <= found["objective"] - fine["objective"] + 1e-12 <= found["gap"] + 1e-12
    assert found["gap"] <= tolerance * found["objective"]
    with pytest.warns(ConvergenceWarning, match="the solver stopped after 2 epochs"):
        cut = podium.RankSVM(loss=loss, epochs=2, tolerance=1e-12).fit(data).certificate_
    assert cut["verdict"] == "going"
    assert cut["objective"] - fine["objective"] <= cut["gap"]


@pytest.mark.filterwarnings("ignore:nothing is ranked")  # C = 1e-6 moves nothing
def test_ranksvm_chooses_c_on_validation_data():
    grid = (1e-6, 1e-2, 1.0)
    several = podium.RankSVM(C=grid, metric="map").fit(TRAIN, valid=TEST)
    alone = {C: podium.RankSVM(C=C, metric="map").fit(TRAIN) for C in grid}
    values = {C: ranker.score(TEST) for C, ranker in alone.items()}
    assert max(values, key=lambda C: values[C]) == several.C_
    assert several.best_value_ == max(values.values())
    np.testing.assert_array_equal(several.predict(TEST), alone[several.C_].predict(TEST))
    for others, message in (
        ({}, "several values, which need validation data"),
        ({"checkpoint": "c"}, "need validation data"),
    ):
        with pytest.raises(podium.ParameterError, match=message):
            podium.RankSVM(C=grid).fit(TRAIN, **others)
    with pytest.raises(podium.ParameterError, match="cannot share a checkpoint"):
        podium.RankSVM(C=grid).fit(TRAIN, valid=TEST, checkpoint="c")
