"""Systems by name, their values per query, and whether a difference is more than chance."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

import podium
from podium.evaluation.paired_tests import holm, paired_differences, wilcoxon
from podium.papers.experiment import Cells
from podium.papers.report import Claim
from podium.papers.sets import Parts
from podium.rankers import RANKERS, BaseRanker

Floats = npt.NDArray[np.float64]
R = TypeVar("R", bound=BaseRanker)


def ranker(name: str, parameters: dict[str, Any], **shared: Any) -> BaseRanker:
    """The ranker of a name with its own parameters, and with those of the shared ones that it has."""
    kind = RANKERS[name]
    known = kind._get_param_names()
    return kind(**parameters, **{key: value for key, value in shared.items() if key in known})


def learned(system: R, train: podium.RankingData, valid: podium.RankingData | None = None, **more: Any) -> R:
    """Train the system. Ctrl-C ends a training early, and such a result is not kept."""
    system.fit(train, valid=valid, **more)
    if system.interrupted_:
        raise KeyboardInterrupt
    return system


def fitted(system: BaseRanker, parts: Parts) -> tuple[Floats, float]:
    """Scores of the test part, and the processor's seconds that training took: what runs beside it moves them little."""
    train, valid, test = parts
    began = time.process_time()
    learned(system, train, valid)
    taken = time.process_time() - began
    return system.predict(test), taken


def values(
    scores: npt.ArrayLike, data: podium.RankingData, metrics: Sequence[str], *, keep: Iterable[str] = ()
) -> dict[str, Any]:
    """Mean and 95 % interval of each metric; of those to keep, the value of each query too."""
    result = podium.evaluate(scores, data, metrics, interval="normal", num_threads=1)
    return {
        "mean": {name: result.mean[name] for name in metrics},
        "low": {name: result.interval[name][0] for name in metrics},
        "high": {name: result.interval[name][1] for name in metrics},
        "per_query": {name: [round(float(value), 5) for value in result.per_query[name]] for name in keep},
    }


def by_query(cells: Cells, metric: str, *, same: bool) -> Floats:
    """The kept values of all cells, query after query; where all were judged on the same queries, their means."""
    drawn = [np.array(cell.result["per_query"][metric]) for cell in cells]
    return np.mean(drawn, axis=0) if same else np.concatenate(drawn)


def p_value(first: Floats, second: Floats) -> float:
    """Wilcoxon's signed rank test of values of the same queries; 1 where the ranks lean the other way than the mean."""
    gaps = paired_differences(first, second)
    leaning = float(np.sum(np.sign(gaps) * rankdata(np.abs(gaps))))
    return 1.0 if leaning * gaps.mean() < 0 else wilcoxon(gaps, n_randomizations=1, seed=0)


def above(sentence: str, ours: Floats, theirs: Floats, found: str = "", p: float | None = None) -> Claim:
    """That values of the same queries are higher: a claim that holds, does not, or is too close to tell at 5 %.

    `p` is Wilcoxon's unless it is given, corrected for several claims.
    """
    gap = float(np.mean(ours - theirs))
    p = p_value(ours, theirs) if p is None else p
    return Claim(sentence, gap > 0, f"By {gap:+.4f} (p = {p:.2g}).{found}", close=p >= 0.05)


MARKS = (
    "°: the highest mean, and all that are not significantly below it (Wilcoxon over the queries, Holm, 5 %); a single "
    "highest that is significantly above all others would be bold."
)


def marked(shown: str, name: Any, best: Any, level: list[Any]) -> str:
    """A figure with the mark that MARKS explains."""
    if name == best and not level:
        return f"**{shown}**"
    return f"{shown} °" if name == best or name in level else shown


def level_with_best(named: dict[Any, Floats]) -> tuple[Any, list[Any]]:
    """The system of the highest mean, and those that are not significantly below it (5 %, Holm over all)."""
    best = max(named, key=lambda name: float(named[name].mean()))
    others = [name for name in named if name != best]
    if not others:
        return best, [best]  # there is nothing to be above
    corrected = holm([p_value(named[best], named[name]) for name in others])
    return best, [name for name, p in zip(others, corrected, strict=True) if p >= 0.05]
