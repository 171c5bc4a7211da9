"""Exporting a model: written in memory, scored, compared, and only then put into its place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from podium.data import RankingData
from podium.errors import OutputError, PodiumError, UnknownNameError
from podium.export.changes import NORMALIZED_INPUT, Changes
from podium.export.floats import LARGEST
from podium.export.format import ExportFormat
from podium.export.notes import notes_of
from podium.export.options import ExportOptions
from podium.export.source import depth_of, kind_of_model, refuse
from podium.export.table import EXPORTS
from podium.export.verifying import Arithmetic, Checked, ExportReport, check_scores
from podium.files import atomic_write
from podium.models.feature_rules import ZERO_IS_MISSING
from podium.models.trees import TreeModel
from podium.scoring import Scorer

FLOAT64_VALUES = (Arithmetic.SAME, Arithmetic.FLOAT64)


def find_export(format: str) -> ExportFormat:
    """Return the row of a format that can be written."""
    known = {name: row for name, row in EXPORTS.items() if row.write is not None}
    if format not in known:
        raise UnknownNameError("format", format, known)
    return known[format]


def export_model(
    scorer: Scorer,
    path: str | os.PathLike[str],
    *,
    format: str,
    allow: Iterable[str] = (),
    data: RankingData | None = None,
    **options: Any,
) -> ExportReport:
    """Write a model in another format, after it was read back and scored; return how its scores compare.

    Args:
        scorer: The model.
        path: The file to write.
        format: Name of the format, a key of `EXPORTS`.
        allow: Changes that may be made to the model, keys of `CHANGES`; a change that is needed and not allowed is an error.
        data: Documents to compare scores on, besides rows that are made from the model.
        options: Options of the format.
    """
    row = find_export(format)
    for name in options:
        if name not in row.options:
            raise UnknownNameError(f"option of format {format!r}", name, row.options)
    asked, changes = ExportOptions(**options), Changes((allow,) if isinstance(allow, str) else allow)
    _check_model(scorer, row, asked, changes)
    raw = _write(scorer, row, asked, changes)
    found = _score(raw, scorer, row, asked, changes, data, path)
    report = ExportReport(
        format,
        os.fspath(path),
        len(raw),
        row.runtime(),
        **vars(found),
        changes=tuple(changes.made),
        notes=tuple(notes_of(scorer, row, changes, data)),
    )
    if not report.passed:
        raise OutputError(
            f"{os.fspath(path)}: not written, because the {format} file would score differently; {report}"
        )
    with atomic_write(path, row.file_kind) as file:
        file.write(raw)
    return report


def _write(scorer: Scorer, row: ExportFormat, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of the file."""
    assert row.write is not None
    return row.write(scorer, options, changes)


def _score(
    raw: bytes,
    scorer: Scorer,
    row: ExportFormat,
    options: ExportOptions,
    changes: Changes,
    data: RankingData | None,
    path: str | os.PathLike[str],
) -> Checked:
    """Return how the scores of the file compare with the model's; what a target's runtime raises becomes an OutputError."""
    score = row.score
    assert score is not None

    def scores(rows: Any) -> Any:
        try:
            return score(raw, scorer, options, rows)
        except PodiumError:
            raise
        except Exception as error:
            said = str(error).partition("\n")[0]
            raise OutputError(
                f"{os.fspath(path)}: not written, because {row.runtime()} cannot score the {row.name} file: {said}"
            ) from error

    arithmetic = row.arithmetic(options)
    return check_scores(scorer, scores, arithmetic, changes, data, gives_scores=row.gives_scores)


def _check_model(scorer: Scorer, row: ExportFormat, options: ExportOptions, changes: Changes) -> None:
    """Check that a format can hold a model."""
    kind, model = kind_of_model(scorer), scorer.model
    if model.n_features == 0:
        raise refuse(row.name, "holds models of at least one feature, and this one has none")
    if kind not in row.models:
        remedy = _others(other for other in EXPORTS.values() if kind in other.models)
        raise refuse(row.name, f"holds {' and '.join(row.models)}, and the model is of the kind {kind}", remedy)
    if model.n_outputs > 1 and not row.outputs:
        remedy = _others(other for other in EXPORTS.values() if other.outputs and kind in other.models)
        raise refuse(row.name, f"holds one output, and the model has {model.n_outputs}", remedy)
    if scorer.normalize is not None:
        changes.need(
            NORMALIZED_INPUT,
            row.name,
            f"scores one document at a time, and the model rescales features within each query (normalize={scorer.normalize!r})",
        )
    if isinstance(model, TreeModel):
        _check_trees(model, row, options)


def _check_trees(model: TreeModel, row: ExportFormat, options: ExportOptions) -> None:
    if row.deepest_tree is not None and (depth := depth_of(model)) > row.deepest_tree:
        raise refuse(
            row.name,
            f"holds trees of at most {row.deepest_tree} levels, and one of the model has {depth}",
            "train with {max_depth}",
        )
    if row.arithmetic(options) not in FLOAT64_VALUES:
        arrays = model.arrays()
        most = max(float(abs(arrays[name]).max(initial=0)) for name in ("value", "base"))
        if most > LARGEST:
            wider = [other for other in EXPORTS.values() if other.arithmetic(options) in FLOAT64_VALUES]
            raise refuse(row.name, f"holds float32 values, and the model has values up to {most:.3g}", _others(wider))
    zeros = (model.rules.rules == ZERO_IS_MISSING).nonzero()[0]
    if len(zeros) and not row.zero_is_missing:
        raise refuse(
            row.name,
            f"has no zeros that count as missing, as the model's feature {int(zeros[0])} has",
            _others(other for other in EXPORTS.values() if other.zero_is_missing),
        )


def _others(rows: Iterable[ExportFormat]) -> str:
    """Return the remedy that names other formats."""
    names = [row.name for row in rows if row.write is not None]
    if not names:
        return "score with podium.load_scorer instead"
    return f"use {' or '.join(f'{{format={name!r}}}' for name in names)}"
