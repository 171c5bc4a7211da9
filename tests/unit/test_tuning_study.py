"""The file of a study: what resumes from it, what it refuses, and that it is never destroyed."""

from __future__ import annotations

import json
import multiprocessing
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import podium
from podium.rankers.tuning.journal import Journal

TRAIN, VALID = podium.split(podium.synthetic.network(queries=20, documents=6, features=3, seed=2), (0.6, 0.4))
SETTINGS = {"valid": VALID, "ranges": {"l2": "1e-5..1e-2:log"}}


def search(study, trials=3, ranker=None, **changes):
    ranker = ranker or podium.ListNet(epochs=2)
    return podium.tune(ranker, TRAIN, study=study, trials=trials, **{**SETTINGS, **changes})


def essence(result):
    return [replace(trial, seconds=0.0) for trial in result.trials]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The bytes of a study with three trials."""
    path = tmp_path_factory.mktemp("study") / "s"
    search(path)
    return path.read_bytes()


@pytest.fixture
def study(finished, tmp_path):
    path = tmp_path / "s"
    path.write_bytes(finished)
    return path


def test_a_study_is_one_file_that_optuna_opens(study):
    assert [path.name for path in study.parent.iterdir()] == ["s"]
    name = optuna.get_all_study_names(JournalStorage(JournalFileBackend(str(study))))[0]
    found = optuna.load_study(study_name=name, storage=JournalStorage(JournalFileBackend(str(study))))
    result = search(study)
    assert found.best_trial.number == result.best.number
    assert found.best_value == result.best.value


def test_trials_that_are_there_are_not_trained_again(study):
    rows, ended = [], []
    result = search(study, callbacks=[rows.append], on_trial=ended.append)
    assert len(rows) == 2  # of the final training
    assert not ended
    assert result.study == study
    search(study, trials=4, on_trial=ended.append)
    assert [trial.number for trial in ended] == [3]


def test_a_line_that_was_cut_short_is_dropped(study, finished):
    whole = search(None)
    lines = finished.splitlines(keepends=True)
    for cut in (len(lines) - 1, len(lines) // 2, 1):
        study.write_bytes(b"".join(lines[:cut]) + lines[cut][:-9])
        assert essence(search(study)) == essence(whole)
        assert all(isinstance(json.loads(line), dict) for line in study.read_bytes().splitlines())


def test_killed_after_any_line_it_resumes_to_the_same(study, finished):
    whole = search(None)
    lines = finished.splitlines(keepends=True)
    for count in range(1, len(lines)):
        study.write_bytes(b"".join(lines[:count]))
        assert essence(search(study)) == essence(whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranges": {"l2": "0..2"}}, "another choice of ranges: l2=1e-05..0.01:log there, l2=0.0..2.0 now"),
        ({"ranker": podium.ListNet(epochs=3)}, "another epochs: 2 there, 3 now"),
        ({"ranker": podium.ListMLE(epochs=2)}, "another ranker: ListNet there, ListMLE now"),
        ({"valid": TRAIN}, "another validation data: "),
        ({"sampler": "random"}, "another sampler: tpe there, random now"),
        ({"pruner": "none"}, "another pruner: median there, none now"),
        ({"seed": 3}, "another seed of the search: 0 there, 3 now"),
        ({"valid": None, "folds": 3}, "another number of folds: None there, 3 now"),
    ],
)
def test_a_study_of_another_search_is_refused_and_kept(study, finished, changes, message):
    with pytest.raises(podium.FormatError, match=f"holds a search with {message}.*start over with fresh=True"):
        search(study, **changes)
    assert study.read_bytes() == finished


def test_a_study_without_finished_trials_is_nothing_to_keep(study, finished):
    study.write_bytes(b"".join(finished.splitlines(keepends=True)[:4]))
    assert len(search(study, ranker=podium.ListNet(epochs=1)).trials) == 3


def test_starting_over_keeps_the_old_study_until_a_trial_has_ended(study, finished):
    def fail(row):
        assert study.read_bytes() == finished
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        search(study, fresh=True, callbacks=[fail])
    with pytest.raises(podium.ParameterError):
        search(study, fresh=True, ranges={"optimizer": "adm"})
    assert study.read_bytes() == finished
    result = search(study, fresh=True, trials=1, ranker=podium.ListNet(epochs=1))
    assert [trial.number for trial in result.trials] == [0]
    assert essence(search(study, trials=1, ranker=podium.ListNet(epochs=1))) == essence(result)


def damage(finished: bytes, how) -> bytes:
    entries = [json.loads(line) for line in finished.splitlines()]
    how(entries)
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def last(entries, key):
    return next(entry for entry in reversed(entries) if key in entry)


DAMAGES = {
    "an operation that does not exist": lambda entries: entries[5].update(op_code=99),
    "no operation": lambda entries: entries[5].pop("op_code"),
    "an operation of another type": lambda entries: entries[5].update(op_code=[1]),
    "a trial of no study": lambda entries: entries[2].update(study_id="x"),
    "a state that does not exist": lambda entries: last(entries, "state").update(state=77),
    "no values": lambda entries: last(entries, "values").update(values=None),
    "another value": lambda entries: last(entries, "values").update(values=[0.123]),
    "values of another type": lambda entries: last(entries, "values").update(values={"a": 1}),
    "a parameter out of its range": lambda entries: last(entries, "param_name").update(param_value_internal=5.0),
    "another parameter": lambda entries: last(entries, "param_name").update(param_name="other"),
    "another distribution": lambda entries: last(entries, "distribution").update(
        distribution='{"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "log": false, "step": null}}'
    ),
    "no distribution": lambda entries: last(entries, "distribution").update(distribution="nonsense"),
    "an outcome of another kind": lambda entries: last(entries, "user_attr").update(user_attr={"podium outcome": 3}),
    "an outcome with a field too many": lambda entries: last(entries, "user_attr")["user_attr"][
        "podium outcome"
    ].update(x=1),
    "seconds that are not a number": lambda entries: last(entries, "user_attr")["user_attr"]["podium outcome"].update(
        seconds="long"
    ),
    "settings of another kind": lambda entries: entries[1].update(user_attr={"podium settings": [1]}),
    "two studies": lambda entries: entries.insert(1, {**entries[0], "study_name": "mine"}),
    "a study with two goals": lambda entries: entries[0].update(directions=[1, 2]),
    "a date that is none": lambda entries: entries[2].update(datetime_start="yesterday"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_study_is_refused_and_kept(study, finished, name):
    study.write_bytes(damage(finished, DAMAGES[name]))
    before = study.read_bytes()
    with pytest.raises(podium.FormatError, match="is not a study of podium tune, or is damaged"):
        search(study)
    assert study.read_bytes() == before


def test_what_is_not_a_study_is_refused_and_kept(study, finished, tmp_path):
    lines = finished.splitlines(keepends=True)
    foreign = tmp_path / "foreign"
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(study_name="mine", storage=JournalStorage(JournalFileBackend(str(foreign))))
    old = b'{"kind": "podium study 1", "settings": {}}\n'
    for content in (b"nonsense\n", foreign.read_bytes(), old, b"\x00" * 100, lines[0] + b"nonsense\n" + lines[1]):
        study.write_bytes(content)
        with pytest.raises(podium.FormatError, match="is not a study of podium tune, or is damaged; remove the file"):
            search(study)
        assert study.read_bytes() == content
    study.write_bytes(b"nonsense\n")
    with pytest.raises(podium.OutputError, match="exists and is not a study of podium tune; it would be lost"):
        search(study, fresh=True)
    assert study.read_bytes() == b"nonsense\n"


def test_an_empty_file_becomes_a_study(tmp_path):
    (tmp_path / "s").touch()
    search(tmp_path / "s", trials=1)
    assert len(search(tmp_path / "s", trials=1).trials) == 1


def test_two_searches_do_not_share_a_file(study, finished):
    journal = Journal(study)
    try:
        with pytest.raises(podium.OutputError, match="another search is writing to it; wait until it ends"):
            search(study)
    finally:
        journal.close()
    assert study.read_bytes() == finished
    search(study)


def search_and_kill(path, after):
    """Run a search that ends its own process in a chosen epoch, as SIGKILL does."""
    rows = []

    def kill(row):
        rows.append(row)
        if len(rows) == after:
            signal.raise_signal(signal.SIGKILL)

    search(path, callbacks=[kill])


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_a_killed_search_gives_up_its_lock_and_resumes(tmp_path, after):
    process = multiprocessing.get_context("forkserver").Process(target=search_and_kill, args=(tmp_path / "s", after))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert essence(search(tmp_path / "s")) == essence(search(None))
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_study_in_a_folder_that_is_missing_is_refused(tmp_path):
    with pytest.raises(podium.OutputError, match="there is no folder"):
        search(tmp_path / "missing" / "s")
    with pytest.raises(podium.OutputError, match="is a directory"):
        search(tmp_path)
    assert not list(Path(tmp_path).iterdir())


def test_a_study_of_trials_that_all_failed_stays(tmp_path):
    flat = VALID.replace(labels=np.zeros(VALID.n_documents))
    with pytest.raises(podium.DataError, match="every trial failed; the first: no query of the validation data"):
        search(tmp_path / "s", trials=2, valid=flat)
    ended = []
    with pytest.raises(podium.DataError, match="every trial failed"):
        search(tmp_path / "s", trials=2, valid=flat, on_trial=ended.append)
    assert not ended
