"""Shared by all tests: where the real data sets are, which examples are drawn, and a clock that nothing else moves."""

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

# A package built another way (make sanitize) takes the place of the installed one.
if package := os.environ.get("PODIUM_PACKAGE"):
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, package)
    from podium import _core

    assert Path(_core.__file__).is_relative_to(Path(package).resolve()), _core.__file__


# The same examples in every run, however long they take. `pytest --hypothesis-profile=explore` looks for new ones.
UNHURRIED = [HealthCheck.too_slow]
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=UNHURRIED)
settings.register_profile("explore", deadline=None, suppress_health_check=UNHURRIED)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Signals act as in a program that was just started, also where this one was started with Ctrl-C ignored.

    What a test changes, such as a command that ends by ignoring signals, is changed back after it.
    """
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def ticking_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by a second whenever it is read, so that what a time limit does is the same everywhere."""
    ticks = itertools.count()
    for name in ("perf_counter", "monotonic"):
        monkeypatch.setattr(time, name, lambda: float(next(ticks)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of unpacked public data sets; tests that need it are skipped where PODIUM_DATA is not set."""
    folder = os.environ.get("PODIUM_DATA")
    if not folder:
        pytest.skip("PODIUM_DATA is not set: the public data sets are not at hand")
    return Path(folder)
