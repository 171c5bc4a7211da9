"""The command line. Each command is one file, a thin layer over the public functions."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable

from podium.cli.stopping import NOTHING_WRITTEN, Stoppable, Stopped, exit_on_signals
from podium.errors import PodiumError


def main() -> None:
    """Run the command line. Bad input ends with one sentence on standard error and exit code 2."""
    with exit_on_signals():
        from podium.cli.streams import open_streams, silence

        open_streams()
        from podium.cli.app import app
        from podium.cli.console import plain_warnings
    with Stoppable() as stop, plain_warnings():
        code, sentence = _run(app, stop)
        try:
            sys.stdout.flush()
        except OSError as error:
            silence(sys.stdout)  # otherwise Python would try to flush it again
            code, sentence = code or 2, sentence or f"{error.filename}: {error.strerror}"
    if sentence is not None:
        sys.stderr.write(f"podium: {sentence}\n")
    sys.exit(code)


def _run(app: Callable[[], object], stop: Stoppable) -> tuple[int, str | None]:
    """Run the command; return its exit code, and the sentence that says what went wrong."""
    from podium.cli.console import note_replaced

    try:
        app()
    except SystemExit as exit:
        if not exit.code:
            note_replaced()  # of a command that reads no data
        if exit.code == 128 + signal.SIGINT:  # Typer turns a KeyboardInterrupt into this exit code
            return _interrupted(stop)
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None), None
    except KeyboardInterrupt:
        return _interrupted(stop)
    except Stopped as stopped:
        return stopped.code or stop.code, str(stopped)
    except PodiumError as error:
        from podium.cli.spelling import sentence

        return 2, sentence(error)
    except OSError as error:
        return 2, f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    except MemoryError:
        return 2, (
            "out of memory; use a smaller file, or convert it to the cache first: podium data convert IN OUT.podium-data"
        )
    except Exception as error:
        from podium.cli.spelling import own_code_error

        words = own_code_error(error)
        if words is None:
            raise
        return 1, words
    return 0, None


def _interrupted(stop: Stoppable) -> tuple[int, str]:
    """Return the exit code and the message of an interrupted command. Files that it left open are closed with the process."""
    warnings.simplefilter("ignore", ResourceWarning)
    return stop.code, NOTHING_WRITTEN


__all__ = ["main"]
