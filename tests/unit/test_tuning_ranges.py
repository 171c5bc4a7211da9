"""Ranges of a search: how they are written, what the declarations give, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import podium
from podium.rankers import RANKERS
from podium.rankers.tuning.ranges import read_ranges


def read(name, given, ranker=None):
    return read_ranges(ranker or podium.RankNet(), {name: given})[name]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("learning_rate", "1e-4..1e-1:log", FloatDistribution(1e-4, 1e-1, log=True)),
        ("learning_rate", "1..2", FloatDistribution(1.0, 2.0)),
        ("l2", " 0.5 .. 2 ", FloatDistribution(0.5, 2.0)),
        ("epochs", "1..20", IntDistribution(1, 20)),
        ("epochs", "1..1000:log", IntDistribution(1, 1000, log=True)),
        ("batch", "1..4", IntDistribution(1, 4)),
        ("hidden", "2..6", IntDistribution(2, 6)),
        ("l2", "0,1e-4,1e-3", CategoricalDistribution(["0", "0.0001", "0.001"])),
        ("optimizer", "adam,sgd", CategoricalDistribution(["'adam'", "'sgd'"])),
        ("optimizer", "adam;", CategoricalDistribution(["'adam'"])),
        ("ties", "true, false", CategoricalDistribution(["True", "False"])),
        ("early_stopping_rounds", "5,none", CategoricalDistribution(["5", "None"])),
        ("hidden", "(5,);(10,);(20, 5)", CategoricalDistribution(["(5,)", "(10,)", "(20, 5)"])),
        ("hidden", "(5,),(20,5)", CategoricalDistribution(["(5,)", "(20, 5)"])),
        ("epochs", "7", CategoricalDistribution(["7"])),
    ],
)
def test_ranges_are_read_by_the_kind_of_the_setting(name, text, expected):
    found = read(name, text)
    assert found.distribution == expected
    assert read(name, str(found)).distribution == expected


def test_names_with_commas_in_brackets_or_quotes_stay_whole():
    ranker = podium.Ranker()
    found = read("model", "linear;net(5, activation='relu')", ranker)
    assert list(found.choices.values()) == ["linear", "net(5, activation='relu')"]
    assert list(read("model", "net(5, 3),'linear'", ranker).choices.values()) == ["net(5, 3)", "linear"]


def test_lists_and_distributions_of_optuna_are_ranges_too():
    assert read("hidden", [(2,), (3, 4), (2,)]).choices == {"(2,)": (2,), "(3, 4)": (3, 4)}
    assert read("l2", FloatDistribution(0, 1)).distribution == FloatDistribution(0, 1)
    assert read("epochs", IntDistribution(1, 8, log=True)).distribution == IntDistribution(1, 8, log=True)
    assert read("optimizer", CategoricalDistribution(["adam", "sgd"])).choices == {"'adam'": "adam", "'sgd'": "sgd"}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("l2", "", r"ranges\['l2'\]='' cannot be read; write low..high"),
        ("l2", "1,,2", "cannot be read; write low..high"),
        ("l2", ",", "cannot be read; write low..high"),
        ("l2", "a..b", "must be two numbers with two dots between them"),
        ("l2", "true..false", "must be two numbers"),
        ("l2", "0..1:lgo", "must be two numbers with two dots between them; write them as in 1e-4..1e-1:log"),
        ("l2", "2..1", "must have a finite lower end below its upper end"),
        ("l2", "1..1", "must have a finite lower end below its upper end"),
        ("l2", "1..1e999", "must have a finite lower end below its upper end"),
        ("l2", "0..1:log", "must lie above 0 for a logarithm"),
        ("l2", "1e-3-1e-1", "cannot be read as numbers; write low..high"),
        ("epochs", "1..2.5", "must have whole numbers as its ends"),
        ("optimizer", "1..3", "is a range of numbers, and this setting is not a number"),
        ("optimizer", "adm,sgd", "optimizer='adm' must be one of .*; did you mean 'adam'"),
        ("learning_rate", "0..1", "learning_rate=0.0 must be a number above 0"),
        ("learning_rate", [0.1, -1], "learning_rate=-1 must be a number above 0"),
        ("ties", "yes,no", "ties='yes' must be True or False"),
        ("l2", [], r"ranges\['l2'\]=\[\] must be a word such as '1e-4..1e-1:log', a list"),
        ("l2", 5, "must be a word such as"),
        ("hidden", None, r"ranges\['hidden'\]=None has no declared range"),
    ],
)
def test_what_is_not_a_range_is_refused(name, given, message):
    with pytest.raises(podium.ParameterError, match=message):
        read(name, given)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({}, "ranges must name a setting; give a range for any of activation, batch, "),
        ("l2", "ranges='l2' must give ranges by the names of settings"),
        (3, "ranges=3 must give ranges by the names of settings"),
        ({"sgma": "1..2"}, "unknown setting of RankNet 'sgma'. Did you mean 'sigma'?"),
        ({"metric": "map,ndcg"}, "ranges='metric' cannot be searched for"),
        ({"num_threads": "1..2"}, "ranges='num_threads' cannot be searched for"),
    ],
)
def test_names_that_cannot_be_searched_are_refused(ranges, message):
    with pytest.raises(podium.ParameterError, match=message):
        read_ranges(podium.RankNet(), ranges)


@given(st.floats(1e-300, 1e300), st.floats(1.0, 1e6))
def test_numbers_are_rounded_and_stay_in_the_range(low, factor):
    high = low * (1 + factor)
    found = read("l2", FloatDistribution(low, high))
    for drawn in (low, high, low + (high - low) / 3):
        assert low <= found.value(drawn) <= high
        assert found.value(drawn) == pytest.approx(drawn, rel=1e-5)
    assert found.value(high) in (high, float(f"{high:.6g}"))


@pytest.mark.parametrize("name", RANKERS)
def test_the_declarations_give_the_ranges(name):
    ranker = RANKERS[name]()
    declared = {key: parameter.search for key, (parameter, _) in ranker.tunable().items() if parameter.search}
    # Settings of optimizers and kernels that these do not use by default:
    idle = {"kernel-ranknet": {"learning_rate"}, "ranksvm": {"width"}}.get(name, set())
    if not declared.keys() - idle:
        with pytest.raises(podium.ParameterError, match="ranges must name a setting"):
            read_ranges(ranker, None)
        return
    found = read_ranges(ranker, None)
    assert found.keys() == declared.keys() - idle
    for key, search in declared.items():
        if key in found:
            made = found[key].distribution
            assert (made.low, made.high, made.log) == (search.low, search.high, search.log)
    assert {key: str(value) for key, value in read_ranges(ranker, list(found)).items()} == {
        key: str(value) for key, value in found.items()
    }


def test_a_setting_that_is_given_is_not_searched():
    found = read_ranges(podium.LambdaMART(learning_rate=0.1, sigma=2.0), None)
    assert {"num_leaves", "l2"} <= found.keys()
    assert not {"learning_rate", "sigma"} & found.keys()
    assert "learning_rate" not in read_ranges(podium.RankNet(optimizer="lbfgs"), None)


def test_a_free_ranker_is_searched_by_the_settings_of_its_parts():
    ranker = podium.Ranker(force="lambdarank(ndcg@10)", model="trees(num_leaves=7)", schedule="boosting(rounds=9)")
    found = read_ranges(ranker, None)
    assert {"sigma", "learning_rate", "l2", "column_sampling"} <= found.keys()
    assert "num_leaves" not in found
    changed = ranker.with_parameters({"sigma": 2.0, "learning_rate": 0.5, "l2": 3.0, "seed": 4})
    assert str(changed.force) == "lambdarank(ndcg@10, sigma=2)"
    assert (changed.model, changed.schedule) == ("trees(num_leaves=7, l2=3.0)", "boosting(rounds=9, rate=0.5)")
    assert (changed.seed, ranker.seed) == (4, 0)
    assert ranker.model == "trees(num_leaves=7)"
