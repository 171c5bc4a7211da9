"""The options that choose a ranker and its settings, the same for every command that trains."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli.console import complete_metric, named_force
from podium.errors import ParameterError, unknown_name
from podium.forces import FORCES
from podium.metrics import metric as as_metric
from podium.models import MODELS
from podium.models import model as as_model
from podium.rankers import RANKERS
from podium.rankers.ranges import literal

if TYPE_CHECKING:
    from podium.rankers import BaseRanker

PANEL = "Ranker"


def _completer(names: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _option(names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names.split(), help=help, show_default=False, rich_help_panel=PANEL, **more)


OPTIONS: dict[str, Any] = {
    "ranker": Annotated[
        str | None,
        _option("--ranker", f"A named system: {', '.join(RANKERS)}.", autocompletion=_completer(RANKERS)),
    ],
    "force": Annotated[
        str | None,
        _option(
            "--force",
            'Instead of a named system, any force: "lambdarank(map)", or module:function for your own, which is looked '
            f"for in the current folder first. Known: {', '.join(FORCES)}.",
            autocompletion=_completer(FORCES),
        ),
    ],
    "model": Annotated[
        str | None,
        _option(
            "--model",
            f'With --force, the function class that absorbs it, as in "net(128, 64)". Known: {", ".join(MODELS)}; linear '
            "unless told otherwise.",
            autocompletion=_completer(MODELS),
        ),
    ],
    "metric": Annotated[
        str | None,
        _option(
            "--metric -m",
            "The metric it is judged by; the best epoch on the validation data is kept. By default ndcg@10; structrank map.",
            autocompletion=complete_metric,
            metavar="METRIC",
        ),
    ],
    "epochs": Annotated[
        int | None,
        _option(
            "--epochs",
            "At most this many passes over the data. By default 100; ranksvm 2000; structrank 10 from each start; with --model trees, trees, 1000.",
        ),
    ],
    "n_estimators": Annotated[
        int | None,
        _option("--n-estimators", "At most this many trees, of lambdamart, mart and rankboost. By default 1000."),
    ],
    "num_leaves": Annotated[
        int | None, _option("--num-leaves", "Leaves of a tree at most. By default chosen by the size of the data.")
    ],
    "learning_rate": Annotated[
        float | None,
        _option(
            "--learning-rate",
            "The rate of adam, sgd and trees. By default 0.001; rankboost 1; structrank 20; lambdamart, mart and --model trees choose it by the size of the data.",
        ),
    ],
    "batch": Annotated[
        str | None, _option("--batch", "Queries an update; or pair, an update a pair of documents. By default 1.")
    ],
    "optimizer": Annotated[
        str | None,
        _option(
            "--optimizer",
            "adam, sgd, lbfgs (all queries at once, for a force with a cost) or bundle (the same for a cost with corners). By "
            "default adam; kernel-ranknet lbfgs.",
        ),
    ],
    "l2": Annotated[
        float | None,
        _option(
            "--l2",
            "½·l2·‖weights‖² is added to the mean cost of a query. By default 0; kernel-ranknet 1. Of lambdamart and mart: a leaf gives Σλ / (Σw + l2).",
        ),
    ],
    "hidden": Annotated[
        str | None,
        _option(
            "--hidden",
            'Widths of the hidden layers, as in "128,64"; "" makes it linear. By default 10 for ranknet, lambdarank and rankprop, "" '
            "for the others.",
        ),
    ],
    "early_stopping_rounds": Annotated[
        int | None,
        _option(
            "--early-stopping-rounds",
            "Stop after this many epochs without progress on the validation data; 0 never does. By default 20; lambdamart, mart and --model trees 300, rankboost 100, structrank 2.",
        ),
    ],
    "seed": Annotated[int | None, _option("--seed", "The same seed gives the same model. By default 0.")],
    "threads": Annotated[
        int | None,
        _option(
            "--threads", "Threads to use; by default every core this process may use. The model does not depend on it."
        ),
    ],
    "settings": Annotated[
        list[str] | None,
        _option(
            "--set",
            "Any other parameter of the ranker, as in rate_rule=halve or activation=relu (podium rankers NAME lists "
            "them). May be given more than once.",
            metavar="NAME=VALUE",
        ),
    ],
}
PARAMETERS = {"threads": "num_threads"}  # options that are called otherwise in Python


def takes_ranker(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options above in place of its argument `ranker`, which it gets ready made."""
    own = inspect.signature(command, eval_str=True, locals={"BaseRanker": object})
    before = [p for p in own.parameters.values() if p.default is p.empty and p.name != "ranker"]
    after = [p for p in own.parameters.values() if p.default is not p.empty]
    shared = [inspect.Parameter(name, before[0].kind, default=None, annotation=kind) for name, kind in OPTIONS.items()]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in OPTIONS}
        _refuse_fixed_ranges(chosen, given.get("ranges") or ())
        command(ranker=make_ranker(**chosen), **given)

    del call.__wrapped__  # its signature is not the one to show
    call.__signature__ = own.replace(parameters=[*before, *shared, *after])  # type: ignore[attr-defined]
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    call.__doc__ = "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)  # help keeps line breaks
    call.__annotations__ = {p.name: p.annotation for p in (*before, *shared, *after)}
    return call


def make_ranker(
    ranker: str | None, force: str | None, model: str | None, settings: list[str] | None, **common: Any
) -> BaseRanker:
    """The ranker that the options describe; what it is called and its metric are checked before any data is read."""
    label, kind, given = _system(ranker, force, model)
    known = list(inspect.signature(kind).parameters)
    for name, value in parse_settings(settings or []).items():
        if name not in known:
            raise unknown_name(f"parameter of {label}", name, known)
        if name in given:
            raise ParameterError(f"--set {name}: the options give a {name} already; leave one out")
        given[name] = value
    for option, text in common.items():
        if text is None:
            continue
        name = PARAMETERS.get(option, option)
        flag = f"--{option.replace('_', '-')}"
        if name not in known:
            raise ParameterError(
                f"{flag}: {label} has no parameter {name}{_instead(name, known, force)}; it has: {', '.join(sorted(known))}"
            )
        if name in given:
            raise ParameterError(f"{flag} and --set {name} give the same thing twice; leave one out")
        never = 0 if kind.__name__ == "Ranker" else None  # there None stands for the model's own default
        given[name] = never if option == "early_stopping_rounds" and text == 0 else _common_value(option, text)
    as_metric(given.get("metric", "ndcg@10"))
    return kind(**given)


def _instead(name: str, known: Collection[str], force: str | None) -> str:
    """What to write for a parameter that this ranker has under another name, or inside its model."""
    if name == "epochs" and "n_estimators" in known:
        return "; say --n-estimators"
    if name == "n_estimators" and "epochs" in known:
        return "; say --epochs"
    inside = {"hidden": "net(10)", "num_leaves": "trees(num_leaves=15)"}
    return f'; write it as --model "{inside[name]}"' if force and name in inside else ""


def _refuse_fixed_ranges(chosen: dict[str, Any], ranges: Iterable[str]) -> None:
    """A parameter that is searched for cannot be given as well; a force may, since it says that it is no named system."""
    fixed = {
        PARAMETERS.get(name, name): f"--{name.replace('_', '-')}" for name, given in chosen.items() if given is not None
    }
    fixed |= {name: f"--set {name}" for name in named_words(chosen["settings"] or (), "--set")}
    for name in named_words(ranges, "--range"):
        if name in fixed and name != "force":
            raise ParameterError(f"{fixed[name]} and --range {name} say two things; leave one of them out")


def _system(ranker: str | None, force: str | None, model: str | None) -> tuple[str, type[BaseRanker], dict[str, Any]]:
    """What the messages call it, its class, and the parameters that are settled by that."""
    if ranker is not None:
        if force is not None or model is not None:
            raise ParameterError("--ranker names a whole system; leave out --force and --model, or leave out --ranker")
        if ranker not in RANKERS:
            raise unknown_name("ranker", ranker, RANKERS)
        return ranker, RANKERS[ranker], {}
    if force is None:
        raise ParameterError(
            f"say what to train: --ranker with one of {', '.join(RANKERS)}; or --force FORCE --model MODEL"
        )
    from podium.rankers import Ranker

    named_force(force)
    as_model(model or "linear")
    return "force × model", Ranker, {"force": force, "model": model or "linear"}


def _common_value(option: str, text: Any) -> Any:
    if option == "batch":
        return literal(text)
    if option == "hidden":
        widths = [literal(word) for word in text.replace(" ", "").split(",") if word]
        if not all(isinstance(width, int) and width > 0 for width in widths):
            raise ParameterError(f'--hidden {text}: write the widths of the layers as in "10" or "128,64"')
        return tuple(widths)
    return text


def refuse_idle_stopping(ranker: BaseRanker, remedy: str) -> None:
    """Early stopping that was asked for cannot be kept without validation data; the default may be passed over."""
    asked = getattr(ranker, "early_stopping_rounds", None)
    if asked is not None and asked != type(ranker)().early_stopping_rounds:
        raise ParameterError(f"early_stopping_rounds={asked} watches validation data; give {remedy}, or leave it out")


def parse_settings(words: Iterable[str], flag: str = "--set") -> dict[str, Any]:
    """`NAME=VALUE` words; a value is a number, a tuple, true, false or none, or else the text it is."""
    return {name: literal(text) for name, text in named_words(words, flag).items()}


def named_words(words: Iterable[str], flag: str) -> dict[str, str]:
    """`NAME=TEXT` words by name, each name once."""
    out: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ParameterError(f"{flag} {word}: write NAME=VALUE")
        if name in out:
            raise ParameterError(f"{flag} {name} is given twice; leave one out")
        out[name] = text.strip()
    return out
