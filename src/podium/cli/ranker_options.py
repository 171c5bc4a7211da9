"""The options that choose a ranker and its settings, derived from the declarations of the settings."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from podium.cli.console import complete_metric, find_functions, named_force, plain_warnings
from podium.errors import ParameterError, UnknownNameError
from podium.forces import FORCES
from podium.metrics import metric as as_metric
from podium.models import MODELS
from podium.models import model as as_model
from podium.names import literal, split_name
from podium.parameters import Parameter, Settings
from podium.rankers import RANKERS, find_ranker_name
from podium.rankers.common import CommonSettings
from podium.training import SCHEDULES
from podium.training import schedule as as_schedule
from podium.training.schedules import EXAMPLES
from podium.training.schedules.optimizers import OptimizerSettings, optimizer_named

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

PANEL = "Ranker"
KINDS = {"integer": int, "real": float}
FLAGS = {"num_threads": "threads"}  # parameters whose option has another name
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
    kind: Any = KINDS.get(first.rule.kind, str)
    help = " ".join([first.description, *(f"With {owner}: {_inside(other.description)}" for owner, other in others)])
    more = {"autocompletion": complete_metric, "metavar": "METRIC"} if name == "metric" else {}
    flags = f"--{name.replace('_', '-')}" + (" -m" if name == "metric" else "")
    return Annotated[kind | None, _option(flags, help, **more)]


def _inside(sentence: str) -> str:
    """Return a sentence as it reads after a colon."""
    return sentence[0].lower() + sentence[1:] if sentence[1].islower() else sentence


OPTIONS: dict[str, Any] = {
    "ranker": Annotated[
        str | None,
        _option("--ranker", f"A named ranker: {', '.join(RANKERS)}.", autocompletion=_completer(RANKERS)),
    ],
    "force": Annotated[
        str | None,
        _option(
            "--force",
            'Instead of --ranker: any force, such as "lambdarank(map)", or module:function for your own, which is looked up in the '
            f"current folder first. Known: {', '.join(FORCES)}.",
            autocompletion=_completer(FORCES),
        ),
    ],
    "model": Annotated[
        str | None,
        _option(
            "--model",
            f'With --force: the model that is fitted to it, such as "net(128, 64)". Known: {", ".join(MODELS)}. Default: linear.',
            autocompletion=_completer(MODELS),
        ),
    ],
    "schedule": Annotated[
        str | None,
        _option(
            "--schedule",
            f'With --force: the schedule by which the model is fitted, such as "adam(rate=0.001)". Known: {", ".join(SCHEDULES)}. Default: boosting '
            "for trees, adam for other models.",
            autocompletion=_completer(SCHEDULES),
        ),
    ],
    **{name: _derived(name, declared) for name, declared in declared_options().items()},
    "threads": Annotated[
        int | None,
        _option("--threads", CommonSettings.parameters()["num_threads"].meaning.replace("None means:", "Default:")),
    ],
    "settings": Annotated[
        list[str] | None,
        _option(
            "--set",
            "Any other setting, as in rate_rule=halve or activation=relu. podium rankers NAME lists them. May be given more "
            "than once.",
            metavar="NAME=VALUE",
        ),
    ],
}


class RankerCommand(TyperCommand):
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
    given = parse_settings(settings or [])
    for option, value in options.items():
        if value is None:
            continue
        name = next((parameter for parameter, flag in FLAGS.items() if flag == option), option)
        if name in given:
            raise ParameterError(name, value, "is given twice, as an option and by {settings}", "leave one of them out")
        given[name] = _option_value(option, value)
    if given.get("early_stopping_rounds") == 0:
        given["early_stopping_rounds"] = None
    find_functions(force or "", *(value for value in given.values() if isinstance(value, str)))
    as_metric(given.get("metric", "ndcg@10"))
    if ranker is not None:
        return _named_ranker(ranker, given, axes={"force": force, "model": model, "schedule": schedule})
    if force is None:
        raise ParameterError(
            "ranker",
            rule=f"must say what to train: one of {', '.join(RANKERS)}",
            remedy="or give {force}, and perhaps {model} and {schedule}, instead",
        )
    named_force(force)
    return _generic_ranker(force, model or "linear", schedule, given)


def _named_ranker(name: str, given: dict[str, Any], axes: dict[str, str | None]) -> BaseRanker:
    for axis, value in axes.items():
        if value is not None:
            raise ParameterError(axis, value, "is already part of {ranker='" + name + "'}", "leave one of them out")
    name = find_ranker_name(name)
    kind = RANKERS[name]
    _refuse_unknown(name, given, kind.parameters())
    return _checked(kind(**given))


def _generic_ranker(force: str, model: str, schedule: str | None, given: dict[str, Any]) -> BaseRanker:
    """Return a force × model × schedule. Settings of the schedule may be given as options or inside its name."""
    from podium.rankers import Ranker

    spec, optimizer = as_model(model), given.pop("optimizer", None)
    if optimizer is not None and schedule is not None:
        raise ParameterError(
            "optimizer", optimizer, "is the name of a schedule, like {schedule}", "leave one of them out"
        )
    parts = split_name(schedule or optimizer or ("boosting" if spec.grows else "adam"), "schedule", EXAMPLES)
    kind = SCHEDULES.get(parts.base.lower())
    if kind is None:
        raise UnknownNameError("schedule", parts.base, SCHEDULES)
    known = Ranker.parameters()
    _refuse_unknown(GENERIC, given, {**known, **kind.parameters()}, model)
    inside = {name: given.pop(name) for name in list(given) if name in kind.parameters()}
    chosen = kind.of(parts.values(), {**parts.settings, **inside})
    ranker = Ranker(force=force, model=model, schedule=str(as_schedule(chosen)), **given)
    with optimizer_named() if schedule is None and optimizer is not None else contextlib.nullcontext():
        return _checked(ranker)


def _checked(ranker: BaseRanker) -> BaseRanker:
    ranker.check_parameters()
    return ranker


def _refuse_unknown(label: str, given: dict[str, Any], known: dict[str, Parameter], model: str = "") -> None:
    for name, value in given.items():
        if name not in known and name not in OPTIONS:
            raise UnknownNameError(f"setting of {label}", name, known)
        if name not in known:
            remedy = _instead(name, known, model) or f"its settings are {', '.join(sorted(known))}"
            raise ParameterError(name, value, f"is not a setting of {label}", remedy)


def _instead(name: str, known: Iterable[str], model: str) -> str:
    """Return what to write for a setting that has another name, or that belongs inside the model's name."""
    if name == "epochs" and "n_estimators" in known:
        return "use {n_estimators}"
    if name == "n_estimators" and "epochs" in known:
        return "use {epochs}"
    if not model:
        return ""
    inside = next((kind.name for kind in MODELS.values() if name in kind.parameters()), None)
    return "" if inside is None else f'write it as --model "{inside}({name}=…)"'


def _refuse_fixed_ranges(chosen: dict[str, Any], ranges: Iterable[str]) -> None:
    """Refuse a setting that is both searched and given. A force may be given, because it replaces the name of a ranker."""
    fixed = {name: f"--{name.replace('_', '-')}" for name, given in chosen.items() if given is not None}
    fixed |= {name: f"--set {name}" for name in named_words(chosen["settings"] or (), "settings")}
    for name, text in range_words(ranges).items():
        flag = FLAGS.get(name, name)
        if flag in fixed and name != "force":
            raise ParameterError(f"ranges[{name!r}]", text or "", f"contradicts {fixed[flag]}", "leave one of them out")


def _option_value(option: str, text: Any) -> Any:
    if option == "batch":
        return literal(text)
    if option == "hidden":
        widths = [literal(word) for word in text.replace(" ", "").split(",") if word]
        if not all(isinstance(width, int) and width > 0 for width in widths):
            raise ParameterError("hidden", text, "must be the widths of the layers", "write them as in 10 or 128,64")
        return tuple(widths)
    return text


def refuse_idle_stopping(ranker: BaseRanker, remedy: str) -> None:
    """Refuse early stopping that was asked for but cannot happen without validation data."""
    schedule = ranker._schedule()
    owner = ranker if "early_stopping_rounds" in ranker.parameters() else schedule
    asked = schedule.early_stopping_rounds
    if asked is not None and asked != owner.parameters()["early_stopping_rounds"].default:
        raise ParameterError("early_stopping_rounds", asked, "needs validation data", f"give {remedy}, or leave it out")


def parse_settings(words: Iterable[str]) -> dict[str, Any]:
    """Parse the words of --set. A value is a number, a tuple, true, false or none, and otherwise text."""
    return {name: literal(text) for name, text in named_words(words, "settings").items()}


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
