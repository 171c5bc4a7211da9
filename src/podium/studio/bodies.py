"""What requests to the studio contain, and how names in them are read.

A name in a request can never lead to code: `module:function` is for Python and the command line alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from podium.forces import Force
from podium.forces import force as as_force
from podium.metrics import Metric
from podium.metrics import metric as as_metric
from podium.serve.problems import RequestError
from podium.studio.scenes import LARGEST_SCORE

LONGEST_NAME = 300
MOST_STEPS = 200
S = TypeVar("S", bound=msgspec.Struct)
Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Score = Annotated[float, msgspec.Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]


class ListRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Which queries to list."""

    first: Name
    second: Name = ""
    metric: Name = "ndcg@10"
    search: Name = ""
    order: Literal["data", "gain", "loss", "disagreement", "worst", "best"] = "data"
    offset: Count = 0


class ShowRequest(msgspec.Struct, forbid_unknown_fields=True):
    """By which rankings and metric to show a query, and a document of it."""

    first: Name
    second: Name = ""
    metric: Name = "ndcg@10"
    document: Count = 0


class SceneRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Which query to move: an example by name, or a query by number at the scores of a ranking."""

    preset: Name = ""
    query: Count = 0
    ranking: Name = ""


class PointRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A query at some scores, with a force and a metric."""

    scores: list[Score]
    force: Name
    metric: Name = "ndcg@10"
    preset: Name = ""
    query: Count = 0
    ranking: Name = ""
    round: Count = 0


class DescentRequest(PointRequest, forbid_unknown_fields=True, kw_only=True):
    """The same, to be moved some steps along the force."""

    movement: Literal["free", "linear"] = "free"
    rate: Annotated[float, msgspec.Meta(gt=0, le=1e4)] = 0.1
    steps: Annotated[int, msgspec.Meta(ge=1, le=MOST_STEPS)] = 1


class TrainRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Which ranker to train with which settings, and how long to wait after each round, in seconds."""

    ranker: Name
    metric: Name = "ndcg@10"
    settings: dict[Name, str | bool | int | float | None] = {}
    pause: Annotated[float, msgspec.Meta(ge=0, le=5)] = 0.0


class FollowRequest(msgspec.Struct, forbid_unknown_fields=True):
    """From which row on a training is followed, and which validation query is watched."""

    since: Count = 0
    query: Count | None = None


def read_body(body: bytes, kind: type[S]) -> S:
    """Return a request's JSON body."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise RequestError(422, "invalid_body", f"the body does not fit: {error}") from None
    except msgspec.DecodeError as error:
        raise RequestError(400, "malformed_body", f"the body is not JSON: {error}") from None


def read_parameters(given: Any, kind: type[S]) -> S:
    """Return the parameters of a request's address."""
    try:
        return msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as error:
        raise RequestError(422, "invalid_parameter", f"the address does not fit: {error}") from None


def named_metric(text: str) -> Metric:
    """Return a metric of Podium's own by its name."""
    return as_metric(_plain(text, "metric"))


def named_force(text: str) -> Force:
    """Return a force of Podium's own by its name; it must need one score per document."""
    found = as_force(_plain(text, "force"))
    if found.definition.outputs != "one":
        message = f"{found.name} needs several scores per document, and the page shows one; choose another force"
        raise RequestError(422, "unsuitable_force", message)
    return found


def _plain(text: str, kind: str) -> str:
    """Return a name without any letter that `module:function` could be written with."""
    if ":" in text or not text.isascii():
        raise RequestError(422, f"invalid_{kind}", f"the name of a {kind} has ASCII letters and no colon here")
    return text


def read_scores(given: list[float], count: int) -> npt.NDArray[np.float64]:
    """Return scores as an array, if there is one per document."""
    if len(given) != count:
        raise RequestError(
            422, "wrong_length", f"there are {len(given):,} scores for {count:,} documents; send one each"
        )
    return np.array(given, np.float64)
