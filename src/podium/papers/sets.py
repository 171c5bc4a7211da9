"""The data sets of the experiments: real ones in folders of PODIUM_DATA, and artificial ones drawn from a seed."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import podium
from podium.papers.experiment import Skip

Parts = tuple[podium.RankingData, podium.RankingData, podium.RankingData]


def missing(names: tuple[str, ...]) -> str | None:
    """Return why data sets are not available, and what to do about it; None if they are."""
    if not names:
        return None
    wanted = ", ".join(names)
    if not os.environ.get("PODIUM_DATA"):
        return f"PODIUM_DATA is not set; let it name the folder that holds {wanted}"
    lacking = [name for name in names if not (Path(os.environ["PODIUM_DATA"]) / name).is_dir()]
    if not lacking:
        return None
    return f"PODIUM_DATA={os.environ['PODIUM_DATA']} has no folder {', '.join(lacking)}; put the set there"


def folder(name: str) -> Path:
    """Return the folder of a data set; a cell that needs one that is not available is skipped."""
    reason = missing((name,))
    if reason is not None:
        raise Skip(reason)
    return Path(os.environ["PODIUM_DATA"]) / name


@functools.lru_cache(maxsize=5)
def ohsumed(fold: int) -> Parts:
    """A fold of OHSUMED, LETOR 3.0: features scaled to [0, 1] inside each query."""
    return tuple(podium.read_folds(folder("ohsumed") / f"QueryLevelNorm/Fold{fold}"))  # type: ignore[return-value]


@functools.lru_cache(maxsize=1)
def _yandex() -> tuple[podium.RankingData, podium.RankingData]:
    return podium.read(folder("yandex") / "train.txt"), podium.read(folder("yandex") / "test.txt")


def yandex(seed: int, test_queries: int | None = None) -> Parts:
    """A search engine's set; the seed says which fifth of the training queries is set apart to choose on."""
    train, test = _yandex()
    kept, valid = podium.split(train, 0.8, seed=seed)
    return kept, valid, test if test_queries is None else test.select(range(test_queries))


@functools.lru_cache(maxsize=2)
def artificial(kind: str, generator: int, train: int, valid: int, test: int, **drawn: Any) -> Parts:
    """Three sets of one task, `network` or `polynomial`, with so many queries; the generator draws all of them.

    `drawn` says how, where it is not as in RankNet's paper: six equally frequent levels.
    """
    make: Callable[..., podium.RankingData] = (
        podium.synthetic.network if kind == "network" else podium.synthetic.polynomial
    )
    return tuple(  # type: ignore[return-value]
        make(
            queries=n,
            seed=10 * generator + part,
            generator_seed=generator,
            **drawn,
        )
        for part, n in enumerate((train, valid, test), start=1)
    )
