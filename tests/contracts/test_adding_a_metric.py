"""Adding a metric changes five files, as docs/contributing.md says; everything else finds it in the table."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podium import _core

ROOT = Path(__file__).parents[2]
SEARCHED = ("benchmarks", "core", "docs", "examples", "src", "tests")
TEXT = (".py", ".pyi", ".cpp", ".hpp", ".md", ".toml", ".json", ".svg")
ROW = """    MetricDefinition(
        "success",
        "1 where a relevant document stands in the first k, else 0.",
        "[any of the first k documents is relevant]",
        "TREC",
        (REL, EMPTY, TIES, CONVENTION),
        takes_cutoff=True,
    ),
)
"""


def section() -> str:
    text = (ROOT / "docs" / "contributing.md").read_text()
    return text.split("## Add a metric\n")[1].split("\n## ")[0]


def files_that_name(word: str) -> set[str]:
    found = set()
    for folder in SEARCHED:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in TEXT and re.search(rf"\b{word}\b", path.read_text(errors="replace")):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_the_page_lists_every_file_that_names_a_metric() -> None:
    listed = re.findall(r"^\| `([\w./]+)` \|", section(), re.MULTILINE)
    assert len(listed) == 5
    named = {name for name in files_that_name("rbp") if not name.startswith("tests/")}
    assert named - {"docs/contributing.md"} == {name for name in listed if not name.startswith("tests/")}


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Make a copy of the Python package with one more definition, and the same core."""
    package = tmp_path / "podium"
    shutil.copytree(ROOT / "src" / "podium", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_core.__file__, package)
    family = package / "metrics" / "reader.py"
    text = family.read_text()
    assert text.endswith("    ),\n)\n")
    family.write_text(text.removesuffix(")\n") + ROW)
    return tmp_path


def run(scratch: Path, code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    start = (
        "import sys\n"
        "sys.meta_path[:] = [finder for finder in sys.meta_path if 'ScikitBuild' not in type(finder).__name__]\n"
        f"sys.path[:0] = {[str(scratch), *map(str, folders)]!r}\n"
    )
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=False)


def test_one_definition_is_all_that_python_needs(scratch: Path) -> None:
    code = """
import podium
from podium.cli.console import complete_metric
from podium.metrics import METRICS, metric
import reference
assert podium.__file__.startswith(sys.path[0]), podium.__file__
assert str(metric("success( rel = 2 )@5")) == "success(rel=2)@5"
assert "success" in complete_metric("su")
assert "| `success@k` | 1 where a relevant document stands in the first k, else 0. |" in reference.metrics_table()
assert "`wta`, `success`" in reference.parameters_table()
from typer.testing import CliRunner
from podium.cli.app import app
shown = CliRunner().invoke(app, ["metrics", "success"]).output
assert "success[@k]" in shown and "[any of the first k documents is relevant]" in shown, shown
"""
    done = run(scratch, code, ROOT / "docs")
    assert done.returncode == 0, done.stderr


def test_a_definition_without_kernel_and_twin_is_noticed(scratch: Path) -> None:
    code = """
import test_metrics
try:
    test_metrics.test_table_is_complete()
except AssertionError:
    sys.exit(7)
"""
    done = run(scratch, code, ROOT / "tests" / "contracts")
    assert done.returncode == 7, done.stderr
