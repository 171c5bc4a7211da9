"""A force as one Python function: equal to the built-in one, compiled or not, with a name, pickling, and clear errors."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import podium

sys.path.append(str(Path(__file__).parents[1] / "contracts"))
import custom_forces

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="the extra podium[numba]")
both = pytest.mark.parametrize("compile", [False, pytest.param(True, marks=needs_numba)])


@pytest.fixture(scope="module")
def data():
    return podium.synthetic.network(queries=60, documents=12, features=4, seed=1)


@pytest.fixture(scope="module")
def scores(data):
    return np.random.default_rng(0).normal(size=len(data))


def plain(function, **options):
    return podium.custom_force(function, compile=False, **options)


@both
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_equals_the_built_in(data, scores, compile, threads):
    mine = podium.custom_force(custom_forces.ranknet.custom.function, cost=custom_forces.ranknet_cost, compile=compile)
    built_in = podium.force("ranknet")
    found, expected = mine(scores, data, num_threads=threads), built_in(scores, data)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(mine.cost(scores, data), built_in.cost(scores, data), rtol=1e-12)
    assert mine.runs_in_python is not compile
    assert mine(scores, data)[0].tobytes() == found[0].tobytes()


@both
def test_weights_of_queries_scale_force_and_cost(compile):
    force = podium.custom_force(custom_forces.squared, cost=custom_forces.squared_cost, compile=compile)
    data = podium.RankingData(np.zeros((4, 1)), [1, 0, 2, 0], [1, 1, 2, 2], query_weights=[1.0, 2.5])
    push, curvature = force([0.5, 0.5, 0.5, 0.5], data)
    np.testing.assert_allclose(push, [0.5, -0.5, 2.5 * 1.5, 2.5 * -0.5])
    np.testing.assert_allclose(curvature, [1, 1, 2.5, 2.5])
    np.testing.assert_allclose(force.cost([0.5, 0.5, 0.5, 0.5], data), [0.25, 2.5 * (1.5**2 + 0.5**2) / 2])


def test_the_cost_runs_as_python_where_only_it_cannot_be_compiled(data, scores):
    def cost(held, labels):
        return sum({"a": [0.5 * (label - score) ** 2]}["a"][0] for score, label in zip(held, labels, strict=True))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = podium.custom_force(custom_forces.squared, cost=cost).cost(scores, data)
    np.testing.assert_allclose(found, podium.force("squared").cost(scores, data), rtol=1e-12)


@both
def test_the_function_may_write_into_what_it_gets(data, scores, compile):
    held, labels = scores.copy(), data.labels.copy()
    force = podium.custom_force(custom_forces.writes_into_what_it_gets, compile=compile)
    np.testing.assert_array_equal(force(held, data)[0], podium.force("squared")(scores, data)[0])
    np.testing.assert_array_equal(held, scores)
    np.testing.assert_array_equal(data.labels, labels)


def test_the_function_may_keep_what_it_gets(data, scores):
    kept = []

    def force(held, labels):
        kept.append(held)
        return labels - held, np.ones(len(held))

    plain(force)(scores, data, num_threads=3)
    order = np.concatenate(sorted(kept, key=lambda part: part[0]))
    np.testing.assert_array_equal(np.sort(order), np.sort(scores))


# Names


def test_a_function_has_a_name_that_reads_back():
    force = podium.force(custom_forces.squared)
    assert str(force) == "custom_forces:squared"
    assert repr(force) == "force('custom_forces:squared')"
    assert podium.force(" custom_forces:squared ") == force
    assert hash(podium.force("custom_forces:squared")) == hash(force)
    assert force.is_importable
    assert force != podium.force("squared")
    assert not force.has_cost


def test_options_are_part_of_the_name():
    force = podium.custom_force(custom_forces.squared, cost=custom_forces.squared_cost, compile=False)
    assert str(force) == "custom_forces:squared(cost='custom_forces:squared_cost', compile=False)"
    assert podium.force(str(force)) == force
    assert force.has_cost
    decorated = podium.force("custom_forces:ranknet")
    assert decorated is not None
    assert decorated == custom_forces.ranknet
    assert str(decorated) == "custom_forces:ranknet"
    bare = podium.custom_force(custom_forces.ranknet.custom.function)
    assert str(bare) == "custom_forces:ranknet(cost=None)"
    assert podium.force(str(bare)) == bare
    assert podium.force("custom_forces:BUILT_IN") == podium.force("hinge")


def test_functions_without_a_name_work_and_say_so(data, scores):
    def inside(held, labels):
        return labels - held, np.ones(len(held))

    for function in (inside, lambda held, labels: (labels - held, np.ones(len(held)))):
        force = plain(function)
        np.testing.assert_array_equal(force(scores, data)[0], podium.force("squared")(scores, data)[0])
        assert str(force).startswith("unnamed:")
        assert str(force).endswith(function.__qualname__)
        assert not force.is_importable
        with pytest.raises(podium.ParameterError, match=r"cannot be found again.*module:function"):
            podium.force(str(force))
    assert "unnamed" in str(podium.custom_force(custom_forces.squared, cost=lambda held, labels: 0.0))


@pytest.mark.parametrize(
    "name", ["custom_forces:squared", "custom_forces:ranknet", "custom_forces:squared(compile=False)", "hinge"]
)
def test_forces_pickle(name):
    force = podium.force(name)
    assert pickle.loads(pickle.dumps(force)) == force


def test_a_lambda_is_left_to_picklers_that_carry_code():
    make, arguments = plain(lambda held, labels: (labels - held, np.ones(len(held)))).__reduce__()
    assert make(*arguments).custom.compile is False
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(plain(lambda held, labels: (held, held)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:f", r"there is no module 'no_such_module'"),
        ("custom_forces.deeper:f", r"there is no module|is not a package"),
        ("custom_forces:squarred", r"has no function 'squarred'; did you mean custom_forces:squared"),
        ("custom_forces:NOT_A_FORCE", r"is 3; name a function or a force"),
        ("custom_forces:squared(margin=1)", r"unknown option of a custom force 'margin'"),
        ("custom_forces:squared(compile=1)", r"compile=1 must be True, False or None"),
        ("custom_forces:squared(cost=3)", r"cost=3 must be a function"),
        ("custom_forces:squared(__import__('os'))", r"cannot be read"),
        ("custom_forces:BUILT_IN(compile=False)", r"takes no options"),
        ("neighbors(custom_forces:squared)", r"needs a force over pairs"),
        (3, r"force=3 must be a name"),
    ],
)
def test_names_that_are_refused(name, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.force(name)


def test_a_module_that_misses_another_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import not_installed_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_at_all"):
        podium.force("half_there:f")


def test_what_custom_force_refuses():
    with pytest.raises(podium.ParameterError, match="must be a function"):
        podium.custom_force(3)
    with pytest.raises(podium.ParameterError, match="is a force already"):
        podium.custom_force(podium.force("hinge"))
    with pytest.raises(podium.ParameterError, match="must be hashable"):
        podium.custom_force(type("Callable", (), {"__call__": lambda self, s, l: (s, s), "__hash__": None})())
    with pytest.raises(podium.ParameterError, match="needs a force over pairs"):
        podium.forces.Force.of(podium.forces.FORCES["neighbors"], podium.force(custom_forces.squared))


def test_data_it_is_not_defined_on_is_refused():
    parts = {"document_weights": [1.0, 2.0], "pairs": podium.Pairs.of([0], [1])}
    for name, part in parts.items():
        data = podium.RankingData(np.zeros((2, 1)), [1, 0], [1, 1], **{name: part})
        with pytest.raises(podium.DataError, match=rf"scores and labels alone.*data\.replace\({name}=None\)"):
            plain(custom_forces.squared)([0.0, 0.0], data)


# Wrong return values


@both
@pytest.mark.parametrize("threads", [1, 4])
def test_an_exception_is_raised_unchanged_with_its_traceback(data, compile, threads):
    force = podium.custom_force(custom_forces.raises_on_high_scores, compile=compile)
    scores = np.zeros(len(data))
    force(scores, data, num_threads=threads)
    scores[-1] = 3
    with pytest.raises(LookupError, match="no score may pass 2") as caught:
        force(scores, data, num_threads=threads)
    assert "raises_on_high_scores" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "custom_forces:raises_on_high_scores" in caught.value.__notes__[0]
    assert "3.0" in caught.value.__notes__[0]


def test_keyboard_interrupts_are_raised(data, scores):
    def force(held, labels):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plain(force)(scores, data, num_threads=4)


@both
@pytest.mark.parametrize("function", [custom_forces.past_the_end, custom_forces.writes_past_the_end])
def test_reading_and_writing_past_the_end_is_an_error(data, scores, function, compile):
    force = podium.custom_force(function, compile=compile)
    with pytest.raises(IndexError, match="out of bounds"):
        force(scores, data)
    with pytest.raises(IndexError, match="out of bounds"):
        podium.Ranker(force=force, schedule="adam(epochs=1)").fit(data)


@both
def test_a_cost_that_reads_past_the_end_is_an_error(data, scores, compile):
    force = podium.custom_force(custom_forces.squared, cost=custom_forces.past_the_end_cost, compile=compile)
    with pytest.raises(IndexError, match="out of bounds"):
        force.cost(scores, data)


@needs_numba
@pytest.mark.parametrize("used_before", [False, True])
def test_indices_are_checked_in_what_the_owner_compiled_too(data, scores, used_before):
    import numba

    helper = numba.njit(custom_forces.next_label)
    if used_before:
        helper(np.zeros(2), 0)  # compiled without checks by now

    @numba.njit
    def owned(held, labels):
        force = np.zeros(len(held))
        for i in range(len(held)):
            force[i] = helper(labels, i)
        return force, np.ones(len(held))

    if used_before:
        owned(np.zeros(2), np.zeros(3))
    with pytest.raises(IndexError, match="out of bounds"):
        podium.custom_force(owned, compile=True)(scores, data)


def test_a_force_that_leaves_the_program_is_an_error(data, scores):
    force = plain(custom_forces.leaves)
    with pytest.raises(RuntimeError, match=r"the function called sys.exit\(0\)"):
        force(scores, data)


def force_only(held, labels):
    return labels - held


def too_short(held, labels):
    return (labels - held)[1:], np.ones(len(held))


def long_curvature(held, labels):
    return labels - held, np.ones(len(held) + 1)


def not_a_number(held, labels):
    return (labels - held) * np.nan, np.ones(len(held))


def infinite(held, labels):
    return labels - held, np.ones(len(held)) * np.inf


def negative(held, labels):
    return labels - held, -np.ones(len(held))


def two_columns(held, labels):
    return np.zeros((len(held), 2)), np.ones(len(held))


def words(held, labels):
    return ["up"] * len(held), np.ones(len(held))


@pytest.mark.parametrize("compile", [False, pytest.param(None, marks=needs_numba)])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (force_only, r"two arrays, \(force, curvature\)"),
        (too_short, r"the force has shape \(11,\) for a query of 12 documents"),
        (long_curvature, r"the curvature has shape \(13,\)"),
        (two_columns, r"the force has shape \(12, 2\)"),
        (not_a_number, r"the force of document 0 is nan"),
        (infinite, r"the curvature of document 0 is inf"),
        (negative, r"the curvature of document 0 is -1; it must be at least 0.*np\.maximum"),
        (words, r"it must be an array of numbers"),
    ],
)
def test_answers_that_are_refused(data, scores, function, message, compile):
    force = podium.custom_force(function, compile=compile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(podium.DataError, match=message):
            force(scores, data, num_threads=2)


def test_a_curvature_that_rounding_makes_negative_counts_as_zero(data, scores):
    force = plain(lambda held, labels: (labels - held, np.where(labels > 2, 1.0, -1e-17)))
    assert (force(scores, data)[1] >= 0).all()


@pytest.mark.parametrize(
    ("answer", "message"), [("much", "one number"), (np.nan, "finite"), ([1.0, 2.0], "one number")]
)
def test_costs_that_are_refused(data, scores, answer, message):
    force = plain(custom_forces.squared, cost=lambda held, labels: answer)
    with pytest.raises(podium.DataError, match=message):
        force.cost(scores, data)
    with pytest.raises(podium.ParameterError, match="has no cost"):
        plain(custom_forces.squared).cost(scores, data)


# Compiling


@needs_numba
def test_what_numba_cannot_compile_runs_as_python_with_one_warning(data, scores):
    function = custom_forces.uses_what_numba_lacks
    force = podium.force(function)
    with pytest.warns(UserWarning, match=r"uses_what_numba_lacks cannot be compiled.*compile=False") as caught:
        first = force(scores, data)
    assert len(caught) == 1
    np.testing.assert_array_equal(force(scores, data)[0], first[0])  # and no second warning, which would be an error
    np.testing.assert_array_equal(podium.custom_force(function, compile=False)(scores, data)[0], first[0])
    assert force.runs_in_python
    with pytest.raises(
        podium.ParameterError, match=r"compile=True cannot be met for .*uses_what_numba_lacks: Numba says"
    ):
        podium.custom_force(function, compile=True)(scores, data)


@needs_numba
def test_a_function_compiled_by_its_owner_gives_what_it_gives_there(data, scores):
    import numba

    mine = numba.njit(custom_forces.squared)
    force = podium.custom_force(mine, compile=True)
    np.testing.assert_array_equal(force(scores, data)[0], podium.force("squared")(scores, data)[0])


def test_without_numba_python_runs_and_insisting_says_what_to_install(data, scores, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert podium.force(custom_forces.squared).runs_in_python
    podium.force(custom_forces.squared)(scores, data)
    with pytest.raises(podium.MissingExtraError, match=r"pip install 'podium\[numba\]'"):
        podium.custom_force(custom_forces.squared, compile=True)(scores, data)
