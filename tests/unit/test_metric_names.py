"""Metric names: what is read, what is printed, what is refused and how."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ParameterError
from podium.metrics import METRICS, metric


@pytest.mark.parametrize(
    ("given_name", "canonical"),
    [
        ("ndcg@10", "ndcg@10"),
        ("NDCG@10", "ndcg@10"),
        ("  ndcg ( empty = 'skip' ,gain= 'linear' )  @ 10 ", "ndcg(gain='linear', empty='skip')@10"),
        ("ndcg(gain='exponential', empty='zero')", "ndcg"),
        ("ndcg(gain=(0,1,3,7))@5", "ndcg(gain=(0, 1, 3, 7))@5"),
        ("ndcg(gain=[0, 1.0, 3.5])", "ndcg(gain=(0, 1, 3.5))"),
        ("ndcg()@3", "ndcg@3"),
        ("p(rel=2)@5", "p(rel=2)@5"),
        ("p(rel=2.0)@5", "p(rel=2)@5"),
        ("precision@5", "p@5"),
        ("average_precision", "map"),
        ("rbp(persistence=0.5)", "rbp(persistence=0.5)"),
        ("rbp(persistence=0.8)", "rbp"),
        ("err(max=2)@20", "err(max=2)@20"),
        ("ndcg(convention='trec_eval', gain='linear', ties='trec_eval')", "ndcg(convention='trec_eval')"),
        (
            "ndcg(convention='trec_eval', gain='exponential')",
            "ndcg(gain='exponential', convention='trec_eval')",
        ),
        ("ndcg(convention='textbook')", "ndcg(convention='textbook')"),
    ],
)
def test_canonical_name(given_name: str, canonical: str) -> None:
    assert str(metric(given_name)) == canonical
    assert metric(canonical) == metric(given_name)


def test_a_convention_changes_what_is_not_said() -> None:
    parameters = metric("ndcg(convention='trec_eval')").parameters
    assert parameters["gain"] == "linear"
    assert parameters["ties"] == "trec_eval"
    assert metric("ndcg(gain=(0, 1), convention='trec_eval')").parameters["gain"] == (0, 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", r"unknown metric 'ndgc'. Did you mean 'ndcg'\? Known: auc, bpref, dcg"),
        ("ndcg@0", "cutoff=0 must be at least 1; leave it out to use the whole list"),
        ("ndcg@-3", "cutoff=-3 must be at least 1"),
        ("ndcg@ten", "cutoff='ten' must be a whole number"),
        ("ndcg@2.5", "cutoff='2.5' must be a whole number"),
        ("ndcg@", "cutoff='' must be a whole number"),
        ("auc@10", "auc takes no cutoff"),
        ("ndcg(gian='linear')", "unknown parameter of ndcg 'gian'. Did you mean 'gain'"),
        ("auc(ties='input')", "unknown parameter of auc 'ties'"),
        ("ndcg(gain='cubic')", "gain='cubic' must be 'exponential', 'linear' or one gain"),
        ("ndcg(gain=())", "must be 'exponential', 'linear' or one gain"),
        ("ndcg(gain=(0, -1))", "must be 'exponential', 'linear' or one gain"),
        ("ndcg(gain=5)", "must be 'exponential', 'linear' or one gain"),
        ("ndcg(empty='none')", "empty='none' must be one of 'zero', 'one', 'skip'"),
        ("ndcg(empty=['zero'])", "must be one of 'zero', 'one', 'skip'"),
        ("p(rel='high')", "rel='high' must be a finite number"),
        ("p(rel=1e999)", "rel=inf must be a finite number"),
        ("p(rel=True)", "rel=True must be a finite number"),
        ("err(max=0)", "max=0 must be a number above 0"),
        ("rbp(persistence=1)", "persistence=1 must lie between 0 and 1"),
        ("ndcg('linear')", "must be name=value pairs, each once"),
        ("ndcg(gain=__import__('os'))", "must be name=value pairs, each once"),
        ("ndcg(gain='linear'", "cannot be read"),
        ("ndcg(gain='linear', gain='linear')", "must be name=value pairs, each once"),
        ("ndcg(cutoff=10)", "write the cutoff behind an @"),
        ("", "cannot be read"),
        ("ndcg 10", "cannot be read"),
    ],
)
def test_refusals(name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        metric(name)


def test_a_metric_comes_back_as_it_is() -> None:
    m = metric("map")
    assert metric(m) is m
    with pytest.raises(ParameterError, match="must be a name"):
        metric(3)  # type: ignore[arg-type]


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in (text, f"ndcg({text})@3", f"ndcg@{text}"):
        try:
            read = metric(name)
        except ParameterError:
            continue
        assert metric(str(read)) == read


def test_metrics_are_values() -> None:
    names = list(METRICS)
    assert len({metric(name) for name in names} | {metric(name) for name in names}) == len(names)
    assert repr(metric("ndcg@5")) == "metric('ndcg@5')"
