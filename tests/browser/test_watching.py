"""The watcher itself notices what it watches for."""

from __future__ import annotations

import re

import pytest
from watching import CEILING_MS, Watcher, is_local


def test_addresses_of_this_machine_are_told_from_others():
    assert all(map(is_local, ("http://127.0.0.1:8/x", "http://localhost/", "http://[::1]:9/", "data:text/plain,x")))
    assert not any(map(is_local, ("https://example.com/", "http://10.0.0.1/", "http://localhost.example.com/")))


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("console.error('broken')", "console error: broken"),
        ("setTimeout(() => { throw new Error('thrown') })", "error: thrown"),
        ("fetch('https://podium.invalid/x').catch(() => {})", "request to another machine: https://podium.invalid/x"),
        ("fetch('http://127.0.0.1:9/x').catch(() => {})", "failed: http://127.0.0.1:9/x net::ERR_UNSAFE_PORT"),
    ],
)
def test_faults_of_a_page_are_noticed(watcher: Watcher, script: str, fault: str):
    with pytest.raises(AssertionError, match=re.escape(fault)):
        _run_script(watcher, script, fault)


def _run_script(watcher: Watcher, script: str, fault: str) -> None:
    """Run a script on an empty page until the fault has been noticed."""
    with watcher.page() as watched:
        watched.page.set_content("<title>t</title><p>text</p>")
        watched.page.evaluate(script)
        for _ in range(CEILING_MS):
            if fault in watched.faults:
                break
            watched.page.evaluate("() => new Promise((done) => setTimeout(done, 1))")  # events arrive meanwhile


def test_faults_of_accessibility_are_noticed(watcher: Watcher):
    with watcher.page() as watched:
        watched.page.set_content("<html lang=en><title>t</title><main><h1>h</h1><button></button></main></html>")
        (fault,) = watched.accessibility_faults()
        assert fault.startswith("button-name")
        watched.page.set_content("<html lang=en><title>t</title><main><h1>h</h1><button>b</button></main></html>")
        assert watched.accessibility_faults() == []
