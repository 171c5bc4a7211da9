"""Rules that the source code keeps: one class per name, declared imports, no lists of names, and structured errors."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from podium import _core
from podium.forces import FORCES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "podium"
# Packages whose import name is not the name they are installed by.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "pytrec_eval": "pytrec-eval-terrier",
    "xgboost": "xgboost-cpu",
}
DISTRIBUTIONS |= {"vl_convert": "vl-convert-python"}


def classes_of(files: Iterable[Path]) -> dict[str, list[str]]:
    """The files that define a class, by the name of the class."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(file.name)
    return found


def test_no_two_classes_share_a_name() -> None:
    found = classes_of(PACKAGE.rglob("*.py"))
    for name, value in vars(_core).items():
        if isinstance(value, type):
            found[name].append("_core")
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_a_shared_name_is_found(tmp_path: Path) -> None:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("def make():\n    class Thing:\n        pass\n")
    assert sorted(classes_of(tmp_path.glob("*.py"))["Thing"]) == ["first.py", "second.py"]


def imports(file: Path, *, top_level: bool = False) -> Iterator[str]:
    """The packages that a file imports from outside the standard library, anywhere or when it is itself imported."""
    tree = ast.parse(file.read_text())
    for node in tree.body if top_level else ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        yield from {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def declared(*extras: str) -> set[str]:
    """The packages that an installation with these extras brings along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names: set[str] = set()
    for requirement in [*project["dependencies"], *(r for e in extras for r in project["optional-dependencies"][e])]:
        name, inner = re.fullmatch(r"([\w.-]+)(?:\[([^]]*)\])?.*", requirement).groups()  # type: ignore[union-attr]
        names |= declared(*inner.split(",")) if name == "podium" else {name}
    return names


def undeclared(folder: Path, known: set[str], *, top_level: bool = False) -> dict[str, str]:
    """The packages that files of a folder import although they are not among the known ones, with one such file each."""
    files = [file for file in folder.rglob("*.py") if "torch" not in file.parent.parts[-1:]]
    own = {"podium", "__main__", *(file.stem for file in files), *(file.stem for file in (ROOT / "docs").glob("*.py"))}
    own |= {file.stem for name in ("benchmarks", ".ci") for file in (ROOT / name).glob("*.py")}
    return {
        name: str(file)
        for file in files
        for name in imports(file, top_level=top_level)
        if name not in own and DISTRIBUTIONS.get(name, name) not in known
    }


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("src", ["cluster", "frames", "numba", "peers", "plots", "serve", "tune"]),
        ("tests", ["bench", "browser", "cluster", "dev"]),
        ("benchmarks", ["bench", "cluster", "numba", "torch"]),
        ("docs", ["docs"]),
        ("examples", []),
    ],
)
def test_every_imported_package_is_declared(folder: str, extras: list[str]) -> None:
    assert undeclared(ROOT / folder, declared(*extras)) == {}


def test_what_modules_import_at_once_comes_with_the_package() -> None:
    """Only the modules behind an extra import it at once; they are themselves imported when it is used."""
    found = undeclared(PACKAGE, declared(), top_level=True)
    behind = {"plots", "rankers/tuning", "serve", "studio"}
    assert {Path(file).parent.relative_to(PACKAGE).as_posix() for file in found.values()} <= behind
    assert set(found) <= {"fastapi", "msgspec", "optuna", "uvicorn"}


def test_torch_is_imported_by_its_own_package_alone() -> None:
    importing = {file.parent.name for file in PACKAGE.rglob("*.py") if "torch" in imports(file)}
    assert importing == {"torch"}


def test_an_undeclared_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("import numpy.linalg\n\ndef f():\n    from foreign.part import x\n")
    assert set(undeclared(tmp_path, {"numpy"})) == {"foreign"}
    assert undeclared(tmp_path, {"numpy"}, top_level=True) == {}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package, by its path inside it."""
    for file in PACKAGE.rglob("*.py"):
        yield file.relative_to(PACKAGE).as_posix(), ast.parse(file.read_text())


def test_no_code_asks_for_the_kind_of_a_schedule() -> None:
    """A schedule is handed to its own runner; everybody else asks it for capabilities."""
    asked = [
        f"{name}:{node.lineno}"
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and "schedule" in ast.unparse(node.args[0])
    ]
    assert asked == []


CLASSES_OF_AXES = {name for part in ("models", "forces") for name in classes_of((PACKAGE / part).rglob("*.py"))}
# Where the kind of a model matters: what a model or force is itself, how it is written in a foreign format, and rankers that
# know their own model.
OWNERS = ("models/", "forces/", "export/", "rankers/")


def asked_kinds(tree: ast.Module) -> list[ast.Call]:
    """The calls of isinstance that ask for a class of models or forces."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"]
    return [call for call in calls if CLASSES_OF_AXES & set(re.findall(r"\w+", ast.unparse(call.args[1])))]


def compared_tags(tree: ast.Module) -> list[ast.Compare]:
    """The comparisons of an attribute of a model with words, which would be isinstance by another name."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and re.search(r"\b(model|spec)\.\w+$", ast.unparse(node.left))
        and any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.comparators)
    ]


def test_no_code_asks_for_the_kind_of_a_model_or_a_force() -> None:
    """A model makes what learns it, and says what it can do."""
    asked = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in sources()
        if not name.startswith(OWNERS)
        for node in [*asked_kinds(tree), *compared_tags(tree)]
    ]
    assert asked == []


def test_questions_for_a_kind_are_found() -> None:
    tree = ast.parse(
        "isinstance(x, CoreModel | int)\nisinstance(x, int)\nplan.model.perceptron == 'linear'\nmodel.n == 2"
    )
    assert [node.lineno for node in [*asked_kinds(tree), *compared_tags(tree)]] == [1, 3]


def test_no_code_compares_names_of_forces_metrics_models_or_schedules() -> None:
    """What a row can do is an attribute of the row, so that a new row changes no other code."""
    compared = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and re.search(r"\b(force|metric|model|schedule|acting|inner|plan)(\.\w+)*\.name$", ast.unparse(node.left))
    ]
    assert compared == []


def test_names_of_forces_are_in_their_table_only() -> None:
    """Named rankers name their one force, and experiments of papers theirs; nothing else lists names of forces.

    In the table of rankers, those that are called like their force have its name.
    """
    names = set(FORCES) - {"exponential", "step"}  # these are also the names of a gain and of a setting
    listed = {}
    for name, tree in sources():
        if name.startswith(("forces/", "rankers/", "ranker_table.py", "papers/")):
            continue
        for node in ast.walk(tree):
            words = getattr(node, "elts", None) or getattr(node, "keys", None) or ()
            found = [word.value for word in words if isinstance(word, ast.Constant) and word.value in names]
            if len(found) > 1:
                listed[name] = found
    assert listed == {}


def sentence_errors(tree: ast.Module) -> Iterator[int]:
    """The lines of a module that raise a ParameterError without the name of a parameter, or without a rule."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "ParameterError":
            named = {word.arg: word.value for word in node.keywords}
            first = node.args[0] if node.args else named.get("parameter")
            words = [part.value for part in ast.walk(first or node) if isinstance(part, ast.Constant)]
            has_rule = len(node.args) > 2 or "rule" in named
            if first is None or not has_rule or any(re.search(r"\s", str(word)) for word in words):
                yield node.lineno


def test_parameter_errors_name_parameter_and_rule() -> None:
    """Not a whole sentence as the parameter: the command line spells the name as its option."""
    assert [f"{name}:{line}" for name, tree in sources() for line in sentence_errors(tree)] == []


def test_a_parameter_error_that_is_a_sentence_is_found() -> None:
    code = """
ParameterError("width", -1, "must be above 0")
ParameterError(name, rule="needs {valid}")
ParameterError(f"ranges[{name!r}]", value, "is unknown", "leave it out")
ParameterError("the width must be above 0")
ParameterError(f"{name} must be above 0", rule="is wrong")
ParameterError("width", -1)
errors.ParameterError(rule="is wrong")
"""
    assert list(sentence_errors(ast.parse(code))) == [5, 6, 7, 8]


def test_the_tools_of_browser_tests_have_exact_versions_and_are_installed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in ("playwright", "axe-playwright-python"):
        (driver,) = [each for each in extras["browser"] if each.partition("=")[0] == name]
        assert re.fullmatch(rf"{name}==\d+\.\d+\.\d+", driver)
    rules = (ROOT / "Makefile").read_text()
    assert re.search(r"^\tcommand -v chromium \|\| .*apt-get install .* chromium ", rules, re.MULTILINE)
