"""The NumPy twin of training equals PyTorch: same gradients, same parameters after epochs of descent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import podium
import podium.torch
from naive_nets import Adam, NaiveNet, Sgd, pair_gradients, query_gradient, train_epoch

FORCES = ["lambdarank(ndcg@5)", "ranknet", "listnet", "squared", "xendcg", "multiclass"]
HIDDEN = [(), (4,), (5, 3)]


@pytest.fixture(scope="module")
def data():
    made = podium.synthetic.network(queries=11, documents=9, features=6, seed=2)
    return made.replace(labels=np.minimum(made.labels, 3))


def pair_of_nets(force, hidden, activation, data):
    """The same net twice: NumPy's and PyTorch's."""
    shape = (data.n_features, *hidden, podium.force(force).n_outputs(data))
    naive = NaiveNet.random(shape, activation)
    between = {"tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU}[activation]
    layers = [part for n, m in itertools.pairwise(shape) for part in (torch.nn.Linear(n, m), between())][:-1]
    net = torch.nn.Sequential(*layers).double()
    with torch.no_grad():
        for held, given in zip(net.parameters(), naive.parameters, strict=True):
            held.copy_(torch.tensor(given.T))
    return naive, net


def features(data):
    return torch.tensor(data.features, dtype=torch.float64)


@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_gradients_are_those_of_autograd(force, hidden, activation, data):
    naive, net = pair_of_nets(force, hidden, activation, data)
    total = [sum(parts) for parts in zip(*(query_gradient(naive, force, data, q) for q in range(11)), strict=True)]
    podium.torch.loss(force)(net(features(data)), data, round=0).backward()
    for found, held in zip(total, net.parameters(), strict=True):
        np.testing.assert_allclose(found.T, held.grad, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_epochs_end_where_those_of_pytorch_end(force, hidden, batch, optimiser, data):
    naive, net = pair_of_nets(force, hidden, "tanh", data)
    ours = Sgd(0.01) if optimiser == "sgd" else Adam(0.01)
    theirs = (torch.optim.SGD if optimiser == "sgd" else torch.optim.Adam)(net.parameters(), lr=0.01)
    loss, before = podium.torch.loss(force), [part.copy() for part in naive.parameters]
    for epoch in range(3):
        train_epoch(naive, force, data, ours, batch=batch, round=epoch)
        for first in range(0, 11, batch):
            part = data.select(np.arange(first, min(first + batch, 11)))
            theirs.zero_grad()
            loss(net(features(part)), part, round=epoch).backward()
            theirs.step()
    for found, held, start in zip(naive.parameters, net.parameters(), before, strict=True):
        # The forces of a query add up to nothing, so what the last bias feels is rounding, which Adam makes larger.
        idle = held.numel() == 1 and podium.force(force).definition.over != "points"
        np.testing.assert_allclose(found.T, held.detach(), rtol=1e-7, atol=1e-6 if idle else 1e-9)
        assert idle or np.abs(found - start).max() > 1e-4


@pytest.mark.parametrize("hidden", HIDDEN)
def test_pair_by_pair_is_the_factored_gradient(hidden, data):
    naive, _ = pair_of_nets("ranknet", hidden, "tanh", data)
    by_pair = [sum(parts) for parts in zip(*pair_gradients(naive, 2.0, data, 3), strict=True)]
    for one, other in zip(by_pair, query_gradient(naive, "ranknet(sigma=2)", data, 3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
