"""torch is imported only on demand, and an error names its extra if it is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_podium_alone_never_loads_torch():
    assert run("import sys, podium, podium.cli; print('torch' in sys.modules)") == "False"
    assert run("import sys, podium.torch; print(podium.torch.losses.torch is sys.modules['torch'])") == "True"


@pytest.mark.parametrize("found", ["None", "types.ModuleType('torch')"], ids=["nothing", "another module of the name"])
def test_absent_torch_is_named_with_its_extra(found):
    program = f"""
import sys, types
sys.modules["torch"] = {found}
from podium.errors import MissingExtraError
try:
    import podium.torch
except MissingExtraError as error:
    print(error)
"""
    assert run(program) == "torch is not installed; pip install 'podium[torch]'"
