"""The command line: `podium --help`. One file a command, thin over the public names."""

from podium.cli.app import main

__all__ = ["main"]
