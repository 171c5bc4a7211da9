"""The official LETOR scorer's numbers, query by query, for every baseline's scores on OHSUMED."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import podium
from podium.evaluation import evaluate

SYSTEMS = [
    "AdaRank",
    "FacSVM_Rank",
    "LambdaMART",
    "ListNet",
    "RankBoost",
    "RankNet",
    "svm_light",
    "svm_light2",
    "svm_rank",
]


judgments = cache(podium.read)


def official(path: Path) -> dict[str, dict[str, float]]:
    """By the scorer's name of a metric, the value of each query and of 'Average'."""
    values: dict[str, dict[str, float]] = {}
    names: list[str] = []
    for row in (line.split() for line in path.read_text().splitlines()):
        if row and row[0] == "qid":
            names = row[1:]
        elif row:
            for name, value in zip(names, row[1:], strict=True):
                values.setdefault(name, {})[row[0]] = float(value)
    return values


def our_name(name: str) -> str:
    base, _, cutoff = name.partition("@")
    ours = {"NDCG": "ndcg", "MeanNDCG": "mean_ndcg", "P": "p", "MAP": "map"}[base]
    return f"{ours}(convention='letor'){f'@{cutoff}' if cutoff else ''}"


def test_all_systems_are_listed(data_dir: Path) -> None:
    assert sorted(p.name for p in (data_dir / "letor-ohsumed-baselines/OHSUMED").iterdir() if p.is_dir()) == SYSTEMS


@pytest.mark.parametrize("system", SYSTEMS)
def test_official_scorer(data_dir: Path, system: str) -> None:
    files = sorted((data_dir / "letor-ohsumed-baselines/OHSUMED" / system).glob("Fold*.test.score"))
    assert files
    for file in files:
        fold = file.name.split(".")[0]
        data = judgments(data_dir / "ohsumed/QueryLevelNorm" / fold / "test.txt")
        scores = podium.read_scores(file)
        expected = official(file.with_name(f"{fold}.test.official-eval.txt"))
        assert len(expected) == 22
        result = evaluate(scores, data, [our_name(name) for name in expected])
        for name, by_query in expected.items():
            ours = dict(zip(map(str, result.query_ids), result.per_query[our_name(name)], strict=True))
            ours["Average"] = result.mean[our_name(name)]
            assert ours == pytest.approx(by_query, abs=0.5000001e-4), (file, name)
