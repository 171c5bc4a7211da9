"""Training on a cluster: workers that each hold some of the queries run the same training and agree on every number."""

from podium.training.distributed.driver import train_on_cluster

__all__ = ["train_on_cluster"]
