"""podium train, score and rankers; models given to evaluate and compare."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import podium
from podium.rankers import RANKERS


@pytest.fixture
def parts(tmp_path):
    """train.txt, vali.txt and test.txt, as files and as data."""
    data = podium.synthetic.network(queries=40, documents=8, features=5, seed=1)
    made = dict(zip(("train", "vali", "test"), podium.split(data, (0.5, 0.25, 0.25)), strict=True))
    for name, part in made.items():
        podium.write(part, tmp_path / f"{name}.txt")
    return made


TRAIN = ["train", "train.txt", "--valid", "vali.txt"]


def test_the_effort_is_an_option(cli, parts):
    cli(*TRAIN, "--ranker", "lambdamart", "--effort", "fast", "--n-estimators", 2, "-o", "m.podium")
    assert podium.load(cli.folder / "m.podium").resolved_["effort"] == "fast"
    assert "'balanced'" in cli("train", "--help").out


def test_train_equals_the_library(cli, parts):
    said = cli(
        *TRAIN, "--ranker", "lambdarank", "--epochs", 6, "--hidden", "4", "--set", "sigma=2.0", "-o", "m.podium"
    ).out
    ranker = podium.LambdaRank(epochs=6, hidden=(4,), sigma=2.0).fit(parts["train"], valid=parts["vali"])
    ranker.save(cli.folder / "library.podium")
    assert (cli.folder / "m.podium").read_bytes() == (cli.folder / "library.podium").read_bytes()
    assert f"wrote m.podium: epoch {ranker.best_epoch_} of 6, ndcg@10 {ranker.best_value_:.4f} on the" in said
    assert not (cli.folder / "m.podium.checkpoint").exists()
    header, *rows = [json.loads(line) for line in (cli.folder / "m.podium.log.jsonl").read_text().splitlines()]
    assert (header["ranker"], header["parameters"]["sigma"], header["valid"]) == ("LambdaRank", 2, "vali.txt")
    assert [row["valid"] for row in rows] == [row.valid for row in ranker.log_]
    assert set(rows[0]) == set(ranker.log_[0].to_dict())


def test_training_says_how_much_tied_scores_matter(cli):
    """Two validation queries of two documents: equal features in the first, the irrelevant document before the relevant one."""
    (cli.folder / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    (cli.folder / "b.txt").write_text("0 qid:1 1:1\n1 qid:1 1:1\n1 qid:2 1:1\n0 qid:2 1:0\n")
    given = ["train", "a.txt", "--valid", "b.txt", "--ranker", "ranknet", "--epochs", 2, "--metric", "precision@1"]
    ties = {"n_affected": 1, "n_queries": 2, "value": 0.5, "expected": 0.75, "best": 1.0, "worst": 0.5}
    said = cli(*given).out
    assert (
        "on the validation data, 1 of 2 queries has tied scores that can change the value: 0.5000 in the order" in said
    )
    assert cli(*given, "--json").json["ties"] == ties
    header, *rows = (cli.folder / "model.podium.log.jsonl").read_text().splitlines()
    assert json.loads(header)["ties"] == ties
    assert len(rows) == 2
    untied = cli("train", "a.txt", "--valid", "a.txt", *given[4:], "--fresh")
    assert "tied" not in untied.out
    assert cli("train", "a.txt", *given[4:-2], "--json").json["ties"] is None


@pytest.mark.parametrize("name", [*RANKERS, "force × model"])
def test_every_ranker_trains(cli, parts, name):
    given = ["--ranker", name] if name in RANKERS else ["--force", "listnet", "--model", "net(3, activation='relu')"]
    budget = "n_estimators" if name in RANKERS and "n_estimators" in RANKERS[name].parameters() else "epochs"
    said = cli("train", "train.txt", *given, f"--{budget.replace('_', '-')}", 3, "--json").json
    assert said["model"] == "model.podium"
    assert said["epochs"] <= (3 if name != "structrank" else 3 * 5)  # from each start
    assert not said["interrupted"]
    assert podium.load(cli.folder / "model.podium").predict(parts["test"]).shape == (80,)


@pytest.mark.parametrize(
    ("name", "more"), [("oap-bpm", ["--set", "perceptrons=10"]), ("rankprop", []), ("prank", []), ("ranknet", [])]
)
def test_the_result_of_training_is_printed(cli, parts, name, more):
    given = [*TRAIN, "--ranker", name, *more, "--epochs", 3]
    told = cli(*given).out
    ranker = podium.load(cli.folder / "model.podium")
    if name == "oap-bpm":
        expected = {"share": ranker.share_, "perceptrons": 10}
    elif name == "rankprop":
        expected = {"verdict": ranker.verdict_, "phases": ranker.n_phases_}
    else:
        expected = {}
    words = "".join(f", {key} {value}" for key, value in expected.items())
    assert f" on the validation data{words}; " in told
    assert cli(*given, "--json").json.get("outcome", {}) == expected


def test_without_validation_data_the_last_epoch_is_kept(cli, parts):
    shown = cli("train", "train.txt", "--ranker", "ranknet", "--epochs", 4)
    assert "wrote model.podium: epoch 4 of 4; " in shown.out
    assert "without --valid, the last epoch is kept; podium data split" in shown.out
    assert "epoch 4: train ndcg@10" in shown.err


def test_without_validation_data_starts_and_restarts_are_judged_on_the_training_data(cli, parts):
    given = ("train", "train.txt", "--epochs", 2, "--ranker", "structrank", "--set", "norm=5", "--set", "starts=2")
    assert "without --valid, the best epoch on the training data is kept" in cli(*given).out
    restarted = cli("train", "train.txt", "--ranker", "ranknet", "--epochs", 2, "--set", "restart_rounds=1").out
    assert "without --valid, the best epoch on the training data is kept" in restarted


def test_numbers_are_short_but_a_correlation_below_one_is_not_one():
    from podium.cli.train import _short

    assert [_short(found) for found in (0.999999, 1.0, 0.123456, (2.0, 0.99999), "settled")] == [
        "0.999999",
        "1",
        "0.1235",
        "(2, 0.99999)",
        "settled",
    ]


def test_errors_in_functions_of_a_network_are_the_users_own(cli, parts):
    (cli.folder / "own.py").write_text(
        "def chain(preferences):\n    return preferences.nothing\n\ndef wide(features):\n    raise KeyError('my own words')\n"
    )
    for force, words in (
        ("structrank(own:chain)", "In the topology of own:chain"),
        ("structrank(noise_scale='own:wide')", "In the noise_scale of own:wide"),
    ):
        said = cli("train", "train.txt", "--force", force, "--epochs", 1, code=1).err
        assert words in said
        assert "/podium/" not in said


def test_errors_name_what_was_given(cli, parts):
    told = cli("train", "train.txt", "--force", "structrank(components=0)", code=2).err
    assert "podium: components=0 must be a whole number" in told
    told = cli("train", "train.txt", "--ranker", "structrank", "--set", "components=0", code=2).err
    assert "podium: --set components=0 must be a whole number" in told
    told = cli("train", "train.txt", "--ranker", "adarank", "--metric", "dcg@5", code=2).err
    assert "podium: --metric dcg@5 has no bounds" in told
    assert "use --set target=ndcg@10" in told


def test_other_metrics_are_shown_besides_the_one_that_decides(cli, parts):
    said = cli(*TRAIN, "--ranker", "lambdamart", "--n-estimators", 2, "--set", "also=['map', 'mrr']", "-o", "m.podium")
    row = json.loads((cli.folder / "m.podium.log.jsonl").read_text().splitlines()[-1])
    shown = f"valid {row['valid']:.4f}, map {row['also']['map']:.4f}, mrr {row['also']['mrr']:.4f}"
    assert said.err.splitlines()[-1].endswith(shown)


def test_a_custom_force_is_found_in_the_current_folder(cli, parts):
    (cli.folder / "mine.py").write_text(
        "import numpy as np\n\ndef push(scores, labels):\n    return labels - labels.mean(), np.ones(len(labels))\n"
    )
    cli("train", "train.txt", "--force", "mine:push(compile=False)", "--model", "linear", "--epochs", 2)
    assert podium.load(cli.folder / "model.podium").force_ == "mine:push(compile=False)"


def test_scores_are_printed_as_precisely_as_they_are_written(cli, parts):
    cli("train", "train.txt", "--ranker", "ranknet", "--epochs", 2)
    printed = cli("score", "model.podium", "test.txt").out
    cli("score", "model.podium", "test.txt", "-o", "a.scores")
    assert (cli.folder / "a.scores").read_text() == printed
    said = cli("score", "model.podium", "test.txt", "--json").json
    assert said["scores"] == podium.load(cli.folder / "model.podium").predict(parts["test"]).tolist()
    assert cli("score", "model.podium", "test.txt", "-o", "b.scores", "--json").json["documents"] == 80


def test_a_model_is_evaluated_and_compared_as_its_scores_are(cli, parts):
    cli("train", "train.txt", "--ranker", "ranknet", "--epochs", 2)
    cli("score", "model.podium", "test.txt", "-o", "a.scores")
    metrics = ["-m", "ndcg@5", "-m", "map", "--json"]
    by_model = cli("evaluate", "model.podium", "test.txt", *metrics).json
    by_scores = cli("evaluate", "a.scores", "test.txt", *metrics).json
    assert by_model["metrics"] == by_scores["metrics"]
    pair = cli("compare", "test.txt", "model.podium", "same=a.scores", "--json").json["pairs"][0]
    assert pair["ties"] == 10


def test_rows_and_features_as_sparse_files_have_them(cli, tmp_path):
    """The rows of a query are apart and the last features are absent; scores still come in the order of the file."""
    data = podium.synthetic.network(queries=30, documents=6, features=6, seed=5)
    podium.write(data, tmp_path / "train.txt")
    narrow = data.select([3, 4]).replace(features=np.where(np.arange(6) < 4, data.select([3, 4]).features, 0))
    lines = [
        re.sub(r" [56]:\S+", "", line)
        for line in (podium.write(narrow, tmp_path / "n.txt"), (tmp_path / "n.txt").read_text())[1].splitlines()
    ]
    (tmp_path / "narrow.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "mixed.txt").write_text("\n".join(lines[k] for k in (0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11)) + "\n")
    said = cli("train", "train.txt", "--valid", "narrow.txt", "--ranker", "listnet", "--epochs", 2)
    assert "narrow.txt has 4 features, and train.txt has 6; the other 2 count as 0\n" in said.err
    cli("train", "narrow.txt", "--valid", "train.txt", "--ranker", "listnet", "--epochs", 2, "--out", "wide.podium")
    assert podium.load(tmp_path / "wide.podium").n_features_in_ == 6
    expected = podium.load(tmp_path / "model.podium").predict(narrow)
    cli("score", "model.podium", "narrow.txt", "-o", "a.scores")
    np.testing.assert_array_equal(podium.read_scores(tmp_path / "a.scores"), expected)
    cli("score", "model.podium", "mixed.txt", "--read", "scattered=group", "-o", "b.scores")
    scattered = podium.read_scores(tmp_path / "b.scores")
    np.testing.assert_array_equal(scattered, expected[[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]])
    podium.ListNet(epochs=1).fit(podium.read(tmp_path / "narrow.txt")).save(tmp_path / "thin.podium")
    both = cli("compare", "narrow.txt", "model.podium", "thin.podium", "--json")
    assert both.err == "narrow.txt has 4 features, but the model has 6; the other 2 are taken as 0\n"
    thin = cli("compare", "train.txt", "model.podium", "thin.podium", code=2).err
    assert "thin.podium cannot score train.txt: the documents have 6 features, the model was trained on 4" in thin
    podium.write(podium.read(tmp_path / "narrow.txt"), tmp_path / "narrow.csv")
    dense = cli("score", "model.podium", "narrow.csv", code=2).err
    assert "model.podium cannot score narrow.csv: the documents have 4 features, the model was trained on 6" in dense


def test_a_stopped_run_resumes_and_says_so(cli, parts):
    words = [*TRAIN, "--ranker", "ranknet"]
    podium.RankNet(epochs=5).fit(parts["train"], valid=parts["vali"], checkpoint=cli.folder / "model.podium.checkpoint")
    left = (cli.folder / "model.podium.checkpoint").read_bytes()
    again = cli(*words, "--epochs", 8)
    assert "resuming after epoch 5 (model.podium.checkpoint); use --fresh to start over\n" in again.err
    log = (cli.folder / "model.podium.log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in log[1:]] == [1, 2, 3, 4, 5, 6, 7, 8]
    resumed = (cli.folder / "model.podium").read_bytes()
    (cli.folder / "model.podium.checkpoint").write_bytes(left)
    assert "going on" not in cli(*words, "--epochs", 8, "--fresh").err
    assert (cli.folder / "model.podium").read_bytes() == resumed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--l2", "1"], r"written with another l2: 0.0 there, 1.0 now; use --fresh to start over, or train with"),
        (
            ["--epochs", "2"],
            r"after epoch 3, and training is to end after epoch 2; use --fresh to start over, or allow more",
        ),
        (["--metric", "map"], r"another metric: ndcg@10 there, map now"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(refused, parts, tmp_path, words, message):
    podium.RankNet(epochs=3).fit(parts["train"], valid=parts["vali"], checkpoint=tmp_path / "model.podium.checkpoint")
    assert re.search(message, refused(*TRAIN, "--ranker", "ranknet", *words))


def test_a_damaged_checkpoint_is_refused(refused, parts, tmp_path):
    checkpoint = tmp_path / "model.podium.checkpoint"
    podium.RankNet(epochs=1).fit(parts["train"], valid=parts["vali"], checkpoint=checkpoint)
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    said = refused(*TRAIN, "--ranker", "ranknet")
    assert said == "model.podium.checkpoint: is not a checkpoint, or is damaged; use --fresh to start over"


RANKNET = ["train.txt", "--ranker", "ranknet"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "train.txt", "--ranker", "ranknt"], "unknown ranker 'ranknt'. Did you mean 'ranknet'?"),
        (
            ["train", "train.txt", "--ranker", "ranknet", "--model", "linear"],
            "--model linear is already part of --ranker ranknet",
        ),
        (["train", "train.txt", "--model", "linear"], "--model linear needs --force FORCE; give it too"),
        (["train", "train.txt", "--force", "ranknt"], "Did you mean 'ranknet'?"),
        (["train", "train.txt", "--force", "ranknet", "--model", "nett"], "Did you mean 'net'?"),
        (["train", "train.txt", "--force", "nowhere:push"], "there is no module 'nowhere'"),
        (["train", "train.txt", "--force", "ranknet", "--hidden", "10"], '--model "net(hidden=…)"'),
        (["train", "train.txt", "--force", "ranknet", "--num-leaves", "7"], '--model "trees(num_leaves=…)"'),
        (["train", "train.txt", "--force", "ranknet", "--n-estimators", "7"], "use --epochs"),
        (["train", "train.txt", "--ranker", "lambdamart", "--epochs", "7"], "use --n-estimators"),
        (
            ["train", "train.txt", "--ranker", "ranksvm", "--learning-rate", "1"],
            "is not a setting of ranksvm",
        ),
        (["train", "train.txt", "--ranker", "ranknet", "--set", "sgma=2"], "Did you mean 'sigma'?"),
        (["train", "train.txt", "--ranker", "ranknet", "--set", "sigma"], "--set sigma must have the form NAME=VALUE"),
        (
            ["train", "train.txt", "--ranker", "ranknet", "--set", "sigma=abc"],
            "--set sigma=abc must be a number above 0",
        ),
        (["train", "train.txt", "--ranker", "ranknet", "--set", "l2=1", "--l2", "2"], "--l2 2 is given twice"),
        (["train", "train.txt", "--ranker", "ranknet", "--set", "l2=1", "--set", "l2=2"], "l2 is given twice"),
        (["train", "train.txt", "--ranker", "ranknet", "--hidden", "a,b"], "--hidden a,b must be whole numbers from 1"),
        (["train", "train.txt", "--ranker", "ranknet", "--metric", "ncdg"], "Did you mean 'ndcg'?"),
        (["train", "train.txt", "--ranker", "ranknet", "--optimizer", "adm"], "did you mean 'adam'?"),
        (["train", "train.txt", "--ranker", "ranknet", "--batch", "pears"], "--batch pears must be"),
        (["train", "train.txt", "--ranker", "ranknet", "--early-stopping-rounds", "3"], "give --valid FILE"),
        (["train", "train.txt", "--ranker", "lambdarank", "--optimizer", "lbfgs"], "--optimizer lbfgs needs a cost"),
        (["train", "train.txt", "--force", "step(map)", "--optimizer", "lbfgs"], "--optimizer lbfgs needs a cost"),
        (["train", "train.txt", "--force", "step(map)", "--schedule", "lbfgs"], "--schedule lbfgs needs a cost"),
        (["train", "train.txt", "--ranker", "ranknet", "--threads", "0"], "--threads 0 must be a whole number from 1"),
        (
            ["train", *RANKNET, "--valid", "vali.txt", "--early-stopping-rounds", "-1"],
            "at least 1; None means: never stop early",
        ),
        (
            ["train", *RANKNET, "--set", "restart_rounds=0"],
            "--set restart_rounds=0 must be a whole number of at least 1; None means: never restart",
        ),
        (["train", "train.txt", "--ranker", "ranksvm", "--set", "C=1,2"], "give --valid FILE, or a single C"),
        (
            ["train", "train.txt", "--force", "unnamed"],
            "--force unnamed names a module, not a function in it; write it as in unnamed:",
        ),
        (["train", ".", "--ranker", "ranknet"], ".: is a directory; give the path of a file"),
        (["train", "unnamed.py", "--ranker", "ranknet"], "which no known format does; give --format …, one of letor"),
        (
            ["train", "m.podium", "--ranker", "ranknet"],
            "m.podium: is a Podium model, but data or scores are needed here",
        ),
        (["train", *RANKNET, "--valid", "m.podium"], "m.podium: is a Podium model, but data or scores are needed here"),
        (["data", "describe", "m.podium"], "m.podium: is a Podium model, but data or scores are needed here"),
        (
            ["data", "convert", "train.txt", "nothing"],
            "--to is needed, because the ending of 'nothing' does not say the format; name the format, or use one",
        ),
        (["train", "train.txt", "--ranker", "ranknet", "--out", "nowhere/m"], "there is no folder nowhere"),
        (["train", "train.txt", "--ranker", "ranknet", "--out", "."], "is a directory"),
        (["train", "train.txt", "--ranker", "ranknet", "--out", "train.txt"], "would be written over"),
        (["train", "nowhere.txt", "--ranker", "ranknet"], "nowhere.txt: there is no such file"),
        (
            ["train", "train.txt", "--valid", "named.csv", "--ranker", "ranknet"],
            "named.csv: has 1 features and train.txt has 5",
        ),
        (["score", "train.txt", "test.txt"], "train.txt: is not a Podium model"),
        (
            ["score", "m.podium", "m.podium"],
            "m.podium: is a Podium model, but data or scores are needed here; check the order of the files",
        ),
        (["score", "m.podium", "other.txt"], "other.txt: the documents have 9 features, the model was trained on 5"),
        (["score", "m.podium", "named.csv"], "m.podium cannot score named.csv: the documents have 1 features"),
        (["score", "cut.podium", "test.txt"], "cut.podium: is "),
        (["score", "m.podium", "test.txt", "-o", "m.podium"], "would be written over"),
        (["evaluate", "cut.podium", "test.txt"], "cut.podium: is "),
        (["evaluate", "m.podium", "m.podium"], "m.podium: is a Podium model, but data or scores are needed here"),
        (["evaluate", "test.txt", "a.scores"], "a.scores: has 2 scores, but test.txt has"),
        (
            ["evaluate", "test.txt", "test.txt"],
            "test.txt: is a letor file, which holds judged data; a file of scores has one",
        ),
        (["rankers", "foo"], "unknown ranker 'foo'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gives_one_sentence_and_exit_code_2(refused, parts, tmp_path, words, message):
    podium.RankNet(epochs=1).fit(parts["train"]).save(tmp_path / "m.podium")
    (tmp_path / "cut.podium").write_bytes((tmp_path / "m.podium").read_bytes()[:-8])
    (tmp_path / "named.csv").write_text("label,qid,bm25\n1,1,0.5\n0,1,0.25\n")
    (tmp_path / "other.txt").write_text("1 qid:1 9:1\n")
    (tmp_path / "a.scores").write_text("1\n2\n")
    (tmp_path / "unnamed.py").write_text("import math\n")
    assert message in refused(*words)


def test_rankers_are_listed_with_every_parameter(cli):
    said = cli("rankers", "--json").json
    assert set(said) == set(RANKERS)
    for row in said.values():
        assert row["summary"]
        assert all(parameter["description"] for parameter in row["parameters"].values()), row
    shown = cli("rankers", "ranksvm").out
    found = said["ranksvm"]["parameters"]["C"]
    assert f"  C = {found['default']!r}: {found['description']}\n" in shown
    assert "kernel-ranknet" in cli("rankers").out


def test_the_help_shows_the_default_of_every_ranker(cli):
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", cli("train", "--help").out).split())
    assert "Maximum number of passes over the data." in said
    assert "Default: 100; ranksvm: 2000; structrank: 10." in said
    assert "Default: adam; kernel-ranknet: lbfgs." in said
    for name, kind in RANKERS.items():
        for setting, parameter in kind.parameters().items():
            if parameter.option and setting in ("n_estimators", "early_stopping_rounds", "optimizer", "epochs"):
                assert str(parameter.default) in said, (name, setting)


def test_a_solver_that_stopped_early_says_why(cli, parts):
    turned = parts["train"].replace(labels=parts["train"].labels.max() - parts["train"].labels)
    podium.write(turned, cli.folder / "turned.txt")
    words = ["--ranker", "kernel-ranknet"]
    shown = cli("train", "train.txt", "--valid", "turned.txt", *words).out
    assert "this step was the best on the validation data, before the solver had finished" in shown
    assert "--epochs" not in shown
    assert "allow more --epochs" in cli("train", "train.txt", *words, "--epochs", 2).out


def test_several_values_of_c_are_chosen_among_by_validation(cli, parts):
    cli(*TRAIN, "--ranker", "ranksvm", "--set", "C=0.001,10")
    assert podium.load(cli.folder / "model.podium").C_ in (0.001, 10)


@pytest.fixture
def shop(tmp_path):
    """A model of named columns, one of dates and one of text, and the frame that it was trained on."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "label": rng.integers(0, 3, 60),
            "qid": np.repeat(np.arange(6), 10),
            "price": rng.normal(size=60),
            "brand": rng.choice(["puma", "nike"], 60),
            "listed": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 60), "D"),
        }
    )
    data = podium.from_frame(frame, features=["price", "brand", "listed"])
    podium.LambdaMART(n_estimators=3, min_documents=1).fit(data).save(tmp_path / "m.podium")
    return frame


def test_documents_without_labels_are_scored(cli, shop):
    shop.drop(columns="label").to_parquet(cli.folder / "live.parquet")
    ranker = podium.load(cli.folder / "m.podium")
    scores = cli("score", "m.podium", "live.parquet").out.split()
    assert scores == [repr(score) for score in ranker.predict(shop[["brand", "listed", "price"]]).tolist()]
    (cli.folder / "t.txt").write_text("qid:1 1:0.5\nqid:1 1:2\n")
    (cli.folder / "l.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:2\n")
    cli("train", "l.txt", "--ranker", "ranknet", "--epochs", 1, "-o", "r.podium")
    assert cli("score", "r.podium", "t.txt").out == cli("score", "r.podium", "l.txt").out
    assert "expected a label" in cli("evaluate", "r.podium", "t.txt", code=2).err


def test_columns_are_matched_by_name(cli, shop, refused):
    shop.to_parquet(cli.folder / "t.parquet")
    scores = cli("score", "m.podium", "t.parquet").out
    shop[["listed", "qid", "brand", "price", "label"]].to_parquet(cli.folder / "turned.parquet")
    assert cli("score", "m.podium", "turned.parquet").out == scores
    shop.assign(sku="x").to_parquet(cli.folder / "more.parquet")
    more = cli("score", "m.podium", "more.parquet")
    assert more.out == scores
    assert more.err == "more.parquet has more features than the model was trained on; left out: sku\n"
    shop.drop(columns="brand").to_parquet(cli.folder / "less.parquet")
    assert refused("score", "m.podium", "less.parquet") == (
        "less.parquet: the table has no feature 'brand', which the model was trained on; its features: price, listed"
    )


def test_validation_columns_are_matched_by_name(cli, refused):
    (cli.folder / "t.csv").write_text("label,qid,a,b\n1,1,5,0\n0,1,1,0\n1,2,5,3\n0,2,2,4\n")
    (cli.folder / "turned.csv").write_text("b,label,qid,a\n0,1,1,5\n0,0,1,1\n3,1,2,5\n4,0,2,2\n")
    (cli.folder / "less.csv").write_text("label,qid,a\n1,1,5\n0,1,1\n")
    words = ["train", "t.csv", "--ranker", "ranknet", "--epochs", 3]
    for name in ("t", "turned"):
        cli(*words, "--valid", f"{name}.csv", "-o", f"{name}.podium")
    assert (cli.folder / "t.podium").read_bytes() == (cli.folder / "turned.podium").read_bytes()
    wrong = refused(*words, "--valid", "less.csv", "-o", "x.podium")
    assert wrong == "less.csv has no feature 'b', which t.csv has; its features: a"


def test_advice_names_options_of_the_command(refused, tmp_path):
    (tmp_path / "t.csv").write_text("label,qid,brand\n1,1,puma\n0,1,nike\n")
    wrong = refused("data", "describe", "t.csv")
    assert "--read ignore=brand, or read it as categories with --read categorical_features=brand" in wrong
    (tmp_path / "t.txt").write_text("1 qid:1 1:1\n0 qid:2 1:1\n1 qid:1 1:2\n")
    assert "use --read scattered=group if both belong to one query" in refused("data", "describe", "t.txt")


def test_columns_of_categories_are_split_by_category(cli, refused):
    rows = [f"{2 * (k % 4 in (0, 2)) + (k % 3 == 0)},{k // 8},{'abcd'[k % 4]},{k % 7}" for k in range(80)]
    (cli.folder / "t.csv").write_text("\n".join(["label,qid,brand,x", *rows, ""]))
    words = ["train", "t.csv", "--read", "categorical_features=brand"]
    found = cli(*words, "--n-estimators", 3, "-o", "a.podium", "--json").json
    assert found["parameters"]["categorical"] is None
    assert found["resolved"]["categorical"] == [0]
    assert "categorical=(0,)" in found["resolved"]["model"]
    assert json.loads((cli.folder / "a.podium.log.jsonl").read_text().splitlines()[0])["resolved"] == found["resolved"]
    assert podium.load_scorer(cli.folder / "a.podium").model.category_features.tolist() == [0]
    numbers = cli(*words, "--n-estimators", 3, "--set", "categorical=", "-o", "b.podium", "--json").json
    assert numbers["resolved"]["categorical"] == []
    wrong = refused(*words, "--set", "growth=symmetric", "-o", "c.podium")
    assert wrong.endswith("or --set categorical= to compare the codes of categories as numbers")
    wrong = refused(*words, "--ranker", "ranksvm", "-o", "c.podium")
    assert "leave it out with --read ignore=brand; or make plain numbers of the codes with podium data convert" in wrong


def test_names_of_rankers_ignore_case_and_may_be_those_of_classes(cli, parts):
    for k, name in enumerate(("ranknet", "RankNet", "RANKNET")):
        cli("train", "train.txt", "--ranker", name, "--epochs", 1, "-o", f"{k}.podium")
    assert len({(cli.folder / f"{k}.podium").read_bytes() for k in range(3)}) == 1
    assert cli("rankers", "KernelRankNet").out.startswith("kernel-ranknet (podium.KernelRankNet)\n")
    assert len(cli("rankers").out.splitlines()) == len(RANKERS) + 1


def test_suggestions(refused, parts, tmp_path):
    (tmp_path / "t.csv").write_text("relevance,qid,a\n1,1,1\n")
    for words, hint in (
        (["data", "describe", "t.csv", "--read", "label_column=relevence"], "did you mean 'relevance'?"),
        (["data", "describe", "t.csv", "--read", "label=relevance"], "Did you mean 'label_column' or 'labels'?"),
        (["data", "synth", "poly", "x.txt"], "Did you mean 'polynomial'?"),
        (["train", "train.txt", "--ranker", "lambda-marts"], "Did you mean 'lambdamart'?"),
    ):
        assert hint in refused(*words)


def test_values_of_set_need_no_quotes(cli, parts):
    given = [
        "train",
        "train.txt",
        "--n-estimators",
        2,
        "--set",
        "categorical=f0,f1",
        "--set",
        "monotone=f2:-1",
        "--json",
    ]
    said = cli(*given).json
    assert said["ranker"] == "LambdaMART"  # the default
    assert said["trees"] > 0
    assert said["resolved"]["categorical"] == [0, 1]
    assert said["resolved"]["monotone"] == [[2, -1]]
    ranker = podium.load(cli.folder / "model.podium")
    assert ranker.get_params()["categorical"] == ("f0", "f1")


def test_none_never_stops_early(cli, parts):
    given = ["train", "train.txt", "--valid", "vali.txt", *RANKNET[1:], "--epochs", 3, "--json"]
    assert cli(*given, "--early-stopping-rounds", "none").json["resolved"]["early_stopping_rounds"] is None


def test_a_warning_about_the_last_round_names_the_option_and_comes_last(cli, parts):
    given = [*TRAIN, "--n-estimators", 3, "--learning-rate", 0.1, "--set", "smoothing=0"]
    words = [sys.executable, "-m", "podium", *map(str, given)]
    lines = subprocess.run(words, cwd=cli.folder, capture_output=True, text=True, check=True).stderr.splitlines()
    assert lines[-1].startswith("podium: the best round on the validation data is the last one allowed, number 3")
    assert lines[-1].endswith("allow more rounds, as in --n-estimators 6")
    assert lines[-2].startswith("round 3: ")


def test_an_input_error_comes_without_a_note_on_what_would_be_replaced(cli, parts):
    given = ["train", "train.txt", "--n-estimators", 1]
    assert "will be replaced" not in cli(*given).err
    assert "model.podium exists and will be replaced" in cli(*given).err
    (cli.folder / "bad.txt").write_text("1 qid:1 1:x\n")
    assert cli("train", "bad.txt", "--n-estimators", 1, code=2).err.count("\n") == 1


def test_validation_on_the_training_data_is_announced(cli, parts):
    shutil.copy(cli.folder / "train.txt", cli.folder / "copy.txt")
    given = ["train", "train.txt", "--n-estimators", 1, "--valid"]
    assert "the validation data is the training data" in cli(*given, "copy.txt").err
    assert "the validation data is the training data" not in cli(*given, "vali.txt", "--fresh").err


def test_advice_about_parts_of_the_data_names_a_command(refused, parts, tmp_path):
    data = parts["train"].replace(document_weights=np.ones(160), feature_names=list("abcde"))
    podium.write(data, tmp_path / "weighted.parquet")
    said = refused("train", "weighted.parquet", "--ranker", "listnet")
    assert said.endswith(
        "leave them out: podium data convert --drop document_weights, or weigh whole queries: query_weights"
    )
    said = refused("data", "convert", "weighted.parquet", "plain.txt")
    assert said.endswith("leave these parts out: --drop document_weights and --drop feature_names")
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "listed": pd.to_datetime(["2024-01-01", "2024-02-01"])})
    frame.to_parquet(tmp_path / "dates.parquet")
    assert refused("train", "dates.parquet").endswith("or take it as days with --read features=…,listed")


def test_names_that_are_no_options_are_written_plainly(refused, parts):
    assert refused("train", "train.txt", "--force", "lambdarank").startswith("lambdarank needs a metric")
    assert refused("compare", "test.txt", "a.scores").startswith("[NAME=]RANKING… must name at least two files")
