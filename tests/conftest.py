"""Shared by all tests: where the real data sets are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# A package built another way (make sanitize) takes the place of the installed one.
if package := os.environ.get("PODIUM_PACKAGE"):
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, package)
    from podium import _core

    assert Path(_core.__file__).is_relative_to(Path(package).resolve()), _core.__file__


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of unpacked public data sets; tests that need it are skipped where PODIUM_DATA is not set."""
    folder = os.environ.get("PODIUM_DATA")
    if not folder:
        pytest.skip("PODIUM_DATA is not set: the public data sets are not at hand")
    return Path(folder)
