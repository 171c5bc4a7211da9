"""RankProp: targets nearest to the scores in the order of the labels, phases, and how training ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.training.schedules import phases as rankprop
from podium.training.schedules.phases import Targets

TRAIN = podium.synthetic.network(queries=30, documents=12, features=6, hidden=3, levels=4, seed=0)
TEST = podium.synthetic.network(queries=40, documents=12, features=6, hidden=3, levels=4, seed=1, generator_seed=0)


def documents(labels, qid, **parts) -> podium.RankingData:
    return podium.RankingData(np.zeros((len(labels), 1)), labels, qid, **parts)


def nearest(scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same targets by a solver that knows nothing of pools: t as a first value and steps of at least 0."""
    order = np.lexsort((scores, labels))
    sums = np.tril(np.ones((len(scores), len(scores))))

    def cost(steps: np.ndarray) -> tuple[float, np.ndarray]:
        gap = weight[order] * (sums @ steps - scores[order])
        return float(0.5 * gap @ (sums @ steps - scores[order])), sums.T @ gap

    bounds = [(None, None)] + [(0, None)] * (len(scores) - 1)
    found = minimize(cost, np.zeros(len(scores)), jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15})
    out = np.empty(len(scores))
    out[order] = sums @ found.x
    return out


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6), st.booleans())
def test_targets_are_the_nearest_in_the_order_of_the_labels(n, seed, weighted):
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 3, n).astype(float), rng.normal(size=n)
    weight = rng.random(n) + 0.2 if weighted else np.ones(n)
    parts = {"document_weights": weight} if weighted else {}
    found = Targets(documents(labels, np.zeros(n, int), **parts), "data").fit(scores)
    expected = nearest(scores, labels, weight)
    if np.ptp(expected) < 1e-3:
        return
    np.testing.assert_allclose(found, (expected - expected.mean()) / expected.std(), atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10**6), st.sampled_from(["data", "query"]))
def test_targets_rise_with_the_label_and_inside_it_with_the_score(n, seed, within):
    rng = np.random.default_rng(seed)
    data = documents(rng.integers(0, 4, n), np.sort(rng.integers(0, 5, n)))
    scores = rng.normal(size=n)
    targets = Targets(data, within).fit(scores)
    assert targets.mean() == pytest.approx(0, abs=1e-9)
    assert targets.std() == pytest.approx(1) or not targets.any()
    if np.array_equal(targets, Targets(data, within).start()):
        return  # all were pooled
    same = np.ones((n, n), bool) if within == "data" else data.document_queries[:, None] == data.document_queries
    lower = data.labels[:, None] < data.labels
    inside = (data.labels[:, None] == data.labels) & (scores[:, None] < scores)
    assert (targets[:, None] <= targets + 1e-12)[same & (lower | inside)].all()


def test_scores_in_the_right_order_are_their_own_targets_and_reversed_ones_start_over():
    data = documents([0, 0, 1, 2], [0, 0, 0, 0])
    targets = Targets(data, "data")
    scores = np.array([0.1, 0.5, 0.7, 4.0])
    np.testing.assert_allclose(targets.fit(scores), (scores - scores.mean()) / scores.std())
    np.testing.assert_array_equal(targets.fit(np.array([5.0, 5.0, 4.0, 3.0])), targets.start())
    assert targets.order(scores) == targets.order(scores**3) != targets.order(-scores)


def test_the_first_phase_is_regression_on_the_labels():
    first = podium.RankProp(hidden=(), epochs=5).fit(TRAIN)
    scaled = (TRAIN.labels - TRAIN.labels.mean()) / TRAIN.labels.std()
    plain = podium.Ranker(force="squared", model="linear", metric="pairwise_error", schedule="adam(epochs=5)")
    np.testing.assert_allclose(first.predict(TEST), plain.fit(TRAIN.replace(labels=scaled)).predict(TEST), rtol=1e-9)
    longer = podium.RankProp(hidden=(), epochs=6).fit(TRAIN)
    assert longer.n_phases_ == 2
    assert first.n_phases_ == 1


@pytest.mark.parametrize("within", ["data", "query"])
@pytest.mark.parametrize("hidden", [(), (8,)])
def test_it_learns(within, hidden):
    ranker = podium.RankProp(hidden=hidden, within=within, learning_rate=0.01, epochs=60).fit(TRAIN, valid=TEST)
    assert podium.evaluate(ranker.predict(TEST), TEST, "ndcg@5").mean["ndcg@5"] > 0.9
    assert ranker.n_phases_ > 1
    assert all(0 <= row.train <= 1 for row in ranker.log_)  # of the labels, not of the targets


def test_a_line_of_documents_settles():
    x = np.linspace(0, 1, 12)[:, None]
    data = podium.RankingData(x, np.repeat([0, 1, 2], 4), np.zeros(12, int))
    ranker = podium.RankProp(hidden=(), epochs=1000, learning_rate=0.05, metric="ndcg").fit(data)
    assert ranker.verdict_ == "settled"
    assert ranker.n_epochs_ < 1000
    assert (np.diff(ranker.predict(data)) > 0).all()


def test_cycling_is_reported(monkeypatch, tmp_path):
    orders = iter([1, 2, 3, 4, 3] * 100)
    monkeypatch.setattr(Targets, "order", lambda self, targets: next(orders))
    with pytest.warns(ConvergenceWarning, match="runs in a cycle: .* returned to an earlier one, after 3 phases"):
        ranker = podium.RankProp(epochs=1000, phase_epochs=1).fit(TRAIN)
    assert ranker.verdict_ == "cycle"
    ranker.save(tmp_path / "m")
    assert podium.load(tmp_path / "m").verdict_ == "cycle"


def test_no_progress_is_reported(monkeypatch):
    monkeypatch.setattr(rankprop, "STALLED", 3)
    monkeypatch.setattr(Targets, "gap", lambda self, scores, targets: 1.0)
    with pytest.warns(ConvergenceWarning, match="RankProp makes no progress: scores and targets came no nearer"):
        ranker = podium.RankProp(epochs=1000, phase_epochs=1).fit(TRAIN)
    assert ranker.verdict_ == "no progress"


@pytest.mark.parametrize("optimizer", ["adam", "lbfgs"])
def test_training_resumes_from_a_checkpoint_to_the_same_bytes(optimizer, tmp_path):
    ranker = podium.RankProp(epochs=9, phase_epochs=2, optimizer=optimizer)
    ranker.fit(TRAIN, valid=TEST).save(tmp_path / "whole")
    turned = TRAIN.select(np.arange(TRAIN.n_queries)[::-1])
    for stop in (3, 6):
        ranker.fit(TRAIN, valid=TEST, checkpoint=tmp_path / "c", callbacks=lambda row, stop=stop: row.epoch == stop)
    ranker.fit(turned, valid=TEST, checkpoint=tmp_path / "c").save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_new_weights_start_with_the_labels_as_targets():
    ranker = podium.RankProp(epochs=12, phase_epochs=2, restart_rounds=4, learning_rate=1e-9)
    plan = ranker._plan(TRAIN)
    run = plan.schedule.make_run(plan, TRAIN, TEST, None)
    moved = []
    while run.progress.restart == 0:
        moved.append(not np.array_equal(run.targets, run.fits.start()))
        run._epoch(0.0)
    assert moved[-1]  # targets had followed the scores before
    np.testing.assert_array_equal(run.targets, run.fits.start())
    np.testing.assert_array_equal(run.task.data.labels, run.fits.start())
    before = run.phases
    for _ in range(2):
        run._epoch(0.0)
        np.testing.assert_array_equal(run.targets, run.fits.start())  # for a whole phase
    run._epoch(0.0)
    assert not np.array_equal(run.targets, run.fits.start())
    assert run.phases == before + 1


def test_phases_are_counted_through_restarts(monkeypatch, tmp_path):
    sets = []
    teach = rankprop.PhasesRun._teach
    monkeypatch.setattr(rankprop.PhasesRun, "_teach", lambda self, targets: (sets.append(1), teach(self, targets)))
    ranker = podium.RankProp(epochs=12, phase_epochs=2, restart_rounds=3, learning_rate=1e-9).fit(TRAIN, valid=TEST)
    assert ranker.log_[-1].restart > 0
    assert ranker.n_phases_ == 1 + len(sets)
    stopped = podium.RankProp(epochs=12, phase_epochs=2, restart_rounds=3, learning_rate=1e-9)
    stopped.fit(TRAIN, valid=TEST, checkpoint=tmp_path / "c", callbacks=lambda row: row.epoch == 8)
    assert stopped.fit(TRAIN, valid=TEST, checkpoint=tmp_path / "c").n_phases_ == ranker.n_phases_


def test_a_phase_ends_where_the_solver_has_converged():
    ranker = podium.RankProp(hidden=(), optimizer="lbfgs", phase_epochs=60, epochs=120).fit(TRAIN, valid=TEST)
    assert ranker.n_phases_ > 2
    turns = np.flatnonzero(np.diff([row.cost for row in ranker.log_]) == 0)
    assert len(turns) <= ranker.n_phases_  # it never stands still


@pytest.mark.parametrize("scale", [1e200, 1e-200, 3.0])
def test_labels_of_any_size_are_targets_of_mean_0_and_variance_1(scale):
    labels = np.array([0, 1, 2, 3, 0, 4.0])
    found = Targets(documents(labels * scale, [0] * 6), "data").start()
    np.testing.assert_allclose(found, (labels - labels.mean()) / labels.std(), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("phase_epochs", 0, "at least 1"), ("within", "x", "within='x' must be one of 'data'")],
)
def test_parameters_are_checked(name, value, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.RankProp(**{name: value}).fit(TRAIN)
