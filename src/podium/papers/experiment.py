"""An experiment: cells that are computed one by one and saved, and a report made from all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.papers.report import Report

Settings = dict[str, Any]


class Skip(Exception):  # noqa: N818  (it is no error)
    """Raised by a cell that cannot be computed here; the report gives the reason in its place."""


@dataclass(frozen=True)
class Cell:
    """One finished cell: its settings, its result and the seconds it took; or the reason why it could not be computed."""

    settings: Settings
    result: Any = None
    seconds: float = 0.0
    missing: str | None = None


class Cells:
    """The cells of an experiment, in the order of its plan."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.all = tuple(cells)

    def __iter__(self) -> Iterator[Cell]:
        """The cells that have a result."""
        return (cell for cell in self.all if cell.missing is None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def where(self, **settings: Any) -> Cells:
        """Return the cells with these settings."""
        return Cells(
            cell
            for cell in self.all
            if all(name in cell.settings and cell.settings[name] == value for name, value in settings.items())
        )

    def axis(self, name: str) -> list[Any]:
        """Return the values of a setting, each once, in the order of the plan."""
        return list(dict.fromkeys(cell.settings[name] for cell in self.all if name in cell.settings))

    def numbers(self, key: str, **settings: Any) -> npt.NDArray[np.float64]:
        """Return one number of each result."""
        return np.array([cell.result[key] for cell in self.where(**settings)], np.float64)

    def paired(self, key: str, on: str, first: Settings, second: Settings) -> list[npt.NDArray[np.float64]]:
        """One number of each result with the first settings and with the second, for the values of `on` that both have."""
        sides = [{cell.settings[on]: cell.result[key] for cell in self.where(**side)} for side in (first, second)]
        shared = [value for value in sides[0] if value in sides[1]]
        return [np.array([side[value] for value in shared], np.float64) for side in sides]

    def reasons(self, **settings: Any) -> list[str]:
        """Return the reasons why cells are missing, each once."""
        return list(dict.fromkeys(cell.missing for cell in self.where(**settings).all if cell.missing is not None))


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes:
        name: on the command line.
        paper: its place in a paper, e.g. "RankNet, Table 1".
        title: what it shows, in a line.
        work: one cell: settings in, a result that JSON can hold out. The same settings give the same result.
        full: the settings of every cell, as the paper has it.
        quick: a smaller version of the same, for a check in a minute.
        report: tables, plots and claims from the cells.
        data: sets it cannot do without, folders of PODIUM_DATA.
        more_data: sets without which a part of it is left out.
        alone: it measures time, so its cells are computed one after the other, and nothing runs beside them.
        extends_results: results.json keeps the values per query, so that a later run takes from it every cell that it has and
            computes only the new ones, for example those of a new force.
        minutes: what the full version takes on two cores, roughly.
    """

    name: str
    paper: str
    title: str
    work: Callable[..., Any]
    full: Sequence[Settings]
    quick: Sequence[Settings]
    report: Callable[[Cells], Report]
    data: tuple[str, ...] = ()
    more_data: tuple[str, ...] = ()
    alone: bool = False
    extends_results: bool = False
    minutes: float = 1.0

    def plan(self, quick: bool) -> Sequence[Settings]:
        """The settings of every cell."""
        return self.quick if quick else self.full


def grid(**axes: Any) -> list[Settings]:
    """Return every combination of the values of the axes; a value that is not a tuple, list or range stands for itself."""
    several = [values if isinstance(values, tuple | list | range) else (values,) for values in axes.values()]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*several)]
