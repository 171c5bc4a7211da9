"""The help of commands: values in plain words, and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand

METAVARS = {int: "INTEGER", float: "NUMBER", Path: "FILE", str: "TEXT"}
# What a command is used for, by its words.
EXAMPLES = {
    "train": (
        "podium train train.txt --valid vali.txt --out model.podium",
        "podium train train.txt --valid vali.txt --ranker ranknet --epochs 50 --metric map",
        "podium train shop.csv --read label_column=sold --read ignore=sku --set categorical=brand --set monotone=price:-1",
        "podium train train.txt --force 'lambdarank(map)' --model 'net(64, 32)' --schedule 'adam(rate=0.001)'",
    ),
    "score": (
        "podium score model.podium test.txt --out test.scores",
        "podium score model.podium test.txt --to trec-run --out test.run",
    ),
    "evaluate": (
        "podium evaluate model.podium test.txt --metric ndcg@1,5,10 --metric map",
        "podium evaluate bm25.run qrels.txt --json",
    ),
    "compare": ("podium compare test.txt new=model.podium old=bm25.scores --metric ndcg@10",),
    "explain": (
        "podium explain model.podium",
        "podium explain model.podium test.txt --permutation --metric ndcg@10",
        "podium explain model.podium test.txt --query 7 --above 1 --below 2",
    ),
    "report": (
        "podium report model.podium test.txt --out report.html",
        "podium report new=model.podium old=bm25.scores test.txt --metric ndcg@10 --metric map",
    ),
    "tune": (
        "podium tune train.txt --valid vali.txt --trials 50 --jobs 2 --out best.podium",
        "podium tune train.txt --folds 5 --range learning_rate=0.01..0.3:log --range num_leaves=7,15,31",
    ),
    "cv": ("podium cv train.txt --folds 5 --valid-share 0.2 --also map",),
    "export": ("podium export model.podium --to lightgbm --out model.txt",),
    "import": ("podium import model.txt --out model.podium",),
    "serve": ("podium serve shop=model.podium --port 8080",),
    "studio": ("podium studio", "podium studio test.txt new=model.podium old=bm25.podium --open"),
    "votes": ("podium votes votes.csv --prior 0.5 --out scores.csv",),
    "laws": ("podium laws 'lambdarank(ndcg@10)'",),
    "rankers": ("podium rankers lambdamart",),
    "data describe": ("podium data describe train.txt",),
    "data convert": ("podium data convert train.txt train.podium-data",),
    "data split": ("podium data split all.txt parts --shares 0.6,0.2,0.2",),
    "data synth": ("podium data synth network train.txt --queries 200",),
    "data normalize": ("podium data normalize train.txt normalized.txt --method minmax",),
}


class PlainHelpCommand(TyperCommand):
    """A command whose help names the kind of a value in plain words, and does not give flags a value."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        for parameter in self.get_params(ctx):
            _use_plain_words(parameter)
        super().format_help(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line that shows how the command is used."""
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        names = [(getattr(p, "metavar", None) or str(p.name).upper(), p.required) for p in arguments]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in names)]


def _use_plain_words(parameter: Any) -> None:
    if parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: None  # its name and its help say what it is
        return
    if getattr(parameter, "is_flag", False):
        parameter.metavar = ""
        return
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    if parameter.metavar is None and kind in METAVARS:
        parameter.metavar = METAVARS[kind]


def use_plain_help(group: typer.Typer, prefix: str = "") -> None:
    """Let all commands of a group show plain words and examples in their help."""
    for command in group.registered_commands:
        words = f"{prefix}{command.name}"
        if command.cls is TyperCommand:
            command.cls = PlainHelpCommand
        if words in EXAMPLES:
            command.epilog = "\n\n".join(["Examples:", *(f"  {example}" for example in EXAMPLES[words])])
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            use_plain_help(inner.typer_instance, f"{prefix}{inner.name} ")
