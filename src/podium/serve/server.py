"""Running the application: a socket, a supervisor, and worker processes that come back when they die."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from podium.errors import ParameterError
from podium.serve.app import ServiceApp, create_app
from podium.serve.logs import LOGGING
from podium.serve.meter import Meter
from podium.serve.problems import problem_body
from podium.serve.registry import Registry
from podium.serve.settings import ServiceSettings

BACKLOG = 2048  # connections that wait until a worker takes them
PR_SET_PDEATHSIG = 1
HEALTH_CHECK_SECONDS = 60  # a worker that says nothing for so long is killed; starting takes long on a busy machine
GRACE = 2  # after a request's time is over, so that the application can answer before the connection is closed


class ServiceConfig(uvicorn.Config):
    """uvicorn's settings, with the time that a request may take to arrive."""

    request_timeout: float = 10.0


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which by itself waits for the headers and the rest of a body forever."""

    _timer: asyncio.TimerHandle | None = None

    def _start_timer(self, grace: float = 0) -> None:
        self._stop_timer()
        assert isinstance(self.config, ServiceConfig)
        self._timer = self.loop.call_later(self.config.request_timeout + grace, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the headers of the first request."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a request."""
        self._start_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to wait for the body; the application has a time limit for it too, and answers first."""
        self._start_timer(GRACE)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait no longer: the request is here."""
        self._stop_timer()
        super().on_message_complete()

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            body = problem_body("too_slow", "the request did not arrive in time; send it faster")
            head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
            self.transport.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; a ParameterError says why it cannot."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError("port", port, f"of {host} cannot be used: {reason}", "choose another one") from None
    listening.set_inheritable(True)
    return listening


def worker_app(settings: ServiceSettings, parent: int) -> ServiceApp:
    """Return the application of a worker process, which ends with the process that started it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit("the supervisor has ended")
    return create_app(settings)


def run_service(
    settings: ServiceSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    workers: int = 1,
    announce: Callable[[str, Registry], Any] = lambda url, registry: None,
) -> None:
    """Serve until SIGINT or SIGTERM: no new connections are taken then, and running requests are answered.

    Args:
        settings: The models, limits and keys.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        workers: Number of processes that handle requests.
        announce: Called with the address and the models as soon as connections are accepted.
    """
    registry = Registry(settings)  # so that a model that cannot be served ends the command with a sentence
    listening = bind(host, port)
    with listening, tempfile.TemporaryDirectory(prefix="podium-serve-") as folder:
        counters = Path(folder) / "counters"
        counters.touch(mode=0o600)
        os.truncate(counters, Meter.size(tuple(registry.deployments), workers))
        settings = dataclasses.replace(settings, counters=counters)
        config = ServiceConfig(
            partial(worker_app, settings, os.getpid()),
            factory=True,
            workers=workers,
            loop="uvloop",
            http=TimedProtocol,
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=LOGGING,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=65,
            timeout_graceful_shutdown=int(settings.limits.timeout) + 1,
            timeout_worker_healthcheck=HEALTH_CHECK_SECONDS,
        )
        config.request_timeout = settings.limits.timeout
        supervisor = Multiprocess(config, [listening])
        shown, number = listening.getsockname()[:2]
        announce(f"http://[{shown}]:{number}" if ":" in shown else f"http://{shown}:{number}", registry)
        supervisor.run()
