"""The machine on which a figure was measured: processor, cores, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine(*packages: str) -> dict[str, object]:
    """The processor as it names itself, how many cores this process may use, and the versions of these packages."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version_of(name) for name in ("podium", "numpy", *packages)},
    }


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def version_of(package: str) -> str | None:
    """The version of an installed package; XGBoost also comes under the name xgboost-cpu."""
    for name in (package, f"{package}-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def short_repr(found: dict[str, object]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items() if number)
    return f"{found['cpu']}, {found['cores']} cores; Python {found['python']}, {versions}"
