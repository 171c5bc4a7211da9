"""The Nadaraya–Watson estimator against its formula: scores, gradients, references, and equal bytes for any threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_forces import BUILT_IN
from test_models import documents, reordered, saved_bytes, small

import podium
from generated import any_schedule
from podium import _core
from podium.models import model
from podium.models.nadaraya_watson import NadarayaWatson, NadarayaWatsonSpec
from podium.models.references import References, document_votes
from podium.training.model_descent import ModelDescent

DRIVING = [name for name in BUILT_IN if podium.force(name).definition.outputs == "one"]
WITH_COST = [name for name in DRIVING if podium.force(name).has_cost]


def naive_scores(inputs, references, labels, mass, widths) -> np.ndarray:
    out = []
    for x in inputs:
        far = 0.5 * (widths**2 * (x - references) ** 2).sum(axis=1)
        near = mass * np.exp(-(far - far[mass > 0].min()))
        out.append((near * labels).sum() / near.sum())
    return np.array(out)


def naive_backward(inputs, references, labels, mass, widths, force) -> np.ndarray:
    scores = naive_scores(inputs, references, labels, mass, widths)
    total = np.zeros(len(widths))
    for x, s, push in zip(inputs, scores, force, strict=True):
        far = 0.5 * (widths**2 * (x - references) ** 2).sum(axis=1)
        near = mass * np.exp(-(far - far[mass > 0].min()))
        share = near / near.sum()
        total += push * -widths * ((share * (labels - s))[:, None] * (x - references) ** 2).sum(axis=0)
    return total


def started(data: podium.RankingData, name: str = "nadaraya-watson", seed: int = 0) -> NadarayaWatson:
    made = model(name).start(data, n_outputs=1, seed=seed)
    assert isinstance(made, NadarayaWatson)
    return made


SHAPES = [(1, 1, 1), (3, 5, 2), (17, 40, 13), (33, 1000, 45), (16, 12, 4), (40, 261, 33), (5, 4, 136)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("keep", [True, False])
def test_scores_and_slopes_are_the_formulas(shape, keep):
    rows, count, features = shape
    rng = np.random.default_rng(sum(shape))
    inputs, references = rng.normal(size=(rows, features)), rng.normal(size=(count, features))
    labels, mass, widths = rng.integers(0, 4, count).astype(float), rng.random(count), rng.random(features)
    mass[rng.random(count) < 0.2] = 0.0
    mass[0] = 1.0
    core = _core.NadarayaWatsonKernel(references)
    core.set_widths(widths)
    with np.errstate(divide="ignore"):
        votes = np.log(mass), labels
    scores = core.scores(inputs, *votes, keep, 2)
    np.testing.assert_allclose(scores, naive_scores(inputs, references, labels, mass, widths), rtol=1e-11, atol=1e-12)
    force = rng.normal(size=rows)
    expected = naive_backward(inputs, references, labels, mass, widths, force)
    found = core.backward(inputs, *votes, force, keep, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * max(np.abs(expected).max(), 1e-300))
    again = core.backward(inputs, *votes, force, keep, 1)  # kept values are used once, and then computed again
    assert again.tobytes() == found.tobytes()


def test_bytes_do_not_depend_on_threads_rows_around_or_avx2():
    rng = np.random.default_rng(0)
    inputs, references = rng.normal(size=(75, 21)), rng.normal(size=(333, 21))
    votes = np.zeros(333), rng.integers(0, 3, 333).astype(float)
    core = _core.NadarayaWatsonKernel(references)
    core.set_widths(rng.random(21))
    force = rng.normal(size=75)

    def everything(threads: int) -> bytes:
        scores = core.scores(inputs, *votes, False, threads)
        return scores.tobytes() + core.backward(inputs, *votes, force, False, threads).tobytes()

    whole = everything(1)
    assert everything(2) == everything(5) == whole
    for i in (0, 15, 16, 74):
        assert core.scores(inputs[i : i + 1], *votes, False, 1).tobytes() == whole[8 * i : 8 * i + 8]
    if _core.use_avx2(True):
        try:
            assert not _core.use_avx2(False)
            assert everything(2) == whole
        finally:
            _core.use_avx2(True)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e8])
def test_where_every_kernel_underflows_the_nearest_document_decides(scale):
    """e^{−½·10⁶} is 0 in 64 bits; as shares of the largest they are still numbers."""
    references = np.array([[0.0], [1.0], [3.0]])
    core = _core.NadarayaWatsonKernel(references)
    core.set_widths(np.array([1000.0 * scale]))
    votes = np.zeros(3), np.array([0.0, 1.0, 2.0])
    far = np.array([[1.9], [2.1], [-50.0], [1e6]])
    found = core.scores(far, *votes, False, 1)
    assert np.isfinite(found).all()
    if scale >= 1:
        assert found.tolist() == [1.0, 2.0, 0.0, 2.0]
    force = core.backward(far, *votes, np.ones(4), False, 1)
    assert np.isfinite(force).all()


@pytest.mark.parametrize("name", WITH_COST)
@pytest.mark.parametrize("spec", ["nadaraya-watson", "nadaraya-watson(leave_out=False)", "nadaraya-watson(references=9, choose='kmeans')"])  # fmt: skip
def test_the_gradient_is_the_slope_of_the_cost(name, spec):
    data, force = small(), podium.force(name)
    descent = ModelDescent(started(data, spec), force, data, 1)
    vector = np.random.default_rng(2).random(descent.size) + 0.2
    order = np.arange(data.n_queries)

    def at(point: np.ndarray) -> tuple[float, np.ndarray]:
        descent.set_parameters(point)
        return descent.gradient(order, per_pair=False, seed=11, round=3, seen=None, cost=True)

    push, slopes = at(vector)[1], np.empty_like(vector)
    for k in range(len(vector)):
        step = np.zeros_like(vector)
        step[k] = 1e-5
        slopes[k] = (at(vector + step)[0] - at(vector - step)[0]) / 2e-5
    scale = max(np.abs(slopes).max(), 1e-300)
    np.testing.assert_allclose(push / scale, -slopes / scale, rtol=0, atol=1e-6)


def without(data: podium.RankingData, query: int) -> np.ndarray:
    return data.document_queries != query


def test_a_querys_own_documents_have_no_vote_in_training():
    data = small()
    held = started(data)
    found = held.scores_in_training(data)
    inputs = held.map(data.features)
    for q in range(data.n_queries):
        others, own = without(data, q), ~without(data, q)
        expected = naive_scores(inputs[own], inputs[others], data.labels[others], np.ones(others.sum()), held.vector)
        np.testing.assert_allclose(found[own], expected, rtol=1e-11)
    every = naive_scores(inputs, inputs, data.labels, np.ones(len(data)), held.vector)
    np.testing.assert_allclose(held.scores(data.features), every, rtol=1e-11)
    assert not np.allclose(found, every)
    alone = started(data, "nadaraya-watson(leave_out=False)")
    assert alone.scores_in_training(data).tobytes() == alone.scores(data.features).tobytes()


def test_what_was_kept_is_used_for_its_own_query_alone():
    data = documents([6, 6, 6], seed=3)
    held, force = started(data), np.random.default_rng(0).normal(size=6)
    parts = [data.select(np.array([q])) for q in range(3)]
    fresh = [started(data).backward_in_training(part, force) for part in parts]
    held.scores_in_training(parts[0])
    assert held.backward_in_training(parts[1], force).tobytes() == fresh[1].tobytes()
    held.scores_in_training(parts[0])
    assert held.backward_in_training(parts[0], force).tobytes() == fresh[0].tobytes()
    held.scores_in_training(parts[2])
    held.vector = 0.5 * held.vector
    other = started(data)
    other.vector = 0.5 * other.vector
    assert held.backward_in_training(parts[2], force).tobytes() == other.backward_in_training(parts[2], force).tobytes()


def test_features_without_a_width_count_for_nothing():
    data = small(missing=0)
    held = started(data)
    widths = held.vector.copy()
    widths[[1, 4]] = 0.0
    held.vector = widths
    moved = data.features.copy()
    moved[:, [1, 4]] += np.float32(5)
    assert held.scores(moved).tobytes() == held.scores(data.features).tobytes()
    force = np.random.default_rng(0).normal(size=len(data))
    inputs = held.map(data.features)
    expected = naive_backward(inputs, inputs, data.labels, np.ones(len(data)), widths, force)
    np.testing.assert_allclose(held.backward(data.features, force), expected, rtol=1e-9, atol=1e-12)
    held.vector = np.zeros(6)
    np.testing.assert_allclose(held.scores(data.features), data.labels.mean(), rtol=1e-12)
    assert not held.backward(data.features, force).any()
    held.vector = widths + 1  # and come back
    np.testing.assert_allclose(
        held.scores(data.features),
        naive_scores(inputs, inputs, data.labels, np.ones(len(data)), widths + 1),
        rtol=1e-11,
    )


def test_a_single_query_uses_its_own_documents():
    data = documents([9], seed=4)
    held = started(data)
    assert not held.leave_out
    assert np.isfinite(held.scores_in_training(data)).all()


def test_document_weights_are_masses():
    weights = np.random.default_rng(5).integers(1, 4, 19).astype(float)
    weighed = started(small(document_weights=weights))
    inputs = weighed.map(small().features)
    expected = naive_scores(inputs, inputs, small().labels, weights, weighed.vector)
    np.testing.assert_allclose(weighed.scores(small().features), expected, rtol=1e-11)
    none = started(small(document_weights=np.zeros(19)))  # no other query has a reference, so the query uses its own
    assert np.isfinite(none.scores(small().features)).all()
    assert np.isfinite(none.scores_in_training(small())).all()


def test_votes_of_documents_known_by_pairs_alone():
    pairs = podium.Pairs.of([0, 1, 0], [1, 2, 2], [1.0, 0.75, 1.0], [1.0, 2.0, 1.0])
    data = podium.RankingData(np.eye(5), np.zeros(5), [0, 0, 0, 0, 1], pairs=pairs)
    assert document_votes(data).tolist() == [1.0, (0 + 2 * 0.75) / 3, (2 * 0.25 + 0) / 3, 0.5, 0.5]
    labeled = data.replace(labels=np.array([0.0, 1, 2, 0, 0]))
    assert document_votes(labeled).tolist() == [0.0, 1, 2, 0, 0]


# ---- few references for many documents


@pytest.mark.parametrize("choose", ["sample", "kmeans"])
def test_references_are_capped_and_follow_no_order(choose):
    data = documents([30] * 10, 4, seed=6, missing=0)
    spec = f"nadaraya-watson(references=40, choose={choose!r})"
    held, turned = started(data, spec), started(reordered(data, 1), spec)
    assert len(held.references.inputs) <= 40
    assert held.references.inputs.tobytes() == turned.references.inputs.tobytes()
    assert held.references.mass.sum() == (40 if choose == "sample" else 300)
    assert {*held.references.shares} <= {*data.query_ids.tolist()}
    other = started(data, spec, seed=1)
    assert held.references.inputs.shape != other.references.inputs.shape or not np.array_equal(
        held.references.inputs, other.references.inputs
    )


def test_centers_are_means_of_their_documents_and_lose_a_querys_own():
    data = documents([30] * 10, 3, seed=7, missing=0)
    held = started(data, "nadaraya-watson(references=12, choose='kmeans')")
    inputs, kept = held.map(data.features), held.references
    of = ((inputs[:, None] - kept.inputs) ** 2).sum(axis=2).argmin(axis=1)
    for t in range(len(kept.inputs)):
        np.testing.assert_allclose(kept.labels[t], data.labels[of == t].mean(), rtol=1e-12)
        assert kept.mass[t] == (of == t).sum()
    for q, name in enumerate(data.query_ids.tolist()):
        log_mass, labels = kept.votes_without(name)
        others = without(data, q)
        for t in range(len(kept.inputs)):
            left = others & (of == t)
            assert math.isclose(np.exp(log_mass[t]), left.sum(), rel_tol=1e-12) or left.sum() == 0
            if left.any():
                np.testing.assert_allclose(labels[t], data.labels[left].mean(), rtol=1e-12)
    spread = [((inputs - at[of]) ** 2).sum() for at in (kept.inputs, started(data, "nadaraya-watson(references=12)").references.inputs)]  # fmt: skip
    assert spread[0] < spread[1]


def test_a_query_that_has_every_reference_uses_them_all():
    data = documents([30, 1], 3, seed=8, missing=0)
    for seed in range(4):
        held = started(data, "nadaraya-watson(references=2)", seed)
        assert np.isfinite(held.scores_in_training(data)).all()


# ---- as any other model


@pytest.mark.parametrize("name", DRIVING)
def test_any_force_drives_it(name):
    data = documents([8, 1, 6, 9, 7], 5, seed=9)
    ranker = podium.Ranker(force=name, model="nadaraya-watson", schedule="adam(epochs=3, rate=0.05)").fit(data)
    assert np.isfinite(ranker.predict(data)).all()
    assert not np.array_equal(ranker.model_.vector, started(data).vector)


@pytest.mark.parametrize("options", [{"optimizer": "adam"}, {"optimizer": "sgd", "batch": 3, "l2": 0.1}, {"optimizer": "lbfgs"}])  # fmt: skip
@pytest.mark.parametrize("choose", ["sample", "kmeans"])
def test_bytes_of_a_trained_model(options, choose, tmp_path):
    data = documents([3, 9, 1, 4, 8, 2, 11, 5], seed=13)
    valid = documents([4, 4, 6, 3], seed=14)
    files = []
    for seed, threads in ((0, 1), (1, 2), (2, 5)):
        ranker = podium.Ranker(
            force="ranknet",
            model=f"nadaraya-watson(references=20, choose={choose!r})",
            num_threads=threads,
            **any_schedule(f"nadaraya-watson(references=20, choose={choose!r})", epochs=4, **options),
        )
        train, judged = (data, valid) if seed == 0 else (reordered(data, seed), reordered(valid, seed))
        files.append(saved_bytes(ranker.fit(train, valid=judged), tmp_path / "a.podium"))
    assert files[0] == files[1] == files[2]
    again = podium.load(tmp_path / "a.podium")
    assert again.predict(valid).tobytes() == ranker.predict(valid).tobytes()


def test_several_scores_per_document_are_refused():
    with pytest.raises(podium.ParameterError, match="gives one score per document, but this force needs 4"):
        podium.Ranker(force="multiclass", model="nadaraya-watson").fit(small())


def test_missing_constant_and_huge_features():
    data = documents([6, 6], 5, seed=18, missing=0)
    X = data.features.copy()
    X[::3, 0], X[:, 1], X[:, 2] = np.nan, 0.1, np.nan
    for spec in ("nadaraya-watson", "nadaraya-watson(standardize=False)"):
        ranker = podium.Ranker(force="ranknet", model=spec, **any_schedule(spec, epochs=5, learning_rate=0.1)).fit(
            data.replace(features=X)
        )
        filled = X.copy()
        filled[::3, 0] = np.nanmean(X[:, 0].astype(np.float64))
        np.testing.assert_allclose(ranker.predict(filled), ranker.predict(X), rtol=1e-5)
        big = data.replace(features=(data.features * 1e30).astype(np.float32))
        again = podium.Ranker(force="ranknet", model=spec, **any_schedule(spec, epochs=3)).fit(big)
        assert np.isfinite(again.predict(big)).all()
        assert np.isfinite(ranker.predict(big)).all()


def test_names_print_and_read_back():
    for spec in (
        NadarayaWatsonSpec(),
        NadarayaWatsonSpec(references=50, choose="kmeans", leave_out=False, standardize=False),
    ):
        assert model(str(spec)) == spec
    assert model("Nadaraya-Watson(references=5)") == NadarayaWatsonSpec(references=5)
    for wrong, message in (
        ("nadaraya-watson(references=0)", "references=0 must be a whole number from 1"),
        ("nadaraya-watson(choose='all')", "choose='all' must be one of"),
        ("nadaraya-watson(leave_out=1)", "leave_out=1 must be True or False"),
        ("nadaraya-watsn", "Did you mean 'nadaraya-watson'"),
        ("nadaraya-watson(width=1)", "unknown parameter of nadaraya-watson"),
        ("nadaraya - watson", "cannot be read"),
        ("nadaraya-watson-", "cannot be read"),
    ):
        with pytest.raises(podium.ParameterError, match=message):
            model(wrong)


def test_wrong_numbers_never_reach_the_core():
    core = _core.NadarayaWatsonKernel(np.zeros((4, 3)))
    good: dict[str, Any] = {"inputs": np.zeros((2, 3)), "log_mass": np.zeros(4), "labels": np.zeros(4)}
    for name, wrong in (("inputs", np.zeros((2, 2))), ("log_mass", np.zeros(3)), ("labels", np.zeros(5))):
        with pytest.raises(ValueError, match="does not fit"):
            core.scores(**good | {name: wrong}, keep=False, num_threads=1)
    with pytest.raises(ValueError, match="does not fit"):
        core.backward(**good, force=np.zeros(3), kept=False, num_threads=1)
    with pytest.raises(ValueError, match="does not fit"):
        core.set_widths(np.zeros(2))
    with pytest.raises(ValueError, match="no references"):
        _core.NadarayaWatsonKernel(np.zeros((0, 3)))
    held = started(small())
    with pytest.raises(podium.DataError, match="one per feature"):
        held.vector = np.zeros(5)
    with pytest.raises(podium.DataError, match=r"4 features.*trained on 6"):
        held.scores(np.zeros((2, 4), np.float32))
    arrays = held.arrays()
    for name, value in (
        ("mass", np.zeros(19)),
        ("mass", -np.ones(19)),
        ("labels", np.zeros(3)),
        ("widths", np.zeros(2)),
    ):
        with pytest.raises(podium.DataError):
            NadarayaWatson.restore({}, arrays | {name: value})
    empty = References(np.zeros((1, 2)), np.zeros(1), np.ones(1), {})
    assert empty.votes_without("nobody")[0].tolist() == [0.0]
