"""Runs and score files convert into each other, and runs that lack judged queries are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.data import RankingData, Run
from podium.errors import DataError, ParameterError


def judged() -> RankingData:
    """Rows in an order of their own, so that grouping moves them."""
    qid, documents = ["b", "a", "b", "a", "c"], ["x", "y", "z", "w", "v"]
    return RankingData(np.arange(5.0)[:, None], [1, 0, 0, 1, 1], qid, document_ids=documents)


def test_scores_and_runs_convert_into_each_other(tmp_path: Path) -> None:
    data, scores = judged(), [0.1, 2.5, -3.0, 1e-300, 7.0]
    podium.write(scores, tmp_path / "a.scores")
    podium.convert(tmp_path / "a.scores", tmp_path / "a.run", data=data)
    podium.convert(tmp_path / "a.run", tmp_path / "b.scores", data=data)
    assert podium.read_scores(tmp_path / "b.scores").tolist() == scores
    assert Run.of_scores(scores, data).scores_for(data).tolist() == scores
    with pytest.raises(ParameterError, match="is needed to turn scores into a run"):
        podium.convert(tmp_path / "a.scores", tmp_path / "c.run")


def test_rows_that_a_run_lacks_are_refused_or_scored() -> None:
    data = judged()
    run = Run.of(["a", "b", "b", "c", "c"], ["y", "x", "z", "v", "other"], [1, 2, 3, 4, 5])
    with pytest.raises(DataError, match=r"no score for document 'w' of query 'a' \(1 rows"):
        run.scores_for(data)
    assert run.scores_for(data, missing=-np.inf).tolist() == [2, 1, 3, -np.inf, 4]
    with pytest.raises(DataError, match="twice"):
        Run.of(["a", "a"], ["y", "y"], [1, 2]).scores_for(data, missing=0)
    with pytest.raises(DataError, match="the data has none; give document_ids"):
        run.scores_for(RankingData(np.zeros((1, 1)), [1], [1]))


def test_a_run_that_lacks_judged_queries_has_its_mean_both_ways() -> None:
    run = Run.of(["a", "a"], ["y", "w"], [2.0, 1.0])
    result = podium.evaluate(run, judged(), "mrr")
    assert (result.n_missing, result.mean["mrr"], result.mean_complete["mrr"]) == (2, 1 / 2, 1 / 6)
    assert result.mean_complete["mrr"] == podium.evaluate(run, judged(), "mrr", complete=True).mean["mrr"]
    assert "the run lacks 2 of 3 judged queries" in str(result)
    assert "mrr 0.5000 and 0.1667" in str(result)
    assert result.to_dict()["n_missing"] == 2
    both = podium.compare({"short": run, "whole": Run.of_scores([5, 4, 3, 2, 1], judged())}, judged(), "mrr")
    assert (both.n_missing, both.mean["short"]) == ({"short": 2, "whole": 0}, 1 / 2)
    assert both.mean_complete["short"] == 1 / 6
    assert "short lacks 2 of the judged queries: 0.5000 over the 1 queries compared, 0.1667 over all" in str(both)


def test_a_function_of_yours_counts_0_for_a_missing_query() -> None:
    first = podium.custom_metric(lambda scores, labels: 1.0, name="one", compile=False)
    result = podium.evaluate(Run.of(["a", "a"], ["y", "w"], [2.0, 1.0]), judged(), first)
    assert (result.mean["one"], result.mean_complete["one"]) == (1, 1 / 3)


def test_python_m_podium() -> None:
    done = subprocess.run([sys.executable, "-m", "podium", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"podium {podium.__version__}\n"
