"""The page of a report: one file that holds everything, shows hostile text as text, stays small, and says what is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.report import queries
from podium.report.charts import embeddable, short_names
from podium.report.markup import element, escape, table
from podium.report.texts import as_sentence, cut, embedded_json, p_value, rounded

pytest.importorskip("altair")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\"'\u202e{{7*7}}"
LIMIT = 3_000_000
VOID = {"meta", "link", "img", "input", "br"}


class Outline(HTMLParser):
    """The structure of a page: its elements, headings, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def embedded(html: str) -> dict:
    """Return the data that the page's script reads."""
    return json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html)[1])


@pytest.fixture(scope="module")
def data() -> podium.RankingData:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 400).astype(float)
    features = labels[:, None] * [1, 0.5, 0] + rng.normal(0, 1, (400, 3))
    return podium.RankingData(features, labels, np.repeat(np.arange(40), 10))


@pytest.fixture(scope="module")
def models(data: podium.RankingData) -> dict[str, podium.LambdaMART | podium.RankNet]:
    train, valid = data.select(np.arange(20)), data.select(np.arange(20, 30))
    small = {"num_threads": 1, "metric": "ndcg@5"}
    return {
        "trees": podium.LambdaMART(n_estimators=5, num_leaves=4, min_documents=5, **small).fit(train, valid=valid),
        "net": podium.RankNet(hidden=(3,), epochs=4, **small).fit(train, valid=valid),
    }


@pytest.fixture(scope="module")
def test_part(data: podium.RankingData) -> podium.RankingData:
    return data.select(np.arange(30, 40))


@pytest.fixture(scope="module")
def made(models, test_part) -> podium.ModelReport:
    return podium.report(models, test_part)


def test_the_page_is_whole_and_asks_nothing_of_the_network(made):
    outline = Outline(made.html)
    assert made.html.startswith("<!DOCTYPE html>")
    assert outline.headings[:2] == [1, 2]
    assert all(after <= before + 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    for tag, attributes in outline.tags:
        assert tag not in {"iframe", "object", "embed", "form"}
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert re.search(r"default-src &#x27;none&#x27;", made.html)
    assert "@import" not in made.html
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_part_of_the_page_is_there(made):
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", made.html)
    assert titles == [
        "Overview",
        "Data",
        "Models",
        "Learning curves",
        "Metrics",
        "Metric by cutoff",
        "Gains and losses by query",
        "Queries to look at",
        "Importance of features",
        "Scores",
        "How to reproduce this page",
        "Query",
    ]
    assert made.html.count("<svg ") == 8  # curves, cutoffs, differences, 3 importances, 2 distributions
    tables = re.findall(r"<table>.*?</table>", made.html, re.DOTALL)
    assert all("<caption>" in each and '<th scope="col"' in each for each in tables)


def test_numbers_are_those_of_evaluate_and_compare(made, models, test_part):
    systems = {name: model.predict(test_part) for name, model in models.items()}
    result = podium.evaluate(systems["trees"], test_part, ["ndcg@5", "map"])
    compared = podium.compare(systems, test_part, "ndcg@5")
    assert f">{result.mean['ndcg@5']:.4f}<" in made.html
    low, high = result.interval["map"]
    assert f">{low:.4f} to {high:.4f}<" in made.html
    assert f">{compared.pairs[0].p_values['wilcoxon']:.4f}<" in made.html
    rows = {row[1]: row for row in embedded(made.html)["rows"]}
    values = result.per_query["ndcg@5"]
    gaps = values - podium.evaluate(systems["net"], test_part, "ndcg@5").per_query["ndcg@5"]
    assert [rows[str(query)][4][0] for query in test_part.query_ids] == [round(value, 4) for value in values]
    assert [rows[str(query)][5] for query in test_part.query_ids] == [round(gap, 4) for gap in gaps]


def test_documents_in_the_page_are_those_of_the_model(made, models, test_part):
    found = embedded(made.html)
    query = found["rows"][3]
    documents = found["details"][str(query[0])]
    scores = models["trees"].predict(test_part)[30:40]
    order = np.argsort(-scores, kind="stable")
    assert [document[0] for document in documents] == [str(k + 1) for k in order]
    assert [document[3][0] for document in documents] == [rounded(score) for score in scores[order]]
    assert [document[1] for document in documents] == test_part.labels[30:40][order].tolist()
    best = documents[0][4][0][0]
    column = int(found["features"][best[0]][1:])
    attributed = models["trees"].attributions(test_part)[30 + order[0], :-1]
    assert column == np.argmax(np.abs(attributed))
    assert best[2] == rounded(attributed[column], 3)
    assert documents[0][4][1] is None


def test_the_same_input_gives_the_same_bytes(made, models, test_part):
    assert podium.report(models, test_part).html == made.html


def test_hostile_text_is_shown_as_text(tmp_path: Path):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 100).astype(float)
    features = np.stack([labels + rng.normal(0, 1, 100), labels * 1.0], axis=1)
    data = podium.RankingData(
        features,
        labels,
        [f"{HOSTILE}{k // 10}" for k in range(100)],
        document_ids=[f"{k}{HOSTILE}" for k in range(100)],
        feature_names=[HOSTILE, f"leak{HOSTILE}"],
    )
    ranker = podium.LambdaMART(n_estimators=3, num_leaves=3, min_documents=5, num_threads=1).fit(data)
    made = podium.report({f"a{HOSTILE}": ranker, f"b{HOSTILE}": labels}, data, title=HOSTILE)
    outline = Outline(made.html)
    assert [tag for tag, _ in outline.tags].count("script") == 2
    assert not [tag for tag, _ in outline.tags if tag in ("img", "iframe", "foreignobject")]
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in "".join(outline.texts)
    found = embedded(made.html)
    assert found["rows"][0][1] == cut(f"{HOSTILE}0")
    assert found["models"] == [cut(f"a{HOSTILE}"), cut(f"b{HOSTILE}")]
    assert any("orders 100.0% of the pairs" in text for text in made.warnings)
    made.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_bytes() == made.html.encode()


def test_one_model_and_scores_alone_say_what_is_missing(test_part):
    made = podium.report({"given": test_part.labels + 0.1}, test_part)
    for words in (
        "given was given as scores, so its training is unknown.",
        "given was given as scores, which keep no training log.",
        "given was given as scores, so its features are unknown.",
        "There is one model, so there is nothing to compare it with by a test.",
    ):
        assert words in made.html
    assert embedded(made.html)["noReasons"] == [
        "given was given as scores, so what its features contribute is unknown."
    ]
    Outline(made.html)


FOREIGN = Path(__file__).parents[1] / "golden" / "foreign"


@pytest.mark.parametrize(
    "name", ["catboost-symmetric.json", "lightgbm-nan.txt", "ranklib-lambdamart.txt", "xgboost-ndcg.json"]
)
def test_an_imported_model_has_a_report(name: str):
    path = FOREIGN / name
    width = getattr(podium, f"from_{name.partition('-')[0]}")(path).n_features_in_
    rng = np.random.default_rng(3)
    data = podium.RankingData(rng.random((60, width)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10))
    made = podium.report(path, data)
    assert "was trained by another library, and its file does not hold the settings." in made.html
    assert "was trained by another library, and its file holds no training log." in made.html
    unknown = any("does not say how many training documents fell into each leaf" in each.text for each in made.remarks)
    assert unknown == name.startswith("ranklib")


def test_metrics_that_the_labels_do_not_fit_are_left_out(test_part):
    negative = test_part.replace(labels=test_part.labels - 1)
    made = podium.report(np.arange(100.0), negative)
    assert any("ndcg@10 was left out" in remark.text for remark in made.remarks)
    assert "map" in made.contents.judgment.evaluations["ndarray"].mean
    with pytest.raises(podium.DataError, match="must be at least 0"):
        podium.report(np.arange(100.0), negative, metrics="ndcg@10")


def test_without_the_extra_the_page_says_so():
    """In a process of its own, because the packages are imported once."""
    program = """
import sys
for name in ("altair", "pandas", "vl_convert"):
    sys.modules[name] = None
import numpy as np, podium
data = podium.RankingData(np.arange(8.0).reshape(4, 2), [0, 1, 1, 0], [0, 0, 1, 1])
ranker = podium.RankSVM(C=1.0, num_threads=1).fit(data)
sys.stdout.write(podium.report([ranker, data.labels], data).html)
"""
    html = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    Outline(html)
    assert "<svg" not in html
    assert escape("There is no chart, because altair is not installed; pip install 'podium[plots]'.") in html


def test_many_queries_stay_within_the_size():
    n = 12_000
    labels = np.tile([1.0, 0.0, 0.0, 2.0, 0.0], n)
    rng = np.random.default_rng(4)
    ids = np.repeat([f"query {k} " + "x" * 50 for k in range(n)], 5)
    data = podium.RankingData(rng.random((5 * n, 2)), labels, ids)
    made = podium.report({"a": rng.random(5 * n), "b": rng.random(5 * n)}, data, metrics="ndcg@10")
    assert made.n_bytes < LIMIT
    found = embedded(made.html)
    assert len(found["rows"]) <= queries.MOST_ROWS
    assert re.search(rf"The table has [\d,]+ of {n:,} queries, which keeps the page small\.", made.html)
    assert re.search(r"The page holds the documents of [\d,]+ queries; the others cannot be opened\.", made.html)
    shown = {row[0] for row in found["rows"]}
    pointed = made.contents.queries
    assert {*pointed.best, *pointed.worst, *pointed.changed} <= shown


def test_a_query_of_many_documents_stays_within_the_size():
    n = 100_000
    rng = np.random.default_rng(5)
    labels = (rng.random(n) < 0.2).astype(float)
    data = podium.RankingData(rng.random((n, 2)), labels, np.zeros(n))
    made = podium.report({"a": rng.random(n), "b": rng.random(n)}, data, metrics="ndcg@10")
    assert made.n_bytes < LIMIT
    assert len(embedded(made.html)["details"]["0"]) == queries.MOST_DOCUMENTS
    assert "Measured on a sample" in made.html


def test_text_is_escaped_once_and_characters_that_html_lacks_are_replaced():
    assert escape("<a&b>\0\ud800") == "&lt;a&amp;b&gt;\ufffd\ufffd"
    assert (
        element("p", "<", element("b", "x"), class_="c", hidden=True, id=None) == '<p class="c" hidden>&lt;<b>x</b></p>'
    )
    assert '<td class="number">1</td>' in table("t", ["a", "b"], [["<x>", 1]])


def test_names_inside_pictures_get_a_prefix():
    svg = '<?xml version="1.0"?><svg width="1"><clipPath id="c"></clipPath><g clip-path="url(#c)"></g></svg>\n'
    changed = embeddable(svg, "chart7")
    assert 'id="chart7-c"' in changed
    assert "url(#chart7-c)" in changed
    assert changed.startswith('<svg aria-hidden="true"')


def test_the_json_of_the_page_cannot_end_its_element():
    assert embedded_json(["</script>&"]) == '["\\u003c/script\\u003e\\u0026"]'


def test_the_module_takes_the_call(models, test_part):
    from podium.report import make_report

    assert callable(podium.report)
    assert podium.report.make_report is make_report
    assert repr(podium.report(models["net"], test_part)).startswith("<report on RankNet: ")


def test_long_hostile_ids_and_many_models_stay_within_the_size():
    n, rng = 3000, np.random.default_rng(6)
    ids = np.repeat([f"{k}" + "<&>" * 100 for k in range(n)], 4)
    data = podium.RankingData(rng.random((4 * n, 2)), np.tile([0.0, 1.0, 0.0, 2.0], n), ids)
    systems = {f"model {k}": rng.random(4 * n) for k in range(4)}
    made = podium.report(systems, data, metrics="ndcg@10", examples=100)
    assert made.n_bytes < LIMIT
    shown = [row[0] for row in embedded(made.html)["rows"]]
    assert max(shown) > 2900  # spread over the data
    assert len(shown) < n


def test_too_many_examples_are_refused(test_part):
    with pytest.raises(podium.ParameterError, match="examples=101 must be at most 100"):
        podium.report(test_part.labels, test_part, examples=101)


def test_a_metric_without_any_value_is_shown_as_unknown(test_part):
    nothing = test_part.replace(labels=np.zeros(100))
    systems = {"a": np.arange(100.0), "b": -np.arange(100.0)}
    made = podium.report(systems, nothing, metrics="ndcg(empty='skip')@10")
    assert "No metric has a value for any query, so the models cannot be compared." in made.html
    assert "95% interval unknown" in made.html
    assert "There is no such query." in made.html
    both = podium.report(systems, nothing, metrics=["ndcg(empty='skip')@10", "ndcg@10"])
    assert [str(each.metric) for each in both.contents.judgment.comparisons] == ["ndcg@10"]


def test_what_is_no_model_is_refused(test_part):
    with pytest.raises(podium.ParameterError, match="must be a ranker, a scorer, an array of scores, or the path"):
        podium.report(object(), test_part)
    with pytest.raises(podium.ParameterError, match="is not fitted; call fit first"):
        podium.report({"new": podium.LambdaMART()}, test_part)


def test_a_metric_where_lower_is_better_turns_best_and_worst_around(test_part):
    by_error = podium.report(test_part.features[:, 0], test_part, metrics="pairwise_error", examples=10)
    by_share = podium.report(test_part.features[:, 0], test_part, metrics="pairwise_correct", examples=10)
    assert embedded(by_error.html)["higherIsBetter"] is False
    error = by_error.contents.judgment.evaluations["ndarray"].per_query["pairwise_error"]
    assert list(error[list(by_error.contents.queries.best)]) == sorted(error)
    share = by_share.contents.judgment.evaluations["ndarray"].per_query["pairwise_correct"]
    assert list(share[list(by_share.contents.queries.best)]) == sorted(share, reverse=True)


def test_names_in_legends_are_short_and_distinct():
    long = "a model with a very long name, "
    assert short_names(["a", long + "old", long + "new"]) == {
        "a": "a",
        long + "old": "a model with a very lo… 2",
        long + "new": "a model with a very lo… 3",
    }


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(made):
    (tag, attributes), *rest = Outline(made._repr_html_()).tags
    assert (tag, rest) == ("iframe", [])
    assert attributes["srcdoc"] == made.html
    assert attributes["sandbox"] == "allow-scripts"


def test_two_models_on_ohsumed(data_dir: Path):
    train, valid, test = podium.read_folds(data_dir / "ohsumed" / "QueryLevelNorm" / "Fold1")
    models = {
        "trees": podium.LambdaMART(n_estimators=20).fit(train, valid=valid),
        "linear": podium.RankSVM().fit(train, valid=valid),
    }
    made = podium.report(models, test)
    assert made.n_bytes < LIMIT
    assert made.warnings == ("9 features are constant: f4, f5, f6, f19, f20, …",)
    found = embedded(made.html)
    assert len(found["rows"]) == len(found["details"]) == 22
    assert all(document[4][0] and document[4][1] for rows in found["details"].values() for document in rows)


def test_a_page_never_replaces_what_it_is_made_from(tmp_path: Path, test_part):
    podium.write(test_part, tmp_path / "test.txt")
    podium.write(test_part.labels, tmp_path / "a.scores")
    for name, words in (("test.txt", "is read and would be written over"), ("a.scores", "is read and would")):
        with pytest.raises(podium.OutputError, match=words):
            podium.report(tmp_path / "a.scores", tmp_path / "test.txt", out=tmp_path / name)
    made = podium.report(tmp_path / "a.scores", tmp_path / "test.txt", out=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == made.html
    assert [each.role for each in made.contents.provenance.files] == ["a", "data"]


def test_code_that_a_model_names_is_not_imported(tmp_path: Path, data, test_part, monkeypatch: pytest.MonkeyPatch):
    code = "import numpy as np\n\ndef pull(scores, labels):\n    return labels - scores, np.ones(len(labels))\n"
    (tmp_path / "named_by_model.py").write_text(code + "\ndef top(scores, labels):\n    return float(labels[0])\n")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        axes = {"force": "named_by_model:pull", "model": "linear", "schedule": "sgd(epochs=2)"}
        podium.Ranker(**axes, metric="named_by_model:top").fit(data).save(tmp_path / "own.podium")
    del sys.modules["named_by_model"]
    monkeypatch.chdir(tmp_path)
    made = podium.report("own.podium", test_part)
    assert "named_by_model" not in sys.modules
    assert "named_by_model:pull" in made.html
    assert str(made.contents.judgment.main) == "ndcg@10"


def test_scores_that_differ_by_rounding_make_a_page():
    data = podium.RankingData(np.zeros((60, 1)), np.arange(60) % 3, np.repeat(np.arange(6), 10))
    scores = np.full(60, 0.3)
    scores[::2] = 0.1 + 0.2
    assert "There is no chart" not in podium.report({"a": scores}, data).html


def test_means_say_over_how_many_queries_they_are():
    labels = np.array([0, 0, 1, 0, 1, 0])
    data = podium.RankingData(np.zeros((6, 1)), labels, [1, 1, 2, 2, 3, 3])
    scores = np.arange(6.0)
    skipping = podium.report(scores, data, metrics="ndcg(empty='skip')@10").html
    assert "over 2 queries of" in skipping
    assert "Means over 2 queries" in skipping
    both = podium.report(scores, data, metrics=["ndcg(empty='skip')@10", "ndcg(empty='zero')@10"]).html
    found = re.findall(r'<tr><th scope="row">(ndcg[^<]*)</th><td[^>]*>([0-9,]+)</td>', both)
    assert [count for _, count in found] == ["2", "3"]
    one = podium.report(scores[2:4], data.select([1]), metrics="ndcg@10").html
    assert "over 1 query of" in one
    assert "Means over 1 query<" in one


def test_p_values_as_text():
    assert [p_value(p) for p in (1.0, 0.0001, 0.00009, 0.0, float("nan"))] == [
        "1.0000",
        "0.0001",
        "< 0.0001",
        "< 0.0001",
        "unknown",
    ]


def test_constant_features_are_named_in_a_sentence():
    data = podium.RankingData(np.zeros((4, 30)), [0, 1, 0, 1], [1, 1, 2, 2])
    (told,) = [text for text in podium.report(np.arange(4.0), data).warnings if "constant" in text]
    assert told.startswith("30 features are constant: f0, ")
    assert not told.endswith("….")
    assert as_sentence("a, …") == "a, …"
    assert as_sentence("a") == "a."


def test_three_models_show_their_largest_difference():
    data = podium.RankingData(np.zeros((2, 1)), [1, 0], [1, 1])
    made = podium.report({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 0.0]}, data, metrics="precision@1").html
    assert "; largest difference 1.0000" in made


def test_examples_without_room_for_their_documents_say_so(monkeypatch, test_part):
    monkeypatch.setattr(queries, "MOST_DETAIL_BYTES", 10)
    html = podium.report(np.arange(100.0), test_part).html
    assert html.count("The page has no room for the documents of these queries.") == 2
