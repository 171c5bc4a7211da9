"""The rules of settings: what they accept, and how the command line reads a value from text."""

from __future__ import annotations

import pytest

import podium
from podium.forces import force
from podium.formats import FORMATS
from podium.metrics import metric
from podium.models import model
from podium.models.net import NetSettings
from podium.models.tree_settings import TreeSettings
from podium.parameters import Parameter
from podium.rankers import RANKERS, Ranker
from podium.rankers.common import TARGET, CommonSettings
from podium.rankers.trees import TreeRanker
from podium.rules import Choice, Flag, Integer, Named, Real, Rule, Text, Tuple
from podium.training import SCHEDULES, schedule

TREES, NETS, COMMON = TreeSettings.parameters(), NetSettings.parameters(), CommonSettings.parameters()
DATA = podium.synthetic.network(queries=6, documents=4, features=3, seed=0)


@pytest.mark.parametrize(
    ("rule", "text", "value"),
    [
        (Integer(1), "20", 20),
        (Real(above=0), "1e-3", 1e-3),
        (Flag(), "true", True),
        (Choice("adam", "sgd"), "adam", "adam"),
        (Choice("adam", "sgd"), "'adam'", "adam"),
        (Choice("none", "all"), "none", "none"),
        (Text(), "0123", "0123"),
        (Tuple(Integer(1), "must be numbers"), "128,64", (128, 64)),
        (Tuple(Integer(1), "must be numbers"), "(128, 64)", (128, 64)),
        (Tuple(Integer(1), "must be numbers"), "10", (10,)),
        (Tuple(Integer(1), "must be numbers", empty=True), "()", ()),
        (Named("metric", metric), "ndcg(gain='linear')@5", "ndcg(gain='linear')@5"),
        (TREES["categorical"].rule, "f0,f1", ("f0", "f1")),
        (TREES["categorical"].rule, "[brand, 3]", ("brand", 3)),
        (TREES["categorical"].rule, "['brand, new', 3]", ("brand, new", 3)),
        (TREES["categorical"].rule, "brand", ("brand",)),
        (TREES["monotone"].rule, "price:-1,f0:1", {"price": -1, "f0": 1}),
        (TREES["monotone"].rule, "{price: -1}", {"price": -1}),
        (TREES["monotone"].rule, "{3: 1, 'price': -1}", {3: 1, "price": -1}),
        (COMMON["also"].rule, "map,ndcg@1,3,5", ("map", "ndcg@1,3,5")),
        (COMMON["also"].rule, "['map', 'mrr']", ("map", "mrr")),
        (TreeRanker.parameters()["class_weight"].rule, "balanced", "balanced"),
        (TreeRanker.parameters()["class_weight"].rule, "0:1,1:5", {0: 1, 1: 5}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_rule_reads_its_values_from_text(rule: Rule, text: str, value: object) -> None:
    assert rule.parse(text) == value
    rule.check("x", value)


def test_none_is_read_where_it_stands_for_something() -> None:
    assert Parameter("x", None, Integer(1), "X.", none="no limit").parse("None") is None
    assert Parameter("x", 1, Integer(1), "X.").parse("5") == 5
    strict = Parameter("x", 1, Integer(1), "X.")
    with pytest.raises(podium.ParameterError, match="x=None must be a whole number"):
        strict.check(strict.parse("none"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": None}, "^metric=None must be a name such as 'ndcg@10'"),
        ({"metric": 3}, "^metric=3 must be a name"),
        ({"target": 3}, "^target=3 must be a name such as 'ndcg@10'"),
        ({"target": "ncdg"}, "unknown metric 'ncdg'. Did you mean 'ndcg'"),
        ({"target": "p_10"}, "^target='p_10' is a name of trec_eval, not of Podium; write p@10"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["lambdamart", "lambdarank", "adarank"])
def test_a_metric_that_is_none_is_refused_by_the_name_it_was_given(name: str, given: dict, message: str) -> None:
    with pytest.raises(podium.ParameterError, match=message):
        RANKERS[name](**given).fit(DATA)


@pytest.mark.parametrize("axis", ["force", "model", "schedule"])
def test_the_axes_of_a_ranker_have_rules_that_parse(axis: str) -> None:
    reads = {"force": force, "model": model, "schedule": schedule}[axis]
    rule = Ranker.parameters()[axis].rule
    name = {"force": "ranknet(sigma=2)", "model": "net(3)", "schedule": "adam(epochs=2)"}[axis]
    assert rule.check(axis, name) == reads(name)
    with pytest.raises(podium.ParameterError, match=f"^{axis}=3 must be a name such as"):
        Ranker(**{axis: 3}).fit(DATA)


def test_no_setting_accepts_anything() -> None:
    """A rule that accepts everything is no rule: an error would come from elsewhere, with another name."""
    loose = [
        f"{kind.__name__}.{name}"
        for kind in (*RANKERS.values(), Ranker, *SCHEDULES.values())
        for name, parameter in kind.parameters().items()
        if type(parameter.rule) is Rule
    ]
    assert loose == []
    assert TARGET.rule is COMMON["metric"].rule


def test_settings_that_schedules_share_have_one_rule() -> None:
    """What has one name means one thing: the rule, the alias and what None stands for do not depend on the schedule."""
    shared = ("early_stopping_rounds", "epochs", "learning_rate", "max_seconds", "n_estimators", "tolerance")
    for name in shared:
        found = [
            kind.parameters()[name] for kind in (*SCHEDULES.values(), *RANKERS.values()) if name in kind.parameters()
        ]
        assert len({(p.rule, p.alias, p.option) for p in found}) == 1, name


def test_the_lists_of_names_follow_from_the_declarations() -> None:
    ranker = podium.RankNet()
    assert set(ranker.parameters()) - set(ranker.tunable()) == {"also", "memory_limit", "metric", "num_threads"}
    fixed = [name for name, p in podium.QuadraticPRank.parameters().items() if p.fixed_by_first_call]
    assert sorted(fixed) == ["form", "levels", "standardize", "supports", "width"]
    suspects = {name: [p.name for p in kind.parameters().values() if p.suspect] for name, kind in RANKERS.items()}
    assert suspects["lambdamart"] == ["min_documents"]
    assert suspects["ranknet"] == suspects["rankboost"] == suspects["structrank"] == ["learning_rate"]
    assert suspects["ranksvm"] == ["C"]
    assert suspects["prank"] == []
    budgets = {name: set(kind().budget) for name, kind in SCHEDULES.items()}
    assert budgets["boosting"] == {"n_estimators", "max_seconds"}
    assert budgets["feasible"] == {"max_seconds"}
    assert budgets["adam"] == budgets["perceptron"] == {"epochs"}


def test_every_ranker_counts_its_trees_and_names_its_schedule() -> None:
    grown = podium.RankBoost(n_estimators=3).fit(DATA)
    assert grown.n_trees_ == 3
    assert podium.Ranker(model="trees(forests=2)", schedule="boosting(rounds=2)").fit(DATA).n_trees_ == 4
    assert podium.RankNet(epochs=1).fit(DATA).n_trees_ == 0
    assert not hasattr(podium.RankNet(), "n_trees_")
    assert str(podium.RankBoost(n_estimators=3).training_schedule) == "stumps(rounds=3)"
    assert podium.RankSVM(C=(1, 2)).trains_repeatedly
    assert not podium.RankSVM(C=1).trains_repeatedly


@pytest.mark.parametrize(
    ("format", "name", "text", "value"),
    [
        ("csv", "features", "price,2", ["price", "2"]),
        ("csv", "label_column", "3", "3"),
        ("letor", "index_base", "0", 0),
        ("letor", "index_base", "auto", "auto"),
        ("letor", "n_features", "7", 7),
        ("letor", "document_ids", "false", False),
        ("letor", "sizes", "2", "2"),
    ],
)
def test_options_of_readers_are_read_by_their_rules(format: str, name: str, text: str, value: object) -> None:
    assert FORMATS[format].read_options[name].parse(text) == value
