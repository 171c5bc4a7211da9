"""Every force as a PyTorch loss: ∂loss/∂s = −λ, so that any nn.Module can be trained with any force. Needs the extra `torch`.

    import podium.torch

    loss = podium.torch.loss("lambdarank(ndcg@10)")
    loss(model(features), data).backward()  # RankingData, scores in the caller's row order
    loss(model(features), labels=labels, qid=qid).backward()  # or plain tensors

The value is the cost, summed over queries. A force without a cost has the value −Σ λ_i·s_i with λ held fixed: its slope is
−λ too and it does not change when all scores of a query are shifted, but it is no measure of progress: it need not fall
as the ranking improves, so follow a metric.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_numbers, as_row_numbers
from podium.data.hashing import check_seed
from podium.errors import DataError, MissingExtraError, ParameterError, UnknownNameError, is_integer, short_repr
from podium.forces import Force, ForceData, force
from podium.forces.force_data import ForceOutcome
from podium.threads import resolve_threads

try:
    import torch
    from torch.autograd import Function  # not torch alone, which any folder of that name would satisfy
    from torch.nn import Module, Parameter
except ImportError:
    raise MissingExtraError("torch is not installed; pip install 'podium[torch]'") from None

__all__ = ["ForceLoss", "NetworkNumbers", "Thresholds", "loss"]

Array = npt.NDArray[Any]
LEAST_STEP = 1e-6  # between thresholds, so that they rise also where no document has the level between them


def loss(
    name: str | Force,
    *,
    reduction: Literal["sum", "mean"] = "sum",
    levels: int | None = None,
    seed: int = 0,
    num_threads: int | None = None,
) -> ForceLoss:
    """Return the loss of a force, given by name or as a value; `ForceLoss` describes how it is called.

    Args:
        name: a force such as `ranknet(sigma=1)` or `lambdarank(ndcg@10)`.
        reduction: over queries: `sum`, or `mean`, which divides value and gradient by the number of queries.
        levels: how many levels the labels of all data have; for `ordinal`, which then learns its own thresholds.
        seed: the seed of forces that draw random numbers.
        num_threads: threads of the force; all cores by default. The result does not depend on it.
    """
    return ForceLoss(force(name), reduction=reduction, levels=levels, seed=seed, num_threads=num_threads)


class ForceLoss(Module):
    """C(s), a scalar, with ∂C/∂s = −λ. Made by `podium.torch.loss`.

    Parameters of the force itself (the thresholds of `ordinal`, the numbers of `structrank`'s network) are parameters of this
    module: give them to the optimizer with those of the model. A force that draws random numbers makes a new draw in each call; the number of the next draw is
    the buffer `round`, so it is saved with the state.
    """

    def __init__(
        self, acting: Force, *, reduction: str, levels: int | None, seed: int, num_threads: int | None
    ) -> None:
        super().__init__()
        if reduction not in ("sum", "mean"):
            raise UnknownNameError("reduction", reduction, ("sum", "mean"))
        if levels is not None and not acting.definition.has_thresholds:
            raise ParameterError("levels", levels, f"is of no use to {acting}, which has no thresholds", "leave it out")
        self.force, self.reduction = acting, reduction
        self.seed, self.num_threads = check_seed(seed), resolve_threads(num_threads)
        self.thresholds = None if levels is None else Thresholds(levels)
        named = acting.learns and not acting.definition.has_thresholds
        self.network = NetworkNumbers(acting) if named else None
        if self.force.draws:
            self.register_buffer("round", torch.zeros((), dtype=torch.int64))
        self._last: tuple[RankingData, ForceData] | None = None

    def forward(
        self,
        scores: Any,
        data: RankingData | None = None,
        *,
        labels: Any = None,
        qid: Any = None,
        query_offsets: Any = None,
        thresholds: Any = None,
        round: int | None = None,
    ) -> Any:
        """Return the loss of float32 or float64 scores: one per document, or [documents × levels] for `multiclass`.

        Args:
            scores: in the order of the rows of `data` or `labels`; a matrix of one column is taken as flat.
            data: labels, queries, weights and pairs of these documents.
            labels: instead of `data`, one label per document, with
            qid: one query id per document, in any order, or
            query_offsets: where each query begins, and the end: query q is rows query_offsets[q] to query_offsets[q + 1].
            thresholds: rising thresholds of `ordinal`, one fewer than there are levels, instead of the module's own.
            round: the number of the draw, for forces that draw random numbers; by default one more than at the last call.
        """
        flat = _checked_scores(self.force, scores)
        known, held = self._hold(data, labels, qid, query_offsets)
        own = self._own_for_call(thresholds)
        if self.force.definition.labels == "levels":
            held.levels = _levels(known.labels, flat, own)
        return _ForceCost.apply(flat, own, self, known, held, self._round_for_call(round))

    def extra_repr(self) -> str:
        """Return what `print` shows between the parentheses."""
        return f"{str(self.force)!r}, reduction={self.reduction!r}"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}  # the core's view of the last data is made again when it is needed

    def _hold(self, data: Any, labels: Any, qid: Any, query_offsets: Any) -> tuple[RankingData, ForceData]:
        if data is None:
            known = _data_of_labels(labels, qid, query_offsets)
            return known, ForceData(known)
        if not isinstance(data, RankingData):
            raise DataError(
                f"data is a {type(data).__name__}, not RankingData; give plain labels by name, labels=…, qid=…"
            )
        if any(part is not None for part in (labels, qid, query_offsets)):
            raise DataError("data has labels and queries of its own; leave labels, qid and query_offsets out")
        if self._last is None or self._last[0] is not data:
            self._last = data, ForceData(data)
        return self._last

    def _own_for_call(self, given: Any) -> Any:
        """The values of the force's own parameters."""
        if not self.force.definition.has_thresholds:
            if given is not None:
                rule = f"cannot be given to {self.force}, which has none"
                raise ParameterError("thresholds", rule=rule, remedy="leave them out")
            return None if self.network is None else self.network()
        if given is None and self.thresholds is None:
            name = self.force.name
            remedy = f"make the loss as loss({name!r}, levels=…) or give thresholds=…"
            raise ParameterError("thresholds", rule=f"are needed by {name}, which learns them", remedy=remedy)
        own = self.thresholds() if given is None and self.thresholds is not None else given
        if not isinstance(own, torch.Tensor) or own.ndim != 1:
            raise DataError(f"thresholds={short_repr(own)} must be a flat tensor, one fewer than there are levels")
        return own

    def _round_for_call(self, given: int | None) -> int:
        if given is not None:
            if not is_integer(given) or given < 0:
                raise ParameterError("round", given, "must be a whole number of at least 0")
            return int(given)
        if not self.force.draws:
            return 0
        number = int(self.round)
        self.round += 1
        return number


class Thresholds(Module):
    """Rising thresholds b_0 < b_1 < …, one fewer than there are levels: b_k = b_0 + Σ softplus(steps), in float64.

    They begin where a score of 0 makes every level equally likely: b_k = log((k + 1) / (levels − k − 1)).
    """

    def __init__(self, levels: int) -> None:
        super().__init__()
        if not is_integer(levels) or not 2 <= levels < 1000:
            raise ParameterError("levels", levels, "must be a whole number from 2 to 999, the highest label plus 1")
        below = np.arange(1, levels) / levels
        start = np.log(below / (1 - below))
        steps = np.log(np.expm1(np.diff(start) - LEAST_STEP))  # softplus turned round
        self.first = Parameter(torch.tensor(start[:1], dtype=torch.get_default_dtype()))
        self.steps = Parameter(torch.tensor(steps, dtype=torch.get_default_dtype()))

    def forward(self) -> Any:
        """Return the thresholds as a float64 tensor."""
        rises = torch.nn.functional.softplus(self.steps.double()) + LEAST_STEP
        return torch.cat([self.first.double(), self.first.double() + rises.cumsum(0)])


class NetworkNumbers(Module):
    """Named numbers that a force learns, such as w1 and w2 of `structrank`, in float64; they start at the values in its name."""

    def __init__(self, acting: Force) -> None:
        super().__init__()
        own = acting.own_parameters(None)
        self.names, self.kinds = own.names, [kind.name for kind in own.kinds]
        start = own.to_free(acting.own_values(None))
        self.free = Parameter(torch.tensor(start, dtype=torch.get_default_dtype()))

    def forward(self) -> Any:
        """Return the values as a float64 tensor."""
        free = self.free.double().clamp(-30, 30)
        ways = {"positive": torch.exp, "correlation": lambda number: (1 - 1e-6) * torch.sigmoid(number)}
        return torch.stack([ways[kind](number) for kind, number in zip(self.kinds, free, strict=True)])


class _ForceCost(Function):
    """Computes the cost in the forward pass and −λ in the backward pass; the core computes both in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, scores: Any, own: Any, asked: ForceLoss, data: RankingData, held: ForceData, round: int
    ) -> Any:
        given = data.from_caller_order(_double(scores))

        def compute(*, cost: bool) -> ForceOutcome:
            values = () if own is None else _double(own)
            options: dict[str, Any] = {"seed": asked.seed, "round": round, "num_threads": asked.num_threads}
            return asked.force.compute(given, held, cost=cost, parameters=values, **options)

        outcome = compute(cost=False)
        # a pass of its own: asked for the cost too, the core may add up a force in another order
        by_query = compute(cost=True).cost if asked.force.has_cost else None
        if by_query is None:
            by_query = -np.add.reduceat(outcome.force * given, data.query_offsets[:-1])
        share = data.n_queries if asked.reduction == "mean" else 1
        slope, own_slope = _like(-data.to_caller_order(outcome.force) / share, scores), None
        if outcome.parameter_force is not None:
            total = [-math.fsum(column) / share for column in outcome.parameter_force.T]
            own_slope = _like(np.array(total), own)
        ctx.name = str(asked.force)
        ctx.save_for_backward(scores, own, slope, own_slope)
        return _like(np.array(math.fsum(by_query) / share), scores)  # exact, whatever the order of the queries

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        slopes = _Slope.apply(ctx.name, upstream, *ctx.saved_tensors)
        return *slopes, None, None, None, None


class _Slope(Function):
    """The gradient as a function of scores and the force's own parameters; it raises an error if it is differentiated again."""

    @staticmethod
    def forward(ctx: Any, name: str, upstream: Any, scores: Any, own: Any, slope: Any, own_slope: Any) -> Any:
        ctx.name = name
        return upstream * slope, None if own_slope is None else upstream.to(own_slope) * own_slope

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        raise ParameterError("create_graph", True, f"asks for second derivatives; {ctx.name} gives the first only")


def _checked_scores(acting: Force, scores: Any) -> Any:
    """Return scores that a force can act on; a single column is flattened."""
    if not isinstance(scores, torch.Tensor):
        raise DataError(f"{acting}: scores are a {type(scores).__name__}; they must be a tensor")
    if scores.dtype not in (torch.float32, torch.float64):
        raise DataError(f"{acting}: scores are {scores.dtype}; they must be float32 or float64: use scores.float()")
    if scores.ndim not in (1, 2):
        raise DataError(
            f"{acting}: scores have shape {tuple(scores.shape)}; give one per document, one query after the other, without padding"
        )
    return scores.squeeze(1) if scores.ndim == 2 and scores.shape[1] == 1 else scores


def _data_of_labels(labels: Any, qid: Any, query_offsets: Any) -> RankingData:
    """Return RankingData without features; the query ids are those given, or count from 0."""
    if labels is None or (qid is None) == (query_offsets is None):
        raise DataError("labels are missing; give data, or labels with either qid or query_offsets")
    found = as_numbers("labels", _array(labels))
    features = np.empty((found.size, 0), np.float32)
    if qid is not None:
        return RankingData(features, found, _array(qid))
    offsets = as_row_numbers("query_offsets", _array(query_offsets))
    numbers = np.arange(max(len(offsets) - 1, 0))
    return RankingData.of_parts(features=features, labels=found, query_offsets=offsets, query_ids=numbers)


def _levels(labels: Array, scores: Any, own: Any) -> int:
    """Return the number of levels of scores or thresholds, not all of which a batch needs to have; or of the labels, if larger."""
    outputs = scores.shape[1] if scores.ndim == 2 else 1
    return max(int(labels.max()) + 1, outputs if own is None else len(own) + 1)


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values


def _double(values: Any) -> Array:
    found: Array = values.detach().cpu().double().numpy()
    return found


def _like(values: Array, tensor: Any) -> Any:
    """Return a new tensor with the type and device of another."""
    return torch.from_numpy(np.asarray(values)).to(tensor)
