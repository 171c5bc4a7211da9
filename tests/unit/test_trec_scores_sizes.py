"""TREC files, files of scores and of query sizes: what they hold, and errors that say where."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generated import small, with_everything
from limits import limited_memory
from podium import DataError, FormatError, RankingData, Run, evaluate
from podium.data import Strings
from podium.formats.scores import SCORES, read_scores, write_scores
from podium.formats.sizes import read_sizes, sizes_to_qid, write_sizes
from podium.formats.trec import QRELS, TREC_RUN, read_qrels, read_run, write_qrels, write_run

QRELS_TEXT = "# judged by hand\n301 0 a#1 1\n\n301\t0  b\t-1\n302 0 a#1 0.5\n"
RUN_TEXT = "q1 Q0 a 1 2.5 tag more junk\nq1 Q0 b 9 -1e-3 tag\nq2 Q0 a 1 inf tag\n"


def write(folder: Path, text: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_qrels(tmp_path: Path, ends: str, packed: bool) -> None:
    raw = QRELS_TEXT.replace("\n", ends).encode()
    data = read_qrels(write(tmp_path, gzip.compress(raw) if packed else raw))
    assert data.query_ids.tolist() == [301, 302]
    assert data.query_ids.dtype == np.int64
    assert list(data.document_ids or []) == ["a#1", "b", "a#1"]
    assert data.labels.tolist() == [1, -1, 0.5]
    assert data.n_features == 0


def test_run(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, "#note\n" + RUN_TEXT.rstrip()))
    assert run.query_ids.tolist() == ["q1", "q1", "q2"]
    assert list(run.document_ids) == ["a", "b", "a"]
    assert run.scores.tolist() == [2.5, -1e-3, float("inf")]
    assert run.tag == "tag"


@pytest.mark.parametrize(
    ("change", "line", "column", "message"),
    [
        (("0  b\t-1", "0 b"), 4, None, r"3 words, '301\\t0 b'; it must read 'query 0 document judgment'"),
        (("b\t-1", "b c -1"), 4, None, "5 words"),
        (("-1", "bad"), 4, 10, "the judgment is 'bad'; it must be a number"),
        (("-1", "nan"), 4, 10, "the judgment is 'nan'"),
        (("-1", "inf"), 4, 10, "the judgment is 'inf'"),
        (("-1", "1_0"), 4, 10, "the judgment is '1_0'"),
        (("-1", "9" * 70), 4, 10, "must be a number"),
        (("b\t", "a#1\t"), 4, None, "query and document '301 a#1' is in line 2 already"),
    ],
    ids=str,
)
def test_qrels_errors(tmp_path: Path, change: tuple[str, str], line: int, column: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_qrels(write(tmp_path, QRELS_TEXT.replace(*change)))
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("change", "line", "column", "message"),
    [
        ((" inf tag", " inf"), 3, None, "5 words, 'q2 Q0 a 1 inf'; it must read 'query Q0 document rank score tag'"),
        (("inf", "nan"), 3, 11, "the score is 'nan'"),
        (("-1e-3", "high"), 2, 11, "the score is 'high'; it must be a number"),
        (("q1 Q0 b", "q1 Q0 a"), 2, None, "'q1 a' is in line 1 already; remove one of the two"),
    ],
    ids=str,
)
def test_run_errors(tmp_path: Path, change: tuple[str, str], line: int, column: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_run(write(tmp_path, RUN_TEXT.replace(*change)))
    assert (caught.value.line, caught.value.column) == (line, column)


def test_only_comments(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="only blank lines and comments"):
        read_qrels(write(tmp_path, "# nothing\n\n"))


def test_rank_written_is_by_score_inside_the_query(tmp_path: Path) -> None:
    run = Run(np.array([2, 1, 2, 1, 2]), Strings.of("abcde"), np.array([0.5, 1.0, 2.0, 3.0, 2.0]), tag="t")
    write_run(run, tmp_path / "x.run")
    expected = ["2 Q0 a 3 0.5 t", "1 Q0 b 2 1.0 t", "2 Q0 c 1 2.0 t", "1 Q0 d 1 3.0 t", "2 Q0 e 2 2.0 t"]
    assert (tmp_path / "x.run").read_text().splitlines() == expected


def test_run_of_scores_in_the_callers_order() -> None:
    run = Run.of_scores([0.0, 1.0, 2.0, 3.0, 4.0], with_everything(), tag="mine")
    assert dict(zip(run.document_ids, run.scores, strict=True)) == {f"d{k}": float(k) for k in range(5)}
    assert run.query_ids.tolist() == ["b", "a", "b", "a", "a"]
    with pytest.raises(DataError, match=r"score of document 'd0' for query 'b' .* is nan"):
        Run.of_scores([np.nan] * 5, with_everything())
    with pytest.raises(DataError, match="the data has none; give document_ids"):
        Run.of_scores([0.0] * 5, small())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "the data has none; give document_ids"),
        ({"document_ids": ["a b", "c", "d", "e", "f"]}, "document id 'a b' cannot be written to a TREC file"),
        ({"document_ids": ["", "c", "d", "e", "f"]}, "document id '' cannot be written"),
        ({"document_ids": list("abcde"), "qid": ["#1", "a", "a", "a", "a"]}, "query id '#1' cannot be written"),
    ],
    ids=str,
)
def test_qrels_that_cannot_be_written(tmp_path: Path, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_qrels(small(**parts), tmp_path / "x.qrels")
    assert not list(tmp_path.iterdir())


def test_trec_evals_own_files(data_dir: Path) -> None:
    folder = data_dir / "trec_eval"
    qrels = read_qrels(folder / "qrels.test")
    assert (qrels.n_queries, qrels.n_documents) == (3, 3681)
    commented = read_qrels(folder / "qrels.test.with-comments")
    assert commented.labels.tolist() == qrels.labels.tolist()
    assert "CR#93E-1860" in list(commented.document_ids or [])
    assert read_qrels(folder / "qrels.comment.test").n_documents == 5890
    for name, rows in (("results.test", 1500), ("results.trunc", 584), ("results.comment.test", 30_100)):
        lines = [line.split() for line in (folder / name).read_text().splitlines()]
        run = read_run(folder / name)
        assert len(run) == rows == len(lines)
        assert list(run.document_ids) == [words[2] for words in lines]
        assert run.scores.tolist() == [float(words[4]) for words in lines]
        assert TREC_RUN.looks_like((folder / name).read_bytes()[: 1 << 16])
        assert not QRELS.looks_like((folder / name).read_bytes()[: 1 << 16])
    with pytest.raises(FormatError, match=r"qrels.123:4975: query and document '301 FT934-10543' is in line 1294"):
        read_qrels(folder / "qrels.123")


def test_real_scores_and_sizes(data_dir: Path) -> None:
    path = data_dir / "letor-ohsumed-baselines" / "OHSUMED" / "RankBoost" / "Fold1.test.score"
    assert read_scores(path).tolist() == [float(line) for line in path.read_text().split()]
    assert SCORES.looks_like(path.read_bytes()[: 1 << 16])
    sizes = read_sizes(data_dir / "lightgbm-lambdarank" / "rank.train.query")
    assert (len(sizes), sizes.sum(), sizes.min()) == (201, 3005, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1\n2 3\n", 2, "2 words, '2 3'; it must read 'score'"),
        ("1\nx\n", 2, "the score is 'x'; it must be a number"),
        ("1\nNaN\n", 2, "the score is 'NaN'"),
        ("1\n\n2\n", 2, "the line is blank; give one score per line"),
        ("\n1\n", 1, "the line is blank"),
        ("\n \n", None, "the file is empty"),
    ],
)
def test_scores_errors(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_scores(write(tmp_path, text))
    assert caught.value.line == line


def test_scores(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = write(tmp_path, " 1\r\n-2.5e3 \r\n\r\n")
    assert read_scores(path, progress=lambda done, total: seen.append((done, total))).tolist() == [1, -2500]
    assert seen == [(path.stat().st_size, path.stat().st_size)]
    for bad, message in (([1.0, np.nan], "score 1 is NaN"), ([[1.0]], r"shape \(1, 1\)"), ([], r"shape \(0,\)")):
        with pytest.raises(DataError, match=message):
            write_scores(bad, tmp_path / "out")


@pytest.mark.parametrize("text", ["3\n0\n", "3\n-1\n", "3\n1.5\n", "3\n1e300\n"])
def test_sizes_errors(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="it must be a whole number of at least 1") as caught:
        read_sizes(write(tmp_path, text))
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_sizes(tmp_path: Path) -> None:
    assert sizes_to_qid([2, 1], 3).tolist() == [0, 0, 1]
    with pytest.raises(DataError, match="the query sizes sum to 3 and there are 4 rows"):
        sizes_to_qid([2, 1], 4)
    with pytest.raises(DataError, match="query size -1 must be at least 1"):
        sizes_to_qid([5, -1], 4)
    with pytest.raises(DataError, match="are not together"):
        write_sizes(small(), tmp_path / "x.query")
    write_sizes(RankingData(np.zeros((3, 1)), np.zeros(3), list("aab")), tmp_path / "x.query")
    assert (tmp_path / "x.query").read_text() == "2\n1\n"


@pytest.mark.parametrize("word", [0, 2], ids=["query", "document"])
def test_one_long_id_is_refused_in_little_memory(tmp_path: Path, word: int) -> None:
    rows = [["1", "0", f"d{k}", "1"] for k in range(20_000)]
    rows[7][word] = "x" * 200_000
    path = write(tmp_path, "".join(" ".join(row) + "\n" for row in rows))
    with limited_memory(400), pytest.raises(FormatError, match=r"id 'x+…' has 200000 bytes; at most 4096 .* shorten"):
        read_qrels(path)


def test_the_longest_ids_take_no_more_memory_than_their_text(tmp_path: Path) -> None:
    rows = [[str(k // 10), "Q0", f"d{k}", "1", str(-k), "t"] for k in range(200_000)]
    rows[11][2], rows[12][2] = "x" * 4096, "x" * 4095 + "y"
    rows[13][0] = "q" * 4096
    text = "".join(" ".join(row) + "\n" for row in rows)
    with limited_memory(700):  # 200,000 × 4096 would be 781 MiB, as NumPy's text 3 GiB
        run = read_run(write(tmp_path, text))
    assert run.document_ids[11] == "x" * 4096
    assert run.query_ids[[12, 13, 14]].tolist() == ["1", "q" * 4096, "1"]
    judged = RankingData(np.zeros((2, 0)), [1, 1], ["1", "1"], document_ids=["d14", "x" * 4096])
    with limited_memory(700):
        assert evaluate(run, judged, "p@3").per_query["p@3"].tolist() == [1 / 3]
        write_run(run, tmp_path / "again.run")
    rows[12][2] = rows[11][2]
    with pytest.raises(FormatError, match="is in line 12 already"):
        read_run(write(tmp_path, "".join(" ".join(row) + "\n" for row in rows)))


def test_nul_in_a_query_id_of_a_file(tmp_path: Path) -> None:
    text = "q 0 d 1\n" * 1 + "".join(f"{k} 0 d 1\n" for k in range(20_000)) + "a\0 0 d 1\n"
    with pytest.raises(FormatError, match=r"query id 'a\\x00' holds a NUL") as caught:
        read_qrels(write(tmp_path, text))
    assert caught.value.line == 20_002


def test_queries_whose_ids_print_the_same_are_not_written_as_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two query ids print the same text"):
        write_run(Run([1, "1"], ["a", "b"], [1, 2]), tmp_path / "x.run")
    with pytest.raises(DataError, match="two query ids print the same text"):
        write_qrels(RankingData(np.zeros((2, 0)), [1, 1], [1, "1"], document_ids=["a", "b"]), tmp_path / "x.qrels")
    assert not list(tmp_path.iterdir())


def test_scores_that_are_not_real_numbers_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="complex128 is not a real number"):
        write_scores([1j], tmp_path / "x.scores")
