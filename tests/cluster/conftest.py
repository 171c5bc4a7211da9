"""The tests of this folder need Ray (extra `cluster`; `make test-cluster`). They share one cluster on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

WORKERS = 5  # at most, of one test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder where Ray is missing, and allow Ray to use what is deprecated."""
    for item in items:
        if item.path.parent.name == "cluster":
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
            if find_spec("ray") is None:
                item.add_marker(pytest.mark.skip(reason="Ray is not installed; `make test-cluster` installs it"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Start Ray on this machine, and yield the module `ray`."""
    from podium.cluster import Ray, connect

    with connect(Ray(workers=WORKERS, address="local")) as ray:
        yield ray
