"""Workers that each hold some of the queries follow gradients to the model of one process, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import podium
from in_process import parts_of, together, train_together
from podium.cluster.engines import Local, Ray
from podium.data import RankingData
from podium.errors import DataError, ParameterError
from podium.exchange import ALONE
from podium.training import Trained, loop, train
from podium.training.loop import DescentRecord, DescentRun

QUERIES = 70  # more than two chunks of the core, and a rest


def made(queries: int, first: int, *, weights: bool = False, pairs: bool = False) -> RankingData:
    """Return queries of 1 to 9 documents with missing values."""
    random = np.random.default_rng(first + 1)
    sizes = random.integers(1, 10, queries)
    n = int(sizes.sum())
    features = random.normal(size=(n, 6)).astype(np.float32) * np.float32(3)
    features[:, 1] = random.integers(0, 5, n)
    features[random.random(n) < 0.1, 2] = np.nan
    worth = features[:, 0] + np.nan_to_num(features[:, 2]) + random.normal(size=n)
    labels = np.digitize(worth, [-1.0, 1.0, 3.0]).astype(float)
    qid = np.repeat(np.arange(first, first + queries), sizes)
    more: dict[str, Any] = {}
    if weights:
        more = {"document_weights": random.random(n) + 0.1, "query_weights": random.random(queries) + 0.1}
    if pairs:
        better, worse = np.arange(n - 1), np.arange(1, n)
        same = qid[better] == qid[worse]
        more["pairs"] = podium.Pairs(better[same], worse[same], np.full(same.sum(), 0.9), np.ones(same.sum()))
    return RankingData(features, labels, qid, **more)


DATA, VALID = made(QUERIES, 0), made(30, 1000)
WEIGHTED, PAIRS = made(QUERIES, 0, weights=True), made(QUERIES, 0, pairs=True)


def with_long_queries() -> RankingData:
    """Return the queries with two of more documents than a chunk of the core takes, and one of nearly as many."""
    random, sizes = np.random.default_rng(8), (8200, 8300, 8180)
    features = random.normal(size=(sum(sizes), 6)).astype(np.float32)
    return RankingData(
        np.concatenate([DATA.features, features]),
        np.concatenate([DATA.labels, np.rint(features[:, 0]) % 3]),
        np.concatenate([np.repeat(np.arange(QUERIES), DATA.query_sizes), np.repeat([500, 501, 502], sizes)]),
    )


def above_the_mean(scores: Any, labels: Any) -> Any:
    """A force of one's own: every document is pushed by how much its label exceeds the mean of the query."""
    return labels - labels.mean() - 0.01 * scores, np.ones(len(labels))


SCHEDULES = {
    "adam": "adam(epochs=3, rate=0.01, batch=16)",
    "adam, larger chunks": "adam(epochs=2, rate=0.01, batch=33)",
    "adam, single queries": "adam(epochs=2, rate=0.01)",
    "sgd": "sgd(epochs=3, rate=0.01, batch=8, l2=0.01)",
    "lbfgs": "lbfgs(epochs=6, l2=0.01)",
    "bundle": "bundle(epochs=8, l2=0.1)",
}
MODELS = {"linear": "linear", "net": "net(5)", "deep": "net(6, 4, activation='relu')", "kernel": "kernel(landmarks=40)"}
FORCES = {
    "pairs": "ranknet",
    "lists": "lambdarank(ndcg@10)",
    "noise": "lambdarank(ndcg@5, noise=0.5)",
    "top": "listnet",
    "corners": "hinge",
    "points": "squared",
    "thresholds": "ordinal",
    "several outputs": "multiclass",
    "own function": podium.custom_force(above_the_mean, compile=False),
}
# What goes together: a solver needs a cost, and the bundle method a convex one and a linear model.
NO_COST = ("lists", "noise", "own function")
CASES = [
    (schedule, model, force)
    for schedule in SCHEDULES
    for model in MODELS
    for force in FORCES
    if not (schedule in ("lbfgs", "bundle") and force in NO_COST)
    and not (schedule == "bundle" and (model in ("net", "deep") or force not in ("pairs", "corners", "top")))
]
SPECIAL: dict[str, tuple[Any, str, str, RankingData]] = {
    "weights": ("ranknet", "linear", "adam(epochs=2, batch=20)", WEIGHTED),
    "weights, lbfgs": ("ranknet", "net(4)", "lbfgs(epochs=4)", WEIGHTED),
    "given pairs": ("ranknet", "linear", "lbfgs(epochs=4)", PAIRS),
    "pairs one by one": ("ranknet", "net(4)", "sgd(epochs=2, batch='query_pairs', rate=0.01)", DATA),
    "rate by cost": ("ranknet", "net(4)", "sgd(epochs=6, batch=10, rate=5.0, rate_rule='halve')", DATA),
    "rate by metric": ("ranknet", "net(4)", "adam(epochs=6, batch=10, rate=1.0, rate_rule='shrink')", DATA),
    "restarts": ("ranknet", "net(4)", "adam(epochs=8, batch=10, rate=1.0, restart_rounds=1)", DATA),
    "restarts, kernel": (
        "ranknet",
        "kernel(landmarks=30)",
        "adam(epochs=8, batch=10, rate=1.0, restart_rounds=1)",
        DATA,
    ),
    "early stopping": ("ranknet", "linear", "adam(epochs=60, batch=10, rate=0.5, early_stopping_rounds=2)", DATA),
    "unchanged": ("ranknet", "linear", "adam(epochs=60, batch=10, rate=1e-9, unchanged_rounds=2)", DATA),
    "converged": ("ranknet", "linear", "lbfgs(epochs=60, l2=1.0, tolerance=0.01)", DATA),
    "large net": ("ranknet", "net(200, 170)", "adam(epochs=1, batch=25)", made(40, 0)),
    "large net, lbfgs": ("ordinal", "net(200, 170)", "lbfgs(epochs=2)", made(30, 0)),
    "long queries": ("squared", "linear", "lbfgs(epochs=2)", with_long_queries()),
    "few documents": ("ranknet", "kernel(landmarks=2000)", "adam(epochs=2, batch=9)", DATA),
    "not standardized": ("ranknet", "net(4, standardize=False)", "adam(epochs=2, batch=9)", DATA),
    "transfer": ("squared", "net(4, output='sigmoid')", "adam(epochs=2, batch=9)", DATA),
}


def plan_of(force: Any, model: str, schedule: str, data: RankingData) -> Any:
    ranker = podium.Ranker(force=force, model=model, schedule=schedule, metric="ndcg@5", seed=5, num_threads=1)
    return ranker._plan(data)


def check_same(expected: Trained, found: Trained) -> None:
    for name, array in expected.model.arrays().items():
        assert array.tobytes() == found.model.arrays()[name].tobytes(), name
    assert found.thresholds.tobytes() == expected.thresholds.tobytes()
    assert (found.best_epoch, found.best_value) == (expected.best_epoch, expected.best_value)
    assert found.certificate == expected.certificate
    assert [replace(row, seconds=0) for row in found.log] == [replace(row, seconds=0) for row in expected.log]


def check_workers(plan: Any, data: RankingData, valid: RankingData | None) -> Trained:
    """Train with 1, 2, 3 and 5 workers whose shares differ in size, order and threads."""
    expected = train(plan, data, valid=valid)
    for workers, threads in ((1, 1), (2, 2), (3, 1), (5, 2)):
        found, _ = train_together(replace(plan, num_threads=threads), data, valid, workers, seed=workers)
        for each in found:
            check_same(expected, each)
    return expected


@pytest.mark.parametrize(("schedule", "model", "force"), CASES, ids=["-".join(case) for case in CASES])
def test_any_number_of_workers_trains_the_same_model(schedule: str, model: str, force: str) -> None:
    plan = plan_of(FORCES[force], MODELS[model], SCHEDULES[schedule], DATA)
    expected = check_workers(plan, DATA, VALID)
    assert np.abs(np.concatenate([array.reshape(-1) for array in expected.model.arrays().values()])).max() > 0


@pytest.mark.parametrize("name", SPECIAL)
def test_settings_and_data_change_nothing(name: str) -> None:
    force, model, schedule, data = SPECIAL[name]
    valid = VALID if name in ("early stopping", "weights", "restarts, kernel") else None
    expected = check_workers(plan_of(force, model, schedule, data), data, valid)
    if name.startswith("restarts"):
        assert max(row.restart for row in expected.log) > 0
    if name.startswith("rate by"):
        assert expected.log[-1].learning_rate < expected.log[0].learning_rate
    if name in ("early stopping", "unchanged", "converged"):
        assert len(expected.log) < 60


def test_several_exchanges_per_update_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("ordinal", "net(5)", "lbfgs(epochs=3)", DATA)
    meetings = []
    for exchanged in (1, 40 * 50, 1 << 20):
        monkeypatch.setattr("podium.training.shared_descent.EXCHANGED", exchanged)
        found, meeting = train_together(plan, DATA, VALID, 3)
        check_same(train(plan, DATA, valid=VALID), found[0])
        meetings.append(meeting.exchanges)
    assert meetings[0] > meetings[2]


def descent_of(model: str, force: str, data: RankingData) -> Any:
    plan = plan_of(force, model, "adam", data)
    run: Any = plan.schedule.make_run(plan.schedule.resolve(plan, data), data, None, None)
    descent = run.steps.descent
    descent.set_parameters(np.random.default_rng(3).normal(size=descent.size) * 0.1)
    return descent


HOW: dict[str, Any] = {"seed": 3, "round": 2, "cost": True}


@pytest.mark.parametrize("force", ["ranknet", "multiclass", "ordinal", "lambdarank(ndcg@5, noise=0.5)"])
@pytest.mark.parametrize("model", ["linear", "net(5)", "net(6, 4, activation='relu')"])
def test_gradients_of_queries_are_those_of_each_alone(model: str, force: str) -> None:
    descent = descent_of(model, force, DATA)
    outputs = 4 if force == "multiclass" else 1
    seen, one = np.zeros(DATA.n_documents * outputs), np.zeros(DATA.n_documents * outputs)
    order = np.random.default_rng(1).permutation(QUERIES)
    costs, gradients = descent.query_gradients(order, seen=seen, **HOW)
    for query, cost, gradient in zip(order, costs, gradients.reshape(QUERIES, -1), strict=True):
        expected = descent.gradient(np.array([query]), per_pair=False, seen=one, **HOW)
        assert (cost, gradient.tobytes()) == (expected[0], expected[1].tobytes())
    assert seen.tobytes() == one.tobytes()


def test_a_sum_goes_on_from_its_start_and_an_update_takes_it() -> None:
    for model in ("net(5)", "net(200, 170)"):
        here, there = descent_of(model, "ordinal", DATA), descent_of(model, "ordinal", DATA)
        options: dict[str, Any] = {"optimizer": podium._core.Optimizer.adam, "rate": 0.01, "l2": 0.1}
        here.run(np.arange(20), batch=20, per_pair=False, seen=None, **HOW, **options)
        total = np.zeros(there.size)
        costs, gradients = [], []
        for query in range(20):
            cost, rest = there.gradient(np.array([query]), per_pair=False, seen=None, **HOW)
            costs.append(cost), gradients.append(rest)
            if there.adds_queries:
                total = total + rest
            else:
                total = there.gradient(np.array([query]), per_pair=False, seen=None, start=total, **HOW)[1]
        there.apply(total, queries=20, **options)
        assert here.parameters().tobytes() == there.parameters().tobytes()
        assert here.updates == there.updates == 1


def test_chunks_depend_on_the_numbers_of_documents() -> None:
    descent = descent_of("linear", "ranknet", DATA)
    assert descent.chunk_ends(np.full(70, 3)) == [32, 64, 70]
    assert descent.chunk_ends(np.array([4000, 4192, 1, 9000, 5])) == [2, 3, 4, 5]
    assert descent.chunk_ends(np.array([4000, 4193, 1, 0])) == [1, 4]
    assert descent.chunk_ends(np.array([], np.int64)) == []


def test_rows_are_added_in_the_order_of_their_places() -> None:
    random = np.random.default_rng(4)
    rows, start = random.normal(size=(20, 3)) * 10.0 ** random.integers(-20, 20, (20, 1)), random.normal(size=3)
    expected = start.copy()
    for row in rows:
        expected = expected + row
    places = np.arange(20)
    assert ALONE.add_in_order(start, places, rows).tobytes() == expected.tobytes()
    for workers in (1, 2, 3):
        own = np.array_split(random.permutation(places), workers)
        found, _ = together(workers, lambda k, exchange: exchange.add_in_order(start, own[k], rows[own[k]]))  # noqa: B023
        assert {each.tobytes() for each in found} == {expected.tobytes()}
    assert together(3, lambda k, exchange: exchange.share(start if k == 1 else None))[0][2].tobytes() == start.tobytes()


@pytest.mark.parametrize("name", ["restarts", "converged", "weights, lbfgs", "large net", "bundle"])
def test_a_worker_that_follows_continues_with_the_same_bits(name: str) -> None:
    force, model, schedule, data = (
        (*("hinge", "linear", SCHEDULES["bundle"]), DATA) if name == "bundle" else SPECIAL[name]
    )
    plan = plan_of(force, model, schedule, data)
    expected = train(plan, data, valid=VALID)
    plan = plan.schedule.prepare(plan.schedule.resolve(plan, data), data)
    for last in range(1, len(expected.log)):
        parts, judged = parts_of(data, 3, last), parts_of(VALID, 3, last)

        def work(worker: int, exchange: Any, parts: Any = parts, judged: Any = judged, last: int = last) -> Trained:
            own = replace(plan, exchange=exchange)
            first: DescentRun = own.schedule.make_run(own, parts[worker], judged[worker], None)
            first.run([lambda row: row.epoch == last])
            record = first.record()
            assert record.is_whole
            assert record.row.epoch == last
            second: DescentRun = own.schedule.make_run(own, parts[worker], judged[worker], None)
            second.follow(DescentRecord(record.progress, record.steps))
            return second.run([])

        for found in together(3, work)[0]:
            check_same(expected, found)


REFUSED = {
    "one update per pair": ("ranknet", "linear", "adam(batch='pair')", "only the worker that has the pair"),
    "quadratic": ("ranknet", "quadratic", "adam", "not computed query by query"),
    "references": ("ranknet", "nadaraya-watson", "adam", "not computed query by query"),
    "phases": ("squared", "linear", "phases", "fits its targets to the scores of all documents"),
    "feasible": ("structrank", "linear", "feasible", "moves the parameters after each query"),
    "perceptron": ("prank", "linear", "perceptron", "learns from one document after the other"),
    "committee": ("prank", "linear", "committee", "learns from one document after the other"),
    "reweighting": ("finite_difference(map)", "linear", "reweighting", "compares weak rankers on all queries"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_workers_cannot_do_is_refused_with_the_reason(name: str) -> None:
    force, model, schedule, reason = REFUSED[name]
    ranker = podium.Ranker(force=force, model=model, schedule=schedule)
    with pytest.raises(ParameterError, match=reason):
        ranker.fit(DATA, engine="ray(workers=2)")


def test_training_that_diverges_ends_at_all_workers() -> None:
    plan = plan_of("squared", "linear", "sgd(epochs=20, rate=1e200, batch=4)", DATA)
    with pytest.raises(DataError, match="training diverged in epoch"):
        train_together(plan, DATA, None, 3)


def test_one_update_per_query_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of("ranknet", "linear", "adam", DATA)
    assert plan.schedule.prepare(plan, DATA).survey is not None
    assert "one update per query" in caplog.text
    assert f"{QUERIES} exchanges per epoch" in caplog.text


def test_much_memory_for_the_gradients_of_a_large_net_is_warned_of(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = 8 * (7 * 5000 + 5001) * QUERIES * 3 / 4
    for model, engine, most, warns in (
        ("net(5000)", Ray(workers=4), kept - 1, True),
        ("net(5000)", Ray(workers=4), kept, False),
        ("net(5000)", Ray(workers=1), 1, False),
        ("net(5000)", Local(), 1, False),
        ("net(50)", Ray(workers=4), 1, False),
        ("linear", Ray(workers=4), 1, False),
        ("kernel(landmarks=10)", Ray(workers=4), 1, False),
    ):
        monkeypatch.setattr(loop, "MUCH_MEMORY", most)
        caplog.clear()
        plan = replace(plan_of("ranknet", model, "lbfgs", DATA), engine=engine)
        plan.schedule.prepare(plan, DATA)
        assert ("take turns" in caplog.text) == warns
