"""What the page offers: forces, metrics and rankers with their settings, made from their declarations."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from podium.forces import FORCES
from podium.metrics import METRICS
from podium.parameters import Parameter
from podium.rankers import RANKERS
from podium.studio.presets import presets
from podium.studio.ranker_forms import form_kind, offered_settings
from podium.studio.workspace import Workspace

SUGGESTED_METRICS = ("ndcg@10", "ndcg", "map", "mrr", "wta", "err@10", "p@5", "pairwise_error", "dcg@10")

NONE_MEANS = "None means:"  # in the description of a setting that may be None


class OfferedSetting(msgspec.Struct):
    """A setting that a form asks for. `empty_is_none` says whether an empty field stands for None."""

    name: str
    kind: str
    default: str | bool | int | float | None
    description: str
    choices: list[str]
    empty_is_none: bool


class OfferedForce(msgspec.Struct):
    """A force: `takes` is "metric" or "force" if its parentheses begin with one."""

    name: str
    summary: str
    formula: str
    takes: str
    accepts: list[str]
    has_cost: bool
    settings: list[OfferedSetting]


class OfferedRanker(msgspec.Struct):
    """A ranker with the settings that the page offers."""

    name: str
    summary: str
    settings: list[OfferedSetting]


class OfferedPreset(msgspec.Struct):
    """An example for the page about forces."""

    name: str
    title: str


class StudioState(msgspec.Struct):
    """Everything that the page needs to know when it is opened."""

    version: str
    title: str
    start: str
    queries: int
    documents: int
    features: int
    rankings: list[str]
    forces: list[OfferedForce]
    metrics: list[str]
    rankers: list[OfferedRanker]
    presets: list[OfferedPreset]
    folder: str
    most_rounds: int
    training: int | None


def offer_setting(parameter: Parameter) -> OfferedSetting:
    """Return a setting as a form asks for it."""
    default = parameter.default
    return OfferedSetting(
        name=parameter.name,
        kind=form_kind(parameter),
        default=default if isinstance(default, str | bool | int | float) else None,
        description=parameter.meaning.replace(NONE_MEANS, "Empty means:"),
        choices=list(getattr(parameter.rule, "words", ())),
        empty_is_none=NONE_MEANS in parameter.meaning,
    )


def offered_forces() -> list[OfferedForce]:
    """Return the forces that move one score per document."""
    fitting = {name: each for name, each in FORCES.items() if each.outputs == "one"}
    plain = {name: each.example for name, each in fitting.items() if each.takes != "force"}
    return [
        OfferedForce(
            name=name,
            summary=each.summary,
            formula=each.formula,
            takes=each.takes or "",
            accepts=_accepted(each, plain) if each.takes == "force" else [],
            has_cost=each.has_cost,
            settings=[offer_setting(parameter) for parameter in each.parameters if form_kind(parameter)],
        )
        for name, each in fitting.items()
    ]


def _accepted(outer: Any, plain: dict[str, str]) -> list[str]:
    """Return the names of the forces that a force can be over."""
    from podium.forces import force

    return [name for name, example in plain.items() if outer.accepts(force(example))]


def offered_rankers() -> list[OfferedRanker]:
    """Return the rankers with the settings that have an option of their own on the command line."""
    return [
        OfferedRanker(
            name=name,
            summary=(inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " "),
            settings=[offer_setting(parameter) for parameter in offered_settings(kind).values()],
        )
        for name, kind in RANKERS.items()
    ]


def describe_studio(
    workspace: Workspace, *, version: str, start: str, folder: str, most_rounds: int, training: int | None
) -> StudioState:
    """Return what the page needs to know."""
    return StudioState(
        version=version,
        title=workspace.title,
        start=start,
        queries=workspace.data.n_queries,
        documents=workspace.data.n_documents,
        features=workspace.data.n_features,
        rankings=[ranking.name for ranking in workspace.rankings],
        forces=offered_forces(),
        metrics=[*SUGGESTED_METRICS, *(name for name in METRICS if name not in SUGGESTED_METRICS)],
        rankers=offered_rankers(),
        presets=[OfferedPreset(name, scene.title) for name, scene in presets().items()],
        folder=folder,
        most_rounds=most_rounds,
        training=training,
    )
