"""The models that a service has loaded, and how they are replaced while requests are running."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import time

import numpy as np
import numpy.typing as npt

from podium.artifact import load_artifact
from podium.data import RankingData
from podium.errors import DataError
from podium.scoring import Scorer
from podium.serve.problems import RequestError
from podium.serve.settings import ModelSource, ServiceSettings

FINGERPRINT_LENGTH = 12
Features = npt.NDArray[np.float32]
Sizes = npt.NDArray[np.int64]
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class ServedModel:
    """One version of a model, loaded. It never changes: a reload puts another one in its place.

    Attributes:
        source: Where it was loaded from, and its name.
        scorer: What scores.
        fingerprint: The beginning of the SHA-256 checksum in the file.
        stamp: Identity, size and time of the file when it was loaded.
        loaded: When it was loaded, in seconds since 1970.
    """

    source: ModelSource
    scorer: Scorer
    fingerprint: str
    stamp: Stamp
    loaded: float = field(default_factory=time)
    columns: dict[str, int] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The name of the version."""
        return self.source.version or self.fingerprint

    @property
    def n_features(self) -> int:
        """How many features a document has."""
        return self.scorer.model.n_features

    def scores(self, features: Features, sizes: Sizes, threads: int) -> npt.NDArray[np.float64]:
        """Return one score per row; consecutive rows make a query, as `sizes` says."""
        if not len(features):
            return np.empty(0)
        if self.scorer.normalize is None:
            return self.scorer.scores(features, num_threads=threads)
        queries = np.repeat(np.arange(len(sizes)), sizes)
        return self.scorer.scores(RankingData(features, np.zeros(len(features)), queries), num_threads=threads)


def load_model(source: ModelSource, max_features: int) -> ServedModel:
    """Load a model file; a PodiumError or OSError says why it cannot be served."""
    try:
        stamp = file_stamp(source.path)  # before the file is read, so that a change during that time is noticed
    except OSError:
        stamp = (0, 0, 0)  # reading the file says what is wrong
    artifact = load_artifact(source.path)
    scorer = Scorer.of(artifact.header, artifact.arrays, source.path)
    if scorer.model.n_features > max_features:
        raise DataError(
            f"{source.path} has {scorer.model.n_features:,} features, the limit is {max_features:,}; raise max_features"
        )
    names = scorer.feature_names or tuple(f"f{column}" for column in range(scorer.model.n_features))
    columns = {name: column for column, name in enumerate(names)}
    fingerprint = str(artifact.header["sha256"])[:FINGERPRINT_LENGTH]
    return ServedModel(source, scorer, fingerprint, stamp, columns=columns)


def file_stamp(path: Path) -> Stamp:
    """Return what changes when a file is replaced or written."""
    found = os.stat(path)  # noqa: PTH116  (Path.stat is slower, and this runs all the time)
    return found.st_ino, found.st_size, found.st_mtime_ns


class Deployment:
    """All versions of one model: the first answers, a canary answers a share of the requests, a shadow only scores."""

    def __init__(self, name: str, versions: list[ServedModel], settings: ServiceSettings) -> None:
        self.name = name
        self.versions = versions
        self._canary = next((role for role in settings.canaries if role.name == name), None)
        self._shadow = next((role for role in settings.shadows if role.name == name), None)
        self._owed = 0.0  # the share of a request that the canary has not been given yet

    @property
    def default(self) -> ServedModel:
        """The version that answers."""
        return self.versions[0]

    @property
    def canary(self) -> ServedModel | None:
        """The version that answers a share of the requests."""
        return self._version(self._canary.version) if self._canary else None

    @property
    def shadow(self) -> ServedModel | None:
        """The version that scores without answering."""
        return self._version(self._shadow.version) if self._shadow else None

    @property
    def canary_share(self) -> float:
        """The canary's share of the requests."""
        return self._canary.share if self._canary else 0.0

    def _version(self, version: str) -> ServedModel | None:
        return next((model for model in self.versions if version in (model.source.version, model.fingerprint)), None)

    def choose(self, version: str | None = None, key: bytes | None = None) -> ServedModel:
        """Return the version for a request: the one it asks for, or else the first or the canary.

        Requests with the same key get the same of these two; without a key the canary gets exactly its share.
        """
        if version is not None:
            found = self._version(version)
            if found is None:
                known = ", ".join(model.version for model in self.versions)
                raise RequestError(404, "unknown_version", f"model {self.name!r} has no such version; it has {known}")
            return found
        if self._canary is None:
            return self.versions[0]
        if key is not None:
            chosen = zlib.crc32(key) < self._canary.share * 2**32
        else:
            self._owed += self._canary.share
            chosen = self._owed >= 1
            self._owed -= chosen
        return (self.canary if chosen else None) or self.versions[0]


@dataclass(frozen=True)
class Reload:
    """What became of a file that changed: the new model, or the error that kept the old one in service."""

    source: ModelSource
    model: ServedModel | None = None
    error: Exception | None = None


class Registry:
    """The deployments by name. Loading raises an error if a file cannot be served."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._failed: dict[ModelSource, Stamp] = {}
        self.deployments = {
            name: Deployment(name, [load_model(source, settings.limits.max_features) for source in sources], settings)
            for name, sources in settings.by_name().items()
        }

    def find(self, name: str) -> Deployment:
        """Return the deployment of a name."""
        found = self.deployments.get(name)
        if found is None:
            known = ", ".join(self.deployments)
            raise RequestError(404, "unknown_model", f"there is no model of this name; the models are {known}")
        return found

    def reload(self) -> Iterator[Reload]:
        """Load every file that has changed and put it in service. Requests keep the model that they began with.

        A file that is missing or cannot be loaded leaves the old model in service, and is tried again when it changes again.
        """
        for deployment in self.deployments.values():
            for place, model in enumerate(deployment.versions):
                try:
                    stamp = file_stamp(model.source.path)
                except OSError:
                    continue  # it is being replaced, or was removed
                if stamp in (model.stamp, self._failed.get(model.source)):
                    continue
                try:
                    fresh = load_model(model.source, self._settings.limits.max_features)
                except Exception as error:
                    self._failed[model.source] = stamp
                    yield Reload(model.source, error=error)
                    continue
                deployment.versions[place] = fresh
                yield Reload(model.source, model=fresh)
