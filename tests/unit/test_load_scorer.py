"""`podium.load_scorer`: a saved model that scores, without the code that trains."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import podium

DATA = podium.synthetic.polynomial(queries=30, documents=12, features=6, seed=4)
RANKERS = {
    "trees": podium.LambdaMART(n_estimators=12, num_leaves=6, min_documents=2),
    "linear": podium.RankSVM(),
    "net": podium.RankNet(hidden=(4,), epochs=2),
    "kernel": podium.KernelRankNet(),
    "nadaraya-watson": podium.Ranker(force="ranknet", model="nadaraya-watson", schedule="adam(epochs=1)"),
    "quadratic": podium.QuadraticPRank(epochs=1),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, ranker in RANKERS.items():
        ranker.fit(DATA).save(folder / f"{name}.podium")
    return folder


@pytest.mark.parametrize("kind", RANKERS)
def test_a_scorer_gives_the_scores_of_the_ranker(kind, saved):
    scorer = podium.load_scorer(saved / f"{kind}.podium")
    X = DATA.to_caller_order(DATA.features)
    wanted = podium.load(saved / f"{kind}.podium").predict(X)
    np.testing.assert_array_equal(scorer.scores(X), wanted)
    np.testing.assert_array_equal(scorer.scores(DATA), wanted)
    for same in (np.asfortranarray(X), X.astype(np.float64), X.tolist(), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(scorer.scores(same), wanted)


@pytest.mark.parametrize("kind", RANKERS)
def test_scoring_loads_no_training_code_scikit_learn_or_scipy(kind, saved):
    program = f"""
import sys, numpy as np, podium
scorer = podium.load_scorer({str(saved / f"{kind}.podium")!r})
scorer.scores(np.zeros((3, 6), np.float32)), scorer.rank(np.zeros((3, 6), np.float32), k=2)
loaded = set(sys.modules)
heavy = {{name.split(".")[0] for name in loaded}} & {{"sklearn", "scipy", "pandas", "pyarrow", "typer", "rich", "torch"}}
own = [name for name in loaded if name.split(".")[:2] in (["podium", "training"], ["podium", "rankers"], ["podium", "forces"])]
assert not heavy and not own, (heavy, own)
assert "numpy.random" not in loaded and "numpy.ma" not in loaded, "imports that take longer than scoring"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_rank_gives_the_positions_of_the_best(saved):
    scorer = podium.load_scorer(saved / "trees.podium")
    X = np.repeat(DATA.features[:12], 2, axis=0)  # every score twice
    scores = scorer.scores(X)
    order = sorted(range(24), key=lambda i: (-scores[i], i))
    assert scorer.rank(X).tolist() == order
    for k in (0, 1, 5, 24, 100):
        assert scorer.rank(X, k).tolist() == order[:k]
    assert scorer.rank(X[:0], 3).tolist() == []


@pytest.mark.parametrize("k", [-1, 2.5, "3", True])
def test_rank_refuses_a_k_that_is_no_count(k, saved):
    with pytest.raises(podium.ParameterError, match=r"k=.* must be a whole number of at least 0"):
        podium.load_scorer(saved / "trees.podium").rank(DATA.features[:4], k)


def test_rank_takes_one_query(saved):
    scorer = podium.load_scorer(saved / "trees.podium")
    with pytest.raises(podium.DataError, match="the data has 30 queries"):
        scorer.rank(DATA)
    one = podium.RankingData(DATA.features[:12], DATA.labels[:12], np.zeros(12))
    np.testing.assert_array_equal(scorer.rank(one), scorer.rank(DATA.features[:12]))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("kind", ["trees", "linear"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_infinite_features_are_named(bad, kind, order, saved):
    X = np.array(np.repeat(DATA.features[:12].astype(np.float64), 40, axis=0), order=order)
    X[407, 3] = bad
    with pytest.raises(podium.DataError, match="feature 'f3' of row 407 is infinite, or too large for float32"):
        podium.load_scorer(saved / f"{kind}.podium").scores(X)


def test_the_wrong_number_of_features_is_refused(saved):
    with pytest.raises(podium.DataError, match="have 5 features, the model was trained on 6"):
        podium.load_scorer(saved / "trees.podium").scores(DATA.features[:, :5])


@pytest.mark.parametrize("kind", RANKERS)
def test_a_scorer_serves_many_threads_at_once(kind, saved):
    scorer = podium.load_scorer(saved / f"{kind}.podium")
    parts = [DATA.features[k : k + size] for k in range(0, 300, 30) for size in (1, 7, 60)]
    wanted = [scorer.scores(part) for part in parts]
    wrong: list[int] = []

    def score_all() -> None:
        for _ in range(5):
            for k, part in enumerate(parts):
                if scorer.scores(part, num_threads=1 + k % 3).tobytes() != wanted[k].tobytes():
                    wrong.append(k)

    threads = [threading.Thread(target=score_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
