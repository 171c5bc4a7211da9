"""RankNet, LambdaRank and Kernel RankNet: forces over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.forces import FORCES, Force
from podium.models import Spec
from podium.models.kernel import KernelSpec
from podium.models.net import LinearSpec, NetSpec
from podium.rankers.ranker import GradientRanker


@dataclass(kw_only=True, eq=False, repr=False)
class NetRanker(GradientRanker):
    """A gradient ranker over a net.

    Args:
        hidden: widths of the hidden layers; () makes it linear.
        activation: tanh, sigmoid or relu.
        standardize: whether features are brought to mean 0 and variance 1 first.
        init: uniform in ±1/√inputs; or zero_first, the first layer 0 and the second uniform in ±0.1.
    """

    hidden: tuple[int, ...] = ()
    activation: str = "tanh"
    standardize: bool = True
    init: str = "uniform"

    def _model(self) -> Spec:
        linear = isinstance(self.hidden, Sequence | np.ndarray) and len(self.hidden) == 0
        net = NetSpec((1,) if linear else self.hidden, self.activation, self.standardize, self.init)
        return LinearSpec(standardize=self.standardize) if linear else net


@dataclass(kw_only=True, eq=False, repr=False)
class RankNet(NetRanker):
    """Logistic pairs × linear or net × gradient descent. [RankNet, ICML 2005]

    Args:
        sigma: steepness of the logistic.
        ties: whether to train on equal labels too, with target ½.
    """

    hidden: tuple[int, ...] = (10,)
    sigma: float = 1.0
    ties: bool = False

    def _force(self) -> Force:
        return Force.of(FORCES["ranknet"], sigma=self.sigma, ties=self.ties)


@dataclass(kw_only=True, eq=False, repr=False)
class LambdaRank(NetRanker):
    """LambdaRank[metric] × linear or net × gradient descent. [LambdaRank, NIPS 2006]

    Args:
        sigma: steepness of the logistic.
        target: the metric whose change the forces carry; by default the metric it is judged by.
    """

    hidden: tuple[int, ...] = (10,)
    sigma: float = 1.0
    target: str | None = None

    def _force(self) -> Force:
        return Force.of(FORCES["lambdarank"], self.target or self.metric, sigma=self.sigma)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRankNet(GradientRanker):
    """Logistic pairs × kernel expansion, with ½·l2·‖f‖² of the kernel's space. [RankNet §7]

    Args:
        kernel: rbf, poly or linear.
        width: of rbf and poly, in standardized features; √features by default.
        degree: of poly.
        offset: of poly.
        landmarks: documents that stand for all of them where there are more. [Nyström]
        sigma: steepness of the logistic.
        standardize: whether features are brought to mean 0 and variance 1 first.
    """

    optimizer: str = "lbfgs"
    l2: float = 1.0
    kernel: str = "rbf"
    width: float | None = None
    degree: int = 2
    offset: float = 1.0
    landmarks: int = 2000
    sigma: float = 1.0
    standardize: bool = True

    def _force(self) -> Force:
        return Force.of(FORCES["ranknet"], sigma=self.sigma)

    def _model(self) -> Spec:
        return KernelSpec(self.kernel, self.width, self.degree, self.offset, self.landmarks, self.standardize)
