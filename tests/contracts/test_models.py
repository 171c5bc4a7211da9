"""Every model can be fitted to every force: gradients, threads, orders and extreme values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import naive_net
import numpy as np
import pytest
from scipy.special import expit
from test_forces import BUILT_IN, EVERY

import podium
from generated import any_schedule
from podium import _core
from podium.data.canonical import canonical_order
from podium.forces import Force
from podium.models import MODELS, CoreModel, Model, model
from podium.models.inputs import InputMap
from podium.models.net import Net
from podium.training.model_descent import ModelDescent
from podium.training.schedules.gradient import Adam
from podium.training.steps import Task, make_descent

SPECS = [
    "linear",
    "linear(standardize=False)",
    "net(5)",
    "net(13, 4, activation='sigmoid')",
    "net(6, activation='relu')",
    "net(5, output='tanh')",
    "kernel(rbf, landmarks=7)",
    "kernel(poly)",
    "kernel(linear)",
    "quadratic",
]
OWN_CONTRACT = {"trees", "nadaraya-watson"}  # models whose contracts have a file of their own
SPECS += sorted(set(MODELS) - {model(spec).name for spec in SPECS} - OWN_CONTRACT)
OF_THE_CORE = [spec for spec in SPECS if spec != "quadratic"]  # which has its own backward pass
FEW_SPECS = ["linear", "net(5)", "kernel(rbf, landmarks=7)"]
WITH_COST = [name for name in EVERY if podium.force(name).has_cost]
ADDITIVE = ["ranknet", "ranknet(ties=True)", "hinge", "squared_hinge", "exponential", "spring(margin=1)"]  # over pairs


def by_spec(specs=SPECS):
    return pytest.mark.parametrize("spec", specs)


def by_force(names):
    return pytest.mark.parametrize("name", names)


def documents(sizes, n_features=6, *, seed=0, missing=0.1, **parts: Any) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), n_features)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    labels = rng.integers(0, 4, len(X)).astype(float)
    labels[0] = 3  # so that every seed has the same number of levels
    return podium.RankingData(X, labels, np.repeat([f"q{k}" for k in range(len(sizes))], sizes), **parts)


def small(**parts: Any) -> podium.RankingData:
    return documents([5, 1, 7, 2, 4], seed=1, **parts)


def begin(force: Force, spec: str, data: podium.RankingData, *, num_threads=1) -> Task:
    found = model(spec).start(data, n_outputs=force.n_outputs(data), seed=0)
    return Task(force, found, data, 11, num_threads)


def point(descent, *, seed=2, scale=0.5) -> np.ndarray:
    """Set the parameters to ordinary random values and return them."""
    vector = np.random.default_rng(seed).normal(size=descent.size) * scale
    descent.set_parameters(vector)
    return vector


def gradient(descent, data, *, queries=None, per_pair=False, seen=None) -> tuple[float, np.ndarray]:
    order = np.arange(data.n_queries) if queries is None else queries
    return descent.gradient(order, per_pair=per_pair, seed=11, round=3, seen=seen, cost=True)


def pass_over(descent, data, *, optimizer="sgd", batch=1, l2=0.0, rate=0.05, per_pair=False, seen=None, cost=False):
    return descent.run(
        np.random.default_rng(3).permutation(data.n_queries),
        optimizer=_core.Optimizer[optimizer],
        rate=rate,
        l2=l2,
        batch=batch,
        per_pair=per_pair,
        cost=cost,
        seed=11,
        round=3,
        seen=seen,
    )


def twin_of(task: Task) -> tuple[np.ndarray, tuple[int, ...], tuple[str, str]]:
    """(inputs, widths, activation and transfer of the output) of the plain net that a model of the core is."""
    assert isinstance(task.model, CoreModel)
    prepared = task.model.prepare(task.data.features)
    x = naive_net.inputs(prepared.features, prepared.map)
    if isinstance(task.model, Net):
        return x, task.model.widths, (task.model.activation, task.model.output)
    return x, (x.shape[1], task.model.n_outputs), ("tanh", "identity")


def values_of(force: Force, data: podium.RankingData, free: np.ndarray, slope: int | None = None) -> np.ndarray:
    """The values of a force's own parameters, or their slopes in one of the free numbers that stand for them."""
    if not len(free):
        return free
    if force.definition.has_thresholds:  # the first, and the logs of the steps
        steps = np.append(free[:1], np.exp(free[1:]))
        moved = (np.arange(len(free)) == slope) * np.append(1.0, np.exp(free[1:]))
        return np.cumsum(steps if slope is None else moved)
    values, slopes = np.empty(len(free)), np.empty(len(free))
    for k, kind in enumerate(force.own_parameters(data).kinds):
        rise = {"positive": np.exp, "correlation": lambda x: (1 - 1e-6) * expit(x)}[kind.name]
        values[k] = rise(free[k])
        slopes[k] = values[k] if kind.name == "positive" else values[k] * (1 - expit(free[k]))
    return values if slope is None else slopes * (np.arange(len(free)) == slope)


def naive_gradient(task: Task, vector: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(cost, force · ∂s/∂parameter, scores)."""
    force, data = task.force, task.data
    own = force.n_parameters(data)
    x, widths, activation = twin_of(task)
    weights, held = vector[: len(vector) - own], vector[len(vector) - own :]
    scores = naive_net.forward(weights, widths, activation, x)[-1]
    scores = scores[:, 0] if task.n_outputs == 1 else scores
    outcome = force.compute(
        scores,
        podium.forces.ForceData(data),
        parameters=values_of(force, data, held),
        cost=force.has_cost,
        seed=11,
        round=3,
    )
    push = naive_net.backward(weights, widths, activation, x, outcome.force)
    if own:
        on_each = outcome.parameter_force.sum(axis=0)
        push = np.append(push, [values_of(force, data, held, slope=k) @ on_each for k in range(own)])
    return (0.0 if outcome.cost is None else float(outcome.cost.sum())), push, scores


def assert_close(found, expected, rtol=1e-9):
    scale = max(np.abs(expected).max(), 1e-300)
    np.testing.assert_allclose(np.asarray(found) / scale, np.asarray(expected) / scale, rtol=0, atol=rtol)


@pytest.fixture
def any_machine() -> Iterator[None]:
    """For tests that switch AVX-512 and AVX2 off; they are skipped on machines without AVX2."""
    if not _core.use_avx2(True):
        pytest.skip("this machine has no AVX2")
    yield
    _core.use_avx2(True)
    _core.use_avx512(True)


def test_every_force_and_model_is_in_the_contract():
    assert {model(spec).name for spec in SPECS} == set(MODELS) - OWN_CONTRACT
    assert {podium.force(name).name for name in BUILT_IN} == set(podium.forces.FORCES)


# ---- gradients


@by_spec()
@by_force(WITH_COST)
def test_the_gradient_is_the_slope_of_the_cost(name, spec):
    data = small()
    task = begin(podium.force(name), spec, data)
    descent = make_descent(task)
    vector = point(descent)
    cost, push = gradient(descent, data)
    if spec in OF_THE_CORE:
        assert_close(cost, naive_gradient(task, vector)[0])
    slopes = np.empty_like(vector)
    for k in range(len(vector)):
        step = 1e-5
        ends = []
        for sign in (1, -1):
            moved = vector.copy()
            moved[k] += sign * step
            descent.set_parameters(moved)
            ends.append(gradient(descent, data)[0])
        slopes[k] = (ends[0] - ends[1]) / (2 * step)
    assert_close(push, -slopes, 1e-6)


@by_spec(OF_THE_CORE)
@by_force(EVERY)
def test_core_model_and_plain_twin_give_one_gradient(name, spec):
    data = small()
    task = begin(podium.force(name), spec, data)
    descent = make_descent(task)
    vector = point(descent)
    seen = np.zeros(data.n_documents * task.n_outputs)
    cost, push = gradient(descent, data, seen=seen)
    expected_cost, expected, scores = naive_gradient(task, vector)
    assert_close(seen.reshape(scores.shape), scores, 1e-12)
    assert_close(push, expected, 1e-11)
    if task.force.has_cost:
        assert_close(cost, expected_cost, 1e-11)
    own = task.force.n_parameters(data)
    held = vector[len(vector) - own :]
    task.model.vector = vector[: len(vector) - own]
    assert_close(task.model.scores(data.features), scores, 1e-12)
    pushes = task.force.compute(
        task.model.scores(data.features),
        podium.forces.ForceData(data),
        parameters=values_of(task.force, data, held),
        seed=11,
        round=3,
    ).force
    assert_close(task.model.backward(data.features, pushes), expected[: len(vector) - own], 1e-11)


@by_spec(FEW_SPECS)
@by_force(
    [
        "ranknet",
        "hinge",
        "squared_hinge",
        "exponential",
        "lambdarank(ndcg@5)",
        "structrank",
        "structrank(independent)",
        "structrank(random, partners=1)",
        "listnet",
        "ordinal",
        "multiclass",
    ]
)
def test_weights_and_pairs_count_as_they_do_in_the_force(name, spec):
    rng = np.random.default_rng(4)
    plain = small()
    weighted = small(document_weights=rng.random(19), query_weights=rng.random(5) + 0.5)
    paired = small(pairs=podium.Pairs.of([0, 1, 6, 12, 18], [4, 0, 12, 6, 15], [1, 0.3, 0.5, 0.9, 0], [1, 2, 3, 1, 1]))
    over = podium.force(name).definition.over
    for data in (weighted, paired):
        task = begin(podium.force(name), spec, data)
        if over == "lists" or (over == "points" and data is paired):
            with pytest.raises(podium.DataError, match="has no use for"):
                Adam().make_steps(task)
            continue
        descent = make_descent(task)
        vector = point(descent)
        cost, push = gradient(descent, data)
        expected_cost, expected, _ = naive_gradient(task, vector)
        assert_close(push, expected, 1e-11)
        assert_close(cost, expected_cost, 1e-11)
        other = make_descent(begin(podium.force(name), spec, plain))
        other.set_parameters(vector)
        assert not np.allclose(push, gradient(other, plain)[1])


@by_spec(FEW_SPECS)
def test_the_cost_of_pairs_far_apart_is_their_gap(spec):
    data = small(missing=0.0)
    task = begin(podium.force("ranknet"), spec, data)
    descent = make_descent(task)
    for scale in (1.0, 10.0, 40.0, 1e3, 1e8):
        vector = point(descent, scale=scale)
        cost, _ = gradient(descent, data)
        scores = naive_gradient(task, vector)[2]
        higher = (data.labels[:, None] > data.labels) & (data.document_queries[:, None] == data.document_queries)
        expected = np.logaddexp(0, -(scores[:, None] - scores))[higher].sum()
        np.testing.assert_allclose(cost, expected, rtol=1e-9, err_msg=f"scores up to {np.abs(scores).max():g}")


@by_spec(FEW_SPECS)
@by_force([name for name in EVERY if not podium.force(name).draws])
def test_the_order_of_documents_inside_queries_does_not_matter(name, spec):
    data = small()
    task = begin(podium.force(name), spec, data)
    rng = np.random.default_rng(5)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(data.query_offsets)])
    turned = podium.RankingData(data.features[order], data.labels[order], data.qid[order])
    here, there = make_descent(task), make_descent(Task(task.force, task.model, turned, 11, 1))
    vector = point(here)
    there.set_parameters(vector)
    seen = [np.zeros((len(data), task.n_outputs)) for _ in range(2)]
    pushes = [
        gradient(descent, data, seen=out.reshape(-1))[1] for descent, out in zip((here, there), seen, strict=True)
    ]
    assert seen[0][order].tobytes() == seen[1].tobytes()
    assert_close(pushes[1], pushes[0], 1e-9)


# ---- V1 and V2: one update per pair, one update per query


GIVEN = podium.Pairs.of(
    [0, 1, 6, 12, 18, 0, 7], [4, 0, 12, 6, 15, 4, 8], [1, 0.3, 0.5, 0.9, 0, 0.7, 1], [1, 2, 3, 1, 1, 0.5, 1]
)


@by_spec(FEW_SPECS)
@by_force(ADDITIVE)
@pytest.mark.parametrize("parts", ["labels", "weights", "pairs"])
def test_pair_by_pair_and_query_by_query_are_one_gradient(name, spec, parts):
    rng = np.random.default_rng(6)
    given: dict[str, Any] = {
        "labels": {},
        "weights": {"document_weights": rng.random(19), "query_weights": rng.random(5) + 0.5},
        "pairs": {"pairs": GIVEN},
    }
    data = small(**given[parts])
    descent = make_descent(begin(podium.force(name), spec, data))
    point(descent)
    by_query, by_pair = gradient(descent, data), gradient(descent, data, per_pair=True)
    assert np.abs(by_query[1]).max() > 1e-3
    assert_close(by_pair[1], by_query[1], 1e-12)
    assert_close(by_pair[0], by_query[0], 1e-12)


def pairs_in_order(data: podium.RankingData, query: int, ties: bool) -> list[tuple[int, int]]:
    begin, end = data.query_offsets[query : query + 2]
    return [(i, j) for i in range(begin, end) for j in range(i + 1, end) if data.labels[i] != data.labels[j] or ties]


@by_force(["ranknet", "ranknet(ties=True)", "squared_hinge"])
@by_spec(FEW_SPECS)
def test_an_epoch_of_pairs_takes_one_small_step_per_pair(name, spec):
    """Each step descends the cost of one pair, and the pairs of a query share its penalty."""
    data = small()
    task = begin(podium.force(name), spec, data)
    descent = make_descent(task)
    vector = point(descent)
    seen = np.zeros(len(data))
    pass_over(descent, data, per_pair=True, batch=0, l2=0.3, seen=seen)
    mask = task.model.penalized
    expected_seen = np.zeros(len(data))
    x, widths, activation = twin_of(task)
    for query in np.random.default_rng(3).permutation(data.n_queries):
        pairs = pairs_in_order(data, query, "ties" in name)
        rows = slice(*data.query_offsets[query : query + 2])
        expected_seen[rows] = naive_net.forward(vector, widths, activation, x[rows])[-1][:, 0]
        for pair in pairs:
            rows = list(pair)
            two = podium.RankingData(data.features[rows], data.labels[rows], [0, 0])
            scores = naive_net.forward(vector, widths, activation, x[rows])[-1][:, 0]
            push = naive_net.backward(vector, widths, activation, x[rows], task.force(scores, two)[0])
            vector = vector + 0.05 * (push - 0.3 / len(pairs) * mask * vector)
    assert_close(descent.parameters(), vector, 1e-11)
    assert_close(seen, expected_seen, 1e-11)
    assert descent.updates == sum(len(pairs_in_order(data, q, "ties" in name)) for q in range(data.n_queries))


@pytest.mark.parametrize("batch", [1, 2])
@by_force(["ranknet", "pairwise_regression(ties=True)", "squared_hinge"])
@by_spec(FEW_SPECS)
def test_updates_per_query_are_the_same_pair_by_pair(name, spec, batch):
    """RankNet's first version with one update per query goes where the second does, document by document."""
    data, ends = small(), []
    for per_pair in (False, True):
        descent = make_descent(begin(podium.force(name), spec, data))
        point(descent)
        seen = np.zeros(len(data))
        cost = pass_over(descent, data, per_pair=per_pair, batch=batch, l2=0.3, rate=0.02, seen=seen, cost=True)
        ends.append((descent.parameters(), seen, cost, descent.updates))
    for found, expected in zip(*ends, strict=True):
        assert_close(found, expected, 1e-11)


@by_force(["lambdarank(ndcg@10)", "step(ndcg@5)", "neighbors(ranknet)", "structrank", "structrank(independent)", "listnet", "listmle", "xendcg", "squared", "ordinal", "multiclass", "custom_forces:ranknet"])  # fmt: skip
def test_forces_that_are_no_sum_over_pairs_are_refused_pair_by_pair(name):
    with pytest.raises(
        podium.ParameterError, match="batch='pair' needs a force that is a sum over pairs such as ranknet"
    ):
        podium.Ranker(force=name, schedule="adam(batch='pair')").fit(small())


# ---- the core's descent and its slow version in Python


@by_spec(FEW_SPECS)
@by_force(["ranknet", "lambdarank(ndcg@5)", "xendcg", "squared", "ordinal", "multiclass", "structrank", "custom_forces:ranknet"])  # fmt: skip
@pytest.mark.parametrize("batch", [1, 3, 5])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_epoch_of_the_core_is_an_epoch_in_python(name, spec, batch, optimizer):
    data = small()
    force = podium.force(name)
    task = begin(force, spec, data)
    fast, slow = make_descent(task), ModelDescent(task.model, force, data, 1)
    vector = point(fast)
    near = 1e-7 if optimizer == "adam" else 1e-9  # Adam magnifies the rounding of sums that cancel out, as of the bias
    if force.n_parameters(data):
        vector[-2:] = -0.5, 0.3
        fast.set_parameters(vector)
    slow.set_parameters(vector)
    seen = [np.zeros(len(data) * task.n_outputs) for _ in range(2)]
    for l2 in (0.0, 0.2):
        costs = [
            pass_over(descent, data, optimizer=optimizer, batch=batch, l2=l2, seen=out, cost=force.has_cost)
            for descent, out in zip((fast, slow), seen, strict=True)
        ]
        assert_close(costs[0], costs[1], near)
        assert_close(seen[0], seen[1], near)
        assert_close(fast.parameters(), slow.parameters(), 10 * near)
        for a, b in zip(fast.moments(), slow.moments(), strict=True):
            assert_close(a, b, 1e-8)
        assert fast.updates == slow.updates
    assert not np.allclose(fast.parameters(), vector, atol=1e-3)


@pytest.mark.parametrize("feature", [1.0, 1e-8])
def test_adam_follows_its_formula(feature):
    """One parameter, by hand: the step is rate · m̂ / (√v̂ + ε). Gradients as small as ε show where ε is added."""
    data = podium.RankingData([[feature], [0.0]], [1.0, 0.0], [0, 0])
    feature = float(data.features[0, 0])
    task = begin(podium.force("hinge"), "linear(standardize=False)", data)
    for descent in (make_descent(task), ModelDescent(task.model, task.force, data, 1)):
        descent.set_parameters(np.zeros(2))
        m = v = w = 0.0
        for t in range(1, 6):
            pass_over(descent, data, optimizer="adam", rate=0.1)
            g = feature if w * feature < 1 else 0.0
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w += 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
            np.testing.assert_allclose(descent.parameters()[0], w, rtol=1e-12)


# ---- the same bytes for any number of threads, with AVX-512, with AVX2 and without


def wide(sizes=(60,) * 20, n_features=40) -> podium.RankingData:
    return documents(sizes, n_features, seed=7, missing=0.02)


THREADED_SPECS = ["linear", "net(24, 13)", "kernel(rbf, landmarks=64)"]


def everything(task: Task, *, batch: int) -> list[bytes]:
    """Gradient, an epoch of each optimizer, and scores."""
    descent = make_descent(task)
    vector = point(descent, scale=0.1)
    seen = np.zeros(len(task.data) * task.n_outputs)
    cost, push = gradient(descent, task.data, seen=seen)
    out = [np.array(cost).tobytes(), push.tobytes(), seen.tobytes()]
    for optimizer in ("sgd", "adam"):
        descent.set_parameters(vector)
        pass_over(descent, task.data, optimizer=optimizer, batch=batch, l2=0.01, rate=0.01, seen=seen)
        out += [descent.parameters().tobytes(), seen.tobytes()]
    own = task.force.n_parameters(task.data)
    task.model.vector = descent.parameters()[: len(vector) - own]
    out.append(task.model.scores(task.data.features, num_threads=task.num_threads).tobytes())
    force = np.random.default_rng(8).normal(size=(len(task.data), task.n_outputs))
    out.append(task.model.backward(task.data.features, force, num_threads=task.num_threads).tobytes())
    assert all(np.isfinite(np.frombuffer(part)).all() for part in out)
    return out


def assert_shared(task: Task, queries: int) -> None:
    """Check that a batch of this many queries is large enough to be shared by threads (NetBatch::worth)."""
    _, widths, _ = twin_of(task)
    rows = task.data.query_sizes[:queries].sum()
    assert rows * sum(a * b for a, b in itertools.pairwise(widths)) > 200_000 or rows > 500


@by_spec(THREADED_SPECS)
@by_force(EVERY)
def test_bytes_are_the_same_for_any_number_of_threads(name, spec):
    data = wide()
    runs = []
    for threads in (1, 2, 5):
        task = begin(podium.force(name), spec, data, num_threads=threads)
        assert_shared(task, 10)
        runs.append(everything(task, batch=10))
    assert runs[0] == runs[1] == runs[2]


@by_spec([*THREADED_SPECS, "net(90, 50, activation='relu')", "net(200, 120, activation='relu')"])
@by_force(["ranknet", "lambdarank(ndcg@10)", "hinge", "multiclass", "ordinal"])
@pytest.mark.parametrize("batch", [1, 8])
def test_long_queries_are_shared_to_the_same_bytes(name, spec, batch):
    """One query at a time, longer than a block of the cache; nets with more parameters than one thread updates, and with
    more than a query has a gradient of its own for."""
    data = wide([2700, 3, 1, 2600, 40, 40, 40, 40], 50)
    runs = [everything(begin(podium.force(name), spec, data, num_threads=threads), batch=batch) for threads in (1, 5)]
    assert runs[0] == runs[1]
    assert _core.DenseNet([50, 90, 50, 1], _core.Activation.relu).size > 4096
    assert _core.DenseNet([50, 200, 120, 1], _core.Activation.relu).size > 1 << 15


@by_spec([*THREADED_SPECS, "net(7, 5, 3, activation='sigmoid')", "net(9, activation='relu')"])
@by_force(BUILT_IN)
def test_bytes_are_the_same_without_avx2(name, spec, any_machine):
    data = wide([33] * 6, 13)
    with_all = everything(begin(podium.force(name), spec, data, num_threads=2), batch=4)
    assert not _core.use_avx512(False)
    assert everything(begin(podium.force(name), spec, data, num_threads=2), batch=4) == with_all
    assert not _core.use_avx2(False)
    assert everything(begin(podium.force(name), spec, data, num_threads=2), batch=4) == with_all


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (3, 4, 5), (33, 40, 13), (70, 129, 25), (64, 7, 12), (37, 20, 10), (5, 0, 3), (0, 3, 3)]
)
def test_products_do_not_depend_on_the_rows_around(shape, any_machine):
    rows, depth, columns = shape
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(rows, depth)), rng.normal(size=(depth, columns))
    whole = _core.matrix_product(a, b, 3).reshape(rows, columns)
    np.testing.assert_allclose(whole, a @ b, rtol=1e-12, atol=1e-12)
    for i in range(rows):
        alone = _core.matrix_product(a[i : i + 1], b, 1)
        assert alone.tobytes() == whole[i].tobytes()
    for use in (_core.use_avx512, _core.use_avx2):
        use(False)
        assert _core.matrix_product(a, b, 1).tobytes() == whole.tobytes()


@by_spec()
def test_the_score_of_a_document_does_not_depend_on_the_others(spec):
    data = small()
    for name in ("ranknet", "multiclass"):
        task = begin(podium.force(name), spec, data)
        task.model.vector = np.random.default_rng(10).normal(size=task.model.vector.shape)
        for kept in (task.model, task.model.finished()):
            rows = documents([5000], seed=12).features
            whole = kept.scores(rows, num_threads=2)
            assert kept.scores(rows[7:4003]).tobytes() == whole[7:4003].tobytes()
            for i in (0, 1, 2047, 2048, 4096, 4999):
                assert kept.scores(rows[i : i + 1]).tobytes() == whole[i : i + 1].tobytes()


# ---- the order of queries in the file


def saved_bytes(ranker, path) -> bytes:
    ranker.save(path)
    return path.read_bytes()


def reordered(data: podium.RankingData, seed: int) -> podium.RankingData:
    return data.select(np.random.default_rng(seed).permutation(data.n_queries))


@by_spec(["linear", "net(5)", "kernel(rbf, landmarks=20)", "kernel(poly)"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ranknet", {"optimizer": "adam", "batch": 3, "learning_rate": 0.01}),
        ("lambdarank(map)", {"optimizer": "sgd", "rate_rule": "shrink", "learning_rate": 0.1}),
        ("listmle", {"optimizer": "adam", "l2": 0.01}),
        ("xendcg", {"optimizer": "lbfgs", "l2": 0.1}),
        ("hinge", {"optimizer": "sgd", "batch": "pair", "rate_rule": "halve", "learning_rate": 0.1}),
        ("ordinal", {"optimizer": "adam", "batch": 100, "learning_rate": 0.1}),
        ("multiclass", {"optimizer": "lbfgs"}),
    ],
)
def test_the_order_of_queries_does_not_change_a_byte(spec, name, options, tmp_path):
    data = documents([3, 9, 1, 4, 8, 2, 11, 5], seed=13, query_weights=np.linspace(0.5, 2, 8))
    spread = 10.0 ** np.random.default_rng(15).uniform(-6, 0, data.features.shape)  # so that sums round
    data = data.replace(features=(data.features * spread).astype(np.float32))
    valid = documents([4, 4, 6, 3], seed=14)
    files = []
    for seed in (0, 1, 2):
        train, judged = (data, valid) if seed == 0 else (reordered(data, seed), reordered(valid, seed))
        ranker = podium.Ranker(force=name, model=spec, **any_schedule(spec, epochs=5, **options))
        files.append(saved_bytes(ranker.fit(train, valid=judged), tmp_path / "a.podium"))
    assert files[0] == files[1] == files[2]
    other = podium.Ranker(force=name, model=spec, seed=1, **any_schedule(spec, epochs=5, **options)).fit(
        data, valid=valid
    )
    deterministic = spec == "kernel(poly)" or (spec == "linear" and "lbfgs" in options.values())
    if not deterministic or name == "xendcg":
        assert saved_bytes(other, tmp_path / "b.podium") != files[0]  # the comparison above could have failed


def test_pairs_keep_their_bytes_in_any_order_of_queries(tmp_path):
    data = documents([3, 9, 4, 8], seed=15, pairs=podium.Pairs.of([0, 4, 12, 16, 23], [1, 9, 13, 20, 17], 0.8))
    files = [
        saved_bytes(podium.RankNet(epochs=3).fit(reordered(data, seed)), tmp_path / "a.podium") for seed in (1, 2, 3)
    ]
    assert files[0] == files[1] == files[2]


def test_more_documents_than_a_block_keep_their_bytes(tmp_path):
    data = documents([250] * 70, 3, seed=16)
    spread = 10.0 ** np.random.default_rng(17).uniform(-9, 9, data.features.shape)  # so that sums round
    data = data.replace(features=(data.features * spread).astype(np.float32))
    files = [saved_bytes(podium.ListNet(epochs=1).fit(reordered(data, seed)), tmp_path / "a.podium") for seed in (1, 2)]
    assert files[0] == files[1]


# ---- extremes


@by_spec(FEW_SPECS)
@by_force(EVERY)
def test_huge_weights_give_finite_gradients(name, spec):
    data = small()
    task = begin(podium.force(name), spec, data)
    descent = make_descent(task)
    own = task.force.n_parameters(data)
    for scale in (1e30, 1e3):
        vector = point(descent, scale=scale)
        vector[len(vector) - own :] = 0.1
        descent.set_parameters(vector)
        seen = np.zeros(len(data) * task.n_outputs)
        cost, push = gradient(descent, data, seen=seen)
        assert np.isfinite(push).all()
        assert math.isfinite(cost)
        assert np.isfinite(seen).all()
        assert scale < 1e30 or np.abs(seen).max() > 1e28


@by_spec(["linear(standardize=False)", "net(5, standardize=False)", "kernel(rbf, standardize=False)", "kernel(linear, standardize=False)", "linear", "net(5, activation='relu')", "kernel(poly)"])  # fmt: skip
@by_force(["ranknet", "lambdarank(ndcg@10)", "squared", "exponential", "listmle", "multiclass"])
def test_huge_features_train_or_are_refused(name, spec):
    data = small()
    big = data.replace(features=(data.features * 1e30).astype(np.float32))
    try:
        ranker = podium.Ranker(force=name, model=spec, **any_schedule(spec, epochs=3)).fit(big)
    except podium.DataError as error:
        assert re.search(r"diverged .* learning_rate", str(error))  # noqa: PT017
        assert name in ("squared", "multiclass", "exponential")
    else:
        assert np.isfinite(ranker.predict(big)).all()


def test_kernels_that_no_number_can_hold_are_refused():
    data = documents([5, 5], missing=0)
    big = data.replace(features=(data.features * 1e30).astype(np.float32))
    with pytest.raises(podium.DataError, match="kernel is too large on these documents"):
        podium.Ranker(force="ranknet", model="kernel(poly, degree=10, standardize=False)").fit(big)
    ranker = podium.Ranker(force="ranknet", model="kernel(poly, degree=10)", schedule="adam(epochs=1)").fit(data)
    with pytest.raises(podium.DataError, match="kernel is too large on these documents"):
        ranker.predict(big.features * np.float32(1e7))


@by_spec(FEW_SPECS)
@by_force(EVERY)
def test_one_document_per_query_and_equal_labels(name, spec):
    force = podium.force(name)
    alone = documents([1] * 6, seed=17)
    equal = small().replace(labels=np.ones(19))
    for data in (alone, equal):
        descent = make_descent(begin(force, spec, data))
        vector = point(descent)
        _, push = gradient(descent, data)
        assert np.isfinite(push).all()
        still = force.definition.over in ("pairs", "preferences") and "alpha" not in force.parameter_names
        if still and not force.acting.parameter("ties", False):
            assert (push == 0).all()
            pass_over(descent, data, optimizer="adam")
            assert (descent.parameters() == vector).all()


@by_spec(["linear", "linear(standardize=False)", "net(5)", "kernel(rbf)", "kernel(linear)"])
def test_missing_and_constant_features(spec):
    data = documents([6, 6], 5, seed=18, missing=0)
    X = data.features.copy()
    X[::3, 0] = np.nan  # some missing
    X[:, 1] = 0.1  # constant
    X[:, 2] = np.nan  # missing everywhere
    X[:, 3] = np.where(np.arange(12) % 2, 0.1, np.nan)  # constant where it is not missing
    holed = data.replace(features=X)
    ranker = podium.Ranker(force="ranknet", model=spec, **any_schedule(spec, epochs=5, learning_rate=0.1)).fit(holed)
    map = ranker.scorer_.model.map
    assert np.isfinite(np.concatenate([map.center, map.scale, map.filled])).all()
    mean = X[np.arange(12) % 3 > 0, 0].astype(np.float64).mean()
    if "False" in spec:
        np.testing.assert_allclose(map.filled, [mean, np.float32(0.1), 0, np.float32(0.1), X[:, 4].mean()], rtol=1e-6)
    else:
        prepared = map(X)
        assert (prepared[:, 1:4] == 0).all()
        assert (prepared[::3, 0] == 0).all()
        np.testing.assert_allclose(np.nanmean(prepared[:, [0, 4]], axis=0), 0, atol=1e-12)
        np.testing.assert_allclose((prepared[:, 0] ** 2).sum() / 8, 1, rtol=1e-12)
    filled = X.copy()
    filled[::3, 0] = mean
    np.testing.assert_allclose(ranker.predict(filled), ranker.predict(X), rtol=1e-5, atol=1e-7)
    other = X.copy()
    other[:, 2] = 7.0  # a feature that was never seen has no influence
    if "False" not in spec:
        assert ranker.predict(other).tobytes() == ranker.predict(X).tobytes()


@by_spec(["linear", "net(3)", "kernel(rbf)", "kernel(poly)", "kernel(linear)"])
@by_force(["ranknet", "squared", "multiclass", "ordinal"])
def test_documents_with_equal_features(name, spec):
    data = documents([4, 4], 3, missing=0)
    alike = data.replace(features=np.ones((8, 3), np.float32))
    with pytest.warns(UserWarning, match="nothing is ranked"):
        scores = podium.Ranker(force=name, model=spec, **any_schedule(spec, epochs=3)).fit(alike).predict(alike)
    assert len(set(scores.tolist())) == 1


def test_data_without_features_is_refused():
    with pytest.raises(podium.DataError, match="has no features"):
        podium.Ranker(force="ranknet").fit(podium.RankingData(np.zeros((2, 0)), [0.0, 1.0], [0, 0]))


@by_force(["multiclass", "ordinal"])
def test_a_single_level(name):
    data = small().replace(labels=np.zeros(19))
    assert np.isfinite(podium.Ranker(force=name, schedule="adam(epochs=2)").fit(data).predict(data)).all()


# ---- nets of odd shapes


SHAPES = [
    (d, *hidden, outputs)
    for (d, hidden), outputs in itertools.product(
        zip(
            itertools.cycle((1, 2, 3, 4, 8, 33)),
            [(w,) for w in (1, 3, 4, 5, 12, 13, 24, 25)]
            + [(1, 1), (3, 1, 5), (12, 13), (13, 12, 1), (25, 24), (5, 4, 3, 2), (1, 12), (24, 1)],
            strict=False,
        ),
        (1, 2, 5, 13),
    )
] + [(1, 1), (7, 1), (33, 2), (12, 12), (13, 13), (9, 32, 1), (5, 33, 70, 2), (30, 44, 1)]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", ("tanh", "sigmoid"), ("relu", "tanh")])
@pytest.mark.parametrize("widths", SHAPES, ids=lambda widths: "-".join(map(str, widths)))
def test_nets_of_odd_shapes_equal_the_plain_twin(widths, activation):
    rng = np.random.default_rng(sum(widths))
    rows = 7 + len(widths)
    features = rng.normal(size=(rows, widths[0])).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = np.nan
    map = InputMap(*rng.normal(size=(3, widths[0])))
    size = sum((a + 1) * b for a, b in itertools.pairwise(widths))
    hidden, output = naive_net.both(activation)
    net = Net(widths, hidden, map, rng.normal(size=size), output)
    x = naive_net.inputs(features, map)
    expected = naive_net.forward(net.vector, widths, activation, x)[-1]
    assert_close(net.scores(features).reshape(expected.shape), expected, 1e-13)
    force = rng.normal(size=expected.shape)
    near = 1e-12 if output == "identity" else 1e-10  # the slope 1 − s² of an output near 1 has lost digits
    assert_close(net.backward(features, force), naive_net.backward(net.vector, widths, activation, x, force), near)
    assert net.penalized.sum() == sum(a * b for a, b in itertools.pairwise(widths))
    restored = Model.__reduce__(net)[0](*Model.__reduce__(net)[1])
    assert restored.scores(features).tobytes() == net.scores(features).tobytes()


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_activations_are_accurate_to_1e_14(activation, any_machine):
    rng = np.random.default_rng(19)
    x = np.concatenate(
        [
            np.linspace(-45, 45, 20001),
            rng.normal(size=5000) * 1e-3,
            [0.0, -0.0, 1e-30, -1e-30, 1e-8, 350, -350, 354.9, 355.1, 709, -709, 800, -800, 1e30, -1e30],
        ]
    ).astype(np.float32)
    net = Net((1, 1, 1), activation, InputMap.identity(1), np.array([1.0, 0.0, 1.0, 0.0]))
    exact = np.tanh(x.astype(np.float64)) if activation == "tanh" else expit(x.astype(np.float64))
    for allowed in (True, False):
        _core.use_avx2(allowed)
        found = net.scores(x[:, None])
        assert np.abs(found - exact).max() < 1e-14
        assert np.abs(found).max() <= 1


def test_numbers_of_the_wrong_count_never_reach_the_core():
    net = Net((3, 2, 1), "tanh", InputMap.identity(3), np.zeros(11))
    with pytest.raises(podium.DataError, match="11"):
        net.vector = np.zeros(10)
    with pytest.raises(podium.DataError, match=r"4 features.*trained on 3"):
        net.scores(np.zeros((2, 4), np.float32))
    with pytest.raises(podium.DataError, match=r"4 features.*trained on 3"):
        net.backward(np.zeros((2, 4), np.float32), np.zeros(2))


def test_an_error_in_a_custom_force_is_raised_from_every_thread():
    data = documents([20] * 40, 30, missing=0)

    def broken(scores, labels):
        raise LookupError("not today")

    for threads in (1, 5):
        ranker = podium.Ranker(
            force=podium.custom_force(broken, compile=False), num_threads=threads, schedule="adam(batch=40)"
        )
        with pytest.raises(LookupError, match="not today"):
            ranker.fit(data)


def test_canonical_order_is_a_function_of_the_ids_alone():
    data = documents([1, 2, 3, 4])
    turned = reordered(data, 4)
    assert data.query_ids[canonical_order(data)].tolist() == turned.query_ids[canonical_order(turned)].tolist()
