"""podium cv and podium tune."""

from __future__ import annotations

import json

import numpy as np
import pytest

import podium


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


TUNE = ["tune", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", 3]


def test_tune_finds_writes_and_goes_on(cli, parts):
    words = [*TUNE, "--range", "learning_rate=1e-3..1e-1:log", "--range", "hidden=(2,);(3,2)"]
    first = cli(*words, "--trials", 3)
    assert "best of 3 trials" in first.out
    assert "--set learning_rate=" in first.out
    assert first.err.count("trial ") == 3
    more = cli(*words, "--trials", 5)
    assert "going on after 3 trials (best.podium.study.jsonl); --fresh begins anew\n" in more.err
    again = cli(*words, "--trials", 5, "--json")
    said = again.json
    best = f"best is trial {said['best']['number']}, ndcg@10 {said['best']['value']:.4f}"
    assert f"the search is finished (best.podium.study.jsonl): {best}; more --trials go on, --fresh" in again.err
    assert len(said["trials"]) == 5
    assert said["best"]["value"] == max(trial["value"] for trial in said["trials"])
    lines = (cli.folder / "best.podium.study.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines[1:]] == [1, 2, 3, 4, 5]
    model = podium.load(cli.folder / "best.podium")
    assert model.learning_rate == said["best"]["parameters"]["learning_rate"]
    assert model.best_value_ == said["best"]["value"]
    trained = ["train", "train.txt", "--valid", "vali.txt", "--ranker", "ranknet", "--epochs", 3]
    cli(
        *trained, *[f"--set={name}={value}" for name, value in said["best"]["parameters"].items()], "-o", "again.podium"
    )
    np.testing.assert_array_equal(podium.load(cli.folder / "again.podium").predict(parts[1]), model.predict(parts[1]))
    assert not (cli.folder / "best.podium.study.jsonl.checkpoints").exists()
    few = cli(*TUNE, "--range", "hidden=(1,);(2,)", "--trials", 5, "--fresh")
    assert "only 2 combinations exist, so 2 of 5 trials are run\n" in few.err
    assert "best of 2 trials" in few.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cv", "train.txt", "--ranker", "ranknet", "--folds", "31"], "31 folds of 18 queries leave a fold empty"),
        (["cv", "train.txt", "--ranker", "ranknet", "--valid-share", "1.5"], "--valid-share 1.5 must lie between"),
        (["cv", "train.txt", "--ranker", "ranknet", "--early-stopping-rounds", "3"], "give --valid-share SHARE"),
        (["cv", "train.txt", "--ranker", "ranknet", "--out", "train.txt"], "would be written over"),
        (["cv", "train.txt"], "say what to train"),
        ([*TUNE, "--range", "learning_rte=1..2"], "Did you mean 'learning_rate'?"),
        ([*TUNE, "--range", "learning_rate"], "--range learning_rate: write NAME=VALUE"),
        ([*TUNE, "--range", "learning_rate=2..1"], "learning_rate: range 2..1: the first number must be below"),
        ([*TUNE, "--range", "learning_rate=0..1:log"], "a logarithm needs numbers above 0"),
        ([*TUNE, "--range", "learning_rate="], "learning_rate: range '': write low..high"),
        ([*TUNE, "--range", "learning_rate=1e-3-1e-1"], "write low..high, low..high:log"),
        ([*TUNE, "--range", "learning_rate=0..1:lgo"], "and :log behind them or nothing"),
        ([*TUNE, "--range", "optimizer=adm,sgd"], "unknown optimizer 'adm'. Did you mean 'adam'?"),
        ([*TUNE, "--range", "l2=0..1", "--l2", "0"], "--l2 and --range l2 say two things; leave one of them out"),
        ([*TUNE, "--range", "sigma=0..1", "--set", "sigma=2"], "--set sigma and --range sigma say two things"),
        ([*TUNE, "--range", "metric=map,ndcg"], "metric cannot be searched for"),
        ([*TUNE[:-2], "--range", "epochs=1..2", "--halving"], "halving chooses epochs itself"),
        ([*TUNE, "--range", "l2=1..2", "--out", "train.txt"], "would be written over"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else None,
)
def test_bad_input_is_one_sentence_and_exit_code_2(refused, parts, words, message):
    assert message in refused(*words)


def test_a_study_with_other_settings_is_refused(refused, parts, tmp_path):
    ranker = podium.RankNet(epochs=3)
    study = tmp_path / "best.podium.study.jsonl"
    podium.tune(ranker, parts[0], valid=parts[1], ranges={"l2": "0..1"}, trials=1, study=study)
    said = refused(*TUNE, "--range", "l2=0..2")
    assert "begun with another choice of ranges: l2=0.0..1.0 there, l2=0.0..2.0 now; --fresh begins anew" in said
    assert "begun with another sigma: 1.0 there, 2 now" in refused(*TUNE, "--range", "l2=0..1", "--set", "sigma=2")
