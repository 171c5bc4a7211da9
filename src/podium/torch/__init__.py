"""PyTorch: every force as a loss, and any nn.Module as the function class. Needs the extra `torch`.

import podium.torch

loss = podium.torch.loss("lambdarank(ndcg@10)")  # in a training loop of your own
ranker = podium.Ranker(force="lambdarank(ndcg@10)", model=podium.torch.module(net))  # or in Podium's
"""

from podium.torch.losses import ForceLoss, Thresholds, loss
from podium.torch.model import ModuleSpec, TorchModel, module

__all__ = ["ForceLoss", "ModuleSpec", "Thresholds", "TorchModel", "loss", "module"]
