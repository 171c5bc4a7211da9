"""Draws the figures that `podium papers` found anew and puts its tables into the pages of docs/reproduced.

    python docs/reproduced.py        # `make docs` does it, and `make papers` after the experiments have run

An experiment's folder docs/reproduced/NAME holds its results and what is made of them, a report and plots; the cells stay
out of the repository. A page has the report between its markers.
"""

from __future__ import annotations

import re
from pathlib import Path

from podium.papers.running import write_report

FOLDER = Path(__file__).parent / "reproduced"
BETWEEN = re.compile(r"(<!-- (?P<name>[\w-]+): begin -->\n).*?(<!-- (?P=name): end -->)", re.DOTALL)


def report(name: str) -> str:
    """What the command wrote of an experiment, without its title, and with plots found from the page."""
    path = FOLDER / name / "report.md"
    if not path.is_file():
        return f"*Not run yet: `podium papers run {name}`.*"
    body = path.read_text().split("\n\n", 2)[2].strip()
    return re.sub(r"\]\((?=[\w-]+\.svg\))", f"]({name}/", body)


def filled(text: str) -> str:
    """A page with its reports in place."""
    return BETWEEN.sub(lambda found: f"{found[1]}\n{report(found['name'])}\n\n{found[3]}", text)


if __name__ == "__main__":
    for results in sorted(FOLDER.glob("*/results.json")):
        write_report(results.parent)
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(filled(page.read_text()))
