"""The tables of boosted trees are made from the results of the benchmarks, with or without some of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import podium

ROOT = Path(__file__).parents[2]
MACHINE = {"cpu": "a processor", "cores": 2, "python": "3.11", "versions": {"podium": "1", "lightgbm": "4"}}


@pytest.fixture
def tree_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import tree_tables

    monkeypatch.setattr(tree_tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tree_tables, "PLOT", tmp_path / "trees.svg")
    return tree_tables


def keep(folder: Path, name: str, found: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(found))


def one_run(binning: float, tree: float, curve: list[float]) -> dict[str, Any]:
    return {
        "binning": binning,
        "trees": [tree] * 5 * len(curve),
        "curve": curve,
        "peak": 3_000_000,
        "peak_beyond_data": 1_000_000,
    }


def large() -> dict[str, Any]:
    """Return a result that the benchmark's own functions make of runs with these times."""
    import tree_figures

    runs = {
        "podium": [one_run(1.0, 0.1, [0.3, 0.6])],
        "podium, exact": [one_run(1.0, 0.2, [0.3, 0.6])],
        "lightgbm": [one_run(2.0, 1.0, [0.3, 0.5]), one_run(2.0, 1.2, [0.3, 0.5])],
        "lightgbm, row-wise": [one_run(2.0, 0.5, [0.3, 0.5])],
        "catboost": [one_run(2.0, 2.0, [0.2, 0.4])],
    }
    found = {name: tree_figures.summary(rows, 0.5, 10) for name, rows in runs.items()}
    tree_figures.add_ratios(found)
    return {
        "rounds": 2,
        "threads": 2,
        "machine": MACHINE,
        "found": {"target": 0.5, "trees": 10, "systems": found},
    }


def test_what_is_worth_another_round(tree_tables: ModuleType) -> None:
    import tree_figures

    first = {
        "podium": one_run(1.0, 0.1, [0.3, 0.6]),
        "podium, 10%": one_run(1.0, 9.9, [0.3, 0.4]),
        "lightgbm": one_run(2.0, 3.0, [0.3, 0.5]),
        "lightgbm, fastest": one_run(0.0, 1.0, [0.3, 0.5]),
        "lightgbm, near": one_run(0.0, 1.5, [0.3, 0.5]),
        "lightgbm, slow": one_run(0.1, 1.5, [0.3, 0.5]),
        "lightgbm, quick but never there": one_run(0.0, 0.1, [0.3, 0.4]),
        "xgboost": one_run(10.0, 14.0, [0.3, 0.4]),
        "catboost": one_run(10.1, 14.0, [0.3, 0.5]),
    }
    again = {"podium", "podium, 10%", "lightgbm", "lightgbm, fastest", "lightgbm, near", "xgboost"}
    assert tree_figures.repeated(first, 0.5) == again


def test_later_rounds_time_the_trees_that_reach_the_target(tree_tables: ModuleType) -> None:
    import tree_figures

    first = one_run(1.0, 1.0, [0.3, 0.5, 0.6])
    later = [{**one_run(2.0, 3.0, [0.0]), "trees": [3.0] * trees, "curve": []} for trees in (10, 10)]
    row = tree_figures.summary([first, *later], 0.5, 15)
    assert row["trees_to_target"] == 10
    assert row["seconds_to_target"] == 2.0 + 10 * 3.0
    assert (row["rounds"], row["rounds_to_target"], row["ndcg"], row["tree_ms"]) == (3, 3, 0.6, 3000.0)
    short = {**later[0], "trees": [3.0] * 5}
    never = tree_figures.summary([first, short], 0.7, 15)
    assert not never["reached"]
    assert never["seconds_to_target"] == 1.0 + 15 * 1.0
    assert (never["rounds"], never["rounds_to_target"]) == (2, 1)


def test_what_has_not_run_has_no_section(tree_tables: ModuleType) -> None:
    import quality_tables

    assert tree_tables.trees_section() == quality_tables.quality_section() == quality_tables.aside_section() == ""
    assert tree_tables.force_section() == tree_tables.scoring_section() == ""
    assert tree_tables.summary_rows() == []


def test_the_summary_names_the_fastest_setting(tree_tables: ModuleType, tmp_path: Path) -> None:
    small = {"found": {"ohsumed": {"podium, exact": 2.0, "lightgbm": 3.0}}}
    keep(tmp_path, "trees", {"large": large(), "small": small})
    ours = 1.0 + 10 * 0.1
    assert tree_tables.summary_rows() == [
        ("LambdaMART, to the NDCG@10 of LightGBM's 10 trees", "LightGBM", pytest.approx((2 + 10 * 1.1) / ours), False),
        ("", "LightGBM, row-wise, its fastest setting", pytest.approx((2 + 10 * 0.5) / ours), False),
        ("", "CatBoost", pytest.approx((2 + 10 * 2.0) / ours), True),
        ("a tree of 63 leaves, no sampling, 720,000 documents", "LightGBM", pytest.approx(1.1 / 0.2), False),
        ("the same on a small set, ohsumed", "LightGBM", 1.5, False),
    ]


def test_large_data(tree_tables: ModuleType, tmp_path: Path) -> None:
    keep(tmp_path, "trees", {"large": large()})
    rows = [line for line in tree_tables.trees_section().splitlines() if line.startswith("|")]
    assert rows[0].split("|")[8].strip() == "NDCG@10 after 10"
    assert rows[4] == "| LightGBM | 2 | 2.00 | 1100.0 | 5.50× | 13.0 | 6.50× | 0.5000 | 3 | 1 |"
    assert rows[6] == "| CatBoost | 1 | 2.00 | 2000.0 | 10.00× | > 22.0 | > 11.00× | 0.4000 | 3 | 1 |"
    assert {line.count("|") for line in rows} == {11}


def test_another_machine(tree_tables: ModuleType, tmp_path: Path) -> None:
    keep(tmp_path, "trees", {"large": large()})
    once = tree_tables.trees_section()
    assert "newer machine" not in once
    keep(tmp_path, "trees_again", {"large": large()})
    row = "| LightGBM | 2 | 2.00 | 1100.0 | 5.50× | 13.0 | 6.50× | 0.5000 | 3 | 1 |"
    assert (once.count(row), tree_tables.trees_section().count(row)) == (1, 2)


def test_the_plot_is_shown_once_it_is_there(tree_tables: ModuleType, tmp_path: Path) -> None:
    keep(tmp_path, "trees", {"large": large()})
    assert "images/trees.svg" not in tree_tables.trees_section()
    (tmp_path / "trees.svg").write_text("<svg/>")
    assert "images/trees.svg" in tree_tables.trees_section()


def test_scale_and_small(tree_tables: ModuleType, tmp_path: Path) -> None:
    asked = {"rounds": 1, "threads": 2, "machine": MACHINE}
    scale = {"lightgbm": {"queries_and_ms": [[2000, 20.0], [4000, 40.0]], "slope": 1.0}}
    small = {"ohsumed": {"podium, exact": 2.0, "lightgbm": 8.0}}
    keep(tmp_path, "trees", {"scale": asked | {"found": scale}, "small": asked | {"found": small}})
    text = tree_tables.trees_section()
    assert "| | 2,000 | 4,000 | slope |\n|---|---|---|---|\n| LightGBM | 20.0 | 40.0 | 1.00 |" in text
    assert "| ohsumed | 2.00 | 8.00 | 4.0× |" in text
    assert "target" not in text


def test_quality(tree_tables: ModuleType, tmp_path: Path) -> None:
    import quality
    import quality_tables

    data = podium.synthetic.network(queries=12, documents=8, levels=3, seed=0)
    best, worst = data.labels, -data.labels
    outcomes = {
        "podium": [quality.Outcome(best, 7, 0.1, 0.1)],
        "catboost": [quality.Outcome(worst, 90, 0.1, 0.1)],
        "xgboost": [quality.Outcome(np.asarray(best) * 2, 9, 0.1, 0.1)],
    }
    sets = [quality.judged("a-set", [data], outcomes)]
    report = {"trees": 1000, "patience": 50, "metrics": quality.METRICS, "machine": MACHINE, "sets": sets}
    keep(tmp_path, "quality", report)
    rows = [line for line in quality_tables.quality_section().splitlines() if line.startswith("|")]
    assert rows[10:] == ["| | a-set |", "|---|---|", "| podium | 0.1 |", "| CatBoost | 0.1 |", "| XGBoost | 0.1 |"]
    rows = rows[:10]
    assert rows[2] == "| a-set, 12, 1 | podium | 1.0000 | [1.0000, 1.0000] | | | | 7 |"
    against = [cell.strip() for cell in rows[3].split("|")]
    assert against[1:3] == ["", "CatBoost"]
    low = podium.evaluate(worst, data, "ndcg(empty='skip')@10").mean["ndcg(empty='skip')@10"]
    assert against[5] == f"{1 - low:+.4f}"
    assert against[7] == "< 0.001"
    assert [cell.strip() for cell in rows[4].split("|")][5:8] == ["+0.0000", "[+0.0000, +0.0000]", "1.000"]
    assert {line.count("|") for line in rows} == {9}
    keep(tmp_path, "aside", report)
    rows = [line for line in quality_tables.aside_section().splitlines() if line.startswith("|")]
    assert rows[5:7] == ["| | a-set |", "|---|---|"]
    ends = podium.compare({"a": best, "b": worst}, data, "ndcg(empty='skip')@10").pairs[0].interval
    assert rows[8] == f"| CatBoost | {1 - low:+.4f} [{ends[0]:+.4f}, {ends[1]:+.4f}], p < 0.001 |"
    assert rows[7] == "| XGBoost | +0.0000 [+0.0000, +0.0000], p = 1.000 |"
    assert len(rows) == 9


def test_the_forces_that_are_compared_are_one_formula(tree_tables: ModuleType) -> None:
    import tree_force

    data = podium.synthetic.network(queries=30, documents=25, levels=4, seed=0)
    assert tree_force.check(tree_force.forces(), data, 1) > 0


def test_forces(tree_tables: ModuleType, tmp_path: Path) -> None:
    named = {"built in": {"tree_ms": 10.0, "ratio": 1.0}, "own, Numba": {"tree_ms": 15.0, "ratio": 1.5}}
    found = {
        "documents": 9000,
        "compiling_seconds": 1.5,
        "threads": 2,
        "machine": MACHINE,
        "found": {"no sampling": named},
    }
    keep(tmp_path, "tree_force", found)
    rows = [line for line in tree_tables.force_section().splitlines() if line.startswith("|")]
    assert rows[2:] == ["| no sampling, built in | 10.0 | 1.00× |", "| own, Numba | 15.0 | 1.50× |"]


def test_scoring(tree_tables: ModuleType, tmp_path: Path) -> None:
    rows = [
        {"documents": documents, "threads": threads, "seconds": {"podium": 0.5, "lightgbm": 2.0, "lleaves": 1.0}}
        for documents in (1, 100, 100_000)
        for threads in (1, 2)
    ]
    found = {"trees": 500, "leaves": 63, "rounds": 5, "machine": MACHINE, "first_score": 0.1234}
    loads = {"podium": 0.01, "lightgbm": 0.02, "lleaves": 30.0}
    keep(tmp_path, "scoring", found | {"leafwise": {"load": loads, "found": rows}})
    text = tree_tables.scoring_section()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == "| documents | threads | Podium | LightGBM | lleaves |"
    assert lines[-1] == "| 100,000 | 2 | 500.000 | 2000.000 (4.0×) | 1000.000 (2.0×) |"
    assert "it takes 123 ms" in text
    assert "Podium takes 0.01 s from the file, LightGBM 0.02 s, lleaves 30.00 s (compilation included)" in text
    assert tree_tables.summary_rows() == [
        ("scores from trees, 100,000 documents at once", "LightGBM", 4.0, False),
        ("one query of 100 documents", "LightGBM", 4.0, False),
    ]


def test_the_summary_says_whose_forests_are_scored(tree_tables: ModuleType, tmp_path: Path) -> None:
    import summary_table

    told = "Each peer scores a forest of its own, and Podium that of LightGBM."
    keep(tmp_path, "trees", {"large": large()})
    assert told not in summary_table.summary()
    keep(tmp_path, "scoring", {"rounds": 5})
    assert told in summary_table.summary()


def test_the_summary_tells_losses_and_what_ran_once(tree_tables: ModuleType, tmp_path: Path) -> None:
    import summary_table

    keep(tmp_path, "trees", {"large": large()})
    lines = summary_table.summary().splitlines()
    rows = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in lines if "|" in line
    }
    ours = 1.0 + 10 * 0.1
    assert rows["MSLR-like, 2,000 queries, each after 10 trees of 63 leaves"] == ["**0.6000**", "0.5000", "–", "0.4000"]
    to_target = rows["seconds to LightGBM's 0.5000, training on 720,000 documents"]
    assert to_target == [f"**{ours:.1f}** †", "13.0", "–", "–"]  # CatBoost never got there
    assert rows["milliseconds per tree there"] == ["**100.0** †", "1,100", "–", "2,000 †"]
    assert lines[-3].endswith("† was measured once; the other times are medians of 2 runs for training.")
    assert "ranks better" not in lines[-2]


def test_the_summary_names_who_ranks_better(tree_tables: ModuleType, tmp_path: Path) -> None:
    import summary_table

    found = large()
    found["found"]["systems"]["catboost"]["ndcg"] = 0.65
    keep(tmp_path, "trees", {"large": found})
    told = "CatBoost ranks better than Podium after the same 10 trees on the large set (0.6500 against 0.6000)."
    assert told in summary_table.summary().splitlines()[-2]
    assert "| 0.6000 | 0.5000 | – | **0.6500** |" in summary_table.summary()


def test_the_summary_marks_differences_that_are_hardly_chance(tree_tables: ModuleType, tmp_path: Path) -> None:
    import summary_table

    def system(value: float) -> dict[str, Any]:
        return {"tasks": 1, "mean": {"NDCG@10": value}, "seconds": 2.0, "processor_seconds": 2.0}

    against = {name: {"NDCG@10": {"p": {"randomization": p}}} for name, p in (("lightgbm", 0.049), ("catboost", 0.05))}
    systems = {"podium": system(0.5), "lightgbm": system(0.4), "catboost": system(0.6)}
    one = {"set": "yandex", "queries": 2668, "systems": systems, "tasks": 1, "against": {"podium": against}}
    keep(tmp_path, "quality", {"sets": [one]})
    text = summary_table.summary()
    assert r"| Yandex, 2,668 queries | 0.5000 | 0.4000 \* | – | **0.6000** |" in text
    assert "| seconds to train on Yandex at the defaults above | **2.0** † | **2.0** † | – | **2.0** † |" in text


def test_the_table_of_the_service_compares_with_the_faster_peer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import service
    import service_tables

    monkeypatch.setattr(service_tables, "RESULTS", tmp_path)
    assert "Not measured yet" in service_tables.service_section()
    rates = dict(zip((*service.PEERS, "Podium, JSON"), (100.0, 200.0, 900.0), strict=True))
    jobs = {name: {"8": {"requests_per_second": rate, "p50_ms": 1.0, "p99_ms": 2.0}} for name, rate in rates.items()}
    settings = {"rounds": 3, "seconds": 5, "workers": 1, "trees": 500, "leaves": 63}
    steady = {"first": {"requests": 10_000, "mebibytes": 90.0}, "last": {"requests": 100_000, "mebibytes": 91.0}}
    keep(tmp_path, "service", {"machine": MACHINE, "settings": settings, "jobs": jobs, "memory": steady})
    table = service_tables.service_section()
    assert "| Podium, JSON | 8 | 900 | 4.5 | 1.00 | 2.00 |" in table
    assert "90 MiB after 10,000 requests, 91 MiB after 100,000" in table
