"""Ranges, draws, rungs, and the search over them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.rankers.ranges import Range, as_range, literal, parse_range
from podium.rankers.search import check_ranges, draw, rungs

TRAIN, VALID = podium.split(podium.synthetic.network(queries=20, documents=6, features=3, seed=2), (0.6, 0.4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-4..1e-1:log", Range(1e-4, 1e-1, True)),
        ("1..20", Range(1, 20)),
        ("0.5..2", Range(0.5, 2)),
        ("-1..1", Range(-1, 1)),
        ("0,1e-4,1e-3", Range(choices=(0, 1e-4, 1e-3))),
        ("adam,sgd", Range(choices=("adam", "sgd"))),
        ("true, false,none", Range(choices=(True, False, None))),
        ("(5,);(10,);(20, 5)", Range(choices=((5,), (10,), (20, 5)))),
        ("(5,),(20,5)", Range(choices=((5,), (20, 5)))),
        ("linear;net(5, activation='relu')", Range(choices=("linear", "net(5, activation='relu')"))),
        ("net(5, 3),'a,b'", Range(choices=("net(5, 3)", "a,b"))),
        ("7", Range(choices=(7,))),
    ],
)
def test_ranges_read(text, expected):
    assert parse_range(text) == expected
    assert parse_range(str(expected)) == expected  # and their names read back


@pytest.mark.parametrize(
    "text", ["", ",", "a..b", "2..1", "1..1", "0..1:log", "1..inf", "1,,2", "true..false", "0..1:lgo"]
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(podium.ParameterError, match="range"):
        parse_range(text)


def test_lists_and_nonsense():
    assert as_range([1, (2, 3)]) == Range(choices=(1, (2, 3)))
    for bad in ([], 5, None):
        with pytest.raises(podium.ParameterError, match="give a word such as"):
            as_range(bad)
    assert [literal(word) for word in ("1e-3", "(1,)", "halve", "None", "TRUE")] == [1e-3, (1,), "halve", None, True]


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 50), st.integers(1, 50))
def test_values_stay_inside_and_whole_ranges_stay_whole(share, low, width):
    whole = Range(low, low + width)
    assert isinstance(whole.at(share), int)
    assert low <= whole.at(share) <= low + width
    assert low <= Range(low, low + width, log=True).at(share) <= low + width
    assert low / 7 <= Range(low / 7, low + width / 3, log=True).at(share) <= low + width / 3


def test_draws_are_uniform_and_depend_on_seed_and_number_alone():
    ranges = {"a": parse_range("0.0..1.0"), "b": parse_range("1e-4..1.0:log"), "c": parse_range("1..4")}
    drawn = draw(ranges, 4000, seed=1)
    values = {name: np.array([row[name] for row in drawn.values()]) for name in ranges}
    assert values["a"].mean() == pytest.approx(0.5, abs=4 / math.sqrt(12 * 4000))
    assert np.log10(values["b"]).mean() == pytest.approx(-2, abs=4 * 4 / math.sqrt(12 * 4000))
    np.testing.assert_allclose(np.bincount(values["c"])[1:], 1000, atol=5 * math.sqrt(750))
    assert list(draw(ranges, 10, seed=1).items()) == list(drawn.items())[:10]
    alone = draw({"b": ranges["b"]}, 10, seed=1)  # other ranges do not matter either
    assert [row["b"] for row in alone.values()] == values["b"][:10].tolist()
    assert draw(ranges, 1, seed=2) != draw(ranges, 1, seed=1)


def test_few_values_are_all_tried_once():
    drawn = draw({"a": parse_range("1..3"), "b": parse_range("x,y")}, 100, seed=0)
    assert sorted((row["a"], row["b"]) for row in drawn.values()) == [(a, b) for a in (1, 2, 3) for b in "xy"]
    assert list(drawn) == [1, 2, 3, 4, 5, 6]


def test_the_type_of_the_parameter_decides_what_a_range_holds():
    ranges = {"learning_rate": "0..1", "epochs": "1..9", "C": "1..100:log", "hidden": [(2,), (3,)], "batch": "1..4"}
    of = {
        name: check_ranges(podium.RankSVM() if name == "C" else podium.RankNet(), {name: ranges[name]})
        for name in ranges
    }
    assert {name: read[name].whole for name, read in of.items() if name != "hidden"} == {
        "learning_rate": False, "epochs": True, "C": False, "batch": True
    }  # fmt: skip
    assert of["learning_rate"]["learning_rate"] == Range(0.0, 1.0)
    for bad, message in [
        ({"learning_rate": "1e-3-1e-1"}, r"learning_rate: '1e-3-1e-1' is no value for it; write low..high"),
        ({"epochs": "1..2.5"}, "epochs: it is a whole number"),
        ({"optimizer": "1..3"}, "optimizer: it is no number"),
        ({"standardize": "yes,no"}, "as in true,false"),
    ]:
        with pytest.raises(podium.ParameterError, match=message):
            check_ranges(podium.RankNet(), bad)


def test_beginning_anew_keeps_the_old_study_until_a_trial_is_done(tmp_path):
    study = tmp_path / "s"
    settings = {"valid": VALID, "ranges": {"l2": "1e-5..1e-2:log"}, "study": study}
    podium.tune(podium.ListNet(epochs=1), TRAIN, trials=2, **settings)
    old = study.read_bytes()
    flat = VALID.replace(labels=np.zeros(VALID.n_documents))
    with pytest.raises(podium.DataError, match="every trial failed"):
        podium.tune(podium.ListNet(epochs=1), TRAIN, trials=1, **{**settings, "valid": flat, "study": tmp_path / "t"})
    assert not (tmp_path / "t.checkpoints").exists()
    with pytest.raises(podium.ParameterError, match="trial 2 with optimizer='adm': unknown optimizer 'adm'"):
        podium.tune(podium.ListNet(), TRAIN, fresh=True, **{**settings, "ranges": {"optimizer": "adm,sgd"}})
    with pytest.raises(ZeroDivisionError):
        podium.tune(podium.ListNet(), TRAIN, fresh=True, callbacks=[lambda row: 1 / 0], **settings)
    assert study.read_bytes() == old
    assert not (tmp_path / "s.checkpoints").exists()
    result = podium.tune(podium.ListNet(epochs=2), TRAIN, trials=1, fresh=True, **settings)
    assert [row.number for row in result.trials] == [1]
    assert len(study.read_text().splitlines()) == 2


def test_rungs():
    assert rungs(30, 100, 3) == [(30, 3), (10, 11), (3, 33), (1, 100)]
    assert rungs(9, 4, 3) == [(9, 1), (3, 4)]
    assert rungs(2, 100, 3) == [(2, 100)]
    assert rungs(16, 16, 2) == [(16, 1), (8, 2), (4, 4), (2, 8), (1, 16)]


def test_the_best_is_what_training_alone_gives():
    ranges = {"learning_rate": "1e-3..1e-1:log", "hidden": [(2,), (4, 2)]}
    result = podium.tune(podium.RankNet(epochs=4), TRAIN, valid=VALID, ranges=ranges, trials=5)
    values = []
    for trial in result.trials:
        alone = podium.RankNet(epochs=4, **trial.parameters).fit(TRAIN, valid=VALID)
        values.append(alone.best_value_)
        assert (trial.value, trial.best_epoch) == (alone.best_value_, alone.best_epoch_)
    assert values == sorted(values, reverse=True)
    best = podium.RankNet(epochs=4, **result.best.parameters).fit(TRAIN, valid=VALID)
    np.testing.assert_array_equal(result.ranker.predict(VALID), best.predict(VALID))
    assert str(result).splitlines()[1].split()[0] == str(result.best.number)


def test_where_less_is_better_the_least_wins():
    result = podium.tune(
        podium.RankSVM(metric="pairwise_error"), TRAIN, valid=VALID, ranges={"C": "1e-6..1e2:log"}, trials=6
    )
    assert result.best.value == min(trial.value for trial in result.trials)


def test_halving_trains_a_third_of_them_on_as_if_they_had_never_stopped(tmp_path):
    ranges = {"learning_rate": "1e-3..1e-1:log"}
    ranker = podium.LambdaRank(epochs=9)
    result = podium.tune(ranker, TRAIN, valid=VALID, ranges=ranges, trials=9, halving=True, study=tmp_path / "s")
    rows = [json.loads(line) for line in (tmp_path / "s").read_text().splitlines()[1:]]
    assert [row["epochs"] for row in rows] == [1] * 9 + [3] * 3 + [9]
    first = {row["number"]: row["value"] for row in rows[:9]}
    assert {row["number"] for row in rows[9:12]} == set(sorted(first, key=lambda n: (-first[n], n))[:3])
    alone = podium.LambdaRank(epochs=9, **result.best.parameters).fit(TRAIN, valid=VALID)
    np.testing.assert_array_equal(result.ranker.predict(VALID), alone.predict(VALID))
    assert result.trials[0].number == rows[-1]["number"]


def test_trials_that_fail_are_kept_as_such_and_lose():
    def fall(row):
        if row.learning_rate > 0.5:
            raise podium.DataError("training diverged")

    ranges = {"learning_rate": [0.01, 1.0]}
    result = podium.tune(podium.RankNet(epochs=2), TRAIN, valid=VALID, ranges=ranges, callbacks=[fall])
    assert [trial.error for trial in result.trials] == [None, "training diverged"]
    with pytest.raises(podium.DataError, match="every trial failed; the first: training diverged"):
        podium.tune(podium.RankNet(), TRAIN, valid=VALID, ranges={"learning_rate": [1.0]}, callbacks=[fall])


def test_a_study_goes_on_after_a_cut_line(tmp_path):
    study, seen = tmp_path / "s", []
    settings = {"valid": VALID, "ranges": {"l2": "1e-5..1e-2:log"}, "study": study, "on_trial": seen.append}
    podium.tune(podium.ListNet(epochs=2), TRAIN, trials=2, **settings)
    study.write_bytes(study.read_bytes()[:-10])
    podium.tune(podium.ListNet(epochs=2), TRAIN, trials=3, **settings)
    assert [trial.number for trial in seen] == [1, 2, 2, 3]
    assert len(study.read_text().splitlines()) == 4
    study.write_text("nonsense\n")
    with pytest.raises(podium.FormatError, match="is not a study, or is damaged; remove the file"):
        podium.tune(podium.ListNet(epochs=2), TRAIN, trials=3, **settings)


def test_ctrl_c_is_raised_and_the_study_goes_on(tmp_path):
    def interrupt(row):
        if row.epoch == 3:
            raise KeyboardInterrupt

    ranges = {"l2": "1e-5..1e-2:log"}
    with pytest.raises(KeyboardInterrupt):
        podium.tune(
            podium.RankNet(epochs=4), TRAIN, valid=VALID, ranges=ranges, study=tmp_path / "s", callbacks=[interrupt]
        )
    assert (tmp_path / "s.checkpoints" / "trial-1").exists()
    epochs = []
    podium.tune(
        podium.RankNet(epochs=4),
        TRAIN,
        valid=VALID,
        ranges=ranges,
        trials=1,
        study=tmp_path / "s",
        callbacks=[lambda row: epochs.append(row.epoch)],
    )
    assert epochs == [4]
    assert not (tmp_path / "s.checkpoints").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranges": {}}, "no range is given"),
        ({"ranges": {"sgma": "1..2"}}, "Did you mean 'sigma'"),
        ({"trials": 0}, "trials=0 must be"),
        ({"eta": 1}, "eta=1 must be"),
        ({"ranges": {"learning_rate": [-1]}}, "trial 1 with learning_rate=-1: learning_rate=-1 must be"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.tune(podium.RankNet(epochs=1), TRAIN, **{"valid": VALID, "ranges": {"l2": "0..1"}, **changes})
