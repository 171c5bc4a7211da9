"""One row of the table of forces: definition, parameters, and what the force can do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.exchange import Exchange
from podium.parameters import Parameter, Search
from podium.rules import Flag, Integer, Real

if TYPE_CHECKING:
    from podium import _core
    from podium.forces.force import Force
    from podium.forces.network_inputs import DocumentInputs

Floats = npt.NDArray[np.float64]
POSITIVE = Real(above=0, integer_kept=True)
NOT_NEGATIVE = Real(least=0, integer_kept=True)

SIGMA = Parameter("sigma", 1, POSITIVE, "Steepness of the logistic function.", search=Search(0.1, 10.0, log=True))
MARGIN = Parameter("margin", 1, POSITIVE, "By how much the score of a pair's winner should exceed the loser's.")
STEP_MARGIN = Parameter("margin", 0, NOT_NEGATIVE, "The force acts while the gap in scores is below this.")
TRUNCATION = Parameter(
    "truncation",
    0,
    Integer(0, 2**31 - 1),
    "Number of top ranks of which a pair must contain at least one to count. 0 counts all pairs.",
)
NORMALIZE = Parameter(
    "normalize",
    False,
    Flag(),
    "Whether the forces of a query are multiplied by log₂(1 + S)/S, where S = 2 Σ |force| over its pairs.",
)
DAMPING = Parameter(
    "damping",
    False,
    Flag(),
    "Whether the force of a pair is divided by 0.01 + its gap in scores, unless all scores of the query are equal.",
)
NOISE = Parameter(
    "noise",
    0,
    NOT_NEGATIVE,
    "Documents are ranked by scores with logistic noise of standard deviation π/√3 times this, so that a force does not depend "
    "on which of two nearly equal documents comes first; 0 for none.",
)
DRAWS = Parameter("draws", 1, Integer(1, 1000), "Number of samples of the noise over which the force is averaged.")
TIES = Parameter("ties", False, Flag(), "Whether pairs of equal labels are trained on too, with target probability ½.")
EQUAL_GAPS = Parameter(
    "ties", False, Flag(), "Whether pairs of equal labels are trained on too: their scores should be equal."
)
STEP_SHARE = Parameter(
    "step",
    0.5,
    POSITIVE,
    "How far a document is moved up and down, as a share of the standard deviation of the query's scores, or of 1 if they are "
    "equal.",
    search=Search(0.01, 3.0, log=True),
)
ALPHA = Parameter(
    "alpha",
    0.1,
    NOT_NEGATIVE,
    "Strength of the regularizer; podium laws reports the smallest one that makes a force convex.",
    search=Search(1e-4, 10.0, log=True),
)


@dataclass(frozen=True)
class ForceDefinition:
    """One row of the table of forces, with everything that other code may ask about a force.

    Attributes:
        name: as it is printed.
        summary: one sentence that says what it is.
        formula: cost, force or both; o is the gap in scores of a pair, l a label, s a score.
        source: where it was published.
        parameters: its settings.
        takes: what stands first in the parentheses of its name: a metric, another force, or nothing.
        examples: further names of forces of this row, for tables and tests besides `example`.
        accepts: with `takes="force"`: whether it can be over a force.
        accepts_text: with `takes="force"`: which forces these are, in words.
        inherits: with `takes="force"`: which of the attributes below are those of that force.
        metric_calls: with `takes="metric"`: how often a metric of the user's own is called, in words.
        leading: a parameter that may stand first in the parentheses without its name.
        over: what it sums over: pairs of documents, pairs of preferences, whole lists, or documents alone.
        has_cost: whether it is the negative gradient of a cost that can be computed.
        convex: whether that cost is convex in the scores; a function if that depends on the settings.
        least_cost: a number that the cost of a query never falls below; −∞ if none is known.
        balanced: whether the forces of a query sum to 0, so that a constant added to all scores changes nothing. Forces on
            documents alone never do.
        online: whether it is the force of a perceptron, whose updates `perceptron` and `committee` make.
        slope_of_metric: whether it is the slope of its metric, so that a schedule may compare values of the metric instead.
        stump_weights: whether the force of a pair is its cost, so that the best weight of a stump has a closed form.
        has_curvature: whether it has a second derivative to divide by; without one, a leaf gives the mean force.
        labels: which labels it is defined on.
        outputs: how many scores it needs per document: one, or one per level.
        has_thresholds: whether its own parameters are rising thresholds between the levels.
        learns: whether gradient steps move the force's own parameters.
        check: raises ParameterError if settings that are fine alone do not go together.
        check_data: raises DataError if the force cannot be computed on some data.
        own_values: the values of its own parameters that training starts from, given the data, the number of levels, and the
            exchange with the workers that hold the other queries.
        draws: whether it draws new random numbers in each round.
        starting_score: the score that boosting starts from, given the data and the exchange; 0 if there is none.
        unmoved: why it exerts no force on equal scores, where boosting starts; None if it does.
        core_options: further options of the core's kernel, given the force.
        needs_documents: whether it needs more of the documents than labels, weights and pairs.
        document_inputs: what it needs of them, given the force, the data, and the data as the core has it so far.
    """

    name: str
    summary: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    takes: Literal["metric", "force"] | None = None
    examples: tuple[str, ...] = ()
    accepts: Callable[[Force], bool] = lambda force: True
    accepts_text: str = "a force"
    inherits: tuple[str, ...] = ()
    metric_calls: str = "for every pair of documents with different labels"
    leading: str | None = None
    over: Literal["pairs", "preferences", "lists", "points"] = "pairs"
    has_cost: bool = True
    convex: bool | Callable[[Force], bool] = False
    least_cost: float = 0.0
    balanced: bool = True
    online: bool = False
    slope_of_metric: bool = False
    stump_weights: bool = False
    has_curvature: bool = True
    labels: Literal["any", "not negative", "levels"] = "any"
    outputs: Literal["one", "levels"] = "one"
    has_thresholds: bool = False
    check: Callable[[Force], None] = lambda force: None
    check_data: Callable[[Force, RankingData], None] = lambda force, data: None
    learns: Callable[[Force], bool] = lambda force: force.definition.has_thresholds
    own_values: Callable[[Force, RankingData | None, int, Exchange], Floats] = lambda force, data, levels, exchange: (
        np.empty(0)
    )
    draws: Callable[[Force], bool] = lambda force: force.parameter("noise", 0) > 0
    starting_score: Callable[[RankingData, Exchange], float] = lambda data, exchange: 0.0
    unmoved: Callable[[Force], str | None] = lambda force: None
    core_options: Callable[[Force], dict[str, Any]] = lambda force: {}
    needs_documents: Callable[[Force], bool] = lambda force: False
    document_inputs: Callable[[Force, RankingData, _core.ForceInputs], DocumentInputs] | None = None

    @property
    def example(self) -> str:
        """The shortest name of a force of this row: `squared`, `lambdarank(ndcg)` or `neighbors(ranknet)`."""
        first = {"metric": "(ndcg)", "force": "(ranknet)", None: ""}[self.takes]
        return self.name + first

    def over_force(self, inner: ForceDefinition) -> ForceDefinition:
        """Return this row as it is over a force of another row: with the attributes that it inherits."""
        return dataclasses.replace(self, **{name: getattr(inner, name) for name in self.inherits})


def always(force: Force) -> bool:
    """Say of a force that it draws random numbers whatever its settings."""
    return True
