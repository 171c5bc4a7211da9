"""podium studio."""

from __future__ import annotations

import html
import re
import secrets
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli.console import FormatName, Json, ReadOption, Threads, data_source, note, print_json, say
from podium.cli.file_order import data_and_rankings
from podium.cli.models import Rankings, Rows, named_files
from podium.data import Run
from podium.errors import DataError, MissingExtraError
from podium.kinds import kind_of
from podium.rankers.opening import open_ranker
from podium.scoring import Scorer
from podium.serve.keys import ApiKeys
from podium.serve.settings import ModelSource, ServiceSettings

if TYPE_CHECKING:
    from podium.studio.workspace import Workspace

KEY_BYTES = 24
REDIRECT = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Podium studio</title><meta http-equiv="refresh" content="0; url={address}">
<p><a href="{address}">Open the studio</a></p></html>
"""


def studio(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Judged data in any format. Without it, the studio shows generated queries and two small models.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]MODEL…",
            help="Models whose rankings of the data are shown: written by podium train, by another library (podium import --help lists "
            "which), or files of scores. Each may have a name, as in old=a.podium.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Folder that trained models are saved in. It is created when needed.",
        ),
    ] = Path("studio-models"),
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="Port to listen on. 0 takes a free one.")] = 8090,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the default browser.")] = False,
    format_name: FormatName = None,
    read: ReadOption = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Open a page on this machine that shows queries, forces and training, until Ctrl-C.

    Queries compares the rankings of one or two models and says which documents moved and why. Forces lets you drag the documents of a query, shows the force on each of them, and plays gradient descent. Training trains a ranker on the data while you watch.

    The printed address contains a key, without which nothing is shown or done.
    """
    try:
        from podium.studio.app import Studio
        from podium.studio.server import LOOPBACK, run_studio
    except ImportError as error:
        raise MissingExtraError(f"{error.name} is not installed; pip install 'podium[serve]'") from None
    if out.exists() and not out.is_dir():
        raise DataError(f"--out {out} is not a folder; name a folder for the models that are trained")
    if data is not None:
        data, models = data_and_rankings(data, models or [], data_first=True)
    files = named_files(models or [], "models", least=0)
    workspace = _demo() if data is None else _load(data, files, format_name, read, threads)
    key = secrets.token_urlsafe(KEY_BYTES)
    keys = ApiKeys.of([key], "the key")
    sources = tuple(ModelSource(name, path) for name, path in _service_names(_own_models(files)).items())
    settings = ServiceSettings(sources, keys=keys, access_log=False, reload_seconds=0.0, needs_models=False)
    if host not in LOOPBACK:
        note(
            f"podium: warning: {host} can be reached from other machines; whoever has the printed address can use the studio, "
            "with the address of this machine in it"
        )
    page = Studio(workspace, out, keys, start="queries" if files else "forces", num_threads=threads)
    with tempfile.TemporaryDirectory(prefix="podium-studio-") as folder:
        shown = Path(folder) if open_page else None
        announce = partial(_announce, key=key, folder=shown, json=json)
        run_studio(page, settings, host=host, port=port, announce=announce)


def _demo() -> Workspace:
    from podium.studio.demo import demo_workspace

    return demo_workspace()


def _own_models(files: dict[str, Path]) -> dict[str, Path]:
    """Return the files that can be served: Podium's own models."""
    return {name: path for name, path in files.items() if path.suffix == ".podium" or kind_of(path) == "model"}


def _service_names(files: dict[str, Path]) -> dict[str, Path]:
    """Return the models by names that can be part of an address."""
    found: dict[str, Path] = {}
    for number, (name, path) in enumerate(files.items(), start=1):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("._-")[:64]
        found[plain if plain and plain not in found else f"model-{number}"] = path
    return found


def _load(
    path: Path, models: dict[str, Path], format_name: str | None, read: list[str] | None, threads: int | None
) -> Workspace:
    """Read the data and rank it by every model or file of scores."""
    from podium.studio.workspace import Workspace

    source = data_source(path, format_name, read)
    given = Rankings(models.values(), source)
    rows = Rows.read(source, threads, given.scorers)
    workspace = Workspace(rows.data, path.name)
    for name, file in models.items():
        if isinstance(given.rankings[file], Scorer):
            ranker = open_ranker(file)
            ranker.num_threads = threads
            try:
                workspace.add(name, ranker)
            except DataError as error:
                raise DataError(f"{file} cannot score {path}: {error}") from None
        else:
            scores = given.read(file, rows, threads)
            workspace.add_scores(name, scores.scores_for(rows.data) if isinstance(scores, Run) else scores)
    return workspace


def _announce(url: str, *, key: str, folder: Path | None, json: bool) -> None:
    address = f"{url}#key={key}"
    if json:
        print_json({"url": url, "key": key, "page": address})
    else:
        say(f"the studio is at {address}")
        say("Ctrl-C ends it")
    sys.stdout.flush()
    if folder is not None:
        import webbrowser

        webbrowser.open(_redirect(folder, address).as_uri())


def _redirect(folder: Path, address: str) -> Path:
    """Write a page that leads to the studio, which only its owner can read: all users can see the command line of a browser."""
    page = folder / "studio.html"
    page.touch(mode=0o600)
    page.write_text(REDIRECT.format(address=html.escape(address)), encoding="utf-8")
    return page
