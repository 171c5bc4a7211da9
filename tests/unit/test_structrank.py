"""StructRank: gradients of every parameter, feasible steps, starts and norms, resuming, and refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import podium
from podium.forces import ForceData
from podium.models import model
from podium.models.nadaraya_watson import NadarayaWatson
from podium.training import Plan
from podium.training.schedules.feasible import FeasibleRun as Feasible
from podium.training.schedules.feasible import FeasibleSteps, nearest_feasible

TRAIN = podium.synthetic.network(queries=14, documents=9, features=5, levels=3, seed=2)
VALID = podium.synthetic.network(queries=10, documents=9, features=5, levels=3, seed=3, generator_seed=2)
QUICK: dict[str, Any] = {"epochs": 3, "starts": 2, "norm": 5.0, "learning_rate": 0.5, "step": "shrink"}
QUICK["early_stopping_rounds"] = None


def make(**others: Any) -> podium.StructRank:
    return podium.StructRank(**QUICK | others)


def running(**schedule: Any) -> Feasible:
    tie = schedule.pop("tie", False)
    plan = Plan(
        podium.force(f"structrank(tie={tie})"),
        model("nadaraya-watson"),
        FeasibleSteps(**{"epochs": 2, "starts": 2, "step": "shrink"} | schedule),
        podium.metric("map"),
    )
    return Feasible(plan.schedule, plan, TRAIN, VALID)


# ---- the cost of a query as a function of everything that is learned


@pytest.mark.parametrize("topology", ["full", "independent", "random, partners=2, draws=2"])
@pytest.mark.parametrize("tie", [False, True])
@pytest.mark.parametrize("kind", ["labels", "pairs", "weights"])
def test_slopes_of_widths_and_steepness_through_the_whole_cost(topology, tie, kind):
    rng = np.random.default_rng(0)
    parts: dict[str, Any] = {}
    if kind == "pairs":
        first = rng.integers(0, 14 * 9, 60)
        parts["pairs"] = podium.Pairs.of(first, first // 9 * 9 + (first + 1) % 9, rng.choice([1, 0.7], 60))
    if kind == "weights":
        parts["document_weights"] = rng.random(14 * 9) + 0.1
    data = TRAIN.replace(**parts)
    force = podium.force(f"structrank({topology}, tie={tie})")
    held = model("nadaraya-watson").start(data, n_outputs=1, seed=0)
    assert isinstance(held, NadarayaWatson)
    part = data.select(np.array([4]))

    def compute(theta: np.ndarray) -> tuple[float, np.ndarray]:
        held.vector = theta[:5]
        scores = held.scores_in_training(part)
        outcome = force.compute(scores, ForceData(part), cost=True, parameters=theta[5:], seed=1, round=2)
        push = held.backward_in_training(part, outcome.force)
        return float(outcome.cost[0]), np.concatenate([push, outcome.parameter_force[0]])

    theta = rng.random(6 if tie or topology == "independent" else 7) + 0.3
    push = compute(theta)[1]
    assert np.abs(push).max() > 1e-4
    for k in range(len(theta)):
        step = np.zeros_like(theta)
        step[k] = 1e-5
        slope = (compute(theta + step)[0] - compute(theta - step)[0]) / 2e-5
        np.testing.assert_allclose(push[k], -slope, atol=1e-8 + 1e-6 * np.abs(push).max())


@pytest.mark.parametrize("tie", [False, True])
def test_a_pass_takes_one_step_per_query_along_those_slopes(tie):
    """The pass equals a naive one, in which a step is halved until it is feasible."""
    run = running(epochs=1, starts=1, norm=(3.0,), tie=tie, learning_rate=2.0)
    theta = run.theta.copy()
    assert len(theta) == (6 if tie else 7)
    after, cost, seen = run._pass(run.progress)
    order = podium.data.canonical.shuffled_order(run.keys, 0, 1)
    held = model("nadaraya-watson").start(TRAIN, n_outputs=1, seed=0)
    total, halved = 0.0, 0
    for query in order:
        part = TRAIN.select(np.array([query]))
        held.vector = theta[:5]
        scores = held.scores_in_training(part)
        np.testing.assert_allclose(seen[slice(*TRAIN.query_offsets[query : query + 2])], scores, rtol=1e-12)
        outcome = run.plan.force.compute(scores, ForceData(part), cost=True, parameters=theta[5:])
        total += outcome.cost[0]
        push = np.append(held.backward_in_training(part, outcome.force), outcome.parameter_force[0])
        for rate in (2.0 / 2**k for k in range(30)):
            if (theta + rate * push).min() >= 0 and (theta + rate * push).sum() <= 3.0:
                theta, halved = theta + rate * push, halved + (rate < 2.0)
                break
    np.testing.assert_allclose(after, theta, rtol=1e-9)
    assert cost == pytest.approx(total / 14)
    assert halved > 0


# ---- the feasible set


@pytest.mark.parametrize("step", ["shrink", "project"])
def test_no_step_leaves_the_feasible_set(step):
    schedule = FeasibleSteps(step=step, norm=(2.0,), learning_rate=0.5)
    rng = np.random.default_rng(1)
    theta = schedule.begin(rng.random(6), 2.0)
    assert theta.sum() == pytest.approx(1.0)
    moves = 0
    for _ in range(300):
        after = schedule.moved(theta, rng.normal(size=6) + 0.3, 0.5, 2.0)
        assert (after >= 0).all()
        assert after.sum() <= 2.0 + 1e-12
        moves += not np.array_equal(after, theta)
        theta = after
    assert moves > 100
    assert theta.sum() > 1.5


def test_a_step_outwards_from_the_border_is_not_taken_or_slides_along_it():
    theta, push = np.array([0.0, 1.0, 1.0]), np.array([-1.0, 1.0, 0.0])
    assert FeasibleSteps(step="shrink").moved(theta, push, 0.5, 2.0) is theta
    slides = FeasibleSteps(step="project", learning_rate=0.5)
    np.testing.assert_allclose(slides.moved(theta, 0.1 * push, 0.5, 2.0), [0, 1.025, 0.975])
    np.testing.assert_allclose(
        slides.moved(theta, push, 0.5, 2.0), [0, 1.05, 0.95]
    )  # no longer than a tenth of the norm
    np.testing.assert_allclose(slides.moved(theta, push, 0.25, 2.0), [0, 1.025, 0.975])  # and shorter as the rate falls
    assert slides.moved(theta, 0 * push, 0.5, 2.0).tolist() == theta.tolist()


def test_a_small_start_is_not_rescaled():
    drawn = np.array([0.1, 0.2])
    assert FeasibleSteps().begin(drawn, 10.0).tolist() == drawn.tolist()
    assert FeasibleSteps().begin(np.zeros(2), 1.0).tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_feasible_point_is_the_nearest(seed):
    rng = np.random.default_rng(seed)
    point = rng.normal(size=4) * 2
    found = nearest_feasible(point, 1.0)
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-12
    others = rng.dirichlet(np.ones(5), 2000)[:, :4]  # all over the feasible set
    assert (((others - point) ** 2).sum(axis=1) >= ((found - point) ** 2).sum() - 1e-12).all()
    inside = np.array([0.1, 0.0, 0.2, 0.3])
    assert nearest_feasible(inside, 1.0).tolist() == inside.tolist()


# ---- starts, norms, epochs


def test_every_norm_sees_the_same_starts_and_the_best_is_kept():
    ranker = make(norm=(0.5, 5.0, 50.0), metric="map", seed=5).fit(TRAIN, valid=VALID)
    log = ranker.log_
    assert [row.restart for row in log] == [k for k in range(4) for _ in range(3)]
    assert [row.epoch for row in log] == list(range(1, 13))
    for row in log:
        assert row.learning_rate == pytest.approx(0.5 * 0.5 ** (((row.epoch - 1) % 3) / 2))
    values = [row.valid for row in log]
    assert ranker.best_epoch_ == 1 + int(np.argmax(values))
    assert ranker.best_value_ == max(values)
    assert ranker.best_value_ == podium.evaluate(ranker.predict(VALID), VALID, "map").mean["map"]
    first = 1 + int(np.argmax(values[:9]))  # of the start that tried every norm
    assert ranker.norm_ == (0.5, 5.0, 50.0)[(first - 1) // 3]
    kept = ranker.model_.vector
    assert (kept >= 0).all()
    assert kept.sum() + ranker.w1_ + ranker.w2_ <= ranker.norm_ + 1e-9
    alone = make(norm=ranker.norm_, metric="map", seed=5).fit(TRAIN, valid=VALID)
    assert alone.predict(VALID).tobytes() == ranker.predict(VALID).tobytes()
    assert log[0].cost is not None
    assert log[2].cost < log[0].cost


def test_learned_steepness_is_one_where_tied_or_independent():
    loose = make().fit(TRAIN, valid=VALID)
    assert loose.w1_ != loose.w2_
    for others in ({"tie": True}, {"topology": "independent"}):
        ranker = make(**others).fit(TRAIN, valid=VALID)
        assert ranker.w1_ == ranker.w2_ > 0


def test_without_validation_data_the_training_metric_chooses():
    ranker = make(metric="ndcg@5").fit(TRAIN)
    values = [row.train for row in ranker.log_]
    assert ranker.best_epoch_ == 1 + int(np.argmax(values))
    assert ranker.best_value_ is None
    worst = make(metric="pairwise_error").fit(TRAIN)
    assert worst.best_epoch_ == 1 + int(np.argmin([row.train for row in worst.log_]))


def test_preferences_given_as_pairs_alone_are_learned_from():
    rng = np.random.default_rng(0)
    pairs = []
    for a, b in itertools.pairwise(TRAIN.query_offsets.tolist()):
        for _ in range(20):
            i, j = rng.integers(a, b, 2)
            if TRAIN.labels[i] > TRAIN.labels[j]:
                pairs.append((i, j))
    winner, loser = map(np.array, zip(*pairs, strict=True))
    data = TRAIN.replace(labels=np.zeros(len(TRAIN)), pairs=podium.Pairs.of(winner, loser))
    ranker = make(epochs=6).fit(data)
    found = podium.evaluate(ranker.predict(VALID), VALID, "ndcg@5").mean["ndcg@5"]
    blind = podium.evaluate(np.random.default_rng(1).normal(size=len(VALID)), VALID, "ndcg@5").mean["ndcg@5"]
    assert found > blind + 0.1
    costs = [row.cost for row in ranker.log_]
    assert ranker.best_epoch_ == 1 + int(np.argmin(costs))  # no label says which epoch is best


def test_an_epoch_that_tells_nothing_apart_is_never_the_best(monkeypatch):
    """With equal scores the file's own order counts, which may be the right one."""
    order = np.lexsort((-VALID.labels, VALID.document_queries))
    perfect = podium.RankingData(VALID.features[order], VALID.labels[order], VALID.qid[order])
    steps = itertools.count()
    moved = FeasibleSteps.moved
    monkeypatch.setattr(FeasibleSteps, "moved", lambda *given: moved(*given) * (next(steps) < TRAIN.n_queries))
    ranker = make(starts=1).fit(TRAIN, valid=perfect)  # no widths are left after the first pass
    assert [row.best for row in ranker.log_] == [True, False, False]
    assert [row.valid == 1 for row in ranker.log_] == [False, True, True]


def test_a_query_with_equal_scores_is_not_judged_by_the_order_of_the_file(monkeypatch):
    """Without widths a training query has the mean label of the others: equal inside the query, not over all queries."""
    order = np.lexsort((-TRAIN.labels, TRAIN.document_queries))
    perfect = podium.RankingData(TRAIN.features[order], TRAIN.labels[order], TRAIN.qid[order])
    steps, moved = itertools.count(), FeasibleSteps.moved
    monkeypatch.setattr(FeasibleSteps, "moved", lambda *given: moved(*given) * (next(steps) < TRAIN.n_queries))
    ranker = make(starts=1).fit(perfect)
    assert ranker.log_[-1].train == 1
    assert not ranker.log_[-1].best


@pytest.mark.parametrize("settings", [{}, {"choose": "kmeans", "references": 20}], ids=str)
def test_documents_that_weigh_nothing_and_centers_without_documents(settings):
    data = podium.RankingData(
        np.tile(np.eye(4, dtype=np.float32), (15, 1)),
        np.tile([0.0, 1.0, 2.0, 1.0], 15),
        np.repeat(np.arange(15), 4),
        document_weights=np.append(0.0, np.ones(59)),
    )
    assert np.isfinite(make(starts=1, **settings).fit(data).predict(data)).all()


def test_a_start_without_progress_is_abandoned():
    ranker = make(epochs=8, starts=3, early_stopping_rounds=1).fit(TRAIN, valid=VALID)
    assert len(ranker.log_) < 24
    for restart in range(3):
        values = [row.valid for row in ranker.log_ if row.restart == restart]
        assert len(values) == 8 or values[-1] <= max(values[:-1])


def test_the_time_limit_ends_training(ticking_clock):
    """The clock advances by one second per reading, so that a pass takes a few seconds."""
    short, long = (make(epochs=50, starts=3, max_seconds=limit).fit(TRAIN, valid=VALID) for limit in (10, 20))
    assert 1 <= len(short.log_) < len(long.log_) < 20
    assert short.log_[-1].seconds <= 10 < long.log_[-1].seconds <= 20
    assert len(make(epochs=50, max_seconds=1e-9).fit(TRAIN, valid=VALID).log_) == 1


def two_of_eight(seed: int) -> podium.RankingData:
    """Labels that depend on two of eight features."""
    X = np.random.default_rng(seed).random((600, 8))
    return podium.RankingData(X, np.digitize(X[:, 0] - X[:, 1], [-0.3, 0.3]), np.repeat(np.arange(40), 15))


@pytest.mark.parametrize("topology", ["full", "independent", "random"])
@pytest.mark.parametrize("step", ["shrink", "project"])
def test_widths_find_the_features_that_tell(topology, step):
    train, test = two_of_eight(0), two_of_eight(1)
    ranker = podium.StructRank(topology=topology, step=step, starts=1, norm=20.0, learning_rate=0.5).fit(train)
    widths = ranker.model_.vector
    assert widths[:2].mean() > 1.5 * widths[2:].mean()
    assert podium.evaluate(ranker.predict(test), test, "ndcg@10").mean["ndcg@10"] > 0.95


# ---- the same bytes


@pytest.mark.parametrize("topology", ["full", "random"])
def test_threads_and_order_of_queries_change_no_byte(topology, tmp_path):
    files = []
    for seed, threads in ((0, 1), (1, 2), (2, 3)):
        order = np.random.default_rng(seed).permutation(14) if seed else np.arange(14)
        ranker = make(topology=topology, references=60, num_threads=threads)
        ranker.fit(TRAIN.select(order), valid=VALID).save(tmp_path / "a")
        files.append((tmp_path / "a").read_bytes())
    assert files[0] == files[1] == files[2]


class PowerCutError(Exception):
    """Ends training at once."""


@pytest.mark.parametrize("judged", [True, False])
def test_training_resumes_from_a_checkpoint_to_the_same_bytes(judged, tmp_path):
    ranker, valid = make(norm=(2.0, 9.0), topology="random"), VALID if judged else None
    ranker.fit(TRAIN, valid=valid).save(tmp_path / "whole")
    log = [replace(row, seconds=0) for row in ranker.log_]
    for at in (1, 3, 7, 8):
        path = podium.Checkpoint(tmp_path / f"{at}.checkpoint", seconds=0)

        def cut(row: podium.Epoch, at: int = at) -> None:
            if row.epoch == at + 1:
                raise PowerCutError

        with pytest.raises(PowerCutError):
            ranker.fit(TRAIN, valid=valid, checkpoint=path, callbacks=cut)
        ranker.fit(TRAIN, valid=valid, checkpoint=path).save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
        assert [replace(row, seconds=0) for row in ranker.log_] == log
    ranker.fit(TRAIN, valid=valid, checkpoint=path).save(tmp_path / "again")  # it had ended
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
    with pytest.raises(podium.ParameterError, match="written with another epochs"):
        ranker.set_params(epochs=4).fit(TRAIN, valid=valid, checkpoint=path)


def test_what_was_learned_is_saved(tmp_path):
    ranker = make(norm=(2.0, 9.0), normalize="minmax").fit(TRAIN, valid=VALID)
    ranker.save(tmp_path / "m")
    again = podium.load(tmp_path / "m")
    for name in ("w1_", "w2_", "norm_", "best_epoch_", "best_value_"):
        assert getattr(again, name) == getattr(ranker, name)
    assert again.get_params() == ranker.get_params() | {"num_threads": None}
    assert again.predict(VALID).tobytes() == ranker.predict(VALID).tobytes()


# ---- features inside each query


def test_normalized_inside_each_query_in_training_and_scoring():
    rng = np.random.default_rng(3)
    shift = {part: rng.normal(size=(part.n_queries, 5)) * 100 for part in (TRAIN, VALID)}
    moved = {
        part: part.replace(features=(part.features + by[part.document_queries]).astype(np.float32))
        for part, by in shift.items()
    }
    ranker = make(normalize="minmax").fit(moved[TRAIN], valid=moved[VALID])
    plain = make().fit(podium.normalize(TRAIN, "minmax"), valid=podium.normalize(VALID, "minmax"))
    np.testing.assert_allclose(
        ranker.predict(moved[VALID]), plain.predict(podium.normalize(VALID, "minmax")), atol=1e-3
    )
    assert ranker.score(moved[VALID]) == pytest.approx(plain.score(podium.normalize(VALID, "minmax")), abs=0.02)
    with pytest.raises(podium.DataError, match="scores whole queries: give podium"):
        ranker.predict(VALID.features)
    assert ranker.rank(moved[VALID].features, qid=VALID.qid).max() == 9


def test_features_on_one_scale_stay_as_they_are():
    assert make().fit(podium.normalize(TRAIN, "minmax")).model_.map.scale.tolist() == [1.0] * 5
    wide = TRAIN.replace(features=TRAIN.features * np.float32(7))
    assert not (make().fit(wide).model_.map.scale == 1).any()
    assert (make(standardize=False).fit(wide).model_.map.scale == 1).all()


# ---- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topology": "half"}, "topology='half' must be one of"),
        ({"partners": 0}, "partners=0 must be"),
        ({"draws": 0}, "draws=0 must be"),
        ({"scale": "max"}, "scale='max' must be one of"),
        ({"tie": 1}, "tie=1 must be True or False"),
        ({"norm": 0}, "norm=0 must be a number above 0, or several"),
        ({"norm": ()}, r"norm=\(\) must be"),
        ({"norm": (1.0, -1)}, r"norm=\(1.0, -1\) must be"),
        ({"norm": "10"}, "norm='10' must be"),
        ({"starts": 0}, "starts=0 must be a whole number"),
        ({"epochs": 1.5}, "epochs=1.5 must be a whole number"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number above 0"),
        ({"decay": 1.5}, "decay=1.5 must be a number above 0 and at most 1"),
        ({"step": "jump"}, "step='jump' must be one of"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds=0 must be"),
        ({"max_seconds": -1}, "max_seconds=-1 must be"),
        ({"references": 0}, "references=0 must be"),
        ({"choose": "first"}, "choose='first' must be one of"),
        ({"leave_out": None}, "leave_out=None must be"),
        ({"standardize": 2}, "standardize=2 must be"),
        ({"normalize": "log"}, "normalize='log' must be one of"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(given, message):
    with pytest.raises(podium.ParameterError, match=message):
        make(**given).fit(TRAIN, valid=VALID)
    with pytest.raises(podium.ParameterError, match=message):
        make(**given).check_parameters()


def test_queries_without_preferences():
    flat = TRAIN.replace(labels=np.zeros(len(TRAIN)))
    with pytest.warns(UserWarning, match="nothing is ranked"):
        ranker = make().fit(flat)
    assert (ranker.predict(VALID) == 0).all()
    alone = podium.RankingData(TRAIN.features, TRAIN.labels, np.arange(len(TRAIN)))  # one document per query
    with pytest.warns(UserWarning, match="nothing is ranked"):
        make().fit(alone)
    two = podium.RankingData([[0.0], [1.0]], [0.0, 1.0], [0, 0])  # one preference, so no two to join
    assert np.isfinite(make(topology="independent").fit(two).predict(two)).all()
    with pytest.warns(
        UserWarning, match=r"no training query has two preferences that structrank couples; use topology"
    ):
        assert np.isfinite(make(topology="full").fit(two).predict(two)).all()


def test_a_start_of_what_is_learned_cannot_be_given():
    """Feasible steps draw it; a number that is not learned may have any value."""
    schedule = "feasible(epochs=1, starts=1)"
    for name in ("structrank(w1=5)", "structrank(function='gaussian', rho=0.1)", "regularized(structrank(w2=(2, 3), components=2))"):  # fmt: skip
        with pytest.raises(podium.ParameterError, match=r"is learned, and feasible draws its own start; leave it out"):
            podium.Ranker(force=name, model="nadaraya-watson", schedule=schedule).fit(TRAIN)
    found = [
        podium.Ranker(force=f"structrank(learn=False{rest})", model="nadaraya-watson", schedule=schedule, metric="map")
        .fit(TRAIN)
        .predict(VALID)
        for rest in ("", ", w1=5, w2=5")
    ]
    assert (found[0] != found[1]).any()
