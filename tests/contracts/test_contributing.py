"""What docs/contributing.md says works as printed: its diffs are applied to a copy of the repository, which is then tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contributing import Copy, changed_files, section

import podium


def copy_with(name: str, folder: Path) -> Copy:
    """Make a copy with the diff of a section, check that exactly the files that the section lists change, and add data."""
    shown = section(name)
    assert changed_files(shown.diff) == shown.written
    copy = Copy(folder, shown.diff)
    if copy.changed:
        copy.build_core()
    assert copy.pages_that_change(laws=name == "force") == shown.generated
    podium.write(podium.synthetic.network(queries=5, documents=8, seed=0), folder / "train.txt")
    return copy


def test_a_metric_changes_at_most_five_files() -> None:
    shown = section("metric")
    assert len(shown.written | shown.generated) <= 5


def test_a_metric(tmp_path: Path) -> None:
    copy = copy_with("metric", tmp_path)
    copy.tests(
        "tests/contracts/test_metrics.py", "tests/unit/test_metric_values.py", "-k", "(cg and not dcg) or complete"
    )
    copy.podium("metrics", "cg")
    values = copy.python("import podium; print(podium.metric('cg@2').per_query([3, 2, 1], [0, 2, 4], [0, 3]))")
    assert values.strip() == "[3.]"


def test_a_metric_without_kernel_or_twin_is_noticed(tmp_path: Path) -> None:
    python_alone = section("metric").diff.split("--- a/core/metrics/additive.cpp")
    rest = python_alone[1].split("--- a/", 1)[1]
    copy = Copy(tmp_path, f"--- a/{rest}")
    with pytest.raises(AssertionError, match="test_table_is_complete"):
        copy.tests("tests/contracts/test_metrics.py", "-k", "complete")


def test_a_force(tmp_path: Path) -> None:
    copy = copy_with("force", tmp_path)
    copy.tests("tests/contracts/test_forces.py", "-k", "absolute or in_the_contract")
    copy.podium("laws", "absolute", "--draws", "5")


def test_a_model(tmp_path: Path) -> None:
    copy = copy_with("model", tmp_path)
    copy.python("import runpy; runpy.run_path('tests/golden/make_models.py', run_name='__main__')")
    copy.tests("tests/unit/test_artifact.py", "-k", "golden and (squares or every_kind)")
    copy.tests("tests/contracts/test_models.py", "-k", "squares and (ranknet or listnet or others) or in_the_contract")
    copy.podium("train", "train.txt", "--force", "ranknet", "--model", "squares", "--epochs", "2", "--out", "model")
    assert copy.python("import podium; print(podium.load('model').resolved_['model'])").strip() == "squares"


def test_a_schedule(tmp_path: Path) -> None:
    copy = copy_with("schedule", tmp_path)
    copy.tests("tests/contracts/test_schedules.py", "-k", "signs")


def test_a_format(tmp_path: Path) -> None:
    copy = copy_with("format", tmp_path)
    copy.tests("tests/contracts/test_format_round_trips.py", "tests/unit/test_kinds.py", "-k", "jsonl")
    copy.podium("data", "convert", "train.txt", "train.jsonl")
    assert '"documents": 40' in copy.podium("data", "describe", "train.jsonl", "--json")


def test_a_command(tmp_path: Path) -> None:
    copy = copy_with("command", tmp_path)
    assert json.loads(copy.podium("data", "queries", "train.txt", "--json")) == {str(query): 8 for query in range(5)}
    assert "queries" in copy.podium("data", "--help")


def test_a_ranker(tmp_path: Path) -> None:
    copy = copy_with("ranker", tmp_path)
    copy.tests("tests/contracts/test_rankers.py", "-k", "[xendcg]")
    copy.podium("train", "train.txt", "--ranker", "xendcg", "--epochs", "2", "--out", "model")
    assert copy.python("import podium; print(type(podium.load('model')).__name__)").strip() == "XeNDCG"


def test_a_setting_is_declared_once_and_appears_everywhere(tmp_path: Path) -> None:
    copy = copy_with("setting", tmp_path)
    code = """
import json
import podium
from podium.artifact import load_artifact
from podium.models import MODELS
from podium.rankers.tuning.ranges import read_ranges
import setting_tables

# Python: the constructor, its check, get_params and the printable name.
ranker = podium.LambdaMART(n_estimators=2, bin_documents=50)
assert ranker.get_params()["bin_documents"] == 50
assert podium.Ranker(model="trees(bin_documents=50)").get_params()["model"] == "trees(bin_documents=50)"
try:
    podium.LambdaMART(bin_documents=0).check_parameters()
except podium.ParameterError as error:
    assert (error.parameter, error.value, error.rule) == ("bin_documents", 0, "must be a whole number of at least 1")
else:
    raise AssertionError("0 is taken")

# It acts: bins are chosen from the documents that it asks for.
data = podium.synthetic.network(queries=20, seed=0)
few, all = ranker.fit(data), podium.LambdaMART(n_estimators=2).fit(data)
assert few.predict(data).tolist() != all.predict(data).tolist()

# The artifact: the value that was given, and the one that was used.
few.save("model")
header = load_artifact("model").header
assert header["parameters"]["bin_documents"] == 50, header
assert podium.load("model").bin_documents == 50
assert few.resolved_["bin_documents"] == 50 and all.resolved_["bin_documents"] == 100_000

# Docs and tuning.
assert "bin_documents" in setting_tables.settings_page().split("### `lambdamart`")[1].split("###")[0]
found = read_ranges(podium.LambdaMART(), ["bin_documents"])["bin_documents"]
assert str(found) == "1000..1000000:log", found
"""
    copy.python(code)
    # The command line: help, an option of its own, and an error that names it.
    assert "--bin-documents" in copy.podium("train", "--help")
    assert "bin_documents" in copy.podium("rankers", "lambdamart")
    options = ("train", "train.txt", "--ranker", "lambdamart", "--n-estimators", "2")
    copy.podium(*options, "--bin-documents", "50", "--out", "trees")
    assert copy.python("import podium; print(podium.load('trees').bin_documents)").strip() == "50"
    with pytest.raises(AssertionError, match="--bin-documents 0 must be a whole number of at least 1"):
        copy.podium(*options, "--bin-documents", "0", "--out", "others")
