"""How the command line phrases errors: with its options instead of Python's arguments."""

from __future__ import annotations

import re
import sys
import traceback
from typing import Any

from podium.errors import DataError, ParameterError, PodiumError, python_spelling

OWN_CODE = ("force", "cost", "metric", "topology", "noise_scale")
NOTES = (*(f"In the {role} of " for role in OWN_CODE), "In the module ")
ENTRY = re.compile(r"(?P<of>\w+)\['(?P<name>\w+)'\]")  # of an argument that is a mapping, as in ranges['l2']
# What is shown after an option that an error mentions without a value.
PLACEHOLDERS = {
    "valid": "FILE",
    "folds": "N",
    "force": "FORCE",
    "model": "MODEL",
    "schedule": "SCHEDULE",
    "plot": "FILE.svg",
}


def phrase(warning: Any) -> str:
    """Return what the command line says about a warning."""
    command = _command(sys.argv[1:])
    text: str = warning.phrase(lambda name, value: spell(command, name, value))
    return text


def sentence(error: PodiumError) -> str:
    """Return what the command line says about an error."""
    command = _command(sys.argv[1:])
    if isinstance(error, ParameterError | DataError):
        text = error.phrase(lambda name, value: spell(command, name, value))
    else:
        text = str(error)
    return text


def spell(command: Any, name: str, value: str | None) -> str:
    """Return a parameter as the command takes it: by its own option, or by `--read NAME=VALUE` or `--set NAME=VALUE`."""
    options = {} if command is None else {parameter.name: _flag(parameter.opts) for parameter in command.params}
    if name == "start_over":
        return "use --fresh to start over" if "fresh" in options else python_spelling(name, value)
    if name == "without":
        return f"--drop {value}" if "drop" in options else f"podium data convert --drop {value}"
    others = {**_other_names(), "format": ["target_format", "format_name"]}
    flag = next((options[other] for other in [name, *others.get(name, [])] if other in options), "")
    plain = None if value is None else _plain(value)
    entry = ENTRY.fullmatch(name)
    if entry is not None and entry["of"] in options:
        return f"{options[entry['of']]} {entry['name']}={plain or ''}"
    if flag and not flag.startswith("--"):  # an argument without a name of its own
        return plain or next(str(p.metavar or name.upper()) for p in command.params if p.name == name)
    if flag:
        behind = PLACEHOLDERS.get(name, "") if plain is None else {"None": "none", "True": ""}.get(plain, plain)
        return f"{flag} {behind}".rstrip()
    if _in_force_name(options, name):
        return name if value is None else python_spelling(name, value)
    for way, names in (("read", _reading_options()), ("settings", _ranker_settings())):
        if way in options and name in names:
            return f"{options[way]} {name}={plain or ''}"
    return name if value is None else python_spelling(name, value)


def _in_force_name(options: dict[str, str], name: str) -> bool:
    """Return whether the command was given a force by name, so that settings of forces stand in its parentheses."""
    from podium.forces import FORCES

    flag = options.get("force", "--force")
    given = any(word == flag or word.startswith(f"{flag}=") for word in sys.argv[1:])
    return given and name in {parameter.name for each in FORCES.values() for parameter in each.parameters}


def _plain(value: str) -> str:
    """Return a value without Python's quotes, and a list or a tuple with commas alone, as options take them."""
    if value[:1] + value[-1:] in ("[]", "()"):
        return ",".join(each.strip().strip("'") for each in value[1:-1].split(",") if each.strip())
    return value.strip("'")


def _flag(spellings: list[str]) -> str:
    """Return the long spelling of an option, or the name of an argument."""
    return next((each for each in spellings if each.startswith("--")), spellings[-1])


def _command(words: list[str]) -> Any:
    """Return the command that the first words of a command line name, or None."""
    import typer

    from podium.cli.app import app

    command: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            break
        command = command.commands.get(word, command)
    return None if hasattr(command, "commands") else command


def _reading_options() -> set[str]:
    from podium.formats import FORMATS

    return {name for each in FORMATS.values() for name in each.read_options}


def _other_names() -> dict[str, list[str]]:
    """Return the settings whose option has another name."""
    from podium.rankers.common import CommonSettings

    return {name: [parameter.flag] for name, parameter in CommonSettings.parameters().items() if parameter.flag}


def _ranker_settings() -> set[str]:
    from podium.rankers import RANKERS

    return {name for kind in RANKERS.values() for name in kind.parameters()}


def own_code_error(error: BaseException) -> str | None:
    """Return the error that a user's own function or module raised, with its frames but not Podium's; None for other errors."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(NOTES)]
    if not notes:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        k for k, frame in enumerate(frames) if "/podium/" in frame.filename or frame.filename.startswith("<frozen ")
    ]
    last = max(ours, default=-1) + 1
    lines = traceback.format_list(frames[last:]) + traceback.format_exception_only(error)
    kept = [line for line in "".join(lines).splitlines() if line not in notes]
    return "\n".join([f"{notes[0]}:", *kept])
