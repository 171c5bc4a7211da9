"""Every schedule of the table keeps the same contract, with a force and a model that it can fit."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import podium
from podium.parameters import Integer, Real
from podium.training.schedules import SCHEDULES, schedule

TRAIN = podium.synthetic.network(queries=12, documents=10, features=5, hidden=3, seed=0)
VALID = podium.synthetic.network(queries=12, documents=10, features=5, hidden=3, seed=1, generator_seed=0)
# Forces and models; the first pair that a schedule can fit is the one it is tried with.
PAIRS = [
    ("ranknet", "linear"),
    ("hinge", "linear"),
    ("squared", "linear"),
    ("prank", "linear"),
    ("exponential", "trees(num_leaves=2)"),
    ("structrank(independent)", "nadaraya-watson"),
    ("finite_difference(ndcg@5)", "linear"),
]
every = pytest.mark.parametrize("name", SCHEDULES)


def shortened(name: str, length: int) -> str:
    """The schedule with at most this many epochs or rounds, and otherwise its own defaults."""
    kind = SCHEDULES[name]
    budget = next(word for word in ("epochs", "n_estimators") if word in kind.parameters())
    settings = {budget: length, "early_stopping_rounds": None}
    if "l2" in kind.parameters():
        settings["l2"] = 0.1  # convex methods prove their optimum only with a penalty
    return str(kind(**{key: value for key, value in settings.items() if key in kind.parameters()}))


def ranker(name: str, length: int = 4, **others: Any) -> podium.Ranker:
    """A ranker with this schedule, and a force and a model that go with it."""
    for force, model in PAIRS:
        made = podium.Ranker(force=force, model=model, schedule=shortened(name, length), metric="ndcg@5", **others)
        try:
            made.fit(TRAIN, valid=VALID)
        except podium.ParameterError:
            continue
        return made
    raise AssertionError(f"{name} fits none of {PAIRS}; add a force and a model that it is for")


@every
def test_names_print_and_read_back(name: str) -> None:
    for text in (name, shortened(name, 7)):
        made = schedule(text)
        assert schedule(str(made)) == made
        assert hash(schedule(f" {text} ")) == hash(made)
        assert pickle.loads(pickle.dumps(made)) == made
        assert schedule(made) is made


@every
def test_every_setting_is_declared_with_a_rule_and_a_sentence(name: str) -> None:
    kind = SCHEDULES[name]
    assert kind.name == name
    assert kind.summary
    for parameter in kind.parameters().values():
        assert parameter.description.endswith((".", "]")), parameter.name
        assert parameter.check(parameter.default) == getattr(kind(), parameter.name)
        if isinstance(parameter.rule, Integer | Real):
            with pytest.raises(podium.ParameterError, match=rf"^{parameter.name}='many' must be"):
                parameter.check("many")


@every
def test_the_model_does_not_depend_on_threads_or_the_order_of_queries(name: str, tmp_path: Any) -> None:
    files = []
    for number, (threads, data) in enumerate(((1, TRAIN), (2, TRAIN), (2, TRAIN.select([*range(11, -1, -1)])))):
        made = ranker(name, num_threads=threads).fit(data, valid=VALID)
        made.set_params(num_threads=None).save(tmp_path / f"{number}")
        files.append((tmp_path / f"{number}").read_bytes())
    assert files[0] == files[1] == files[2]


@every
def test_a_resumed_training_gives_the_same_model(name: str, tmp_path: Any) -> None:
    made = ranker(name)
    made.save(tmp_path / "whole")
    parts = made.fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c", callbacks=lambda row: row.epoch == 2)
    assert len(parts.log_) == 2
    parts.fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c").save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


@every
def test_training_ranks_better_than_at_random(name: str) -> None:
    at_random = podium.evaluate([0.0] * len(TRAIN), TRAIN, "ndcg(ties='average')@5").mean["ndcg(ties='average')@5"]
    assert ranker(name, length=30).score(TRAIN) > at_random + 0.05
