"""Which column of a table is what: the roles of columns, shared by CSV, Arrow, Parquet and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.checks import caller_row
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts, text_array
from podium.data.ordering import positions
from podium.errors import DataError, ParameterError, unknown_name

Array = npt.NDArray[Any]
BLOCK_ROWS = 1 << 16


class RoleOptions(TypedDict, total=False):
    """The options that readers and writers of tables share."""

    label_column: str
    query_column: str
    document_column: str
    weight_column: str
    query_weight_column: str
    features: Sequence[str] | None


ROLE_NAMES = tuple(RoleOptions.__annotations__)


@dataclass(frozen=True)
class Roles:
    """Names of the columns. Label and query must be there; the others are used where they are there.

    `features` are the columns that are features, in their order; by default every column without another role.
    """

    label_column: str = "label"
    query_column: str = "qid"
    document_column: str = "docid"
    weight_column: str = "weight"
    query_weight_column: str = "query_weight"
    features: Sequence[str] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Roles:
        """Roles from options by name; an unknown name is a ParameterError."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise unknown_name("option", name, known)
        if isinstance(options.get("features"), str):
            raise ParameterError("features", options["features"], "must be a list of column names")
        return cls(**options)


@dataclass(frozen=True)
class ColumnPlan:
    """The columns of one table, by name; None where there is none for the role."""

    label: str
    query: str
    document: str | None
    weight: str | None
    query_weight: str | None
    features: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Every column in use, roles first."""
        roles = (self.label, self.query, self.document, self.weight, self.query_weight)
        return [name for name in roles if name is not None] + list(self.features)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, or None where they are f0, f1, …: what unnamed features are written as."""
        return None if self.features == default_names(len(self.features)) else self.features


@dataclass(frozen=True)
class Block:
    """Some rows of a table, column by column; `qid` and weights have one value a row."""

    labels: npt.NDArray[np.float64]
    qid: Array
    document_ids: Strings | None
    weights: npt.NDArray[np.float64] | None
    query_weights: npt.NDArray[np.float64] | None
    features: npt.NDArray[np.float32]


def plan_reading(names: Sequence[str], roles: Roles) -> ColumnPlan:
    """Which of the table's columns has which role."""
    found = f"Columns found: {', '.join(map(repr, names))}"
    if len(set(names)) != len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(f"column {twice!r} occurs twice; give each column its own name. {found}")
    chosen: dict[str, str | None] = {}
    for role, default in (
        ("label_column", None),
        ("query_column", None),
        ("document_column", Roles.document_column),
        ("weight_column", Roles.weight_column),
        ("query_weight_column", Roles.query_weight_column),
    ):
        name = getattr(roles, role)
        if name in names:
            chosen[role] = name
        elif name == default:
            chosen[role] = None
        else:
            raise DataError(f"there is no column {name!r}; name one with {role}=…. {found}")
    used = [name for name in chosen.values() if name is not None]
    if len(set(used)) != len(used):
        raise ParameterError(f"one column is given two roles: {roles}")
    given = [name for name in names if name not in used] if roles.features is None else list(roles.features)
    for name in given:
        if name not in names:
            raise DataError(f"there is no column {name!r}, asked for in features=…. {found}")
        if name in used or (given.count(name) > 1 and roles.features is not None):
            raise ParameterError(
                f"column {name!r} is asked for as a feature and has another role or is asked for twice"
            )
    label, query, document, weight, query_weight = chosen.values()
    return ColumnPlan(str(label), str(query), document, weight, query_weight, tuple(given))


def plan_writing(data: RankingData, roles: Roles) -> ColumnPlan:
    """The columns that the data is written as; refuses what a table cannot hold."""
    if data.pairs is not None:
        raise DataError(
            "a table of documents has no place for preference pairs; write data.replace(pairs=None), or the binary cache"
        )
    features = data.feature_names if data.feature_names is not None else default_names(data.n_features)
    plan = ColumnPlan(
        roles.label_column,
        roles.query_column,
        None if data.document_ids is None else roles.document_column,
        None if data.document_weights is None else roles.weight_column,
        None if data.query_weights is None else roles.query_weight_column,
        features,
    )
    seen: set[str] = set()
    for name in plan.names:
        if name in seen:
            raise DataError(
                f"two columns would be called {name!r}; rename the feature, or the role with an option such as "
                f"label_column=…"
            )
        seen.add(name)
    # a reader takes a column by its name, so a feature must not be called as an absent role
    optional = {roles.document_column, roles.weight_column, roles.query_weight_column}
    for name in features:
        if name in optional:
            raise DataError(f"feature {name!r} has the name of another role; rename it, or the role with an option")
    return plan


def written_ids(query_ids: Array) -> Array:
    """Query ids as files hold them: numbers as they are, any other value as its text."""
    if query_ids.dtype.kind in "iuf":
        return query_ids
    texts = id_texts(query_ids)
    if len(set(texts)) != len(texts):
        raise DataError("two query ids print the same text, so a file cannot tell them apart; give ids of one type")
    return text_array(texts)


def row_blocks(data: RankingData, rows: int = BLOCK_ROWS) -> Iterator[Block]:
    """The data in the caller's order, some rows at a time."""
    held = np.arange(data.n_documents) if data.row_order is None else positions(data.row_order)
    ids, queries = written_ids(data.query_ids), data.document_queries
    for start in range(0, data.n_documents, rows):
        part: Any = held[start : start + rows]
        if data.row_order is None:
            part = slice(start, start + rows)
        yield Block(
            labels=data.labels[part],
            qid=ids[queries[part]],
            document_ids=None if data.document_ids is None else data.document_ids[part],
            weights=None if data.document_weights is None else data.document_weights[part],
            query_weights=None if data.query_weights is None else data.query_weights[queries[part]],
            features=data.features[part],
        )


def assemble(plan: ColumnPlan, block: Block) -> RankingData:
    """RankingData of a whole table."""
    data = RankingData(
        block.features,
        block.labels,
        block.qid,
        document_ids=block.document_ids,
        document_weights=block.weights,
        feature_names=plan.feature_names,
    )
    if block.query_weights is None:
        return data
    weights = data.from_caller_order(block.query_weights)
    first = weights[data.query_offsets[:-1]]
    differs = weights != np.repeat(first, data.query_sizes)
    if differs.any():
        k = int(np.argmax(differs))
        raise DataError(
            f"column {plan.query_weight!r} is {weights[k]:g} in row {caller_row(data, k)} "
            f"and {first[data.document_queries[k]]:g} before in query {data.qid[k]}; a query has one weight"
        )
    return data.replace_grouped(query_weights=first)
