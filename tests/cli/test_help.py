"""Every command has help and a place in the docs; completion is there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer

from podium.cli.app import app
from podium.cli.help import EXAMPLES

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


EXAMPLE_LINES = [line for lines in EXAMPLES.values() for line in lines]


def test_the_help_shows_values_in_plain_words(cli):
    shown = cli("train", "--help").out
    assert "Usage: podium train [OPTIONS] DATA" in shown
    assert "<bool>" not in shown
    assert "<str>" not in shown
    assert "Examples:" in shown
    for words in COMMANDS:
        assert "<bool>" not in cli(*words, "--help").out


@pytest.mark.parametrize("line", EXAMPLE_LINES)
def test_the_examples_of_the_help_are_commands_that_exist(line):
    """Options that do not exist, or arguments that are missing, raise an error when a command line is parsed."""
    name, *rest = shlex.split(line)
    assert name == "podium"
    words = next(words for words in COMMANDS if list(words) == rest[: len(words)])
    COMMANDS[words].make_context("podium", rest[len(words) :])


def test_examples_belong_to_commands():
    assert {tuple(words.split()) for words in EXAMPLES} <= set(COMMANDS)
