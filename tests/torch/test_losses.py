"""Every force of the table as a loss of PyTorch keeps the same contract."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
import torch

import podium
import podium.torch
from podium.forces import FORCES, ForceDefinition


def example(definition: ForceDefinition) -> str:
    inside = {"metric": "(ndcg@3)", "force": "(lambdarank(ndcg@3))", None: ""}[definition.takes]
    return definition.name + inside


EVERY = [*map(example, FORCES.values()), "ranknet(sigma=0.5, ties=True)", "lambdarank(map)", "step(err@4, margin=0.5)"]
WITH_COST = [name for name in EVERY if podium.force(name).has_cost]
LEVELS = 4


def by_name(names):
    return pytest.mark.parametrize("name", names)


def make(rows=60, queries=7, seed=0, **parts):
    """Make data in which the rows of a query are not contiguous, so that the caller's order is not the grouped one."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, LEVELS, rows).astype(float)
    labels[0] = LEVELS - 1
    return podium.RankingData(np.zeros((rows, 1)), labels, rng.integers(0, queries, rows), **parts)


def caller_labels(data):
    return data.to_caller_order(data.labels), data.to_caller_order(data.qid)


def random_scores(name, rows, seed=1, dtype=torch.float64):
    shape = (rows, LEVELS) if podium.force(name).name == "multiclass" else (rows,)
    values = np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def own_thresholds(name):
    """Return thresholds for a force that has them, and nothing for the others."""
    if not podium.force(name).definition.has_thresholds:
        return {}
    return {"thresholds": torch.tensor([-1.0, 0.2, 1.3], dtype=torch.float64, requires_grad=True)}


def expected_force(name, scores, data, **options):
    own = {key.replace("thresholds", "parameters"): b.detach().numpy() for key, b in own_thresholds(name).items()}
    return podium.force(name)(scores.detach().double().numpy(), data, **own, **options)[0]


def slope(name, scores, *judged, loss=None, **options):
    """(value, gradient) of the loss."""
    scores = scores.detach().requires_grad_()
    value = (loss or podium.torch.loss(name, seed=5))(scores, *judged, round=2, **own_thresholds(name), **options)
    value.backward()
    return value, scores.grad


@by_name(EVERY)
@pytest.mark.parametrize("parts", [{}, {"document_weights": np.linspace(0.5, 2, 60), "query_weights": np.arange(1, 8)}])
def test_gradient_is_minus_the_force_bit_for_bit(name, parts):
    if podium.force(name).definition.over == "lists":
        parts = {key: value for key, value in parts.items() if key != "document_weights"}  # they are refused
    data = make(**parts)
    assert data.row_order is not None
    scores = random_scores(name, 60)
    value, gradient = slope(name, scores, data)
    assert value.shape == ()
    assert value.dtype == gradient.dtype == torch.float64
    assert (-gradient).numpy().tobytes() == expected_force(name, scores, data, seed=5, round=2).tobytes()


@by_name(EVERY)
def test_float32_scores_get_the_force_rounded_once(name):
    data, scores = make(), random_scores(name, 60, dtype=torch.float32)
    value, gradient = slope(name, scores, data)
    assert value.dtype == gradient.dtype == torch.float32
    expected = expected_force(name, scores, data, seed=5, round=2).astype(np.float32)
    assert (-gradient).numpy().tobytes() == expected.tobytes()


@by_name(EVERY)
def test_the_value_is_the_cost_or_what_the_force_would_do(name):
    data, scores, force = make(), random_scores(name, 60), podium.force(name)
    value, gradient = slope(name, scores, data)
    if force.has_cost:
        own = {key.replace("thresholds", "parameters"): b.detach().numpy() for key, b in own_thresholds(name).items()}
        expected = force.cost(scores.detach().numpy(), data, seed=5, round=2, **own).sum()
    else:
        expected = (gradient * scores).sum().item()
        if abs(gradient.sum().item()) < 1e-9:  # a penalty on the scores themselves is not the same for shifted scores
            shifted, _ = slope(name, scores + 10, data)
            assert shifted.item() == pytest.approx(expected, rel=1e-9)
    assert value.item() == pytest.approx(expected, rel=1e-12)


@by_name(WITH_COST)
def test_gradcheck(name):
    data, loss, own = make(rows=12, queries=2), podium.torch.loss(name), own_thresholds(name)
    scores = random_scores(name, 12, seed=3)

    def value(scores, *thresholds):
        return loss(scores, data, round=0, **dict(zip(own, thresholds, strict=True)))

    assert torch.autograd.gradcheck(value, (scores, *own.values()))


@by_name([name for name in WITH_COST if not podium.force(name).definition.has_thresholds])
def test_gradient_flows_through_a_net_and_a_factor(name):
    data, outputs = make(), random_scores(name, 60).ndim
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, LEVELS if outputs == 2 else 1))
    net, inputs = net.double(), torch.randn(60, 3, dtype=torch.float64)
    loss = podium.torch.loss(name)
    (3 * loss(net(inputs), data, round=0)).backward()
    weight, step = net[0].weight, 1e-6
    with torch.no_grad():
        weight[1, 2] += step
        above = loss(net(inputs), data, round=0)
        weight[1, 2] -= 2 * step
        below = loss(net(inputs), data, round=0)
    assert weight.grad[1, 2].item() == pytest.approx(3 * (above - below).item() / (2 * step), rel=1e-5, abs=1e-6)


@by_name(EVERY)
def test_mean_divides_by_the_number_of_queries(name):
    data, scores = make(), random_scores(name, 60)
    total, gradient = slope(name, scores, data)
    mean, shared = slope(name, scores, data, loss=podium.torch.loss(name, seed=5, reduction="mean"))
    assert mean.item() == total.item() / data.n_queries
    torch.testing.assert_close(shared, gradient / data.n_queries, rtol=1e-15, atol=0)


@by_name(EVERY)
def test_the_order_of_whole_queries_changes_no_bit(name):
    data, scores = make(), random_scores(name, 60)
    labels, qid = caller_labels(data)
    value, gradient = slope(name, scores, labels=labels, qid=qid)
    order = np.concatenate([np.flatnonzero(qid == q) for q in (4, 0, 6, 2, 5, 1, 3)])
    turned, turned_gradient = slope(name, scores[order], labels=labels[order], qid=qid[order])
    assert turned.item() == value.item()
    assert torch.equal(turned_gradient, gradient[order])


@by_name([name for name in EVERY if not podium.force(name).draws])
def test_the_order_of_rows_does_not_matter(name):
    data, scores = make(), random_scores(name, 60)
    labels, qid = caller_labels(data)
    order = np.random.default_rng(2).permutation(60)
    value, gradient = slope(name, scores, labels=labels, qid=qid)
    turned, turned_gradient = slope(name, scores[order], labels=labels[order], qid=qid[order])
    torch.testing.assert_close(turned, value, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(turned_gradient, gradient[order], rtol=1e-12, atol=1e-12)


@by_name(EVERY)
def test_plain_tensors_are_judged_as_data_are(name):
    data, scores = make(), random_scores(name, 60)
    labels, qid = caller_labels(data)
    value, gradient = slope(name, scores, data)
    plain = slope(name, scores, labels=torch.tensor(labels, dtype=torch.float32), qid=torch.tensor(qid))
    assert plain[0].item() == value.item()
    assert torch.equal(plain[1], gradient)
    if not podium.force(name).draws:  # these go by the query's id, which offsets do not have
        held = torch.tensor(data.from_caller_order(scores.detach().numpy()))
        offsets = slope(name, held, labels=data.labels.tolist(), query_offsets=torch.tensor(data.query_offsets))
        assert offsets[0].item() == value.item()
        assert torch.equal(torch.tensor(data.to_caller_order(offsets[1].numpy())), gradient)


@by_name(EVERY)
def test_bytes_are_the_same_for_any_number_of_threads(name):
    data, scores = make(rows=600, queries=90), random_scores(name, 600)
    (value, gradient), *others = [
        slope(name, scores, data, loss=podium.torch.loss(name, num_threads=threads)) for threads in (1, 2, 5)
    ]
    for other_value, other_gradient in others:
        assert other_value.item() == value.item()
        assert other_gradient.numpy().tobytes() == gradient.numpy().tobytes()


@by_name([name for name in EVERY if not name.startswith("regularized")])  # which pulls every score to 0
@pytest.mark.parametrize("labels", [[2.0], [1.0, 1.0, 1.0]], ids=["one document", "equal labels"])
def test_queries_without_an_order(name, labels):
    scores, force = random_scores(name, len(labels)), podium.force(name)
    value, gradient = slope(name, scores, labels=labels, qid=[7] * len(labels))
    assert value.isfinite()
    assert gradient.isfinite().all()
    if force.definition.over in ("pairs", "preferences") and not (force.inner or force).parameter("ties", False):
        assert value.item() == 0
        assert (gradient == 0).all()


@by_name(EVERY)
def test_extreme_scores_give_a_finite_gradient(name):
    scores = torch.tensor([1e30, -1e30, 0, 1e30, 5, -7.0])
    scores = scores[:, None] * torch.tensor([1, -1, 1, 0.5]) if podium.force(name).name == "multiclass" else scores
    _, gradient = slope(name, scores, labels=[0, 1, 2, 1, 0, 3], qid=[1] * 6)
    assert gradient.isfinite().all()


@by_name(EVERY)
def test_a_second_derivative_is_refused(name):
    data, scores, own = make(), random_scores(name, 60), own_thresholds(name)
    value = podium.torch.loss(name)(scores, data, **own)
    gradients = torch.autograd.grad(value, (scores, *own.values()), create_graph=True)
    for gradient in gradients:
        with pytest.raises(podium.ParameterError, match="gives the first only"):
            gradient.square().sum().backward(retain_graph=True)


def test_one_column_is_flat():
    data, scores = make(), random_scores("ranknet", 60)
    column = scores.detach()[:, None].requires_grad_()
    podium.torch.loss("ranknet")(column, data).backward()
    assert column.grad.shape == (60, 1)
    assert torch.equal(column.grad[:, 0], slope("ranknet", scores, data)[1])


def test_explicit_pairs_are_followed():
    pairs = podium.Pairs.of([0], [2], [0.7], [2.0])
    data = podium.RankingData(np.zeros((3, 1)), [0.0, 0, 0], [7, 7, 7], pairs=pairs)
    _, gradient = slope("ranknet", torch.zeros(3), data)
    torch.testing.assert_close(gradient, torch.tensor([-2 * 0.2, 0, 2 * 0.2]))


@by_name(["ordinal", "multiclass"])
def test_a_batch_may_lack_the_highest_level(name):
    scores = random_scores(name, 4)
    loss = podium.torch.loss("ordinal", levels=LEVELS) if name == "ordinal" else podium.torch.loss(name)
    value = loss(scores, labels=[0, 1, 1, 0], qid=[1, 1, 2, 2])
    value.backward()
    if name == "multiclass":
        expected = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 1, 1, 0]), reduction="sum")
    else:
        steps = torch.sigmoid(torch.nn.functional.pad(loss.thresholds(), (1, 1), value=torch.inf) - scores[:, None])
        steps[:, 0] = 0
        expected = -(steps[:, 1:] - steps[:, :-1])[range(4), [0, 1, 1, 0]].log().sum()
    assert value.item() == pytest.approx(expected.item(), rel=1e-12)
    assert scores.grad.isfinite().all()


def test_one_data_set_seen_twice_keeps_its_levels():
    data = podium.RankingData(np.zeros((4, 1)), [0, 1, 1, 0], [1, 1, 2, 2])
    loss, narrow, wide = podium.torch.loss("multiclass"), torch.zeros(4, 2), torch.zeros(4, 4)
    assert loss(wide, data).item() == pytest.approx(4 * np.log(4))
    assert loss(narrow, data).item() == pytest.approx(4 * np.log(2))
    with pytest.raises(podium.DataError, match=r"shape \(4,\); \(4, 2\) is needed"):
        loss(wide[:, :1], data)


def test_thresholds_start_at_equal_probabilities_and_are_parameters():
    loss = podium.torch.loss("ordinal", levels=LEVELS)
    np.testing.assert_allclose(loss.thresholds().detach(), [np.log(k / (4 - k)) for k in (1, 2, 3)], atol=1e-6)
    assert loss(torch.zeros(4), labels=[0, 1, 2, 3], qid=[1] * 4).item() == pytest.approx(4 * np.log(4), rel=1e-6)
    assert {name for name, _ in loss.named_parameters()} == {"thresholds.first", "thresholds.steps"}
    assert [b.numel() for b in podium.torch.loss("ordinal", levels=2).parameters()] == [1, 0]


def test_thresholds_keep_rising_where_a_level_is_empty():
    loss = podium.torch.loss("ordinal", levels=LEVELS)
    descent = torch.optim.SGD(loss.parameters(), lr=5)
    scores, labels = torch.linspace(-3, 3, 40), torch.arange(40).div(20, rounding_mode="floor") * 3
    for _ in range(300):
        descent.zero_grad()
        value = loss(scores, labels=labels, qid=torch.zeros(40))
        value.backward()
        descent.step()
    assert (loss.thresholds().diff() > 0).all()
    assert loss.thresholds().isfinite().all()


def test_ordinal_learns_the_thresholds_that_cut_the_scores():
    rng = np.random.default_rng(0)
    true, scores = np.array([-2.0, 0.5, 1.0]), rng.normal(scale=2, size=20_000)
    labels = (scores[:, None] + rng.logistic(size=(20_000, 1)) > true).sum(axis=1)
    loss = podium.torch.loss("ordinal", levels=LEVELS, reduction="mean")
    descent = torch.optim.LBFGS(loss.parameters(), max_iter=60)

    def closure():
        descent.zero_grad()
        value = loss(torch.tensor(scores), labels=labels, qid=np.zeros(20_000)) / 20_000
        value.backward()
        return value

    descent.step(closure)
    np.testing.assert_allclose(loss.thresholds().detach(), true, atol=0.06)


def test_numbers_of_a_network_are_parameters_and_feel_the_slope_of_the_loss():
    name = "structrank(w1=0.5, w2=2)"
    loss, scores, data = podium.torch.loss(name), random_scores("structrank", 60), make()
    assert [name for name, _ in loss.named_parameters()] == ["network.free"]
    np.testing.assert_allclose(loss.network().detach(), [0.5, 2], rtol=1e-6)
    loss.network.double()
    loss(scores, data).backward()
    found = loss.network.free.grad
    for k, shift in enumerate(np.eye(2) * 1e-6):
        above, below = (
            podium.force(name)
            .compute(
                data.from_caller_order(scores.detach().numpy()),
                podium.forces.ForceData(data),
                cost=True,
                parameters=np.exp(loss.network.free.detach().numpy() + s),
            )
            .cost.sum()
            for s in (shift, -shift)
        )
        assert found[k].item() == pytest.approx((above - below) / 2e-6, rel=1e-6)
    assert not list(podium.torch.loss("structrank(learn=False)").parameters())


def test_a_net_learns_by_a_force_without_a_cost():
    train, test = podium.split(podium.synthetic.network(queries=80, documents=20, features=10, seed=1), (0.5, 0.5))
    inputs = {data: torch.tensor(data.to_caller_order(data.features)) for data in (train, test)}
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(10, 1), podium.torch.loss("lambdarank(ndcg@10)", reduction="mean")
    descent = torch.optim.Adam(model.parameters(), lr=0.05)

    def ndcg():
        with torch.no_grad():
            scores = model(inputs[test]).squeeze(1)
        return podium.evaluate(scores.numpy(), test, "ndcg@10").mean["ndcg@10"]

    before = ndcg()
    for _ in range(60):
        descent.zero_grad()
        loss(model(inputs[train]), train).backward()
        descent.step()
    assert ndcg() > before + 0.1


@by_name(["listmle", "xendcg"])
def test_draws_are_new_in_each_call_and_continue_after_loading(name):
    data, scores, loss = make(), random_scores(name, 60).detach(), podium.torch.loss(name, seed=3)
    first = [loss(scores, data).item() for _ in range(3)]
    assert len(set(first)) == 3
    assert first == [loss(scores, data, round=k).item() for k in range(3)]
    again = podium.torch.loss(name, seed=3)
    again.load_state_dict(loss.state_dict())
    assert again(scores, data).item() == loss(scores, data).item()
    assert podium.torch.loss("listnet").state_dict() == {}


def test_a_loss_can_be_copied_and_saved_after_use():
    data, scores = make(), random_scores("ordinal", 60).detach()
    loss = podium.torch.loss("ordinal", levels=LEVELS)
    value = loss(scores, data).item()
    assert copy.deepcopy(loss)(scores, data).item() == value
    file = io.BytesIO()
    torch.save(loss, file)
    file.seek(0)
    assert torch.load(file, weights_only=False)(scores, data).item() == value
    assert str(podium.torch.loss("lambdarank(ndcg@10)")) == "ForceLoss('lambdarank(ndcg@10)', reduction='sum')"


ONE = {"labels": [0, 1], "qid": [1, 1]}


@pytest.mark.parametrize(
    ("name", "scores", "given", "message"),
    [
        ("ranknet", [0.0, 1.0], ONE, "scores are a list; they must be a tensor"),
        ("ranknet", torch.zeros(2, dtype=torch.bfloat16), ONE, "torch.bfloat16; they must be float32 or float64"),
        ("ranknet", torch.zeros(2, dtype=torch.int64), ONE, r"use scores.float\(\)"),
        ("ranknet", torch.zeros(1, 2, 1), ONE, "without padding"),
        ("ranknet", torch.zeros(2, 3), ONE, r"shape \(2, 3\); \(2,\) is needed"),
        ("ranknet", torch.zeros(3), ONE, "3 values for 2 documents"),
        ("ranknet", torch.tensor([0.0, torch.nan]), ONE, "finite scores"),
        ("ranknet", torch.zeros(2), {}, "give data, or labels with either qid or query_offsets"),
        ("ranknet", torch.zeros(2), {"labels": [0, 1]}, "either qid or query_offsets"),
        ("ranknet", torch.zeros(2), ONE | {"query_offsets": [0, 2]}, "either qid or query_offsets"),
        ("ranknet", torch.zeros(2), {"labels": [0, 1], "query_offsets": [0, 1]}, "rise from 0 to 2"),
        ("ranknet", torch.zeros(2), {"labels": [0, 1], "query_offsets": [0.0, 2]}, "whole numbers"),
        ("ranknet", torch.zeros(2), {"labels": ["a", "b"], "qid": [1, 1]}, "labels must be numbers"),
        ("ranknet", torch.zeros(2), {"labels": [0, torch.nan], "qid": [1, 1]}, "finite numbers"),
        ("ranknet", torch.zeros(2), {"data": [0, 1]}, "data is a list, not RankingData"),
        ("ranknet", torch.zeros(2), ONE | {"thresholds": torch.zeros(1)}, "to ranknet, which has none"),
        ("ordinal", torch.zeros(2), ONE, r"loss\('ordinal', levels=…\) or give thresholds=…"),
        ("ordinal", torch.zeros(2), ONE | {"thresholds": [0.0]}, "must be a flat tensor"),
        ("ordinal", torch.zeros(2), ONE | {"thresholds": torch.zeros(2)}, "2 rising thresholds are needed"),
        ("xendcg", torch.zeros(2), ONE | {"round": -1}, "round=-1 must be a whole number of at least 0"),
        ("xendcg", torch.zeros(2), {"labels": [-1, 1], "qid": [1, 1]}, "between 0 and 1000"),
    ],
)
def test_what_a_loss_refuses(name, scores, given, message):
    with pytest.raises((podium.DataError, podium.ParameterError), match=message):
        podium.torch.loss(name)(scores, **given)


def test_data_and_labels_are_not_taken_together():
    with pytest.raises(podium.DataError, match="data has labels and queries of its own"):
        podium.torch.loss("ranknet")(torch.zeros(60), make(), labels=torch.zeros(60))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lambdarnk(ndcg)", {}, "Did you mean 'lambdarank'"),
        ("ranknet", {"reduction": "none"}, "unknown reduction 'none'"),
        ("ranknet", {"levels": 3}, "has no thresholds; leave it out"),
        ("ordinal", {"levels": 1}, "levels=1 must be a whole number from 2"),
        ("xendcg", {"seed": -1}, "seed=-1"),
        ("ranknet", {"num_threads": 0}, "num_threads=0"),
    ],
)
def test_losses_that_cannot_be_made(name, options, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.torch.loss(name, **options)
