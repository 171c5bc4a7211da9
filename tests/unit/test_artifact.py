"""Saved models give the same scores and bytes after loading; damaged and foreign files are refused."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

import podium
import podium.cli
from generated import any_schedule
from limits import limited_memory
from podium import _core
from podium.artifact import FORMAT, Artifact, is_artifact, load_artifact, save_artifact
from podium.artifact.tensors import write_tensors
from podium.artifact.upgrade import upgrade
from podium.kinds import podium_header
from podium.rankers import RANKERS

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "models").glob("*.podium"))


def some(queries=6, documents=7, seed=0, **parts: Any) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * documents, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = rng.integers(0, 4, len(X)).astype(float)
    return podium.RankingData(X, labels, np.repeat(np.arange(queries), documents), **parts)


DATA = some()
CASES = {
    **{name: kind() for name, kind in RANKERS.items()},
    "ranknet, linear": podium.RankNet(hidden=(), epochs=2),
    "ranknet, deep": podium.RankNet(hidden=(5, 3), activation="relu", epochs=2, standardize=False),
    "kernel-ranknet, poly": podium.KernelRankNet(kernel="poly", width=3, degree=3, offset=0.5, landmarks=9, epochs=60),
    "ranksvm, several C": podium.RankSVM(C=(0.1, 1.0), loss="squared_hinge"),
    "ranksvm, rbf": podium.RankSVM(kernel="rbf", landmarks=12, query_norm=False),
    "structrank, few": podium.StructRank(references=9, choose="kmeans", epochs=2, starts=1),
    "nadaraya-watson": podium.Ranker(
        force="listnet", model="nadaraya-watson(references=20)", schedule="adam(epochs=2)"
    ),
    "ordinal, net": podium.OrdinalRegression(hidden=(3,), epochs=2),
    "linear": podium.Ranker(force="lambdarank(map)", schedule="adam(epochs=2)"),
    "net": podium.Ranker(force="neighbors(ranknet)", model="net(13)", schedule="adam(epochs=2)"),
    "kernel": podium.Ranker(force="hinge", model="kernel(linear)", schedule="adam(epochs=2)"),
    "multiclass": podium.Ranker(force="multiclass", model="net(4)", schedule="adam(epochs=2)"),
    "multiclass, kernel": podium.Ranker(
        force="multiclass", model="kernel(rbf, landmarks=5)", schedule="adam(epochs=2)"
    ),
    "own force": podium.Ranker(
        force=podium.custom_force(lambda s, y: (y - s, np.ones(len(s))), compile=False), schedule="adam(epochs=2)"
    ),
}


def fitted(name: str) -> Any:
    ranker = CASES[name]
    if hasattr(ranker, "epochs"):
        ranker.set_params(epochs=min(ranker.epochs, 20))
    return ranker.fit(DATA, valid=some(seed=1))


@pytest.mark.filterwarnings("ignore:the solver stopped after")
@pytest.mark.parametrize("name", CASES)
def test_a_saved_ranker_scores_as_it_did_and_saves_to_the_same_bytes(name, tmp_path):
    ranker = fitted(name)
    path, again = tmp_path / "a.podium", tmp_path / "b.podium"
    ranker.save(path)
    loaded = podium.load(path)
    test = some(seed=2)
    for given in (test, test.features, test.features[3:4]):
        assert loaded.predict(given).tobytes() == ranker.predict(given).tobytes()
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    ranker.set_params(num_threads=3).save(again)
    assert again.read_bytes() == path.read_bytes()
    assert type(loaded) is type(ranker)
    for attribute in (
        "best_epoch_",
        "best_value_",
        "n_epochs_",
        "n_features_in_",
        "force_",
        "model_spec_",
        "fingerprint_",
    ):
        assert getattr(loaded, attribute) == getattr(ranker, attribute), attribute
    assert loaded.certificate_ == ranker.certificate_
    assert getattr(loaded, "C_", None) == getattr(ranker, "C_", None)
    assert loaded.thresholds_.tobytes() == ranker.thresholds_.tobytes()
    assert loaded.score(test) == ranker.score(test)
    assert is_artifact(path)
    assert pickle.loads(pickle.dumps(loaded)).predict(test).tobytes() == ranker.predict(test).tobytes()


@pytest.mark.filterwarnings("ignore:the solver stopped after")
@pytest.mark.parametrize("name", [name for name in CASES if name != "own force"])
def test_a_loaded_ranker_can_be_trained_again_to_the_same_bytes(name, tmp_path):
    path, again = tmp_path / "a.podium", tmp_path / "b.podium"
    fitted(name).save(path)
    podium.load(path).fit(DATA, valid=some(seed=1)).save(again)
    assert again.read_bytes() == path.read_bytes()


def test_parameters_come_back_as_they_were(tmp_path):
    grid = np.array([3, 7])
    ranker = podium.RankNet(hidden=[np.int64(4), 3], epochs=grid[0], learning_rate=np.float32(0.5), l2=np.float64(0.1))
    ranker.fit(DATA).save(tmp_path / "a.podium")
    loaded = podium.load(tmp_path / "a.podium")
    assert loaded.get_params() == {**podium.RankNet().get_params(), "hidden": (4, 3), "epochs": 3, "learning_rate": 0.5, "l2": 0.1}  # fmt: skip
    assert [type(loaded.get_params()[name]) for name in ("epochs", "learning_rate", "l2")] == [int, float, float]
    podium.RankSVM(C=np.array([0.5, 2.0])).fit(DATA, valid=DATA).save(tmp_path / "b.podium")
    assert podium.load(tmp_path / "b.podium").C == (0.5, 2.0)
    podium.Ranker(force=podium.force("ranknet(sigma=2)"), model=podium.models.model("net(3)"), metric=podium.metric("map"), **any_schedule(podium.models.model("net(3)"), epochs=1)).fit(DATA).save(tmp_path / "c.podium")  # fmt: skip
    found = podium.load(tmp_path / "c.podium").get_params()
    assert (found["force"], found["model"], found["metric"]) == ("ranknet(sigma=2)", "net(3)", "map")


def own(scores, labels):
    return labels - scores, np.ones(len(scores))


def test_a_force_of_your_own_is_saved_by_name_not_by_place(tmp_path):
    path = tmp_path / "a.podium"
    assert podium.Ranker(force=own)._saved_parameters()["force"] == f"{__name__}:own"
    podium.Ranker(force=podium.custom_force(own, compile=False), schedule="adam(epochs=1)").fit(DATA).save(path)
    assert podium.load(path).force == f"{__name__}:own(compile=False)"
    assert podium.load(path).fit(DATA).force_ == f"{__name__}:own(compile=False)"
    nowhere = podium.custom_force(lambda scores, labels: own(scores, labels), compile=False)
    podium.Ranker(force=nowhere, schedule="adam(epochs=1)").fit(DATA).save(path)
    assert "0x" not in load_artifact(path).header["parameters"]["force"]
    loaded = podium.load(path)
    assert np.isfinite(loaded.predict(DATA)).all()  # scoring needs no force
    with pytest.raises(podium.ParameterError, match="cannot be found again"):
        loaded.fit(DATA)


# ---- damaged and foreign files


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> bytes:
    """A model whose header determines its scores too: it holds width, degree and offset of the kernel."""
    path = tmp_path_factory.mktemp("written") / "a.podium"
    fitted("kernel-ranknet, poly").save(path)
    return path.read_bytes()


def test_a_truncated_file_is_refused_at_every_length(written, tmp_path):
    header = 8 + struct.unpack("<Q", written[:8])[0]
    lengths = {*range(20), header - 1, header, header + 1, *range(0, len(written), 37), len(written) - 1}
    for length in sorted(lengths):
        with pytest.raises(podium.FormatError, match=r"is not a Podium model, or is damaged|is a damaged Podium model"):
            podium.load(put(tmp_path / "a.podium", written[:length]))


def test_a_flipped_bit_is_refused_wherever_it_is(written, tmp_path):
    rng = np.random.default_rng(0)
    path = put(tmp_path / "a.podium", written)
    header, scores = load_artifact(path).header, podium.load(path).predict(DATA)
    header_end = 8 + struct.unpack("<Q", written[:8])[0]
    places = [*rng.integers(0, header_end, 150).tolist(), *rng.integers(header_end, len(written), 50).tolist()]
    width = written.index(b'width\\": ') + len(b'width\\": ')
    refused = 0
    for place in [*range(8), *range(width, width + 6), *places]:
        damaged = bytearray(written)
        damaged[place] ^= 1 << int(rng.integers(8))
        put(path, damaged)
        try:
            loaded = podium.load(path)
        except podium.FormatError:
            refused += 1
        else:  # the last digit of a number may read as the same number
            assert load_artifact(path).header == header
            assert loaded.predict(DATA).tobytes() == scores.tobytes()
    assert refused >= 210


def test_bytes_behind_the_end_are_refused(written, tmp_path):
    with pytest.raises(podium.FormatError, match="is a damaged Podium model"):
        podium.load(put(tmp_path / "a.podium", written + b"\0"))


def test_a_newer_format_asks_for_a_newer_podium(tmp_path):
    path = tmp_path / "a.podium"
    write_tensors(path, "model", {"format": FORMAT + 1, "anything": "else"}, {})
    with pytest.raises(
        podium.FormatError, match=r"has format 3, but this Podium reads formats up to 2; install a newer Podium"
    ):
        podium.load(path)
    for odd in (0, -1, "1", None, 1.5, True, [1]):
        write_tensors(path, "model", {"format": odd}, {})
        with pytest.raises(podium.FormatError, match="is a damaged Podium model"):
            podium.load(path)


def test_what_is_no_model_is_refused(tmp_path):
    path = tmp_path / "a.podium"
    foreign = pytest.raises(podium.FormatError, match="is not a Podium model, or is damaged; models are written by")
    for content in (b"", b"\0" * 8, b"1 qid:1 1:0.5\n" * 20, b"\x80\x04\x95" + b"." * 50, b"{}" * 20):
        with foreign:
            podium.load(put(path, content))
        assert not is_artifact(path)
    save_file({"weight": np.zeros(3)}, path)
    with foreign:
        podium.load(path)
    save_file({"weight": np.zeros(3)}, path, {"podium": "not JSON"})
    with foreign:
        podium.load(path)
    for text in ("[]", '"format"', "3", "null", "{}", "[" * 100_000):
        with foreign:
            podium.load(put(path, save({"weight": np.zeros(3)}, {"podium": text})))
        assert not is_artifact(path)
    podium.RankNet(epochs=1).fit(DATA, checkpoint=tmp_path / "b.checkpoint")
    with foreign:
        podium.load(tmp_path / "b.checkpoint")
    put(path, save({"weight": np.zeros(3)}, {"podium": '{"format": 1, "x": NaN, "sha256": "0"}'}))
    with pytest.raises(podium.FormatError, match="is a damaged Podium model"):
        podium.load(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(podium.FormatError, match=r"none\.podium: there is no such file; check the path"):
        podium.load(tmp_path / "none.podium")
    with pytest.raises(podium.FormatError, match="is a directory; give the path of a file"):
        podium.load(tmp_path)
    with pytest.raises(podium.FormatError, match=r"there is no such file|cannot be read"):
        podium.load(put(tmp_path / "file", b"x") / "below")
    assert not is_artifact(tmp_path)
    assert not is_artifact(tmp_path / "none.podium")
    with pytest.raises(podium.OutputError, match="is a directory"):
        fitted("linear").save(tmp_path)


class Mine:
    """Exits the process if it is unpickled."""

    def __reduce__(self) -> Any:
        return sys.exit, ("unpickled",)


def test_nothing_is_ever_unpickled(tmp_path):
    path = put(tmp_path / "a.podium", pickle.dumps(Mine()))
    with pytest.raises(podium.FormatError, match="is not a Podium model"):
        podium.load(path)
    path.unlink()
    save_artifact(path, Artifact({"ranker": "RankNet"}, {"model.bias": np.frombuffer(pickle.dumps(Mine()), np.uint8)}))
    with pytest.raises(podium.FormatError, match="part missing or wrong"):
        podium.load(path)


def changed(part: list[str], value: Any, header: dict[str, Any]) -> dict[str, Any]:
    """Return the header with one part set, or without it if the value is `...`."""
    copied = json.loads(json.dumps(header))
    place = copied
    for name in part[:-1]:
        place = place[name]
    if value is ...:
        del place[part[-1]]
    else:
        place[part[-1]] = value
    return copied


WRONG_PARTS: list[tuple[str, list[str], Any]] = [
    *[
        ("net", [part], ...)
        for part in ("ranker", "parameters", "force", "model", "features", "data", "training", "more")
    ],
    *[("net", ["model", part], ...) for part in ("name", "settings", "spec")],
    *[("net", ["training", part], ...) for part in ("epochs", "best_epoch", "best_value")],
    ("net", ["features", "names"], ["a", "b"]),
    ("net", ["features", "names"], 3),
    ("net", ["parameters"], []),
    ("net", ["ranker"], "BaseRanker"),
    ("net", ["ranker"], "Unknown"),
    ("net", ["ranker"], ["RankNet"]),
    ("net", ["ranker"], None),
    ("net", ["model", "name"], "forest"),
    ("net", ["model", "name"], None),
    ("net", ["model", "name"], "kernel"),
    ("net", ["model", "settings", "widths"], [4]),
    ("net", ["model", "settings", "widths"], []),
    ("net", ["model", "settings", "widths"], [4, 1]),
    ("net", ["model", "settings", "widths"], [4, 14, 1]),
    ("net", ["model", "settings", "widths"], [13, 4, 1]),
    ("net", ["model", "settings", "widths"], [4, 0, 1]),
    ("net", ["model", "settings", "widths"], [-4, 13, 1]),
    ("net", ["model", "settings", "widths"], [4, 10**18, 1]),
    ("net", ["model", "settings", "widths"], [4, "x", 1]),
    ("net", ["model", "settings", "widths"], 4),
    ("net", ["model", "settings", "activation"], "gelu"),
    ("net", ["model", "settings", "activation"], ["tanh"]),
    ("kernel", ["model", "settings", "kernel"], "gauss"),
    ("kernel", ["model", "settings", "kernel"], None),
    ("kernel", ["model", "settings", "width"], "wide"),
    ("kernel", ["model", "settings", "degree"], ...),
    ("ranksvm, several C", ["more", "C"], None),
    ("ranksvm, several C", ["more", "C"], ...),
    ("structrank, few", ["more", "w1"], None),
    ("structrank, few", ["more", "norm"], ...),
    ("net", ["features", "normalize"], "most"),
    ("net", ["features", "count"], ...),
    ("net", ["features", "count"], 5),
    ("mart", ["features", "count"], 200_000_000),
    ("mart", ["model", "settings", "n_features"], 200_000_000),
    ("mart", ["model", "settings", "n_features"], -1),
    ("mart", ["model", "settings", "n_outputs"], 200_000_000),
    ("mart", ["model", "settings", "n_outputs"], 0),
]


@pytest.mark.parametrize(("name", "part", "value"), WRONG_PARTS, ids=str)
def test_headers_with_a_part_missing_or_wrong(name, part, value, tmp_path):
    path = tmp_path / "a.podium"
    fitted(name).save(path)
    whole = load_artifact(path)
    write_tensors(
        path, "model", changed(part, value, {k: v for k, v in whole.header.items() if k != "sha256"}), whole.arrays
    )
    with pytest.raises(podium.FormatError, match=r"part missing or wrong|which this Podium does not know"):
        podium.load(path)


def test_a_file_cannot_claim_more_features_than_trees_take(tmp_path, monkeypatch):
    """A forest has no array by feature: what a file of some kilobytes may claim is bounded, and so is what it makes us take."""
    path = tmp_path / "a.podium"
    fitted("mart").save(path)
    whole = load_artifact(path)
    header = {k: v for k, v in whole.header.items() if k != "sha256"}
    for claimed in (2**20, 2**20 + 1, 2 * 10**8):
        for part in (["model", "settings", "n_features"], ["features", "count"]):
            header = changed(part, claimed, header)
        write_tensors(path, "model", header, whole.arrays)
        with limited_memory(100):
            if claimed > 2**20:
                with pytest.raises(podium.FormatError, match=f"1,048,576 features; found {claimed:,}"):
                    podium.load(path)
            else:
                monkeypatch.setattr(sys, "argv", ["podium", "explain", str(path)])
                with pytest.raises(SystemExit) as done:
                    podium.cli.main()
                assert done.value.code == 0


def test_trees_are_not_trained_on_more_features_than_a_file_may_have():
    wide = podium.RankingData(np.zeros((2, 2**20 + 1), np.float32), [1, 0], [0, 0])
    with pytest.raises(podium.DataError, match="trees take at most 1,048,576 features; found 1,048,577"):
        podium.MART().fit(wide)


@pytest.mark.parametrize("name", ["net", "kernel", "multiclass, kernel", "nadaraya-watson"])
def test_arrays_that_do_not_fit_never_reach_the_core(name, tmp_path):
    path = tmp_path / "a.podium"
    fitted(name).save(path)
    whole = load_artifact(path)
    header = {k: v for k, v in whole.header.items() if k != "sha256"}
    for array, value in whole.arrays.items():
        rest = {k: v for k, v in whole.arrays.items() if k != array}
        for wrong in (None, value[:-1], value[None], np.append(value.reshape(-1), 1.0)):
            write_tensors(path, "model", header, rest if wrong is None else {**rest, array: wrong})
            with pytest.raises(podium.FormatError, match="part missing or wrong"):
                podium.load(path)
        write_tensors(path, "model", header, {**rest, array: value.astype(np.float32)})
        assert np.isfinite(podium.load(path).predict(DATA)).all()


LOADS = """
import gc, resource, sys, threading
import podium

def load(times):
    for _ in range(times):
        podium.load(sys.argv[1])

def held_after(loads, threads):
    workers = [threading.Thread(target=load, args=(loads // threads,)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

threads = int(sys.argv[2])
before = held_after(160, threads)
print(held_after(1024, threads) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize("threads", [1, 16])
def test_loading_a_model_a_thousand_times_does_not_grow_the_process(tmp_path, threads):
    """A thousand loads would keep a gigabyte if each kept its model, and a twentieth of what is allowed here is usual."""
    data, path = podium.synthetic.network(queries=100, documents=20, features=20, seed=0), tmp_path / "a.podium"
    podium.MART(n_estimators=400, num_leaves=64, min_documents=1, forests=1).fit(data).save(path)
    size = path.stat().st_size
    assert size > 1_000_000
    printed = subprocess.run(
        [sys.executable, "-c", LOADS, path, str(threads)], check=True, capture_output=True, text=True
    ).stdout
    assert int(printed) < 20 * size


def test_the_file_says_what_it_holds(tmp_path):
    path = tmp_path / "a.podium"
    named = some(feature_names=["a", "b", "ü", "\ud800"])
    ranker = podium.LambdaRank(hidden=(3,), epochs=2, metric="map", seed=4, num_threads=2).fit(named, valid=named)
    ranker.save(path)
    header = podium_header(path.read_bytes())
    assert header is not None
    assert header["format"] == FORMAT
    assert header["library"] == podium.__version__
    assert (header["ranker"], header["force"], header["metric"]) == ("LambdaRank", "lambdarank(map)", "map")
    assert header["model"] == {"name": "net", "spec": "net(3)", "settings": {"widths": [4, 3, 1], "activation": "tanh"}}
    assert header["features"] == {"count": 4, "names": ["a", "b", "ü", "\ud800"]}
    assert header["training"] == {"epochs": 2, "best_epoch": ranker.best_epoch_, "best_value": ranker.best_value_}
    assert "num_threads" not in header["parameters"]
    assert len(header["sha256"]) == len(header["data"]) == 64
    assert podium.load(path).feature_names_ == ("a", "b", "ü", "\ud800")


def test_models_of_other_code_are_not_saved(tmp_path):
    ranker = fitted("linear")
    ranker.model_name_ = "theirs"
    try:
        with pytest.raises(podium.ParameterError, match="cannot be saved"):
            ranker.save(tmp_path / "a.podium")
    finally:
        ranker.model_name_ = "linear"
    with pytest.raises(Exception, match="not fitted"):
        podium.RankNet().save(tmp_path / "a.podium")
    assert list(tmp_path.iterdir()) == []


# ---- files written by earlier versions


def test_there_is_a_golden_file_of_every_kind():
    held = {load_artifact(path).header["model"]["name"] for path in GOLDEN if path.stem.endswith(f"-{FORMAT}")}
    assert held == set(podium.models.MODELS)


@pytest.mark.parametrize("avx2", [True, False])
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_models_load_and_score_the_same(path, avx2):
    held = json.loads(path.with_suffix(".json").read_text())
    rows, scores = np.array(held["rows"], np.float32), held["scores"]  # None becomes NaN
    ranker, scorer = podium.load(path), podium.load_scorer(path)
    data = podium.RankingData(rows, np.zeros(len(rows)), np.zeros(len(rows), int), feature_names=scorer.feature_names)
    try:
        _core.use_avx2(avx2)
        found = [ranker.set_params(num_threads=threads).predict(data) for threads in (1, 2)]
        found += [scorer.scores(rows), np.concatenate([scorer.scores(row) for row in rows[:, None]])]
    finally:
        _core.use_avx2(True)
    # Sums have one order, and the exponential function is Podium's own: all machines give the same bits. Kernels of
    # format 1 were scored by BLAS, whose order of sums is unknown.
    bound = 1e-12 if path.stem in ("kernel-1", "ranksvm-poly-1", "kernel-prank-1") else 0
    for each in found:
        np.testing.assert_allclose(each, scores, rtol=bound)
    assert len(set(scores)) > 3


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_models_are_saved_to_the_same_bytes(path, tmp_path):
    podium.load(path).save(tmp_path / "again.podium")
    whole, again = load_artifact(path), load_artifact(tmp_path / "again.podium")
    assert {**whole.header, "library": "", "sha256": ""} == {**again.header, "library": "", "sha256": ""}
    assert all(whole.arrays[name].tobytes() == again.arrays[name].tobytes() for name in whole.arrays)


def test_a_name_that_no_file_can_have_is_not_that_of_a_model():
    assert not is_artifact("a" * 5000)


@pytest.mark.parametrize(
    ("given", "schedule"),
    [
        ({"optimizer": "lbfgs"}, "lbfgs(epochs=9, tolerance=0.01, l2=0.5)"),
        ({"optimizer": "sgd"}, "sgd(epochs=9, rate=0.1, batch=4, l2=0.5)"),
        ({"model": "trees"}, "boosting(rounds=9, rate=0.1)"),
    ],
)
def test_settings_of_format_1_become_those_that_the_schedule_has(given, schedule):
    settings = {"epochs": 9, "learning_rate": 0.1, "batch": 4, "tolerance": 0.01, "l2": 0.5}
    parameters = {"force": "ranknet", "model": "linear", **settings, **given}
    header, _ = upgrade({"format": 1, "ranker": "Ranker", "parameters": parameters}, {})
    assert header["parameters"] == {"force": "ranknet", "model": given.get("model", "linear"), "schedule": schedule}
    podium.Ranker(**header["parameters"]).check_parameters()
