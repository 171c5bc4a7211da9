"""The schedule of perceptrons: one document after the other."""

from __future__ import annotations

from dataclasses import dataclass

from podium.data.conversion import as_number
from podium.errors import ParameterError, is_integer, short_repr, unknown_name
from podium.models.quadratic import check_width

SHARES = (0.3, 0.5, 0.7)  # of which one is chosen on validation data, and the first is taken without any [RankNet §6]
COUNTS = (5, 10, 20, 50, 100)  # the same for the number of perceptrons, of which the last is taken
FORMS = ("explicit", "kernel")
MOST_PERCEPTRONS = 10_000
MOST_SUPPORTS = 100_000


@dataclass(frozen=True)
class OnlineSchedule:
    """How a function of documents and the thresholds between levels learn, one document after the other.

    Attributes:
        epochs: at most this many passes over the documents, each in an order drawn anew.
        early_stopping_rounds: stop after this many epochs without progress on the validation data.
        levels: how many levels there are; None is one more than the highest label.
        shares: probabilities with which a perceptron takes a document; the best on validation data is kept. None is a
            single perceptron that takes all.
        counts: how many perceptrons are averaged, with each of the shares; the best on validation data is kept.
        width: what inputs are divided by; None is √features, so that the thresholds, which move by whole steps, keep pace
            with the scores.
        form: how a quadratic function is held: whole, or by its support documents; None is a linear function.
        supports: at most this many support documents.
    """

    epochs: int = 50
    early_stopping_rounds: int | None = None
    levels: int | None = None
    shares: tuple[float, ...] | None = None
    counts: tuple[int, ...] = (1,)
    width: float | None = None
    form: str | None = None
    supports: int = 2000

    def __post_init__(self) -> None:
        for name, least, most in (
            ("epochs", 1, None),
            ("early_stopping_rounds", 1, None),
            ("levels", 2, 1000),
            ("supports", 1, MOST_SUPPORTS),
        ):
            value = getattr(self, name)
            if value is None and name in ("early_stopping_rounds", "levels"):
                continue
            if not (is_integer(value) and value >= least and (most is None or value <= most)):
                rule = f"of at least {least}" if most is None else f"from {least} to {most}"
                remedy = {"early_stopping_rounds": "; None for never", "levels": "; None for highest label + 1"}
                raise ParameterError(f"{name}={short_repr(value)} must be a whole number {rule}{remedy.get(name, '')}")
            object.__setattr__(self, name, int(value))
        object.__setattr__(self, "width", check_width(self.width))
        if self.form not in (None, *FORMS):
            raise unknown_name("form", self.form, FORMS)
        self._check_perceptrons()

    def _check_perceptrons(self) -> None:
        for count in self.counts:
            if not (is_integer(count) and 1 <= count <= MOST_PERCEPTRONS):
                raise ParameterError(
                    f"perceptrons={short_repr(count)} must be a whole number from 1 to {MOST_PERCEPTRONS}; None to choose it on "
                    "validation data"
                )
        object.__setattr__(self, "counts", tuple(int(count) for count in self.counts))
        if self.shares is None:
            return
        for share in self.shares:
            number = as_number(share)
            if number is None or not 0 < number <= 1:
                raise ParameterError(
                    f"share={short_repr(share)} must be a number above 0 and at most 1; None to choose it on validation data"
                )
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
