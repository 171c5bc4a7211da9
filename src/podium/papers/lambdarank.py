"""LambdaRank (NIPS 2006), Figure 2: LambdaRank and RankNet on polynomial data, NDCG at ten truncation levels.

As in the paper: 50 features, 50 documents per query, 5 levels, 10,000 / 5,000 / 10,000 queries; one update per query; the learning
rate that is best on validation counts, and falls when the cost (RankNet) or the training NDCG@10 (LambdaRank) gets worse; new
weights after 50 epochs without progress.
The paper says that its labels are distributed as in real sets, without saying how; ours have the shares of MSLR-WEB, a public
set of the same search engine. Equally frequent levels, RankNet's own, show what the difference owes to that. Descent is plain
in the paper; here validation also chooses between plain descent and Adam, and the results of plain descent alone are shown too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import Floats, learned, values
from podium.papers.lambdarank_speed import PAPER
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import Parts, artificial

LEVELS = range(1, 11)
METRICS = [f"ndcg@{k}" for k in LEVELS]
SYSTEMS: dict[str, type[podium.RankNet] | type[podium.LambdaRank]] = {
    "RankNet": podium.RankNet,
    "LambdaRank": podium.LambdaRank,
}
EXTRA: dict[str, dict[str, Any]] = {
    "RankNet": {"rate_rule": "halve"},  # of its own paper: it watches the cost, as × 0.8 does in this one
    "LambdaRank": {"rate_rule": "shrink", "target": "ndcg"},  # eq 9 is not truncated
}
# the shares of labels 0 to 4 in MSLR-WEB10K; and equal ones
LABELS: dict[str, int | tuple[float, ...]] = {"MSLR-WEB's": (0.52, 0.32, 0.13, 0.02, 0.01), "equally frequent": 5}
REAL, EQUAL = LABELS
PLAIN = "sgd"
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}


def judged_system(parts: Parts, system: str, net: str, **settings: Any) -> dict[str, Any]:
    """Train one system as the paper did: validation NDCG@10, and test NDCG at every level."""
    ranker = SYSTEMS[system](hidden=NETS[net], metric="ndcg@10", restart_rounds=50, num_threads=1, **settings)
    learned(ranker, *parts[:2])
    judged = values(ranker.predict(parts[2]), parts[2], METRICS, keep=METRICS)
    return {"valid": ranker.best_value_, "best_epoch": ranker.best_epoch_, **judged}


def figure2_cell(
    optimizer: str, labels: str, net: str, system: str, learning_rate: float, epochs: int, queries: int, generator: int
) -> dict[str, Any]:
    """One system with one learning rate."""
    parts = artificial("polynomial", generator, queries, queries // 2, queries, levels=LABELS[labels])
    settings = {"optimizer": optimizer, "learning_rate": learning_rate, "epochs": epochs, "seed": generator}
    return judged_system(parts, system, net, **EXTRA[system], **settings)


def chosen(cells: Cells, **settings: Any) -> dict[str, Any]:
    """The cell whose descent and learning rate are best on validation, with those two."""
    best = max(cells.where(**settings), key=lambda cell: float(cell.result["valid"]))
    return {**best.result, **{name: best.settings[name] for name in ("optimizer", "learning_rate")}}


def figure2(cells: Cells) -> Report:
    """Mean NDCG with 95 % intervals by truncation level, both systems, linear and two layers."""
    parts = {
        "": cells.where(labels=REAL),
        ", plain descent": cells.where(labels=REAL, optimizer=PLAIN),
        ", equally frequent labels": cells.where(labels=EQUAL),
    }
    tables, panels, claims, edges = [], [], [], []
    for more, part in parts.items():
        for net in NETS:
            some, title = part.where(net=net), f"{net}{more}"
            if not len(some):  # the quick version
                continue
            best = _chosen(some)
            tables.append(best_table(best, title))
            panels.append(best_panel(best, title))
            claims += best_claims(best, title)
            edges += [
                f"{system}, {title}: {_descent(found)}"
                for system, several in best.items()
                for found in several
                if _at_an_end(some, system, found)
            ]
    notes = [f"Chosen at an end of the rates tried: {'; '.join(dict.fromkeys(edges))}."] if edges else []
    return Report(tables=tables, plots=[Plot("figure2", panels)], claims=claims, notes=notes)


Best = dict[str, list[dict[str, Any]]]  # of each system what each generator gave


def _chosen(cells: Cells) -> Best:
    generators = cells.axis("generator")
    return {name: [chosen(cells, system=name, generator=number) for number in generators] for name in SYSTEMS}


def _descent(found: dict[str, Any]) -> str:
    return f"{'plain' if found['optimizer'] == PLAIN else 'Adam'} {found['learning_rate']:g}"


def _at_an_end(cells: Cells, system: str, found: dict[str, Any]) -> bool:
    rates = cells.where(system=system, optimizer=found["optimizer"]).axis("learning_rate")
    return len(rates) > 1 and found["learning_rate"] in (min(rates), max(rates))


def _apart(best: Best, name: str) -> list[bool]:
    """By generator, whether LambdaRank's interval is above RankNet's."""
    pairs = zip(best["LambdaRank"], best["RankNet"], strict=True)
    return [bool(ours["low"][name] > theirs["high"][name]) for ours, theirs in pairs]


def _gaps(best: Best, name: str) -> Floats:
    """LambdaRank less RankNet, query by query, of all generators."""
    pairs = zip(best["LambdaRank"], best["RankNet"], strict=True)
    return np.concatenate([np.subtract(o["per_query"][name], t["per_query"][name]) for o, t in pairs])


def best_table(best: Best, title: str) -> Table:
    """NDCG at every level with intervals, and the differences query by query."""
    rows = []
    for name in METRICS:
        shown = [_mean(several, name).short_repr(4) for several in best.values()]
        clear = _apart(best, name)
        rows.append([name, *shown, f"{sum(clear)} of {len(clear)}", Spread.of(_gaps(best, name)).short_repr(4)])
    columns = ["", *SYSTEMS, "generators with intervals apart", "difference query by query"]
    return Table(f"NDCG on test, {title}", columns, rows)


def _mean(several: list[dict[str, Any]], name: str) -> Spread:
    """Over the test queries of all generators."""
    return Spread.of(np.concatenate([found["per_query"][name] for found in several]))


def best_panel(best: Best, title: str) -> Panel:
    """NDCG against the truncation level."""
    lines = []
    for number, (system, several) in enumerate(best.items()):
        spreads = [_mean(several, name) for name in METRICS]
        y, low, high = ([getattr(spread, side) for spread in spreads] for side in ("mean", "low", "high"))
        lines.append(Line(system, list(LEVELS), y, low, high, color=number, marker="o"))
    return Panel(title, "truncation level", "NDCG on test", lines, x_ticks=list(LEVELS))


def best_claims(best: Best, title: str) -> list[Claim]:
    """What the paper says of the figure."""
    single = [sum(levels) for levels in zip(*(_apart(best, name) for name in METRICS), strict=True)]
    apart = [_mean(best["LambdaRank"], name).low > _mean(best["RankNet"], name).high for name in METRICS]
    gains = [Spread.of(_gaps(best, name)) for name in METRICS]
    more = Spread.of(_gaps(best, METRICS[0]) - _gaps(best, METRICS[-1]))
    rates = "; ".join(f"{system} {', '.join(map(_descent, several))}" for system, several in best.items())
    return [
        Claim(
            f"LambdaRank is above RankNet at every level, with intervals apart ({title})",
            all(apart),
            f"Apart at {sum(apart)} of 10 levels; of single generators at {' and '.join(map(str, single))}. Descents and rates "
            f"that validation chose: {rates}.",
        ),
        Claim(
            f"Query by query it gains at every level ({title})",
            all(gain.mean > 0 for gain in gains),
            f"The interval of the differences is above 0 at {sum(gain.low > 0 for gain in gains)} of 10 levels.",
            close=not all(gain.low > 0 for gain in gains) and not any(gain.high < 0 for gain in gains),
        ),
        Claim(
            f"It gains more the fewer documents count ({title})",
            more.mean > 0,
            f"What it gains at 1 less what it gains at 10 is {more.short_repr(4)}, query by query.",
            close=more.low <= 0 <= more.high,
        ),
    ]


RATES: dict[str, tuple[float, ...]] = {"sgd": (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2), "adam": (3e-4, 1e-3, 3e-3)}
FEWER = {"sgd": (1e-4, 1e-3, 1e-2), "adam": (1e-3,)}  # for the other labels


def _full(labels: str, rates: dict[str, tuple[float, ...]], generators: int) -> list[dict[str, Any]]:
    shape = {"net": tuple(NETS), "system": tuple(SYSTEMS)}
    sizes = {"epochs": 300, "queries": 10_000, "generator": range(generators)}
    return [
        cell
        for optimizer, several in rates.items()
        for cell in grid(optimizer=optimizer, labels=labels, **shape, learning_rate=several, **sizes)
    ]


QUICK = {"labels": REAL, "net": tuple(NETS), "system": tuple(SYSTEMS), "epochs": 10, "queries": 500, "generator": 0}

D_FIGURE2 = Experiment(
    name="d-figure2",
    paper=f"{PAPER}, Figure 2",
    title="LambdaRank and RankNet on polynomial data, NDCG by truncation level.",
    work=figure2_cell,
    full=[*_full(REAL, RATES, 2), *_full(EQUAL, FEWER, 1)],
    quick=grid(optimizer=PLAIN, learning_rate=1e-3, **QUICK),
    report=figure2,
    minutes=40,
)
