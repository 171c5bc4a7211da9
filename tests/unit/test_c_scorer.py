"""The scorer in C gives Python's scores to the last bit, and refuses what is not a model."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_forest import KINDS, TAMPERED, random_forest, some_rows

import podium
from podium.artifact import Artifact, load_artifact, save_artifact

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
DATA = podium.synthetic.polynomial(queries=25, documents=12, features=11, seed=4)


def compile_c(source: str, out: Path, *flags: str) -> Path:
    include = f"-I{ROOT / 'scorer'}"
    asked = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", include, *flags]
    subprocess.run([str(COMPILER), *asked, str(ROOT / source), "-o", str(out), "-lm"], check=True)
    return out


class CScorer:
    """The C scorer as a shared library."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.podium_open.restype = ctypes.c_void_p
        self.library.podium_features.restype = ctypes.c_size_t

    def scores(self, path: Path, X: np.ndarray) -> np.ndarray:
        error = ctypes.create_string_buffer(256)
        scorer = ctypes.c_void_p(self.library.podium_open(str(path).encode(), error, ctypes.c_size_t(256)))
        if not scorer:
            raise ValueError(error.value.decode())
        rows = np.ascontiguousarray(X, np.float32)
        assert self.library.podium_features(scorer) == rows.shape[1]
        out = np.empty(len(rows))
        bad = self.library.podium_score(
            scorer,
            rows.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(len(rows)),
            out.ctypes.data_as(ctypes.c_void_p),
        )
        self.library.podium_close(scorer)
        if bad:
            raise ValueError("not finite")
        return out


@pytest.fixture(scope="module")
def in_c(tmp_path_factory) -> CScorer:
    folder = tmp_path_factory.mktemp("c")
    source = folder / "library.c"
    source.write_text('#define PODIUM_SCORER_IMPLEMENTATION\n#include "podium_scorer.h"\n')
    return CScorer(compile_c(str(source), folder / "scorer.so", "-shared", "-fPIC"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    X = DATA.features.copy()
    X[:, 3] = np.round(X[:, 3] * 3)
    X[::7, 5] = np.nan
    data = DATA.replace_grouped(features=X, feature_names=[f'name "{k}" \\ é 𝛼' for k in range(11)])
    rankers = {
        "trees": podium.LambdaMART(n_estimators=20, num_leaves=7, min_documents=2),
        "categories": podium.LambdaMART(n_estimators=20, num_leaves=7, min_documents=2, categorical=(3,)),
        "symmetric": podium.LambdaMART(n_estimators=20, num_leaves=8, min_documents=2, growth="symmetric"),
        "linear": podium.RankSVM(),
        "perceptron": podium.PRank(epochs=2),
        "net": podium.RankNet(hidden=(3,), epochs=1),
        "normalized": podium.StructRank(epochs=1, starts=1),
        "outputs": podium.Ranker(force="multiclass", model="trees(num_leaves=4)", schedule="boosting(rounds=3)"),
    }
    for name, ranker in rankers.items():
        ranker.fit(data).save(folder / f"{name}.podium")
    return {name: folder / f"{name}.podium" for name in rankers}


@pytest.mark.parametrize("name", ["trees", "categories", "symmetric", "linear", "perceptron"])
def test_scores_have_the_bits_of_python(name, in_c, saved):
    X = np.random.default_rng(2).normal(size=(400, 11)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3] * 3)
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    wanted = podium.load_scorer(saved[name]).scores(X)
    assert in_c.scores(saved[name], X).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [kind for kind, asked in KINDS.items() if asked.get("outputs", 1) == 1])
def test_any_forest_has_the_bits_of_python(kind, in_c, saved, tmp_path):
    model = random_forest(11, **KINDS[kind])
    artifact = load_artifact(saved["trees"])
    header = {name: value for name, value in artifact.header.items() if name not in ("sha256", "format")}
    header["model"] = header["model"] | {"settings": model.settings()}
    header["features"] = {"count": model.n_features, "names": None}
    arrays = {f"model.{name}": value for name, value in model.arrays().items()}
    save_artifact(tmp_path / "a.podium", Artifact(header, arrays))
    X = some_rows(model, 60)
    assert in_c.scores(tmp_path / "a.podium", X).tobytes() == model.scores(X).tobytes()


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 30])
def test_linear_models_of_any_width_have_the_bits_of_python(width, in_c, tmp_path):
    data = podium.synthetic.polynomial(queries=10, documents=8, features=width, seed=1)
    ranker = podium.RankSVM(standardize=True).fit(data)
    ranker.save(tmp_path / "a.podium")
    assert in_c.scores(tmp_path / "a.podium", data.features).tobytes() == ranker.predict(data.features).tobytes()


REFUSED = {"net": "of kind net", "normalized": "kind nadaraya-watson|inside each query", "outputs": "outputs"}


@pytest.mark.parametrize("name", REFUSED)
def test_models_of_other_kinds_are_refused(name, in_c, saved):
    with pytest.raises(ValueError, match=REFUSED[name]):
        in_c.scores(saved[name], DATA.features)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "golden" / "models").glob("*-2.podium")), ids=lambda p: p.stem
)
def test_golden_trees_and_linear_models_score_as_in_python(path, in_c):
    scorer, model = podium.load_scorer(path), load_artifact(path).header["model"]
    X = np.random.default_rng(0).normal(size=(20, scorer.model.n_features)).astype(np.float32)
    if model["name"] in ("trees", "linear") and model["settings"].get("n_outputs", 1) == 1:
        assert in_c.scores(path, X).tobytes() == scorer.scores(X).tobytes()
    else:
        with pytest.raises(ValueError, match=r"of kind|outputs"):
            in_c.scores(path, X)


def test_infinite_features_are_reported(in_c, saved):
    X = DATA.features[:3].copy()
    X[1, 2] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        in_c.scores(saved["trees"], X)


# The C scorer follows no gains or training documents, and a node with two parents still ends every walk.
NOT_READ = ("gains of another length", "documents of another length", "a node with two parents")


@pytest.mark.parametrize("what", [name for name in TAMPERED if name not in NOT_READ])
def test_an_invalid_forest_is_refused(what, in_c, saved, tmp_path):
    artifact = load_artifact(saved["categories"])
    change: Any = TAMPERED[what][0]
    header = {name: value for name, value in artifact.header.items() if name not in ("sha256", "format")}
    try:
        changed = change(artifact.arrays)
    except IndexError:
        pytest.skip("the trees are too small for this fault")
    if what == "a feature that is not there":
        changed = {"model.feature": np.full_like(artifact.arrays["model.feature"], 11)}
    save_artifact(tmp_path / "b.podium", Artifact(header, artifact.arrays | changed))
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        in_c.scores(tmp_path / "b.podium", DATA.features)


# What the header may claim: the C scorer refuses what Python refuses.
CLAIMS: dict[str, tuple[str, Any, str]] = {
    "more features than a forest may have": ("trees", {"model": {"n_features": 2**20 + 1}}, "too many features"),
    "another number of features": ("trees", {"features": {"count": 12}}, "another number of features"),
    "another number of weights": ("linear", {"features": {"count": 12}}, "another number of features"),
    "no number of features": ("trees", {"features": {"count": None}}, "the entry features of the model is damaged"),
    "features that are rescaled by no name": ("trees", {"features": {"normalize": 3}}, "rescales features"),
    "a linear model with a transfer function": ("linear", {"model": {"output": "tanh"}}, "transfer function"),
}


@pytest.mark.parametrize("what", CLAIMS)
def test_false_claims_of_a_header_are_refused(what, in_c, saved, tmp_path):
    name, changes, words = CLAIMS[what]
    artifact = load_artifact(saved[name])
    header = {name: value for name, value in artifact.header.items() if name not in ("sha256", "format")}
    header["features"] = header["features"] | changes.get("features", {})
    header["model"] = header["model"] | {"settings": header["model"]["settings"] | changes.get("model", {})}
    save_artifact(tmp_path / "c.podium", Artifact(header, artifact.arrays))
    with pytest.raises(ValueError, match=words):
        in_c.scores(tmp_path / "c.podium", DATA.features)


def test_damaged_files_are_refused_by_the_example_program(saved, tmp_path):
    """Run under the sanitizers, so that a read outside the file is seen."""
    sanitizers = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = compile_c("scorer/example.c", tmp_path / "podium-score", *sanitizers)
    rows = tmp_path / "rows.txt"
    np.savetxt(rows, DATA.features[:5], fmt="%.9g")
    whole = saved["categories"].read_bytes()
    done = subprocess.run([program, saved["categories"], rows], capture_output=True, text=True, check=True)
    wanted = podium.load_scorer(saved["categories"]).scores(DATA.features[:5])
    assert [float(line) for line in done.stdout.split()] == wanted.tolist()
    rng = np.random.default_rng(5)
    broken = [whole[:n] for n in (0, 1, 7, 8, 9, 100, 1000, len(whole) - 1)] + [whole + b"x", b"\xff" * 64]
    for _ in range(60):
        changed = bytearray(whole)
        changed[int(rng.integers(len(whole)) if rng.random() < 0.3 else rng.integers(4000))] ^= int(
            rng.integers(1, 256)
        )
        broken.append(bytes(changed))
    for damaged in broken:
        (tmp_path / "bad.podium").write_bytes(damaged)
        done = subprocess.run([program, tmp_path / "bad.podium", rows], capture_output=True, text=True)
        assert done.returncode == 1, done
        assert done.stderr.startswith(str(tmp_path / "bad.podium: ")), done.stderr


def test_the_example_program_names_what_is_wrong_with_a_line(saved, tmp_path):
    program = compile_c("scorer/example.c", tmp_path / "podium-score")
    for text, message in (("1 2 x", '"x" is not a number'), ("1 2", "line 1 has 2 features, and the model needs 11")):
        (tmp_path / "rows.txt").write_text(text + "\n")
        done = subprocess.run([program, saved["trees"], tmp_path / "rows.txt"], capture_output=True, text=True)
        assert done.returncode == 1
        assert message in done.stderr
