"""POST /v1/models/{name}/score and /rank: from the bytes of a request to the bytes of its answer.

This is plain ASGI, without the routing and validation of FastAPI, because both take longer than scoring a hundred documents.
Small requests are handled on the event loop, where handing them to a thread would cost more than the work; large ones go to a pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
import numpy.typing as npt

from podium.errors import DataError
from podium.serve.answers import ARROW, JSON, RAW, write_answer
from podium.serve.batch import Batch, unprocessable
from podium.serve.binary_bodies import check_arrow, read_arrow_body, read_raw
from podium.serve.json_bodies import read_json
from podium.serve.keys import key_of
from podium.serve.logs import describe_error, write_log
from podium.serve.meter import UNKNOWN_MODEL, Meter
from podium.serve.problems import RequestError, problem_body
from podium.serve.registry import Deployment, Registry, ServedModel
from podium.serve.settings import ServiceSettings
from podium.serve.shadow import Shadow

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

INLINE_BYTES = 512 * 1024  # larger bodies are handled by a thread
POOL_THREADS = 4
FORMATS = {
    b"application/json": JSON,
    b"application/octet-stream": RAW,
    b"application/vnd.apache.arrow.stream": ARROW,
    b"application/vnd.apache.arrow.file": ARROW,
}
LONGEST_LENGTH = 18  # digits of a Content-Length
CLOSE = ((b"connection", b"close"),)


class Parameters(NamedTuple):
    """What the address of a request says; its fields are the parameters' names."""

    version: str | None = None
    k: int | None = None
    sizes: str | None = None
    features: int | None = None


class ClientLeftError(Exception):
    """The client closed the connection before its request was complete."""


@dataclass(frozen=True)
class Call:
    """What is known about a request before its body is read."""

    deployment: Deployment
    model: ServedModel
    ranks: bool
    body_format: str
    answer_format: str
    sizes: str | None
    k: int | None

    @property
    def role(self) -> str:
        """The role of the version that answers."""
        if self.model is self.deployment.default:
            return "default"
        return "canary" if self.model is self.deployment.canary else "other"


@dataclass(frozen=True)
class Answer:
    """A body, and what it was made from."""

    body: bytes
    batch: Batch
    scores: npt.NDArray[np.float64]


class Endpoint:
    """Answers requests for scores and rankings."""

    def __init__(self, settings: ServiceSettings, registry: Registry, meter: Meter) -> None:
        self._settings, self._registry, self._meter = settings, registry, meter
        self._limits = settings.limits
        self._in_flight = 0
        self._pool = ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="score")
        self._shadow = Shadow(meter, settings.threads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send, name: str, operation: str) -> None:
        """Answer one request."""
        started = perf_counter()
        self._in_flight += 1
        self._meter.add("podium_requests_in_flight", (), 1)
        known = name if name in self._registry.deployments else UNKNOWN_MODEL
        call = answer = None
        try:
            headers = dict(scope["headers"])
            call = self._prepare(scope, headers, name, operation)
            answer = await self._answer(call, receive, headers, started)
            status, fields = 200, _success_headers(call)
            body = answer.body
        except RequestError as problem:
            status, body = problem.status, problem.body()
            fields = [(b"content-type", b"application/json"), *problem.headers]
        except ClientLeftError:
            status = 0
        except Exception as error:
            status, fields = 500, [(b"content-type", b"application/json")]
            body = problem_body("internal_error", "the service failed to answer; its log says where")
            write_log("error", "failed", model=known, operation=operation, **describe_error(error))
        finally:
            self._in_flight -= 1
            self._meter.add("podium_requests_in_flight", (), -1)
        if status:
            await send(
                {
                    "type": "http.response.start",
                    "status": status,
                    "headers": [(b"content-length", str(len(body)).encode()), *fields],
                }
            )
            await send({"type": "http.response.body", "body": body})
        self._record(known, operation, status, perf_counter() - started, call, answer)

    def _record(
        self, name: str, operation: str, status: int, seconds: float, call: Call | None, answer: Answer | None
    ) -> None:
        """Count and log a request, and give it to the shadow."""
        if status:
            self._meter.add("podium_requests_total", (name, operation, str(status)))
        documents = queries = 0
        if call is not None and answer is not None:
            documents, queries = len(answer.scores), len(answer.batch.sizes)
            self._meter.observe(name, operation, seconds)
            self._meter.add("podium_documents_total", (name, call.role), documents)
            shadow = call.deployment.shadow
            if shadow is not None and call.model is not shadow:
                self._shadow.submit(shadow, call.model, answer.batch, answer.scores)
        if self._settings.access_log:
            write_log(
                "info" if status < 500 else "error",
                "request",
                model=name or None,
                version=call and call.model.version,
                operation=operation,
                status=status or None,
                documents=documents,
                queries=queries,
                ms=round(1000 * seconds, 3),
            )

    def _prepare(self, scope: Scope, headers: dict[bytes, bytes], name: str, operation: str) -> Call:
        """Check everything that can be checked before the body is read."""
        if not self._settings.keys.accept(key_of(headers)):
            raise unauthorized()
        if scope["method"] != "POST":
            raise RequestError(405, "wrong_method", "send documents with POST", ((b"allow", b"POST"),))
        deployment = self._registry.find(name)
        if self._in_flight > self._limits.max_concurrency:
            raise RequestError(
                503, "busy", "too many requests are being handled; try again", ((b"retry-after", b"1"), *CLOSE)
            )
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        body_format = FORMATS.get(kind)
        if body_format is None:
            known = ", ".join(word.decode() for word in FORMATS)
            raise RequestError(415, "unknown_format", f"the header Content-Type must be one of {known}")
        if b"content-encoding" in headers and headers[b"content-encoding"].lower() != b"identity":
            raise RequestError(415, "unknown_encoding", "compressed bodies are not read; send the body as it is")
        answer_format = FORMATS.get(headers.get(b"accept", b"").partition(b";")[0].strip().lower(), body_format)
        if ARROW in (body_format, answer_format):
            check_arrow()
        given = _parameters(scope["query_string"])
        model = deployment.choose(given.version, headers.get(b"x-canary-key"))
        if given.features is not None and given.features != model.n_features:
            raise unprocessable(
                f"the documents have {given.features} features, the model was trained on {model.n_features}",
                "wrong_width",
            )
        return Call(deployment, model, operation == "rank", body_format, answer_format, given.sizes, given.k)

    async def _answer(self, call: Call, receive: Receive, headers: dict[bytes, bytes], started: float) -> Answer:
        deadline = self._limits.timeout
        try:
            async with asyncio.timeout(deadline):
                body = await self._read(receive, headers)
        except TimeoutError:
            message = f"the request did not arrive within {deadline:g} seconds; send it faster"
            raise RequestError(408, "too_slow", message, CLOSE) from None
        if len(body) <= INLINE_BYTES:
            return self._compute(call, body)
        left = max(0.0, deadline - (perf_counter() - started))
        task = asyncio.get_running_loop().run_in_executor(self._pool, self._compute, call, body)
        try:
            return await asyncio.wait_for(task, left)
        except TimeoutError:
            raise RequestError(
                503, "timeout", f"scoring took longer than {deadline:g} seconds; send fewer documents"
            ) from None

    async def _read(self, receive: Receive, headers: dict[bytes, bytes]) -> bytes:
        most = self._limits.max_body_bytes
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > LONGEST_LENGTH or int(length) > most:
            raise _too_large(most)
        message = await receive()
        if message["type"] != "http.request":
            raise ClientLeftError
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False) and len(body) <= most:
            return body
        parts, size = [body], len(body)
        while message.get("more_body", False):
            message = await receive()
            if message["type"] != "http.request":
                raise ClientLeftError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
        return b"".join(parts)

    def _compute(self, call: Call, body: bytes) -> Answer:
        """Decode, score and encode. Runs on the event loop or in a thread."""
        model, limits = call.model, self._limits
        if call.body_format == JSON:
            batch = read_json(body, model, limits)
            if batch.k is None and call.k is not None:
                batch = Batch(batch.features, batch.sizes, batch.ids, call.k, batch.several)
        elif call.body_format == RAW:
            batch = read_raw(body, model, limits, call.sizes, call.k)
        else:
            batch = read_arrow_body(body, model, limits, call.sizes, call.k)
        threads = 1 if len(body) <= INLINE_BYTES else self._settings.threads
        try:
            scores = model.scores(batch.features, batch.sizes, threads)
        except DataError as error:
            raise unprocessable(f"{error}") from None
        return Answer(write_answer(call.answer_format, call.ranks, model, batch, scores), batch, scores)

    def close(self) -> None:
        """Finish the work that threads have begun."""
        self._pool.shutdown(wait=True)
        self._shadow.close()


def unauthorized() -> RequestError:
    """Return the error for a request without a key that is accepted."""
    return RequestError(
        401,
        "unauthorized",
        "this service needs an API key; send it in the header Authorization: Bearer KEY",
        ((b"www-authenticate", b"Bearer"),),
    )


def _too_large(most: int) -> RequestError:
    return RequestError(413, "too_large", f"the body may have at most {most:,} bytes; send several requests")


def _success_headers(call: Call) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", call.answer_format.encode()), (b"x-model-version", call.model.version.encode())]


def _parameters(query: bytes) -> Parameters:
    """Return the parameters that the address gives."""
    if not query:
        return Parameters()
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=len(Parameters._fields))
    except ValueError:
        pairs = [("", "")]
    given = dict(pairs)
    if len(given) < len(pairs) or not given.keys() <= set(Parameters._fields):
        known = ", ".join(Parameters._fields)
        raise unprocessable(f"the parameters of the address are {known}, each at most once", "invalid_parameter")
    return Parameters(given.get("version"), _count("k", given), given.get("sizes"), _count("features", given))


def _count(name: str, given: dict[str, str]) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise unprocessable(f"{name} must be a whole number of at least 0", "invalid_parameter")
    return int(text)
