from __future__ import annotations

import numpy as np
import pytest

import podium


@pytest.fixture
def judged(cli):
    cli("data", "synth", "network", "judged.txt", "--queries", 20, "--documents", 8, "--features", 5)
    return cli.folder / "judged.txt"


def test_synth_says_what_it_wrote_and_is_repeatable(cli):
    said = cli("data", "synth", "polynomial", "a.podium-data", "--queries", 6, "--documents", 4, "--json").json
    assert said == {"file": "a.podium-data", "kind": "polynomial", "queries": 6, "documents": 24, "features": 50}
    cli("data", "synth", "polynomial", "b.podium-data", "--queries", 6, "--documents", 4)
    assert (cli.folder / "a.podium-data").read_bytes() == (cli.folder / "b.podium-data").read_bytes()


def test_describe(cli, judged):
    description = cli("data", "describe", judged, "--json").json
    assert (description["queries"], description["documents"], description["features"]) == (20, 160, 5)
    assert "documents per query" in cli("data", "describe", judged).out


@pytest.mark.parametrize("ending", ["podium-data", "csv", "tsv", "csv.gz", "parquet", "arrow", "svm", "txt.gz"])
def test_convert_there_and_back_is_exact(cli, judged, ending):
    cli("data", "convert", judged, f"there.{ending}")
    cli("data", "convert", f"there.{ending}", "back.txt")
    assert (cli.folder / "back.txt").read_bytes() == judged.read_bytes()


def test_convert_takes_the_options_of_the_reader(cli):
    (cli.folder / "sparse.txt").write_text("1 qid:1 2:5\n0 qid:2 1:3\n2 qid:1 1:4\n")
    cli("data", "convert", "sparse.txt", "a.podium-data", "--read", "absent=missing", "--read", "scattered=group")
    data = podium.read(cli.folder / "a.podium-data")
    np.testing.assert_array_equal(data.to_caller_order(data.features), [[np.nan, 5], [3, np.nan], [4, np.nan]])


def test_split_by_shares_keeps_queries_whole(cli, judged):
    rows = cli("data", "split", judged, "parts", "--json").json
    assert [row["queries"] for row in rows] == [12, 4, 4]
    parts = podium.read_folds(cli.folder / "parts")
    found = np.concatenate([part.query_ids for part in parts])
    assert sorted(found) == sorted(podium.read(judged).query_ids)


def test_split_with_names(cli, judged, tmp_path):
    rows = cli("data", "split", judged, "parts", "--shares", "0.8,0.2", "--names", "train,vali", "--json").json
    assert [row["file"] for row in rows] == ["parts/train.txt", "parts/vali.txt"]
    assert [row["queries"] for row in rows] == [16, 4]


def test_split_into_folds_tests_every_query_once(cli, judged):
    cli("data", "split", judged, "folds", "--folds", 5)
    folds = podium.read_all_folds(cli.folder / "folds")
    assert sorted(np.concatenate([test.query_ids for _, _, test in folds])) == sorted(podium.read(judged).query_ids)
    for train, vali, test in folds:
        assert (
            not set(train.query_ids) & set(vali.query_ids)
            | set(vali.query_ids) & set(test.query_ids)
            | set(train.query_ids) & set(test.query_ids)
        )
        assert (train.n_queries, vali.n_queries, test.n_queries) == (12, 4, 4)


def test_normalize(cli, judged):
    cli("data", "normalize", judged, "scaled.txt", "--method", "minmax")
    data = podium.read(cli.folder / "scaled.txt")
    first = data.select([0]).features
    assert first.min() == 0
    assert first.max() == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data", "describe", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["data", "describe", "."], "directory"),
        (
            ["data", "describe", "judged.txt", "--read", "color=red"],
            "unknown option for reading format 'letor' 'color'",
        ),
        (["data", "describe", "judged.txt", "--read", "absent"], "must have the form NAME=VALUE"),
        (
            ["data", "describe", "judged.txt", "--read", "n_features=abc"],
            "--read n_features=abc must be a whole number",
        ),
        (["data", "convert", "judged.txt", "a.csv", "--sparse"], "option"),
        (["data", "convert", "judged.txt", "a.csv", "--drop", "labels"], "unknown part to drop"),
        (["data", "convert", "named.csv", "a.txt"], "--drop feature_names"),
        (["data", "synth", "network", "a.txt", "--seed", "-1"], "--seed -1 must be"),
        (["data", "describe", "judged.txt", "--format", "lator"], "Did you mean 'letor'?"),
        (["data", "describe", "judged.txt", "--threads", "0"], "--threads 0 must be a whole number"),
        (["data", "convert", "judged.txt", "a.xyz"], "does not say the format"),
        (["data", "convert", "judged.txt", "nowhere/a.csv"], "nowhere"),
        (["data", "synth", "netwrok", "a.txt"], "Did you mean 'network'?"),
        (["data", "split", "judged.txt", "x", "--shares", "0.5"], "must be two numbers (train, test) or three"),
        (["data", "split", "judged.txt", "x", "--shares", "a,b"], "must be two or three numbers"),
        (["data", "split", "judged.txt", "x", "--folds", "21"], "must be at most 20, the number of queries"),
        (
            ["data", "split", "judged.txt", "x", "--folds", "3", "--shares", "0.5,0.5"],
            "cannot be combined with --folds",
        ),
        (["data", "split", "judged.txt", "x", "--shares", "0.5,0.5", "--names", "a"], "2 different names"),
        (["data", "split", "judged.txt", "x", "--shares", "0.5,0.5", "--names", "a,a"], "2 different names"),
        (["data", "split", "judged.txt", "x", "--shares", "0.5,0.5", "--names", "a,../b"], "of letters"),
        (["data", "split", "judged.txt", "x", "--folds", "3", "--names", "a,b"], "parts of --shares"),
        (["data", "split", "judged.txt", ".", "--shares", "0.5,0.5", "--names", "judged,b"], "is read and would be"),
        (["data", "normalize", "judged.txt", "a.txt", "--method", "log"], "negative"),
        (["data", "normalize", "judged.txt", "a.txt", "--method", "minmix"], "Did you mean 'minmax'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_gives_one_sentence_and_exit_code_2(cli, judged, words, message):
    (cli.folder / "named.csv").write_text("label,qid,bm25\n1,1,0.5\n")
    before = sorted(cli.folder.rglob("*"))
    outcome = cli(*words, code=2)
    assert message in outcome.err
    assert outcome.err.startswith("podium: ")
    assert outcome.err.count("\n") == 1
    assert not outcome.out
    assert sorted(file for file in cli.folder.rglob("*") if file.is_file()) == [
        file for file in before if file.is_file()
    ]


def test_columns_are_named_and_names_dropped(cli):
    (cli.folder / "named.csv").write_text("grade,query,bm25[title],a[/b]\n1,7,0.5,2\n0,7,0.25,3\n")
    columns = ["--read", "label_column=grade", "--read", "query_column=query"]
    assert "bm25[title], a[/b]" in cli("data", "describe", "named.csv", *columns).out
    cli("data", "convert", "named.csv", "a.txt", *columns, "--drop", "feature_names")
    assert (cli.folder / "a.txt").read_text() == "1 qid:7 1:0.5 2:2\n0 qid:7 1:0.25 2:3\n"


def test_odd_file_names_are_shown_as_they_are(cli, judged):
    assert "wrote o[red].csv" in cli("data", "convert", judged, "o[red].csv").out


def test_the_place_of_a_bad_line_reaches_the_user(cli):
    (cli.folder / "bad.txt").write_text("1 qid:1 1:5\n0 qid:1 1:oops\n")
    assert cli("data", "describe", "bad.txt", code=2).err == (
        "podium: bad.txt:2:11: found 'oops', expected a feature value: a number, or nan or NULL if it is missing\n"
    )


def test_normalize_names_its_own_option_and_counts_what_it_changed(cli, refused):
    (cli.folder / "t.csv").write_text("label,qid,brand,price\n1,1,puma,2\n0,1,nike,3\n")
    words = ["data", "normalize", "t.csv", "n.parquet", "--read", "categorical_features=brand"]
    assert refused(*words, "--feature", "prise").startswith(
        "--feature prise is not one of the 2 features; did you mean"
    )
    said = cli(*words).out
    assert said == "wrote n.parquet: minmax of 1 features; 1 categorical features are left as they are\n"
