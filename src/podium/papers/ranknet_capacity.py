"""RankNet (ICML 2005), Table 5: NDCG on the training set, beside Table 4's on the test set.

The paper reads the two tables together: one layer ranks its training queries no better than new ones, so it is at capacity;
two layers rank them better, so they would gain from more training data. The paper's data is not public. The reading is tested on
another search engine's set, and on the paper's random network, where the truth is known: by the gap between training queries and
new ones of the same sort, and by training on a quarter and on half of the queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import Floats, above, by_query, learned, values
from podium.papers.plots import Line, Panel, Plot
from podium.papers.ranknet import PAPER
from podium.papers.ranknet_order import METRIC, SYSTEMS, make_system
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import Parts, artificial, yandex

ONE, TWO = "RankNet, one layer", "RankNet, two layers"
TRAINING = {ONE: 0.479, TWO: 0.500}  # Table 5
WHOLE = 1.0


def parts_of(data: str, seed: int, test_queries: int | None) -> Parts:
    """The set: a search engine's, or a random network's with the paper's 50 documents per query."""
    return yandex(seed, test_queries) if data == "yandex" else artificial("network", seed, 100, 100, 100)


def capacity_cell(
    data: str, system: str, share: float, seed: int, epochs: int, test_queries: int | None
) -> dict[str, Any]:
    """One net trained on a share of the training queries, judged on those, on validation and on test queries."""
    train, valid, test = parts_of(data, seed, test_queries)
    if share < WHOLE:
        train = podium.split(train, share, seed=seed)[0]
    made = learned(make_system(SYSTEMS[system], epochs, seed), train, valid)
    seen, new = (values(made.predict(part), part, [METRIC])["mean"][METRIC] for part in (train, valid))
    return {**values(made.predict(test), test, [METRIC], keep=[METRIC]), "train": seen, "valid": new}


def table5(cells: Cells) -> Report:
    """NDCG@15 on training, validation and test queries, and on test by the share of the queries that was trained on."""
    parts = {data: Capacity(data, cells.where(data=data)) for data in cells.axis("data")}
    there = {data: part for data, part in parts.items() if part.is_there}
    left_out = "; ".join(cells.reasons()) or "There are no cells."
    if not there:
        return Report(claims=[Claim("Two layers would gain from more data", None, left_out)])
    return Report(
        tables=[table for part in there.values() for table in (part.table(), part.share_table())],
        plots=[Plot("table5", [part.panel() for part in there.values()])],
        claims=[claim for part in there.values() for claim in (*part.gap_claims(), *part.gain_claims())],
        notes=[
            "Validation queries are of the same sort as the training queries; the test queries of yandex are harder."
        ],
    )


@dataclass(frozen=True)
class Capacity:
    """What the cells of one set say."""

    data: str
    cells: Cells

    @property
    def is_there(self) -> bool:
        """Whether every net has been trained on the whole set."""
        return all(len(self.cells.where(share=WHOLE, system=system)) for system in TRAINING)

    def whole(self, key: str, system: str) -> Floats:
        """One number per seed of a net that was trained on the whole set."""
        return self.cells.numbers(key, share=WHOLE, system=system)

    def tested(self, system: str, share: float) -> Floats:
        """NDCG of the test queries, one after the other."""
        found = self.cells.where(system=system, share=share)
        return by_query(found, METRIC, same=self.data == "yandex") if len(found) else np.empty(0)

    @property
    def shares(self) -> list[float]:
        """The shares of the training queries, rising."""
        return sorted(self.cells.axis("share"))

    def table(self) -> Table:
        """Training, validation and test of the nets that were trained on the whole set."""
        rows = []
        for system in TRAINING:
            measured = [Spread.of(self.whole(part, system)) for part in ("train", "valid")]
            measured += [Spread.of(self.tested(system, WHOLE))]
            measured += [Spread.of(self.whole("train", system) - self.whole("valid", system))]
            paper = [f"{TRAINING[system]:.3f}", f"{SYSTEMS[system].ndcg:.3f}"]
            rows.append([system, *paper, *(spread.short_repr(4) for spread in measured)])
        columns = [
            "system",
            "paper, training",
            "paper, test",
            "training",
            "validation",
            "test",
            "training − validation",
        ]
        return Table(f"Mean NDCG@15, {self.data}, {len(self.whole('train', ONE))} seeds", columns, rows)

    def share_table(self) -> Table:
        """Test NDCG by the share of the training queries."""
        rows = [
            [system, *(Spread.of(self.tested(system, share)).short_repr(4) for share in self.shares)]
            for system in TRAINING
        ]
        title = f"Mean NDCG@15 on test by the share of the training queries, {self.data}"
        return Table(title, ["system", *map(str, self.shares)], rows)

    def gap_claims(self) -> list[Claim]:
        """That two layers fit the training queries better, and new queries less so."""
        fit = Spread.of(self.whole("train", TWO) - self.whole("train", ONE))
        gaps = [self.whole("train", system) - self.whole("valid", system) for system in (TWO, ONE)]
        more = Spread.of(gaps[0] - gaps[1])
        return [
            Claim(
                sentence,
                spread.mean > 0,
                f"By {spread.short_repr(4)} over the seeds.",
                close=spread.low <= 0 <= spread.high,
            )
            for sentence, spread in (
                (f"Two layers rank the training queries better than one layer ({self.data})", fit),
                (f"The gap between training queries and new ones is larger for two layers ({self.data})", more),
            )
        ]

    def gain_claims(self) -> list[Claim]:
        """That two layers gain more from more data, query by query of the test set."""
        claims = []
        for share in self.shares[:-1]:
            two, one = (self.tested(system, WHOLE) - self.tested(system, share) for system in (TWO, ONE))
            sentence = (
                f"From {share:g} of the training queries to all, two layers gain more on test than one ({self.data})"
            )
            claims.append(
                above(sentence, two, one, f" Two layers gain {two.mean():+.4f}, one layer {one.mean():+.4f}.")
            )
        return claims

    def panel(self) -> Panel:
        """Training and test NDCG against the share of the training queries."""
        lines = []
        for number, system in enumerate(TRAINING):
            seen = [float(self.cells.numbers("train", system=system, share=share).mean()) for share in self.shares]
            new = [float(self.tested(system, share).mean()) for share in self.shares]
            lines.append(Line(f"{system}, training", self.shares, seen, color=number, marker="o"))
            lines.append(Line(f"{system}, test", self.shares, new, color=number, marker="s"))
        return Panel(self.data, "share of the training queries", "NDCG@15", lines, x_ticks=self.shares)


C_TABLE5 = Experiment(
    name="c-table5",
    paper=f"{PAPER}, Table 5",
    title="One layer and two layers by NDCG@15 on training and test queries, and by the amount of training data.",
    work=capacity_cell,
    full=grid(
        data=("yandex", "network"),
        system=tuple(TRAINING),
        share=(0.25, 0.5, WHOLE),
        seed=range(10),
        epochs=100,
        test_queries=None,
    ),
    quick=grid(
        data=("yandex", "network"),
        system=tuple(TRAINING),
        share=(0.5, WHOLE),
        seed=range(2),
        epochs=3,
        test_queries=300,
    ),
    report=table5,
    more_data=("yandex",),
    minutes=5,
)
