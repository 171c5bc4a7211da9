"""The runner of the papers' experiments keeps finished cells, explains missing ones and reports on the rest."""

from __future__ import annotations

import inspect
import json
import math
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from podium.papers import (
    EXPERIMENTS,
    Cell,
    Cells,
    Experiment,
    Skip,
    grid,
    lambdarank,
    lambdarank_forces,
    lambdarank_updates,
    ranknet,
    ranknet_order,
    ranknet_rankprop,
    run,
)
from podium.papers.compact import pack_values, unpack_values
from podium.papers.drawing import draw
from podium.papers.judging import above, level_with_best
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.running import write_report
from podium.papers.sets import missing
from podium.papers.store import Store


class Toy:
    """An experiment that counts how often its cells are computed."""

    def __init__(self) -> None:
        self.worked: list[int] = []
        self.stop_at: int | None = None
        self.breaks_at: int | None = None
        self.experiment = Experiment(
            name="toy",
            paper="A paper, Table 1",
            title="Squares.",
            work=self.work,
            full=grid(number=range(4), power=2),
            quick=grid(number=range(2), power=2),
            report=self.report,
        )

    def work(self, number: int, power: int) -> dict[str, Any]:
        if number == self.stop_at:
            raise KeyboardInterrupt
        if number == self.breaks_at:
            raise ValueError("broken")
        if number == 3:
            raise Skip("three is not to be had")
        self.worked.append(number)
        return {"value": float(number**power), "per_query": [1.0]}

    def report(self, cells: Cells) -> Report:
        rows = [[str(cell.settings["number"]), str(cell.result["value"])] for cell in cells]
        panel = Panel("Squares", "n", "n²", [Line("ours", [0, 1], [0, 1], [0, 0.5], [0, 2])])
        claim = Claim("Squares grow", True, "They do.")
        return Report([Table("Squares", ["n", "n | squared"], rows)], [Plot("squares", [panel])], [claim], ["A note."])


@pytest.fixture
def toy() -> Toy:
    return Toy()


def test_finished_cells_are_kept_and_a_second_run_resumes(toy: Toy, tmp_path: Path) -> None:
    toy.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1]
    toy.stop_at = None
    seen: list[tuple[int, int]] = []
    outcome = run(toy.experiment, tmp_path, plots=False, on_cell=lambda cell, done, total: seen.append((done, total)))
    assert toy.worked == [0, 1, 2]
    assert (outcome.kept, outcome.done) == (2, 1)
    assert seen == [(3, 4), (4, 4)]
    run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2]
    run(toy.experiment, tmp_path, plots=False, fresh=True)
    assert toy.worked == [0, 1, 2, 0, 1, 2]


def test_other_settings_and_damaged_cells_are_computed_again(toy: Toy, tmp_path: Path) -> None:
    run(toy.experiment, tmp_path, plots=False)
    store = Store(tmp_path / "cells")
    path = store.path({"number": 0, "power": 2})
    path.write_text(path.read_text()[:-4])
    run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2, 0]
    run(replace(toy.experiment, full=grid(number=range(2), power=3)), tmp_path, plots=False)
    assert toy.worked == [0, 1, 2, 0, 0, 1]


class Judged(Toy):
    """The same with values per query, and with results that a later run extends."""

    def __init__(self) -> None:
        super().__init__()
        self.experiment = replace(self.experiment, extends_results=True, report=self.per_query)

    def work(self, number: int, power: int) -> dict[str, Any]:
        return super().work(number, power) | {"per_query": {"map": [0.12345, 1.0, 0.0, number / 10]}}

    def per_query(self, cells: Cells) -> Report:
        rows = [[str(value) for value in cell.result["per_query"]["map"]] for cell in cells]
        return Report([Table("Values", ["a", "b", "c", "d"], rows)])


def test_results_with_values_per_query_are_extended_without_the_cells(tmp_path: Path) -> None:
    toy = Judged()
    run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2]
    Store(tmp_path / "cells").clear()
    longer = replace(toy.experiment, full=grid(number=(5, 0, 1, 2), power=2))
    outcome = run(longer, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2, 5]
    assert (outcome.kept, outcome.done) == (3, 1)
    assert outcome.report.tables[0].rows == [["0.12345", "1.0", "0.0", str(n / 10)] for n in (5, 0, 1, 2)]
    run(longer, tmp_path, plots=False, fresh=True)
    assert toy.worked == [0, 1, 2, 5, 5, 0, 1, 2]


def test_a_fresh_run_that_is_stopped_takes_nothing_from_the_old_results(tmp_path: Path) -> None:
    toy = Judged()
    run(toy.experiment, tmp_path, plots=False)
    toy.worked, toy.stop_at = [], 1
    with pytest.raises(KeyboardInterrupt):
        run(toy.experiment, tmp_path, plots=False, fresh=True)
    toy.stop_at = None
    outcome = run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2]
    assert outcome.kept == 1


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: text.replace('"map": "', '"map": "AAAA')])
def test_results_that_are_damaged_are_computed_again(damage: Callable[[str], str], tmp_path: Path) -> None:
    toy = Judged()
    run(toy.experiment, tmp_path, plots=False)
    Store(tmp_path / "cells").clear()
    path = tmp_path / "results.json"
    path.write_text(damage(path.read_text()))
    run(toy.experiment, tmp_path, plots=False)
    assert toy.worked == [0, 1, 2, 0, 1, 2]


def test_values_per_query_are_packed_to_five_decimals() -> None:
    values = [round(float(value), 5) for value in np.random.default_rng(0).uniform(-3, 40, 2_000)]
    assert unpack_values(pack_values(values)) == values
    assert unpack_values(pack_values([])) == []
    shares = [round(float(value), 5) for value in np.random.default_rng(0).uniform(0, 1, 2_000)]
    assert len(pack_values(shares)) < 3.2 * len(shares)  # 17 bits of 6 per character, and a little more


def test_what_is_left_out_has_its_reason_and_what_breaks_is_tried_again(toy: Toy, tmp_path: Path, capsys: Any) -> None:
    toy.breaks_at = 1
    outcome = run(toy.experiment, tmp_path, plots=False)
    assert "ValueError: broken" in capsys.readouterr().err
    assert outcome.skipped == ("three is not to be had",)
    assert [cell.missing for cell in outcome.failed] == ["failed: ValueError: broken"]
    text = (tmp_path / "report.md").read_text()
    assert "Left out: three is not to be had." in text
    assert "Left out: failed: ValueError: broken." in text
    toy.breaks_at = None
    again = run(toy.experiment, tmp_path, plots=False)
    assert (again.kept, again.done, again.failed) == (2, 1, ())


def test_what_is_written(toy: Toy, tmp_path: Path) -> None:
    outcome = run(toy.experiment, tmp_path, quick=True)
    assert {path.name for path in outcome.files} == {"report.md", "results.json", "squares.svg"}
    text = (tmp_path / "report.md").read_text()
    assert "| n | n &#124; squared |" in text
    assert "- Squares grow: **seen at this size**. They do." in text
    assert "![squares](squares.svg)" in text
    assert "(quick version)" in text
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["quick"] is True
    assert results["cells"][1]["result"] == {"value": 1.0}
    assert results["tables"][0]["rows"] == [["0", "0.0"], ["1", "1.0"]]
    first = (tmp_path / "squares.svg").read_bytes()
    assert first.startswith(b"<svg")
    run(toy.experiment, tmp_path, quick=True)
    assert (tmp_path / "squares.svg").read_bytes() == first
    (tmp_path / "squares.svg").unlink()
    write_report(tmp_path)  # from the results alone
    assert (tmp_path / "squares.svg").read_bytes() == first
    assert (tmp_path / "report.md").read_text() == text


def test_a_result_that_cannot_be_kept_is_a_failed_cell(toy: Toy, tmp_path: Path) -> None:
    broken = replace(toy.experiment, work=lambda number, power: {"value": math.nan if number == 1 else 1.0})
    outcome = run(broken, tmp_path, quick=True, plots=False)
    assert [cell.settings["number"] for cell in outcome.failed] == [1]
    assert outcome.done == 1


def test_a_report_that_lacks_cells_says_so(toy: Toy, tmp_path: Path) -> None:
    def needs_all(cells: Cells) -> Report:
        assert len(cells) == 4
        return Report()

    toy.breaks_at = 1
    outcome = run(replace(toy.experiment, report=needs_all), tmp_path, plots=False)
    assert "cells failed" in outcome.report.notes[0]
    toy.breaks_at = None
    with pytest.raises(AssertionError):  # three is not to be had, which is no excuse: a fault of the report
        run(replace(toy.experiment, report=needs_all), tmp_path, plots=False)


def test_verdicts() -> None:
    def verdict(*about: Any) -> tuple[str, str]:
        claim = Claim("It is so", about[0], "", *about[1:])
        return claim.verdict(), claim.verdict(quick=True)

    assert verdict(True) == ("holds", "seen at this size")
    assert verdict(False) == ("does not hold", "not seen at this size")
    assert verdict(None) == ("not looked at",) * 2
    assert verdict(True, True) == verdict(False, True) == ("too close to tell",) * 2
    ours = np.random.default_rng(0).normal(size=100)
    for shift, expected in ((0.5, "holds"), (-0.5, "does not hold")):
        assert above("Ours is above", ours + shift, ours).verdict() == expected
    other = np.random.default_rng(1).normal(size=100)
    assert above("Ours is above", ours, other).verdict() == "too close to tell"
    assert above("Ours is above", ours + 0.5, ours, p=0.2).verdict() == "too close to tell"


def test_ranks_that_lean_against_the_mean_prove_nothing() -> None:
    gaps = np.concatenate([np.full(90, -0.01), np.full(10, 0.5)]) + np.arange(100) * 1e-6
    assert above("Ours is above", gaps, np.zeros(100)).verdict() == "too close to tell"
    best, level = level_with_best({"ours": gaps, "theirs": np.zeros(100)})
    assert (best, level) == ("ours", ["theirs"])
    assert level_with_best({"alone": gaps}) == ("alone", ["alone"])


def test_a_plot_without_panels_is_left_out(toy: Toy, tmp_path: Path) -> None:
    empty = replace(toy.experiment, report=lambda cells: Report(plots=[Plot("nothing", [])]))
    assert {path.name for path in run(empty, tmp_path, quick=True).files} == {"report.md", "results.json"}


def test_pairs_of_cells_are_joined() -> None:
    cells = Cells(
        Cell({"side": side, "seed": seed}, {"v": 10 * side + seed}) for side, seed in ((0, 1), (0, 2), (1, 2), (1, 3))
    )
    first, second = cells.paired("v", "seed", {"side": 0}, {"side": 1})
    assert (first.tolist(), second.tolist()) == ([2], [12])


def test_plots_of_points_and_tables() -> None:
    line = Line("a", [1, 10], [1, 100], [0.5, math.nan], [2, math.nan], kind="points", marker="o")
    svg = draw(
        Plot(
            "p",
            [
                Panel("table", "", "", grid=[[0.5, 0.9], [0.1, 0.5]], names=["A", "B"]),
                Panel("points", "steps", "units", [line], x_log=True, y_log=True, x_ticks=[1, 10]),
            ],
        )
    )
    texts = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"0.90", "table", "points", "steps", "units", "a"} <= set(texts)
    assert svg.count('aria-roledescription="point"') == 2
    assert svg.count('aria-roledescription="rule mark"') == 1
    assert "NaN" not in svg


def test_grid_and_cells() -> None:
    assert grid(a=(1, 2), b="x", c=range(2)) == [
        {"a": 1, "b": "x", "c": 0},
        {"a": 1, "b": "x", "c": 1},
        {"a": 2, "b": "x", "c": 0},
        {"a": 2, "b": "x", "c": 1},
    ]
    cells = Cells([Cell({"a": 1}, {"v": 3.0}), Cell({"a": 2}, missing="why"), Cell({"a": 2, "b": 0}, {"v": 4.0})])
    assert len(cells) == 2
    assert cells.axis("a") == [1, 2]
    assert cells.numbers("v", a=2).tolist() == [4.0]
    assert cells.reasons(a=2) == ["why"]
    assert cells.reasons(a=1) == []


def test_spread_of_seeds() -> None:
    spread = Spread.of(np.array([1.0, 2.0, 3.0]))
    t = 4.302652729911275  # Student's 97.5 % point with 2 degrees of freedom
    assert spread.mean == 2
    assert spread.high == pytest.approx(2 + t / math.sqrt(3))
    assert spread.most == pytest.approx(2 + t * math.sqrt(1 + 1 / 3))
    assert spread.holds(2 - t)
    assert not spread.holds(2 - 2 * t)
    assert spread.short_repr(1) == "2.0 ± 2.5"
    assert Spread.of(np.array([1.0])).short_repr() == "1.00"
    assert Spread.of(np.array([1.0])).range_shown() == "–"
    assert Spread.of(np.empty(0)).short_repr() == "–"


def test_level_with_the_best() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(size=200)
    named = {"best": base + 0.3, "level": base + 0.3 + rng.normal(size=200) * 1e-3 - 1e-5, "worse": base}
    best, level = level_with_best(named)
    assert {best, *level} == {"best", "level"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_cells_that_its_work_takes(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    signature = inspect.signature(experiment.work)
    for plan in (experiment.full, experiment.quick):
        assert plan
        for settings in plan:
            signature.bind(**settings)
        assert len({json.dumps(settings) for settings in plan}) == len(plan)
    assert len(experiment.quick) <= len(experiment.full)


@pytest.mark.parametrize("name", ["a-figure1", "a-figure2", "a-theorem1"])
def test_pictures_of_the_first_paper(name: str, tmp_path: Path) -> None:
    outcome = run(EXPERIMENTS[name], tmp_path, quick=True)
    assert not outcome.failed
    assert all(claim.holds for claim in outcome.report.claims)
    assert list(tmp_path.glob("*.svg"))


def test_the_same_cells_for_one_process_or_two(tmp_path: Path) -> None:
    tiny = replace(
        EXPERIMENTS["c-table2"],
        quick=grid(vectors=100, ties=(False, True), generator=0, epochs=1),
        report=lambda cells: Report(),
    )
    results = []
    for jobs in (1, 2):
        run(tiny, tmp_path / str(jobs), quick=True, jobs=jobs, plots=False)
        found = json.loads((tmp_path / str(jobs) / "results.json").read_text())["cells"]
        results.append([cell["result"] for cell in found])
    assert results[0] == results[1]
    assert results[0][1]["pairs"] == 2 * 50 * 49 / 2


def test_a_killed_worker_costs_its_cell_and_no_more(tmp_path: Path) -> None:
    tiny = replace(
        EXPERIMENTS["c-table2"],
        quick=grid(vectors=100, ties=False, generator=range(5), epochs=1),
        report=lambda cells: Report(),
    )

    def kill(cell: Cell, done: int, total: int) -> None:
        if done == 1:
            for process in multiprocessing.active_children():
                process.kill()
                process.join()

    outcome = run(tiny, tmp_path, quick=True, jobs=2, plots=False, on_cell=kill)
    assert 1 <= len(outcome.failed) <= 2  # the other worker was busy or had already answered
    assert {cell.missing for cell in outcome.failed} == {"failed: its process was killed"}
    again = run(tiny, tmp_path, quick=True, jobs=2, plots=False)
    assert (again.kept, again.done, again.failed) == (5 - len(outcome.failed), len(outcome.failed), ())


def test_missing_data_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    assert missing(()) is None
    assert missing(("ohsumed", "yandex")) == (
        "PODIUM_DATA is not set; let it name the folder that holds ohsumed, yandex"
    )
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path))
    (tmp_path / "yandex").mkdir()
    assert missing(("ohsumed", "yandex")) == f"PODIUM_DATA={tmp_path} has no folder ohsumed; put the set there"
    assert missing(("yandex",)) is None


def test_finite_differences_of_ndcg() -> None:
    from podium.papers.lambdarank_forces import REACH, finite_difference

    def ndcg(scores: np.ndarray, labels: np.ndarray) -> float:
        gains, discounts = 2.0**labels - 1, 1 / np.log2(np.arange(len(labels)) + 2)
        return float((gains[np.argsort(-scores)] * discounts).sum() / (np.sort(gains)[::-1] * discounts).sum())

    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, labels = 2 * rng.normal(size=9), rng.integers(0, 4, 9).astype(float)
        slopes = []
        for i in range(9):
            moved = [scores + side * REACH * (np.arange(9) == i) for side in (1, -1)]
            slopes.append((ndcg(moved[0], labels) - ndcg(moved[1], labels)) / (2 * REACH))
        assert finite_difference(scores, labels)[0] == pytest.approx(np.array(slopes) - np.mean(slopes))


def test_a_training_that_was_interrupted_is_no_result() -> None:
    from podium.papers.judging import learned

    class Interrupted:
        interrupted_ = True

        def fit(self, train: Any, valid: Any) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        learned(Interrupted(), None)  # type: ignore[type-var,arg-type]


def test_queries_judged_several_times_count_once() -> None:
    from podium.papers.judging import by_query

    kept = ([0.0, 1.0], [1.0, 1.0])
    cells = Cells(Cell({}, {"per_query": {"map": list(values)}}) for values in kept)
    assert by_query(cells, "map", same=True).tolist() == [0.5, 1.0]
    assert by_query(cells, "map", same=False).tolist() == [0.0, 1.0, 1.0, 1.0]


KEPT = sorted((Path(__file__).parents[2] / "docs/reproduced").glob("*/results.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_the_pages_show_the_experiments_as_they_are_planned(path: Path) -> None:
    kept = json.loads(path.read_text())
    assert [cell["settings"] for cell in kept["cells"]] == json.loads(json.dumps(list(EXPERIMENTS[kept["name"]].full)))
    assert not kept["quick"]


def test_networks_stand_beside_the_independent_one() -> None:
    """The network of winners is ahead by 0.01 in MAP in each of 110 queries, all others are the independent one."""
    from podium.papers import structrank

    metrics = [*structrank.NDCG, *structrank.PRECISION, structrank.MAP]
    base, cells = np.random.default_rng(0).uniform(0.2, 0.8, (5, 22)), []
    for settings in EXPERIMENTS["e-figure4"].full:
        ahead = {structrank.MAP: 0.01} if settings["system"] == "StructRank, winner" else {}
        values = {name: base[settings["fold"] - 1] + ahead.get(name, 0.0) for name in metrics}
        result = {"mean": {name: float(each.mean()) for name, each in values.items()}, "per_query": values}
        cells.append(Cell(settings, result))
    report = structrank.figure4(Cells(cells))
    rows = {row[0]: row[1:] for row in report.tables[1].rows}
    level = ["+0.0000, +0.0000 to +0.0000", "1.00"]
    assert set(rows) == {structrank.FULL, structrank.RANDOM, *structrank.FAMILY}
    assert rows.pop("StructRank, winner") == ["+0.0100, +0.0100 to +0.0100", "0.00", *level]
    assert all(row == level * 2 for row in rows.values())
    lines = [[line.label for line in panel.lines] for panel in report.plots[0].panels]
    assert [len(each) for each in lines] == [14, 14, 19, 8, 8]
    assert "StructRank, winner" not in lines[0]
    assert lines[3] == [name for name in structrank.OURS if name.startswith("StructRank")]


def figure2_cells(gap: float) -> Cells:
    """Two rates per system, the second of which is better on validation; LambdaRank is ahead by `gap`."""
    rng = np.random.default_rng(0)
    cells = []
    for net in lambdarank.NETS:
        base = rng.uniform(0.4, 0.6, 1000)
        for system in lambdarank.SYSTEMS:
            for rate in (1e-3, 1e-2):
                ahead = gap * (system == "LambdaRank") - 0.2 * (rate == 1e-3) + rng.normal(size=1000) * 1e-3
                result: dict[str, Any] = {"valid": 0.5 + rate, "mean": {}, "low": {}, "high": {}, "per_query": {}}
                for k, name in enumerate(lambdarank.METRICS, start=1):
                    value = base + ahead / k
                    mean, half = value.mean(), 1.96 * value.std() / np.sqrt(1000)
                    result["mean"][name], result["low"][name], result["high"][name] = mean, mean - half, mean + half
                    result["per_query"][name] = value.tolist()
                settings = {"optimizer": "sgd", "labels": lambdarank.REAL, "net": net, "system": system}
                cells.append(Cell({**settings, "learning_rate": rate, "generator": 0}, result))
    return Cells(cells)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (0.3, ["holds", "holds", "holds"]),
        (0.01, ["does not hold", "holds", "holds"]),
        (-0.3, ["does not hold", "does not hold", "does not hold"]),
        (0.0, ["does not hold", "too close to tell", "too close to tell"]),
    ],
)
def test_figure_2_is_judged_by_intervals_and_by_query(gap: float, expected: list[str]) -> None:
    report = lambdarank.figure2(figure2_cells(gap))
    assert [claim.verdict() for claim in report.claims[:3]] == expected
    assert len(report.tables) == len(report.plots[0].panels) == 4  # linear and two layers, chosen and plain
    assert "RankNet, linear: plain 0.01" in report.notes[0]


@pytest.mark.parametrize(
    ("seconds", "gap", "expected"),
    [
        ((1.0, 1.1, 0.1), 0.001, ["holds", "holds", "holds"]),
        ((1.0, 0.7, 0.1), 0.02, ["does not hold", "does not hold", "holds"]),
        ((1.0, 1.0, 1.5), 0.0, ["holds", "holds", "does not hold"]),
    ],
)
def test_updates_are_judged_by_time_and_by_value(seconds: tuple[float, ...], gap: float, expected: list[str]) -> None:
    valid = {lambdarank_updates.BY_PAIR: [0.5, 0.6], lambdarank_updates.BY_QUERY: [0.5 + gap, 0.6 - gap]}
    valid[lambdarank_updates.SUMMED] = valid[lambdarank_updates.BY_QUERY]
    cells = Cells(
        Cell({"layers": "one layer", "version": version}, {"epoch_seconds": each, "valid": valid[version]})
        for version, each in zip(lambdarank_updates.BATCH, seconds, strict=True)
    )
    report = lambdarank_updates.updates(cells)
    assert [claim.verdict() for claim in report.claims] == expected
    assert [row[4] for row in report.tables[0].rows] == [f"{max(values):.4f}" for values in valid.values()]


@pytest.mark.parametrize(("gap", "expected"), [(0.02, "holds"), (-0.02, "does not hold"), (0.0, "too close to tell")])
def test_rankprop_is_judged_query_by_query(gap: float, expected: str) -> None:
    rng, cells = np.random.default_rng(1), []
    for number in range(2):
        base = rng.uniform(0.3, 0.7, 200)
        for system in (ranknet_rankprop.REGRESSION, ranknet_rankprop.RANKPROP):
            ahead = gap * (system == ranknet_rankprop.RANKPROP) + rng.normal(size=200) * 0.01
            settings = {"data": "network", "net": "one layer", "system": system, "draw": number}
            cells.append(Cell(settings, {"per_query": {"ndcg@10": (base + ahead).tolist()}}))
            cells.append(Cell(settings | {"net": "two layers"}, missing="not to be had"))
    report = ranknet_rankprop.targets(Cells(cells))
    assert [claim.verdict() for claim in report.claims] == [expected]
    assert report.tables[0].rows[1][2] == "not to be had"


def test_table_6_counts_pairs_in_the_papers_order() -> None:
    order = sorted(ranknet_order.SYSTEMS, key=lambda system: ranknet_order.SYSTEMS[system].minutes or 0)
    seconds = dict(zip(order, [1.0, 1.05, 3.0, 2.0, 5.0, 6.0], strict=True))
    cells = Cells(
        Cell({"system": system, "round": k, "epochs": 100}, {"fit_seconds": value + (k == 2), "epochs": 100})
        for system, value in seconds.items()
        for k in range(3)
    )
    (claim,) = ranknet_order.table6(cells).claims
    assert claim.verdict() == "does not hold"
    assert claim.found == (
        f"13 of 15 pairs of systems stand as in the paper; not {order[2]} before {order[3]}; within a tenth of each other: "
        f"{order[0]} and {order[1]}."
    )


@pytest.mark.parametrize(
    ("behind", "noise", "expected"),
    [
        (-0.1, 1e-3, "holds"),  # it is the highest
        (0.0, 1e-3, "holds"),  # it is level with the highest: the interval excludes a loss of 0.005
        (0.004, 1e-3, "does not hold"),  # a small loss that is significant is still a loss
        (0.0, 0.3, "too close to tell"),  # it is not significantly below the highest, but the interval includes 0.005
        (0.2, 1e-3, "does not hold"),
    ],
)
def test_a_force_significantly_below_the_best_is_not_level_with_it(behind: float, noise: float, expected: str) -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(size=500)
    cells = []
    for force in lambdarank_forces.FORCES:
        lost = 0.3 if "finite" in force else behind if force == lambdarank_forces.CHOSEN else 0.0
        value = base - lost + rng.normal(size=500) * noise
        result = {"valid": float(value.mean()), "per_query": {lambdarank_forces.METRIC: value.tolist()}}
        cells.append(Cell({"data": "polynomial", "force": force, "seed": 0}, result))
    report = lambdarank_forces.forces(Cells(cells))
    assert [claim.verdict() for claim in report.claims] == [expected]
    few = Cells([*cells[:-1], Cell(cells[-1].settings, missing="failed: broken")])
    assert lambdarank_forces.forces(few).claims == []


@pytest.mark.parametrize(
    ("reached", "expected"),
    [(10, "holds"), (9, "holds"), (8, "too close to tell"), (3, "too close to tell"), (1, "does not hold")],
)
def test_zero_training_error_must_be_reached_by_most_generators(reached: int, expected: str) -> None:
    cells = Cells(
        Cell(
            {"schedule": "the paper's", "generator": generator},
            {
                "train": 0.0 if generator < reached else 1.5,
                "valid": 9.0,
                "test": 10.0,
                "epochs": 100,
                "curve": [[1, 50.0, 50.0], [2, 0.0, 9.0]],
            },
        )
        for generator in range(10)
    )
    (claim,) = ranknet.zero_error(cells).claims
    assert claim.verdict() == expected
    assert f"{reached} of 10 generators reached it" in claim.found
