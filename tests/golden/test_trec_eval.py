"""trec_eval's own tests: every command line whose measures we have must give its expected output, to its 4 decimals."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from podium.evaluation import evaluate
from podium.formats.trec import read_qrels, read_run
from podium.metrics import metric

# What the command lines of COMMANDS.txt leave for us: the measures named here, and no others.
COVERED = {"map", "map_cut", "P", "recall", "recip_rank", "bpref", "ndcg", "ndcg_cut"}
OUTPUTS = [
    "out.test",
    "out.comment.test",
    "out.test.a",
    "out.test.aq",
    "out.test.aqc",
    "out.test.aqcM",
    "out.test.aql",
    "out.test.meas_params",
]


@dataclass
class Command:
    """One command line of trec_eval and the file it must print."""

    qrels: str
    run: str
    output: str
    complete: bool = False
    max_documents: int | None = None
    rel: int = 1
    gains: dict[str, str] = field(default_factory=dict)


def parse_command(line: str) -> Command | None:
    """Return the command of a line; None if it asks for preferences or z-scores, which other programs compute."""
    words = shlex.split(line.split("|")[0])[1:]
    files = [Path(word).name for word in words if word.startswith("test/")]
    if "-R" in words or "-Z" in words:
        return None
    command = Command(*files[-2:], Path(line.rsplit(maxsplit=1)[-1]).name)
    for word in words:
        if word == "-c":
            command.complete = True
        elif re.fullmatch(r"-M\d+", word):
            command.max_documents = int(word[2:])
        elif re.fullmatch(r"-l\d+", word):
            command.rel = int(word[2:])
    return command


def metric_of(measure: str, rel: int) -> str | None:
    """Return our name of one of trec_eval's measures; None if we have no such metric."""
    name, _, parameter = measure.partition("_") if not measure.startswith("recip") else (measure, "", "")
    level = f"(rel={rel})" if rel != 1 else ""
    if measure in ("map", "bpref"):
        return f"{measure}{level}"
    if measure == "recip_rank":
        return f"mrr{level}"
    if measure == "ndcg":
        return "ndcg"
    if match := re.fullmatch(r"(map|ndcg)_cut_(\d+)", measure):
        return f"{match[1]}{level if match[1] == 'map' else ''}@{match[2]}"
    if re.fullmatch(r"(P|recall)_\d+", measure):
        return f"{name.lower()}{level}@{parameter}"
    if measure.startswith("ndcg_") and "=" in measure:
        gains = {int(k): float(v) for k, v in (pair.split("=") for pair in measure[5:].split(","))}
        table = tuple(gains.get(level, float(level)) for level in range(5))
        return f"ndcg(gain={table})"
    return None


def rows_of(path: Path) -> list[list[str]]:
    lines = path.read_text().splitlines()
    return [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def commands(folder: Path) -> dict[str, list[Command]]:
    found: dict[str, list[Command]] = {}
    for line in (folder / "COMMANDS.txt").read_text().splitlines():
        if line.strip() and (command := parse_command(line)) is not None:
            found.setdefault(command.output, []).append(command)
    return found


def test_every_command_line_is_covered(data_dir: Path) -> None:
    assert set(commands(data_dir / "trec_eval")) == set(OUTPUTS)


@pytest.mark.parametrize("output", OUTPUTS)
def test_expected_output(data_dir: Path, output: str) -> None:
    folder = data_dir / "trec_eval"
    for command in commands(folder)[output]:
        expected = [row for row in rows_of(folder / output) if len(row) == 3]
        names = {row[0]: metric_of(row[0], command.rel) for row in expected}
        ours = {measure: name for measure, name in names.items() if name is not None}
        assert {re.sub(r"_[\d.,=]+$", "", measure) for measure in ours} <= COVERED
        assert len(ours) >= 4
        result = evaluate(
            read_run(folder / command.run),
            read_qrels(folder / command.qrels),
            list(ours.values()),
            complete=command.complete,
            max_documents=command.max_documents,
        )
        position = {str(query): k for k, query in enumerate(result.query_ids)}
        compared = 0
        for measure, query, value in expected:
            if measure not in ours:
                continue
            name = ours[measure]
            found = result.mean[name] if query == "all" else result.per_query[name][position[query]]
            assert found == pytest.approx(float(value), abs=0.5000001e-4), (command, measure, query)
            compared += 1
        assert compared >= len(ours)


def test_measure_names() -> None:
    assert metric_of("ndcg_1=3,2=9,4=4.5", 1) == "ndcg(gain=(0.0, 3.0, 9.0, 3.0, 4.5))"
    assert str(metric(metric_of("P_10", 2) or "")) == "p(rel=2)@10"
    assert metric_of("success_5", 1) is None
