"""Training: schedules by which function classes absorb forces, early stopping, checkpoints."""

from podium.training.checkpoint import Checkpoint
from podium.training.loop import Plan, Trained, train
from podium.training.progress import Epoch
from podium.training.schedule import Schedule

__all__ = ["Checkpoint", "Epoch", "Plan", "Schedule", "Trained", "train"]
