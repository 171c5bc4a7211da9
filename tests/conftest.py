"""Shared by all tests: the folder of real data sets, Hypothesis profiles, signal handlers, and a clock for time limits."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A package that was built in another way (make sanitize) replaces the installed one.
if package := os.environ.get("PODIUM_PACKAGE"):
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, package)
    from podium import _core

    assert Path(_core.__file__).is_relative_to(Path(package).resolve()), _core.__file__


# Every run tries the same examples, without a time limit. `pytest --hypothesis-profile=explore` tries new ones.
UNHURRIED = [HealthCheck.too_slow]
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=UNHURRIED)
settings.register_profile("explore", deadline=None, suppress_health_check=UNHURRIED)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Set the default signal handlers, even if the tests were started with Ctrl-C ignored, and restore them afterwards."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def ticking_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the clock by one that advances by one second per reading, so that time limits act the same everywhere."""
    ticks = itertools.count()
    for name in ("perf_counter", "monotonic"):
        monkeypatch.setattr(time, name, lambda: float(next(ticks)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public data sets; tests that need it are skipped if PODIUM_DATA is not set."""
    folder = os.environ.get("PODIUM_DATA")
    if not folder:
        pytest.skip("PODIUM_DATA is not set: the public data sets are not at hand")
    return Path(folder)
