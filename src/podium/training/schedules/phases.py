"""RankProp: regression on targets that are fitted again after every phase. [Caruana, Baluja and Mitchell 1996]

In a phase, some epochs fit the scores s to the targets t by least squares. Then the targets are fitted to the scores: among all
targets that rise with the label, and keep the order of the scores inside a label, the nearest ones are

    t = argmin Σ (t_i − s_i)²   with t_i ≤ t_j where l_i < l_j, or l_i = l_j and s_i < s_j,

They are found by pooling adjacent violators, and scaled to mean 0 and variance 1, because constant targets would fit best.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.errors import ParameterError
from podium.parameters import setting
from podium.rules import Choice, Integer
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.loop import DescentRun, DescentSchedule
from podium.training.run import Plan, Trained
from podium.training.schedules.optimizers import OptimizerSettings, optimizer_named
from podium.training.steps import Steps, Task

Floats = npt.NDArray[np.float64]
WITHIN = ("data", "query")
STALLED = 20  # number of phases without a better fit of scores and targets
GOING, SETTLED, CYCLE, NO_PROGRESS = "going", "settled", "cycle", "no progress"
VERDICTS = (GOING, SETTLED, CYCLE, NO_PROGRESS)


@dataclass(kw_only=True, eq=False, repr=False)
class PhaseSettings(OptimizerSettings):
    """Settings of phases of regression on targets that follow the scores."""

    phase_epochs: int = setting(
        5,
        Integer(1),
        "Number of epochs of regression between two fits of the targets. A solver that converges earlier uses fewer.",
    )
    within: str = setting(
        "data",
        Choice(*WITHIN),
        "Where targets must rise with the label: across the whole 'data', or only within each 'query'.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Phases(PhaseSettings, DescentSchedule):
    """Phases of regression, with targets that are fitted again between them. [Caruana, Baluja and Mitchell 1996]"""

    name = "phases"
    undistributed = "fits its targets to the scores of all documents in one process"
    fits = "any force that is defined on any labels, as `squared` is; any model but `trees`"
    summary = "RankProp's phases of regression on targets that follow the scores: phases(phase_epochs=5)."

    @property
    def starting_rate(self) -> float:
        """The learning rate of the first epoch."""
        return self.chosen_schedule().starting_rate

    def check(self, plan: Plan) -> None:
        """Check the chosen optimizer, and that the force is defined on targets, which can be any numbers."""
        super().check(plan)
        if plan.force.definition.labels != "any":
            raise ParameterError(
                "force",
                str(plan.force),
                f"is not defined on the targets that {self.name} puts in the place of labels: numbers with mean 0",
                "use {force='squared'}",
            )
        with optimizer_named():
            self.chosen_schedule().check(plan)

    def make_steps(self, task: Task) -> Steps:
        """Return the steps of the chosen optimizer."""
        with optimizer_named():
            return self.chosen_schedule().make_steps(task)

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> PhasesRun:
        """Return the training."""
        return PhasesRun(self, plan, data, valid, checkpoint)


class Targets:
    """Fits targets to scores, given the labels and the scope in which they are compared."""

    def __init__(self, data: RankingData, within: str) -> None:
        self.data = data
        order = canonical_order(data)
        sizes = data.query_sizes[order]
        place = np.arange(data.n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.rows = np.repeat(data.query_offsets[:-1][order], sizes) + place  # documents in canonical order
        bounds = np.cumsum(np.append(0, sizes))
        self.groups = list(itertools.pairwise(bounds.tolist())) if within == "query" else [(0, data.n_documents)]
        weight = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
        if data.query_weights is not None:
            weight = weight * data.query_weights[data.document_queries]
        self.weight = np.asarray(weight, np.float64)[self.rows]
        self.labels = np.asarray(data.labels, np.float64)[self.rows]

    def start(self) -> Floats:
        """Return the labels, scaled to mean 0 and variance 1."""
        return self._placed(self._scaled(self.labels) if np.ptp(self.labels) > 0 else np.zeros(len(self.labels)))

    def fit(self, scores: Floats) -> Floats:
        """Return the nearest targets to the scores among all that rise with the label, scaled to mean 0 and variance 1."""
        held, out = scores[self.rows], np.empty(len(scores))
        for begin, end in self.groups:
            labels, some, weight = (part[begin:end] for part in (self.labels, held, self.weight))
            order = np.lexsort((some, labels))
            # A document with weight 0 has a target too, but does not affect the others.
            out[begin:end][order] = isotonic_regression(some[order], weights=np.maximum(weight[order], 1e-300)).x
        if not np.ptp(out) > 1e-12 * max(np.abs(out).max(), 1e-300):
            return self.start()
        return self._placed(self._scaled(out))

    def order(self, targets: Floats) -> int:
        """Return a hash of the order of the targets, including which are equal."""
        ranks = np.unique(targets[self.rows], return_inverse=True)[1].astype(np.int64)
        return int.from_bytes(hashlib.blake2b(ranks.tobytes(), digest_size=8).digest(), "little")

    def gap(self, scores: Floats, targets: Floats) -> float:
        """Return the weighted mean squared difference between scores and targets."""
        squares = (scores - targets)[self.rows] ** 2
        return float(np.add.reduce(self.weight * squares) / max(np.add.reduce(self.weight), 1e-300))

    def _scaled(self, values: Floats) -> Floats:
        held = moderate(values)
        moved = moderate(held - np.add.reduce(held) / len(held))
        return np.asarray(moved / np.sqrt(np.add.reduce(moved * moved) / len(held)))

    def _placed(self, held: Floats) -> Floats:
        """Return values in canonical order in the order of the data."""
        out = np.empty(len(held))
        out[self.rows] = held
        return out


def moderate(values: Floats) -> Floats:
    """Return values divided by the power of 2 that makes the largest about 1, so that their squares can be summed."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max())[1]))


class PhasesRun(DescentRun):
    """One run: gradient steps on the squared error, with targets in the place of labels."""

    def __init__(
        self,
        schedule: Phases,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.settings, self.fits = schedule, Targets(data, schedule.within)
        self.targets = self.fits.start()
        self.orders, self.gaps = [self.fits.order(self.targets)], [np.inf]
        self.phases, self.in_phase, self.verdict = 1, 0, GOING
        self.fitted: Floats | None = None  # the targets of the next phase, if they are already known
        super().__init__(schedule, plan, data, valid, checkpoint)

    def _taught(self, data: RankingData) -> RankingData:
        return data.replace_grouped(labels=self.targets)

    def _epoch(self, began: float) -> None:
        """Run one epoch of regression; before the first one of a phase, fit the targets."""
        if self._phase_over():
            self._next_phase()
        restarts = self.progress.restart
        super()._epoch(began)
        self.in_phase += 1
        if self.progress.restart != restarts:
            vector = self.steps.vector.copy()
            self._teach(self.fits.start())
            self.steps.begin(vector)
            self.orders, self.gaps = [self.fits.order(self.targets)], [np.inf]
            self.phases, self.in_phase = self.phases + 1, 0
        elif self._phase_over():
            self._judge()

    def _phase_over(self) -> bool:
        """Return whether the epochs of this phase are used up or a solver has converged."""
        return self.in_phase == self.settings.phase_epochs or (self.in_phase > 0 and self.steps.converged)

    def _next_phase(self) -> None:
        vector, state = self.steps.vector.copy(), self.steps.state()
        self._teach(self.fits.fit(self._scores()) if self.fitted is None else self.fitted)
        self.orders.append(self.fits.order(self.targets))
        if self.steps.keeps_history:
            self.steps.begin(vector)
        else:
            self.steps.resume(state)
        self.phases, self.in_phase = self.phases + 1, 0

    def _judge(self) -> None:
        """Decide at the end of a phase whether another one can change anything."""
        scores = self._scores()
        self.fitted = self.fits.fit(scores)
        order = self.fits.order(self.fitted)
        self.gaps.append(self.fits.gap(scores, self.targets))
        if order == self.orders[-1]:
            self.verdict = SETTLED
        elif order in self.orders:
            self.verdict = CYCLE
        elif len(self.gaps) > STALLED and min(self.gaps[-STALLED:]) >= min(self.gaps[:-STALLED]):
            self.verdict = NO_PROGRESS

    def _scores(self) -> Floats:
        """Return the current scores of the training documents."""
        self.model.vector = self.steps.vector[: len(self.steps.vector) - self.own.size]
        return self.model.scores(self.data.features, num_threads=self.plan.num_threads)

    def _teach(self, targets: Floats) -> None:
        self.targets, self.fitted = targets, None
        self.task = replace(self.task, data=self._taught(self.data))
        self.steps = self.settings.make_steps(self.task)

    def _ended(self) -> bool:
        return self.verdict != GOING

    def _state(self) -> Arrays:
        numbers = [self.in_phase, VERDICTS.index(self.verdict), self.phases]
        return {
            **{f"steps.{name}": value for name, value in self.steps.state().items()},
            "targets": self.targets[self.fits.rows],
            "orders": np.array(self.orders, np.uint64),
            "gaps": np.array(self.gaps),
            "phase": np.array(numbers, np.float64),
        }

    def _load_state(self, arrays: Arrays) -> None:
        if arrays["targets"].shape != self.targets.shape:
            raise ValueError("targets have another size")
        placed = np.empty(len(self.targets))
        placed[self.fits.rows] = arrays["targets"]
        vector = self.steps.vector.copy()
        self._teach(placed)
        self.steps.begin(vector)
        self.orders = [int(order) for order in arrays["orders"]]
        self.gaps = [float(gap) for gap in arrays["gaps"]]
        judged = len(self.gaps) - len(self.orders)  # 1 between the end of a phase and the start of the next
        if judged not in (0, 1) or not self.orders or np.isnan(self.gaps).any():
            raise ValueError("orders and gaps do not belong together")
        in_phase, verdict, phases = (int(number) for number in arrays["phase"])
        self.in_phase, self.verdict, self.phases = in_phase, VERDICTS[verdict], phases
        super()._load_state({n.removeprefix("steps."): v for n, v in arrays.items() if n.startswith("steps.")})

    def _trained(self, interrupted: bool) -> Trained:
        trained = super()._trained(interrupted)
        chosen: dict[str, Any] = {"verdict": self.verdict, "phases": self.phases}
        return replace(trained, chosen=chosen, certificate=None)
