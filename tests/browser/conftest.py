"""One browser for all tests of pages. `make test-browser` installs it; without it the tests are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from watching import Watcher, chromium, missing


@pytest.fixture(scope="session")
def watcher() -> Iterator[Watcher]:
    """Opens pages that are watched for errors and for requests to other machines."""
    reason = missing()
    if reason is not None:
        assert not os.environ.get("PODIUM_BROWSER"), reason
        pytest.skip(reason)
    with chromium() as found:
        yield found
