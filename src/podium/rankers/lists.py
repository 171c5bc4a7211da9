"""ListNet and ListMLE: forces over the whole list."""

from __future__ import annotations

from dataclasses import dataclass

from podium.forces import FORCES, Force
from podium.rankers.pairs import NetRanker


@dataclass(kw_only=True, eq=False, repr=False)
class ListNet(NetRanker):
    """Cross entropy of softmax(labels) and softmax(scores) × linear or net. [Cao et al. 2007, top one]"""

    def _force(self) -> Force:
        return Force.of(FORCES["listnet"])


@dataclass(kw_only=True, eq=False, repr=False)
class ListMLE(NetRanker):
    """Likelihood of the order by label × linear or net; equal labels are ordered at random, anew each epoch. [Xia et al. 2008]"""

    def _force(self) -> Force:
        return Force.of(FORCES["listmle"])
