"""pandas and polars frames and pyarrow tables, to and from RankingData."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Strings
from podium.errors import DataError, MissingExtraError, ParameterError, unknown_name
from podium.formats.arrow import from_table, record_batch, require_pyarrow
from podium.formats.columns import Block, RoleOptions, Roles, assemble, plan_reading, plan_writing, row_blocks

LIBRARIES = ("pandas", "polars", "pyarrow")


def from_frame(frame: Any, **roles: Unpack[RoleOptions]) -> RankingData:
    """RankingData of a pandas or polars frame or a pyarrow table, columns by name; see `Roles` for the options."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pyarrow":
        return from_table(frame, Roles.of(roles))
    if library not in LIBRARIES or not hasattr(frame, "columns"):
        raise ParameterError(f"a frame is from pandas, polars or pyarrow, not a {type(frame).__name__}")
    columns = dict(zip(map(str, frame.columns), frame.columns, strict=False))
    if len(columns) != len(frame.columns):
        raise DataError("two columns of the frame have the same name; rename one")
    plan = plan_reading(list(columns), Roles.of(roles))

    def numbers(name: str | None) -> npt.NDArray[Any] | None:
        return None if name is None else _numbers(frame[columns[name]], name, library)

    features = np.empty((len(frame), len(plan.features)), np.float32)
    for k, name in enumerate(plan.features):
        with np.errstate(over="ignore"):  # RankingData reports what is infinite as float32
            features[:, k] = _numbers(frame[columns[name]], name, library)
    labels = _numbers(frame[columns[plan.label]], plan.label, library)
    block = Block(
        labels=labels,
        qid=frame[columns[plan.query]],
        document_ids=None if plan.document is None else _texts(frame[columns[plan.document]], plan.document, library),
        weights=numbers(plan.weight),
        query_weights=numbers(plan.query_weight),
        features=features,
    )
    return assemble(plan, block)


def to_frame(data: RankingData, library: str = "pandas", **roles: Unpack[RoleOptions]) -> Any:
    """The data as a frame of the library, rows in the caller's order: label, query id, the other roles, the features."""
    if library not in LIBRARIES:
        raise unknown_name("library of frames", library, LIBRARIES)
    plan = plan_writing(data, Roles.of(roles))
    (block,) = row_blocks(data, data.n_documents)
    if library == "pyarrow":
        return require_pyarrow().Table.from_batches([record_batch(plan, block)])
    documents = None if block.document_ids is None else list(block.document_ids)
    heads = [block.labels, block.qid.tolist() if block.qid.dtype.kind in "OU" else block.qid, documents]
    heads += [block.weights, block.query_weights]
    columns = dict(zip(plan.names, [head for head in heads if head is not None], strict=False))
    if library == "pandas":
        pandas = _load("pandas")
        features = pandas.DataFrame(block.features, columns=list(plan.features))
        return pandas.concat([pandas.DataFrame(columns), features], axis=1)
    polars = _load("polars")
    return polars.DataFrame(columns | dict(zip(plan.features, block.features.T, strict=True)))


def _numbers(series: Any, name: str, library: str) -> npt.NDArray[Any]:
    """A column of numbers, NaN where missing."""
    if library == "polars":
        if not (series.dtype.is_numeric() or str(series.dtype) in ("Boolean", "Null")):
            raise _not_numbers(name, str(series.dtype))
        return np.asarray(series.cast(_load("polars").Float64).to_numpy())
    try:
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise _not_numbers(name, str(series.dtype)) from None


def _not_numbers(name: str, kind: str) -> DataError:
    return DataError(f"column {name!r} is {kind}, not numbers; cast it, or name the feature columns with features=[…]")


def _texts(series: Any, name: str, library: str) -> Strings:
    missing = int(series.null_count() if library == "polars" else series.isna().sum())
    if missing:
        raise DataError(f"column {name!r} has {missing} missing document ids; give one a row")
    return Strings.of(series)


def _load(library: str) -> Any:
    try:
        return __import__(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install 'podium[frames]'") from None
