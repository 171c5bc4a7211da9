"""A client of the service, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
import numpy.typing as npt

from podium.data.frame_columns import is_frame
from podium.errors import ParameterError, PodiumError
from podium.serve.frame_documents import find_features, frame_documents

JSON, RAW = "application/json", "application/octet-stream"
FIRST_PAUSE = 0.05  # seconds before the first retry; doubled for each further one
LONGEST_PAUSE = 2.0
BUSY = "busy"  # the code of a service that has too much to do at the moment
Documents = npt.ArrayLike | Sequence[Mapping[str, Any]]


class ServiceError(PodiumError):
    """The service refused a request, or cannot be reached.

    Attributes:
        status: HTTP status, or None if there was no answer.
        code: A word for what is wrong, such as "wrong_width".
    """

    def __init__(self, message: str, status: int | None = None, code: str = "unreachable") -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Ranking:
    """The best documents of one query, the best first.

    Attributes:
        positions: Where each document stood in the request, counted from 0.
        scores: Their scores.
        ids: Their ids, or None.
    """

    positions: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    ids: list[str | int] | None = None


class Client:
    """A client of one service. Threads may share it; each has a connection of its own.

    Arrays are sent as raw float32, and lists of dictionaries as documents with named features. The columns of a frame of pandas,
    polars or pyarrow are found by name, as `ranker.predict` finds them: their order does not matter, columns that the model was not
    trained on are left out with a warning, and a missing one is a DataError. A request whose connection fails is sent again:
    scoring changes nothing, so that this is safe.

    Args:
        url: Address of the service.
        api_key: Key to send, or None.
        timeout: Seconds to wait for an answer.
        retries: How often a request is sent again if its connection fails, or if the service is busy.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        retries: int = 5,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("url", url, "must be an address such as http://127.0.0.1:8080")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._address = f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if self._secure else 80)}"
        self._base = parts.path.rstrip("/")
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._timeout, self._retries = timeout, retries
        self._local = threading.local()

    def score(
        self,
        model: str,
        documents: Documents,
        *,
        sizes: Sequence[int] | None = None,
        version: str | None = None,
        canary_key: str | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return one score per document, in their order.

        Args:
            model: Name of the model.
            documents: A matrix or frame with one row per document, or a list of dictionaries with features by name.
            sizes: How many documents each query has; by default all belong to one.
            version: The version to use, instead of the one the service chooses.
            canary_key: Requests with the same key, such as a user's, are answered by the same version.
        """
        answer = self._post(model, "score", documents, sizes, {"version": version}, canary_key)
        if isinstance(answer, bytes):
            return np.frombuffer(answer, "<f8").copy()
        parts = answer.get("queries", [answer])
        return np.array([score for part in parts for score in part["scores"]], np.float64)

    def rank(
        self,
        model: str,
        documents: Documents,
        k: int | None = None,
        *,
        ids: Sequence[str | int] | None = None,
        version: str | None = None,
        canary_key: str | None = None,
    ) -> Ranking:
        """Return the best k documents of one query, the best first; all of them without k. Other arguments as for `score`.

        Args:
            model: Name of the model.
            documents: A matrix or frame with one row per document, or a list of dictionaries with features by name.
            k: How many documents to return.
            ids: One per document; the ranking has those of its documents.
            version: The version to use, instead of the one the service chooses.
            canary_key: Requests with the same key, such as a user's, are answered by the same version.
        """
        answer = self._post(model, "rank", documents, None, {"version": version, "k": k}, canary_key)
        positions = np.array([entry["position"] for entry in answer["ranking"]], np.int64)
        scores = np.array([entry["score"] for entry in answer["ranking"]], np.float64)
        return Ranking(positions, scores, None if ids is None else [ids[place] for place in positions.tolist()])

    def models(self) -> list[dict[str, Any]]:
        """Return the models of the service, with their versions and features."""
        found: list[dict[str, Any]] = json.loads(self._send("GET", "/v1/models"))["models"]
        return found

    def is_ready(self) -> bool:
        """Return whether the service answers and has loaded its models."""
        try:
            self._send("GET", "/readyz")
        except ServiceError:
            return False
        return True

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(
        self,
        model: str,
        operation: str,
        documents: Documents,
        sizes: Sequence[int] | None,
        parameters: dict[str, Any],
        canary_key: str | None,
    ) -> Any:
        """Return the answer: JSON, or the bytes of scores if the documents are a matrix."""
        headers = {} if canary_key is None else {"X-Canary-Key": canary_key}
        given = {name: value for name, value in parameters.items() if value is not None}
        path = f"/v1/models/{quote(model, safe='')}/{operation}"
        rows: Any = documents
        if is_frame(rows):
            found = find_features(self.models(), model, parameters["version"])
            rows = [] if found is None else frame_documents(rows, found)
            body = json.dumps(_split(rows, sizes), allow_nan=False).encode()
            return json.loads(self._send("POST", _with(path, given), body, {**headers, "Content-Type": JSON}))
        if _are_named(rows):
            named = [{name: _plain(value) for name, value in row.items()} for row in rows]
            body = json.dumps(_split(named, sizes), allow_nan=False).encode()
            return json.loads(self._send("POST", _with(path, given), body, {**headers, "Content-Type": JSON}))
        matrix = np.ascontiguousarray(rows, "<f4")
        if matrix.ndim != 2:
            raise ParameterError("documents", rule="must be a matrix with one row per document")
        given["features"] = matrix.shape[1]  # raw values do not say how wide a row is
        if sizes is not None:
            given["sizes"] = ",".join(map(str, sizes))
        headers |= {"Content-Type": RAW, "Accept": RAW if operation == "score" else JSON}
        answer = self._send("POST", _with(path, given), matrix.tobytes(), headers)
        return answer if operation == "score" else json.loads(answer)

    def _send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
        pause = FIRST_PAUSE
        for attempt in range(self._retries + 1):
            try:
                status, answer = self._exchange(method, path, body, headers or {})
            except TimeoutError as error:
                self.close()
                raise ServiceError(
                    f"{self._address} did not answer within {self._timeout:g} s", code="timeout"
                ) from error
            except (http.client.HTTPException, OSError) as error:
                self.close()
                if attempt == self._retries:
                    raise ServiceError(f"{self._address} cannot be reached: {error or type(error).__name__}") from error
            else:
                if status < 400:
                    return answer
                refusal = _refusal(status, answer)
                if refusal.code != BUSY or attempt == self._retries:
                    raise refusal
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        raise AssertionError("unreachable")

    def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        connection.request(method, self._base + path, body, {**self._headers, **headers})
        response = connection.getresponse()
        return response.status, response.read()


def _are_named(documents: Any) -> bool:
    return (
        isinstance(documents, Sequence)
        and len(documents) > 0
        and all(isinstance(document, Mapping) for document in documents)
    )


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it; NaN is a missing value."""
    if value is None or isinstance(value, str):
        return value
    return None if value != value else float(value)


def _split(documents: list[dict[str, Any]], sizes: Sequence[int] | None) -> dict[str, Any]:
    if sizes is None:
        return {"documents": documents}
    ends = np.cumsum(np.asarray(sizes, np.int64)).tolist()
    if not ends or ends[-1] != len(documents):
        raise ParameterError("sizes", list(sizes), f"must add up to the {len(documents)} documents")
    return {"queries": [{"documents": documents[end - size : end]} for size, end in zip(sizes, ends, strict=True)]}


def _with(path: str, parameters: Mapping[str, Any]) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


def _refusal(status: int, body: bytes) -> ServiceError:
    try:
        error = json.loads(body)["error"]
        return ServiceError(str(error["message"]), status, str(error["code"]))
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"the service answered with status {status}", status, "unknown")
