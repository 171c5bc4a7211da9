"""The parameters that several metrics share. Those of one family are declared in its module."""

from __future__ import annotations

from podium.parameters import Parameter
from podium.rules import Choice, Real

ParameterValue = str | float | int | tuple[float | int, ...]
AS_EMPTY = Choice("zero", "one", "skip")

REL = Parameter(
    "rel", 1, Real(integer_kept=True), "Documents whose label is at least this are relevant.", examples=(2,)
)
EMPTY = Parameter(
    "empty",
    "zero",
    AS_EMPTY,
    "How a query without a relevant document counts: as 'zero', as 'one', or not at all ('skip').",
    examples=("one", "skip"),
)
EMPTY_PAIRS = Parameter(
    "empty",
    "zero",
    AS_EMPTY,
    "How a query without two documents to tell apart counts: as 'zero', as 'one', or not at all ('skip').",
    examples=("one", "skip"),
)
TIES = Parameter(
    "ties",
    "input",
    Choice("input", "trec_eval", "average"),
    "How documents with equal scores are ranked: 'input' keeps their order in the data, 'trec_eval' puts the greater document "
    "id first, and 'average' computes the expected value over random orders.",
    examples=("average",),
)
CONVENTION = Parameter(
    "convention",
    "textbook",
    Choice("textbook", "letor", "trec_eval"),
    "Whose definition is used where definitions differ: 'textbook', 'letor' or 'trec_eval'.",
    examples=("letor",),
)

# The defaults that a convention changes.
CONVENTION_DEFAULTS: dict[str, dict[str, ParameterValue]] = {
    "textbook": {},
    "letor": {},
    "trec_eval": {"gain": "linear", "ties": "trec_eval"},
}
