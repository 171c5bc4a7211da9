"""Whether votes determine scores: Ford's condition, query by query, and the documents that break it by name.

Maximum likelihood scores exist and are unique exactly if, however the documents of a query are divided into two sets, some
document of each set has won a vote against the other: the graph with an arc from each winner to its loser is strongly
connected. [Ford 1957]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from podium.data.grouping import distinct
from podium.posteriors.graph import Graph
from podium.posteriors.odds import Floats

Ints = npt.NDArray[np.int64]
SHOWN_NAMES = 5  # documents of a set that a message lists


@dataclass(frozen=True, eq=False)
class Group:
    """The documents that votes of one query compare, and their pairs.

    Attributes:
        documents: the numbers of the documents in the graph, ascending.
        pairs: the numbers of the pairs in the graph.
        winner: the place in `documents` of each pair's winner.
        loser: the place in `documents` of each pair's loser.
        query: the query, or None if there are no queries.
    """

    documents: Ints
    pairs: Ints
    winner: Ints
    loser: Ints
    query: Any


def groups_of(graph: Graph) -> Iterator[Group]:
    """Yield the documents and pairs of each query that has pairs of a weight above 0; all together if there are no queries."""
    used = np.flatnonzero(graph.weight > 0)
    codes = np.zeros(len(graph.documents), np.int64) if graph.queries is None else distinct(graph.queries)[0]
    order = used[np.argsort(codes[graph.winner[used]], kind="stable")]
    bounds = np.flatnonzero(np.diff(codes[graph.winner[order]])) + 1
    for pairs in np.split(order, bounds):
        documents = np.unique([graph.winner[pairs], graph.loser[pairs]])
        winner, loser = (np.searchsorted(documents, side[pairs]) for side in (graph.winner, graph.loser))
        query = None if graph.queries is None else graph.queries[documents[0]]
        yield Group(documents, pairs, winner, loser, query)


def undetermined_reason(graph: Graph, group: Group, wins: Floats, losses: Floats) -> str | None:
    """Return why the votes of a group determine no scores, as a sentence that names the documents; None if they do."""
    whose = "the votes" if group.query is None else f"the votes of query {group.query}"
    names = graph.documents[group.documents]
    every = np.ones(len(group.pairs), bool)
    n_parts, part = _components(group, every, every)
    if n_parts > 1:
        sets = [_listed(names[part == number]) for number in range(min(n_parts, 3))]
        more = " | …" if n_parts > 3 else ""
        return (
            f"{whose} fall into {n_parts} parts that no vote joins, {' | '.join(sets)}{more}; add votes that join them"
        )
    n_sets, member = _components(group, wins[group.pairs] > 0, losses[group.pairs] > 0)
    if n_sets == 1:
        return None
    top = _undefeated(group, member, wins[group.pairs] > 0, losses[group.pairs] > 0)
    rest = names[member != top]
    order = f"{_listed(names[member == top])} ranks above {_listed(rest)}"
    return f"{whose} are certain that {order}, so that no finite scores are best; a prior of 0.5 adds half a vote to each side"


def _components(group: Group, forward: npt.NDArray[np.bool_], backward: npt.NDArray[np.bool_]) -> tuple[int, Ints]:
    """Number the strongly connected sets of documents; arcs go to the loser if `forward` and to the winner if `backward`."""
    sources = np.concatenate([group.winner[forward], group.loser[backward]])
    targets = np.concatenate([group.loser[forward], group.winner[backward]])
    count = len(group.documents)
    arcs = coo_array((np.ones(len(sources)), (sources, targets)), shape=(count, count))
    n_sets, member = connected_components(arcs, directed=True, connection="strong")
    return int(n_sets), np.asarray(member, np.int64)


def _undefeated(group: Group, member: Ints, forward: npt.NDArray[np.bool_], backward: npt.NDArray[np.bool_]) -> int:
    """Return the first set that has lost no vote to a document outside."""
    winner, loser = member[group.winner], member[group.loser]
    beaten = np.concatenate([loser[forward & (winner != loser)], winner[backward & (winner != loser)]])
    standing = np.setdiff1d(member, beaten)
    return int(member[np.argmax(np.isin(member, standing))])


def _listed(names: npt.NDArray[Any]) -> str:
    """Return names as a list in braces, cut short."""
    shown = [str(name) for name in names[:SHOWN_NAMES].tolist()]
    more = [f"… {len(names)} in all"] if len(names) > SHOWN_NAMES else []
    return f"{{{', '.join([*shown, *more])}}}"
