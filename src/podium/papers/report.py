"""The report of an experiment: tables with the paper's figures next to ours, plots, and claims that hold or do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.evaluation.intervals import student_interval
from podium.papers.plots import Plot

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Columns and rows of words; the first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table as the pages show it."""
        lines = [f"**{self.title}**", "", _row(self.columns), "|---" * len(self.columns) + "|"]
        return "\n".join([*lines, *(_row(row) for row in self.rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it was found to hold, and the figures that say so.

    None: could not be looked at. Close: what was measured is within chance of the other side.
    """

    sentence: str
    holds: bool | None
    found: str
    close: bool = False

    def verdict(self, quick: bool = False) -> str:
        """In words; a quick version is too small to speak for or against a claim."""
        if self.holds is None or self.close:
            return "not looked at" if self.holds is None else "too close to tell"
        if quick:
            return "seen at this size" if self.holds else "not seen at this size"
        return "holds" if self.holds else "does not hold"

    def markdown(self, quick: bool = False) -> str:
        """The claim as a line of a list."""
        return f"- {self.sentence}: **{self.verdict(quick)}**. {self.found}"


@dataclass(frozen=True)
class Report:
    """The tables, plots, claims and notes of an experiment."""

    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    claims: Sequence[Claim] = ()
    notes: Sequence[str] = field(default_factory=tuple)

    def markdown(self, quick: bool = False) -> str:
        """Tables, claims and notes; plots are files of their own."""
        parts = [table.markdown() for table in self.tables]
        if self.claims:
            parts.append("\n".join(claim.markdown(quick) for claim in self.claims))
        return "\n\n".join([*parts, *self.notes])

    def to_dict(self, quick: bool = False) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return {
            "tables": [
                {"title": t.title, "columns": list(t.columns), "rows": [list(r) for r in t.rows]} for t in self.tables
            ],
            "claims": [{**vars(claim), "verdict": claim.verdict(quick)} for claim in self.claims],
            "notes": list(self.notes),
            "plots": [plot.to_dict() for plot in self.plots],
        }

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Report:
        """Return what `to_dict` described."""
        return cls(
            tables=[Table(**table) for table in kept["tables"]],
            plots=[Plot.of(plot) for plot in kept["plots"]],
            claims=[Claim(c["sentence"], c["holds"], c["found"], c["close"]) for c in kept["claims"]],
            notes=kept["notes"],
        )


@dataclass(frozen=True)
class Spread:
    """Values over seeds: their mean with its 95 % interval, and where a single further value would be expected."""

    mean: float
    low: float
    high: float
    least: float
    most: float
    n: int

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Student's interval of the mean; and mean ± t·s·√(1 + 1/n), where a further draw falls 95 times of 100."""
        if len(values) == 0:
            return cls(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
        mean = float(values.mean())
        low, high = student_interval(values, 0.95)
        reach = (high - mean) * math.sqrt(len(values) + 1)
        return cls(mean, low, high, mean - reach, mean + reach, len(values))

    def holds(self, value: float) -> bool:
        """Whether a value is one that a further seed could well give."""
        return self.least <= value <= self.most

    def short_repr(self, digits: int = 2) -> str:
        """mean ± half the interval of the mean."""
        if self.n == 0:
            return "–"
        reach = "" if math.isnan(self.high) else f" ± {self.high - self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f}{reach}"

    def range_shown(self, digits: int = 2) -> str:
        """Where a further seed would be expected."""
        if math.isnan(self.least):
            return "–"
        return f"{self.least:.{digits}f} to {self.most:.{digits}f}"
