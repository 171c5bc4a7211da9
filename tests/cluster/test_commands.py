"""Scoring, evaluation, cross-validation and tuning on a cluster give what they give on one machine."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.cli import main

TRAIN = podium.synthetic.network(queries=40, documents=12, features=6, hidden=3, seed=0)
ENGINE = "ray(workers=2)"


@pytest.fixture
def podium_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any) -> Any:
    """Run a command in this process, which is connected to the cluster, and return what it prints."""
    monkeypatch.chdir(tmp_path)
    names = [f"d{k}" for k in range(TRAIN.n_documents)]
    podium.write_shards(TRAIN.replace(document_ids=names), "shards", 5)
    podium.LambdaMART(n_estimators=5).fit(TRAIN).save("model.podium")

    def run(*words: object, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, words)])
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main()
        assert (stop.value.code or 0) == code, out.getvalue() + err.getvalue()
        return out.getvalue() if code == 0 else err.getvalue()

    return run


def content(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.parametrize("target", ["scores", "trec-run"])
def test_scores_are_the_same_bytes(podium_command, target):
    podium_command("score", "model.podium", "shards", "--to", target, "--out", "here")
    said = podium_command("score", "model.podium", "shards", "--to", target, "--out", "there", "--engine", ENGINE)
    assert said == "wrote there: 480 scores in 5 files\n"
    assert content("there") == content("here")
    assert len(content("here")) == 5


def test_scores_are_printed_in_order_and_read_from_a_uri(podium_command):
    wanted = podium_command("score", "model.podium", "shards")
    uri = Path("shards").resolve().as_uri()
    assert podium_command("score", "model.podium", uri, "--engine", ENGINE) == wanted
    assert podium_command("score", "model.podium", uri) == wanted


def test_a_damaged_shard_is_named_and_leaves_nothing_behind(podium_command):
    path = Path("shards/part-00003.podium-data")
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    said = podium_command("score", "model.podium", "shards", "--out", "scored", "--engine", ENGINE, code=2)
    assert "part-00003.podium-data: has changed since the shards were written" in said
    assert not Path("scored").exists()


def test_evaluation_is_exactly_the_same(podium_command):
    words = ("evaluate", "model.podium", "shards", "--metric", "ndcg@10", "--metric", "map", "--json")
    assert podium_command(*words, "--engine", ENGINE) == podium_command(*words)


def test_what_a_cluster_is_no_use_for_is_refused(podium_command):
    podium_command("score", "model.podium", "shards/part-00000.podium-data", "--out", "a.scores")
    one = ("model.podium", "shards/part-00000.podium-data", "--engine", ENGINE)
    assert "needs a directory of shards" in podium_command("score", *one, code=2)
    assert "needs a directory of shards" in podium_command("evaluate", *one, code=2)
    scores = ("evaluate", "a.scores", "shards/part-00000.podium-data", "--engine", ENGINE)
    assert "needs a model" in podium_command(*scores, code=2)
    searching = ("tune", "shards", "--folds", 2, "--ranker", "lambdamart", "--jobs", 2, "--engine", ENGINE)
    assert "--jobs 2 is for processes of this machine" in podium_command(*searching, code=2)


@pytest.mark.parametrize("share", [None, 0.25])
def test_cross_validation_is_the_same(cluster, tmp_path, share):
    ranker = podium.LambdaMART(n_estimators=6)
    how = {"folds": 4, "valid_share": share}
    found: list[int] = []
    here = podium.cross_validate(ranker, TRAIN, **how)
    there = podium.cross_validate(ranker, TRAIN, **how, engine=ENGINE, on_fold=lambda fold: found.append(fold.number))
    assert found == [1, 2, 3, 4]
    np.testing.assert_array_equal(there.scores, here.scores)
    assert there.to_dict() == here.to_dict()
    for one, other in zip(here.folds, there.folds, strict=True):
        one.ranker.save(tmp_path / "one")
        other.ranker.save(tmp_path / "other")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_cross_validation_by_the_command(podium_command):
    words = ("cv", "shards", "--ranker", "lambdamart", "--n-estimators", 4, "--folds", 3, "--json")
    assert podium_command(*words, "--engine", ENGINE) == podium_command(*words)


def test_callbacks_of_folds_are_refused(cluster):
    with pytest.raises(podium.ParameterError, match="callbacks cannot be called from the workers"):
        podium.cross_validate(podium.MART(n_estimators=2), TRAIN, callbacks=[print], engine=ENGINE)


def search(tmp_path: Path, name: str, **how: Any) -> podium.Tuning:
    ranker = podium.LambdaMART(n_estimators=4)
    ranges = {"num_leaves": "3..15", "learning_rate": "0.01..0.3:log"}
    return podium.tune(ranker, TRAIN, folds=2, ranges=ranges, study=tmp_path / f"{name}.jsonl", seed=3, **how)


def told(result: podium.Tuning) -> list[Any]:
    return [(trial.number, trial.parameters, trial.value, trial.state) for trial in result.trials]


def test_one_worker_searches_as_one_process_does(cluster, tmp_path):
    here = search(tmp_path, "here", trials=6)
    there = search(tmp_path, "there", trials=6, engine="ray(workers=1)")
    assert told(there) == told(here)
    assert there.ranker.get_params() == here.ranker.get_params()


def test_a_search_resumes_with_another_number_of_workers(cluster, tmp_path):
    how = {"sampler": "random", "pruner": "none"}
    whole = search(tmp_path, "whole", trials=6, **how)
    search(tmp_path, "parts", trials=3, engine="ray(workers=2)", **how)
    assert told(search(tmp_path, "parts", trials=6, engine="ray(workers=3)", **how)) == told(whole)


class DyingNdcg:
    """A metric that kills the worker which computes it, the first two times."""

    def __init__(self, folder: Path, driver: int) -> None:
        self.folder, self.driver = folder, driver

    def __call__(self, scores: Any, labels: Any) -> float:
        if os.getpid() != self.driver and len(list(self.folder.iterdir())) < 2:
            (self.folder / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(labels[np.argmax(scores)])


def test_a_trial_whose_worker_dies_is_trained_again(cluster, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "podium.cluster")
    (tmp_path / "deaths").mkdir()
    metric = podium.custom_metric(DyingNdcg(tmp_path / "deaths", os.getpid()), name="top", compile=False)
    ranker = podium.LambdaMART(n_estimators=3, metric=metric, target="ndcg@10")
    result = podium.tune(ranker, TRAIN, valid=TRAIN, ranges={"num_leaves": "3..15"}, trials=3, engine=ENGINE)
    assert [trial.state for trial in result.trials] == ["complete"] * 3
    assert caplog.text.count("the worker of a trial was lost") == 2
    assert json.dumps(result.to_dict())
