"""The options that choose a ranker and its settings, derived from the declarations of the settings."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli.console import complete_metric, find_functions, named_force, plain_warnings
from podium.cli.help import PlainHelpCommand
from podium.errors import ParameterError, UnknownNameError
from podium.forces import FORCES
from podium.models import MODELS
from podium.models import model as as_model
from podium.names import split_name
from podium.parameters import Parameter, Settings
from podium.rankers import RANKERS, find_ranker_name
from podium.rankers.common import METRIC, CommonSettings
from podium.training import SCHEDULES
from podium.training import schedule as as_schedule
from podium.training.schedules import EXAMPLES
from podium.training.schedules.optimizers import OptimizerSettings, optimizer_named

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

PANEL = "Ranker"
DEFAULT_RANKER = "lambdamart"
GENERIC = "force × model × schedule"


def _completer(names: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _option(names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names.split(), help=help, show_default=False, rich_help_panel=PANEL, **more)


def declared_options() -> dict[str, dict[str, Parameter]]:
    """Return the parameters with an option of their own, by name and by the first model or schedule that declares them."""
    owners: list[type[Settings]] = [CommonSettings, OptimizerSettings, *MODELS.values(), *SCHEDULES.values()]
    found: dict[str, dict[str, Parameter]] = {}
    for owner in owners:
        for name, parameter in owner.parameters().items():
            known = found.setdefault(name, {}) if parameter.option else {}
            if parameter.option and parameter.description not in [other.description for other in known.values()]:
                known[getattr(owner, "name", "")] = parameter
    return found


def _derived(name: str, declared: dict[str, Parameter]) -> Any:
    (_, first), *others = declared.items()
    help = " ".join([first.description, *(f"With {owner}: {_inside(other.description)}" for owner, other in others)])
    more = {"autocompletion": complete_metric} if first.rule == METRIC else {}
    flags = flag_of(first) + (" -m" if first.rule == METRIC else "")
    return Annotated[str | None, _option(flags, help, metavar=first.rule.metavar, **more)]


def flag_of(parameter: Parameter) -> str:
    """Return the option of a parameter on the command line."""
    return f"--{(parameter.flag or parameter.name).replace('_', '-')}"


def _inside(sentence: str) -> str:
    """Return a sentence as it reads after a colon."""
    return sentence[0].lower() + sentence[1:] if sentence[1].islower() else sentence


OPTIONS: dict[str, Any] = {
    "ranker": Annotated[
        str | None,
        _option(
            "--ranker",
            f"A named ranker: {', '.join(RANKERS)}. Default: {DEFAULT_RANKER}, unless --force is given.",
            autocompletion=_completer(RANKERS),
            metavar="NAME",
        ),
    ],
    "force": Annotated[
        str | None,
        _option(
            "--force",
            'Instead of --ranker: any force, such as "lambdarank(map)", or module:function for your own, which is looked up in the '
            f"current folder first. Known: {', '.join(FORCES)}.",
            autocompletion=_completer(FORCES),
            metavar="FORCE",
        ),
    ],
    "model": Annotated[
        str | None,
        _option(
            "--model",
            f'With --force: the model that is fitted to it, such as "net(128, 64)". Known: {", ".join(MODELS)}. Default: linear.',
            autocompletion=_completer(MODELS),
            metavar="MODEL",
        ),
    ],
    "schedule": Annotated[
        str | None,
        _option(
            "--schedule",
            f'With --force: the schedule by which the model is fitted, such as "adam(rate=0.001)". Known: {", ".join(SCHEDULES)}. Default: boosting '
            "for trees, adam for other models.",
            autocompletion=_completer(SCHEDULES),
            metavar="SCHEDULE",
        ),
    ],
    **{name: _derived(name, declared) for name, declared in declared_options().items()},
    "settings": Annotated[
        list[str] | None,
        _option(
            "--set",
            "Any other setting, as in rate_rule=halve, categorical=brand,color or monotone=price:-1. podium rankers NAME lists "
            "them. May be given more than once.",
            metavar="NAME=VALUE",
        ),
    ],
}


class RankerCommand(PlainHelpCommand):
    """A command whose help shows the default of every ranker, for which all of them must be imported."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Append the defaults to the help of the derived options."""
        for parameter in self.params:
            if parameter.name in declared_options() and isinstance(getattr(parameter, "help", None), str):
                parameter.help += f" {defaults_sentence(parameter.name)}"  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def defaults_sentence(name: str) -> str:
    """Return the default of a setting in all named rankers that have it, the most common value first."""
    found: dict[str, list[str]] = {}
    for key, kind in RANKERS.items():
        if name in kind.parameters():
            parameter = kind.parameters()[name]
            value = parameter.none if parameter.default is None else _plain(parameter.default)
            found.setdefault(value, []).append(key)
    (common, _), *others = sorted(found.items(), key=lambda item: -len(item[1]))
    rest = "".join(f"; {', '.join(rankers)}: {value}" for value, rankers in others)
    return f"Default: {common}{rest}."


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) or "()" if isinstance(value, tuple) else str(value)


def takes_ranker(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options above in place of its argument `ranker`, which is made from them."""
    own = inspect.signature(command, eval_str=True, locals={"BaseRanker": object})
    before = [p for p in own.parameters.values() if p.default is p.empty and p.name != "ranker"]
    after = [p for p in own.parameters.values() if p.default is not p.empty]
    shared = [inspect.Parameter(name, before[0].kind, default=None, annotation=kind) for name, kind in OPTIONS.items()]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in OPTIONS}
        _refuse_fixed_ranges(chosen, given.get("ranges") or ())
        with plain_warnings():
            made = make_ranker(**chosen)
        command(ranker=made, **given)

    del call.__wrapped__  # its signature is not the one to show
    call.__signature__ = own.replace(parameters=[*before, *shared, *after])  # type: ignore[attr-defined]
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    call.__doc__ = "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)  # help keeps line breaks
    call.__annotations__ = {p.name: p.annotation for p in (*before, *shared, *after)}
    return call


def make_ranker(
    ranker: str | None,
    force: str | None,
    model: str | None,
    schedule: str | None,
    settings: list[str] | None,
    **options: Any,
) -> BaseRanker:
    """Return the ranker that the options describe, checked as far as that can be done before any data is read."""
    given = named_words(settings or [], "settings")
    for name, value in options.items():
        if value is not None and name in given:
            raise ParameterError(name, value, "is given twice, as an option and by {settings}", "leave one of them out")
        given |= {} if value is None else {name: value}
    find_functions(force or "", *given.values())
    axes = {"force": force, "model": model, "schedule": schedule}
    if ranker is None and force is None:
        _refuse_axes(axes, "needs {force}", "give it too, or leave it out")
    if ranker is not None or force is None:
        return _named_ranker(ranker or DEFAULT_RANKER, given, axes)
    named_force(force)
    return _generic_ranker(force, model or "linear", schedule, given)


def _refuse_axes(axes: dict[str, str | None], rule: str, remedy: str) -> None:
    for axis, value in axes.items():
        if value is not None:
            raise ParameterError(axis, value, rule, remedy)


def _named_ranker(name: str, given: dict[str, str], axes: dict[str, str | None]) -> BaseRanker:
    _refuse_axes(axes, "is already part of {ranker='" + name + "'}", "leave one of them out")
    name = find_ranker_name(name)
    kind = RANKERS[name]
    return _checked(kind(**_parsed(name, given, kind.parameters())))


def _parsed(label: str, given: dict[str, str], known: dict[str, Parameter], model: str = "") -> dict[str, Any]:
    """Return the values that are written as text, each as the rule of its parameter reads it."""
    _refuse_unknown(label, given, known, model)
    return {name: known[name].parse(text) for name, text in given.items()}


def _generic_ranker(force: str, model: str, schedule: str | None, words: dict[str, str]) -> BaseRanker:
    """Return a force × model × schedule. Settings of the schedule may be given as options or inside its name."""
    from podium.rankers import Ranker

    spec, optimizer = as_model(model), words.pop("optimizer", None)
    if optimizer is not None and schedule is not None:
        raise ParameterError(
            "optimizer", optimizer, "is the name of a schedule, like {schedule}", "leave one of them out"
        )
    parts = split_name(schedule or optimizer or ("boosting" if spec.grows else "adam"), "schedule", EXAMPLES)
    kind = SCHEDULES.get(parts.base.lower())
    if kind is None:
        raise UnknownNameError("schedule", parts.base, SCHEDULES)
    given = _parsed(GENERIC, words, {**Ranker.parameters(), **kind.parameters()}, model)
    inside = {name: given.pop(name) for name in list(given) if name in kind.parameters()}
    chosen = kind.of(parts.values(), {**parts.settings, **inside})
    ranker = Ranker(force=force, model=model, schedule=str(as_schedule(chosen)), **given)
    with optimizer_named() if schedule is None and optimizer is not None else contextlib.nullcontext():
        return _checked(ranker)


def _checked(ranker: BaseRanker) -> BaseRanker:
    ranker.check_parameters()
    return ranker


def _refuse_unknown(label: str, given: dict[str, str], known: dict[str, Parameter], model: str = "") -> None:
    for name, value in given.items():
        if name not in known and name not in OPTIONS:
            raise UnknownNameError(f"setting of {label}", name, known)
        if name not in known:
            remedy = _instead(name, known, model) or f"its settings are {', '.join(sorted(known))}"
            raise ParameterError(name, value, f"is not a setting of {label}", remedy)


def _instead(name: str, known: Iterable[str], model: str) -> str:
    """Return what to write for a setting that has another name, or that belongs inside the model's name."""
    length = [other for other, found in declared_options().items() if next(iter(found.values())).budget]
    other = next((other for other in length if name in length and other in known), None)
    if other is not None:
        return f"use {{{other}}}"
    if not model:
        return ""
    inside = next((kind.name for kind in MODELS.values() if name in kind.parameters()), None)
    return "" if inside is None else f'write it as --model "{inside}({name}=…)"'


def _refuse_fixed_ranges(chosen: dict[str, Any], ranges: Iterable[str]) -> None:
    """Refuse a setting that is both searched and given. A force may be given, because it replaces the name of a ranker."""
    declared = {name: next(iter(found.values())) for name, found in declared_options().items()}
    fixed = {
        name: flag_of(declared[name]) if name in declared else f"--{name}" for name, given in chosen.items() if given
    }
    fixed |= {name: f"--set {name}" for name in named_words(chosen["settings"] or (), "settings")}
    for name, text in range_words(ranges).items():
        if name in fixed and name != "force":
            raise ParameterError(f"ranges[{name!r}]", text or "", f"contradicts {fixed[name]}", "leave one of them out")


def refuse_idle_stopping(ranker: BaseRanker, remedy: str) -> None:
    """Refuse early stopping that was asked for but cannot happen without validation data."""
    schedule = ranker.training_schedule
    owner = ranker if "early_stopping_rounds" in ranker.parameters() else schedule
    asked = schedule.early_stopping_rounds
    if asked is not None and asked != owner.parameters()["early_stopping_rounds"].default:
        raise ParameterError("early_stopping_rounds", asked, "needs validation data", f"give {remedy}, or leave it out")


def range_words(words: Iterable[str]) -> dict[str, str | None]:
    """Parse the words of --range: `NAME=RANGE`, or only `NAME` for the range that the setting declares."""
    bare = {word.strip().replace("-", "_"): None for word in words if "=" not in word}
    return {**bare, **named_words([word for word in words if "=" in word], "ranges")}


def named_words(words: Iterable[str], parameter: str) -> dict[str, str]:
    """Parse `NAME=TEXT` words, which are given for a parameter of the command. Each name may be given once."""
    out: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ParameterError(parameter, word, "must have the form NAME=VALUE")
        if name in out:
            raise ParameterError(parameter, name, "is given twice", "leave one of them out")
        out[name] = text.strip()
    return out
