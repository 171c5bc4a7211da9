"""The application: scoring, health, metrics and the description of the interface, on one FastAPI app.

Other pages, such as the studio, can be mounted on the same app, because only the addresses of scoring are handled before FastAPI.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response

from podium import __version__
from podium.serve.description import describe_scoring, models_answer
from podium.serve.endpoint import Endpoint, Receive, Scope, Send, unauthorized
from podium.serve.keys import key_of
from podium.serve.logs import write_log
from podium.serve.meter import OPERATIONS, Meter
from podium.serve.problems import RequestError, problem_body
from podium.serve.registry import Registry
from podium.serve.settings import ServiceSettings

PREFIX = "/v1/models/"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ServiceApp(FastAPI):
    """FastAPI, with the addresses of scoring handled first."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.registry = Registry(settings)
        self.meter = Meter(tuple(self.registry.deployments), settings.counters)
        self.endpoint = Endpoint(settings, self.registry, self.meter)
        super().__init__(
            title="Podium",
            version=__version__,
            description="Scores and ranks documents with trained models.",
            lifespan=_lifespan,
            docs_url=None,  # these pages load scripts from other hosts
            redoc_url=None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            name, _, operation = scope["path"][len(PREFIX) :].partition("/")
            if operation in OPERATIONS:
                await self.endpoint(scope, receive, send, name, operation)
                return
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the description of the interface."""
        if not self.openapi_schema:
            self.openapi_schema = describe_scoring(super().openapi(), secured=bool(self.settings.keys.digests))
        return self.openapi_schema

    async def watch(self) -> None:
        """Reload models whose files change, until cancelled."""
        while True:
            await asyncio.sleep(self.settings.reload_seconds)
            for reload in await asyncio.to_thread(lambda: list(self.registry.reload())):
                name = reload.source.name
                if reload.model is not None:
                    self.meter.add("podium_reloads_total", (name,))
                    write_log("info", "reloaded", model=name, version=reload.model.version)
                else:
                    self.meter.add("podium_reload_failures_total", (name,))
                    write_log("error", "reload_failed", model=name, message=str(reload.error))

    def model_lines(self) -> Iterator[str]:
        """Yield the metrics that say which models this worker has loaded."""
        yield "# HELP podium_model_info The versions in service."
        yield "# TYPE podium_model_info gauge"
        for name, deployment in self.registry.deployments.items():
            for model in deployment.versions:
                labels = f'model="{name}",version="{model.version}",fingerprint="{model.fingerprint}"'
                yield f"podium_model_info{{{labels}}} 1"
        yield "# HELP podium_model_loaded_seconds When a version was loaded, in seconds since 1970."
        yield "# TYPE podium_model_loaded_seconds gauge"
        for name, deployment in self.registry.deployments.items():
            for model in deployment.versions:
                yield f'podium_model_loaded_seconds{{model="{name}",version="{model.version}"}} {model.loaded:.3f}'


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    assert isinstance(app, ServiceApp)
    watching = asyncio.create_task(app.watch()) if app.settings.reload_seconds else None
    yield
    if watching is not None:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    await asyncio.to_thread(app.endpoint.close)
    app.meter.close()


def create_app(settings: ServiceSettings, *, pages: Mapping[str, Any] | None = None) -> ServiceApp:
    """Load the models and return the application. A PodiumError says what cannot be served.

    Args:
        settings: The models, limits and keys.
        pages: Applications to mount beside scoring, by the beginning of their addresses, as in {"/studio": …}.
    """
    app = ServiceApp(settings)
    for address, page in (pages or {}).items():
        app.mount(address, page)
    _add_pages(app)
    _add_error_pages(app)
    return app


def _add_pages(app: ServiceApp) -> None:
    def check_key(request: Request) -> None:
        if not app.settings.keys.accept(key_of(dict(request.scope["headers"]))):
            raise unauthorized()

    @app.get("/healthz", tags=["operation"], summary="Whether the worker is alive.")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", tags=["operation"], summary="Whether the models are loaded.")
    async def readyz() -> dict[str, str]:
        return {"status": "ready"}

    @app.get(
        "/metrics", tags=["operation"], summary="Counters of all workers, for Prometheus.", response_class=Response
    )
    async def metrics(request: Request) -> Response:
        check_key(request)
        return Response(app.meter.exposition(app.model_lines()), media_type=METRICS_TYPE)

    @app.get("/v1/models", tags=["models"], summary="The models, with their versions and features.")
    async def models(request: Request) -> Response:
        check_key(request)
        return Response(models_answer(app.registry), media_type="application/json")


def _add_error_pages(app: ServiceApp) -> None:
    @app.exception_handler(RequestError)
    async def problem(request: Request, error: RequestError) -> Response:
        headers = {name.decode(): value.decode() for name, value in error.headers}
        return Response(error.body(), error.status, headers, "application/json")

    @app.exception_handler(404)
    async def unknown(request: Request, error: HTTPException) -> Response:
        body = problem_body("not_found", "there is nothing at this address; /openapi.json describes the interface")
        return Response(body, 404, media_type="application/json")

    @app.exception_handler(405)
    async def wrong_method(request: Request, error: HTTPException) -> Response:
        body = problem_body("wrong_method", "this address takes another method; /openapi.json describes the interface")
        return Response(body, 405, error.headers, "application/json")


__all__ = ["ServiceApp", "create_app"]
