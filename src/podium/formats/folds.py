"""Folders of folds, as benchmark data is distributed: Fold1 to Fold5, each with a training, a validation and a test file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from podium.errors import FormatError

PARTS = {"training": r"train(ing)?(set)?", "validation": r"(vali|valid|validation)(set)?", "test": r"test(set)?"}

# Other files in the folder of a fold: query sizes, and what Podium and others write there.
BESIDE = (".query", ".group", ".scores", ".score", ".podium", ".jsonl", ".json")


def fold_files(folder: str | os.PathLike[str]) -> tuple[Path, Path, Path]:
    """Return the training, validation and test file of one fold."""
    path = Path(folder)
    if not path.is_dir():
        raise FormatError(
            folder, "there is no such folder" if not path.exists() else "is a file; give the folder of a fold"
        )
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.endswith(BESIDE))
    found = []
    for part, pattern in PARTS.items():
        matches = [file for file in files if re.fullmatch(pattern, file.name.split(".")[0].lower())]
        if len(matches) > 1:
            names = " and ".join(file.name for file in matches)
            raise FormatError(folder, f"{names} could both be the {part} file; keep one, or read the files one by one")
        if not matches:
            raise FormatError(folder, f"there is no {part} file (looked for names like {_example(part)}){_hint(path)}")
        found.append(matches[0])
    return found[0], found[1], found[2]


def fold_folders(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the folders Fold1, Fold2, … in the order of their numbers."""
    path = Path(folder)
    inside = list(path.iterdir()) if path.is_dir() else []
    numbered = [
        (int(match[1]), sub)
        for sub in inside
        if sub.is_dir() and (match := re.fullmatch(r"[Ff]old[-_ ]?(\d+)", sub.name))
    ]
    if not numbered:
        raise FormatError(folder, "there are no folders Fold1, Fold2, … in it; give the folder that holds them")
    return [sub for _, sub in sorted(numbered)]


def _example(part: str) -> str:
    return {
        "training": "train.txt, trainingset.txt",
        "validation": "vali.txt, validationset.txt",
        "test": "test.txt, testset.txt",
    }[part]


def _hint(path: Path) -> str:
    return (
        "; it holds folders Fold1, Fold2, …: name one of them, or use read_all_folds"
        if any(path.glob("[Ff]old*"))
        else ""
    )
