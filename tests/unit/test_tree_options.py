"""Options of trees: monotone features, DART, class weights, continued training, limits, metrics, early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_trees import PLAIN

import podium
from podium.cli.epochs import EpochTable
from podium.rankers.class_weights import weighted
from podium.training.best_round import best_round, first_choice
from podium.training.schedules.boosting_run import BoostingRun

TRAIN = podium.synthetic.network(queries=40, documents=15, features=8, hidden=3, seed=0)
VALID = podium.synthetic.network(queries=40, documents=15, features=8, hidden=3, seed=1, generator_seed=0)
QUICK: dict[str, Any] = PLAIN | {"n_estimators": 20, "num_leaves": 8, "learning_rate": 0.3, "num_threads": 1}


def lambdamart(**others: Any) -> podium.LambdaMART:
    return podium.LambdaMART(**{"noise": 0} | QUICK | others)


def ndcg(scores: np.ndarray, data: podium.RankingData) -> float:
    return podium.evaluate(scores, data, "ndcg@10").mean["ndcg@10"]


# ---- monotone


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.dictionaries(st.integers(0, 3), st.sampled_from([1, -1]), min_size=1, max_size=3),
    st.sampled_from([{}, {"growth": "depth"}, {"row_sampling": 0.5}, {"dart": 0.3}, {"l1": 0.2}, {"min_documents": 9}]),
    st.sampled_from(["lambdamart", "mart"]),
)
def test_scores_never_turn_against_a_direction(seed, monotone, others, kind):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, 4)), 1).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = rng.integers(0, 4, 200).astype(float)  # noise, against which directions are hard to keep
    data = podium.RankingData(X, labels, np.repeat(np.arange(10), 20))
    make = podium.LambdaMART if kind == "lambdamart" else podium.MART
    ranker = make(monotone=monotone, **QUICK | {"n_estimators": 6, "num_leaves": 16} | others).fit(data)
    for feature, sign in monotone.items():
        rows = np.repeat(X[:25], 60, axis=0)
        rows[:, feature] = np.tile(np.linspace(-4, 4, 60), 25)
        along = ranker.predict(rows).reshape(25, 60)
        assert (sign * np.diff(along, axis=1) >= -1e-12).all()


def test_a_direction_costs_nothing_where_the_data_agrees_and_holds_where_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1)).astype(np.float32)
    data = podium.RankingData(X, np.floor(4 * X[:, 0]), np.repeat(np.arange(20), 20))
    plain, along = (lambdamart(monotone=m).fit(data).predict(data) for m in ({}, {0: 1}))
    with pytest.warns(UserWarning, match="nothing is ranked"):
        against = lambdamart(monotone={0: -1}).fit(data).predict(data)
    assert ndcg(along, data) == pytest.approx(ndcg(plain, data), abs=1e-6)
    assert np.ptp(plain) > 1
    assert np.ptp(against) < 1e-9


# ---- DART


def test_dart_scales_trees_by_its_formula():
    """Round by round: trees left out are scaled by k/(k + rate), the new one, which holds the rate, by 1/(k + rate)."""
    seen: list[np.ndarray] = []
    drop = podium.training.schedules.boosting.BoostingRun._dropped
    dropped: dict[int, list[int]] = {}

    def watched(self: Any, number: int) -> list[int]:
        dropped[number] = drop(self, number)
        seen.append(np.array(self.growing.weights))
        return dropped[number]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(podium.training.schedules.boosting.BoostingRun, "_dropped", watched)
        ranker = lambdamart(dart=0.4).fit(TRAIN)
    weights: list[float] = []
    for number in range(1, 21):
        assert dropped[number] == [] or max(dropped[number]) < number - 1
        k = len(dropped[number])
        for tree in dropped[number]:
            weights[tree] *= k / (k + 0.3)
        weights.append(1 / (k + 0.3) if k else 1.0)
        if number < 20:
            np.testing.assert_allclose(seen[number], weights, rtol=1e-12)
    assert 0.25 < sum(map(len, dropped.values())) / sum(range(20)) < 0.55
    plain = lambdamart().fit(TRAIN)
    assert ranker.predict(TRAIN).tolist() != plain.predict(TRAIN).tolist()
    assert ndcg(ranker.predict(TRAIN), TRAIN) > 0.8
    assert ranker.log_[-1].train == pytest.approx(ndcg(ranker.predict(TRAIN), TRAIN), abs=1e-9)


def test_dart_looks_at_the_forces_without_the_trees_left_out():
    """The tree of a round is grown on the scores of the others alone."""
    first = lambdamart(n_estimators=1).fit(TRAIN).model_
    seed = next(s for s in range(50) if podium.data.hashing.counter_uniform(s, (1 << 40) + 2, 1)[0] < 0.5)
    second = lambdamart(n_estimators=2, dart=0.5, seed=seed).fit(TRAIN).model_
    np.testing.assert_array_equal(second.tree(1)["threshold"], first.tree(0)["threshold"])  # as if it were the first
    np.testing.assert_allclose(second.arrays()["value"], np.tile(first.arrays()["value"] / 1.3, 2), rtol=1e-9)


# ---- class weights


def test_class_weights_are_document_weights():
    weights = {0: 1.0, 1: 2.0, 2: 0.5, 3: 3.0, 4: 1.0, 5: 4.0}
    levels = {int(label) for label in TRAIN.labels}
    given = {label: weights[label] for label in levels}
    by_label = lambdamart(class_weight=given).fit(TRAIN).predict(TRAIN)
    by_hand = TRAIN.replace(document_weights=np.array([weights[int(label)] for label in TRAIN.labels]))
    np.testing.assert_array_equal(by_label, lambdamart().fit(by_hand).predict(TRAIN))
    assert by_label.tolist() != lambdamart().fit(TRAIN).predict(TRAIN).tolist()


def test_balanced_weighs_each_label_of_a_query_the_same():
    balanced = lambdamart(class_weight="balanced").fit(TRAIN).predict(TRAIN)
    weights = np.empty(len(TRAIN))
    for q in range(TRAIN.n_queries):
        rows = TRAIN.document_queries == q
        labels, place, counts = np.unique(TRAIN.labels[rows], return_inverse=True, return_counts=True)
        weights[rows] = rows.sum() / (len(labels) * counts[place])
    np.testing.assert_allclose(np.bincount(TRAIN.document_queries, weights), TRAIN.query_sizes)
    by_hand = lambdamart().fit(TRAIN.replace(document_weights=weights)).predict(TRAIN)
    np.testing.assert_allclose(balanced, by_hand, rtol=1e-9)


def test_balanced_needs_no_table_of_queries_and_labels():
    """As many labels as documents: a table of them all would be 40,000 × 80,000."""
    n = 80_000
    data = podium.RankingData(np.zeros((n, 1)), np.arange(n), np.arange(n) // 2)
    assert set(weighted(data, "balanced").document_weights) == {1.0}
    by_label = weighted(data, {label: 2.0 * label for label in range(n)})
    np.testing.assert_array_equal(by_label.document_weights, 2.0 * np.arange(n))


@pytest.mark.parametrize("given", ["even", {0: -1.0}, {"a": 1.0}, 3, [1, 2], {0: float("nan")}])
def test_class_weights_that_are_none_are_refused(given):
    with pytest.raises(podium.ParameterError, match="class_weight"):
        lambdamart(class_weight=given).fit(TRAIN)


def test_a_label_without_a_weight_is_named():
    with pytest.raises(podium.DataError, match="no weight for label"):
        lambdamart(class_weight={0: 1.0}).fit(TRAIN)


def test_maps_come_back_from_files(tmp_path):
    given = {int(label): 1.0 + label for label in np.unique(TRAIN.labels)}
    ranker = lambdamart(class_weight=given, monotone={2: 1, 0: -1}).fit(TRAIN)
    ranker.save(tmp_path / "a.podium")
    again = podium.load(tmp_path / "a.podium")
    assert again.predict(TRAIN).tobytes() == ranker.predict(TRAIN).tobytes()
    refitted = clone(again).fit(TRAIN)
    assert refitted.predict(TRAIN).tobytes() == ranker.predict(TRAIN).tobytes()
    refitted.save(tmp_path / "b.podium")
    assert (tmp_path / "b.podium").read_bytes() == (tmp_path / "a.podium").read_bytes()


# ---- continued training


@pytest.mark.parametrize("kind", [podium.LambdaMART, podium.MART])
@pytest.mark.parametrize("others", [{}, {"row_sampling": 0.6, "forests": 1}, {"categorical": (7,)}], ids=str)
def test_training_can_continue_from_a_model(kind, others, tmp_path):
    X = TRAIN.features.copy()
    X[:, 7] = np.round(2 * X[:, 7])
    data = TRAIN.replace(features=X)
    few, many = (kind(**QUICK | others | {"n_estimators": n}) for n in (7, 12))
    first = few.fit(data)
    first.save(tmp_path / "a.podium")
    for start in (first, tmp_path / "a.podium", str(tmp_path / "a.podium")):
        more = kind(**QUICK | others | {"n_estimators": 5}).fit(data, start_from=start)
        assert more.n_trees_ == 12
        for t in range(7):
            for name, values in first.model_.tree(t).items():
                assert more.model_.tree(t)[name].tobytes() == values.tobytes()
    assert more.score(data) > first.score(data)
    if not others or "categorical" in others:  # nothing is drawn: as if it had never stopped
        np.testing.assert_allclose(more.predict(data), many.fit(data).predict(data), rtol=1e-9)
    more.save(tmp_path / "b.podium")
    assert podium.load(tmp_path / "b.podium").predict(data).tobytes() == more.predict(data).tobytes()


@pytest.mark.parametrize(
    "more",
    [
        {"query_sampling": 0.6, "column_sampling": 0.5},
        {"metric": "map", "row_sampling": 0.5},
        {"growth": "leaf", "monotone": {1: 1}, "random_strength": 0.2},
        {"force": "listnet"},
        {"force": "squared"},
    ],
    ids=str,
)
def test_forests_that_grow_at_the_same_time_are_those_that_grow_one_after_the_other(more, monkeypatch):
    force = more.get("force")
    settings = {"forests": 3, "n_estimators": 7, "seed": 4} | more

    def trained(threads: int) -> list[bytes]:
        if force is None:
            ranker = lambdamart(**settings, num_threads=threads)
        else:
            ranker = podium.Ranker(
                force=force, model="trees(forests=3)", schedule="boosting(rounds=7)", seed=4, num_threads=threads
            )
        return [array.tobytes() for array in ranker.fit(TRAIN, valid=VALID).model_.arrays().values()]

    together = [trained(threads) for threads in (1, 2, 5)]
    monkeypatch.setattr("podium.models.growing.TOGETHER_DOCUMENTS", 0)
    assert together == [trained(1)] * 3


def test_forests_whose_scores_overflow_are_refused(monkeypatch):
    """The mean of the forests may still be finite."""
    ranker = podium.Ranker(force="listnet", model="trees(forests=2)", schedule="boosting(rounds=3)")
    check = BoostingRun._check_scores

    def overflow(run, number):
        check(run, number)
        run.growing.own[1].scores[7] = np.inf

    monkeypatch.setattr(BoostingRun, "_check_scores", overflow)
    with pytest.raises(podium.DataError, match="the score of document 7 is inf; forces need finite scores"):
        ranker.fit(TRAIN)


def test_forests_side_by_side_are_averaged():
    """What each does alone is known from its draws: forests of one round each differ in those only."""
    side = lambdamart(forests=3, column_sampling=0.5, n_estimators=6).fit(TRAIN, valid=VALID)
    assert side.n_trees_ == 3 * side.best_epoch_
    assert len(side.log_) == 6
    first = lambdamart(forests=3, column_sampling=0.5, n_estimators=1).fit(TRAIN)
    trees = [first.model_.tree(t) for t in range(3)]
    assert len({tree["feature"].tobytes() + tree["threshold"].tobytes() for tree in trees}) > 1
    alone = lambdamart(forests=1, column_sampling=0.5, n_estimators=1).fit(TRAIN).model_.tree(0)
    np.testing.assert_array_equal(trees[0]["feature"], alone["feature"])
    np.testing.assert_allclose(trees[0]["value"], alone["value"] / 3, rtol=1e-12)
    # The scores that were judged are those of the model.
    judged = lambdamart(forests=3, column_sampling=0.5, n_estimators=6, early_stopping_rounds=None).fit(
        TRAIN, valid=VALID
    )
    best = judged.log_[judged.best_epoch_ - 1].valid
    np.testing.assert_allclose(ndcg(judged.predict(VALID), VALID), best, rtol=1e-12)


def test_each_forest_learns_from_its_own_scores():
    """The second tree of each forest makes up for what that forest's own first one left, not for what their mean left."""
    rate, settings = 0.5, {"forests": 3, "column_sampling": 0.5, "l2": 0, "num_leaves": 4, "learning_rate": 0.5}
    ranker = podium.MART(n_estimators=2, **settings).fit(TRAIN)
    leaves = ranker.leaves(TRAIN)
    first, second = leaves[:, :3], leaves[:, 3:]
    for forest in range(3):
        values = 3 * ranker.model_.tree(forest)["value"]  # the mean of three: each tree counts a third
        left = TRAIN.labels - TRAIN.labels.mean() - values[first[:, forest]]
        later = ranker.model_.tree(3 + forest)["value"]
        expected = [rate * left[second[:, forest] == leaf].mean() / 3 for leaf in range(len(later))]
        np.testing.assert_allclose(later, expected, rtol=1e-9)


def test_forests_that_draw_nothing_are_one():
    assert lambdamart(forests=None, n_estimators=3).fit(TRAIN).n_trees_ == 3
    small = {"n_estimators": 3, "effort": "best", "num_leaves": None, "growth": None}
    assert lambdamart(forests=None, query_sampling=0.5, **small).fit(TRAIN).n_trees_ == 36
    same = lambdamart(forests=2, n_estimators=3).fit(TRAIN)
    np.testing.assert_allclose(same.predict(TRAIN), lambdamart(n_estimators=3).fit(TRAIN).predict(TRAIN), rtol=1e-9)


def test_forests_learn_thresholds_and_classes_too():
    for force in ("ordinal", "multiclass"):
        ranker = podium.Ranker(
            force=force, model="trees(forests=3, num_leaves=4)", schedule="boosting(rounds=15, rate=0.3)"
        ).fit(TRAIN)
        assert ndcg(ranker.predict(TRAIN), TRAIN) > 0.75


@pytest.mark.parametrize("settings", [{"dart": 0.2, "forests": 2}, {"growth": "symmetric", "categorical": (7,)}, {"growth": "symmetric", "monotone": {0: 1}}, {"forests": 0}, {"forests": 1.5}], ids=str)  # fmt: skip
def test_what_does_not_go_together_is_refused(settings):
    with pytest.raises(podium.PodiumError, match=next(iter(settings.keys() & {"forests", "growth"}))):
        lambdamart(**settings).fit(TRAIN)


def test_training_can_continue_on_other_data():
    first = lambdamart().fit(TRAIN)
    more = lambdamart(n_estimators=10).fit(VALID, start_from=first)
    assert ndcg(more.predict(VALID), VALID) > ndcg(first.predict(VALID), VALID)
    judged = lambdamart(n_estimators=10).fit(TRAIN, valid=VALID, start_from=first)
    assert judged.n_trees_ == 20 + judged.best_epoch_
    assert judged.best_value_ == pytest.approx(ndcg(judged.predict(VALID), VALID), abs=1e-12)


def test_models_that_training_cannot_continue_from_are_refused():
    first = lambdamart(n_estimators=2).fit(TRAIN)
    with pytest.raises(podium.ParameterError, match="start_from must be a model of boosted trees"):
        lambdamart().fit(TRAIN, start_from=podium.RankNet(epochs=1).fit(TRAIN))
    with pytest.raises(podium.ParameterError, match="must be a trained ranker"):
        lambdamart().fit(TRAIN, start_from=lambdamart())
    narrow = podium.synthetic.network(queries=5, documents=5, features=3, seed=0)
    with pytest.raises(podium.DataError, match="8 features"):
        lambdamart().fit(narrow, start_from=first)
    with pytest.raises(podium.FormatError, match="no such file"):
        lambdamart().fit(TRAIN, start_from="nowhere.podium")
    X = TRAIN.features.copy()
    X[:, 7] = np.round(X[:, 7])
    named = lambdamart(n_estimators=2, categorical=(7,)).fit(TRAIN.replace(features=X))
    many = X.copy()
    many[:, 7] = 1000 + np.arange(len(X)) % 255
    with pytest.raises(
        podium.DataError, match="feature 'f7' has more than 255 categories together with those of the model"
    ):
        lambdamart(categorical=(7,)).fit(TRAIN.replace(features=many), start_from=named)
    with pytest.raises(podium.DataError, match=r"give categorical=\[7\]"):
        lambdamart().fit(TRAIN.replace(features=X), start_from=named)


# ---- budgets, other metrics, stopping early


def test_max_seconds_ends_training(ticking_clock):
    """The clock advances by one second per reading, so that a round takes a few seconds."""
    short, long = (lambdamart(n_estimators=50, max_seconds=limit).fit(TRAIN) for limit in (10, 20))
    assert 1 <= short.n_trees_ < long.n_trees_ < 20
    assert short.log_[-1].seconds <= 10 < long.log_[-1].seconds <= 20
    assert lambdamart(max_seconds=1e-9).fit(TRAIN).n_trees_ == 1


def test_other_metrics_are_in_the_log():
    ranker = lambdamart(also=["map", "mrr"]).fit(TRAIN, valid=VALID)
    assert [set(row.also) for row in ranker.log_] == [{"map", "mrr"}] * ranker.n_epochs_
    row = ranker.log_[ranker.best_epoch_ - 1]
    for name in ("map", "mrr"):
        expected = podium.evaluate(ranker.predict(VALID), VALID, name).mean[name]
        assert row.also[name] == pytest.approx(expected, abs=1e-12)
    assert lambdamart(also="map").fit(TRAIN, valid=VALID).log_[0].also == {"map": ranker.log_[0].also["map"]}
    assert "also" not in lambdamart().fit(TRAIN, valid=VALID).log_[0].to_dict()
    with pytest.raises(podium.ParameterError, match="validation data"):
        lambdamart(also=["map"]).fit(TRAIN)
    with pytest.raises(podium.ParameterError, match="Did you mean"):
        lambdamart(also=["mpa"]).fit(TRAIN, valid=VALID)


@pytest.mark.parametrize(
    "others", [{"smoothing": 0}, {"dart": 0.3}, {"metric": "pairwise_error", "smoothing": 0}], ids=str
)
def test_stopping_early_keeps_the_trees_of_the_best_round(others):
    rng = np.random.default_rng(0)
    noisy = TRAIN.replace(labels=rng.permutation(TRAIN.labels))  # nothing to learn: validation soon falls
    ranker = lambdamart(n_estimators=500, early_stopping_rounds=7, **others).fit(noisy, valid=VALID)
    values = [row.valid for row in ranker.log_]
    best = int(np.argmin(values) if "metric" in others else np.argmax(values)) + 1
    assert ranker.best_epoch_ == best == ranker.n_trees_
    assert ranker.n_epochs_ == best + 7
    metric = others.get("metric", "ndcg@10")
    found = podium.evaluate(ranker.predict(VALID), VALID, metric).mean[metric]
    assert found == pytest.approx(ranker.best_value_, abs=1e-9)
    alone = lambdamart(n_estimators=best, **others).fit(noisy)
    np.testing.assert_allclose(alone.predict(VALID), ranker.predict(VALID), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("others", [{}, {"smoothing": 3}, {"metric": "pairwise_error"}, {"forests": 2, "column_sampling": 0.5}], ids=str)  # fmt: skip
def test_a_round_is_judged_with_its_neighbors(others):
    noisy = TRAIN.replace(labels=np.random.default_rng(0).permutation(TRAIN.labels))
    ranker = lambdamart(n_estimators=90, early_stopping_rounds=40, **others).fit(noisy, valid=VALID)
    values = [row.valid for row in ranker.log_]
    width = min(others.get("smoothing", 40), len(values) // 10)
    smooth = [float(np.mean(values[max(k - width, 0) : k + min(width, k) + 1])) for k in range(len(values))]
    best = smooth.index(min(smooth) if "metric" in others else max(smooth)) + 1
    assert width > 0
    assert ranker.best_epoch_ == best
    assert ranker.n_trees_ == best * others.get("forests", 1)
    assert ranker.n_epochs_ == min(90, best + 40)
    assert ranker.best_value_ == values[best - 1]
    metric = others.get("metric", "ndcg@10")
    found = podium.evaluate(ranker.predict(VALID), VALID, metric).mean[metric]
    assert found == pytest.approx(ranker.best_value_, abs=1e-9)


def test_the_log_knows_which_round_is_best_when_smoothing_goes_back():
    noisy = TRAIN.replace(labels=np.random.default_rng(0).permutation(TRAIN.labels))
    ranker = lambdamart(n_estimators=90, early_stopping_rounds=40).fit(noisy, valid=VALID)
    assert ranker.log_[-1].best_epoch == ranker.best_epoch_
    assert any(row.best_epoch != row.epoch and not row.best for row in ranker.log_)
    table = EpochTable("ndcg@10", epochs=90, unit="round", has_rate=False)
    table.begin_with(ranker.log_)
    assert f"would keep round {ranker.best_epoch_} (" in table._state()


def test_the_first_round_is_not_credited_with_what_came_after_it():
    peaked = np.array([0.55] + [0.60] * 20 + [0.58] * 280)
    assert 2 <= best_round(peaked, 40) <= 21


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_no_round_is_kept_more_often_than_others_because_it_comes_first(correlation):
    rng, kept = np.random.default_rng(7), []
    for _ in range(400):
        steps = rng.normal(size=300)
        curve = np.empty(300)
        curve[0] = steps[0]
        for k in range(1, 300):
            curve[k] = correlation * curve[k - 1] + np.sqrt(1 - correlation**2) * steps[k]
        kept.append(best_round(0.6 + 0.01 * curve, 40))
    assert min(kept) >= 16  # half of the thirty neighbors
    first_tenth = sum(number < 16 + 28 for number in kept)  # of the 285 rounds that can be kept
    assert first_tenth < 100  # on average 40, and more than 200 if a round with few neighbors could be kept


def test_the_rule_for_few_rounds_is_the_best_value():
    assert best_round(np.array([0.2, 0.6, 0.5]), 40) == 2


def test_a_last_round_that_is_best_by_chance_is_not_kept():
    rng = np.random.default_rng(0)
    noisy = 0.6 - 0.0005 * np.abs(np.arange(300) - 150) + 0.01 * rng.normal(size=300)
    noisy[-1] = noisy.max() + 0.01
    assert abs(best_round(noisy, 40) - 151) < 40


@pytest.mark.parametrize("rounds", [1, 9, 10, 25, 60])
def test_an_interrupted_training_keeps_the_round_that_a_finished_one_keeps(rounds):
    noisy = TRAIN.replace(labels=np.random.default_rng(0).permutation(TRAIN.labels))
    finished = lambdamart(n_estimators=rounds).fit(noisy, valid=VALID)

    def interrupt(row: podium.Epoch) -> None:
        if row.epoch == rounds:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        stopped = lambdamart(n_estimators=90).fit(noisy, valid=VALID, callbacks=interrupt)
    assert stopped.best_epoch_ == finished.best_epoch_
    np.testing.assert_array_equal(stopped.predict(VALID), finished.predict(VALID))


def test_a_best_round_at_either_end_is_warned_about():
    backwards = VALID.replace(labels=VALID.labels.max() - VALID.labels)
    with pytest.warns(
        ConvergenceWarning, match="best round on the validation data is number 1 of 40: the model has hardly"
    ):
        lambdamart(n_estimators=40, smoothing=0).fit(TRAIN, valid=backwards)
    with pytest.warns(ConvergenceWarning, match="is number [3-5] of 40: the model has hardly"):
        lambdamart(n_estimators=40, smoothing=10).fit(TRAIN, valid=backwards)
    with pytest.warns(ConvergenceWarning, match="is the last one allowed, number 5: the model may still improve"):
        lambdamart(n_estimators=5, smoothing=0).fit(TRAIN, valid=TRAIN)


def naive_best_round(values, smoothing):
    """The round whose mean over its neighbors is highest, among those with half of their neighbors on the left."""
    width = min(smoothing, len(values) // 10)
    apart = values - values[0]
    sums = np.concatenate([[0.0], np.cumsum(apart / (np.abs(apart).max() or 1.0))])
    at = np.arange(len(values))
    half = np.minimum(width, at)
    low, high = at - half, np.minimum(at + half + 1, len(values))
    means = np.round((sums[high] - sums[low]) / (high - low), 11)
    first = (width + 1) // 2
    return first + 1 + int(np.argmax(means[first:]))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e200])
def test_the_best_round_is_that_of_the_naive_rule(scale):
    rng = np.random.default_rng(3)
    for rounds in (1, 2, 9, 10, 11, 39, 97, 400, 1000):
        for smoothing in (0, 1, 5, 40):
            for values in (rng.normal(size=rounds), np.round(rng.random(rounds), 1), rng.normal(size=rounds).cumsum()):
                assert best_round(scale * values, smoothing) == naive_best_round(scale * values, smoothing)


@pytest.mark.parametrize("value", [0.3, 12.3, 1234.567, 333333.3, 1e200, 0.0])
def test_of_equal_values_the_first_is_kept_whatever_their_size(value):
    for rounds in (10, 97, 1000):
        assert best_round(np.full(rounds, value), 40) == first_choice(rounds, 40)
        assert best_round(value + np.tile([0.0, 1e-14 * value], rounds // 2), 0) == 1 + (value > 0)


def test_any_force_with_trees_can_do_without_smoothing():
    noisy = TRAIN.replace(labels=np.random.default_rng(0).permutation(TRAIN.labels))
    schedule = "boosting(rounds=40, rate=0.3, smoothing=0)"
    plain = podium.Ranker(force="ranknet", model="trees(num_leaves=4)", schedule=schedule).fit(noisy, valid=VALID)
    values = [row.valid for row in plain.log_]
    assert plain.best_epoch_ == values.index(max(values)) + 1
    with pytest.raises(podium.ParameterError, match="unknown parameter of adam 'smoothing'"):
        podium.Ranker(schedule="adam(smoothing=3)").fit(TRAIN)


@pytest.mark.parametrize("settings", [{"dart": 0.2, "smoothing": 3}, {"smoothing": -1}, {"smoothing": 2.5}], ids=str)
def test_smoothing_that_cannot_be_is_refused(settings):
    with pytest.raises(podium.PodiumError, match="smoothing"):
        lambdamart(**settings).fit(TRAIN, valid=VALID)


def test_early_stopping_is_for_validation_data_and_can_be_left_out():
    assert lambdamart(n_estimators=60, early_stopping_rounds=1).fit(TRAIN).n_epochs_ == 60
    assert lambdamart(n_estimators=60, early_stopping_rounds=None).fit(TRAIN, valid=VALID).n_epochs_ == 60
    stopped = lambdamart(n_estimators=60).fit(TRAIN, callbacks=lambda row: row.epoch == 9)
    assert stopped.n_trees_ == 9


def test_the_target_can_be_another_metric_than_the_judge():
    ranker = lambdamart(metric="map", target="mrr").fit(TRAIN)
    assert ranker.force_.startswith("lambdarank(mrr")
    assert ranker.score(TRAIN) == podium.evaluate(ranker.predict(TRAIN), TRAIN, "map").mean["map"]
    options = lambdamart(truncation=12, normalize=True, damping=True, sigma=2.0).fit(TRAIN)
    assert podium.force(options.force_) == podium.force(
        "lambdarank(ndcg@10, sigma=2, truncation=12, normalize=True, damping=True)"
    )


def test_dart_keeps_the_size_of_what_is_fitted():
    data = podium.synthetic.network(queries=40, documents=15, features=8, hidden=3, seed=0)
    for rate, most in ((0.1, 1.4), (1.0, 1.2)):  # a single tree does not quite make up for many
        ranker = podium.MART(**QUICK | {"n_estimators": 150, "learning_rate": rate, "dart": 0.1}).fit(data)
        assert 0.9 < np.polyfit(ranker.predict(data), data.labels, 1)[0] < most


def test_a_checkpoint_knows_the_model_it_went_on_from(tmp_path):
    data = podium.synthetic.network(queries=10, documents=10, features=4, seed=0)
    first = lambdamart(n_estimators=3).fit(data)
    lambdamart(n_estimators=4).fit(data, start_from=first, checkpoint=tmp_path / "c")
    with pytest.raises(podium.ParameterError, match="another model to start from"):
        lambdamart(n_estimators=6).fit(data, checkpoint=tmp_path / "c")


def test_a_start_that_does_not_fit_is_refused_before_training():
    X = np.random.default_rng(0).integers(0, 5, (80, 4)).astype(np.float32)
    y, qid = X[:, 1] % 3, np.repeat(np.arange(8), 10)
    named = podium.RankingData(X, y, qid, feature_names=list("abcd"))
    first = lambdamart(n_estimators=5).fit(named)
    with pytest.raises(
        podium.DataError,
        match=r"feature 'b' is categorical now, and the model to start from compares its codes as numbers; .* categorical=\(\)",
    ):
        lambdamart(n_estimators=2, categorical=(1,)).fit(named, start_from=first)
    with pytest.raises(podium.DataError, match="another order"):
        lambdamart(n_estimators=2).fit(named.replace(feature_names=list("badc")), start_from=first)


def test_a_handful_of_documents_still_makes_trees():
    data = podium.synthetic.network(queries=3, documents=12, features=3, seed=1)
    assert podium.LambdaMART(n_estimators=20).fit(data).log_[-1].train > 0.9


def test_a_metric_that_cannot_take_the_labels_is_refused_at_once():
    data = podium.synthetic.network(queries=5, documents=10, features=3, seed=1)
    rounds = []
    with pytest.raises(podium.DataError, match="ndcg@10"):
        podium.MART(n_estimators=3).fit(data.replace(labels=data.labels - 3), callbacks=rounds.append)
    assert rounds == []


# ---- errors


def test_errors_call_the_number_of_rounds_what_the_ranker_calls_it():
    for ranker, name in (
        (podium.LambdaMART(n_estimators=0), "n_estimators"),
        (podium.RankBoost(n_estimators=0), "n_estimators"),
        (podium.Ranker(force="squared", model="trees", schedule="boosting(rounds=0)"), "n_estimators"),
    ):
        with pytest.raises(podium.ParameterError, match=f"^{name}=0 must be"):
            ranker.fit(TRAIN)
    with pytest.raises(
        podium.ParameterError, match=r"early_stopping_rounds=0 must be .*; None means: never stop early"
    ):
        lambdamart(early_stopping_rounds=0).fit(TRAIN, valid=VALID)


@pytest.mark.parametrize("large", [False, True])
def test_a_rate_that_diverges_is_named_in_the_round_where_it_does(large, monkeypatch):
    if large:  # the training metric is then computed in every tenth round only
        monkeypatch.setattr(podium.training.schedules.boosting_run, "TRAIN_METRIC_DOCUMENTS", 1)
    with pytest.raises(podium.DataError, match=r"diverged in round 2: .* smaller learning_rate than 1e\+308"):
        lambdamart(learning_rate=1e308).fit(TRAIN)
    with pytest.raises(podium.DataError, match=r"round 2 .* smaller learning_rate than 1e\+150"):
        podium.MART(**QUICK | {"learning_rate": 1e150}).fit(TRAIN)


def test_leaves_are_where_rows_fall():
    rows = np.random.default_rng(0).permutation(len(TRAIN))
    mixed = podium.RankingData(TRAIN.features[rows], TRAIN.labels[rows], TRAIN.document_queries[rows])
    ranker = lambdamart().fit(mixed)
    leaves = ranker.leaves(mixed)
    assert leaves.shape == (len(TRAIN), ranker.n_trees_)
    np.testing.assert_array_equal(leaves, ranker.leaves(TRAIN.features[rows]))
    values = [ranker.model_.tree(t)["value"][leaves[:, t]] for t in range(ranker.n_trees_)]
    np.testing.assert_allclose(np.sum(values, axis=0), ranker.predict(mixed), rtol=1e-9)
    with pytest.raises(podium.ParameterError, match="leaves needs a model of trees"):
        podium.ListNet(epochs=1).fit(TRAIN).leaves(TRAIN)


def test_a_quantity_that_is_called_categorical_is_reported():
    rng = np.random.default_rng(0)
    data = podium.RankingData(rng.normal(size=(400, 2)), rng.integers(0, 2, 400), np.repeat(np.arange(40), 10))
    with pytest.warns(UserWarning, match="feature 'f1' is categorical and has 400 values, which are not whole numbers"):
        lambdamart(categorical=[1], n_estimators=1).fit(data)
    codes = data.replace(features=np.arange(800).reshape(400, 2))
    lambdamart(categorical=[1], n_estimators=1).fit(codes)  # many categories, but codes
