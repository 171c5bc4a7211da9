"""A request that cannot be answered: a status, a word for programs, and a sentence for people."""

from __future__ import annotations

import msgspec


class RequestError(Exception):
    """Raised wherever a request turns out to be wrong; the endpoint sends it as JSON.

    Attributes:
        status: HTTP status.
        code: A word that programs can rely on.
        message: A sentence that says what is wrong and what to do.
        headers: Further headers of the response.
    """

    def __init__(self, status: int, code: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers

    def body(self) -> bytes:
        """Return the response's body."""
        return problem_body(self.code, self.message)


class Problem(msgspec.Struct):
    """What went wrong."""

    code: str
    message: str


class ProblemAnswer(msgspec.Struct):
    """The body of every response that is not a success."""

    error: Problem


def problem_body(code: str, message: str) -> bytes:
    """Return a problem as JSON."""
    return msgspec.json.encode(ProblemAnswer(Problem(code, message)))
