"""The table of engines, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.parameters import Value, read_value, setting
from podium.rules import Integer, Real, Text
from podium.threads import MOST_THREADS

MOST_WORKERS = 4096


class Engine(Value):
    """Where work runs. The engine never changes a result, only where and how fast it is computed.

    Attributes:
        summary: one sentence for lists of engines.
        distributes: whether the work leaves this process.
        threads: number of threads, of each worker if there are several.
    """

    summary: ClassVar[str]
    distributes: ClassVar[bool] = False
    threads: int | None


@dataclass(kw_only=True, eq=False, repr=False)
class Local(Engine):
    """This process."""

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "This process, with threads."

    threads: int | None = setting(
        None, Integer(1, MOST_THREADS), "Number of threads.", none="the ranker's num_threads decides"
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Ray(Engine):
    """A Ray cluster (extra `cluster`)."""

    name: ClassVar[str] = "ray"
    summary: ClassVar[str] = "Workers on a Ray cluster, or on this machine if there is none."
    distributes: ClassVar[bool] = True

    workers: int = setting(2, Integer(1, MOST_WORKERS), "Number of workers.")
    threads: int = setting(1, Integer(1, MOST_THREADS), "Number of threads of each worker.")
    address: str | None = setting(
        None,
        Text(),
        "Address of the cluster: 'auto' for the one that this machine belongs to, 'HOST:PORT', or 'ray://HOST:PORT'.",
        none="the cluster of the environment variable RAY_ADDRESS, or else one on this machine for as long as the work takes",
    )
    patience: float = setting(
        3600.0, Real(above=0), "Number of seconds without any progress after which the work ends with an error."
    )


ENGINES: dict[str, type[Engine]] = {"local": Local, "ray": Ray}


def engine(name: str | Engine) -> Engine:
    """Return the engine of a printable name such as `ray(workers=4)`; an engine is returned as it is."""
    return read_value(name, "engine", ENGINES, "'local', 'ray(workers=4)' or \"ray(workers=4, address='auto')\"")
