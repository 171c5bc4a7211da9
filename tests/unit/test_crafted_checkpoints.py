"""Checkpoints and studies that are damaged or made up, checksum and all: a FormatError, never a crash or a wrong model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import podium
from podium.artifact.tensors import arrays_of, write_tensors
from podium.kinds import podium_header
from podium.rankers import RANKERS
from podium.training.checkpoint import Checkpoint

DATA = podium.synthetic.network(queries=8, documents=6, features=4, seed=3)
VALID = podium.synthetic.network(queries=8, documents=6, features=4, seed=4)
MORE = {
    "lbfgs over a net": lambda epochs: podium.RankNet(optimizer="lbfgs", epochs=epochs),
    "sgd": lambda epochs: podium.RankNet(optimizer="sgd", epochs=epochs),
    "linear": lambda epochs: podium.RankNet(hidden=(), epochs=epochs),
    "dart": lambda epochs: podium.LambdaMART(dart=0.5, n_estimators=epochs),
    "own outputs": lambda epochs: podium.Ranker(force="ordinal", model="trees", schedule=f"boosting(rounds={epochs})"),
}


def ranker(name, epochs):
    if name in MORE:
        return MORE[name](epochs)
    return RANKERS[name](**{"n_estimators" if "n_estimators" in RANKERS[name].parameters() else "epochs": epochs})


def fit(name, path, epochs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker(name, epochs).fit(DATA, valid=VALID, checkpoint=path)


def read(path):
    raw = path.read_bytes()
    header = podium_header(raw)
    return {name: header[name] for name in ("kind", "identity", "numbers")}, arrays_of(raw, header)


def damages(value):
    """Return wrong versions of an array: other dimensions, another type or size, or not finite."""
    yield value.reshape(1, -1) if value.ndim == 1 else value.reshape(-1)
    yield np.zeros(value.shape, np.float16)
    yield np.concatenate([value, value, value])
    yield value[:-1]
    if value.dtype.kind == "f":
        yield np.full_like(value, np.nan)


@pytest.mark.parametrize("name", [*RANKERS, *MORE])
def test_arrays_that_cannot_be_of_this_training_are_refused(tmp_path, name):
    path = tmp_path / "c"
    fit(name, path, 2)
    header, arrays = read(path)
    more = 2 if name == "structrank" else 3  # whose epochs are part of what it is
    wrong = [(array, None) for array in arrays]
    wrong += [(array, damaged) for array, value in arrays.items() if value.size for damaged in damages(value)]
    for array, damaged in wrong:
        rest = {other: value for other, value in arrays.items() if other != array}
        write_tensors(path, "checkpoint", header, rest if damaged is None else {**rest, array: damaged})
        with pytest.raises(podium.FormatError, match=r"is not a checkpoint of this training .*; remove the file"):
            fit(name, path, more)
    write_tensors(path, "checkpoint", header, {**arrays, "strange": np.zeros(3)})
    with pytest.raises(podium.FormatError, match="the array strange is unknown"):
        fit(name, path, more)
    write_tensors(path, "checkpoint", header, arrays)
    fit(name, path, more)


def with_row(**changes):
    """A change of the last row of the log."""
    return lambda numbers: numbers["log"][-1].update(changes)


def without_row(name):
    return lambda numbers: numbers["log"][-1].pop(name)


HUGE = 10**40
NUMBERS = {
    **{f"without {name}": lambda numbers, name=name: numbers.pop(name) for name in ("epoch", "rate", "log", "restart")},
    **{
        f"epoch {value!r}": lambda numbers, value=value: numbers.update(epoch=value)
        for value in (-1, 1, 3, HUGE, 1.5, "2", None, True, [2])
    },
    **{
        f"{name} {value!r}": lambda numbers, name=name, value=value: numbers.update({name: value})
        for name, values in {
            "best_epoch": (-1, 3, HUGE, "1", None),
            "rate": (HUGE, "0.1", None, [0.1]),
            "since_best": (-1, HUGE, 0.5),
            "best_value": ("high", HUGE, [1.0]),
            "restart": (-3, "no"),
            "certificate": (3, [1]),
            "log": ({}, 3, None, [1, 2], [{}, {}]),
            "more": (1,),
        }.items()
        for value in values
    },
    "a row without its epoch": without_row("epoch"),
    "a row without seconds": without_row("seconds"),
    "a row of another epoch": with_row(epoch=1),
    "a row of a later best": with_row(best_epoch=3),
    "a row with text": with_row(train="good"),
    "a row with a huge number": with_row(valid=HUGE),
    "a row with a list": with_row(also=[1]),
    "a row with a strange name": with_row(__class__=1),
}


@pytest.mark.parametrize("change", NUMBERS)
def test_numbers_that_cannot_be_of_any_training_are_refused(tmp_path, change):
    path = tmp_path / "c"
    fit("ranknet", path, 2)
    header, arrays = read(path)
    NUMBERS[change](header["numbers"])
    write_tensors(path, "checkpoint", header, arrays)
    with pytest.raises(podium.FormatError, match=r"is a checkpoint with a part missing or wrong: .*; remove the file"):
        fit("ranknet", path, 3)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ranknet", {"rate": -1.0}),
        ("ranknet", {"rate": 0.0}),
        ("ranknet", {"rate": 0.0005}),  # smaller, although no rule made it so
        ("ranknet", {"best_value": 1e308}),
        ("ranknet", {"since_best": 7}),
        ("ranknet", {"last_train": 0.25}),
        ("lambdamart", {"rate": -1.0}),
        ("lambdamart", {"best_value": 1e308}),
        ("lambdamart", {"since_best": 7}),
        ("adarank", {"best_value": -1e308}),
        ("prank", {"rate": -1.0}),
        ("prank", {"best_value": 1e308}),
        ("structrank", {"rate": -1.0}),
        ("structrank", {"best_value": 1e308}),
    ],
    ids=str,
)
def test_progress_that_does_not_follow_from_the_log_is_refused(tmp_path, name, change):
    path = tmp_path / "c"
    fit(name, path, 2)
    header, arrays = read(path)
    header["numbers"].update(change)
    write_tensors(path, "checkpoint", header, arrays)
    with pytest.raises(podium.FormatError, match=r"is not a checkpoint of this training .*; remove the file"):
        fit(name, path, 2 if name == "structrank" else 3)


@pytest.mark.parametrize("name", ["ranknet", "lambdamart", "adarank"])
def test_a_log_that_was_made_up_is_refused(tmp_path, name):
    path = tmp_path / "c"
    fit(name, path, 2)
    header, arrays = read(path)
    last = header["numbers"]["log"][-1]
    last.update(valid=last["valid"] / 2, train=last["train"] / 2)
    write_tensors(path, "checkpoint", header, arrays)
    with pytest.raises(podium.FormatError, match="is not a checkpoint of this training"):
        fit(name, path, 3)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("ranknet", "second", "the moments of Adam cannot be negative"),
        ("linear", "best_vector", "does not have the value in the log"),
        ("lambdamart", "weights", "the weights of the trees do not follow from the schedule"),
        ("lambdamart", "train", "scores that are not those of the trees"),
        ("lambdamart", "valid", "scores that are not those of the trees"),
        ("lambdamart", "own_scores.1", "scores that are not those of the trees"),
        ("lambdamart", "best_vector", "best_vector does not follow from the schedule"),
        ("lambdamart", "forest.value", "scores that are not those of the trees"),
        ("dart", "weights", "the weights of the trees do not follow from the schedule"),
        ("dart", "valid", "scores that are not those of the trees"),
        ("own outputs", "own", "the parameters of the force cannot be those of this training"),
        ("adarank", "alphas", "best_vector holds other weights"),
        ("structrank", "best_vector", "parameters below 0"),
        ("structrank", "theta", "parameters below 0"),
        ("oap-bpm", "best_vector", "does not have the value in the log"),
    ],
)
def test_negated_arrays_are_refused(tmp_path, name, array, reason):
    """Finite numbers of the right shape that no training can have come to."""
    path = tmp_path / "c"
    fit(name, path, 4)
    header, arrays = read(path)
    assert arrays[array].any()
    write_tensors(path, "checkpoint", header, {**arrays, array: -arrays[array]})
    with pytest.raises(podium.FormatError, match=f"is not a checkpoint of this training .*{reason}"):
        fit(name, path, 4 if name == "structrank" else 5)


@pytest.mark.parametrize("identity", [None, 3, [], ["force"], {"force": 3}, {"force": None}])
def test_a_checkpoint_that_does_not_say_what_it_is_for_is_refused(tmp_path, identity):
    path = tmp_path / "c"
    fit("ranknet", path, 2)
    header, arrays = read(path)
    write_tensors(path, "checkpoint", {**header, "identity": identity}, arrays)
    with pytest.raises(podium.FormatError, match="does not say what it was written for"):
        fit("ranknet", path, 3)
    for name in ("identity", "numbers"):
        write_tensors(path, "checkpoint", {k: v for k, v in header.items() if k != name}, arrays)
        with pytest.raises(podium.FormatError, match="remove the file"):
            fit("ranknet", path, 3)


def test_the_identity_is_compared_both_ways(tmp_path):
    """A setting that only the checkpoint has, or only this training, makes them different trainings."""
    path = tmp_path / "c"
    fit("ranknet", path, 2)
    header, arrays = read(path)
    for name in header["identity"]:
        rest = {other: value for other, value in header["identity"].items() if other != name}
        write_tensors(path, "checkpoint", {**header, "identity": rest}, arrays)
        with pytest.raises(podium.ParameterError, match=f"was written with another {name}: None there, "):
            fit("ranknet", path, 3)
    write_tensors(path, "checkpoint", {**header, "identity": {**header["identity"], "gravity": "9.81"}}, arrays)
    with pytest.raises(podium.ParameterError, match=r"was written with another gravity: 9.81 there, None now"):
        fit("ranknet", path, 3)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path):
    with pytest.raises(podium.OutputError, match="none"):
        Checkpoint(tmp_path / "none" / "a.checkpoint").read({})
