"""Results as data frames, as HTML in notebooks, and as LaTeX."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import podium
from podium.result_tables import ResultTable

DATA = podium.RankingData(np.zeros((6, 1)), [1, 0, 0, 1, 1, 0], ["a", "a", "b", "b", "c_%", "c_%"])
GOOD, BAD = [2.0, 1.0, 1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]


class Cells(HTMLParser):
    """The text of the cells of a table, row by row; captions and notes too."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.caption, self.notes, self.at = [], "", [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.at = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.at = ""

    def handle_data(self, text):
        if self.at in ("td", "th"):
            self.rows[-1][-1] += text
        elif self.at == "caption":
            self.caption += text
        elif self.at == "p":
            self.notes.append(text)


@pytest.fixture(scope="module")
def evaluation():
    return podium.evaluate(GOOD, DATA, ["ndcg@1", "mrr"])


def test_an_evaluation_as_frame(evaluation):
    frame = evaluation.to_frame()
    assert frame["metric"].tolist() == ["ndcg@1", "mrr"]
    assert frame["mean"].tolist() == pytest.approx([2 / 3, (1 + 1 + 0.5) / 3])
    assert list(zip(frame["low"], frame["high"], strict=True)) == [evaluation.interval[m] for m in ("ndcg@1", "mrr")]
    assert frame["n_queries"].tolist() == [3, 3]
    queries = evaluation.to_frame("polars", per_query=True)
    assert queries.rows() == [("a", 1.0, 1.0), ("b", 1.0, 1.0), ("c_%", 0.0, 0.5)]
    with pytest.raises(podium.ParameterError, match="'pandas' or 'polars'"):
        evaluation.to_frame("arrow")


def test_an_evaluation_in_a_notebook(evaluation):
    cells = Cells(evaluation._repr_html_())
    low, high = evaluation.interval["mrr"]
    assert cells.caption == "3 queries"
    assert cells.rows[0] == ["metric", "mean", "95% interval", "no relevant"]
    assert cells.rows[2] == ["mrr", "0.8333", f"[{low:.4f}, {high:.4f}]", "0"]


def test_an_evaluation_as_latex():
    evaluation = podium.evaluate(
        GOOD, DATA, ["ndcg@1", "mrr"], interval="normal", confidence=0.99
    )  # not cut off at the metric's range
    low, high = evaluation.interval["ndcg@1"]
    assert low < 0
    assert evaluation.to_latex().splitlines()[1:6] == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"metric & mean & 99\% interval & no relevant \\",
        r"\midrule",
        rf"ndcg@1 & 0.6667 & [$-${-low:.4f}, {high:.4f}] & 0 \\",
    ]


def test_comparisons():
    compared = podium.compare({"a_1": GOOD, "b": BAD}, DATA, "mrr", tests=["t"])
    frame = compared.to_frame()
    assert frame[["first", "second", "wins", "losses", "ties"]].values.tolist() == [["a_1", "b", 1, 0, 2]]
    assert frame["difference"].tolist() == pytest.approx([0.5 / 3])
    assert frame["p_t"].tolist() == [compared.pairs[0].p_values["t"]]
    cells = Cells(compared._repr_html_())
    assert cells.rows[0] == ["pair", "difference", "95% interval", "wins", "losses", "ties", "p (t)"]
    assert cells.rows[1][:2] == ["a_1 − b", "+0.1667"]
    assert cells.caption == "mrr over 3 queries: a_1 0.8333, b 0.6667"
    assert r"a\_1 $-$ b & +0.1667 &" in compared.to_latex()
    three = podium.compare({"a": GOOD, "b": BAD, "c": BAD[::-1]}, DATA, "mrr")
    assert "The p-values are corrected for several pairs (Holm)." in Cells(three._repr_html_()).notes
    assert len(three.to_frame()) == 3


@pytest.fixture(scope="module")
def data():
    return podium.synthetic.network(queries=12, documents=6, features=3, seed=1)


def test_cross_validations(data):
    found = podium.cross_validate(podium.RankNet(epochs=2, num_threads=1), data, folds=3, metrics=["mrr"])
    frame = found.to_frame()
    assert frame["fold"].tolist() == [1, 2, 3]
    assert frame["mrr"].tolist() == [fold.evaluation.mean["mrr"] for fold in found.folds]
    assert frame["n_test"].sum() == data.n_queries
    cells = Cells(found._repr_html_())
    assert cells.rows[0] == ["fold", "queries", "best epoch", "mrr"]
    assert cells.rows[-1] == ["all", "12", "", f"{found.evaluation.mean['mrr']:.4f}"]
    assert cells.caption == "Cross-validation of RankNet in 3 folds"
    assert cells.notes[0].startswith("95% intervals over all queries: mrr [")
    assert found.to_latex().count(r" \\") == 5


def test_tunings(data):
    ranges = {"learning_rate": [0.01, 0.1]}
    found = podium.tune(podium.RankNet(epochs=1, num_threads=1), data, valid=data, ranges=ranges, trials=2)
    frame = found.to_frame()
    assert frame["value"].tolist() == [trial.value for trial in found.trials]
    assert frame["learning_rate"].tolist() == [trial.parameters["learning_rate"] for trial in found.trials]
    assert found.to_frame("polars").columns == list(frame.columns)
    cells = Cells(found._repr_html_())
    assert cells.rows[0] == ["trial", found.metric, "learning_rate", "seconds"]
    assert [row[1] for row in cells.rows[1:]] == [f"{trial.value:.4f}" for trial in found.trials]
    assert r"learning\_rate" in found.to_latex()


def test_explanations(data):
    ranker = podium.MART(n_estimators=30, num_threads=1).fit(data)
    why = ranker.why(data, query=data.query_ids[0], above=1, below=2)
    frame = why.to_frame()
    assert frame["contribution"].sum() == pytest.approx(why.gap)
    assert Cells(why._repr_html_()).rows[0] == ["feature", "document 1", "document 2", "contribution"]
    assert r"\begin{tabular}{lrrr}" in why.to_latex()
    found = podium.permutation_importance(ranker, data, repeats=1, num_threads=1)
    frame = found.to_frame()
    assert frame["mean"].is_monotonic_decreasing
    assert dict(zip(frame["feature"], frame["mean"], strict=True)) == dict(zip(found.features, found.mean, strict=True))
    assert len(Cells(found._repr_html_()).rows) == 4


def test_text_is_escaped():
    table = ResultTable("a < b", ("x_1", "y & z"), [("<b>", "-1.5"), ("50% {c}", "+2.0")], ["1 < 2"])
    cells = Cells(table.to_html())
    assert cells.rows == [["x_1", "y & z"], ["<b>", "-1.5"], ["50% {c}", "+2.0"]]
    assert (cells.caption, cells.notes) == ("a < b", ["1 < 2"])
    assert table.to_latex().splitlines()[3:7] == [
        r"x\_1 & y \& z \\",
        r"\midrule",
        r"\textless{}b\textgreater{} & $-$1.5 \\",
        r"50\% \{c\} & +2.0 \\",
    ]
    assert r"\begin{tabular}{lr}" in table.to_latex()
