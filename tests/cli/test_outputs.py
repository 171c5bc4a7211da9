"""No output destroys an input or a file of another kind, whichever command writes it and under whatever name."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.utils import get_params_from_function

import podium
from podium.cli.app import app
from podium.kinds import KINDS, kind_of

RANKNET = ["--ranker", "ranknet", "--epochs", "1"]
TUNE = ["tune", "train.txt", "--valid", "vali.txt", *RANKNET, "--range", "learning_rate=0.01,0.1", "--trials", "1"]


@dataclass
class Case:
    """A command with one output: in `words` TARGET stands for the output's path; `made` is the file it writes."""

    words: list[str]
    kind: str
    inputs: list[str]
    made: str = "TARGET"


CASES = {
    "train --out": Case(
        ["train", "train.txt", "--valid", "vali.txt", *RANKNET, "--out", "TARGET"], "model", ["train.txt", "vali.txt"]
    ),
    "train --start-from": Case(
        [
            *["train", "train.txt", "--ranker", "mart", "--n-estimators", "1", "--start-from", "trees.podium", "--out"],
            "TARGET",
        ],
        "model",
        ["train.txt", "trees.podium"],
    ),
    "train --log": Case(["train", "train.txt", *RANKNET, "--out", "new", "--log", "TARGET"], "log", ["train.txt"]),
    "train, its log": Case(["train", "train.txt", *RANKNET, "--out", "TARGET"], "log", [], "TARGET.log.jsonl"),
    "train, its checkpoint": Case(
        ["train", "train.txt", *RANKNET, "--out", "TARGET"], "checkpoint", [], "TARGET.checkpoint"
    ),
    "train --fresh": Case(
        ["train", "train.txt", *RANKNET, "--fresh", "--out", "TARGET"], "checkpoint", [], "TARGET.checkpoint"
    ),
    "tune --out": Case([*TUNE, "--out", "TARGET"], "model", ["train.txt", "vali.txt"]),
    "tune --study": Case([*TUNE, "--study", "TARGET"], "study", ["train.txt", "vali.txt"]),
    "tune --fresh": Case([*TUNE, "--fresh", "--study", "TARGET"], "study", ["train.txt", "vali.txt"]),
    "cv --out": Case(["cv", "train.txt", *RANKNET, "--folds", "2", "--out", "TARGET"], "scores", ["train.txt"]),
    "score --out": Case(
        ["score", "model.podium", "test.txt", "--out", "TARGET"], "scores", ["model.podium", "test.txt"]
    ),
    "evaluate --per-query": Case(
        ["evaluate", "scores.txt", "test.txt", "--per-query", "TARGET"], "per-query", ["scores.txt", "test.txt"]
    ),
    "export --out": Case(
        ["export", "trees.podium", "--to", "lightgbm", "--data", "test.txt", "--out", "TARGET"],
        "lightgbm",
        ["trees.podium", "test.txt"],
    ),
    "import --out": Case(["import", "trees.lgb", "--out", "TARGET"], "model", ["trees.lgb"]),
    "votes --out": Case(["votes", "votes.csv", "--prior", "1", "--out", "TARGET"], "csv", ["votes.csv"]),
    "laws --plot": Case(["laws", "ranknet", "--draws", "2", "--plot", "TARGET"], "svg", []),
    "plot tree --out": Case(["plot", "tree", "trees.podium", "--out", "TARGET"], "svg", ["trees.podium"]),
    "plot scores --out": Case(
        ["plot", "scores", "model.podium", "test.txt", "--out", "TARGET"], "svg", ["model.podium", "test.txt"]
    ),
    "report --out": Case(
        ["report", "model.podium", "test.txt", "--out", "TARGET"], "html", ["model.podium", "test.txt"]
    ),
    "data convert": Case(
        ["data", "convert", "bare.txt", "TARGET", "--to", "letor", "--read", "sizes=sizes.txt"],
        "letor",
        ["bare.txt", "sizes.txt"],
    ),
    "data convert to the cache": Case(
        ["data", "convert", "test.txt", "TARGET", "--to", "cache"], "cache", ["test.txt"]
    ),
    "data normalize": Case(["data", "normalize", "test.txt", "TARGET"], "letor", ["test.txt"]),
    "data synth": Case(["data", "synth", "network", "TARGET", "--queries", "2"], "letor", []),
    "data split": Case(["data", "split", "test.txt", "parts"], "letor", [], "parts/vali.txt"),
    "papers run, its report": Case(
        ["papers", "run", "a-figure2", "--quick", "--out", "made"],
        "papers-report",
        [],
        "made/quick/a-figure2/report.md",
    ),
    "papers run, its results": Case(
        ["papers", "run", "a-figure2", "--quick", "--out", "made"],
        "papers-results",
        [],
        "made/quick/a-figure2/results.json",
    ),
}
# The role of each path among a command's parameters. A new parameter must be added here, and a new output as a case above.
INPUTS = {"data", "valid", "start_from", "model", "source", "ranking", "votes", "features", "file", "api_keys"}
OUTPUTS = {"train": {"out", "log"}, "tune": {"out", "study"}, "cv": {"target"}, "score": {"out"}}
OUTPUTS |= {"evaluate": {"per_query"}, "laws": {"plot"}, "data convert": {"target"}, "data normalize": {"target"}}
OUTPUTS |= {"export": {"out"}, "import": {"out"}, "votes": {"out"}}
OUTPUTS |= {"report": {"out"}}
CHARTS = "beeswarm calibration dependence force-field force-gap importance learning-curve metric-at-k query-differences scores"
OUTPUTS |= {f"plot {name}": {"out"} for name in f"{CHARTS} tree waterfall why".split()}
OUTPUTS |= {"data synth": {"target"}, "data split": {"folder"}, "papers run": {"target"}, "papers all": {"target"}}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Make files of several kinds, with the names that the cases use."""
    folder = tmp_path_factory.mktemp("house")
    data = podium.synthetic.network(queries=12, documents=4, features=3, seed=1)
    for name, part in zip(("train", "vali", "test"), podium.split(data, (0.4, 0.3, 0.3)), strict=True):
        podium.write(part, folder / f"{name}.txt")
    test = podium.read(folder / "test.txt")
    ranker = podium.RankNet(epochs=1).fit(data)
    ranker.save(folder / "model.podium")
    trees = podium.MART(n_estimators=1).fit(data)
    trees.save(folder / "trees.podium")
    trees.export(folder / "trees.lgb", format="lightgbm")
    podium.write(ranker.predict(test), folder / "scores.txt")
    (folder / "bare.txt").write_text("1 1:2\n" * test.n_documents)
    (folder / "sizes.txt").write_text("4\n" * test.n_queries)
    (folder / "votes.csv").write_text("a,b,outcome\nx,y,a\ny,z,a\n")
    (folder / "notes.md").write_text("# Notes\n\nNot made by Podium.\n")
    podium.RankNet(epochs=1).fit(data, checkpoint=folder / "kept.checkpoint")
    podium.write(test, folder / "test.podium-data")
    return folder


@pytest.fixture
def inside(house, tmp_path, monkeypatch):
    """Make a copy of these files in a folder of its own and change to it."""
    shutil.copytree(house, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def placed(case: Case, target: Path) -> Path:
    path = Path(case.made.replace("TARGET", str(target)))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def words_of(case: Case, target: Path) -> list[str]:
    return [word.replace("TARGET", str(target)) for word in case.words]


def test_every_output_has_a_case():
    found = {}
    for name, callback in walk(app):
        parameters = get_params_from_function(callback).values()
        paths = {p.name for p in parameters if p.annotation in (Path, Path | None)} - INPUTS
        # The studio's folder takes models that are trained later, each under a new name; shards need a new folder.
        if paths and name not in ("studio", "data shard"):
            found[name] = paths
    assert found == OUTPUTS
    assert {name.split()[0] for name in OUTPUTS} == {case.words[0] for case in CASES.values()}


def walk(group, prefix=""):
    for command in group.registered_commands:
        yield prefix + command.name, command.callback
    for inner in group.registered_groups:
        yield from walk(inner.typer_instance, f"{inner.name} ")


NAMES = {
    "itself": lambda path, here: path,
    "a path through ..": lambda path, here: Path("..") / here.name / path.name,
    "a symbolic link": lambda path, here: link(here / "alias.txt", os.symlink, path),
    "a link to a link": lambda path, here: link(
        here / "second.txt", os.symlink, link(here / "first", os.symlink, path)
    ),
    "a hard link": lambda path, here: link(here / "hard.txt", os.link, path),
}


def link(name: Path, make, path: Path) -> Path:
    make(path.resolve(), name)
    return name


@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize(
    ("name", "number"), [(name, k) for name, case in CASES.items() for k in range(len(case.inputs))]
)
def test_an_input_is_never_written_over(inside, refused, name, number, how):
    case = CASES[name]
    target = NAMES[how](Path(case.inputs[number]), inside)
    before = contents(inside)
    said = refused(*words_of(case, target))
    assert "is read and would be written over; give another name" in said
    assert contents(inside) == before


@pytest.mark.parametrize("suffix", [".query", ".group"])
@pytest.mark.parametrize("how", NAMES)
def test_sizes_that_stand_beside_the_data_are_an_input_too(inside, refused, how, suffix):
    shutil.copyfile("sizes.txt", f"bare.txt{suffix}")
    target = NAMES[how](Path(f"bare.txt{suffix}"), inside)
    before = contents(inside)
    for words in (
        ["score", "model.podium", "bare.txt", "--out", str(target)],
        ["data", "convert", "bare.txt", str(target), "--to", "letor"],
    ):
        assert "is read and would be written over; give another name" in refused(*words)
        assert contents(inside) == before
    with pytest.raises(podium.OutputError, match="is read and would be written over"):
        podium.convert("bare.txt", target, target_format="letor")
    with pytest.raises(podium.OutputError, match="is read and would be written over"):
        podium.convert("bare.txt", "sizes.txt", target_format="letor", read_options={"sizes": "sizes.txt"})


OTHERS = ["model.podium", "vali.txt", "scores.txt", "notes.md", "kept.checkpoint", "test.podium-data"]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", CASES)
def test_a_file_of_another_kind_is_never_replaced(inside, refused, name, other):
    case = CASES[name]
    if kind_of(other) == case.kind:
        pytest.skip("replacing a file of the same kind is fine")
    path = placed(case, Path("there.txt"))
    shutil.copyfile(other, path)
    before = contents(inside)
    said = refused(*words_of(case, Path("there.txt")))
    assert f"not {KINDS[case.kind].noun}; it would be lost: give another name, or remove the file first" in said
    assert contents(inside) == before


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_refused_before_the_work(inside, refused, name):
    case = CASES[name]
    placed(case, Path("there.txt")).mkdir()
    before = contents(inside)
    assert "is a directory; give the path of a file" in refused(*words_of(case, Path("there.txt")))
    assert contents(inside) == before


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("papers")])
def test_replacing_an_output_of_the_same_kind_is_fine_and_said(inside, cli, name):
    case = CASES[name]
    target = Path("again.txt")
    first = cli(*words_of(case, target))
    assert "again" not in first.err
    path = placed(case, target)
    if case.kind == "checkpoint":
        assert not path.exists()
        return
    assert kind_of(path) == case.kind
    said = cli(*words_of(case, target)).err
    goes_on = case.kind == "study" and "--fresh" not in case.words
    assert (f"{case.made.replace('TARGET', str(target))} exists and will be replaced\n" in said) != goes_on
    assert kind_of(path) == case.kind


@pytest.mark.parametrize(
    ("words", "option", "other"),
    [
        (["train", "train.txt", *RANKNET, "--out", "x", "--log", "./x"], "--log x", "--out x"),
        (["train", "train.txt", *RANKNET, "--out", "x", "--log", "x.checkpoint"], "x.checkpoint", "--log x.checkpoint"),
        ([*TUNE, "--out", "x", "--study", "x"], "--study x", "--out x"),
    ],
)
def test_two_outputs_never_share_a_file(inside, refused, words, option, other):
    said = refused(*words)
    assert said == f"{option}: is the same file as {other}; give each output a name of its own"


def test_papers_afresh_delete_no_file_of_the_user(inside, cli):
    words = ["papers", "run", "a-figure2", "--quick", "--no-plots", "--out", "made"]
    cli(*words)
    mine = inside / "made/quick/a-figure2/cells/mine.json"
    mine.write_text('{"years": "of work"}')
    assert len(list(mine.parent.iterdir())) > 1
    assert "kept from before" not in cli(*words, "--fresh").out
    assert mine.read_text() == '{"years": "of work"}'


def test_an_empty_file_may_be_replaced(inside, cli):
    (inside / "new").touch()
    assert "will be replaced" not in cli("score", "model.podium", "test.txt", "--out", "new").err
    assert (inside / "new").read_bytes() == (inside / "scores.txt").read_bytes()


def test_outputs_are_not_written_to_the_stream_of_messages(inside, refused):
    with Path("printed").open("wb") as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            for name in ("printed", "/dev/stdout", "/dev/fd/1"):
                said = refused("score", "model.podium", "test.txt", "--out", name)
                assert said == f"--out {name}: is where this command prints its messages; give the name of a file"
        finally:
            os.dup2(saved, 1)
            os.close(saved)
    sys.stdout.flush()
    assert Path("printed").read_bytes() == b""


def test_the_library_keeps_the_same_rule(inside):
    ranker, data = podium.load("model.podium"), podium.read("train.txt")
    before = contents(inside)
    with pytest.raises(podium.OutputError, match=r"train.txt: exists and is judged data \(LETOR text\), not a Podium"):
        ranker.save("train.txt")
    with pytest.raises(podium.OutputError, match=r"model.podium: exists and is a Podium model, not a file of scores"):
        podium.write([1.0, 2.0], "model.podium")
    with pytest.raises(podium.OutputError, match="is read and would be written over"):
        podium.convert("train.txt", "./train.txt")
    with pytest.raises(podium.FormatError, match="is not a checkpoint"):
        podium.RankNet().fit(data, checkpoint="model.podium")
    with pytest.raises(podium.FormatError, match="is not a study"):
        podium.tune(podium.RankNet(), data, valid=data, ranges={"learning_rate": [0.1]}, study="model.podium")
    with pytest.raises(podium.OutputError, match="not a study of podium tune"):
        podium.tune(
            podium.RankNet(), data, valid=data, ranges={"learning_rate": [0.1]}, study="model.podium", fresh=True
        )
    assert contents(inside) == before
