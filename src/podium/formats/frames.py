"""pandas and polars frames and pyarrow tables, to and from RankingData."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from podium.data import RankingData
from podium.data.frame_columns import LIBRARIES, Frame, is_frame
from podium.errors import MissingExtraError, ParameterError, UnknownNameError
from podium.formats.arrow import record_batch, require_pyarrow
from podium.formats.columns import ColumnPlan, RoleOptions, Roles, plan_reading, plan_writing, row_blocks
from podium.formats.gathering import gather


def from_frame(frame: Any, **roles: Unpack[RoleOptions]) -> RankingData:
    """Return the data of a frame, whose columns are found by name.

    Columns of numbers are features, and those of a category type are categorical features. A column of text, of dates or
    times, or of lists is refused unless `features` names it: text then becomes a categorical feature, a time becomes days,
    and a list one feature per place.

    Args:
        frame: A pandas DataFrame, a polars DataFrame or LazyFrame, or a pyarrow Table, RecordBatch or RecordBatchReader.
        **roles: Names of the columns that are not features, and which columns are features; see `Roles`.
    """
    if not is_frame(frame):
        raise ParameterError(
            "frame",
            rule=f"must be a frame of pandas, polars or pyarrow, not a {type(frame).__name__}",
            remedy="make RankingData(X, y, qid) of arrays",
        )
    whole = Frame(frame)
    return gather(plan_reading(whole.names, Roles.of(roles)), [whole], whole.n_rows)


def to_frame(data: RankingData, library: str = "pandas", **roles: Unpack[RoleOptions]) -> Any:
    """Return the data as a frame: label, query id, the other roles and the features, rows in the caller's order.

    Args:
        data: The data.
        library: The library of the frame: pandas, polars or pyarrow.
        **roles: Names for the columns that are not features; see `Roles`.
    """
    if library not in LIBRARIES:
        raise UnknownNameError("library of frames", library, LIBRARIES)
    plan = plan_writing(data, Roles.of(roles))
    (block,) = row_blocks(data, data.n_documents)
    if library == "pyarrow":
        return require_pyarrow().Table.from_batches([record_batch(plan, block)])
    documents = None if block.document_ids is None else list(block.document_ids)
    heads = [block.labels, block.qid.tolist() if block.qid.dtype.kind in "OU" else block.qid, documents]
    heads += [block.weights, block.query_weights]
    columns = dict(zip(plan.names, [head for head in heads if head is not None], strict=False))
    if library == "pandas":
        return _pandas_frame(plan, columns, block.features)
    polars = _load("polars")
    for name, values in zip(plan.features, block.features.T, strict=True):
        codes = plan.categories.get(name)
        columns[name] = values if codes is None else polars.Series(_texts(values, codes), dtype=polars.Enum(codes))
    return polars.DataFrame(columns)


def _pandas_frame(plan: ColumnPlan, columns: dict[str, Any], features: Any) -> Any:
    pandas = _load("pandas")
    frame = pandas.DataFrame(features, columns=list(plan.features))
    for name, categories in plan.categories.items():
        codes = np.where(np.isnan(frame[name]), -1, frame[name]).astype(np.int64)
        frame[name] = pandas.Categorical.from_codes(codes, categories)
    return pandas.concat([pandas.DataFrame(columns), frame], axis=1)


def _texts(codes: Any, categories: tuple[str, ...]) -> list[str | None]:
    return [None if np.isnan(code) else categories[int(code)] for code in codes]


def _load(library: str) -> Any:
    try:
        return __import__(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install 'podium[frames]'") from None
