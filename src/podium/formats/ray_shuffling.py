"""Putting the rows of queries together with Ray Data, which keeps on disk what the memory of the cluster does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from podium.cluster import Ray, connect
from podium.data import RankingData, Strings
from podium.errors import ClusterError, MissingExtraError
from podium.formats.shards import Shard, ShardPlan
from podium.formats.shuffling import Places, feature_blocks, of_rows, targets

COLUMNS = ("labels", "document_ids", "document_weights")


def write_shuffled(engine: Ray, plan: ShardPlan, places: Places, data: RankingData) -> Iterator[Shard]:
    """Write every shard in a task of the cluster, and yield them in order. All workers must reach the directory."""
    order = places.order
    assert order is not None
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    target = targets([places.rows(cut) for cut in plan.cuts], data.n_documents)
    with connect(engine) as ray:
        ray_data = _import_ray_data()
        blocks = []
        for row, block in feature_blocks(data):
            rows = np.arange(row, row + len(block))
            blocks.append(ray.put(_table(data, rows, target[rows], place[rows], block)))
        queries = ray.put([places.queries(data, cut) for cut in plan.cuts])
        shuffled = ray_data.from_arrow_refs(blocks).repartition(len(plan.cuts), keys=["part"])
        grouped = shuffled.groupby("part").map_groups(partial(_write_group, plan, queries), batch_format="pyarrow")
        found = {int(row.pop("part")): Shard(**row) for row in grouped.iter_rows()}
    for number in range(len(plan.cuts)):
        if number not in found or not (plan.folder / found[number].file).is_file():
            raise ClusterError(
                f"part {number} was not written where this machine sees it; {plan.folder} must be a folder that all workers share"
            )
        yield found[number]


def _import_ray_data() -> Any:
    try:
        import ray.data
    except ImportError as error:
        raise MissingExtraError(f"shuffling with Ray needs {error.name}: pip install 'podium[cluster]'") from None
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.use_disk_based_hash_shuffle = True  # older versions ignore it, and spill their object store
    return ray.data


def _table(data: RankingData, rows: Any, target: Any, place: Any, features: Any) -> Any:
    """Return rows as a table: what they have, the part they go to, and their place."""
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(features).reshape(-1))
    columns = {"part": target, "place": place, "features": pa.FixedSizeListArray.from_arrays(flat, data.n_features)}
    for name, values in of_rows(data, rows).items():
        if values is not None:
            columns[name] = list(values) if isinstance(values, Strings) else values
    return pa.table(columns)


def _write_group(plan: ShardPlan, queries: Any, table: Any) -> Any:
    """Write the shard whose rows a table holds, in a worker."""
    import pyarrow as pa
    import ray

    table = table.sort_by("place").combine_chunks()
    number = table["part"][0].as_py()
    values = table["features"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    parts: dict[str, Any] = dict.fromkeys(COLUMNS)
    for name in COLUMNS:
        if name in table.column_names:
            column = table[name]
            parts[name] = Strings.of(column.to_pylist()) if name == "document_ids" else column.to_numpy()
    features = values.reshape(table.num_rows, plan.n_features)
    part = RankingData.of_parts(check=False, features=features, **parts, **ray.get(queries)[number])
    shard = plan.write(number, part)
    return pa.table({"part": [number], **{name: [value] for name, value in vars(shard).items()}})
