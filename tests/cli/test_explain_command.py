from __future__ import annotations

import numpy as np
import pytest

import podium


@pytest.fixture
def judged(cli):
    data = podium.synthetic.network(queries=12, documents=8, features=4, seed=1)
    ids = [f"doc{k}" for k in range(len(data))]
    named = podium.RankingData(data.features, data.labels, data.qid, document_ids=ids)
    podium.write(data, cli.folder / "judged.txt")
    podium.write(named, cli.folder / "named.podium-data")
    podium.LambdaMART(n_estimators=8, min_documents=3).fit(data).save(cli.folder / "trees.podium")
    podium.ListNet(epochs=2).fit(data).save(cli.folder / "linear.podium")
    podium.RankNet(epochs=1).fit(data).save(cli.folder / "net.podium")
    return data


def test_importance_of_trees(cli, judged):
    ranker = podium.load(cli.folder / "trees.podium")
    said = cli("explain", "trees.podium", "--json").json
    assert list(said["gain"].values()) == ranker.importance("gain").tolist()
    assert list(said["splits"].values()) == ranker.importance("split").tolist()
    lines = cli("explain", "trees.podium", "judged.txt", "--top", 2).out.splitlines()
    first = int(np.argmax(ranker.importance()))
    assert lines[1].split() == ["feature", "gain", "share", "splits"]
    assert lines[3].split() == [
        f"f{first}",
        f"{ranker.importance()[first]:.4g}",
        f"{ranker.feature_importances_[first]:.1%}",
        str(ranker.importance("split")[first]),
    ]
    assert len(lines) == 5


@pytest.mark.parametrize("model", ["trees", "linear"])
def test_permutation_of_any_model(cli, judged, model):
    words = ("explain", f"{model}.podium", "judged.txt", "--permutation", "-m", "ndcg@5", "--repeats", 2, "--seed", 3)
    said = cli(*words, "--json").json
    ranker = podium.load(cli.folder / f"{model}.podium")
    expected = podium.permutation_importance(
        ranker, podium.read(cli.folder / "judged.txt"), metric="ndcg@5", repeats=2, seed=3
    )
    assert said["permutation"] == expected.to_dict()
    assert ("gain" in said) == (model == "trees")
    shown = cli(*words).out
    best = int(expected.order[0])
    assert f"{expected.mean[best]:+.4f}" in shown.splitlines()[3]
    assert "fall of ndcg@5" in shown


def test_why_is_one_document_above_another(cli, judged):
    ranker, query = podium.load(cli.folder / "trees.podium"), judged.query_ids[2]
    expected = ranker.why(podium.read(cli.folder / "judged.txt"), query=query, above=3, below=1)
    words = ("--query", query, "--above", 3, "--below", 1)
    assert cli("explain", "trees.podium", "judged.txt", *words, "--json").json == expected.to_dict()
    shown = cli("explain", "trees.podium", "judged.txt", *words).out
    assert shown.splitlines()[0] == expected.title()
    assert f"{expected.reasons[0].contribution:+.4f}" in shown
    first = int(judged.query_offsets[2])
    words = ("--query", query, "--above", f"doc{first + 2}", "--below", f"doc{first}")
    said = cli("explain", "trees.podium", "named.podium-data", *words, "--json").json
    assert said["above"]["document"] == f"doc{first + 2}"
    assert said["gap"] == pytest.approx(expected.gap)


@pytest.mark.parametrize("model", ["trees.podium", "linear.podium"])
def test_the_order_of_a_query(cli, judged, model):
    query, rows = judged.query_ids[2], slice(*judged.query_offsets[2:4])
    scores = podium.load(cli.folder / model).predict(podium.read(cli.folder / "judged.txt"))[rows]
    said = cli("explain", model, "judged.txt", "--query", query, "--json").json["documents"]
    assert [row["rank"] for row in said] == list(range(1, len(scores) + 1))
    assert [row["score"] for row in said] == sorted(scores.tolist(), reverse=True)
    assert all(scores[row["row"] - 1] == row["score"] for row in said)
    assert [row["label"] for row in said] == [judged.labels[rows][row["row"] - 1] for row in said]
    shown = cli("explain", model, "judged.txt", "--query", query, "--top", "2").out
    assert f"query {query}, {len(scores)} documents" in shown
    assert f"{len(scores) - 2} more; use --top {len(scores)} to print all" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["net.podium"], "net.podium: is neither a model of trees nor a linear one"),
        (["trees.podium", "--permutation"], "--permutation needs judged data"),
        (
            ["trees.podium", "judged.txt", "--query", "1", "--above", "2"],
            " needs --query and --",
        ),
        (
            ["trees.podium", "judged.txt", "--above", "2", "--below", "1"],
            " needs --query and --",
        ),
        (["trees.podium", "judged.txt", "--query", "no"], "--query no is not in the data"),
        (
            ["trees.podium", "judged.txt", "--query", "no", "--above", "1", "--below", "2"],
            "--query no is not in the data",
        ),
        (["trees.podium", "judged.txt", "--query", "1", "--above", "1", "--below", "99"], "--below 99 must be"),
        (["trees.podium", "judged.txt", "--permutation", "--among", "x"], "--among x"),
        (["trees.podium", "trees.podium", "--permutation"], "is a Podium model, but data or scores are needed here"),
        (
            ["trees.podium", "judged.txt", "--permutation", "--query", "1", "--above", "1", "--below", "2"],
            "leave one of them out",
        ),
        (["judged.txt"], "judged.txt"),
        (["trees.podium", "judged.txt", "--metric", "map"], "--metric belongs to --permutation"),
        (["trees.podium", "--repeats", "5"], "--repeats belongs to --permutation"),
        (["trees.podium", "--seed", "1"], "--seed belongs to --permutation"),
        (
            ["trees.podium", "judged.txt", "--query", "1", "--above", "1", "--below", "2", "--among", "all"],
            "--among belongs to --permutation",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gives_one_sentence_and_exit_code_2(cli, judged, refused, words, message):
    assert message in refused("explain", *words)


def test_a_linear_model_shows_its_weights(cli, tmp_path):
    """A weight of the raw feature is that of the standardized one divided by the standard deviation."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(60, 2)) * [1, 100]
    data = podium.RankingData(features, (features[:, 0] > 0) * 1, np.repeat(np.arange(6), 10), feature_names=["a", "b"])
    ranker = podium.RankNet(hidden=(), epochs=3).fit(data)
    ranker.save(tmp_path / "linear.podium")
    said = cli("explain", "linear.podium", "--json").json
    spread = np.asarray(data.features, np.float64).std(axis=0)
    for k, name in enumerate(["a", "b"]):
        assert said["weight"][name] == pytest.approx(said["standardized_weight"][name] / spread[k], rel=1e-6)
    scores = ranker.scorer_.scores(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert said["weight"]["a"] == pytest.approx(scores[0] - scores[1])
    lines = cli("explain", "linear.podium").out.splitlines()
    assert lines[1].split() == ["feature", "standardized", "weight", "weight"]
    assert lines[3].split()[0] == "a"
