"""Every command has help and a place in the docs; completion is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from podium.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"


def commands(group, prefix=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_explains_itself(words):
    command = COMMANDS[words]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{' '.join(words)}: {parameter.name} has no help"


def test_the_reference_in_the_docs_is_the_help():
    reference = (DOCS / "cli.md").read_text()
    for words, command in COMMANDS.items():
        assert f"`podium {' '.join(words)}`" in reference
        for parameter in command.params:
            for option in parameter.opts:
                assert option.startswith("-") is False or f"`{option}" in reference or f", {option}" in reference


def test_help_and_version_and_completion(cli):
    assert "Usage" in cli("--help").out
    assert "Usage" in cli("data", "convert", "-h").out
    assert cli("--version").out.startswith("podium ")


def test_every_command_takes_json():
    assert all("--json" in [o for p in command.params for o in p.opts] for command in COMMANDS.values())
