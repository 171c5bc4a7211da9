from __future__ import annotations

import numpy as np
import pytest

import podium


@pytest.fixture
def judged(cli):
    data = podium.synthetic.network(queries=12, documents=6, features=4, seed=1)
    podium.write(data, cli.folder / "judged.txt")
    rng = np.random.default_rng(0)
    podium.write(data.labels + rng.normal(size=len(data)), cli.folder / "good.scores")
    podium.write(rng.normal(size=len(data)), cli.folder / "poor.scores")
    return data


def test_evaluate_equals_the_library(cli, judged):
    said = cli("evaluate", "good.scores", "judged.txt", "-m", "ndcg@5", "-m", "map(rel=3)", "--json").json
    expected = podium.evaluate(podium.read_scores(cli.folder / "good.scores"), judged, ["ndcg@5", "map(rel=3)"])
    assert said["metrics"]["ndcg@5"]["mean"] == expected.mean["ndcg@5"]
    assert said["metrics"]["map(rel=3)"]["per_query"] == expected.per_query["map(rel=3)"].tolist()
    assert said["n_queries"] == 12


def test_evaluate_shows_means_and_intervals(cli, judged):
    shown = cli("evaluate", "good.scores", "judged.txt", "--metric", "ndcg@5").out
    result = podium.evaluate(podium.read_scores(cli.folder / "good.scores"), judged, "ndcg@5")
    low, high = result.interval["ndcg@5"]
    assert f"{result.mean['ndcg@5']:.4f}   [{low:.4f}, {high:.4f}]" in shown


def test_queries_without_relevant_documents_are_reported_and_long_names_are_not_cut(cli, judged):
    long = "ndcg(gain='linear', empty='skip', ties='average', convention='letor')@5"
    podium.write(
        judged.replace(labels=np.where(judged.document_queries < 2, 0, judged.labels)), cli.folder / "some.txt"
    )
    shown = cli("evaluate", "good.scores", "some.txt").out
    alone = "2 of 12 queries have no relevant document, counted as 0 (the metric's empty='skip' would leave them out)"
    assert shown.splitlines()[-1] == alone
    means = podium.evaluate(podium.read_scores(cli.folder / "good.scores"), podium.read(cli.folder / "some.txt")).mean
    assert all(f"{name:<8}  {mean:.4f}" in shown for name, mean in means.items())  # the same metrics by default
    shown = cli("evaluate", "good.scores", "some.txt", "-m", long, "-m", "map", "-m", "pairwise_error").out
    assert any(line.startswith(f"{long}   0.") for line in shown.splitlines())
    assert f"left out of the mean by {long} (the metric's empty='zero' would count them as 0)" in shown
    assert "2 of 12 queries have no two documents to tell apart, counted as 0 by pairwise_error" in shown


def test_per_query_values_go_to_a_file(cli, judged):
    cli("evaluate", "good.scores", "judged.txt", "-m", "map", "--per-query", "values.tsv")
    header, *rows = [line.split("\t") for line in (cli.folder / "values.tsv").read_text().splitlines()]
    assert header == ["qid", "map"]
    result = podium.evaluate(podium.read_scores(cli.folder / "good.scores"), judged, "map")
    assert [float(value) for _, value in rows] == result.per_query["map"].tolist()


def test_compare(cli, judged):
    said = cli("compare", "judged.txt", "good.scores", "bad=poor.scores", "-m", "ndcg@3", "--json").json
    assert set(said["mean"]) == {"good", "bad"}
    assert said["pairs"][0]["wins"] + said["pairs"][0]["losses"] + said["pairs"][0]["ties"] == 12
    shown = cli("compare", "judged.txt", "good.scores", "bad=poor.scores", "-m", "ndcg@3").out
    assert f"{said['pairs'][0]['difference']:+.4f}" in shown


def test_metrics_lists_every_definition(cli):
    said = cli("metrics", "--json").json
    assert set(said) == set(podium.metrics.METRICS)
    assert all(entry["formula"] and entry["summary"] for entry in said.values())
    shown = cli("metrics", "ndcg").out
    assert "DCG" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "good.scores", "judged.txt", "-m", "ncdg@10"], "Did you mean 'ndcg'?"),
        (["evaluate", "good.scores", "judged.txt", "-m", "ndcg@0"], "cutoff=0 must be at least 1"),
        (["evaluate", "judged.txt", "judged.txt"], "holds judged data"),
        (["evaluate", "good.scores", "good.scores"], "holds scores and no judgments"),
        (["evaluate", "short.scores", "judged.txt"], "short.scores: has 2 scores, but judged.txt has 72 documents"),
        (["evaluate", "nan.scores", "judged.txt"], "nan.scores:2"),
        (["evaluate", "good.scores", "judged.txt", "--complete"], "for runs"),
        (["compare", "judged.txt", "good.scores"], "must name at least two files"),
        (["compare", "judged.txt", "good.scores", "good.scores"], "good.scores is the name of two rankings"),
        (["metrics", "foo"], "unknown metric 'foo'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gives_one_sentence_and_exit_code_2(cli, judged, words, message):
    (cli.folder / "short.scores").write_text("1\n2\n")
    (cli.folder / "nan.scores").write_text("1\nnan\n" + "1\n" * 70)
    outcome = cli(*words, code=2)
    assert message in outcome.err
    assert outcome.err.startswith("podium: ")
    assert outcome.err.count("\n") == 1
    assert not outcome.out


def test_a_run_gives_trec_evals_numbers(cli, data_dir):
    trec = data_dir / "trec_eval"
    said = cli(
        "evaluate", trec / "results.test", trec / "qrels.test", "-m", "map", "-m", "ndcg", "-m", "p@5", "--json"
    ).json
    expected = dict(line.split()[::2] for line in (trec / "out.test.a").read_text().splitlines())
    for ours, theirs in (("map", "map"), ("ndcg", "ndcg"), ("p@5", "P_5")):
        assert f"{said['metrics'][ours]['mean']:.4f}" == expected[theirs]


def test_tied_scores_that_matter_are_announced(cli, judged):
    podium.write(np.round(podium.read_scores(cli.folder / "good.scores") / 3), cli.folder / "tied.scores")
    said = cli("evaluate", "tied.scores", "judged.txt", "-m", "ndcg@5", "--json").json["metrics"]["ndcg@5"]["ties"]
    sentence = f"ndcg@5: {said['n_affected']} of 12 queries have tied scores that can change the value"
    shown = cli("evaluate", "tied.scores", "judged.txt", "-m", "ndcg@5").out
    assert f"{sentence}: {said['value']:.4f} in the order used, {said['expected']:.4f} on average" in shown
    words = ("compare", "judged.txt", "tied.scores", "good.scores", "-m", "ndcg@5")
    assert cli(*words, "--json").json["ties"]["tied"] == said
    assert f"tied: {said['n_affected']} of 12 queries have tied scores" in cli(*words).out
    assert "tied scores" not in cli("evaluate", "good.scores", "judged.txt").out


def test_score_writes_a_trec_run_by_name_or_format(cli):
    data = podium.synthetic.network(queries=4, documents=5, features=3, seed=1)
    data = data.replace(document_ids=[f"d{k}" for k in range(len(data))])
    podium.write(data, cli.folder / "data.parquet")
    podium.RankNet(epochs=1).fit(data).save(cli.folder / "net.podium")
    scores = podium.load(cli.folder / "net.podium").predict(data)
    cli("score", "net.podium", "data.parquet", "--out", "a.run")
    cli("score", "net.podium", "data.parquet", "--out", "b.txt", "--format", "trec-run")
    run = podium.read_scores(cli.folder / "a.run")
    assert run.scores_for(data).tolist() == scores.tolist()
    assert run.tag == "net"
    assert (cli.folder / "a.run").read_bytes() == (cli.folder / "b.txt").read_bytes()
    cli("score", "net.podium", "data.parquet", "--out", "c.txt", "--to", "trec-run", "--format", "parquet")
    assert (cli.folder / "a.run").read_bytes() == (cli.folder / "c.txt").read_bytes()
    lines = [line.split() for line in (cli.folder / "a.run").read_text().splitlines()]
    assert [line[3] for line in lines] == ["1", "2", "3", "4", "5"] * 4
    assert [line[0] for line in lines] == [query for query in "0123" for _ in range(5)]
    cli("data", "convert", "a.run", "c.scores", "--data", "data.parquet")
    assert podium.read_scores(cli.folder / "c.scores").tolist() == scores.tolist()
    assert "needs a file" in cli("score", "net.podium", "data.parquet", "--format", "trec-run", code=2).err
    refused = cli("score", "net.podium", "data.parquet", "--to", "trec", code=2).err
    assert "--to trec must be one of 'scores', 'trec-run'; did you mean 'trec-run'?" in refused
    names = [f"query {q}" for q in data.qid]
    blank = podium.RankingData(data.features, data.labels, names, document_ids=list(data.document_ids))
    podium.write(blank, cli.folder / "blank.parquet")
    said = cli("score", "net.podium", "blank.parquet", "--out", "d.run", code=2).err
    assert "'query 0' cannot be written to a TREC file" in said
    assert "write scores, which need no ids, or replace the blanks" in said


def test_rankings_of_one_stem_get_distinct_names(cli, judged):
    (cli.folder / "old").mkdir()
    podium.write(podium.read_scores(cli.folder / "good.scores"), cli.folder / "old" / "good.scores")
    podium.write(podium.read_scores(cli.folder / "good.scores"), cli.folder / "good.score")
    means = cli("compare", "judged.txt", "good.scores", "old/good.scores", "good.score", "poor.scores", "--json").json[
        "mean"
    ]
    assert list(means) == ["good.scores", "old/good.scores", "good.score", "poor"]


def test_compare_by_several_metrics(cli, tmp_path):
    data = podium.synthetic.network(queries=8, documents=6, features=3, seed=1)
    podium.write(data, tmp_path / "d.txt")
    for k, scores in enumerate((data.features[:, 0], data.features[:, 1])):
        podium.write(data.to_caller_order(scores), tmp_path / f"{k}.scores")
    words = ["compare", "d.txt", "a=0.scores", "b=1.scores"]
    both = cli(*words, "-m", "map", "-m", "mrr@3,5", "--json").json
    alone = [cli(*words, "-m", name, "--json").json for name in ("map", "mrr@3", "mrr@5")]
    assert [result["metric"] for result in both["comparisons"]] == ["map", "mrr@3", "mrr@5"]
    for found, expected in zip(both["comparisons"], alone, strict=True):
        assert found == {name: value for name, value in expected.items() if name not in ("data", "rankings")}
    text = cli(*words, "-m", "map", "-m", "mrr").out
    assert "map over 8 queries" in text
    assert "mrr over 8 queries" in text


def test_queries_of_one_document_are_reported(cli, tmp_path):
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n1 qid:3 1:1\n0 qid:3 1:2\n")
    (tmp_path / "one.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n")
    for name, count in (("d", 4), ("one", 2)):
        (tmp_path / f"{name}.scores").write_text("1\n" * count)
    some = cli("evaluate", "d.scores", "d.txt").out
    assert "2 of 3 queries have one document each, so that no ranking can be better than another there\n" in some
    assert "2 of 2 queries have one document each" in (every := cli("evaluate", "one.scores", "one.txt").out)
    assert "better than another there; check the query ids\n" in every
    with pytest.warns(
        UserWarning, match="nothing is ranked: every training query has only one document; documents are"
    ):
        podium.RankNet(epochs=1).fit(podium.read(tmp_path / "one.txt"))
