"""Smoke test of an installed wheel: train, score, evaluate and explain, from Python and from the command line.

    make wheel        (or, with the Python of an environment that holds nothing but the wheel: python smoke.py)

The script is not a pytest module, because the environment it runs in has no pytest. It runs in a new temporary folder,
so that the package can only come from the environment, and it refuses to run where a compiler could be found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja")


def check_environment() -> None:
    """No compiler can be found, and the package is the installed one."""
    found = [name for name in COMPILERS if shutil.which(name)]
    assert not found, f"these must not be on PATH: {', '.join(found)}"
    import podium

    installed = Path(sysconfig.get_path("platlib")).resolve()
    assert installed in Path(podium.__file__).resolve().parents, f"podium comes from {podium.__file__}"


def check_python() -> None:
    """Train, save, load, predict and evaluate in Python."""
    import podium

    data = podium.synthetic.network(queries=120, documents=20, features=10, seed=7)
    train, valid, test = podium.split(data, (0.6, 0.2, 0.2))
    ranker = podium.LambdaMART(metric="ndcg@10", n_estimators=30).fit(train, valid=valid)
    scores = ranker.predict(test)
    value = podium.evaluate(scores, test, "ndcg@10").mean["ndcg@10"]
    at_random = podium.evaluate(0 * scores, test, "ndcg(ties='average')@10")
    assert value > max(at_random.mean.values()) + 0.1, f"NDCG@10 is {value:.3f}: nothing was learned"
    ranker.save("python.podium")
    assert (podium.load("python.podium").predict(test) == scores).all()
    net = podium.RankNet(epochs=3).fit(train, valid=valid)
    print(f"python        LambdaMART {value:.4f}, RankNet {net.score(test):.4f}")


def podium_command(*words: str) -> str:
    """Run the installed command and return what it prints."""
    command = Path(sys.executable).parent / "podium"
    done = subprocess.run([command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"podium {' '.join(words)} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def check_command_line() -> None:
    """The same in a terminal."""
    podium_command(
        "data", "synth", "network", "judged.txt", "--queries", "120", "--documents", "20", "--features", "10"
    )
    podium_command("data", "split", "judged.txt", "parts", "--shares", "0.6,0.2,0.2")
    trained = ["parts/train.txt", "--valid", "parts/vali.txt", "--ranker", "lambdamart", "--n-estimators", "30"]
    podium_command("train", *trained, "--out", "cli.podium")
    podium_command("score", "cli.podium", "parts/test.txt", "--out", "cli.scores")
    by_model = json.loads(podium_command("evaluate", "cli.podium", "parts/test.txt", "-m", "ndcg@10", "--json"))
    by_scores = json.loads(podium_command("evaluate", "cli.scores", "parts/test.txt", "-m", "ndcg@10", "--json"))
    assert by_model["metrics"] == by_scores["metrics"], "the model and its scores are judged differently"
    assert "f" in podium_command("explain", "cli.podium")
    podium_command("report", "cli.podium", "parts/test.txt", "--out", "cli.html")
    assert "There is no chart, because" in Path("cli.html").read_text(), "charts were drawn without the extra"
    print("command line  synth, split, train, score, evaluate, explain, report")


def check_studio() -> None:
    """The pages of the studio are installed, and the command says which extra it needs."""
    import podium

    pages = Path(podium.__file__).parent / "studio" / "pages"
    source = Path(__file__).resolve().parents[2] / "src" / "podium" / "studio" / "pages"
    installed = {path.name: path.read_bytes() for path in pages.iterdir()}
    assert installed == {path.name: path.read_bytes() for path in source.iterdir()}, f"pages missing in {pages}"
    command = [Path(sys.executable).parent / "podium", "studio"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "pip install 'podium[serve]'" in done.stderr, done.stderr
    print(f"studio        {len(installed)} files")


def main() -> None:
    """Run every check in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_environment()
        check_python()
        check_command_line()
        check_studio()
        os.chdir("/")
    print("The wheel works.")


if __name__ == "__main__":
    main()
