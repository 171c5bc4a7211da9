"""podium serve."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli.console import Json, note, print_json, say
from podium.errors import MissingExtraError, ParameterError
from podium.serve.keys import ApiKeys
from podium.serve.settings import ServiceLimits, ServiceSettings
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.serve.registry import Registry

MOST_WORKERS = 1024
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LIMITS = ServiceLimits.parameters()


def _limit(name: str) -> Any:
    """Return the option of a limit."""
    return typer.Option(f"--{name.replace('_', '-')}", help=LIMITS[name].description)


ModelsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL…",
        help="Model files, as in model.podium, shop=model.podium or shop@2=model.podium: the name in addresses, and the "
        "version. By default the name is that of the file. The first version of a name answers.",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", help="Number of threads that a worker scores large requests with.")
]
CanaryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--canary",
        metavar="NAME@VERSION=SHARE",
        help="A version that answers a share of the requests, as in shop@2=0.05. May be given once per model.",
        show_default=False,
    ),
]
ShadowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--shadow",
        metavar="NAME@VERSION",
        help="A version that scores every request without answering; its differences are logged. May be given once per "
        "model.",
        show_default=False,
    ),
]
ApiKeysOption = Annotated[
    Path | None,
    typer.Option(
        "--api-keys",
        help="File with one API key per line. By default the keys are those in the environment variable "
        "PODIUM_API_KEYS, separated by commas; without any, no key is needed.",
        show_default=False,
    ),
]
ReloadSecondsOption = Annotated[
    float, typer.Option("--reload-seconds", help="How often model files are checked for changes. 0 never checks.")
]
AccessLogOption = Annotated[
    bool, typer.Option("--access-log/--no-access-log", help="Log every request, without its documents.")
]


def serve(
    models: ModelsArgument,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="Port to listen on. 0 takes a free one.")] = 8080,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Number of processes that handle requests.")] = 1,
    threads: ThreadsOption = 1,
    canary: CanaryOption = None,
    shadow: ShadowOption = None,
    api_keys: ApiKeysOption = None,
    reload_seconds: ReloadSecondsOption = 1.0,
    max_body_bytes: Annotated[int, _limit("max_body_bytes")] = LIMITS["max_body_bytes"].default,
    max_documents: Annotated[int, _limit("max_documents")] = LIMITS["max_documents"].default,
    max_queries: Annotated[int, _limit("max_queries")] = LIMITS["max_queries"].default,
    max_features: Annotated[int, _limit("max_features")] = LIMITS["max_features"].default,
    max_concurrency: Annotated[int, _limit("max_concurrency")] = LIMITS["max_concurrency"].default,
    timeout: Annotated[float, _limit("timeout")] = LIMITS["timeout"].default,
    access_log: AccessLogOption = True,
    json: Json = False,
) -> None:
    """Serve models over HTTP until Ctrl-C or SIGTERM.

    POST /v1/models/NAME/score returns one score per document, /v1/models/NAME/rank the best documents of each query. /healthz, /readyz, /metrics and /openapi.json are for those who run the service. A model file that changes is loaded again. Logs are JSON lines on standard error.
    """
    if workers < 1 or workers > MOST_WORKERS:
        raise ParameterError("workers", workers, f"must be a whole number from 1 to {MOST_WORKERS}")
    if not 0 <= reload_seconds < float("inf"):
        raise ParameterError("reload_seconds", reload_seconds, "must be a number of at least 0")
    try:
        from podium.serve.server import run_service
    except ImportError as error:
        raise MissingExtraError(f"{error.name} is not installed; pip install 'podium[serve]'") from None
    limits = ServiceLimits(
        max_body_bytes=max_body_bytes,
        max_documents=max_documents,
        max_queries=max_queries,
        max_features=max_features,
        max_concurrency=max_concurrency,
        timeout=timeout,
    )
    settings = ServiceSettings.parse(
        models,
        canaries=canary or (),
        shadows=shadow or (),
        limits=limits,
        keys=ApiKeys.read(api_keys),
        threads=resolve_threads(threads),
        reload_seconds=reload_seconds,
        access_log=access_log,
    )
    if host not in LOOPBACK and not settings.keys.digests:
        note(f"podium: warning: {host} can be reached from other machines, and no API key is needed; give --api-keys")
    announce = partial(_announce, json=json)
    run_service(settings, host=host, port=port, workers=workers, announce=announce)


def _announce(url: str, registry: Registry, *, json: bool) -> None:
    versions = [
        {"name": name, "version": model.version, "features": model.n_features, "path": str(model.source.path)}
        for name, deployment in registry.deployments.items()
        for model in deployment.versions
    ]
    if json:
        print_json({"url": url, "models": versions})
    else:
        for row in versions:
            say(f"{url}/v1/models/{row['name']}/score  version {row['version']}, {row['features']} features")
    sys.stdout.flush()
