"""Any nn.Module as the function class: the same gradients and the same training as Podium's own net."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import podium  # noqa: E402
import podium.torch  # noqa: E402
from generated import any_schedule  # noqa: E402
from podium.models import model  # noqa: E402

DATA = podium.synthetic.network(queries=12, documents=15, features=6)


def make_net(outputs: int = 1) -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, outputs)).double()


def podium_net(net: torch.nn.Module, outputs: int = 1):
    """Podium's net with the module's weights."""
    started = model("net(5)").start(DATA, n_outputs=outputs, seed=0)
    weights = [p.detach().numpy() for p in net.parameters()]
    started.vector = np.concatenate([(w.T if w.ndim == 2 else w).reshape(-1) for w in weights])
    return started


@pytest.mark.parametrize("outputs", [1, 4])
def test_scores_and_backward_are_those_of_the_same_net(outputs: int) -> None:
    net = make_net(outputs)
    ours = podium_net(net, outputs)
    theirs = podium.torch.module(net).start(DATA, n_outputs=outputs, seed=0)
    np.testing.assert_allclose(theirs.scores(DATA.features), ours.scores(DATA.features), rtol=1e-12, atol=1e-13)
    force = np.random.default_rng(0).normal(size=theirs.scores(DATA.features).shape)
    expected = ours.backward(DATA.features, force)
    found = theirs.backward(DATA.features, force)
    ours.vector = expected
    pushed = ours.arrays()
    at = 0
    for layer in (1, 2):
        for part in ("weights", "bias"):
            value = pushed[f"layer{layer}.{part}"].T.reshape(-1)
            np.testing.assert_allclose(found[at : at + len(value)], value, rtol=1e-9, atol=1e-11)
            at += len(value)


@pytest.mark.parametrize("force", ["lambdarank(ndcg@10)", "listnet", "ordinal", "multiclass"])
def test_a_ranker_over_a_module_learns(force: str) -> None:
    outputs = int(DATA.labels.max()) + 1 if force == "multiclass" else 1
    ranker = podium.Ranker(
        force=force,
        model=podium.torch.module(functools.partial(make_net, outputs)),
        **any_schedule(podium.torch.module(functools.partial(make_net, outputs)), learning_rate=0.01, epochs=40),
    )
    before = podium.Ranker(
        force=force,
        model=podium.torch.module(functools.partial(make_net, outputs)),
        **any_schedule(podium.torch.module(functools.partial(make_net, outputs)), epochs=1),
    ).fit(DATA)
    ranker.fit(DATA)
    assert ranker.score(DATA) > before.score(DATA) + 0.02
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))


def test_training_equals_that_of_podium_s_net() -> None:
    net = make_net()
    options = {"force": "ranknet", "epochs": 3, "learning_rate": 0.01, "optimizer": "sgd"}
    theirs = podium.Ranker(model=podium.torch.module(net), **any_schedule(podium.torch.module(net), **options)).fit(
        DATA
    )

    class Started(type(model("net(5)"))):
        def start(self, data, **others):
            return podium_net(net)

    ours = podium.Ranker(model=Started(hidden=(5,)), **any_schedule(Started(hidden=(5,)), **options)).fit(DATA)
    np.testing.assert_allclose(theirs.predict(DATA), ours.predict(DATA), rtol=1e-8, atol=1e-9)


def test_the_given_module_is_left_as_it_was_and_random_numbers_too() -> None:
    net = make_net()
    before = [p.detach().clone() for p in net.parameters()]
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    podium.Ranker(model=podium.torch.module(net), **any_schedule(podium.torch.module(net), epochs=2)).fit(DATA)
    podium.Ranker(
        model=podium.torch.module(functools.partial(torch.nn.Linear, 6, 1)),
        **any_schedule(podium.torch.module(functools.partial(torch.nn.Linear, 6, 1)), epochs=2),
    ).fit(DATA)
    assert all((a == b).all() for a, b in zip(before, net.parameters(), strict=True))
    assert (torch.rand(3) == expected).all()


def test_refusals(tmp_path) -> None:
    with pytest.raises(podium.ParameterError, match=r"must be an nn\.Module"):
        podium.torch.module(3)
    with pytest.raises(podium.DataError, match="gave shape"):
        podium.Ranker(
            model=podium.torch.module(torch.nn.Linear(6, 2)),
            **any_schedule(podium.torch.module(torch.nn.Linear(6, 2)), epochs=1),
        ).fit(DATA)
    with pytest.raises(podium.DataError, match="no parameters"):
        podium.Ranker(
            model=podium.torch.module(torch.nn.Tanh()), **any_schedule(podium.torch.module(torch.nn.Tanh()), epochs=1)
        ).fit(DATA)
    with pytest.raises(podium.ParameterError, match="batch='pair'"):
        podium.Ranker(
            force="ranknet",
            model=podium.torch.module(make_net()),
            **any_schedule(podium.torch.module(make_net()), batch="pair"),
        ).fit(DATA)
    ranker = podium.Ranker(
        model=podium.torch.module(make_net()), **any_schedule(podium.torch.module(make_net()), epochs=1)
    ).fit(DATA)
    with pytest.raises(podium.ParameterError, match="cannot be saved"):
        ranker.save(tmp_path / "model.podium")


@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_adam_takes_the_steps_of_pytorch(scale: float) -> None:
    """Twenty updates with one query. Tiny features make gradients as small as Adam's ε."""
    query = podium.RankingData(DATA.features[:15] * np.float32(scale), DATA.labels[:15], np.zeros(15))
    linear = torch.nn.Linear(6, 1, bias=False).double()
    torch.nn.init.zeros_(linear.weight)
    descent = torch.optim.Adam(linear.parameters(), lr=0.01)
    force = podium.force("ranknet")
    for _ in range(20):
        descent.zero_grad()
        scores = linear(torch.tensor(query.features, dtype=torch.float64))[:, 0]
        push, _ = force(scores.detach().numpy(), query)
        scores.backward(-torch.tensor(push))
        descent.step()
    ours = podium.Ranker(force=force, model="linear(standardize=False)", schedule="adam(rate=0.01, epochs=20)").fit(
        query
    )
    # The bias, which comes last, has only rounding errors as its gradient: the forces of a query sum to 0.
    np.testing.assert_allclose(ours.model_.vector[:-1], linear.weight.detach().numpy()[0], rtol=1e-9)
