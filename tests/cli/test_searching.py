"""podium cv and podium tune."""

from __future__ import annotations

import io
import json
import shlex

import numpy as np
import pytest
from rich.console import Console

import podium
from podium.rankers.tuning.result import Trial, Tuning


@pytest.fixture
def parts(tmp_path):
    data = podium.synthetic.network(queries=30, documents=8, features=4, seed=1)
    made = podium.split(data, (0.6, 0.4))
    for name, part in zip(("train", "vali"), made, strict=True):
        podium.write(part, tmp_path / f"{name}.txt")
    return made


def test_cv_equals_the_library(cli, parts):
    words = ["cv", "train.txt", "--ranker", "ranknet", "--epochs", 3, "--folds", 3, "--also", "map", "--seed", 4]
    said = cli(*words, "--valid-share", 0.25, "--out", "a.scores", "--json").json
    ranker = podium.RankNet(epochs=3, seed=4)
    expected = podium.cross_validate(ranker, parts[0], folds=3, metrics=["ndcg@10", "map"], valid_share=0.25, seed=4)
    np.testing.assert_array_equal(podium.read_scores(cli.folder / "a.scores"), expected.scores)
    assert said["all"]["metrics"]["map"]["mean"] == expected.evaluation.mean["map"]
    assert [fold["n_valid"] for fold in said["folds"]] == [3, 3, 3]
    shown = cli(*words)
    mean = podium.cross_validate(ranker, parts[0], folds=3, seed=4).evaluation.mean["ndcg@10"]
    assert f"ndcg@10   {mean:.4f}" in shown.out
    assert "fold 3 of 3: ndcg@10" in shown.err


def test_cv_by_parts_equals_the_library(cli, parts):
    words = ["cv", "train.txt", "--ranker", "ranknet", "--epochs", 3, "--parts", "2+2+1", "--early-stopping-rounds", 2]
    said = cli(*words, "--json").json
    ranker = podium.RankNet(epochs=3, early_stopping_rounds=2)
    expected = podium.cross_validate(ranker, parts[0], parts=(2, 2, 1))
    assert said["all"]["metrics"]["ndcg@10"]["mean"] == expected.evaluation.mean["ndcg@10"]
    assert [fold["n_valid"] for fold in said["folds"]] == [fold.n_valid for fold in expected.folds]


TUNE = ["tune", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", 3]


def without_seconds(trials):
    return [{name: value for name, value in trial.items() if name != "seconds"} for trial in trials]


def test_tune_finds_writes_and_resumes(cli, parts):
    words = [*TUNE, "--range", "learning_rate=1e-3..1e-1:log", "--range", "hidden=(2,);(3,2)"]
    first = cli(*words, "--trials", 3)
    assert "3 trials: 3 complete, 0 pruned, 0 failed" in first.out
    assert "importance" not in first.out  # three trials say nothing about it
    assert first.err.count("trial ") == 3
    more = cli(*words, "--trials", 6)
    assert "resuming after 3 trials (best.podium.study.jsonl); use --fresh to start over\n" in more.err
    assert [line.split(":")[0] for line in more.err.splitlines() if line.startswith("trial ")] == [
        "trial 3", "trial 4", "trial 5"
    ]  # fmt: skip
    again = cli(*words, "--trials", 6, "--json")
    said = again.json
    assert "all 6 trials are done already (best.podium.study.jsonl); give more --trials to search further" in again.err
    assert len(said["trials"]) == 6
    assert said["best"] == said["trials"][0]
    assert sum(said["importances"].values()) == pytest.approx(1)
    ranker = podium.RankNet(epochs=3)
    ranges = {"learning_rate": "1e-3..1e-1:log", "hidden": [(2,), (3, 2)]}
    expected = podium.tune(ranker, parts[0], valid=parts[1], ranges=ranges, trials=6)
    assert without_seconds(said["trials"]) == without_seconds(json.loads(json.dumps(expected.to_dict()))["trials"])
    model = podium.load(cli.folder / "best.podium")
    assert model.learning_rate == said["best"]["parameters"]["learning_rate"]
    assert model.best_value_ == said["best"]["value"]
    command = shlex.split(more.out.splitlines()[-1])
    assert command[:6] == ["podium", "train", "train.txt", "--valid", "vali.txt", "--ranker"]
    cli(*command[1:], "-o", "a.podium")
    assert (cli.folder / "a.podium").read_bytes() == (cli.folder / "best.podium").read_bytes()
    few = cli(*TUNE, "--range", "hidden=(1,);(2,)", "--trials", 5, "--fresh")
    assert "the ranges hold only 2 combinations, so that 2 of 5 trials are run\n" in few.err
    assert "2 trials: 2 complete" in few.out


def test_tune_by_folds_in_processes_with_declared_ranges(cli, parts):
    words = ["tune", "train.txt", "--folds", 3, "--ranker", "ranknet", "--epochs", 2, "--sampler", "random"]
    words += ["--pruner", "none", "--trials", 4, "--json"]
    said = cli(*words, "--range", "learning_rate", "--range", "sigma", "--jobs", 2).json
    expected = podium.tune(
        podium.RankNet(epochs=2),
        parts[0],
        folds=3,
        ranges=["learning_rate", "sigma"],
        trials=4,
        sampler="random",
        pruner="none",
    )
    assert without_seconds(said["trials"]) == without_seconds(expected.to_dict()["trials"])
    everything = cli(*words, "--fresh", "--set", "sigma=2").json
    assert everything["best"]["parameters"].keys() == {"l2", "learning_rate"}


def test_tune_of_a_force_a_model_and_a_schedule(cli, parts):
    words = ["tune", "train.txt", "--valid", "vali.txt", "--force", "ranknet", "--model", "net(3)"]
    shown = cli(*words, "--schedule", "adam(epochs=2)", "--range", "learning_rate", "--trials", 2)
    recipe = "podium train train.txt --valid vali.txt --force ranknet --model 'net(3)' --schedule 'adam(epochs=2, rate="
    assert recipe in shown.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["cv", "train.txt", "--ranker", "ranknet", "--folds", "31"],
            "31 folds of 18 queries would leave a fold empty",
        ),
        (["cv", "train.txt", "--ranker", "ranknet", "--valid-share", "1.5"], "--valid-share 1.5 must lie between"),
        (
            ["cv", "train.txt", "--ranker", "ranknet", "--early-stopping-rounds", "3"],
            "give --valid-share SHARE or --parts",
        ),
        (["cv", "train.txt", "--ranker", "ranknet", "--parts", "2+2"], "--parts 2+2 must be three numbers of folds"),
        (["cv", "train.txt", "--ranker", "ranknet", "--out", "train.txt"], "would be written over"),
        (["cv", "train.txt", "--schedule", "adam"], "--schedule adam needs --force FORCE"),
        ([*TUNE, "--range", "learning_rte=1..2"], "Did you mean 'learning_rate'?"),
        ([*TUNE, "--range", "hidden"], "--range hidden=None has no declared range; write low..high"),
        ([*TUNE, "--range", "learning_rate=2..1"], "--range learning_rate=2..1 must have a finite lower end below"),
        ([*TUNE, "--range", "learning_rate=0..1:log"], "--range learning_rate=0..1:log must lie above 0"),
        ([*TUNE, "--range", "learning_rate="], "--range learning_rate= cannot be read; write low..high"),
        ([*TUNE, "--range", "learning_rate=1e-3-1e-1"], "--range learning_rate=1e-3-1e-1 cannot be read as numbers"),
        ([*TUNE, "--range", "learning_rate=0..1:lgo"], "must be two numbers with two dots between them"),
        ([*TUNE, "--sampler", "grid"], "unknown sampler 'grid'. Known: random, tpe"),
        ([*TUNE, "--pruner", "halving"], "unknown pruner 'halving'. Known: hyperband, median, none"),
        ([*TUNE, "--folds", "3"], "give either --valid FILE or --folds N"),
        (["tune", "train.txt", "--ranker", "ranknet"], "give either --valid FILE or --folds N"),
        ([*TUNE, "--valid-share", "0.2"], "--valid-share 0.2 is part of a cross-validation; give --folds N"),
        (
            ["tune", "train.txt", "--folds", "31", "--ranker", "ranknet"],
            "--folds 31 must be a whole number from 2 to 18",
        ),
        (
            [*TUNE, "--range", "optimizer=adm,sgd"],
            "must be one of 'adam', 'sgd', 'lbfgs', 'bundle'; did you mean 'adam'?",
        ),
        ([*TUNE, "--range", "l2=0..1", "--l2", "0"], "--range l2=0..1 contradicts --l2; leave one of them out"),
        ([*TUNE, "--range", "sigma=0..1", "--set", "sigma=2"], "--range sigma=0..1 contradicts --set sigma"),
        ([*TUNE, "--range", "metric=map,ndcg"], "--range metric cannot be searched for"),
        ([*TUNE, "--range", "l2=1..2", "--out", "train.txt"], "would be written over"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else None,
)
def test_bad_input_gives_one_sentence_and_exit_code_2(refused, parts, words, message):
    assert message in refused(*words)


def test_a_study_with_other_settings_is_refused(refused, parts, tmp_path):
    ranker = podium.RankNet(epochs=3)
    study = tmp_path / "best.podium.study.jsonl"
    podium.tune(ranker, parts[0], valid=parts[1], ranges={"l2": "0..1"}, trials=1, study=study)
    said = refused(*TUNE, "--range", "l2=0..2")
    assert "holds a search with another choice of ranges: l2=0.0..1.0 there, l2=0.0..2.0 now; repeat that" in said
    assert said.endswith("or start over with --fresh")
    assert "another sigma: 1.0 there, 2 now" in refused(*TUNE, "--range", "l2=0..1", "--set", "sigma=2")


def test_trials_fit_into_a_narrow_terminal(monkeypatch):
    """Eight settings take more columns than a terminal has; they share one column there, and nothing is cut."""
    from podium.cli import console
    from podium.cli import tune as command

    drawn = {f"setting_number_{k}": 0.123456 for k in range(8)}
    trial = Trial(number=0, state="complete", value=0.5, parameters=drawn, best_epoch=3, epochs=4, seconds=0.1)
    best = podium.LambdaMART()
    result = Tuning(metric="ndcg@10", trials=(trial,), ranker=best, importances={})
    for is_terminal in (True, False):
        text = io.StringIO()
        shown = Console(file=text, width=80, force_terminal=is_terminal, color_system=None)
        monkeypatch.setattr(console, "out", shown)
        monkeypatch.setattr(command, "out", shown)
        command._show_trials(result, "1 trials", 5)
        lines = text.getvalue().splitlines()
        assert (max(map(len, lines)) <= 80) == is_terminal
        assert all(name in text.getvalue() for name in drawn)
        assert "best round" in lines[1]
