"""The core's enums: a metric, force or setting that is forgotten in a switch must not compile."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"
SWITCHED = {  # enum → its header and the sources that switch over it
    "AdditiveGain": ("metrics/additive.hpp", ["metrics/metric.cpp"]),
    "MetricFamily": ("metrics/spec.hpp", ["metrics/metric.cpp", "metrics/swap.cpp"]),
    "CdnTopology": ("forces/cdn.hpp", ["forces/cdn.cpp"]),
    "Growth": ("trees/grow.hpp", ["trees/boost.cpp"]),
    "Optimizer": ("net/descent.hpp", ["net/descent.cpp"]),
}


def compile_core(core, source):
    command = ["g++", "-std=c++20", "-fsyntax-only", *warning_flags(), f"-I{core}", str(core / source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def warning_flags():
    """The warning flags of the build, so that the test compiles as the build does."""
    options = re.search(r"target_compile_options\(podium_core PRIVATE ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
    return [flag for flag in options[1].split() if flag.startswith("-W")]


def test_no_switch_of_the_core_has_a_default():
    for source in sorted(CORE.rglob("*.?pp")):
        assert not re.search(r"\bdefault\s*:", source.read_text()), f"{source} has a switch with a default"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("enum", SWITCHED)
def test_a_forgotten_case_does_not_compile(tmp_path, enum):
    header, sources = SWITCHED[enum]
    core = tmp_path / "core"
    shutil.copytree(CORE, core)
    text = (core / header).read_text()
    extended = re.sub(rf"(enum class {enum}\b[^{{]*\{{)", r"\1 forgotten_case,", text)
    assert extended != text
    (core / header).write_text(extended)
    for source in sources:
        assert compile_core(CORE, source).returncode == 0
        refused = compile_core(core, source)
        assert refused.returncode != 0, f"{source} compiles although {enum}::forgotten_case is missing from a switch"
        assert "forgotten_case" in refused.stderr
