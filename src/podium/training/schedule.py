"""The schedule: how a function class absorbs the forces."""

from __future__ import annotations

from dataclasses import dataclass

from podium.data.conversion import as_number
from podium.errors import ParameterError, is_integer, short_repr, unknown_name

OPTIMIZERS = ("adam", "sgd", "lbfgs", "bundle")
RATE_RULES = ("constant", "halve", "shrink")


@dataclass(frozen=True)
class Schedule:
    """How a function class absorbs the forces.

    Attributes:
        optimizer: adam or sgd, an update a batch; lbfgs, an iteration over all queries for a force with a cost; bundle,
            the same for hinge, whose cost has corners.
        learning_rate: of adam and sgd.
        batch: queries an update, or "pair": an update for every single pair of documents.
        epochs: at most this many passes over the data.
        l2: ½·l2·‖weights‖² is added to the mean cost of a query; a bias is free.
        rate_rule: constant; halve, when the epoch's mean cost rises [RankNet]; shrink, ×0.8 when the training metric
            falls [LambdaRank].
        restart_rounds: begin again with new weights after this many epochs without progress since they were last drawn, on
            the validation data or, without any, on the training data; the best is kept.
        early_stopping_rounds: stop after this many epochs without progress on the validation data.
        tolerance: of bundle, and of lbfgs where the problem is convex and l2 > 0, the gap to the least objective that is
            proven to be left, as a share of the objective; of lbfgs elsewhere, the share of the first gradient.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.001
    batch: int | str = 1
    epochs: int = 100
    l2: float = 0.0
    rate_rule: str = "constant"
    restart_rounds: int | None = None
    early_stopping_rounds: int | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("optimizer", self.optimizer, OPTIMIZERS)
        if self.rate_rule not in RATE_RULES:
            raise unknown_name("rate_rule", self.rate_rule, RATE_RULES)
        if self.batch != "pair" and not (is_integer(self.batch) and 1 <= int(self.batch) < 2**31):
            raise ParameterError(f"batch={short_repr(self.batch)} must be a number of queries of at least 1, or 'pair'")
        if self.batch != "pair":
            object.__setattr__(self, "batch", int(self.batch))
        for name in ("learning_rate", "tolerance", "l2"):
            number = as_number(getattr(self, name))
            if number is None or number < 0 or (number == 0 and name != "l2"):
                rule = "of at least 0" if name == "l2" else "above 0"
                raise ParameterError(f"{name}={short_repr(getattr(self, name))} must be a number {rule}")
            object.__setattr__(self, name, float(number))
        for name in ("epochs", "restart_rounds", "early_stopping_rounds"):
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if not (is_integer(value) and value >= 1):
                never = "" if name == "epochs" else "; None for never"
                raise ParameterError(f"{name}={short_repr(value)} must be a whole number of at least 1{never}")
            object.__setattr__(self, name, int(value))
        if self.full and (self.batch != 1 or self.rate_rule != "constant" or self.restart_rounds is not None):
            raise ParameterError(
                f"optimizer={self.optimizer!r} looks at all queries at once and finds its own steps; "
                "leave out batch, rate_rule and restart_rounds"
            )

    @property
    def full(self) -> bool:
        """Whether every step looks at all queries."""
        return self.optimizer in ("lbfgs", "bundle")
