"""Searches: how trials are judged, what is deterministic, and how a search resumes."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import podium
from podium.kinds import STUDY_NAME

TRAIN, VALID = podium.split(podium.synthetic.network(queries=20, documents=6, features=3, seed=2), (0.6, 0.4))


def noisy(queries, seed):
    """Judged queries whose labels follow one of four features, and noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * 12, 4))
    labels = np.digitize(features[:, 0] + rng.normal(size=len(features)), [-1, 0, 1])
    return podium.RankingData(features, labels, np.repeat(np.arange(queries), 12))


NOISY, NOISY_VALID = noisy(15, 1), noisy(15, 2)
RATES = {"learning_rate": "1e-6..1e-1:log"}


def essence(result):
    """Everything about the trials that does not depend on time."""
    return [replace(trial, seconds=0.0) for trial in result.trials]


def by_number(result):
    return {trial.number: trial for trial in essence(result)}


def open_with_optuna(path):
    """Open the study as Optuna's own file backend reads it."""
    return optuna.load_study(study_name=STUDY_NAME, storage=JournalStorage(JournalFileBackend(str(path))))


# How trials are judged


def test_the_best_is_what_training_alone_gives():
    ranges = {"learning_rate": "1e-3..1e-1:log", "hidden": [(2,), (4, 2)]}
    result = podium.tune(podium.RankNet(epochs=4), TRAIN, valid=VALID, ranges=ranges, trials=5, pruner="none")
    assert len(result.trials) == 5
    for trial in result.trials:
        alone = podium.RankNet(epochs=4, **trial.parameters).fit(TRAIN, valid=VALID)
        assert (trial.value, trial.best_epoch, trial.epochs) == (alone.best_value_, alone.best_epoch_, 4)
    values = [trial.value for trial in result.trials]
    assert values == sorted(values, reverse=True)
    best = podium.RankNet(epochs=4, **result.best.parameters).fit(TRAIN, valid=VALID)
    np.testing.assert_array_equal(result.ranker.predict(VALID), best.predict(VALID))
    assert str(result).splitlines()[1].split()[0] == str(result.best.number)


def test_no_trial_is_judged_by_a_smoothed_value():
    ranges = {"smoothing": [0, 1, 5], "n_estimators": [30, 60]}
    result = podium.tune(podium.MART(learning_rate=0.5), TRAIN, valid=VALID, ranges=ranges, trials=6, pruner="none")
    assert len({trial.best_epoch for trial in result.trials}) > 1
    for trial in result.trials:
        alone = podium.MART(learning_rate=0.5, **trial.parameters).fit(TRAIN, valid=VALID)
        assert trial.value == alone.log_[trial.best_epoch - 1].valid == pytest.approx(alone.score(VALID), abs=1e-12)


def test_where_less_is_better_the_least_wins():
    ranker = podium.RankSVM(metric="pairwise_error")
    result = podium.tune(ranker, TRAIN, valid=VALID, ranges={"C": "1e-6..1e2:log"}, trials=6, pruner="none")
    assert result.best.value == min(trial.value for trial in result.trials)


@pytest.mark.parametrize("share", [None, 0.3])
def test_with_folds_trials_are_judged_by_cross_validation(share):
    ranker, ranges = podium.ListNet(epochs=3, seed=5), {"learning_rate": [1e-3, 1e-1]}
    result = podium.tune(ranker, TRAIN, folds=3, valid_share=share, ranges=ranges, seed=4, pruner="none")
    for trial in result.trials:
        alone = podium.ListNet(epochs=3, seed=5, **trial.parameters)
        expected = podium.cross_validate(alone, TRAIN, folds=3, valid_share=share, seed=4).evaluation.mean["ndcg@10"]
        assert (trial.value, trial.epochs, trial.best_epoch) == (expected, 9, None)
    best = podium.ListNet(epochs=3, seed=5, **result.best.parameters)
    parts = [TRAIN] if share is None else podium.split(TRAIN, (0.7, 0.3), seed=4)
    best.fit(parts[0], valid=parts[1] if share else None)
    np.testing.assert_array_equal(result.ranker.predict(VALID), best.predict(VALID))


def test_of_equal_values_the_lower_number_wins():
    ranges = {"early_stopping_rounds": "50..60"}  # makes no difference to two epochs
    result = podium.tune(podium.ListNet(epochs=2), TRAIN, valid=VALID, ranges=ranges, trials=4)
    assert [trial.number for trial in result.trials] == [0, 1, 2, 3]
    assert len({trial.value for trial in result.trials}) == 1
    assert result.importances == {}


# Pruning


def test_a_trial_below_the_median_is_ended_early_and_never_chosen(tmp_path):
    study = tmp_path / "s"
    settings = {"valid": NOISY_VALID, "ranges": RATES, "trials": 15, "sampler": "random"}
    result = podium.tune(podium.RankNet(epochs=20), NOISY, study=study, **settings)
    found = open_with_optuna(study).trials
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    assert pruned
    for trial in pruned:
        assert trial.value is None
        values = found[trial.number].intermediate_values
        assert list(values) == list(range(1, trial.epochs + 1))
        earlier = [other for other in found[: trial.number] if other.state.name == "COMPLETE"]
        others = [other.intermediate_values[trial.epochs] for other in earlier]
        assert max(values.values()) < statistics.median(others)
    states = [trial.state for trial in result.trials]
    assert states == sorted(states, key=["complete", "pruned", "failed"].index)


def test_hyperband_gives_up_trials_and_none_gives_up_none():
    settings = {"valid": VALID, "ranges": RATES, "trials": 12}
    for pruner, expected in (("hyperband", True), ("none", False)):
        result = podium.tune(podium.ListNet(epochs=27), TRAIN, pruner=pruner, **settings)
        assert any(trial.state == "pruned" for trial in result.trials) == expected


def test_with_folds_trials_are_pruned_after_a_fold(tmp_path):
    ranker = podium.RankNet(epochs=5)
    study = tmp_path / "s"
    result = podium.tune(ranker, NOISY, folds=4, ranges=RATES, trials=12, study=study)
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    assert pruned
    for trial in pruned:
        assert trial.epochs % 5 == 0
        assert trial.epochs < 20
    complete = open_with_optuna(study).trials[result.best.number]
    assert list(complete.intermediate_values) == [1, 2, 3, 4]
    assert complete.intermediate_values[4] == pytest.approx(result.best.value, abs=1e-12)


# What is deterministic


def test_a_search_in_parts_gives_the_same_as_one_run(tmp_path):
    settings = {"valid": VALID, "ranges": {**RATES, "l2": "1e-5..1e-2:log"}, "study": tmp_path / "s"}
    whole = podium.tune(podium.ListNet(epochs=3), TRAIN, trials=16, **{**settings, "study": None})
    for trials in (1, 7, 12, 16):
        parts = podium.tune(podium.ListNet(epochs=3), TRAIN, trials=trials, **settings)
    assert essence(parts) == essence(whole)
    assert parts.importances == whole.importances
    other = podium.tune(podium.ListNet(epochs=3), TRAIN, trials=1, seed=1, **{**settings, "study": None})
    assert by_number(other)[0].parameters != by_number(whole)[0].parameters


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_search_interrupted_in_any_epoch_resumes_to_the_same(tmp_path, sampler):
    settings = {"valid": VALID, "ranges": RATES, "trials": 12, "sampler": sampler, "study": tmp_path / "s"}
    whole = podium.tune(podium.ListNet(epochs=4), TRAIN, **{**settings, "study": None})
    for stop_after in (1, 3, 6, 9, 14, 2):
        seen = []

        def interrupt(row, seen=seen, stop_after=stop_after):
            seen.append(row)
            if len(seen) == stop_after:
                raise KeyboardInterrupt

        with pytest.raises(
            KeyboardInterrupt, match=r"the search was interrupted; \d+ finished trials are in .*/s: run"
        ):
            podium.tune(podium.ListNet(epochs=4), TRAIN, callbacks=[interrupt], **settings)
    assert essence(podium.tune(podium.ListNet(epochs=4), TRAIN, **settings)) == essence(whole)


def test_without_a_study_an_interrupt_keeps_nothing():
    def interrupt(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="the search was interrupted; nothing is kept"):
        podium.tune(podium.ListNet(epochs=2), TRAIN, valid=VALID, ranges=RATES, callbacks=[interrupt])


def test_processes_find_what_one_process_finds(tmp_path):
    settings = {"valid": VALID, "ranges": RATES, "trials": 5, "sampler": "random", "pruner": "none"}
    rows, ended = [], []
    alone = podium.tune(podium.ListNet(epochs=3), TRAIN, **settings)
    several = podium.tune(
        podium.ListNet(epochs=3),
        TRAIN,
        jobs=2,
        study=tmp_path / "s",
        callbacks=[rows.append],
        on_trial=ended.append,
        **settings,
    )
    assert essence(several) == essence(alone)
    assert sorted(trial.number for trial in ended) == [0, 1, 2, 3, 4]
    assert len(rows) == 5 * 3 + 3  # of the trials and of the final training
    np.testing.assert_array_equal(several.ranker.predict(VALID), alone.ranker.predict(VALID))


def test_a_callback_can_end_a_training_in_another_process():
    result = podium.tune(
        podium.ListNet(epochs=6),
        TRAIN,
        valid=VALID,
        ranges=RATES,
        trials=2,
        jobs=2,
        callbacks=[lambda row: row.epoch == 2],
    )
    assert [trial.epochs for trial in result.trials] == [2, 2]
    assert {trial.state for trial in result.trials} == {"complete"}


def test_the_tpe_sampler_learns():
    settings = {"valid": NOISY_VALID, "ranges": {"learning_rate": "1e-9..1:log"}, "trials": 30, "pruner": "none"}
    late = {}
    for sampler in ("tpe", "random"):
        trials = by_number(podium.tune(podium.RankNet(epochs=2), NOISY, sampler=sampler, **settings))
        late[sampler] = statistics.mean(trials[number].value for number in range(15, 30))
    assert late["tpe"] > late["random"]


# Few combinations, and parameters that were tried before


def test_few_combinations_are_all_tried_once(tmp_path):
    ranges = {"epochs": "1..3", "optimizer": "adam,sgd"}
    settings = {"valid": VALID, "ranges": ranges, "study": tmp_path / "s", "pruner": "none"}
    started = []
    podium.tune(podium.ListNet(), TRAIN, trials=2, **settings)
    result = podium.tune(
        podium.ListNet(), TRAIN, trials=100, on_start=lambda *counts: started.append(counts), **settings
    )
    tried = [tuple(trial.parameters.values()) for trial in result.trials]
    assert set(tried) == {(epochs, optimizer) for epochs in (1, 2, 3) for optimizer in ("adam", "sgd")}
    assert len(tried) == len(set(tried)) or len(tried) <= 7  # the first two may have been the same
    assert sum(started[0]) == len(tried)


def test_the_same_parameters_are_not_trained_twice():
    rows = []
    ranges = {"early_stopping_rounds": "1..9", "epochs": "2..3"}
    result = podium.tune(
        podium.ListNet(), TRAIN, valid=VALID, ranges=ranges, trials=17, pruner="none", callbacks=[rows.append]
    )
    tried = {json.dumps(trial.parameters): trial for trial in result.trials}
    assert len(tried) < len(result.trials) == 17
    trained = [trial for trial in result.trials if trial.epochs]
    assert len(trained) == len(tried)
    assert len(rows) == sum(trial.epochs for trial in trained) + result.ranker.n_epochs_
    for trial in result.trials:
        same = tried[json.dumps(trial.parameters)]
        assert (trial.value, trial.best_epoch) == (same.value, same.best_epoch)


# Failures


def test_trials_that_fail_are_kept_with_their_reason_and_lose(tmp_path):
    def diverge(row):
        if row.learning_rate > 0.5:
            raise podium.DataError("training diverged")

    settings = {"valid": VALID, "study": tmp_path / "s", "callbacks": [diverge]}
    result = podium.tune(podium.RankNet(epochs=2), TRAIN, ranges={"learning_rate": [0.01, 1.0]}, **settings)
    assert [(trial.state, trial.error) for trial in result.trials] == [
        ("complete", None), ("failed", "training diverged")
    ]  # fmt: skip
    again = podium.tune(podium.RankNet(epochs=2), TRAIN, ranges={"learning_rate": [0.01, 1.0]}, **settings)
    assert essence(again) == essence(result)
    with pytest.raises(podium.DataError, match="every trial failed; the first: training diverged"):
        podium.tune(podium.RankNet(), TRAIN, ranges={"learning_rate": [1.0]}, **{**settings, "study": None})


def test_parameters_that_do_not_go_together_make_a_trial_fail():
    ranges = {"optimizer": ["adam", "lbfgs"], "batch": [2]}
    result = podium.tune(podium.RankNet(epochs=2), TRAIN, valid=VALID, ranges=ranges)
    assert [trial.parameters["optimizer"] for trial in result.trials] == ["adam", "lbfgs"]
    assert "batch=2 is not a setting of lbfgs" in result.trials[1].error


@pytest.fixture
def forces(tmp_path, monkeypatch):
    """A module with forces that end their process, raise and warn."""
    (tmp_path / "troubled.py").write_text(
        "import os, signal, warnings\n"
        "from podium.forces import custom_force\n\n"
        "def killing(scores, labels):\n    os.kill(os.getpid(), signal.SIGKILL)\n\n"
        "def raising(scores, labels):\n    raise ZeroDivisionError('by design')\n\n"
        "def warning(scores, labels):\n    warnings.warn('look here')\n    return labels - labels.mean()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_process_that_is_killed_fails_its_trial_and_no_other(forces):
    ranges = {"force": ["ranknet", "troubled:killing(compile=False)", "listnet"]}
    ranker = podium.Ranker(model="linear", schedule="adam(epochs=2)")
    result = podium.tune(ranker, TRAIN, valid=VALID, ranges=ranges, jobs=2)
    assert sorted(trial.state for trial in result.trials) == ["complete", "complete", "failed"]
    assert result.trials[2].error == "the process that trained it ended with code -9"


def test_errors_and_warnings_of_other_processes_arrive(forces):
    ranker = podium.Ranker(model="linear", schedule="adam(epochs=1)")
    ranges = {"force": ["troubled:raising(compile=False)", "ranknet"]}
    with pytest.raises(ZeroDivisionError, match="by design") as caught:
        podium.tune(ranker, TRAIN, valid=VALID, ranges=ranges, jobs=2)
    assert any("in raising" in note for note in caught.value.__notes__)
    ranges = {"force": ["troubled:warning(compile=False)", "ranknet"]}
    with pytest.warns(UserWarning, match="look here"):
        podium.tune(ranker, TRAIN, valid=VALID, ranges=ranges, jobs=2)


def test_what_cannot_be_sent_to_other_processes_is_refused():
    ranker = podium.Ranker(force=lambda scores, labels: labels, model="linear")
    message = (
        r"jobs above 1 needs a ranker that can be sent .* define your force and your metric as functions in a module"
    )
    with pytest.raises(podium.ParameterError, match=message):
        podium.tune(ranker, TRAIN, valid=VALID, ranges={"seed": [1, 2]}, jobs=2)


# Results


def test_importances_tell_what_matters():
    ranges = {"early_stopping_rounds": "50..99", "learning_rate": "1e-6..1e-1:log"}
    settings = {"valid": NOISY_VALID, "ranges": ranges, "trials": 20, "sampler": "random", "pruner": "none"}
    result = podium.tune(podium.RankNet(epochs=2), NOISY, **settings)
    assert list(result.importances) == ["learning_rate", "early_stopping_rounds"]
    assert math.fsum(result.importances.values()) == pytest.approx(1)
    assert result.importances["learning_rate"] > 0.8


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_one_row_per_trial(library):
    ranges = {"hidden": [(2,), (3,)], "learning_rate": "1e-3..1e-1:log"}
    result = podium.tune(podium.RankNet(epochs=1), TRAIN, valid=VALID, ranges=ranges, trials=3)
    frame = result.to_frame(library)
    assert list(frame.columns)[:4] == ["number", "hidden", "learning_rate", "state"]
    assert list(frame["number"]) == [trial.number for trial in result.trials]
    assert list(frame["hidden"]) == [str(trial.parameters["hidden"]) for trial in result.trials]
    assert json.loads(json.dumps(result.to_dict()))["best"]["value"] == result.best.value
    with pytest.raises(podium.ParameterError, match="library='dask' must be 'pandas' or 'polars'"):
        result.to_frame("dask")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, "trials=0 must be a whole number of at least 1"),
        ({"jobs": 0}, "jobs=0 must be a whole number from 1 to 256"),
        ({"sampler": "tpee"}, "unknown sampler 'tpee'. Did you mean 'tpe'?"),
        ({"pruner": "halving"}, "unknown pruner 'halving'"),
        ({"valid": None}, "valid is what trials are compared on, unless they are cross-validated; give either valid="),
        ({"folds": 3}, "give either valid= or folds="),
        ({"valid_share": 0.2}, "valid_share=0.2 is part of a cross-validation; give folds="),
        ({"valid": None, "folds": 1}, "folds=1 must be a whole number from 2 to 12"),
        ({"valid": None, "folds": 3, "valid_share": 2}, "valid_share=2 must lie between 0 and 1"),
        ({"seed": -1}, "seed=-1 must be"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.tune(podium.RankNet(epochs=1), TRAIN, **{"valid": VALID, "ranges": {"l2": "0..1"}, **changes})


# Optuna


def test_optuna_is_loaded_by_a_search_only():
    code = "import sys, podium; podium.tune; podium.Tuning; import podium.cli.app; print('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_without_optuna_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(podium.MissingExtraError, match=r"tuning needs Optuna.*pip install 'podium\[tune\]'"):
        podium.tune(podium.RankNet(), TRAIN, valid=VALID)


def test_optuna_says_nothing_and_stays_as_it_was(capfd):
    before = optuna.logging.get_verbosity()
    podium.tune(podium.ListNet(epochs=1), TRAIN, valid=VALID, ranges=RATES, trials=2)
    assert optuna.logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")
