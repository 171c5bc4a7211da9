"""Training: schedules by which function classes absorb forces, early stopping, checkpoints."""

from podium.training.boost_schedule import BoostSchedule
from podium.training.checkpoint import Checkpoint
from podium.training.feasible_schedule import FeasibleSchedule
from podium.training.online_schedule import OnlineSchedule
from podium.training.progress import Epoch
from podium.training.run import Plan, Trained
from podium.training.schedule import Schedule
from podium.training.train import train

__all__ = [
    "BoostSchedule",
    "Checkpoint",
    "Epoch",
    "FeasibleSchedule",
    "OnlineSchedule",
    "Plan",
    "Schedule",
    "Trained",
    "train",
]
