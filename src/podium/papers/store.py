"""The store of finished cells: one JSON file each, so that a stopped run resumes."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

from podium.files import atomic_write
from podium.kinds import kind_of
from podium.papers.compact import unpack_result
from podium.papers.experiment import Cell, Settings

LONGEST_NAME = 80


def write_json(path: Path, kind: str, value: dict[str, Any]) -> None:
    """Write JSON with one line per entry and one line per item of a list of entries; the file is never half written."""
    lines = []
    for name, entry in value.items():
        if isinstance(entry, list) and entry and isinstance(entry[0], dict):
            text = "[\n  " + ",\n  ".join(_dumps(item) for item in entry) + "\n ]"
        else:
            text = _dumps(entry)
        lines.append(f" {_dumps(name)}: {text}")
    write_text(path, kind, "{\n" + ",\n".join(lines) + "\n}\n")


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_text(path: Path, kind: str, text: str) -> None:
    """Write text; the file is never half written."""
    with atomic_write(path, kind) as file:
        file.write(text.encode())


def read_results(path: Path) -> list[Cell]:
    """Return the cells of a results.json with values per query; none if there is no such file, or none that can be read."""
    try:
        rows = json.loads(path.read_bytes())["cells"]
        return [
            Cell(row["settings"], unpack_result(row["result"]), row["seconds"])
            for row in rows
            if row["missing"] is None and "per_query" in row["result"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return []


class Store:
    """The cells of one experiment in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, settings: Settings) -> Path:
        """The file of a cell: its values to read, and a hash because they may be cut short."""
        words = "-".join(str(value) for value in settings.values())
        name = re.sub(r"[^A-Za-z0-9.@]+", "-", words).strip("-")[:LONGEST_NAME]
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
        return self.folder / f"{name}-{digest}.json"

    def read(self, settings: Settings) -> Cell | None:
        """Return the cell that was saved for these settings; None if there is none, or only a damaged one."""
        try:
            kept = json.loads(self.path(settings).read_bytes())
            if kept["settings"] == json.loads(json.dumps(settings)):
                return Cell(settings, kept["result"], kept["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def write(self, cell: Cell) -> None:
        """Save a cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(
            self.path(cell.settings),
            "papers-cell",
            {"settings": cell.settings, "seconds": round(cell.seconds, 3), "result": cell.result},
        )

    def clear(self) -> None:
        """Delete every cell, and no file that is not one."""
        for path in self.folder.glob("*.json"):
            if path.is_file() and kind_of(path) == "papers-cell":
                path.unlink()
