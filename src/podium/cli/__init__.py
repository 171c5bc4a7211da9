"""The command line: `podium --help`. One file a command, thin over the public names."""

from __future__ import annotations

import sys

from podium.cli.stopping import Stopped
from podium.errors import PodiumError


def main() -> None:
    """Runs the command line. Bad input: one sentence on stderr and exit code 2."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows a question mark
        from podium.cli.app import app

        app()
    except SystemExit as stop:
        if stop.code == 130:
            _fail("interrupted; no output was written", code=130)
        raise
    except KeyboardInterrupt:
        _fail("interrupted; no output was written", code=130)
    except Stopped as stop:
        _fail(str(stop), code=stop.code)
    except PodiumError as error:
        from podium.cli.spelling import sentence

        _fail(sentence(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
    except MemoryError:
        _fail(
            "memory ran out; use a smaller file, or convert it to the cache first: podium data convert IN OUT.podium-data"
        )
    except Exception as error:
        from podium.cli.spelling import own_code_error

        words = own_code_error(error)
        if words is None:
            raise
        _fail(words, code=1)


def _fail(sentence: str, code: int = 2) -> None:
    sys.stderr.write(f"podium: {sentence}\n")
    sys.exit(code)


__all__ = ["main"]
