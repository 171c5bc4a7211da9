"""A headless Chromium whose pages are watched: errors on the console, requests that leave the machine, accessibility."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
SCREENSHOTS = os.environ.get("PODIUM_SCREENSHOTS")  # the folder that `make screenshots` writes pictures into
CEILING_MS = 120_000  # that anything may take on a busy machine
# Chromium's own background requests are switched off, and the sandbox does not work for root.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
COLORS = 256  # of a screenshot, so that it stays small
DESKTOP, PHONE = (1280, 860), (390, 844)


def missing() -> str | None:
    """What the tests need and this machine does not have, as a sentence; None if everything is there."""
    if find_chromium() is None:
        return "there is no Chromium; make test-browser installs it"
    lacking = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    return f"{lacking[0]} is not installed; make test-browser installs it" if lacking else None


def axe_core() -> str:
    """The script of axe-core, which a Python package brings along."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def is_local(url: str) -> bool:
    """Whether an address is a file, data, or on this machine."""
    parts = urlsplit(url)
    if parts.scheme in ("data", "blob", "file", "about"):
        return True
    try:
        return parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


@dataclass
class WatchedPage:
    """A page and everything that must not happen on it."""

    page: Any
    faults: list[str] = field(default_factory=list)
    expected: str | None = None  # part of the messages that a test causes itself; they may come at any moment

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._request)
        self.page.on("requestfailed", self._failed)

    def end(self) -> None:
        """Stop listening for failed requests: closing a page aborts those that are under way."""
        self.page.remove_listener("requestfailed", self._failed)

    def _failed(self, request: Any) -> None:
        self.faults.append(f"failed: {request.url} {request.failure}")

    def _console(self, message: Any) -> None:
        is_expected = self.expected is not None and self.expected in message.text
        if message.type in ("error", "warning") and not is_expected:
            self.faults.append(f"console {message.type}: {message.text}")

    def _request(self, request: Any) -> None:
        if not is_local(request.url):
            self.faults.append(f"request to another machine: {request.url}")

    def accessibility_faults(self) -> list[str]:
        """The serious faults that axe-core finds on the page as it is now."""
        self.page.evaluate(axe_core())
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{fault['id']}: {fault['help']} ({node['html'][:200]})"
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def picture(self, name: str) -> None:
        """Write a screenshot into the folder of screenshots, if there is one."""
        if SCREENSHOTS:
            folder = ROOT / SCREENSHOTS
            folder.mkdir(parents=True, exist_ok=True)
            write_small(self.page.screenshot(), folder / f"{name}.png")


def write_small(png: bytes, path: Path) -> None:
    """Write a picture with its most frequent colors alone, so that it stays small and large areas keep their color."""
    from PIL import Image

    drawn = Image.open(io.BytesIO(png)).convert("RGB")
    counts = sorted(drawn.getcolors(drawn.width * drawn.height), reverse=True)[:COLORS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, color in counts for part in color])
    drawn.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


@dataclass
class Watcher:
    """Opens watched pages in one browser."""

    browser: Any

    @contextlib.contextmanager
    def page(
        self, size: tuple[int, int] = DESKTOP, *, dark: bool = False, touch: bool = False, bypass_csp: bool = False
    ) -> Iterator[WatchedPage]:
        """Open an empty page of a size; at the end there must have been no fault.

        Args:
            size: Width and height in CSS pixels.
            dark: Whether the system asks for dark colors.
            touch: Whether the screen is touched.
            bypass_csp: Whether axe-core may be run on a page whose policy forbids foreign scripts.
        """
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            has_touch=touch,
            bypass_csp=bypass_csp,
        )
        context.set_default_timeout(CEILING_MS)
        context.set_default_navigation_timeout(CEILING_MS)
        watched = WatchedPage(context.new_page())
        try:
            yield watched
        finally:
            watched.end()
            context.close()
        assert not watched.faults, "\n".join(watched.faults)


@contextlib.contextmanager
def chromium() -> Iterator[Watcher]:
    """Run a browser until the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS), timeout=CEILING_MS)
        try:
            yield Watcher(browser)
        finally:
            browser.close()
