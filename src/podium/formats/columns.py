"""The roles of a table's columns (label, query id, feature and so on), for CSV, Arrow, Parquet and frames alike."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.data.checks import caller_row
from podium.data.feature_names import default_names
from podium.data.grouping import id_texts, query_runs, text_array
from podium.data.matching import ModelFeatures, match_columns
from podium.data.ordering import positions
from podium.errors import DataError, ParameterError, UnknownNameError, nearest_name
from podium.rules import Choice, Custom, Rule, Text

Array = npt.NDArray[Any]
BLOCK_ROWS = 1 << 16
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the row numbers that it adds to a file
UNNAMED = re.compile(r"\s*|Unnamed: \d+")  # those that it adds to CSV have no name; when it reads them back, this one
LISTS = ("features", "categorical_features", "ignore")  # options that are lists of columns


class RoleOptions(TypedDict, total=False):
    """The options that readers and writers of tables share."""

    label_column: str
    query_column: str
    document_column: str
    weight_column: str
    query_weight_column: str
    features: Sequence[str] | None
    categorical_features: Sequence[str] | None
    ignore: Sequence[str] | None
    labels: Literal["required", "ignore"]


COLUMN_NAMES = tuple(name for name in RoleOptions.__annotations__ if name.endswith("_column"))
NAME_LIST = Custom(list, "must be a list of column names", lambda text: text.split(","), "NAME,…")
LABELS = Choice("required", "ignore")
ROLE_RULES: dict[str, Rule] = {
    **dict.fromkeys(COLUMN_NAMES, Text()),
    **dict.fromkeys(LISTS, NAME_LIST),
    "labels": LABELS,
}


@dataclass(frozen=True)
class Roles:
    """Which column of a table is what.

    Attributes:
        label_column: Name of the column of labels, which must be there unless `labels` is "ignore".
        query_column: Name of the column of query ids, which must be there.
        document_column: Name of the column of document ids, used if it is there.
        weight_column: Name of the column of document weights, used if it is there.
        query_weight_column: Name of the column of query weights, used if it is there; one value in all rows of a query.
        features: Names of the columns that are features, in their order; by default every column without another role.
        categorical_features: Names of the features whose values are categories, whatever their type.
        ignore: Names of the columns to leave out.
        labels: "required", or "ignore" for documents that are only to be scored: there need be no labels, those that there
            are count for nothing, and the label of every document is 0.
    """

    label_column: str = "label"
    query_column: str = "qid"
    document_column: str = "docid"
    weight_column: str = "weight"
    query_weight_column: str = "query_weight"
    features: Sequence[str] | None = None
    categorical_features: Sequence[str] | None = None
    ignore: Sequence[str] | None = None
    labels: Literal["required", "ignore"] = "required"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Roles:
        """Return the roles that options name; an unknown option is a ParameterError."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known)
        for name in LISTS:
            if isinstance(options.get(name), str):
                raise ParameterError(name, options[name], "must be a list of column names")
        check_labels_option(options.get("labels", "required"))
        return cls(**options)


def check_labels_option(given: object) -> None:
    """Raise a ParameterError unless the option `labels` of a reader is one of its two words."""
    if given not in ("required", "ignore"):
        raise ParameterError("labels", given, "must be 'required' or 'ignore'")


@dataclass(frozen=True)
class ColumnPlan:
    """The columns of one table, by name; None if there is none for the role.

    Attributes:
        label: The column of labels; None if labels are ignored, so that each is 0.
        named: Whether somebody named the features, so that text, times and lists among them are there on purpose.
        categorical: The features to read as categories, whatever their type.
        categories: The categories of the features to write as such, in the order of their codes.
    """

    label: str | None
    query: str
    document: str | None
    weight: str | None
    query_weight: str | None
    features: tuple[str, ...]
    named: bool = False
    categorical: frozenset[str] = frozenset()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Return every column in use, roles first."""
        roles = (self.label, self.query, self.document, self.weight, self.query_weight)
        return [name for name in roles if name is not None] + list(self.features)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return the names of the features; None if they are f0, f1, …, which is how features without names are written."""
        return None if self.features == default_names(len(self.features)) else self.features


@dataclass(frozen=True)
class Block:
    """Some rows of a table, column by column; query ids and both kinds of weights have one value per row."""

    labels: npt.NDArray[np.float64]
    qid: Array
    document_ids: Strings | None
    weights: npt.NDArray[np.float64] | None
    query_weights: npt.NDArray[np.float64] | None
    features: npt.NDArray[np.float32]


def plan_reading(names: Sequence[str], roles: Roles) -> ColumnPlan:
    """Decide which of a table's columns has which role."""
    found = f"Columns found: {', '.join(map(repr, names))}"
    twice = _first_repeated(names)
    if twice is not None:
        raise DataError(f"column {twice!r} occurs twice; give each column its own name. {found}")
    ignored = _ignored_columns(names, roles, found)
    names = [name for name in names if name not in ignored]
    read_labels = roles.labels == "required"
    label = _role_column(names, roles, "label_column", None if read_labels else roles.label_column, found)
    query = _role_column(names, roles, "query_column", None, found)
    document, weight, query_weight = (
        _role_column(names, roles, role, getattr(Roles, role), found)
        for role in ("document_column", "weight_column", "query_weight_column")
    )
    used = [name for name in (label, query, document, weight, query_weight) if name is not None]
    twice = _first_repeated(used)
    if twice is not None:
        second = [role for role in COLUMN_NAMES if getattr(roles, role) == twice][1]
        raise ParameterError(second, twice, "names a column that has another role", "give each role its own column")
    features = _feature_columns(names, used, roles, found)
    for name in roles.categorical_features or ():
        if name not in features:
            raise ParameterError("categorical_features", name, "names no feature column", f"name features. {found}")
    return ColumnPlan(
        label if read_labels else None,
        str(query),
        document,
        weight,
        query_weight,
        features,
        named=roles.features is not None,
        categorical=frozenset(roles.categorical_features or ()),
    )


def _first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs a second time, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _role_column(names: Sequence[str], roles: Roles, role: str, default: str | None, found: str) -> str | None:
    """Return the column of a role; None if there is none and the role may be empty."""
    name: str = getattr(roles, role)
    if name in names:
        return name
    if name == default:
        return None
    near = nearest_name(name, names) if getattr(roles, role) != getattr(Roles, role) else ""
    hint = f"{near} Or name" if near else "name"
    raise DataError(f"there is no column {name!r}", remedy=f"{hint} one with {{{role}=…}}. {found}")


def _ignored_columns(names: Sequence[str], roles: Roles, found: str) -> set[str]:
    """Return the columns to leave out, each of which must be there."""
    for name in roles.ignore or ():
        if name not in names:
            raise ParameterError("ignore", name, "names no column", found)
        for other in ("features", "categorical_features"):
            if name in (getattr(roles, other) or ()):
                raise ParameterError(
                    "ignore", name, f"names a column that {other} names too", "leave one of the two out"
                )
    return set(roles.ignore or ())


def _feature_columns(names: Sequence[str], used: Sequence[str], roles: Roles, found: str) -> tuple[str, ...]:
    if roles.features is None:
        free = [name for name in names if name not in used and not PANDAS_INDEX.fullmatch(name)]
        unnamed = [name for name in free if UNNAMED.fullmatch(name)]
        if unnamed:
            which = f"the column {unnamed[0]!r}" if unnamed[0].strip() else "the column without a name"
            warnings.warn(
                f"{which} is not taken as a feature, because pandas writes its row numbers to CSV as such a column; write CSV "
                "with index=False, or give the column a name",
                stacklevel=2,
            )
        return tuple(name for name in free if name not in unnamed)
    known = set(names)
    if isinstance(roles.features, ModelFeatures):
        free = [name for name in names if name not in used and not (PANDAS_INDEX.fullmatch(name) or not name.strip())]
        match_columns(free, roles.features, len(roles.features), data="the table")
    for name in roles.features:
        if name not in known:
            raise DataError(f"there is no column {name!r}, asked for in features=…. {found}")
        if name in used:
            raise ParameterError("features", name, "names a column that has another role", "leave it out")
    twice = _first_repeated(roles.features)
    if twice is not None:
        raise ParameterError("features", twice, "names a column twice", "name each column once")
    return tuple(roles.features)


def plan_writing(data: RankingData, roles: Roles) -> ColumnPlan:
    """Decide which columns the data is written as; a DataError says what a table cannot hold."""
    for name in (*LISTS, "labels"):
        if getattr(roles, name) != getattr(Roles, name):
            raise ParameterError(name, rule="is an option for reading", remedy="leave it out: everything is written")
    if data.pairs is not None:
        raise DataError(
            "a table of documents has no place for preference pairs",
            remedy="leave them out: {without=pairs}, or write the binary cache",
        )
    features = data.feature_names if data.feature_names is not None else default_names(data.n_features)
    plan = ColumnPlan(
        roles.label_column,
        roles.query_column,
        None if data.document_ids is None else roles.document_column,
        None if data.document_weights is None else roles.weight_column,
        None if data.query_weights is None else roles.query_weight_column,
        features,
        categories=_written_categories(data, features),
    )
    twice = _first_repeated(plan.names)
    if twice is not None:
        raise DataError(
            f"two columns would be called {twice!r}; rename the feature, or the role with an option such as "
            "label_column=…"
        )
    # A reader finds a role by its name, so no feature may have the name of a role that the data does not use.
    unused = {roles.document_column, roles.weight_column, roles.query_weight_column}
    for name in features:
        if name in unused:
            raise DataError(f"feature {name!r} has the name of another role; rename it, or the role with an option")
    return plan


def _written_categories(data: RankingData, features: Sequence[str]) -> dict[str, tuple[str, ...]]:
    written = {}
    for column, names in (data.categorical_features or {}).items():
        if names is None:
            raise DataError(
                f"feature {features[column]!r} is categorical and its categories have no names, which a table cannot hold",
                remedy="write the binary cache, or the codes as numbers: {without=categorical_features}",
            )
        written[features[column]] = names
    return written


def written_ids(query_ids: Array) -> Array:
    """Return query ids as files hold them: numbers as they are, any other value as its text."""
    if query_ids.dtype.kind in "iuf":
        return query_ids
    texts = id_texts(query_ids)
    if len(set(texts)) != len(texts):
        raise DataError("two query ids print the same text, so a file cannot tell them apart; give ids of one type")
    return text_array(texts)


def row_blocks(data: RankingData, rows: int = BLOCK_ROWS) -> Iterator[Block]:
    """Yield the data in the caller's row order, some rows at a time."""
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


def assemble(
    plan: ColumnPlan,
    block: Block,
    feature_names: Sequence[str] | None,
    categories: Mapping[int, tuple[str, ...] | None] | None = None,
    *,
    in_runs: bool = False,
) -> RankingData:
    """Return the data of a whole table.

    With `in_runs`, rows stay in their order: those next to each other that have the same query id make a query, so that an id
    may occur more than once.
    """
    runs = query_runs(block.qid, len(block.labels)) if in_runs else None
    data = RankingData(
        block.features,
        block.labels,
        block.qid if runs is None else runs[1],
        document_ids=block.document_ids,
        document_weights=block.weights,
        feature_names=feature_names,
        categorical_features=categories or None,
    )
    if runs is not None:
        parts = {name: getattr(data, name) for name in RankingData.PARTS}
        data = RankingData.of_parts(check=False, **{**parts, "query_ids": runs[0]})
    if block.query_weights is None:
        return data
    weights = data.from_caller_order(block.query_weights)
    first = weights[data.query_offsets[:-1]]
    differs = weights != np.repeat(first, data.query_sizes)
    if differs.any():
        k = int(np.argmax(differs))
        raise DataError(
            f"column {plan.query_weight!r} is {weights[k]:g} in row {caller_row(data, k)} "
            f"and {first[data.document_queries[k]]:g} in an earlier row of query {data.qid[k]}; a query has one weight"
        )
    return data.replace_grouped(query_weights=first)
