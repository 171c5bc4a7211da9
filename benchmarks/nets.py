"""One epoch of a net by LambdaRank and by RankNet: 6,000 queries of 120 documents, 136 features, against PyTorch.

    python benchmarks/nets.py [--rounds 5] [--threads 2] [--torch-queries 600] [--batches 1 16] [--peers-only]

Same model (tanh between layers), same number of updates; PyTorch takes the queries in the order of the file, Podium as it
always does, shuffled, standardizing features on the way. PyTorch is given
what makes it fast: the forces are computed under no_grad and handed to `backward` as the gradient of the scores, so that no
graph of pairs is built; LambdaRank works on the 10 × 120 pairs that can change the first ten, not on 120 × 120; gains are
divided by the ideal DCG and batches are cut before the clock starts; Adam is the fused one, SGD the plain loop, which is
faster there. (torch.compile was tried on the forces and on the whole step and was no faster at these sizes.)

Two ways of it run, and the ratio is that of the fastest: `per query` (forward, forces and backward one query after
the other, an update every `batch` queries) and `padded` (a batch of queries at once, padding masked; all queries being
equally long here, it costs only the mask). Each runs with all threads and with one, since at these sizes one is often
faster. PyTorch runs the first `--torch-queries` queries and its time is scaled linearly to all. Rounds are interleaved and
the median is reported; run it on an idle machine, for PyTorch's threads wait for each other and another busy process can slow
them tenfold. Before the clock starts, the forces of both ways are compared with Podium's, on these queries and on queries
of unequal length.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import Linear, Module, Sequential, Tanh

import podium
from machine import machine
from podium.models import model
from podium.training.schedules import SGD, Adam
from podium.training.steps import Task

QUERIES, DOCUMENTS, FEATURES, CUTOFF = 6_000, 120, 136, 10
SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # of the labels 0 to 4
SHAPES = ((FEATURES, 1), (FEATURES, 10, 1), (FEATURES, 128, 64, 1))
FORCES = ("lambdarank(ndcg@10)", "ranknet")
BATCHES = (1, 16)
OPTIMIZERS = ("adam", "sgd")
LAYERS = ["-".join(map(str, shape)) for shape in SHAPES]
CASES = list(itertools.product(FORCES, LAYERS, BATCHES, OPTIMIZERS))
RATE = 1e-4
WARM_UP = 5  # updates before the clock starts: buffers of the optimizer, threads
LEAST = 0.5  # seconds that epochs are repeated for: threads need some time to spread over the processors
PAUSE = 0.1  # seconds before each measurement: PyTorch's threads spin for a while after their last work
FAR_BELOW = -1e30  # the score of padding: finite, so that the difference of two is a number
DISCOUNT = 1 / torch.log2(torch.arange(2, DOCUMENTS + 2)) * (torch.arange(DOCUMENTS) < CUTOFF)


def make_data(queries: int) -> podium.RankingData:
    rng = np.random.default_rng(0)
    rows = queries * DOCUMENTS
    features = rng.standard_normal((rows, FEATURES), np.float32)
    labels = rng.choice(len(SHARES), size=rows, p=SHARES).astype(np.float64)
    return podium.RankingData(features, labels, np.repeat(np.arange(queries), DOCUMENTS))


def podium_epoch(
    shape: tuple[int, ...], batch: int, optimizer: str, data: podium.RankingData, *, force: str, num_threads: int
) -> float:
    """Seconds of one epoch of Podium over all the data: `batch` queries per update."""
    hidden = ", ".join(map(str, shape[1:-1]))
    started = model(f"net({hidden})" if hidden else "linear").start(data.select([0]), n_outputs=1, seed=0)
    schedule = {"adam": Adam, "sgd": SGD}[optimizer](learning_rate=RATE, batch=batch)

    steps = schedule.make_steps(Task(podium.force(force), started, data, 0, num_threads))
    steps.begin(started.vector)
    return seconds_of(lambda: steps.epoch(1, RATE))


def seconds_of(epoch: Callable[[], object]) -> float:
    """Mean seconds of an epoch, over as many as take LEAST seconds."""
    began, epochs = time.perf_counter(), 0
    while not epochs or time.perf_counter() < began + LEAST:
        epoch()
        epochs += 1
    return (time.perf_counter() - began) / epochs


# PyTorch's side ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Padded:
    """Queries as PyTorch wants them: [queries × longest], True in the mask where there is a document."""

    features: torch.Tensor
    labels: torch.Tensor  # NaN if there is no document: comparisons with it are false
    gains: torch.Tensor  # (2^label − 1) / ideal DCG, 0 if there is no document
    mask: torch.Tensor

    @classmethod
    def of(cls, data: podium.RankingData) -> Padded:
        mask = torch.arange(int(data.query_sizes.max())) < torch.tensor(data.query_sizes)[:, None]
        features = torch.zeros(*mask.shape, data.n_features)
        labels = torch.full(mask.shape, torch.nan)
        features[mask] = torch.tensor(data.features)
        labels[mask] = torch.tensor(data.labels, dtype=torch.float32)
        gains = (torch.exp2(labels) - 1).nan_to_num(0)
        ideal = (gains.sort(-1, descending=True).values * DISCOUNT[: mask.shape[1]]).sum(-1, keepdim=True)
        return cls(features, labels, gains / ideal.where(ideal > 0, 1), mask)


@torch.no_grad()
def lambdarank_slope(scores: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """−λ of [… × documents] for NDCG@10, over the pairs of one of the first ten with any document below it."""
    cutoff = min(CUTOFF, scores.shape[-1])
    ordered, order = scores.sort(-1, descending=True)
    gains = gains.gather(-1, order)
    better = gains.unsqueeze(-2) - gains.narrow(-1, 0, cutoff).unsqueeze(-1)  # the lower one than the upper
    gap = ordered.narrow(-1, 0, cutoff).unsqueeze(-1) - ordered.unsqueeze(-2)  # not negative
    pull = gap.copysign_(better).sigmoid_().mul_(better).mul_(swap_discounts(cutoff, scores.shape[-1]))
    slope = pull.sum(-2)
    slope.narrow(-1, 0, cutoff).sub_(pull.sum(-1))
    return torch.empty_like(slope).scatter_(-1, order, slope)


@cache
def swap_discounts(cutoff: int, documents: int) -> torch.Tensor:
    """The discount at the lower place minus that at the upper; 0 for pairs already counted from above."""
    discount = DISCOUNT[:documents]
    return (discount - discount[:cutoff, None]).triu(1)


@torch.no_grad()
def ranknet_slope(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """−λ of [… × documents], over all pairs of different labels."""
    pull = (scores.unsqueeze(-2) - scores.unsqueeze(-1)).sigmoid_()  # on the row's document, by the column's
    pull.mul_(labels.unsqueeze(-1) > labels.unsqueeze(-2))
    return pull.sum(-2).sub_(pull.sum(-1))


Step = Callable[[], None]
Slope = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Net = Callable[[torch.Tensor], torch.Tensor]


def slope_of(force: str, queries: Padded) -> tuple[Slope, torch.Tensor]:
    """Return the function of a force, and its inputs per document in addition to the score."""
    return (ranknet_slope, queries.labels) if force == "ranknet" else (lambdarank_slope, queries.gains)


def per_query_steps(net: Net, batch: int, queries: Padded, force: str) -> list[Step]:
    """The gradient of `batch` queries, one after the other, added up by the parameters."""
    slope, wanted = slope_of(force, queries)
    sizes = queries.mask.sum(-1).tolist()
    single = [(x[:n], known[:n]) for x, known, n in zip(queries.features, wanted, sizes, strict=True)]

    def step(part: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        for x, known in part:
            scores = net(x)
            scores.backward(slope(scores.detach().squeeze(1), known).unsqueeze(1))

    return [partial(step, single[first : first + batch]) for first in range(0, len(single), batch)]


def padded_steps(net: Net, batch: int, queries: Padded, force: str) -> list[Step]:
    """The gradient of `batch` queries at once."""
    slope, wanted = slope_of(force, queries)
    longest = queries.mask.shape[1]
    parts = zip(*(part.split(batch) for part in (queries.features, wanted, ~queries.mask)), strict=True)

    def step(x: torch.Tensor, known: torch.Tensor, padding: torch.Tensor) -> None:
        scores = net(x)
        held = scores.detach().view(-1, longest).masked_fill(padding, FAR_BELOW)
        scores.backward(slope(held, known).view(-1, 1))

    return [partial(step, x.flatten(0, 1), known, padding) for x, known, padding in parts]


WAYS = {"per query": per_query_steps, "padded": padded_steps}


def make_net(shape: tuple[int, ...]) -> Module:
    torch.manual_seed(0)
    layers = [layer for n, m in itertools.pairwise(shape) for layer in (Linear(n, m), Tanh())][:-1]
    return layers[0] if len(layers) == 1 else Sequential(*layers)


def torch_epoch(shape: tuple[int, ...], batch: int, optimizer: str, queries: Padded, *, force: str, way: str) -> float:
    """Seconds of one epoch of PyTorch over these queries."""
    net = make_net(shape)
    parameters = list(net.parameters())
    descent: torch.optim.Optimizer = (
        torch.optim.Adam(parameters, lr=RATE, fused=True)
        if optimizer == "adam"
        else torch.optim.SGD(parameters, lr=RATE, foreach=False)
    )
    steps = WAYS[way](net, batch, queries, force)

    def run(part: list[Step]) -> None:
        for step in part:
            step()
            descent.step()
            for parameter in parameters:
                parameter.grad = None

    run(steps[:WARM_UP])
    return seconds_of(lambda: run(steps))


def check_peers(data: podium.RankingData) -> None:
    """Check that every implementation gives Podium's forces, to the precision of float32."""
    keep = np.random.default_rng(1).permuted(np.tile(np.arange(DOCUMENTS), (data.n_queries, 1)), axis=1)
    ragged = data.select_documents((keep < np.arange(data.n_queries)[:, None] % DOCUMENTS + 1).reshape(-1))
    for given in (data, ragged):
        queries, net = Padded.of(given), make_net(SHAPES[1])
        with torch.no_grad():
            net[0].weight.mul_(3)  # so that the scores are far enough apart
            scores = net(torch.tensor(given.features)).squeeze(1).requires_grad_()
        for force in FORCES:
            expected = podium.force(force)(scores.detach().numpy(), given)[0]
            for name, steps in WAYS.items():
                found = peer_force(steps, scores, queries, force)
                if not np.allclose(found, expected, rtol=1e-3, atol=2e-5 * np.abs(expected).max()):
                    raise SystemExit(f"{force}, {name}: {np.abs(found - expected).max()} away from Podium's force")


def peer_force(steps: Callable[..., list[Step]], scores: torch.Tensor, queries: Padded, force: str) -> np.ndarray:
    """λ as a way computes it: the gradient that reaches its net's output, here a table of given scores."""
    caught: list[torch.Tensor] = []
    table = torch.zeros(queries.mask.shape)
    table[queries.mask] = scores.detach()
    given = Padded(table.unsqueeze(-1).requires_grad_(), queries.labels, queries.gains, queries.mask)

    def net(x: torch.Tensor) -> torch.Tensor:
        out = x * 1
        out.register_hook(lambda slope: caught.append(slope.flatten()))
        return out

    for step in steps(net, 16, given, force):
        step()
    found = -torch.cat(caught).double().numpy()
    return found if found.size == len(scores) else found[queries.mask.flatten().numpy()]


# ---------------------------------------------------------------------------------------------------------------------


def measure(data: podium.RankingData, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    part = data.select(np.arange(options.torch_queries))
    check_peers(part)
    queries, scale = Padded.of(part), QUERIES / part.n_queries
    peers = [(way, threads) for way in WAYS for threads in sorted({1, options.threads})]
    print(f"{'':<43}{'podium':>11}{''.join(f'{way}, {threads}'.rjust(14) for way, threads in peers)}{'ratio':>9}")
    for force, shape, batch, optimizer in itertools.product(FORCES, SHAPES, options.batches, OPTIMIZERS):
        ours: list[float] = []
        theirs: dict[str, list[float]] = {f"{way}, {threads}": [] for way, threads in peers}
        for _ in range(options.rounds):
            if not options.peers_only:
                time.sleep(PAUSE)
                ours.append(podium_epoch(shape, batch, optimizer, data, force=force, num_threads=options.threads))
            for way, threads in peers:
                torch.set_num_threads(threads)
                time.sleep(PAUSE)
                taken = torch_epoch(shape, batch, optimizer, queries, force=force, way=way)
                theirs[f"{way}, {threads}"].append(taken * scale)
        seconds = statistics.median(ours) if ours else math.nan
        peer_seconds = {peer: statistics.median(times) for peer, times in theirs.items()}
        ratio, layers = min(peer_seconds.values()) / seconds, "-".join(map(str, shape))
        cells = "".join(f"{taken:>14.3f}" for taken in peer_seconds.values())
        print(f"{force:<21}{layers:<13}{batch:>3} {optimizer:<5}{seconds:>11.3f}{cells}{ratio:>8.1f}×", flush=True)
        case = {"force": force, "model": layers, "batch": batch, "optimizer": optimizer}
        yield case | {"seconds": {"podium": seconds} | peer_seconds, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--torch-queries", type=int, default=600)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="the others keep their stored results")
    parser.add_argument("--peers-only", action="store_true", help="PyTorch alone; writes no results")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "nets.json")
    options = parser.parse_args()
    data = make_data(options.torch_queries if options.peers_only else QUERIES)
    print(f"one epoch of {QUERIES:,} queries: seconds, median of {options.rounds}; PyTorch by way and threads")
    rows = list(measure(data, options))
    if options.peers_only:
        return
    if options.out.exists():
        rows += [row for row in json.loads(options.out.read_text())["rows"] if row["batch"] not in options.batches]
        rows.sort(key=lambda row: CASES.index((row["force"], row["model"], row["batch"], row["optimizer"])))
    report = {
        "task": "one epoch, 6,000 queries of 120 documents, 136 features; PyTorch by way and threads",
        "threads": options.threads,
        "rounds": options.rounds,
        "torch": torch.__version__,
        "torch_queries": options.torch_queries,
        "machine": machine("torch"),
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
