"""What a service is told: models and their roles, limits, and API keys. All of it can be sent to a worker process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from podium.errors import ParameterError, UnknownNameError
from podium.parameters import Value, setting
from podium.rules import Integer, Real
from podium.serve.keys import ApiKeys

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SOURCE = re.compile(rf"(?P<name>{NAME.pattern})(@(?P<version>{NAME.pattern}))?=(?P<path>.+)", re.DOTALL)
ROLE = re.compile(rf"(?P<name>{NAME.pattern})@(?P<version>{NAME.pattern})(=(?P<share>[^=]+))?")
NAME_RULE = "must consist of at most 64 letters, digits, dots, hyphens and underscores"


@dataclass(kw_only=True, eq=False, repr=False)
class ServiceLimits(Value):
    """What a service accepts. A request beyond a limit is answered with a status of 4xx, or 503 if the service is busy."""

    name: ClassVar[str] = "limits"

    max_body_bytes: int = setting(8 * 1024 * 1024, Integer(1, 2**31 - 1), "Maximum size of a request's body in bytes.")
    max_documents: int = setting(10_000, Integer(1, 2**31 - 1), "Maximum number of documents per request.")
    max_queries: int = setting(1_000, Integer(1, 2**31 - 1), "Maximum number of queries per request.")
    max_features: int = setting(
        10_000, Integer(1, 2**31 - 1), "Maximum number of features per document; models with more are refused."
    )
    max_concurrency: int = setting(
        256, Integer(1, 65536), "Maximum number of requests that each worker handles at the same time."
    )
    timeout: float = setting(
        10.0, Real(above=0, most=3600), "Seconds within which a request must arrive and be answered."
    )


@dataclass(frozen=True)
class ModelSource:
    """A model file with the name and the version it is served as.

    Attributes:
        name: Name of the model in addresses.
        path: The file.
        version: Name of the version, or None to use the beginning of the file's checksum.
    """

    name: str
    path: Path
    version: str | None = None

    def __post_init__(self) -> None:
        for what, value in (("name", self.name), ("version", self.version)):
            if value is not None and not NAME.fullmatch(value):
                raise ParameterError(what, value, NAME_RULE, "name the model as in name=model.podium")

    @classmethod
    def parse(cls, text: str) -> ModelSource:
        """Return the source that `PATH`, `NAME=PATH` or `NAME@VERSION=PATH` describes."""
        found = SOURCE.fullmatch(text)
        if found is None or Path(text).is_file():
            return cls(Path(text).stem, Path(text))
        return cls(found["name"], Path(found["path"]), found["version"])


@dataclass(frozen=True)
class Role:
    """The part that a version plays beside the first version of a model: a share of the requests, or none of them."""

    name: str
    version: str
    share: float = 0.0

    @classmethod
    def parse_canary(cls, text: str) -> Role:
        """Return the role that `NAME@VERSION=SHARE` describes."""
        found = ROLE.fullmatch(text)
        share = None if found is None else _number(found["share"])
        if found is None or share is None or not 0 <= share <= 1:
            raise ParameterError("canary", text, "must read NAME@VERSION=SHARE, with a share from 0 to 1")
        return cls(found["name"], found["version"], share)

    @classmethod
    def parse_shadow(cls, text: str) -> Role:
        """Return the role that `NAME@VERSION` describes."""
        found = ROLE.fullmatch(text)
        if found is None or found["share"] is not None:
            raise ParameterError("shadow", text, "must read NAME@VERSION")
        return cls(found["name"], found["version"])


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class ServiceSettings:
    """Everything that a worker needs to know.

    Attributes:
        models: The files. The first version of each name answers requests, except for the share of its canary.
        limits: What requests may ask for.
        canaries: Versions that answer a share of the requests.
        shadows: Versions that score every request as well, without answering; differences are logged.
        keys: Whoever has one of these keys may use the service; without keys everybody may.
        threads: Number of threads that large requests are scored with.
        reload_seconds: How often the files are checked for changes; 0 never checks.
        access_log: Whether every request is logged.
        counters: File in which all workers count, or None to count in this process alone.
        needs_models: Whether there must be a model; an app with other pages can do without.
    """

    models: tuple[ModelSource, ...]
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    canaries: tuple[Role, ...] = ()
    shadows: tuple[Role, ...] = ()
    keys: ApiKeys = field(default_factory=ApiKeys)
    threads: int = 1
    reload_seconds: float = 1.0
    access_log: bool = True
    counters: Path | None = None
    needs_models: bool = True

    def __post_init__(self) -> None:
        if self.needs_models and not self.models:
            raise ParameterError("models", (), "must name at least one model file")
        for sources in self.by_name().values():
            _check_versions(sources)
        _check_roles("canary", self.canaries, self.by_name())
        _check_roles("shadow", self.shadows, self.by_name())

    def by_name(self) -> dict[str, list[ModelSource]]:
        """Return the files of every name, in the order in which they were given."""
        found: dict[str, list[ModelSource]] = {}
        for source in self.models:
            found.setdefault(source.name, []).append(source)
        return found

    @classmethod
    def parse(
        cls, models: Iterable[str], *, canaries: Iterable[str] = (), shadows: Iterable[str] = (), **others: object
    ) -> ServiceSettings:
        """Return settings with models and roles as the command line spells them."""
        return cls(
            tuple(ModelSource.parse(text) for text in models),
            canaries=tuple(Role.parse_canary(text) for text in canaries),
            shadows=tuple(Role.parse_shadow(text) for text in shadows),
            **others,  # type: ignore[arg-type]
        )


def _check_versions(sources: list[ModelSource]) -> None:
    if len(sources) > 1 and any(source.version is None for source in sources):
        raise ParameterError(
            "models",
            sources[0].name,
            "names several files",
            "tell them apart by version, as in name@1=a.podium name@2=b.podium",
        )
    version, count = Counter(source.version for source in sources).most_common(1)[0]
    if count > 1:
        raise ParameterError("models", f"{sources[0].name}@{version}", "is given twice", "leave one out")


def _check_roles(kind: str, roles: Iterable[Role], known: Mapping[str, list[ModelSource]]) -> None:
    seen: set[str] = set()
    for role in roles:
        text = f"{role.name}@{role.version}"
        if role.name in seen:
            raise ParameterError(kind, text, f"is the second {kind} of {role.name}", "give one")
        seen.add(role.name)
        versions = {f"{name}@{source.version}" for name, sources in known.items() for source in sources}
        if text not in versions:
            raise UnknownNameError("version", text, versions)
        if role.version == known[role.name][0].version:
            raise ParameterError(kind, text, "is the first version of its model", "name another version")
