"""The training loop: rules for rates and restarts, the best epoch, checkpoints, interrupts and refusals."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from generated import any_schedule
from interrupting import Lines
from podium import _core
from podium.data.canonical import shuffled_order
from podium.data.hashing import query_hashes
from podium.models import MODELS, model
from podium.models.kernel import KernelSpec
from podium.models.net import LinearSpec, NetSpec
from podium.training import Checkpoint, Plan, train
from podium.training.force_parameters import LearnedParameters
from podium.training.schedules.gradient import Adam
from podium.training.schedules.optimizers import OPTIMIZERS
from podium.training.schedules.solvers import LBFGS
from podium.training.steps import Task, make_descent


def noisy(queries=12, documents=8, features=5, seed=0) -> podium.RankingData:
    """Return labels that are linear in the features, with much noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * documents, features)).astype(np.float32)
    wanted = X @ np.linspace(1, -1, features) + rng.normal(size=len(X)) * 1.5
    labels = np.digitize(wanted, [-1, 0.5, 1.5]).astype(float)
    return podium.RankingData(X, labels, np.repeat(np.arange(queries), documents))


TRAIN, VALID = noisy(), noisy(seed=1)


def plan(force="ranknet", spec="linear", metric="ndcg@5", seed=0, **schedule: Any) -> Plan:
    kind = OPTIMIZERS[schedule.pop("optimizer", "adam")]
    chosen = kind(**{"early_stopping_rounds": None, **schedule})
    return Plan(podium.force(force), model(spec), chosen, podium.metric(metric), seed=seed)


def mean(metric: str, trained: Any, data: podium.RankingData) -> float:
    """Return the metric of a trained model, through the public API."""
    return podium.evaluate(trained.model.scores(data.features), data, metric).mean[metric]


# ---- epochs


@pytest.mark.parametrize("force", ["listmle", "xendcg", "ranknet"])
def test_every_epoch_draws_its_own_order_and_targets(force):
    """Training equals passes made by hand, each with the order and the random numbers of its epoch."""
    trained = train(plan(force, optimizer="sgd", learning_rate=0.05, batch=5, l2=0.1, epochs=3, seed=6), TRAIN)
    start = model("linear").start(TRAIN, n_outputs=1, seed=6)
    descent = make_descent(Task(podium.force(force), start, TRAIN, 6, 1))
    descent.set_parameters(start.vector)
    orders = []
    for number in (1, 2, 3):
        orders.append(shuffled_order(query_hashes(TRAIN.query_ids, 0), 6, number))
        descent.run(
            orders[-1],
            optimizer=_core.Optimizer.sgd,
            rate=0.05,
            l2=0.1,
            batch=5,
            per_pair=False,
            cost=False,
            seed=6,
            round=number,
            seen=None,
        )
    assert trained.model.vector.tobytes() == descent.parameters().tobytes()
    assert len({order.tobytes() for order in orders}) == 3
    assert all(sorted(order) == list(range(TRAIN.n_queries)) for order in orders)


# ---- rates


@pytest.mark.parametrize(("rule", "factor"), [("halve", 0.5), ("shrink_on_cost", 0.8)])
def test_the_rate_is_lowered_exactly_when_the_cost_rose(rule, factor):
    log = train(plan(optimizer="sgd", learning_rate=8.0, rate_rule=rule, epochs=40), TRAIN).log
    rate = 8.0
    for before, row in zip([None, *log], log, strict=False):
        assert row.learning_rate == rate
        if before is not None and row.cost > before.cost:
            rate *= factor
    assert 8.0 * factor**30 < rate < 8.0  # it rose, and it fell too
    constant = train(plan(optimizer="sgd", learning_rate=8.0, epochs=40), TRAIN).log
    assert {row.learning_rate for row in constant} == {8.0}
    assert {row.cost for row in constant} == {None}


def test_the_cost_watched_is_the_mean_of_the_queries():
    options: dict[str, Any] = {"optimizer": "sgd", "rate_rule": "halve", "batch": TRAIN.n_queries, "learning_rate": 0.1}
    log = train(plan(epochs=3, **options), TRAIN).log
    models = [model("linear").start(TRAIN, n_outputs=1, seed=0)]
    models += [train(plan(epochs=k, **options), TRAIN).model for k in (1, 2)]
    for row, before in zip(log, models, strict=True):
        scores = before.scores(TRAIN.features)  # every query meets the model of the end of the last epoch
        np.testing.assert_allclose(row.cost, podium.force("ranknet").cost(scores, TRAIN).mean(), rtol=1e-12)
        assert row.train == podium.evaluate(scores, TRAIN, "ndcg@5").mean["ndcg@5"]


@pytest.mark.parametrize("metric", ["ndcg@5", "pairwise_error"])
def test_shrink_shrinks_the_rate_exactly_when_the_training_metric_got_worse(metric):
    log = train(
        plan("lambdarank(ndcg@5)", metric=metric, optimizer="sgd", learning_rate=5.0, rate_rule="shrink", epochs=40),
        TRAIN,
    ).log
    sign = -1 if metric == "pairwise_error" else 1
    rate = 5.0
    for before, row in zip([None, *log], log, strict=False):
        assert row.learning_rate == rate
        if before is not None and sign * row.train < sign * before.train:
            rate *= 0.8
    assert 5.0 * 0.8**39 < rate < 5.0


def test_training_stops_when_its_metric_no_longer_changes():
    options: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 1e-3, "epochs": 60}
    whole = [row.train for row in train(plan(metric="pairwise_error", **options), TRAIN).log]
    for rounds in (1, 3, 5):
        stopped = train(plan(metric="pairwise_error", unchanged_rounds=rounds, **options), TRAIN).log
        runs = [k for k in range(rounds, len(whole)) if len(set(whole[k - rounds : k + 1])) == 1]
        assert len(stopped) == runs[0] + 1 < 60
        assert [row.train for row in stopped] == whole[: len(stopped)]


@pytest.mark.parametrize(("metric", "perfect"), [("pairwise_error", 0.0), ("ndcg", 1.0)])
def test_training_stops_when_nothing_is_wrong_any_more(metric, perfect):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    data = podium.RankingData(X, (X[:, 0] > 0).astype(float), np.repeat(np.arange(6), 10))
    log = train(plan(metric=metric, learning_rate=0.1, epochs=200, unchanged_rounds=100), data).log
    assert log[-1].train == perfect
    assert len(log) < 100
    assert all(row.train != perfect for row in log[:-1])
    assert len(train(plan(metric=metric, learning_rate=0.1, epochs=100), data).log) == 100


def test_rules_need_what_they_watch():
    with pytest.raises(
        podium.ParameterError, match=r"rate_rule='halve' depends on the cost, but lambdarank\(map\) has none"
    ):
        train(plan("lambdarank(map)", rate_rule="halve"), TRAIN)
    with pytest.raises(podium.ParameterError, match="schedule='lbfgs' needs a cost, and step"):
        train(plan("step(map)", optimizer="lbfgs"), TRAIN)


@pytest.mark.parametrize(
    ("force", "spec", "l2", "message"),
    [
        ("hinge", "linear", 0.0, "l2=0.0 must be above 0 for bundle; use schedule='lbfgs'"),
        (
            "spring(margin=2)",
            "linear",
            1.0,
            r"schedule='bundle' needs a convex cost, and that of spring\(margin=2\) is",
        ),
        ("ordinal", "linear", 1.0, "schedule='bundle' cannot fit ordinal, which learns parameters of its own"),
        ("squared", "linear", 1.0, "schedule='bundle' cannot fit squared: its forces do not sum to 0"),
        ("hinge", "net(3)", 1.0, "schedule='bundle' needs a model that is linear in its parameters"),
    ],
)
def test_the_bundle_method_says_which_of_its_conditions_fails(force, spec, l2, message):
    with pytest.raises(podium.ParameterError, match=f"^{message}"):
        train(plan(force, spec, optimizer="bundle", l2=l2), TRAIN)


def test_the_bundle_method_finds_minima_below_zero():
    """The cost of spring is −½ per pair at best, so that 0 is no bound on it."""
    found = [train(plan("spring", "linear", optimizer=name, l2=0.1), TRAIN) for name in ("bundle", "lbfgs")]
    values = [trained.certificate["objective"] for trained in found]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert values[0] < 0


def test_a_gap_is_only_claimed_for_objectives_that_are_strongly_convex():
    """The bias has no penalty, so a force that moves it leaves one direction without a bound."""
    for force, known in (("ranknet", True), ("regularized(ranknet)", False), ("squared", False)):
        certificate = train(plan(force, "linear", optimizer="lbfgs", l2=0.1), TRAIN).certificate
        assert (certificate["gap"] is not None) == known, force


def test_errors_name_the_parameter_by_which_the_schedule_was_chosen():
    kinds = [
        (podium.LambdaRank(optimizer="lbfgs"), "optimizer='lbfgs' needs a cost.*use optimizer='adam'"),
        (podium.Ranker(force="step(map)", schedule="lbfgs"), "schedule='lbfgs' needs a cost.*use schedule='adam'"),
        (podium.RankNet(optimizer="bundle", l2=1.0), "optimizer='bundle' needs a model that is linear"),
        (podium.RankProp(optimizer="bundle", hidden=(), l2=1.0), "optimizer='bundle' cannot fit squared"),
        (
            podium.Ranker(force="squared", schedule="phases(optimizer='bundle', l2=1)"),
            "optimizer='bundle' cannot fit squared.*use optimizer='lbfgs'",
        ),
    ]
    for ranker, message in kinds:
        with pytest.raises(podium.ParameterError, match=f"^{message}"):
            ranker.fit(TRAIN)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "lbfgs", "learning_rate": 5}, "learning_rate=5 is not a setting of lbfgs.*optimizer='adam'"),
        ({"optimizer": "bundle", "rate_rule": "halve"}, "rate_rule='halve' is not a setting of bundle"),
        ({"tolerance": 0.1}, "tolerance=0.1 is not a setting of adam; leave it out, or use optimizer='lbfgs'"),
        ({"optimizer": "sgd", "tolerance": 0.1}, "tolerance=0.1 is not a setting of sgd"),
    ],
)
def test_a_setting_that_the_optimizer_does_not_have_is_refused(settings, message):
    with pytest.raises(podium.ParameterError, match=f"^{message}"):
        podium.RankNet(**settings).fit(TRAIN)


@pytest.mark.parametrize("force", ["ordinal", "xendcg"])
def test_phases_need_a_force_that_is_defined_on_targets(force):
    with pytest.raises(podium.ParameterError, match=f"^force='{force}' is not defined on the targets"):
        podium.Ranker(force=force, schedule="phases").fit(TRAIN)


# ---- restarts


def restarts(log: tuple[podium.Epoch, ...], rounds: int, values: list[float]) -> list[int]:
    """Return how often the weights had been drawn again in each epoch, by the rule in plain Python."""
    out, best, since, drawn = [], None, 0, 0
    for value in values:
        out.append(drawn)
        if best is None or value > best:
            best, since = value, 0
        else:
            since += 1
        if since == rounds:
            best, since, drawn = None, 0, drawn + 1
    return out


@pytest.mark.parametrize("spec", ["linear", "net(4)", "kernel(rbf, landmarks=20)"])
@pytest.mark.parametrize("valid", [VALID, None])
def test_restart_after_rounds_without_progress_since_the_last_draw(spec, valid):
    options: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.1, "restart_rounds": 3, "rate_rule": "shrink"}
    trained = train(plan("lambdarank(ndcg@5)", spec, epochs=40, **options), TRAIN, valid=valid)
    log = trained.log
    values = [row.train if valid is None else row.valid for row in log]
    assert [row.restart for row in log] == restarts(log, 3, values)
    assert log[-1].restart >= 2
    for before, row in itertools.pairwise(log):
        if row.restart > before.restart:
            assert row.learning_rate == 0.1
    assert trained.best_epoch == 1 + int(np.argmax(values))
    assert trained.best_epoch <= len(log) - 3


@pytest.mark.parametrize("spec", ["linear", "net(4)", "kernel(rbf, landmarks=20)"])
def test_a_restart_draws_new_weights_in_the_same_space(spec):
    starts = [model(spec).start(TRAIN, n_outputs=1, seed=0, restart=restart) for restart in (0, 1, 2)]
    assert len({start.vector.tobytes() for start in starts}) == 3
    assert len({len(start.vector) for start in starts}) == 1
    assert all(np.isfinite(start.vector).all() for start in starts)
    if hasattr(starts[0], "landmarks"):
        assert len({start.landmarks.tobytes() for start in starts}) == 1
    again = model(spec).start(TRAIN, n_outputs=1, seed=0, restart=1)
    assert again.vector.tobytes() == starts[1].vector.tobytes()
    other = model(spec).start(TRAIN, n_outputs=1, seed=5, restart=1)
    assert other.vector.tobytes() != starts[1].vector.tobytes()


# ---- the epoch that is kept


@pytest.mark.parametrize(
    ("metric", "better"),
    [("ndcg@5", np.argmax), ("pairwise_error", np.argmin), ("map(rel=2, empty='skip')", np.argmax)],
)
@pytest.mark.parametrize("spec", ["net(4)", "linear"])
def test_the_epoch_best_on_validation_is_kept(spec, metric, better):
    options: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.05, "metric": metric}
    best = train(plan(spec=spec, epochs=12, **options), TRAIN, valid=VALID)
    ends = [train(plan(spec=spec, epochs=k, **options), TRAIN) for k in range(1, 13)]
    name = str(podium.metric(metric))
    values = [mean(name, end, VALID) for end in ends]
    np.testing.assert_allclose([row.valid for row in best.log], values, rtol=1e-12)
    assert best.best_epoch == 1 + better(values)
    assert 1 < best.best_epoch < 12  # so that neither the first nor the last would do
    assert best.model.vector.tobytes() == ends[best.best_epoch - 1].model.vector.tobytes()
    assert best.best_value == best.log[best.best_epoch - 1].valid
    running = [row.best for row in best.log]
    assert running == [
        values[k] == better_so_far(values[: k + 1], better) and values[k] not in values[:k] for k in range(12)
    ]


def better_so_far(values: list[float], better) -> float:
    return values[better(values)]


def test_without_validation_the_last_epoch_is_kept():
    trained = train(plan(epochs=4), TRAIN)
    assert (trained.best_epoch, trained.best_value, len(trained.log)) == (4, None, 4)
    assert [row.valid for row in trained.log] == [None] * 4


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_stops_after_so_many_epochs_without_progress(patience):
    options: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.2}
    whole = train(plan(epochs=60, **options), TRAIN, valid=VALID).log
    stopped = train(plan(epochs=60, early_stopping_rounds=patience, **options), TRAIN, valid=VALID)
    since = 0
    for row in whole:
        since = 0 if row.best else since + 1
        if since == patience:
            break
    assert len(stopped.log) == row.epoch < 60
    assert stopped.best_epoch == row.epoch - patience
    assert (
        len(train(plan(early_stopping_rounds=1, epochs=5), TRAIN).log) == 5
    )  # nothing to watch without validation data


def test_a_validation_set_that_says_nothing_is_an_error():
    silent = VALID.replace(labels=np.zeros(len(VALID)))
    with pytest.raises(podium.DataError, match=r"has no value on any query of the validation data"):
        train(plan(metric="ndcg(empty='skip')@5", epochs=2), TRAIN, valid=silent)


@pytest.mark.parametrize(("force", "optimizer"), [("ranknet", "lbfgs"), ("listnet", "lbfgs"), ("hinge", "bundle")])
def test_the_certificate_is_of_the_model_kept(force, optimizer):
    l2 = 0.002
    options: dict[str, Any] = {"optimizer": optimizer, "l2": l2, "tolerance": 1e-12, "epochs": 300}
    kept = train(plan(force, metric="p@1", **options), TRAIN, valid=VALID)
    least = train(plan(force, **options), TRAIN)
    assert kept.best_epoch < len(kept.log)
    objectives = []
    for trained in (kept, least):
        costs = podium.force(force).cost(trained.model.scores(TRAIN.features), TRAIN)
        objectives.append(costs.mean() + 0.5 * l2 * (trained.model.vector[:-1] ** 2).sum())
        np.testing.assert_allclose(trained.certificate["objective"], objectives[-1], rtol=1e-12)
    assert 1e-9 < objectives[0] - objectives[1] <= kept.certificate["gap"]
    assert least.certificate["verdict"] == "converged"
    assert kept.certificate["verdict"] == "going"


# ---- callbacks


def test_callbacks_see_every_epoch_and_any_of_them_ends_training():
    seen: list[list[int]] = [[], []]
    ends = [lambda row: seen[0].append(row.epoch), lambda row: seen[1].append(row.epoch) or row.epoch == 3]
    trained = train(plan(epochs=9), TRAIN, callbacks=ends)
    assert seen == [[1, 2, 3], [1, 2, 3]]
    assert [row.epoch for row in trained.log] == [1, 2, 3]
    assert not trained.interrupted
    row = trained.log[0].to_dict()
    assert list(row) == ["epoch", "train", "valid", "cost", "learning_rate", "restart", "best", "seconds"]


def test_an_error_in_a_callback_comes_out():
    def fails(row: podium.Epoch) -> None:
        raise LookupError(f"at {row.epoch}")

    with pytest.raises(LookupError, match="at 1"):
        train(plan(epochs=3), TRAIN, callbacks=[fails])


# ---- checkpoints

RESUMED: dict[str, tuple[Any, bool]] = {
    "adam": (podium.RankNet(hidden=(4,), epochs=8, learning_rate=0.05), False),
    "adam, batches": (podium.ListMLE(epochs=8, batch=5, learning_rate=0.05, l2=0.1), True),
    "sgd": (podium.LambdaRank(optimizer="sgd", epochs=8, learning_rate=0.1), True),
    "halve": (podium.RankNet(optimizer="sgd", rate_rule="halve", epochs=8, learning_rate=8.0, hidden=()), False),
    "shrink and restart": (
        podium.LambdaRank(optimizer="sgd", rate_rule="shrink", restart_rounds=2, epochs=8, learning_rate=9.0),
        True,
    ),
    "restart without validation": (podium.LambdaRank(restart_rounds=1, epochs=8, learning_rate=0.5), False),
    "pairs": (podium.RankNet(batch="pair", epochs=8, rate_rule="halve", hidden=(3,)), True),
    "pairs of a query": (podium.RankNet(batch="query_pairs", epochs=8, rate_rule="shrink_on_cost", hidden=(3,)), False),
    "a transfer of the output": (podium.RankNet(output="tanh", epochs=8, learning_rate=0.1), False),
    "until the metric is still": (podium.RankNet(unchanged_rounds=3, epochs=30, hidden=(), learning_rate=0.1), False),
    "early stopping": (podium.RankNet(epochs=30, early_stopping_rounds=4, learning_rate=0.2, hidden=()), True),
    "ordinal": (podium.OrdinalRegression(epochs=8, learning_rate=0.1), True),
    "multiclass": (podium.Ranker(force="multiclass", model="net(3)", schedule="adam(epochs=8)"), False),
    "lbfgs": (podium.Ranker(force="ranknet", schedule="lbfgs(l2=0.01, tolerance=1e-12, epochs=30)"), True),
    "lbfgs on a net": (podium.Ranker(force="ranknet", model="net(3)", schedule="lbfgs(epochs=8)"), False),
    "kernel": (podium.KernelRankNet(epochs=8, l2=0.01, landmarks=30), True),
    "bundle": (podium.RankSVM(tolerance=1e-8), False),
    "feasible steps": (podium.StructRank(epochs=4, starts=2, norm=(3.0, 30.0)), True),
    "squared hinge": (podium.RankSVM(loss="squared_hinge", tolerance=1e-10, query_norm=False), False),
}


def saved(ranker: Any, path: Any) -> bytes:
    ranker.save(path)
    return path.read_bytes()


class PowerCutError(Exception):
    """Ends training at once."""


@pytest.mark.filterwarnings("ignore:the solver stopped after")
@pytest.mark.parametrize("case", RESUMED)
def test_training_resumes_from_a_checkpoint_to_the_same_bytes(case, tmp_path):
    ranker, judged = RESUMED[case]
    valid = VALID if judged else None
    ranker.fit(TRAIN, valid=valid)
    whole, log = saved(ranker, tmp_path / "whole.podium"), [replace(row, seconds=0) for row in ranker.log_]
    assert len(log) > 4

    def cut(row: podium.Epoch) -> None:
        if row.epoch == at:
            raise PowerCutError

    for at in (1, 3, len(log) - 1):
        path = tmp_path / f"{at}.checkpoint"
        ranker.fit(TRAIN, valid=valid, checkpoint=path, callbacks=[lambda row, at=at: row.epoch == at])
        assert len(ranker.log_) == at
        ranker.fit(TRAIN, valid=valid, checkpoint=path)
        assert saved(ranker, tmp_path / "resumed.podium") == whole
        assert [replace(row, seconds=0) for row in ranker.log_] == log
        ranker.fit(TRAIN, valid=valid, checkpoint=path)  # nothing is left to do
        assert saved(ranker, tmp_path / "again.podium") == whole
        for seconds in (0.0, 3600.0):  # the last epoch is in the file, or only the first
            path = tmp_path / f"{at}-{seconds}.checkpoint"
            with pytest.raises(PowerCutError):
                ranker.fit(TRAIN, valid=valid, checkpoint=Checkpoint(path, seconds=seconds), callbacks=[cut])
            ranker.fit(TRAIN, valid=valid, checkpoint=path)
            assert saved(ranker, tmp_path / "resumed.podium") == whole


def test_more_epochs_may_be_asked_for_when_training_resumes(tmp_path):
    path = tmp_path / "a.checkpoint"
    podium.RankNet(epochs=3).fit(TRAIN, checkpoint=path)
    longer = podium.RankNet(epochs=7).fit(TRAIN, checkpoint=path)
    whole = podium.RankNet(epochs=7).fit(TRAIN)
    assert longer.model_.vector.tobytes() == whole.model_.vector.tobytes()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("learning_rate", {"learning_rate": 0.5}),
        ("batch", {"batch": 2}),
        ("seed", {"seed": 1}),
        ("model", {"hidden": (11,)}),
        ("model", {"activation": "relu"}),
        ("force", {"sigma": 2.0}),
        ("metric", {"metric": "map"}),
        ("l2", {"l2": 0.5}),
        ("schedule", {"optimizer": "sgd"}),
        ("rate_rule", {"rate_rule": "shrink"}),
        ("data", {"data": noisy(seed=3)}),
        ("validation data", {"valid": noisy(seed=3)}),
        ("validation data", {"valid": None, "early_stopping_rounds": None}),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(name, other, tmp_path):
    path = tmp_path / "a.checkpoint"
    podium.RankNet(epochs=2).fit(TRAIN, valid=VALID, checkpoint=path)
    data, valid = other.pop("data", TRAIN), other.pop("valid", VALID)
    if valid is None:
        podium.RankNet(epochs=2).fit(TRAIN, valid=VALID, checkpoint=path)
    found = rf"checkpoint='.*' was written with another {name}: .* there, .* now; remove the file"
    expected = pytest.raises(podium.ParameterError, match=found if valid is not None else "was written with another")
    with expected as raised:
        podium.RankNet(epochs=2, **other).fit(data, valid=valid, checkpoint=path)
    assert (raised.value.parameter, raised.value.value) == ("checkpoint", str(path))


def test_files_that_are_no_checkpoint_are_refused(tmp_path):
    path = tmp_path / "a.checkpoint"
    ranker = podium.OrdinalRegression(epochs=2)
    refused = pytest.raises(podium.FormatError, match=r"is not a checkpoint, or is damaged; remove the file")
    for content in (b"", b"hello", b"\0" * 100):
        path.write_bytes(content)
        with refused:
            ranker.fit(TRAIN, checkpoint=path)
    path.unlink()
    ranker.fit(TRAIN).save(path)
    with refused:
        ranker.fit(TRAIN, checkpoint=path)
    with pytest.raises(podium.FormatError, match="is a directory"):
        ranker.fit(TRAIN, checkpoint=tmp_path)
    with pytest.raises(podium.OutputError, match="there is no folder"):
        ranker.fit(TRAIN, checkpoint=tmp_path / "none" / "a.checkpoint")


def test_a_damaged_checkpoint_is_never_used(tmp_path):
    path = tmp_path / "a.checkpoint"
    ranker = podium.RankNet(epochs=2, hidden=(2,)).fit(TRAIN, checkpoint=path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in [*range(0, len(whole), 41), *rng.integers(0, len(whole), 60).tolist()]:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(podium.FormatError, match="is not a checkpoint, or is damaged"):
            ranker.fit(TRAIN, checkpoint=path)
        path.write_bytes(whole[:position])
        with pytest.raises(podium.FormatError, match="is not a checkpoint, or is damaged"):
            ranker.fit(TRAIN, checkpoint=path)


# ---- interrupts


def test_an_interrupt_keeps_the_best_so_far(tmp_path):
    def interrupt(row: podium.Epoch) -> None:
        if row.epoch == 6:
            raise KeyboardInterrupt

    whole = podium.RankNet(epochs=20, learning_rate=0.2, early_stopping_rounds=None)
    whole.fit(TRAIN, valid=VALID, callbacks=[lambda row: row.epoch == 6])
    with pytest.warns(UserWarning, match=rf"interrupted; the best so far \(epoch {whole.best_epoch_}\) is kept"):
        cut = podium.RankNet(epochs=20, learning_rate=0.2, early_stopping_rounds=None).fit(
            TRAIN, valid=VALID, callbacks=[interrupt]
        )
    assert cut.interrupted_
    assert not whole.interrupted_
    assert saved(cut, tmp_path / "cut.podium") == saved(whole, tmp_path / "whole.podium")


@pytest.mark.parametrize("line", [1, 50, 100])
def test_an_interrupt_before_anything_is_learned_comes_out(line):
    ranker = podium.RankNet(epochs=1, batch="pair")
    with pytest.raises(KeyboardInterrupt), Lines("training", at=line):
        ranker.fit(TRAIN)
    assert not hasattr(ranker, "model_")


def test_an_interrupt_keeps_the_best_of_several_c():
    def interrupt(row: podium.Epoch) -> None:
        calls.append(row.epoch)
        if calls.count(1) == at and row.epoch == 1:
            raise KeyboardInterrupt

    whole = podium.RankSVM(C=(0.01, 1.0, 100.0)).fit(TRAIN, valid=VALID)
    assert whole.C_ in (0.01, 1.0, 100.0)
    for at in (2, 3):
        calls: list[int] = []
        with pytest.warns(UserWarning, match="interrupted"):
            ranker = podium.RankSVM(C=(0.01, 1.0, 100.0)).fit(TRAIN, valid=VALID, callbacks=[interrupt])
        assert ranker.interrupted_
        assert calls.count(1) == at
        assert np.isfinite(ranker.predict(VALID)).all()


def test_a_program_that_trains_ends_quietly(tmp_path):
    program = (
        "import podium\n"
        "data = podium.synthetic.network(queries=5, documents=5, features=3)\n"
        "ranker = podium.LambdaRank(epochs=2).fit(data)\n"
        "print(round(ranker.score(data), 1) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_real_signal_in_a_program_of_its_own(tmp_path):
    program = (
        "import os, podium, signal, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "data = podium.synthetic.network(queries=20, documents=20, features=5)\n"
        "ranker = podium.RankNet(epochs=10)\n"
        "ranker.fit(data, callbacks=[lambda row: os.kill(os.getpid(), signal.SIGINT) if row.epoch == 3 else None])\n"
        "print(ranker.interrupted_, ranker.n_epochs_, ranker.best_epoch_)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 3 3\n", "")


# ---- what is refused


@pytest.mark.parametrize("spec", ["linear", "net(4)", "net(4, activation='relu')", "kernel(poly)"])
@pytest.mark.parametrize("force", ["squared", "ranknet", "multiclass"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_rate_that_diverges_is_named_and_no_model_is_left(spec, force, optimizer):
    ranker = podium.Ranker(
        force=force, model=spec, **any_schedule(spec, optimizer=optimizer, learning_rate=1e300, epochs=9)
    )
    try:
        ranker.fit(TRAIN)
    except podium.DataError as error:
        said = r"training diverged in epoch \d: .* try a smaller learning_rate than 1e\+300"
        assert re.search(said, str(error))  # noqa: PT017
        with pytest.raises(Exception, match="not fitted"):
            ranker.predict(TRAIN)
    else:  # forces that no score makes large, and bounded units, may bear it
        assert force != "squared" or optimizer == "adam"
        assert np.isfinite(ranker.model_.vector).all()
        assert np.isfinite(ranker.predict(TRAIN)).all()


def test_validation_data_must_fit_the_training_data():
    narrow = noisy(features=3)
    with pytest.raises(podium.DataError, match=r"validation data has 3 features, but the training data has 5"):
        podium.RankNet(epochs=1).fit(TRAIN, valid=narrow)
    for wrong in ((narrow.features, narrow.labels), [narrow], narrow.features):
        with pytest.raises(podium.DataError, match=r"valid must be a RankingData or \(X, y, qid\)"):
            podium.RankNet(epochs=1).fit(TRAIN, valid=wrong)
    with pytest.raises(ValueError, match="3 features"):
        podium.RankNet(epochs=1).fit(TRAIN, valid=(narrow.features, narrow.labels, narrow.qid))
    named, turned = (TRAIN.replace(feature_names=list(names)) for names in ("abcde", "edcba"))
    other = TRAIN.replace(feature_names=list("abcdx"))
    message = "the validation data has no feature 'e', which the training data has; its features: a, b, c, d, x"
    with pytest.raises(podium.DataError, match=message):
        podium.RankNet(epochs=1).fit(named, valid=other)
    columns = turned.features[:, ::-1]
    same, by_name = (
        podium.RankNet(epochs=2).fit(named, valid=valid).best_value_
        for valid in (TRAIN.replace(features=columns, feature_names=list("abcde")), turned)
    )
    assert same == by_name


@pytest.mark.parametrize(
    ("force", "labels", "message"),
    [
        ("lambdarank(ndcg@10)", [-1, 0, 1], r"ndcg@10: label of row 0 is -1 and must be at least 0"),
        ("lambdarank(err@5)", [0, 5, 1], r"err@5: label of row 1 is 5, above max=4"),
        ("neighbors(lambdarank(ndcg@10))", [-1, 0, 1], r"label of row 0 is -1"),
        ("step(dcg)", [0, 0, 2000], r"dcg: label of row 2 is 2000 and 2\^label would overflow"),
        ("lambdarank(ndcg(gain=(0, 1, 3)))", [0, 0.5, 2], r"label of row 1 is 0\.5"),
        ("xendcg", [-1, 0, 1], r"xendcg: labels must lie between 0 and 1000.* found -1 to 1"),
        ("ordinal", [0, 0.5, 1], r"ordinal: labels must be whole levels"),
        ("multiclass", [-1, 0, 1], r"multiclass: labels must be whole levels.* found -1 to 1"),
    ],
)
def test_labels_that_a_force_is_not_defined_on(force, labels, message):
    data = podium.RankingData(np.eye(3), np.array(labels, float), [0, 0, 0])
    with pytest.raises(podium.DataError, match=message):
        podium.Ranker(force=force, metric="map").fit(data)
    with pytest.raises(podium.DataError, match=message):
        podium.force(force)(np.zeros((3, 2)) if force == "multiclass" else np.zeros(3), data)


def test_labels_that_the_metric_is_not_defined_on():
    data = podium.RankingData(np.eye(3), [0.0, -1, 1], [1, 0, 1])
    with pytest.raises(podium.DataError, match=r"ndcg@10: label of row 1 is -1"):
        podium.RankNet().fit(data)
    assert podium.RankNet(metric="pairwise_error", epochs=1).fit(data).n_epochs_ == 1


WHOLE = [0, -1, 1.5, "3", True, np.nan]
ABOVE = [0, -1.0, np.nan, np.inf, "1", True, None, [1]]
WRONG: list[tuple[type, str, list[Any], str]] = [
    (Adam, "learning_rate", ABOVE, "must be a number above 0"),
    (LBFGS, "tolerance", ABOVE, "must be a number above 0"),
    (Adam, "l2", [-1.0, np.nan, np.inf, "1", True, None], "must be a number of at least 0"),
    (Adam, "epochs", [*WHOLE, None], "must be a whole number of at least 1"),
    (Adam, "restart_rounds", WHOLE, "must be a whole number of at least 1; None means: never"),
    (Adam, "early_stopping_rounds", WHOLE, "must be a whole number of at least 1; None means: never"),
    (Adam, "batch", [*WHOLE, None, "pairs"], "must be a number of queries of at least 1, 'pair' or 'query_pairs'"),
    (Adam, "rate_rule", ["halves", None], "rate_rule=.* must be one of "),
    (NetSpec, "hidden", [(0,), (1.5,), (10, -1), ("5",), "10", (True,), (10**9,), None], "must be whole numbers from 1"),
    (NetSpec, "hidden", [()], "has no layer.* use linear"),
    (NetSpec, "output", ["relu", None], "output=.* must be one of "),
    (Adam, "unchanged_rounds", [0, -1, 1.5, "ten"], "must be a whole number of at least 1"),
    (NetSpec, "activation", ["gelu", None], "activation=.* must be one of "),
    (NetSpec, "init", ["zeros", None], "init=.* must be one of "),
    (NetSpec, "standardize", [1, "yes"], "must be True or False"),
    (LinearSpec, "standardize", [0, "no"], "must be True or False"),
    (KernelSpec, "kernel", ["gauss", None, 3], "kernel=.* must be one of "),
    (KernelSpec, "width", [0, -1.0, np.nan, np.inf, "1", True, [1]], "must be a number above 0; None means: √features"),
    (KernelSpec, "offset", [-1.0, np.nan, np.inf, "1", True, None], "must be a number of at least 0"),
    (KernelSpec, "degree", [0, 11, 1.5, "2", True, None], "must be a whole number from 1 to 10"),
    (KernelSpec, "landmarks", [0, 20_001, 1.5, "2", True, None], "must be a whole number from 1 to 20000"),
    (KernelSpec, "standardize", [1, "yes"], "must be True or False"),
    (podium.RankNet, "learning_rate", ABOVE, "must be a number above 0"),
    (podium.RankNet, "hidden", [(0,), "10", None, 1.5, {3}], "must be whole numbers from 1"),
    (podium.RankNet, "sigma", [0, -1, "1", None, np.nan], "must be a number above 0"),
    (podium.RankNet, "ties", [1, "no", None], "must be True or False"),
    (podium.RankNet, "seed", [-1, 2**64, 0.5, "0", None, True], r"must be a whole number from 0 to 2\*\*64 - 1"),
    (podium.RankNet, "num_threads", [0, -1, 1025, 1.5, "2", True], "must be a whole number from 1 to 1024"),
    (podium.RankNet, "metric", ["ncdg@10", "ndcg@0"], "Did you mean 'ndcg'|must be"),
    (podium.RankNet, "batch", [0, "all", 1.5], "must be a number of queries of at least 1, 'pair' or 'query_pairs'"),
    (podium.RankNet, "epochs", WHOLE, "must be a whole number of at least 1"),
    (podium.RankNet, "early_stopping_rounds", WHOLE, "must be a whole number of at least 1"),
    (podium.RankNet, "optimizer", ["newton"], "optimizer=.* must be one of "),
    (podium.ListNet, "activation", ["gelu"], "activation=.* must be one of "),
    (podium.ListMLE, "init", ["zeros"], "init=.* must be one of "),
    (podium.OrdinalRegression, "standardize", [1], "must be True or False"),
    (podium.LambdaRank, "target", ["ncdg"], "Did you mean 'ndcg'"),
    (podium.KernelRankNet, "width", [0, "a", np.inf], "must be a number above 0; None means: 2·√features"),
    (podium.KernelRankNet, "offset", [-1, "a"], "must be a number of at least 0"),
    (podium.KernelRankNet, "kernel", ["gauss"], "kernel=.* must be one of "),
    (podium.KernelRankNet, "landmarks", [0], "must be a whole number from 1 to 20000"),
    (podium.RankSVM, "C", [0, -1.0, "1", None, np.nan, np.inf, True, (), (1.0, 0), [None], {1.0}], "must be a number above 0, or"),
    (podium.RankSVM, "loss", ["log", None], "loss=.* must be one of "),
    (podium.RankSVM, "kernel", ["gauss", None], "kernel=.* must be one of "),
    (podium.RankSVM, "query_norm", [1, "yes", None], "must be True or False"),
    (podium.RankSVM, "tolerance", ABOVE, "must be a number above 0"),
    (podium.RankSVM, "epochs", [*WHOLE, None], "must be a whole number of at least 1"),
    (podium.Ranker, "force", ["lambdarnk(map)", 3, None], "Did you mean 'lambdarank'|force=.* must be a name"),
    (podium.Ranker, "model", ["lnear", 3, None], "Did you mean 'linear'|model=.* must be a name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name", "value", "rule"),
    [(kind, name, value, rule) for kind, name, values, rule in WRONG for value in values],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_parameters_out_of_range_are_named_with_their_value_rule_and_remedy(kind, name, value, rule):
    def use() -> None:
        made = kind(**{name: value})
        if isinstance(made, podium.rankers.BaseRanker):
            made.fit(TRAIN, valid=VALID)

    with pytest.raises(podium.ParameterError) as raised:
        use()
    said = str(raised.value)
    assert re.search(rule, said), said
    if "unknown" not in said and "metric" not in name:
        assert f"{name}={value!r}"[:40] in said or (name == "model" and value in said), said


def test_numbers_of_any_kind_are_numbers():
    schedule = Adam(learning_rate=np.float32(0.5), batch=np.int64(3), epochs=np.uint8(4), l2=1)
    assert schedule == Adam(learning_rate=0.5, batch=3, epochs=4, l2=1.0)
    assert all(type(value) in (int, float, str, type(None)) for value in schedule.values().values())
    assert LBFGS(tolerance=np.float64(1)) == LBFGS(tolerance=1)


def test_full_steps_find_their_own_rate():
    for other in ({"batch": 2}, {"rate_rule": "halve"}, {"restart_rounds": 5}, {"batch": "pair"}):
        with pytest.raises(podium.ParameterError, match="is not a setting of lbfgs; leave it out"):
            podium.RankNet(optimizer="lbfgs", **other).check_parameters()


# ---- names of models

WIDTHS = st.lists(st.integers(1, 10_000), min_size=1, max_size=4)
NUMBERS = st.floats(1e-300, 1e300)
SPECS = st.one_of(
    st.builds(LinearSpec, standardize=st.booleans()),
    st.builds(
        NetSpec,
        hidden=WIDTHS.map(tuple),
        activation=st.sampled_from(["tanh", "sigmoid", "relu"]),
        standardize=st.booleans(),
        init=st.sampled_from(["uniform", "zero_first"]),
    ),
    st.builds(
        KernelSpec,
        kernel=st.sampled_from(["rbf", "poly", "linear"]),
        width=st.none() | NUMBERS | NUMBERS.map(np.float64) | st.integers(1, 10**9),
        degree=st.integers(1, 10) | st.integers(1, 10).map(np.int64),
        offset=st.floats(0, 1e300),
        landmarks=st.integers(1, 20_000),
        standardize=st.booleans(),
    ),
)


@settings(max_examples=200, deadline=None)
@given(SPECS)
def test_names_of_models_print_and_read_back(spec):
    assert model(str(spec)) == spec
    assert hash(model(f"  {spec} ")) == hash(spec)
    assert model(spec) is spec
    assert str(model(str(spec))) == str(spec)
    assert spec.name in MODELS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lineer", "unknown model 'lineer'. Did you mean 'linear'? Known: kernel, linear, nadaraya-watson, net"),
        ("trees9", "unknown model 'trees9'"),
        ("net(activtion='relu')", "unknown parameter of net 'activtion'. Did you mean 'activation'?"),
        ("linear(width=2)", "unknown parameter of linear 'width'"),
        ("linear(3)", "linear=3 takes only settings by name in its parentheses"),
        ("kernel(rbf, 1, 2, 3, 4, True, 5)", "must be one value"),
        ("net(10", "cannot be read; write it as linear, net(10)"),
        ("net(10))", "cannot be read"),
        ("", "cannot be read"),
        ("net(*[1])", "cannot be read"),
        ("net(**{})", "cannot be read"),
        ("net(init='uniform', init='uniform')", "cannot be read"),
        ("net(__import__('os'))", "cannot be read"),
        ("a.b(3)", "cannot be read"),
        ("net" + "(" * 500, "cannot be read"),
        ("net(" + "-" * 100_000 + "1)", "cannot be read"),
        ("net(x)", "must be whole numbers from 1"),
        ("net(10, hidden=3)", "hidden=3 is given twice"),
    ],
)
def test_names_of_models_that_are_refused(name, message):
    with pytest.raises(podium.ParameterError, match=re.escape(message)):
        model(name)


# ---- thresholds


def test_thresholds_start_at_the_frequencies_of_the_levels():
    labels = np.repeat([0.0, 1, 2, 3], [50, 25, 15, 10])
    data = podium.RankingData(np.zeros((100, 1)), labels, np.zeros(100, int))
    learned = LearnedParameters(podium.force("ordinal"), data)
    below = 1 / (1 + np.exp(-learned.values(learned.start())))  # P(l ≤ k) at score 0
    np.testing.assert_allclose(below, [0.5, 0.75, 0.9], atol=0.01)
    assert len(LearnedParameters(podium.force("ranknet"), data).start()) == 0
    assert (np.diff(learned.values(np.array([1.0, -800, 800]))) > 0).all()


def test_training_that_diverges_inside_an_epoch_says_so_and_touches_nothing_else():
    """Weights overflow in the middle of an epoch, with one long query before short ones."""
    rng = np.random.default_rng(0)
    sizes = [2000, 30, 30, 30, 30, 30]
    data = podium.RankingData(
        rng.normal(size=(sum(sizes), 3)), rng.integers(0, 3, sum(sizes)), np.repeat(np.arange(6), sizes)
    )
    for force in ("lambdarank(ndcg@10)", "ranknet", "hinge", "listmle"):
        ranker = podium.Ranker(force=force, model="linear", schedule="sgd(rate=1e+308, epochs=3)")
        with pytest.raises(podium.DataError, match="training diverged in epoch"):
            ranker.fit(data)


def test_a_checkpoint_of_another_size_is_refused(tmp_path):
    from podium.artifact.tensors import arrays_of, read_bytes, write_tensors
    from podium.kinds import podium_header

    data, path = podium.synthetic.network(queries=5), tmp_path / "c"
    podium.RankNet(epochs=2).fit(data, checkpoint=path)
    raw = read_bytes(path)
    header = podium_header(raw)
    arrays = arrays_of(raw, header)
    header = {name: header[name] for name in ("kind", "identity", "numbers")}
    for name in ("vector", "first", "best_vector"):
        write_tensors(path, "checkpoint", header, {**arrays, name: np.zeros(10**5)})
        with pytest.raises(podium.FormatError, match="is not a checkpoint of this training"):
            podium.RankNet(epochs=3).fit(data, checkpoint=path)
    write_tensors(path, "checkpoint", header, {name: value for name, value in arrays.items() if name != "best_vector"})
    with pytest.raises(podium.FormatError, match="best_vector"):
        podium.RankNet(epochs=3).fit(data, checkpoint=path)


def test_validation_data_that_can_choose_nothing_is_refused():
    data = podium.synthetic.network(queries=5)
    flat = data.replace(labels=np.ones(len(data)))
    with pytest.raises(podium.DataError, match="no query of the validation data has two different labels"):
        podium.RankNet(epochs=1).fit(data, valid=flat)
    with pytest.raises(podium.DataError, match="no query of the validation data has two different labels"):
        podium.RankSVM(C=(1.0, 2.0)).fit(data, valid=flat)


@pytest.mark.parametrize("name", ["./mine.py:lift", "mine.py:lift", "folder/mine:lift"])
def test_a_file_is_no_module_and_the_error_says_what_to_write(name):
    with pytest.raises(podium.ParameterError, match=r"write mine:lift in the folder where the file is"):
        podium.force(name)
