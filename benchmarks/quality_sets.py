"""The sets that boosted trees are judged on, as tasks: train, choose the number of trees on validation, be judged on test.

`TEST` holds what the published figures are about, and `ASIDE` synthetic tasks of all families that had no part in choosing defaults.
`develop` makes cross-validation inside the training queries, for choosing defaults: no task of it holds a query of the test part of
its set or fold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import podium
from mslr_like import mslr_like
from podium import RankingData
from task_families import FAMILIES, draw

MSLR_SEEDS = (1, 2, 3)
MSLR_QUERIES = (250, 1000, 6000)  # to train on, of about 120 documents
MSLR_TEST_QUERIES = 2000
DEVELOP_QUERIES = 2000
VALIDATION = 0.2  # of the training queries, where a set has no validation part


@dataclass(frozen=True)
class Task:
    """One training run and the queries it is judged on."""

    train: RankingData
    valid: RankingData
    test: RankingData


Tasks = Callable[[], Iterator[Task]]


def folder() -> Path:
    if "PODIUM_DATA" not in os.environ:
        raise SystemExit(
            "PODIUM_DATA is not set; let it name the folder that holds ohsumed, yandex, lightgbm-lambdarank"
        )
    return Path(os.environ["PODIUM_DATA"])


def bare(data: RankingData) -> RankingData:
    """The parts that judging needs, without features."""
    return data.replace_grouped(features=np.zeros((data.n_documents, 1), np.float32), feature_names=None)


def pooled(parts: list[RankingData]) -> RankingData:
    """The queries of all the parts as one set, each query a new one."""
    sizes = np.concatenate([part.query_sizes for part in parts])
    return RankingData.of_parts(
        features=np.zeros((int(sizes.sum()), 1), np.float32),
        labels=np.concatenate([part.labels for part in parts]),
        query_offsets=np.append(0, np.cumsum(sizes)),
        query_ids=np.arange(len(sizes)),
    )


def holdout(data: RankingData) -> tuple[RankingData, RankingData]:
    """Four fifths of the queries to train on and a fifth to choose on, as scikit-learn splits with `random_state=0`."""
    drawn = np.random.RandomState(0).permutation(data.n_queries)
    cut = data.n_queries - round(data.n_queries * (1 - VALIDATION))
    return data.select(np.sort(drawn[cut:])), data.select(np.sort(drawn[:cut]))


# what is judged on test ----------------------------------------------------------------------------------------------


def ohsumed() -> Iterator[Task]:
    for k in range(1, 6):
        yield Task(*podium.read_folds(folder() / f"ohsumed/QueryLevelNorm/Fold{k}"))


def yandex() -> Iterator[Task]:
    yield Task(*holdout(podium.read(folder() / "yandex/train.txt")), podium.read(folder() / "yandex/test.txt"))


def example_part(name: str) -> RankingData:
    return podium.read(folder() / f"lightgbm-lambdarank/rank.{name}")


def example() -> Iterator[Task]:
    yield Task(*holdout(example_part("train")), example_part("test"))


def mslr(queries: int) -> Iterator[Task]:
    for seed in MSLR_SEEDS:
        parts = (queries, max(100, queries // 6), MSLR_TEST_QUERIES)
        yield Task(*(mslr_like(n, seed=10 * seed + k, task_seed=seed) for k, n in enumerate(parts)))


MSLR_SETS: dict[str, Tasks] = {f"mslr-{120 * queries}": partial(mslr, queries) for queries in MSLR_QUERIES}
TEST: dict[str, Tasks] = {"ohsumed": ohsumed, "yandex": yandex, "lightgbm-lambdarank": example, **MSLR_SETS}

# what was kept aside while defaults were chosen ----------------------------------------------------------------------

ASIDE_SEED = 900  # of the tasks; the defaults were chosen on others
ASIDE_DOCUMENTS = (3_000, 10_000, 30_000)  # to train on
ASIDE_TEST_DOCUMENTS = 60_000


def aside(documents: int) -> Iterator[Task]:
    """One task of every family, with a sixth as many documents to choose on."""
    for family in ("mslr", *FAMILIES):
        sizes = (documents, max(3000, documents // 6), ASIDE_TEST_DOCUMENTS)
        yield Task(*(draw(family, n, seed=k, task_seed=ASIDE_SEED) for k, n in enumerate(sizes)))


ASIDE: dict[str, Tasks] = {f"families-{n}": partial(aside, n) for n in ASIDE_DOCUMENTS}


# what defaults are chosen on -----------------------------------------------------------------------------------------


def crossed(pool: RankingData, k: int, seed: int) -> Iterator[Task]:
    """k folds by query; validation is a part of what each trains on."""
    for rest, test in podium.folds(pool, k, seed=seed):
        train, valid = podium.split(rest, 1 - VALIDATION, seed=seed)
        yield Task(train, valid, test)


def ohsumed_pool(fold: int) -> RankingData:
    """Training and validation queries of a fold."""
    train, valid, _ = podium.read_folds(folder() / f"ohsumed/QueryLevelNorm/Fold{fold}")
    return RankingData(
        np.concatenate([train.features, valid.features]),
        np.concatenate([train.labels, valid.labels]),
        np.concatenate([train.qid, valid.qid]),
    )


POOLS: dict[str, list[Callable[[], RankingData]]] = {
    "ohsumed": [partial(ohsumed_pool, fold) for fold in range(1, 6)],
    "yandex": [lambda: podium.read(folder() / "yandex/train.txt")],
    "lightgbm-lambdarank": [lambda: example_part("train")],
    "mslr-like": [lambda: mslr_like(DEVELOP_QUERIES, seed=1, task_seed=100)],  # a task of its own
}


def develop(k: int, repeats: int) -> dict[str, Tasks]:
    """k folds of every pool, drawn again `repeats` times."""

    def tasks(pools: list[Callable[[], RankingData]]) -> Iterator[Task]:
        for seed in range(repeats):
            for pool in pools:
                yield from crossed(pool(), k, seed)

    return {name: partial(tasks, pools) for name, pools in POOLS.items()}
