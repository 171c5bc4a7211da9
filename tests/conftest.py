"""Shared by all tests: where the real data sets are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of unpacked public data sets; tests that need it are skipped where PODIUM_DATA is not set."""
    folder = os.environ.get("PODIUM_DATA")
    if not folder:
        pytest.skip("PODIUM_DATA is not set: the public data sets are not at hand")
    return Path(folder)
