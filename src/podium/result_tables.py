"""Results as tables: data frames, HTML for notebooks, and LaTeX for papers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any

from podium.errors import MissingExtraError, ParameterError

LIBRARIES = ("pandas", "polars")
NUMBER = re.compile(r"[-−+]?[0-9.,]+(e[-+]?[0-9]+)?%?|\[.*\]|nan|–|")
LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "…": r"\dots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


@dataclass(frozen=True)
class ResultTable:
    """A table of text to be shown.

    Attributes:
        title: what the table shows.
        header: the titles of the columns.
        rows: the cells of each row as text.
        notes: sentences below the table.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default_factory=tuple)

    def _numeric(self) -> list[bool]:
        """Return for each column whether all its cells are numbers or intervals, which are aligned to the right."""
        return [
            any(row[k] for row in self.rows) and all(NUMBER.fullmatch(row[k]) for row in self.rows)
            for k in range(len(self.header))
        ]

    def to_html(self) -> str:
        """Return the table as HTML in the style of the page that it stands in."""
        aligned = ["right" if numeric else "left" for numeric in self._numeric()]

        def cells(tag: str, texts: Sequence[str]) -> str:
            return "".join(
                f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
                for side, text in zip(aligned, texts, strict=True)
            )

        lines = [
            "<table>",
            f'<caption style="text-align: left">{escape(self.title)}</caption>',
            f"<thead><tr>{cells('th', self.header)}</tr></thead>",
            "<tbody>",
            *(f"<tr>{cells('td', row)}</tr>" for row in self.rows),
            "</tbody>",
            "</table>",
            *(f"<p>{escape(note)}</p>" for note in self.notes),
        ]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """Return the table as LaTeX, for the package booktabs."""
        columns = "".join("r" if numeric else "l" for numeric in self._numeric())
        rows = [[_latex_number(cell) for cell in row] for row in self.rows]
        lines = [
            f"% {self.title}; needs \\usepackage{{booktabs}}",
            f"\\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_latex, self.header)) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


class TabularResult:
    """Base class of results that are shown as a table in notebooks and can be written as one."""

    @abstractmethod
    def _result_table(self) -> ResultTable:
        """Return what is shown."""

    @abstractmethod
    def _frame_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the values of a data frame, column by column."""

    def to_frame(self, library: str = "pandas") -> Any:
        """Return the result as a data frame.

        Args:
            library: "pandas" or "polars".
        """
        return make_frame(self._frame_columns(), library)

    def to_latex(self) -> str:
        """Return the result as a LaTeX table, for the package booktabs."""
        return self._result_table().to_latex()

    def _repr_html_(self) -> str:
        """Return the result as HTML, which notebooks show."""
        return self._result_table().to_html()


def make_frame(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return a data frame of pandas or polars."""
    if library not in LIBRARIES:
        raise ParameterError("library", library, "must be 'pandas' or 'polars'")
    try:
        frames = import_module(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install 'podium[frames]'") from None
    return frames.DataFrame(dict(columns))


def _latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def _latex_number(text: str) -> str:
    """Return a cell with a minus sign in place of the hyphen of a negative number."""
    return re.sub(r"(?<![\w.])-(?=[0-9.])", "$-$", _latex(text)) if NUMBER.fullmatch(text) else _latex(text)
