"""Does an exported file score as the model does? The comparison and the report.

Scores are compared on rows that are hard for the model (`podium.export.probing`) and on the caller's data. The bound of a row is
what rounding can do to its score, given how the target adds: a file with a score outside its bound is not written.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.export.changes import CHANGES, Changes
from podium.export.probing import probe_rows
from podium.export.source import IDENTITY, layers_of
from podium.models.heads import to_scores
from podium.models.net import Net
from podium.models.trees import TreeModel
from podium.scoring import Scorer, match_features

Features = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
DATA_ROWS = 20_000  # of the caller's data that are scored
BLOCK = 1024  # rows whose leaves are looked at together,
BLOCK_LEAVES = 1 << 21  # if they have no more leaves than this
FLOAT32, FLOAT64 = 2.0**-24, 2.0**-53  # half the distance to the next number, relative to it
SLACK = 1.001  # for what second-order terms add to a bound


class Arithmetic(Enum):
    """How a target adds the values of leaves."""

    SAME = "float64, tree by tree"
    FLOAT64 = "float64, in any order"
    FLOAT64_ROUNDED = "float64, and the result is rounded to float32"
    FLOAT32_VALUES = "float32 values of leaves, added in float64; everything else in float64"
    FLOAT32 = "float32"


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote, and how its scores compare with the model's.

    Attributes:
        format: The format's name.
        path: The file, or None if nothing was written.
        bytes: Its size.
        runtime: What scored the file.
        rows: Number of rows that were scored.
        largest_difference: Largest absolute difference of scores.
        bound: The difference that rounding explains; each row has its own bound, and this is the largest.
        passed: Whether every score lies within the bound of its row.
        pairs: Number of pairs of documents of one query of the caller's data that were compared.
        changed_orders: How many of these pairs the file orders the other way round.
        changed_probes: The same among the rows that are made from the model, whose scores may differ by rounding alone.
        changes: What the export changed on request.
        notes: What else a user should know.
    """

    format: str
    path: str | None
    bytes: int
    runtime: str
    rows: int
    largest_difference: float
    bound: float
    passed: bool
    pairs: int
    changed_orders: int
    changed_probes: int
    changes: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        changed = self.changed_orders + self.changed_probes
        orders = "no order changed"
        if changed:
            orders = f"{self.changed_orders} orders changed among {self.pairs:,} pairs of documents of one query"
            orders += f", {self.changed_probes} among rows made to be hard"
        lines = [
            f"checked by {self.runtime} on {self.rows:,} rows: largest difference {self.largest_difference:.3g} "
            f"(bound {self.bound:.3g}), {orders}"
        ]
        lines += [f"changed: {CHANGES[name]}" for name in self.changes]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Checked:
    """How the scores of a file compare with a model's.

    Attributes:
        rows: number of rows that were scored.
        largest_difference: largest absolute difference.
        bound: largest bound of a row.
        passed: whether every difference lies within its row's bound.
        pairs: number of pairs of documents of one query of the caller's data.
        changed_orders: how many of these pairs are ordered the other way round.
        changed_probes: the same among the made rows.
    """

    rows: int
    largest_difference: float
    bound: float
    passed: bool
    pairs: int
    changed_orders: int
    changed_probes: int


def check_scores(
    scorer: Scorer,
    score: Any,
    arithmetic: Arithmetic,
    changes: Changes,
    data: RankingData | None,
    *,
    gives_scores: bool = False,
) -> Checked:
    """Compare a file, scored by `score(rows)`, with its model.

    If the file `gives_scores`, it turns several outputs into one score, and scores are compared instead of outputs.
    """
    probes = probe_rows(scorer.model)
    groups = [probes]
    if data is not None:
        matched = match_features(data, scorer.model.n_features, scorer.feature_names, scorer.categories)
        last = min(matched.n_documents, DATA_ROWS)
        bounds = [*matched.query_offsets[matched.query_offsets < last], last]
        groups += [matched.features[a:b] for a, b in itertools.pairwise(bounds)]
    rows = np.ascontiguousarray(np.concatenate(groups), np.float32)
    seen = changes.apply(rows)
    wanted, found = scorer.model.scores(seen), np.asarray(score(rows), np.float64)
    limits = bounds_of(scorer.model, seen, arithmetic)
    if gives_scores and wanted.ndim > 1:
        limits = head_bounds(wanted, limits, arithmetic)
        wanted = to_scores(wanted)
    differences = np.abs(_outputs(wanted) - _outputs(found)).max(axis=1)
    differences[~np.isfinite(_outputs(found)).all(axis=1)] = np.inf
    ends = np.cumsum([0, *(len(group) for group in groups)])
    orders = to_scores(wanted), to_scores(found.reshape(wanted.shape))
    changed = [_reversed_pairs(*(scores[a:b] for scores in orders)) for a, b in itertools.pairwise(ends)]
    return Checked(
        len(rows),
        float(differences.max(initial=0)),
        float(limits.max(initial=0)),
        bool((differences <= limits).all()),
        sum(len(group) * (len(group) - 1) // 2 for group in groups[1:]),
        sum(changed[1:]),
        changed[0],
    )


def _outputs(scores: Floats) -> Floats:
    return scores.reshape(len(scores), -1)


def _reversed_pairs(wanted: Floats, found: Floats) -> int:
    """Return how many pairs of rows stand in opposite orders; a tie in either is no order."""
    count = 0
    for k in range(len(wanted) - 1):
        count += int((np.sign(wanted[k] - wanted[k + 1 :]) * np.sign(found[k] - found[k + 1 :]) < 0).sum())
    return count


def bounds_of(model: Any, rows: Features, arithmetic: Arithmetic) -> Floats:
    """Return how far rounding can move the score of each row."""
    if isinstance(model, TreeModel):
        size = max(1, min(BLOCK, BLOCK_LEAVES // max(1, model.n_trees)))
        blocks = [_tree_bounds(model, rows[k : k + size], arithmetic) for k in range(0, len(rows), size)]
        return np.concatenate([np.empty(0), *blocks])
    unit = FLOAT32 if arithmetic is Arithmetic.FLOAT32 else FLOAT64
    return _net_bounds(model, rows, unit)


def head_bounds(outputs: Floats, limits: Floats, arithmetic: Arithmetic) -> Floats:
    """Return how far Σ_k p_k (2^k − 1) can move if every output moves within its limit: each p_k by the factor e^(±2·limit)."""
    unit = FLOAT64 if arithmetic is Arithmetic.FLOAT64 else FLOAT32
    return np.asarray(to_scores(outputs) * (np.expm1(2 * limits) + 4 * unit * (outputs.shape[1] + 8)) * SLACK + 1e-45)


def _tree_bounds(model: TreeModel, rows: Features, arithmetic: Arithmetic) -> Floats:
    arrays, outputs = model.arrays(), model.n_outputs
    leaves = model.leaves(rows) + arrays["leaf_offsets"][:-1]
    worst = np.zeros(len(rows))
    for output in range(outputs):
        values = arrays["value"][leaves[:, output::outputs]]
        base = arrays["base"][output]
        sums = np.abs(np.cumsum(values, axis=1) + base)
        sizes = np.abs(values).sum(axis=1) + abs(base)
        in_float32 = FLOAT32 * (sums.sum(axis=1) + 2 * sizes)
        in_float64 = FLOAT64 * (values.shape[1] + 2) * sizes
        bound = {
            Arithmetic.SAME: np.zeros(len(rows)),
            Arithmetic.FLOAT64: in_float64,
            Arithmetic.FLOAT64_ROUNDED: in_float64
            + 1.01 * FLOAT32 * (sizes if not sums.shape[1] else sums[:, -1])
            + 1e-45,
            Arithmetic.FLOAT32_VALUES: in_float64 + FLOAT32 * sizes + 1e-45 * values.shape[1],
            Arithmetic.FLOAT32: in_float32 + 1e-45 * values.shape[1],
        }[arithmetic]
        if model.sums == "float32" and arithmetic is not Arithmetic.FLOAT32:
            bound = bound + in_float32
        worst = np.maximum(worst, bound)
    return worst * SLACK


def _net_bounds(net: Net, rows: Features, unit: float) -> Floats:
    """Return bounds by the usual analysis: errors pass through a layer by |weights|, and each sum adds its own."""
    center, scale = np.abs(net.map.center), np.abs(net.map.scale)
    values = net.map(rows)
    errors = 8 * unit * (np.abs(np.nan_to_num(rows.astype(np.float64))) + center) * scale + 4 * unit * np.abs(values)
    for layer in layers_of(net):
        weights, size = np.abs(layer.weights), len(layer.weights) + 8
        errors = errors @ weights + size * unit * ((np.abs(values) + errors) @ weights + np.abs(layer.bias))
        values = values @ layer.weights + layer.bias
        if layer.activation != IDENTITY:
            values = _activate(layer.activation, values)
            errors = errors + 8 * unit
    return np.asarray(errors.max(axis=1) * SLACK + 1e-300)


def _activate(name: str, values: Floats) -> Floats:
    if name == "tanh":
        return np.tanh(values)
    if name == "relu":
        return np.maximum(values, 0)
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-values)))
