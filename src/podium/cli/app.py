"""The command tree and the one place where errors become a sentence and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from podium.cli import compare, convert, describe, evaluate, metrics, normalise, split, synth
from podium.cli.console import fail
from podium.errors import PodiumError

app = typer.Typer(
    name="podium",
    help="Learning to rank: a ranker is a force × a function class × a schedule, judged by a metric.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data = typer.Typer(help="Look at, convert, split, make and normalise judged data.", no_args_is_help=True)

app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("metrics")(metrics.metrics)
data.command("describe")(describe.describe)
data.command("convert")(convert.convert)
data.command("split")(split.split)
data.command("synth")(synth.synth)
data.command("normalise")(normalise.normalise)
app.add_typer(data, name="data")


def _version(show: bool) -> None:
    if show:
        from podium import __version__

        typer.echo(f"podium {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the command line. Bad input: one sentence on stderr and exit code 2."""
    try:
        app()
    except PodiumError as error:
        fail(str(error))
    except FileNotFoundError as error:
        fail(f"{error.filename}: there is no such file or folder")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            sys.exit(1)
        fail(f"{place}{error.strerror or error}")
    except KeyboardInterrupt:
        fail("interrupted; no output was written", code=130)
