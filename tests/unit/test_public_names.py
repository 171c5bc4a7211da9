"""The public names are sorted, importable and exactly the documented ones; imports respect the layers."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import podium
from podium import _core, rankers
from podium.ranker_table import RANKER_PLACES

ROOT = Path(__file__).parents[2]


def test_public_names_are_sorted_and_there():
    assert podium.__all__ == sorted(podium.__all__)
    assert all(hasattr(podium, name) for name in podium.__all__)


def test_public_names_are_exactly_the_documented_ones():
    documented = re.findall(r"^## `podium\.(\w+)`", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert documented == podium.__all__


def test_the_stub_of_the_package_is_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import reference

    assert (ROOT / "src" / "podium" / "__init__.pyi").read_text() == reference.stub()


def test_every_named_ranker_is_public():
    classes = [place.partition(":")[2] for place in RANKER_PLACES.values()]
    assert set(classes) <= set(podium.__all__)
    assert set(classes) <= set(rankers.__all__)
    assert [kind.__name__ for kind in rankers.RANKERS.values()] == classes


def test_only_the_compiled_core_is_imported_from_the_package_itself():
    for file in (ROOT / "src" / "podium").rglob("*.py"):
        taken = re.findall(r"^\s*from podium import (.+)$", file.read_text(), re.MULTILINE)
        assert set(taken) <= {"_core", "__version__"}, file


def test_the_stub_names_what_the_compiled_core_has():
    stub = (ROOT / "src" / "podium" / "_core.pyi").read_text()
    named = set(re.findall(r"^(?:def |class |(?=\w+: ))(\w+)", stub, re.MULTILINE))
    assert named == {name for name in dir(_core) if not name.startswith("_")}


def test_scoring_never_loads_training_code():
    words = (
        "import sys, podium, podium.scoring; print([n for n in sys.modules if n.startswith(('podium.tra', 'sklearn'))])"
    )
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout == "[]\n"


def undocumented(function, text):
    """The parameters that a docstring does not describe."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
    return [name for name in names if name != "self" and not re.search(rf"(^|\s){name}(, \w+)*:", text)]


def public_functions():
    """Every public function, constructor, and method of rankers, with its docstring."""
    for name in podium.__all__:
        value = getattr(podium, name)
        if inspect.isfunction(value):
            yield name, value, inspect.getdoc(value)
        elif inspect.isclass(value) and not issubclass(value, Exception) and name != "Evaluation":  # made by `evaluate`
            yield name, value, f"{inspect.getdoc(value)}\n{inspect.getdoc(value.__init__)}"
    for name in dir(rankers.BaseRanker):
        value = inspect.getattr_static(rankers.BaseRanker, name)
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__.startswith("podium."):
            yield f"BaseRanker.{name}", value, inspect.getdoc(value)


def test_public_functions_describe_their_arguments():
    found = {name: undocumented(value, text or "") for name, value, text in public_functions()}
    assert {name: missing for name, missing in found.items() if missing} == {"BaseRanker.settings_of": ["kind"]}
