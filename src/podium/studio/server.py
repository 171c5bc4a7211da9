"""Running a studio: one process that listens on this machine until Ctrl-C or SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from podium.serve.app import create_app
from podium.serve.logs import LOGGING
from podium.serve.server import ServiceConfig, TimedProtocol, bind
from podium.serve.settings import ServiceSettings
from podium.studio.app import Studio, create_studio
from podium.studio.guard import Guard

LOOPBACK = ("127.0.0.1", "::1", "localhost")
DEFAULT_PORT = 80  # browsers leave it out of the Host header
SHUTDOWN_SECONDS = 2
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # how this machine reaches itself


class StudioServer(uvicorn.Server):
    """uvicorn's server, which ends quietly on a signal instead of raising the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM until the end of the block."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def accepted_hosts(host: str, port: int) -> set[str]:
    """Return the values of the Host header by which the studio is reached, apart from IP addresses of this machine."""
    names = {host, *LOOPBACK}
    if host not in LOOPBACK:
        names |= {socket.gethostname(), socket.getfqdn()}
    bracketed = {f"[{name}]" if ":" in name else name for name in names}
    return {f"{name}:{port}" for name in bracketed} | (bracketed if port == DEFAULT_PORT else set())


def guarded_app(studio: Studio, settings: ServiceSettings, host: str, port: int) -> Guard:
    """Return the service with the studio on it, for one address."""
    app = create_app(settings, pages={"/studio": create_studio(studio)})
    return Guard(app, accepted_hosts(host, port), any_address=host not in LOOPBACK)


def run_studio(
    studio: Studio,
    settings: ServiceSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 8090,
    announce: Callable[[str], Any] = lambda url: None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        studio: What is shown.
        settings: The models that are served beside it, and the key of every request.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        announce: Called with the address of the page as soon as connections are accepted.
    """
    with bind(host, port) as listening:
        shown, number = listening.getsockname()[:2]
        config = ServiceConfig(
            guarded_app(studio, settings, host, number),
            loop="uvloop",
            http=TimedProtocol,
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=LOGGING,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=65,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        config.request_timeout = settings.limits.timeout
        server = StudioServer(config)
        shown = EVERYWHERE.get(shown, shown)
        announce(f"http://[{shown}]:{number}/studio/" if ":" in shown else f"http://{shown}:{number}/studio/")
        try:
            server.run(sockets=[listening])
        finally:
            studio.close()
