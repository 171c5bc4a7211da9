"""Every table and figure of the source papers, as commands: `podium papers list`. One table."""

from podium.papers.experiment import Cell, Cells, Experiment, Skip, grid
from podium.papers.forces_by_classes import FORCES_BY_CLASSES
from podium.papers.function_approximation import A_FIGURE1, A_FIGURE2, A_THEOREM1
from podium.papers.lambdarank import D_FIGURE2
from podium.papers.lambdarank_forces import D_FORCES
from podium.papers.lambdarank_rates import D_FIGURE2_RATES
from podium.papers.lambdarank_speed import D_FIGURE1
from podium.papers.lambdarank_updates import D_UPDATES
from podium.papers.ranknet import C_TABLE1, C_TABLE2, C_ZERO_ERROR
from podium.papers.ranknet_capacity import C_TABLE5
from podium.papers.ranknet_order import C_TABLE4, C_TABLE6
from podium.papers.ranknet_rankprop import C_RANKPROP
from podium.papers.ranknet_variants import C_TABLE1_VARIANTS
from podium.papers.running import ExperimentOutcome, run
from podium.papers.structrank import E_FIGURE4

__all__ = ["EXPERIMENTS", "Cell", "Cells", "Experiment", "ExperimentOutcome", "Skip", "grid", "run"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        A_FIGURE1,
        A_FIGURE2,
        A_THEOREM1,
        C_RANKPROP,
        C_TABLE1,
        C_TABLE1_VARIANTS,
        C_TABLE2,
        C_ZERO_ERROR,
        C_TABLE4,
        C_TABLE5,
        C_TABLE6,
        D_FIGURE1,
        D_UPDATES,
        D_FIGURE2,
        D_FIGURE2_RATES,
        D_FORCES,
        E_FIGURE4,
        FORCES_BY_CLASSES,
    )
}
