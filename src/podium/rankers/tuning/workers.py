"""Trials in other processes: each trains what it is sent, and asks after every epoch whether to continue.

A worker is a new Python interpreter rather than a fork, because a fork would inherit the core's threads in an unknown state; and it
does not import the user's script again, as multiprocessing would. Only the process that searches writes to the study: a worker
whose parent is gone ends at its next report.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from podium.errors import ParameterError
from podium.rankers.tuning.objective import Objective, Outcome, Step

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from podium.rankers.tuning.workers import serve; serve(int(sys.argv[1]))"
)


EXIT_SECONDS = 10.0  # for a process that has closed its end of the pipe


@dataclass(frozen=True)
class Ended:
    """How a trial ended, and the warnings that it gave by category and text."""

    outcome: Outcome
    warned: tuple[tuple[type[Warning], str], ...]


class Worker:
    """A process that trains trials."""

    def __init__(self, objective: bytes) -> None:
        ours, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-c", START, str(theirs.fileno()), json.dumps(sys.path)]
            self.process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0
            )
        self.connection = ours
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ours.send_bytes(objective)

    def close(self) -> int:
        """End the process, and return its exit code. One that waits for a trial ends by itself."""
        self.connection.close()
        try:
            return self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End the process at once, and return its exit code."""
        self.connection.close()
        self.process.kill()
        return self.process.wait()


class Workers:
    """A context with several processes, each of which trains one trial at a time.

    Args:
        objective: what every trial trains on and is judged by.
        count: the number of processes.
    """

    def __init__(self, objective: Objective, count: int) -> None:
        try:
            self._objective = pickle.dumps(objective)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise _not_sent(error) from None
        self._idle: list[Worker] = []
        self._busy: dict[Connection, tuple[Worker, Any]] = {}
        self.count = count

    @property
    def has_room(self) -> bool:
        """Whether another trial can be started."""
        return len(self._busy) < self.count

    @property
    def is_busy(self) -> bool:
        """Whether a trial is being trained."""
        return bool(self._busy)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *raised: object) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            worker.kill()

    def start(self, key: Any, parameters: Mapping[str, Any]) -> None:
        """Let a process train a trial, which is known by its key from here on."""
        worker = self._idle.pop() if self._idle else Worker(self._objective)
        self._busy[worker.connection] = worker, key
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # noticed when its answer is awaited
            worker.connection.send(dict(parameters))

    def events(self) -> Iterator[tuple[Any, Step | Outcome]]:
        """Yield what the trials report, by their keys: a step, which must be answered, or how the trial ended."""
        for connection in wait(list(self._busy)):
            worker, key = self._busy[connection]  # type: ignore[index]
            try:
                message = worker.connection.recv()
            except (EOFError, ConnectionResetError):
                del self._busy[worker.connection]
                yield key, Outcome("failed", error=f"the process that trained it ended with code {worker.close()}")
                continue
            if isinstance(message, Exception):
                raise message
            if isinstance(message, Ended):
                del self._busy[worker.connection]
                self._idle.append(worker)
                for category, text in message.warned:
                    warnings.warn(text, category, stacklevel=2)
                yield key, message.outcome
            else:
                yield key, message

    def answer(self, key: Any, verdict: str) -> None:
        """Answer a step."""
        worker = next(worker for worker, other in self._busy.values() if other is key)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(verdict)


def serve(descriptor: int) -> None:
    """Train the trials that the other end of a pipe sends, until it is closed."""
    with Connection(descriptor) as parent, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            objective: Objective = pickle.loads(parent.recv_bytes())
        except Exception as error:
            parent.send(_not_sent(error))
            return
        while True:
            parameters = parent.recv()
            try:
                parent.send(_run(objective, parameters, parent))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                error.add_note("".join(["In a process of the search:\n", *traceback.format_exception(error)]))
                parent.send(as_sendable(error))


def _run(objective: Objective, parameters: Mapping[str, Any], parent: Connection) -> Ended:
    def report(step: Step) -> str:
        parent.send(step)
        verdict: str = parent.recv()
        return verdict

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        outcome = objective.run(parameters, report)
    return Ended(outcome, tuple((each.category, str(each.message)) for each in warned))


def _not_sent(error: Exception) -> ParameterError:
    return ParameterError(
        "jobs",
        rule=f"above 1 needs a ranker that can be sent to other processes, and this one cannot ({error})",
        remedy="define your force and your metric as functions in a module, or use {jobs=1}",
    )


def as_sendable(error: Exception) -> Exception:
    """Return the error, or a plain one of the same text if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        plain.__notes__ = error.__notes__
        return plain
    return error
