"""Training: schedules that fit models to forces, early stopping, checkpoints."""

from podium.training.checkpoint import Checkpoint
from podium.training.progress import Epoch
from podium.training.run import Plan, Trained
from podium.training.schedule import Schedule
from podium.training.schedules import SCHEDULES, schedule
from podium.training.train import train

__all__ = ["SCHEDULES", "Checkpoint", "Epoch", "Plan", "Schedule", "Trained", "schedule", "train"]
