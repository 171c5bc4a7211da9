"""Every parameter of every ranker is checked: nonsense is a ParameterError that names it, never a traceback from inside."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings

import pytest

import podium
from podium.errors import PodiumError
from podium.rankers import RANKERS, Ranker

KINDS = {**RANKERS, "any": Ranker}
CASES = [(kind, name) for kind in KINDS for name in inspect.signature(KINDS[kind]).parameters]
NONSENSE = ["abc", "", -1, 0, 1.5, None, True, (), (3, "x"), [2, 3], {}, math.nan, math.inf, 10**30]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda value: str(value))
def test_nonsense_is_refused_in_words(kind, name, tmp_path):
    data = podium.synthetic.network(queries=4, documents=4, features=2, levels=3)
    for value in NONSENSE:
        budget = KINDS[kind].budget
        if name == budget and value in (None, 10**30):
            continue  # numbers like any other, but a long wait
        ranker = KINDS[kind](**{budget: 1, name: value})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(PodiumError):
                ranker.fit(data, valid=data).save(tmp_path / "a.podium")
                podium.load(tmp_path / "a.podium")


def test_the_width_of_the_only_layer_may_stand_alone():
    data = podium.synthetic.network(queries=4, documents=4, features=2)
    assert podium.RankNet(hidden=3, epochs=1).fit(data).model_spec_ == "net(3)"
    with pytest.raises(podium.ParameterError, match="hidden=None must be whole numbers"):
        podium.RankNet(hidden=None).fit(data)
