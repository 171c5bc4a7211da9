"""ListNet and ListMLE, whose forces look at the whole list of a query."""

from __future__ import annotations

from podium.forces import Force
from podium.rankers.pairs import NetRanker
from podium.rankers.ranker import preset_force


class ListNet(NetRanker):
    """Cross entropy of softmax(labels) and softmax(scores) × linear or net. [Cao et al. 2007, top one]"""

    def _force(self) -> Force:
        return preset_force(self, "listnet")


class ListMLE(NetRanker):
    """Likelihood of the order by label × linear or net; ties are ordered at random in every epoch. [Xia et al. 2008]"""

    def _force(self) -> Force:
        return preset_force(self, "listmle")
