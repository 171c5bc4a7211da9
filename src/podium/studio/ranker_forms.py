"""Rankers as the page offers them: a few settings each, made from their declarations, and checked when they come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from podium.parameters import Parameter
from podium.rankers import RANKERS
from podium.rules import Choice, Flag, Integer, Real
from podium.serve.problems import RequestError

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

MOST_ROUNDS = 2_000
GIVEN_APART = ("metric", "num_threads")  # by the request, and by the command that started the studio
FORM_KINDS = {"integer": Integer, "real": Real, "flag": Flag, "choice": Choice}


def make_ranker(name: str, settings: Mapping[str, Any], **common: Any) -> BaseRanker:
    """Return an untrained ranker; a PodiumError says which setting does not fit."""
    kind = RANKERS.get(name)
    if kind is None:
        raise RequestError(422, "unknown_ranker", f"there is no ranker of this name; there are {', '.join(RANKERS)}")
    offered = offered_settings(kind)
    for given, value in settings.items():
        if given not in offered:
            known = ", ".join(offered)
            raise RequestError(422, "unknown_setting", f"{name} has no such setting here; it has {known}")
        if isinstance(value, str) and not value.isidentifier():
            raise RequestError(422, "invalid_setting", f"a setting of {name} here is a number or a single word")
        offered[given].check(value)
    ranker = kind(**settings, **common)
    ranker.check_parameters()
    if ranker.max_epochs > MOST_ROUNDS:
        message = f"a training in the studio may have at most {MOST_ROUNDS:,} {ranker.unit}s; use podium train for more"
        raise RequestError(422, "too_many_rounds", message)
    return ranker


def offered_settings(kind: type[BaseRanker]) -> dict[str, Any]:
    """Return the settings of a ranker that the page offers: those with an option of their own on the command line."""
    known = kind.parameters()
    return {name: p for name, p in known.items() if p.option and name not in GIVEN_APART and form_kind(p)}


def form_kind(parameter: Parameter) -> str:
    """Return by what a form asks for a setting: integer, real, flag or choice; empty if no form can ask for it."""
    return next((kind for kind, rule in FORM_KINDS.items() if isinstance(parameter.rule, rule)), "")
