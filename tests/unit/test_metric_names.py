"""Metric names: how they are read and printed, and what is refused."""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
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
        ("ndcg(gain=linear)@5", "ndcg(gain='linear')@5"),
        ("p(rel=2.0)@5", "p(rel=2)@5"),
        ("precision@5", "p@5"),
        ("average_precision", "map"),
        ("err(max=4)", "err"),
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
        ("auc@10", "cutoff=10 cannot be given to auc, which looks at the whole list"),
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
        ("ndcg('linear')", "has a parameter without a name; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain=__import__('os'))", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain='linear'", "cannot be read"),
        ("ndcg(gain='linear', gain='linear')", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(cutoff=10)", "cutoff=10 must stand behind an @; write it as ndcg@10"),
        ("ndcg(gain='linear')(empty='skip')@10", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain='linear').x(empty='skip')", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain={0: 0, 1: 1})", r"gain=\{0: 0, 1: 1\} must be 'exponential', 'linear' or one gain"),
        ("ndcg(gain={0, 1, 3})", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain=b'abc')", "cannot be read; write it as ndcg, ndcg@10 or"),
        ("ndcg(gain=((0, 1), (3, 7)))", "must be 'exponential', 'linear' or one gain"),
        (f"ndcg(gain=(0, 1{'0' * 400}))", "must be 'exponential', 'linear' or one gain"),
        (f"p(rel=1{'0' * 400})", "rel=10+…0+ must be a finite number"),
        (f"p(rel=-1{'0' * 400})", "rel=-10+…0+ must be a finite number"),
        (f"p(rel=1{'0' * 5000})", "cannot be read"),
        ("p(rel=1j)", "cannot be read; write it as"),
        (f"ndcg@1{'0' * 30}", r"cutoff=10+ must be below 2\*\*63; leave it out"),
        (f"ndcg@1{'0' * 5000}", "must be a whole number of at least 1"),
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


@pytest.mark.parametrize(
    ("cutoff", "message"),
    [
        ("5", "cutoff='5' must be a whole number; leave it out"),
        (5.5, "cutoff=5.5 must be a whole number"),
        (True, "cutoff=True must be a whole number"),
        (float("nan"), "cutoff=nan must be a whole number"),
        (np.array([5]), r"cutoff=array\(\[5\]\) must be a whole number"),
        (0, "cutoff=0 must be at least 1"),
        (10**400, r"cutoff=10+…0+ must be below 2\*\*63"),
        (10**5000, r"cutoff=a number of thousands of digits must be below"),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int) else f"about 2^{value.bit_length()}",
)
def test_cutoffs_that_are_refused(cutoff: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        METRICS["ndcg"](cutoff=cutoff)  # type: ignore[arg-type]


@pytest.mark.parametrize("cutoff", [999_999_999_999_999_999, 2**63 - 1, 2**53 + 1])
def test_large_cutoffs_stay_what_they_are(cutoff: int) -> None:
    assert str(metric(f"ndcg@{cutoff}")) == f"ndcg@{cutoff}"
    assert METRICS["ndcg"](cutoff=cutoff).per_query([2, 1], [0, 1], [0, 2]) == metric("ndcg").per_query(
        [2, 1], [0, 1], [0, 2]
    )


def test_numbers_of_every_kind_that_python_has() -> None:
    for five in (5, 5.0, np.int8(5), np.float32(5), np.array(5), Fraction(5), Decimal(5)):
        assert str(METRICS["p"](cutoff=five, rel=five)) == "p(rel=5)@5"  # type: ignore[arg-type]
    for gain in ([0, 1, 3], np.array([0.0, 1, 3]), range(0, 4, 1)):
        assert metric("ndcg").with_parameters(gain=gain).parameters["gain"] == tuple(gain)
    with pytest.raises(ParameterError, match=r"rel=.* must be a finite number"):
        METRICS["p"](rel=Fraction(10**400))
    with pytest.raises(ParameterError, match=r"empty=.* must be one of"):
        METRICS["p"](empty=np.array(["zero", "one"]))


def test_threads_can_read_names_at_once_and_leave_the_warning_filters_alone():
    before = list(warnings.filters)
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            read = list(pool.map(lambda _: metric("ndcg(gain=(0, 1, 3))@10"), range(400)))
    finally:
        sys.setswitchinterval(pause)
    assert set(map(str, read)) == {"ndcg(gain=(0, 1, 3))@10"}
    assert warnings.filters == before


def test_a_message_shows_what_was_given_and_not_what_a_template_makes_of_it():
    with pytest.raises(ParameterError, match=r"'\{valid\}'"):
        metric("{valid}")
    with pytest.raises(ParameterError, match=r"growth='\{seed\}'"):
        podium.LambdaMART(growth="{seed}").fit(podium.synthetic.network(queries=5, seed=0))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndcg10", "did you mean 'ndcg@10'"),
        ("recip_rank", "is a name of trec_eval, not of Podium; write mrr"),
        ("NDGC", "Did you mean 'ndcg'"),
    ],
)
def test_other_spellings_get_a_suggestion(name, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.metric(name)
