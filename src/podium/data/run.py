"""A ranking by document ids, as TREC run files hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.strings import Strings


@dataclass(frozen=True, eq=False)
class Run:
    """Scores of retrieved documents: row k says that `document_ids[k]` scored `scores[k]` for `query_ids[k]`."""

    query_ids: npt.NDArray[Any]
    document_ids: Strings
    scores: npt.NDArray[np.float64]
    tag: str = "podium"

    def __len__(self) -> int:
        return len(self.scores)
