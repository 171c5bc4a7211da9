"""The progress of training: a live table on a terminal, occasional lines elsewhere, and a log in a file."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from rich import box
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from podium.cli.console import err
from podium.files import atomic_write
from podium.training import Epoch

SHOWN = 15
REDRAW_SECONDS, LINE_SECONDS = 0.1, 5.0


class EpochTable:
    """A callback of training that shows the last epochs."""

    def __init__(self, metric: str, *, epochs: int, unit: str, has_rate: bool) -> None:
        self.metric, self.epochs, self.unit, self.has_rate = metric, epochs, unit, has_rate
        self.rows: list[Epoch] = []
        self.live = Live(console=err, auto_refresh=False) if err.is_terminal else None
        self.drawn = float("-inf")
        self.unseen = False

    def __enter__(self) -> EpochTable:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self.unseen:
            self._draw()
        if self.live is not None:
            self.live.stop()

    def begin_with(self, rows: Sequence[Epoch]) -> None:
        """Take over the epochs of an earlier run that this one resumes."""
        self.rows = list(rows)

    def __call__(self, row: Epoch) -> None:
        """Show the epoch, unless another was shown a moment ago."""
        self.rows.append(row)
        self.unseen = True
        if time.monotonic() - self.drawn >= (LINE_SECONDS if self.live is None else REDRAW_SECONDS):
            self._draw()

    def _draw(self) -> None:
        if self.live is not None:
            self.live.update(Group(self._table(), Text(self._state())), refresh=True)
        else:
            err.print(self._line(self.rows[-1]), markup=False, highlight=False, soft_wrap=True)
        self.drawn, self.unseen = time.monotonic(), False

    def _columns(self) -> dict[str, list[str]]:
        rows = self.rows[-SHOWN:]
        columns = {
            self.unit: [str(row.epoch) for row in rows],
            f"train {self.metric}": [_number(r.train) for r in rows],
        }
        if any(row.valid is not None for row in self.rows):
            columns[f"valid {self.metric}"] = [_number(row.valid) for row in rows]
        for other in self.rows[-1].also or ():
            columns[other] = [_number((row.also or {}).get(other)) for row in rows]
        if any(row.cost is not None for row in self.rows):
            columns["cost"] = ["–" if row.cost is None else f"{row.cost:.6g}" for row in rows]
        if self.has_rate:
            columns["rate"] = [f"{row.learning_rate:g}" for row in rows]
        if any(row.restart for row in self.rows):
            columns["restart"] = [str(row.restart) for row in rows]
        columns["seconds"] = [f"{row.seconds:.1f}" for row in rows]
        if any(row.valid is not None for row in self.rows):
            columns["best"] = ["★" if row.best else "" for row in rows]
        return columns

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        columns = self._columns()
        for name in columns:
            table.add_column(escape(name), justify="center" if name == "best" else "right", no_wrap=True)
        for cells in zip(*columns.values(), strict=True):
            table.add_row(*cells)
        return table

    def _state(self) -> str:
        last = self.rows[-1]
        known = last.best_epoch  # set if it is an earlier epoch than the last one marked as best
        best = next(
            (
                row
                for row in reversed(self.rows)
                if row.valid is not None and (row.best if known is None else row.epoch == known)
            ),
            None,
        )
        words = f"{self.unit} {last.epoch} of at most {self.epochs}"
        if best is None:
            return words
        if known is None:
            return f"{words}; best so far: {self.unit} {best.epoch}, {_number(best.valid)}"
        return f"{words}; would keep {self.unit} {best.epoch} ({_number(best.valid)}), the best of the smoothed curve"

    def _line(self, row: Epoch) -> str:
        parts = [f"train {self.metric} {_number(row.train)}"]
        parts += [] if row.valid is None else [f"valid {_number(row.valid)}"]
        parts += [f"{other} {_number(value)}" for other, value in (row.also or {}).items()]
        parts += [] if row.cost is None else [f"cost {row.cost:.6g}"]
        return f"{self.unit} {row.epoch}: {', '.join(parts)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


class TrainingLog:
    """A callback of training that writes JSON lines: the settings first, then one row per epoch.

    The file is created after the first epoch, so that a training that fails before that leaves an older log alone.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.settings = path, settings
        self.before: Sequence[Epoch] = ()
        self.file: IO[bytes] | None = None

    def begin_with(self, rows: Sequence[Epoch]) -> None:
        """Take over the epochs of an earlier run that this one resumes."""
        self.before = rows

    def __call__(self, row: Epoch) -> None:
        """Write the row of an epoch."""
        if self.file is None:
            self._begin()
        assert self.file is not None
        self.file.write(_line(row.to_dict()))
        self.file.flush()

    def _begin(self) -> None:
        self.finish(self.before)
        self.file = self.path.open("ab")

    def finish(self, rows: Sequence[Epoch]) -> None:
        """Write the whole file. At the end this adds a row that an interrupt may have prevented."""
        with atomic_write(self.path, "log") as file:
            file.write(_line(self.settings))
            file.writelines(_line(row.to_dict()) for row in rows)

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.file is not None:
            self.file.close()


def _line(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.encode(errors="backslashreplace") + b"\n"  # file names may hold bytes that are not UTF-8
