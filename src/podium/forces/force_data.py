"""What forces take and give: the data in the core's form, and force, curvature and cost of every document and query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData
from podium.data.hashing import query_hashes
from podium.forces.network_inputs import DocumentInputs

if TYPE_CHECKING:
    from podium.forces.force import Force

Floats = npt.NDArray[np.float64]


class ForceData:
    """Labels, weights and preference pairs in the form that forces take; made once per data set and used in every round.

    Random draws depend on `query_keys`, one number per query, and by default on the ids of the queries. `levels` is how many
    levels labels have where these are only some of the queries; by default one more than the highest label here.
    """

    def __init__(
        self, data: RankingData, *, query_keys: npt.NDArray[np.uint64] | None = None, levels: int | None = None
    ) -> None:
        self.levels = int(data.labels.max()) + 1 if levels is None else levels
        self.checked: set[Force] = set()  # forces that are known to be defined on these labels
        self.labels, self.n_documents, self.n_queries = data.labels, data.n_documents, data.n_queries
        self.document_weights, self.pairs = data.document_weights, data.pairs
        self._data, self._keys = data, query_hashes(data.query_ids, 0) if query_keys is None else query_keys
        self._plain: _core.ForceInputs | None = None
        self._prepared: dict[tuple[Force, int], _core.PreparedForce] = {}  # by force and number of levels
        self._special: dict[Force, _core.ForceInputs] = {}  # of forces that need more of the documents
        self._document_inputs: dict[Force, DocumentInputs] = {}
        self._part_of: tuple[ForceData, npt.NDArray[np.int64]] | None = None

    def part(self, data: RankingData, queries: npt.NDArray[np.int64]) -> ForceData:
        """Return the form of some of the queries, given their data; a function of the user's is not asked again."""
        found = ForceData(data, levels=self.levels)
        found._part_of = self, queries
        return found

    def core_for(self, force: Force) -> _core.ForceInputs:
        """Return the data as the core takes it for a force."""
        acting = force.acting
        if not acting.definition.needs_documents(acting):
            acting.definition.check_data(acting, self._data)
            self._plain = self._make_core() if self._plain is None else self._plain
            return self._plain
        if acting not in self._special:
            acting.definition.check_data(acting, self._data)
            core = self._make_core()
            self._inputs_for(acting, core).pass_to(core)
            self._special[acting] = core
        return self._special[acting]

    def prepared(self, force: Force) -> _core.PreparedForce:
        """Return the force on these queries as the core takes it; it is kept, unless a function of the user's could change."""
        key = force, force.n_classes(self)  # PyTorch's losses change the number of levels
        if key in self._prepared:
            return self._prepared[key]
        made = _core.PreparedForce(force.core_spec(key[1]), self.core_for(force))
        if not force.acting.is_custom:
            self._prepared[key] = made
        return made

    def _inputs_for(self, force: Force, core: _core.ForceInputs | None = None) -> DocumentInputs:
        if self._part_of is not None:
            whole, queries = self._part_of
            return whole._inputs_for(force).select(whole._data.query_offsets, queries)
        if force not in self._document_inputs:
            find = force.definition.document_inputs
            assert find is not None
            self._document_inputs[force] = find(force, self._data, self._make_core() if core is None else core)
        return self._document_inputs[force]

    def _make_core(self) -> _core.ForceInputs:
        data = self._data
        core = _core.ForceInputs(
            np.ascontiguousarray(data.labels),
            np.ascontiguousarray(data.query_offsets),
            document_weights=None if data.document_weights is None else np.ascontiguousarray(data.document_weights),
            query_weights=None if data.query_weights is None else np.ascontiguousarray(data.query_weights),
            query_keys=self._keys,
        )
        if data.pairs is not None:
            queries = data.document_queries[data.pairs.winner]
            order = np.argsort(queries, kind="stable")
            first = data.query_offsets[queries[order]]
            core.set_pairs(
                data.pairs.winner[order] - first,
                data.pairs.loser[order] - first,
                data.pairs.probability[order],
                data.pairs.weight[order],
                np.searchsorted(queries[order], np.arange(data.n_queries + 1)),
            )
        return core


@dataclass(frozen=True)
class ForceOutcome:
    """The result of a force: force and curvature per document, cost and the force on its own parameters per query."""

    force: Floats
    curvature: Floats | None
    cost: Floats | None
    parameter_force: Floats | None
