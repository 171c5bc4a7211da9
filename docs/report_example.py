"""Makes the example of the page about reports: two models on OHSUMED.

    PODIUM_DATA=DATA python docs/report_example.py    # `make docs` does it if the data is at hand

The models are trained and the report is made by the commands that docs/report.md shows, in an empty folder, so that the page
holds no path of this machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from examples import as_process

DOCS = Path(__file__).parent
OUT = DOCS / "reports" / "ohsumed.html"
FOLD = Path("ohsumed", "QueryLevelNorm", "Fold1")
COMMANDS = (
    "train train.txt --valid vali.txt --ranker lambdamart --metric ndcg@10 --out lambdamart.podium",
    "train train.txt --valid vali.txt --ranker ranknet --metric ndcg@10 --out ranknet.podium",
    "report lambdamart.podium ranknet.podium test.txt --out report.html",
)


def make_example(data: Path) -> bytes:
    """Return the report that the commands make of the data sets in a folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("train.txt", "vali.txt", "test.txt"):
            shutil.copy(data / FOLD / name, name)
        for command in COMMANDS:
            as_process(command.split())
        return Path("report.html").read_bytes()


if __name__ == "__main__":
    if "PODIUM_DATA" in os.environ:
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_bytes(make_example(Path(os.environ["PODIUM_DATA"])))
    else:
        print(f"{OUT.name} stays as it is, because PODIUM_DATA is not set")
