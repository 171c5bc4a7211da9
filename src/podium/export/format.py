"""What another library's or engine's model format is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from podium.export.changes import Changes
from podium.export.options import ExportOptions
from podium.export.reading import Reader
from podium.export.verifying import Arithmetic
from podium.scoring import Scorer

Writer = Callable[[Scorer, ExportOptions, Changes], bytes]
Score = Callable[[bytes, Scorer, ExportOptions, Any], Any]


@dataclass(frozen=True)
class ExportFormat:
    """One row of the table of formats.

    Attributes:
        name: The name on the command line.
        summary: One sentence for lists of formats.
        suffixes: Endings that files of this format have; the first is the usual one.
        looks_like: Whether a file that begins with these bytes is of this format.
        read: Turns the bytes of a file into a model; None if the format cannot be imported.
        write: Turns a model into the bytes of a file; None if the format cannot be exported.
        models: The kinds of models that can be exported.
        options: The options that an export takes, besides the changes that it may make.
        outputs: Whether a file can hold several outputs.
        gives_scores: Whether such a file turns its outputs into Podium's score.
        score: Scores rows with the bytes of a file, by the target's own runtime or an evaluator of its rules.
        runtime: What does that.
        arithmetic: How the target adds.
        zero_is_missing: Whether a file can count zeros as missing.
        compares_float64: Whether the target compares float64 values with thresholds, and not float32 values as Podium does.
        category_names: Whether a file compares the names of categories, and not their codes.
        missing_since: The version of the engine from which on missing values go where trees send them, and what older ones do.
        deepest_tree: The largest depth that a tree may have, because readers of such files recurse; None if there is no limit.
        file_names: Turns the names of features into those that a file can hold.
        kind: The kind of its files, if formats share one.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[bytes], bool]
    read: Reader | None = None
    write: Writer | None = None
    models: tuple[str, ...] = ("trees",)
    options: tuple[str, ...] = ()
    outputs: bool = False
    gives_scores: bool = False
    score: Score | None = None
    runtime: Callable[[], str] = lambda: "an evaluator of its rules"
    arithmetic: Callable[[ExportOptions], Arithmetic] = lambda options: Arithmetic.FLOAT32
    zero_is_missing: bool = False
    compares_float64: bool = False
    category_names: bool = False
    missing_since: str = ""
    deepest_tree: int | None = None
    file_names: Callable[[Sequence[str]], list[str]] = list
    kind: str = ""

    @property
    def file_kind(self) -> str:
        """The kind of its files, a key of `podium.kinds.KINDS`."""
        return self.kind or self.name
