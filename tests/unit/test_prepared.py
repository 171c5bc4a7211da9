"""What is found once per data set: it follows a change of the data, and the core refuses arrays that do not fit it."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium.forces import ForceData
from podium.metrics import CheckedQueries, Documents


def test_a_force_is_prepared_anew_for_another_number_of_levels():
    """PyTorch's losses change the number on the data that they keep: the outputs of `multiclass` follow the scores."""
    data = podium.RankingData(np.zeros((6, 1)), np.array([0, 1, 2, 0, 1, 1]), np.array([1, 1, 1, 2, 2, 2]))
    force, held = podium.force("multiclass"), ForceData(data)
    for levels in (3, 5, 3):
        held.levels = levels
        scores = np.linspace(-1, 1, 6 * levels).reshape(6, levels)
        found, fresh = force.compute(scores, held), force.compute(scores, ForceData(data, levels=levels))
        assert found.force.tobytes() == fresh.force.tobytes()
        assert found.force.size == 6 * levels


def test_the_core_refuses_arrays_of_another_size():
    data = podium.RankingData(np.zeros((3, 1)), np.array([0, 1, 2]), np.ones(3))
    judge = CheckedQueries.of([podium.metric("ndcg")], Documents((), data.labels, data.query_offsets), 3, 1)
    with pytest.raises(ValueError, match="scores has size 1, and 3 is needed"):
        judge.values(np.zeros(1))
