"""The schedule: how a function class absorbs the forces."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.errors import ParameterError, is_whole, shown, unknown_name

OPTIMISERS = ("adam", "sgd", "lbfgs", "bundle")
RATE_RULES = ("constant", "halve", "shrink")


@dataclass(frozen=True)
class Schedule:
    """How a function class absorbs the forces.

    Attributes:
        optimiser: adam or sgd, an update a batch; lbfgs, an iteration over all queries for a force with a cost; bundle,
            the same for hinge, whose cost has corners.
        learning_rate: of adam and sgd.
        batch: queries an update, or "pair": an update for every single pair of documents.
        epochs: at most this many passes over the data.
        l2: ½·l2·‖weights‖² is added to the mean cost of a query; a bias is free.
        rate_rule: constant; halve, when the epoch's mean cost rises [RankNet]; shrink, ×0.8 when the training metric
            falls [LambdaRank].
        restart_rounds: begin again with new weights after this many epochs without progress; the best is kept.
        early_stopping_rounds: stop after this many epochs without progress on the validation data.
        tolerance: of lbfgs, how small the gradient must become, as a share of what it was at the start; of bundle, the
            duality gap as a share of the objective.
    """

    optimiser: str = "adam"
    learning_rate: float = 0.001
    batch: int | str = 1
    epochs: int = 100
    l2: float = 0.0
    rate_rule: str = "constant"
    restart_rounds: int | None = None
    early_stopping_rounds: int | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise unknown_name("optimiser", self.optimiser, OPTIMISERS)
        if self.rate_rule not in RATE_RULES:
            raise unknown_name("rate_rule", self.rate_rule, RATE_RULES)
        if self.batch != "pair" and not (is_whole(self.batch) and 1 <= int(self.batch) < 2**31):
            raise ParameterError(f"batch={shown(self.batch)} must be a number of queries of at least 1, or 'pair'")
        for name, least in (("learning_rate", 0.0), ("tolerance", 0.0)):
            value = getattr(self, name)
            if not _is_number(value) or not least < value < math.inf:
                raise ParameterError(f"{name}={shown(value)} must be a number above {least:g}")
        if not _is_number(self.l2) or not 0 <= self.l2 < math.inf:
            raise ParameterError(f"l2={shown(self.l2)} must be a number of at least 0")
        for name in ("epochs", "restart_rounds", "early_stopping_rounds"):
            value = getattr(self, name)
            if not (value is None and name != "epochs") and not (is_whole(value) and value >= 1):
                raise ParameterError(f"{name}={shown(value)} must be a whole number of at least 1")
        if self.full and (self.batch != 1 or self.rate_rule != "constant" or self.restart_rounds is not None):
            raise ParameterError(
                f"optimiser={self.optimiser!r} looks at all queries at once and finds its own steps; "
                "leave out batch, rate_rule and restart_rounds"
            )

    @property
    def full(self) -> bool:
        """Whether every step looks at all queries."""
        return self.optimiser in ("lbfgs", "bundle")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
