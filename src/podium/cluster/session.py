"""Connecting to a Ray cluster, or starting one on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.cluster.engines import Ray
from podium.errors import ClusterError, MissingExtraError, ParameterError
from podium.threads import resolve_threads

log = logging.getLogger("podium.cluster")
REACH_SECONDS = 10.0  # after which an address that does not answer is given up
# What Ray reads when it is imported: whether it listens on other interfaces than loopback, and whether it reports usage.
QUIET = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
OWN_ADDRESSES = ("auto", "local")


@contextlib.contextmanager
def connect(engine: Ray) -> Iterator[Any]:
    """Yield the module `ray`, connected to the cluster of an engine.

    A program that has called `ray.init` itself keeps its connection. Otherwise the address decides. Without one, Ray starts on
    this machine, listens on the loopback interface only, and ends with the context.

    Args:
        engine: The engine, whose `address` says which cluster, and whose `workers` and `threads` must find room there.
    """
    starts_here = engine.address in (None, "local") and (engine.address or "RAY_ADDRESS" not in os.environ)
    if starts_here and "ray" not in sys.modules:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
    ray = _import_ray()
    if ray.is_initialized():
        _check_room(ray, engine)
        yield ray
        return
    with _quiet_logs():
        if starts_here:
            cores = max(resolve_threads(None), engine.workers * engine.threads)
            with _same_modules():
                ray.init(address="local", num_cpus=cores, include_dashboard=False, **_silence())
        else:
            _join(ray, engine)
    try:
        _check_room(ray, engine)
        with _clean_output():
            yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _clean_output() -> Iterator[None]:
    """Log what Ray says about lost workers. It prints this to the standard output, where commands print scores and JSON."""
    from ray._private import worker

    if not hasattr(worker, "print_to_stdstream"):
        yield
        return
    before, worker.print_to_stdstream = worker.print_to_stdstream, _log_lines
    try:
        yield
    finally:
        worker.print_to_stdstream = before


def _log_lines(data: Any, ignore_prefix: bool = False) -> None:
    for line in data["lines"]:
        log.info("%s", line)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError(
            "the engine ray needs Ray, which is not installed: pip install 'podium[cluster]'"
        ) from None
    return ray


def _silence() -> dict[str, Any]:
    return {"log_to_driver": False, "logging_level": logging.ERROR}


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """Let Ray report errors only while it starts."""
    logger = logging.getLogger("ray")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _same_modules() -> Iterator[None]:
    """Let processes that are started find the modules that this one finds."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(os.fspath(Path(entry).absolute()) for entry in sys.path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _join(ray: Any, engine: Ray) -> None:
    address = engine.address or os.environ["RAY_ADDRESS"]
    if address not in OWN_ADDRESSES:
        _check_answers(address)
    try:
        ray.init(address=address, **_silence())
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ClusterError(
            f"no Ray cluster at address={address!r} ({reason}); start one with `ray start --head`, or leave the address "
            "out to work on this machine"
        ) from None


def _check_answers(address: str) -> None:
    """Raise an error if nothing listens at an address, which Ray itself would try to reach for minutes."""
    host, colon, port = address.partition("://")[2].rpartition(":") if "://" in address else address.rpartition(":")
    if not colon or not port.isdigit():
        raise ParameterError("address", address, "must be 'auto', 'local', 'HOST:PORT' or 'ray://HOST:PORT'")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"nothing answers at address={address!r} ({error}); check that the cluster runs and that this machine can reach it"
        ) from None


def _check_room(ray: Any, engine: Ray) -> None:
    """Raise an error if the cluster has fewer cores than the workers need. Ray would wait for more without an end."""
    needed, found = engine.workers * engine.threads, int(ray.cluster_resources().get("CPU", 0))
    if found < needed:
        raise ClusterError(
            f"{engine} needs {needed} cores, and the cluster has {found}; use fewer workers or threads, or add nodes first"
        )
    nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    places = sum(cores // engine.threads for cores in nodes)
    if places < engine.workers:
        raise ClusterError(
            f"{engine} needs nodes with room for {engine.workers} workers of {engine.threads} cores each, and the cluster has room for "
            f"{places}; use fewer threads, or add nodes first"
        )
