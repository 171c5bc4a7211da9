"""PRank, quadratic PRank and OAP-BPM against naive versions, their mistake bound, and their contracts."""

from __future__ import annotations

import math
import warnings
from typing import Any

import naive_prank
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import _core
from podium.models.quadratic import QuadraticModel
from podium.training.schedules.perceptron import document_keys, shuffled_documents

ALL = [podium.PRank, podium.QuadraticPRank, podium.OAPBPM]
TRAIN = podium.synthetic.network(queries=30, documents=12, features=6, hidden=3, levels=4, seed=0)
TEST = podium.synthetic.network(queries=40, documents=12, features=6, hidden=3, levels=4, seed=1, generator_seed=0)
# Half of the labels belong to other documents, so that the order of learning matters and no two means are equal.
NOISY = TRAIN.replace(
    labels=np.where(np.arange(len(TRAIN)) % 2, TRAIN.labels, np.random.default_rng(0).permutation(TRAIN.labels))
)
PLAIN: dict[str, Any] = {"standardize": False, "width": 1.0}


def sample(rows: int, width: int, levels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return documents whose features are small whole numbers, so that every sum is exact."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (rows, width)).astype(np.float32), rng.integers(0, levels, rows)


def core_documents(x: np.ndarray, levels: np.ndarray, keys: np.ndarray | None = None) -> _core.OnlineDocuments:
    width = x.shape[1]
    keys = np.arange(len(x), dtype=np.uint64) if keys is None else keys
    return _core.OnlineDocuments(
        x.astype(np.float32), np.zeros(width), np.ones(width), np.zeros(width), levels.astype(np.int32), keys
    )


# ---- the algorithm


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 150), st.integers(1, 9), st.integers(2, 6), st.integers(0, 10**6))
def test_prank_equals_the_naive_prank(rows, width, levels, seed):
    x, y = sample(rows, width, levels, seed)
    w, b, mistakes = naive_prank.learn(x.astype(np.float64), y, levels)
    core = _core.Perceptrons(width, levels - 1, [1.0])
    taken, found, off = core.run(core_documents(x, y), np.arange(rows), seed=0, round=1, num_threads=2)
    np.testing.assert_array_equal(core.weights(), w)
    np.testing.assert_array_equal(core.thresholds(), b)
    assert (taken, found, off) == (rows, len(mistakes), sum(mistakes.values()))
    ranker = podium.PRank(levels=levels, **PLAIN).partial_fit(x, y)
    np.testing.assert_array_equal(ranker.model_.vector, [*w, 0.0])
    np.testing.assert_array_equal(ranker.thresholds_, b)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 80), st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 1e6]))
def test_thresholds_stay_in_order_after_every_document(rows, levels, seed, scale):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, 3)) * scale, rng.integers(0, levels, rows)
    learners = [
        _core.Perceptrons(3, levels - 1, [1.0, 0.5]),
        _core.QuadraticLearner(3, levels - 1),
        _core.SupportLearner(3, 5, levels - 1),
    ]
    documents = core_documents(x, y)
    for i in range(rows):
        for learner in learners:
            more = {"seed": 1, "round": i} if isinstance(learner, _core.Perceptrons) else {}
            learner.run(documents, np.array([i]), num_threads=1, **more)
            assert (np.diff(learner.thresholds().reshape(-1, levels - 1)) >= 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.integers(1, 5), st.integers(2, 5), st.integers(0, 10**6))
def test_mistakes_on_separable_data_keep_to_the_bound(rows, width, levels, seed):
    """At most (N − 1)(R² + 1)/γ² mistakes, ever. [Crammer and Singer 2002, theorem 1]"""
    rng = np.random.default_rng(seed)
    true, b = rng.normal(size=width), np.sort(rng.normal(size=levels - 1))
    x = rng.normal(size=(8 * rows, width)).astype(np.float32).astype(np.float64)
    gaps = np.abs((x @ true)[:, None] - b).min(axis=1)
    x = x[gaps > 0.1][:rows]
    if not len(x):
        return
    y = np.searchsorted(b, x @ true)
    length = math.sqrt(true @ true + b @ b)
    sign = np.where(y[:, None] > np.arange(levels - 1), 1.0, -1.0)
    gamma = (sign * ((x @ true)[:, None] - b)).min() / length
    bound = (levels - 1) * ((x**2).sum(axis=1).max() + 1) / gamma**2
    core, documents, mistakes = _core.Perceptrons(width, levels - 1, [1.0]), core_documents(x, y), 0
    for epoch in range(10_000):
        order = np.random.default_rng(epoch).permutation(len(x))
        _, found, _ = core.run(documents, order, seed=0, round=epoch, num_threads=1)
        mistakes += found
        assert mistakes <= bound
        if found == 0:
            break
    else:
        pytest.fail("never without a mistake")
    assert (np.searchsorted(core.thresholds(), x @ core.weights(), side="right") == y).all()


@pytest.mark.parametrize("rows", [1, 64, 150])
def test_perceptrons_side_by_side_are_perceptrons_alone(rows):
    x, y = sample(rows, 5, 4, 3)
    keys = document_keys(podium.RankingData(x, y, np.arange(rows) // 7))
    shares = [0.3, 1.0, 0.7, 0.5] * 3
    core = _core.Perceptrons(5, 3, shares)
    counts = core.run(core_documents(x, y, keys), np.arange(rows), seed=9, round=4, num_threads=2)
    expected = np.zeros(3, int)
    for p, share in enumerate(shares):
        taken = np.array([naive_prank.coin(9, 4, int(key), p) < share for key in keys])
        w, b, mistakes = naive_prank.learn(x.astype(np.float64), y, 4, taken)
        expected += taken.sum(), len(mistakes), sum(mistakes.values())
        np.testing.assert_array_equal(core.weights().reshape(-1, 5)[p], w)
        np.testing.assert_array_equal(core.thresholds().reshape(-1, 3)[p], b)
    assert counts == tuple(expected)


def test_a_share_is_the_part_of_documents_taken():
    x, y = sample(4000, 3, 3, 0)
    keys = document_keys(podium.RankingData(x, y, np.zeros(4000, int)))
    for share in (0.3, 0.5, 0.7):
        core = _core.Perceptrons(3, 2, [share] * 5)
        taken, _, _ = core.run(core_documents(x, y, keys), np.arange(4000), seed=0, round=1, num_threads=1)
        assert taken / 20_000 == pytest.approx(share, abs=0.02)


# ---- quadratic functions


@pytest.mark.parametrize("width", [1, 3, 4, 13, 29])
@pytest.mark.parametrize("rows", [1, 63, 200])
def test_both_quadratic_forms_are_prank_on_the_products(width, rows):
    x, y = sample(rows, width, 4, width + rows)
    x = x / 4  # so that both stay exact
    products, often = naive_prank.quadratic_features(x.astype(np.float64))
    w, b, mistakes = naive_prank.learn(products, y, 4, scale=often)
    alpha, b2, again = naive_prank.learn(
        x.astype(np.float64), y, 4, kernel=lambda u, v: (1 + sum(a * c for a, c in zip(u, v, strict=True))) ** 2
    )
    assert again == mistakes
    expected = products @ w
    for core in (_core.QuadraticLearner(width, 3), _core.SupportLearner(width, 1000, 3)):
        counts = core.run(core_documents(x, y), np.arange(rows), num_threads=2)
        assert counts == (rows, len(mistakes), sum(mistakes.values()))
    for form in ("explicit", "kernel"):
        ranker = podium.QuadraticPRank(form=form, levels=4, supports=1000, **PLAIN).partial_fit(x, y)
        np.testing.assert_allclose(ranker.predict(x), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ranker.thresholds_, b)
    np.testing.assert_array_equal(b, b2)
    assert ranker.chosen_["supports"] == np.count_nonzero(alpha)


def test_kernel_prank_is_explicit_quadratic_prank_to_rounding():
    both = [podium.QuadraticPRank(form=form, epochs=4, supports=10_000).fit(TRAIN) for form in ("explicit", "kernel")]
    np.testing.assert_allclose(both[0].predict(TEST), both[1].predict(TEST), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(both[0].thresholds_, both[1].thresholds_)
    assert both[0].model_name_ == "quadratic"
    assert both[1].model_name_ == "kernel"


def test_supports_never_pass_their_number_and_those_with_the_least_part_go():
    x, y = sample(500, 4, 5, 1)
    ranker = podium.QuadraticPRank(form="kernel", supports=20, levels=5, **PLAIN).partial_fit(x, y)
    assert len(ranker.model_.landmarks) == ranker.chosen_["supports"] == 20
    core = _core.SupportLearner(2, 2, 1)
    core.set(np.array([3.0, 0, 0, 1, 1, 1]), np.array([1.0, -2.0, 4.0]), np.arange(7, 10, dtype=np.uint64), np.zeros(1))
    core.run(core_documents(np.zeros((1, 2)), np.array([0])), np.array([0]), num_threads=1)
    # |α|(1 + ‖x‖²): 10, 4, 12, and 1 for the document itself, whose level was too high
    assert sorted(core.alpha()) == [1.0, 4.0]


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_quadratic_model_is_its_formula(outputs):
    rng = np.random.default_rng(0)
    data = podium.RankingData(rng.normal(size=(150, 5)), rng.integers(0, 3, 150), np.arange(150) // 10)
    model = podium.models.model("quadratic").start(data, n_outputs=outputs, seed=0, restart=1)
    assert isinstance(model, QuadraticModel)
    x = model.map(data.features)
    assert np.sqrt((x**2).sum(axis=1)).mean() == pytest.approx(1, abs=0.1)
    arrays = model.arrays()
    expected = np.stack(
        [
            np.einsum("ij,jk,ik->i", x, arrays["matrix"][k], x) + x @ arrays["linear"][k] + arrays["bias"][k]
            for k in range(outputs)
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.scores(data.features).reshape(150, -1), expected, rtol=1e-10, atol=1e-10)
    force = rng.normal(size=(150, outputs))
    push = model.backward(data.features, force, num_threads=2).reshape(outputs, -1)
    for k in range(outputs):
        np.testing.assert_allclose(push[k, :25].reshape(5, 5), np.einsum("i,ij,ik->jk", force[:, k], x, x), atol=1e-10)
        np.testing.assert_allclose(push[k, 25:30], force[:, k] @ x, atol=1e-10)
        assert push[k, 30] == pytest.approx(force[:, k].sum())


# ---- training


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("form", ["explicit", "kernel"])
def test_bytes_are_the_same_for_any_threads_and_without_avx2(kind, form, tmp_path):
    if kind is not podium.QuadraticPRank and form == "kernel":
        pytest.skip("has one form")
    data = podium.synthetic.network(queries=20, documents=30, features=70, seed=2)
    more = {"form": form, "supports": 100} if kind is podium.QuadraticPRank else {}
    files = []
    for threads, fast in ((1, True), (2, True), (5, True), (1, False)):
        _core.use_avx2(fast)
        try:
            kind(epochs=2, num_threads=threads, **more).fit(data, valid=data).save(tmp_path / "m")
        finally:
            _core.use_avx2(True)
        files.append((tmp_path / "m").read_bytes())
    assert len(set(files)) == 1


@pytest.mark.parametrize("kind", ALL)
def test_queries_in_any_order_give_the_same_bytes(kind, tmp_path):
    turned = TRAIN.select(np.arange(TRAIN.n_queries)[::-1])
    kind(epochs=3).fit(TRAIN).save(tmp_path / "a")
    kind(epochs=3).fit(turned).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("ranker", [*(kind(epochs=6) for kind in ALL), podium.QuadraticPRank(epochs=6, form="kernel", supports=30)], ids=str)  # fmt: skip
def test_training_resumes_from_a_checkpoint_to_the_same_bytes(ranker, tmp_path):
    ranker.fit(TRAIN, valid=TEST).save(tmp_path / "whole")
    ranker.fit(TRAIN, valid=TEST, checkpoint=tmp_path / "c", callbacks=lambda row: row.epoch == 3)
    assert ranker.n_epochs_ == 3
    turned = TRAIN.select(np.arange(TRAIN.n_queries)[::-1])
    ranker.fit(turned, valid=TEST, checkpoint=tmp_path / "c").save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_each_epoch_is_a_pass_in_a_new_order_and_the_best_is_kept():
    ranker = podium.PRank(epochs=6, early_stopping_rounds=None).fit(TRAIN, valid=TEST)
    values = [row.valid for row in ranker.log_]
    assert ranker.best_value_ == max(values) == ranker.log_[ranker.best_epoch_ - 1].valid
    assert ranker.score(TEST) == pytest.approx(ranker.best_value_)
    map = ranker.model_.map
    x, keys = map(TRAIN.features), document_keys(TRAIN)
    orders = [shuffled_documents(keys, 0, epoch) for epoch in range(1, ranker.best_epoch_ + 1)]
    assert all((np.sort(order) == np.arange(len(TRAIN))).all() for order in orders)
    assert not np.array_equal(orders[0], shuffled_documents(keys, 1, 1))
    w, b = np.zeros(6), np.zeros(3)
    for i in np.concatenate(orders):
        s = w @ x[i]
        tau = [(y if (s - b[r]) * y <= 0 else 0) for r in range(3) for y in [1 if TRAIN.labels[i] > r else -1]]
        if np.searchsorted(b, s, side="right") != TRAIN.labels[i]:
            w, b = w + sum(tau) * x[i], b - tau
    np.testing.assert_allclose(ranker.model_.vector[:-1], w, rtol=1e-9)
    np.testing.assert_array_equal(ranker.thresholds_, b)


def test_training_ends_where_an_epoch_has_no_mistake():
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    ranker = podium.PRank(epochs=1000, metric="ndcg").fit(x, [0, 1, 2, 3], qid=[0] * 4)
    assert ranker.n_epochs_ < 1000
    assert ranker.log_[-1].cost == 0
    assert ranker.predict_level(x).tolist() == [0, 1, 2, 3]


def test_only_a_pass_of_all_documents_by_all_perceptrons_ends_training():
    x, few = np.array([[0.0], [1.0], [2.0], [3.0]]), {"metric": "ndcg", "epochs": 100}
    settled = podium.OAPBPM(share=1.0, perceptrons=5, **few).fit(x, [0, 1, 2, 3], qid=[0] * 4)
    assert settled.n_epochs_ < 100
    assert settled.log_[-1].cost == 0
    assert settled.predict_level(x).tolist() == [0, 1, 2, 3]
    # Half of eight visits are four, the number of documents, which does not mean that each was visited.
    halves = podium.OAPBPM(share=0.5, perceptrons=2, **few).fit(x, [0, 1, 2, 3], qid=[0] * 4)
    assert halves.n_epochs_ == 100
    assert halves.log_[-1].cost == 0


def test_levels_are_cut_by_the_thresholds():
    for kind in ALL:
        ranker = kind(epochs=5).fit(TRAIN)
        scores, levels = ranker.predict(TEST), ranker.predict_level(TEST)
        np.testing.assert_array_equal(levels, (scores[:, None] >= ranker.thresholds_).sum(axis=1))
        assert np.abs(levels - TEST.labels).mean() < np.abs(np.median(TEST.labels) - TEST.labels).mean()
        assert len(ranker.thresholds_) == 3
        assert (np.diff(ranker.thresholds_) >= 0).all()


def test_a_line_learns_a_line_and_products_learn_products():
    """Levels that only the product of two features tells."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 4)).astype(np.float32)
    y = np.digitize(x[:, 0] * x[:, 1], [-0.5, 0.0, 0.5])
    data = podium.RankingData(x, y, np.arange(1200) // 12)
    train, test = podium.split(data, (0.6, 0.4))
    found = {
        kind: podium.evaluate(kind(epochs=20).fit(train).predict(test), test, "ndcg@5").mean["ndcg@5"] for kind in ALL
    }
    assert found[podium.QuadraticPRank] > 0.95
    assert max(found[podium.PRank], found[podium.OAPBPM]) < 0.75


def test_the_mean_of_perceptrons_is_chosen_on_validation_data():
    ranker = podium.OAPBPM(epochs=3, metric="ndcg@5").fit(NOISY, valid=TEST)
    map, keys, shares = ranker.model_.map, document_keys(NOISY), (0.3, 0.5, 0.7)
    documents = _core.OnlineDocuments(
        NOISY.features, map.center, map.scale, map.filled, NOISY.labels.astype(np.int32), keys
    )
    core, inputs, values = _core.Perceptrons(6, 3, np.repeat(shares, 100).tolist()), map(TEST.features), {}
    for epoch in (1, 2, 3):
        core.run(documents, shuffled_documents(keys, 0, epoch), seed=0, round=epoch, num_threads=1)
        for share, weights in zip(shares, core.weights().reshape(3, 100, 6), strict=True):
            for count in (5, 10, 20, 50, 100):
                scores = inputs @ weights[:count].mean(axis=0)
                values[epoch, share, count] = podium.evaluate(scores, TEST, "ndcg@5").mean["ndcg@5"]
    best = max(values, key=values.__getitem__)
    assert len(values) == 3 * 15
    assert sorted(values.values())[-2] < values[best]
    assert ranker.best_value_ == pytest.approx(values[best], rel=1e-12)
    assert (ranker.best_epoch_, ranker.share_, ranker.perceptrons_) == best
    alone = podium.OAPBPM(epochs=2).fit(TRAIN)
    assert (alone.share_, alone.perceptrons_) == (0.3, 100)
    named = podium.OAPBPM(epochs=2, share=0.3, perceptrons=100).fit(TRAIN)
    np.testing.assert_array_equal(alone.predict(TEST), named.predict(TEST))


def test_the_mean_is_the_mean():
    ranker = podium.OAPBPM(epochs=1, share=0.5, perceptrons=7).fit(TRAIN)
    keys, map = document_keys(TRAIN), ranker.model_.map
    documents = _core.OnlineDocuments(
        TRAIN.features, map.center, map.scale, map.filled, TRAIN.labels.astype(np.int32), keys
    )
    core = _core.Perceptrons(6, 3, [0.5] * 7)
    core.run(documents, shuffled_documents(keys, 0, 1), seed=0, round=1, num_threads=1)
    np.testing.assert_allclose(ranker.model_.vector[:-1], core.weights().reshape(7, 6).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(ranker.thresholds_, core.thresholds().reshape(7, 3).mean(axis=0), rtol=1e-12)


# ---- streams


@pytest.mark.parametrize("form", [None, "explicit", "kernel"])
def test_a_stream_in_parts_is_the_stream(form, tmp_path):
    x, y = sample(300, 4, 4, 5)

    def make():
        return podium.PRank(levels=4, **PLAIN) if form is None else podium.QuadraticPRank(form=form, levels=4, **PLAIN)

    whole, parts, saved = make().partial_fit(x, y), make(), make()
    for begin in range(0, 300, 75):
        part = slice(begin, begin + 75)
        parts.partial_fit(x[part], y[part], qid=np.arange(75) // 5)
        saved.partial_fit(podium.RankingData(x[part], y[part], np.zeros(75, int)))
        saved.save(tmp_path / "m")
        saved = podium.load(tmp_path / "m")
    for ranker in (parts, saved):
        np.testing.assert_allclose(ranker.predict(x), whole.predict(x), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(ranker.thresholds_, whole.thresholds_)
        assert ranker.n_epochs_ == 4


def test_a_stream_is_taken_in_the_order_given():
    x, y = sample(120, 4, 4, 6)
    qid = np.random.default_rng(0).integers(0, 9, 120)  # the rows of a query are not contiguous
    w, b, _ = naive_prank.learn(x.astype(np.float64), y, 4)
    ranker = podium.PRank(levels=4, **PLAIN).partial_fit(podium.RankingData(x, y, qid))
    np.testing.assert_array_equal(ranker.model_.vector[:-1], w)
    np.testing.assert_array_equal(ranker.thresholds_, b)


def test_partial_fit_continues_after_fit():
    ranker = podium.PRank(epochs=3).fit(TRAIN)
    before, map = ranker.model_.vector.copy(), ranker.model_.map
    ranker.partial_fit(TEST)
    assert ranker.model_.map is map
    assert not np.array_equal(ranker.model_.vector, before)
    assert ranker.n_epochs_ == 4


def test_many_perceptrons_continue_from_their_own_weights_or_from_their_mean(tmp_path):
    parts = podium.OAPBPM(perceptrons=5, levels=4).partial_fit(TRAIN)
    before = parts.predict(TEST)
    parts.save(tmp_path / "m")
    parts.partial_fit(TEST)
    assert not np.array_equal(parts.predict(TEST), before)
    loaded = podium.load(tmp_path / "m")
    mean, cuts, map = loaded.model_.vector[:-1].copy(), np.rint(loaded.thresholds_), loaded.model_.map
    loaded.partial_fit(TEST)
    core = _core.Perceptrons(6, 3, [0.3] * 5)
    core.set(np.tile(mean, 5), np.tile(cuts, 5))
    documents = _core.OnlineDocuments(
        TEST.features, map.center, map.scale, map.filled, TEST.labels.astype(np.int32), document_keys(TEST, salt=2)
    )
    core.run(documents, np.arange(len(TEST)), seed=0, round=2, num_threads=1)
    np.testing.assert_allclose(loaded.model_.vector[:-1], core.weights().reshape(5, 6).mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(loaded.thresholds_, core.thresholds().reshape(5, 3).mean(axis=0), rtol=1e-9)
    assert not np.array_equal(loaded.predict(TEST), parts.predict(TEST))


def test_streams_that_change_are_refused():
    ranker = podium.PRank(levels=3).partial_fit(np.eye(3), [0, 1, 2])
    before = ranker.predict(np.eye(3))
    with pytest.raises(
        podium.ParameterError, match=r"levels=3 was determined by .* a label is 4; start over with levels=5"
    ):
        ranker.partial_fit(np.eye(3), [0, 1, 4])
    with pytest.raises(ValueError, match="4 features"):
        ranker.partial_fit(np.eye(4), [0, 1, 2, 0])
    with pytest.raises(podium.DataError, match="has 4 features, and the model was trained on 3"):
        ranker.partial_fit(podium.RankingData(np.eye(4), [0, 1, 2, 0], [0] * 4))
    assert ranker.n_features_in_ == 3
    assert ranker.n_epochs_ == 1
    np.testing.assert_array_equal(ranker.predict(np.eye(3)), before)


def test_names_of_a_stream_are_those_of_its_first_part():
    def part(names):
        return podium.RankingData(np.eye(3), [0, 1, 2], [0] * 3, feature_names=names)

    ranker = podium.PRank(levels=3).partial_fit(part(["a", "b", "c"]))
    for names, message in ((["b", "a", "c"], "another order"), (["a", "b", "x"], "unknown: x; missing: c")):
        with pytest.raises(podium.DataError, match=message):
            ranker.partial_fit(part(names))
    ranker.partial_fit(part(None)).partial_fit(part(["a", "b", "c"])).partial_fit(part(None))
    assert ranker.n_epochs_ == 4
    assert ranker.feature_names_ == ranker.scorer_.feature_names == ("a", "b", "c")
    in_order = ranker.predict(part(["a", "b", "c"]))
    np.testing.assert_array_equal(ranker.predict(part(["b", "a", "c"])), in_order[[1, 0, 2]])
    nameless = podium.PRank(levels=3).partial_fit(part(None)).partial_fit(part(["a", "b", "c"]))
    assert nameless.feature_names_ is None


@pytest.mark.parametrize(
    ("ranker", "change"),
    [
        (podium.QuadraticPRank(), {"form": "kernel"}),
        (podium.QuadraticPRank(form="kernel"), {"supports": 10}),
        (podium.OAPBPM(perceptrons=5), {"perceptrons": 10}),
        (podium.OAPBPM(perceptrons=5), {"share": 0.5}),
        (podium.PRank(), {"levels": 9}),
        (podium.PRank(), {"width": 2.0}),
        (podium.PRank(), {"standardize": False}),
    ],
    ids=str,
)
def test_parameters_of_a_stream_are_those_of_its_first_part(ranker, change):
    (name,) = change
    before, known = getattr(ranker, name), ranker.partial_fit(TRAIN).predict(TEST)
    with pytest.raises(podium.ParameterError, match=f"{name}=.* differs from {name}=.*set it back"):
        ranker.set_params(**change).partial_fit(TRAIN)
    np.testing.assert_array_equal(ranker.predict(TEST), known)
    ranker.set_params(**{name: before}, epochs=3).partial_fit(TRAIN)
    assert ranker.n_epochs_ == 2


def test_what_validation_chose_is_kept_by_a_stream(tmp_path):
    ranker = podium.OAPBPM(epochs=3, metric="ndcg@5").fit(NOISY, valid=TEST)
    chosen = ranker.share_, ranker.perceptrons_
    assert chosen != (0.3, 100)
    ranker.save(tmp_path / "m")
    for each in (podium.load(tmp_path / "m"), ranker):
        each.partial_fit(TEST).partial_fit(TRAIN)
        assert (each.share_, each.perceptrons_) == chosen
        assert len(each.stream_["thresholds"]) == 3 * chosen[1]


@pytest.mark.parametrize("kind", ALL)
def test_a_first_part_that_tells_nothing_of_the_features_is_refused(kind):
    x, y = sample(60, 3, 3, 0)
    ranker = kind(levels=3)
    for part in (x[:1], np.repeat(x[:1], 5, axis=0)):
        with pytest.raises(podium.DataError, match=r"every feature is constant.*larger first part.*standardize=False"):
            ranker.partial_fit(part, y[: len(part)])
    assert not hasattr(ranker, "model_")
    for i in range(60):
        ranker.set_params(standardize=False).partial_fit(x[i : i + 1], y[i : i + 1])
    assert np.ptp(ranker.predict(x)) > 0


@pytest.mark.parametrize("kind", ALL)
def test_a_stream_that_diverges_leaves_what_was_known(kind):
    x, y = sample(60, 3, 3, 0)
    ranker = kind(levels=3, standardize=False, width=1e-200).partial_fit(np.zeros((3, 3)), [0, 0, 0])
    known = ranker.predict(x)
    with pytest.raises(podium.DataError, match=r"training diverged in epoch 2: .*a larger width"):
        ranker.partial_fit(x * np.float32(1e30), y)
    assert ranker.n_epochs_ == 1
    np.testing.assert_array_equal(ranker.predict(x), known)


def test_a_function_without_supports_can_be_trained_further(tmp_path):
    x = np.eye(3)
    ranker = podium.QuadraticPRank(form="kernel", levels=2, **PLAIN).partial_fit(x, [1, 1, 1])
    assert ranker.chosen_["supports"] == 0
    ranker.save(tmp_path / "m")
    loaded = podium.load(tmp_path / "m").partial_fit(x, [1, 1, 1])
    assert loaded.chosen_["supports"] == 0
    assert loaded.partial_fit(x, [0, 1, 1]).chosen_["supports"] == len(loaded.model_.alpha) > 0


# ---- what they cannot learn from


@pytest.mark.parametrize("kind", ALL)
def test_labels_weights_and_pairs_that_have_no_meaning_here(kind):
    x = np.eye(4)
    for labels in ([0, 0.5, 1, 2], [-1, 0, 1, 2], [0, 1, 2, 5000]):
        with pytest.raises(podium.DataError, match="labels must be whole levels"):
            kind().fit(x, labels, qid=[0] * 4)
    data = podium.RankingData(x, [0, 1, 2, 0], [0] * 4)
    for part, value in (
        ("document_weights", np.ones(4)),
        ("query_weights", np.ones(1)),
        ("pairs", podium.Pairs.of([0], [1])),
    ):
        with pytest.raises(podium.DataError, match=f"cannot use {part.replace('_', ' ')}"):
            kind().fit(data.replace(**{part: value}))
    with pytest.raises(podium.ParameterError, match="levels=2 allows labels from 0 to 1, but a label is"):
        kind(levels=2).fit(data)


@pytest.mark.parametrize("kind", ALL)
def test_odd_data(kind):
    one = podium.RankingData(np.eye(3), [0, 1, 2], [0, 1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(epochs=2).fit(one)
        level = kind(epochs=2).fit(podium.RankingData(np.eye(3), [0, 0, 0], [0, 0, 0]))
    assert len(level.thresholds_) == 0
    assert level.predict_level(np.eye(3)).tolist() == [0, 0, 0]
    holes = TRAIN.features.copy()
    holes[::3, 1] = np.nan
    holes[:, 2] = np.nan
    assert np.isfinite(kind(epochs=2).fit(TRAIN.replace(features=holes)).predict(holes)).all()
    huge = TRAIN.replace(features=TRAIN.features * np.float32(1e38))
    with pytest.raises(podium.DataError, match=r"diverged|too large"):
        kind(epochs=60, standardize=False, width=1e-200).fit(huge)


def test_wrong_sizes_never_reach_the_core():
    documents = core_documents(np.eye(3), np.array([0, 1, 2]))
    core = _core.Perceptrons(3, 1, [1.0])
    with pytest.raises(ValueError, match="above the thresholds"):
        core.run(documents, np.arange(3), seed=0, round=1, num_threads=1)
    with pytest.raises(ValueError, match="no such row"):
        _core.QuadraticLearner(3, 2).run(documents, np.array([3]), num_threads=1)
    with pytest.raises(ValueError, match="a row of features"):
        _core.SupportLearner(2, 5, 2).run(documents, np.arange(3), num_threads=1)
    with pytest.raises(ValueError, match="has size"):
        _core.quadratic_scores(np.zeros(5), np.eye(3, dtype=np.float32), np.zeros(3), np.ones(3), np.zeros(3), 1)
