"""The schedule of trees: how many, how large their steps, and when to stop."""

from __future__ import annotations

from dataclasses import InitVar, dataclass

from podium.data.conversion import as_number
from podium.errors import ParameterError, is_integer, short_repr


@dataclass(frozen=True)
class BoostSchedule:
    """How trees absorb the forces, one after the other.

    Attributes:
        epochs: at most this many rounds: a tree each, or one for every output and forest.
        learning_rate: what a leaf's value is multiplied by; None is chosen by the size of the data.
        early_stopping_rounds: stop after this many rounds without progress on the validation data.
        smoothing: a round is judged by the mean of the validation values of so many rounds before and after it, and of
            its own (at most a tenth of the rounds there are): with few validation queries the best single value is best by
            chance. None is chosen by the size of the data; 0 takes the single value.
        max_seconds: begin no round after this long. What is trained then depends on the machine.
        dart: the share of earlier trees that a round leaves out, at random, before it looks at the forces; the new tree
            and they then share the room. [Vinayak and Gilad-Bachrach 2015]
        closed_form: RankBoost's weight of a stump instead of the Newton step. [Freund et al. 2003]
        called: what errors call `epochs`, since rankers have names of their own for it.
    """

    epochs: int = 1000
    learning_rate: float | None = None
    early_stopping_rounds: int | None = None
    smoothing: int | None = None
    max_seconds: float | None = None
    dart: float = 0.0
    closed_form: bool = False
    called: InitVar[str] = "epochs"

    def __post_init__(self, called: str) -> None:
        for name, least in (("epochs", 1), ("early_stopping_rounds", 1), ("smoothing", 0)):
            value = getattr(self, name)
            if value is None and name != "epochs":
                continue
            if not (is_integer(value) and value >= least):
                never = "; None for never" if name == "early_stopping_rounds" else ""
                raise ParameterError(
                    f"{called if name == 'epochs' else name}={short_repr(value)} must be a whole number of at least {least}{never}"
                )
            object.__setattr__(self, name, int(value))
        for name in ("learning_rate", "max_seconds"):
            number = as_number(getattr(self, name))
            if getattr(self, name) is None:
                continue
            if number is None or not 0 < number < float("inf"):
                raise ParameterError(f"{name}={short_repr(getattr(self, name))} must be a number above 0")
            object.__setattr__(self, name, float(number))
        share = as_number(self.dart)
        if share is None or not 0 <= share < 1:
            raise ParameterError(f"dart={short_repr(self.dart)} must be a share of at least 0 and below 1")
        object.__setattr__(self, "dart", float(share))
