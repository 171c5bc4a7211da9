"""Every file format gives back what was written: same parts, same types, same bits, same order."""

from __future__ import annotations

import contextlib
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generated import assert_same, ranking_data, with_everything
from podium import DataError, FormatError, RankingData, Run
from podium.data import Strings
from podium.formats import FORMATS, read, write
from podium.formats.arrow import ARROW, PARQUET
from podium.formats.cache import CACHE
from podium.formats.delimited import CSV, TSV
from podium.formats.format import Format
from podium.formats.frames import from_frame, to_frame
from podium.formats.letor import LETOR
from podium.formats.scores import SCORES, read_scores, write_scores
from podium.formats.sizes import read_sizes, sizes_to_qid, write_sizes
from podium.formats.trec import QRELS, TREC_RUN, read_run, write_run

TABLES = [CSV, TSV, PARQUET, ARROW]
EXACT = [LETOR, CACHE, *TABLES, QRELS, TREC_RUN, SCORES]
TEXT = [CSV, TSV, QRELS, TREC_RUN, SCORES]
EVERY = [*TABLES, QRELS, TREC_RUN, SCORES]
FAST = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


GOOD = {
    "csv": b"label,qid\n",
    "tsv": b"label\tqid\n",
    "qrels": b"1 0 a 1\n",
    "trec-run": b"1 Q0 a 1 2 t\n",
    "scores": b"1\n",
}


def by_name(formats: list[Format]) -> Any:
    return pytest.mark.parametrize("form", formats, ids=lambda form: form.name)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_format_of_the_table_reads_back_what_it_writes(name: str, suffix: str, tmp_path: Path) -> None:
    data = RankingData([[1.5], [-2], [0.1]], [1, 0, 2], [7, 7, 8], document_ids=["a", "b", "c"])
    run, path = Run([7, 7, 8], ["a", "b", "c"], [2.0, -1.5, 0.25]), tmp_path / f"file{suffix}"
    form = FORMATS[name]
    write({"data": data, "run": run, "scores": np.array([2.0, -1.5, 0.25])}[form.holds], path, format=name)
    found = form.read(path, num_threads=1, progress=None)
    if form.holds == "scores":
        assert found.tolist() == [2.0, -1.5, 0.25]
    elif form.holds == "run":
        assert (found.query_ids.tolist(), found.scores.tolist()) == ([7, 7, 8], [2.0, -1.5, 0.25])
    else:
        assert found.labels.tolist() == [1, 0, 2]
        assert [str(query) for query in found.qid] == ["7", "7", "8"]
        assert found.n_features in (0, 1)
        np.testing.assert_array_equal(found.features, data.features[:, : found.n_features])


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_table_refuses_what_it_cannot_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x00\xff neither text nor a table\n")
    with pytest.raises(DataError, match="file"):
        FORMATS[name].read(path, num_threads=1, progress=None)


@FAST
@given(data=ranking_data())
def test_cache(data: Any, tmp_path: Path) -> None:
    write(data, tmp_path / "data.podium-data")
    assert_same(read(tmp_path / "data.podium-data"), data)


@FAST
@given(data=ranking_data(words=True), sparse=st.booleans())
def test_letor(data: Any, sparse: bool, tmp_path: Path) -> None:
    bare = data.replace(document_weights=None, query_weights=None, feature_names=None)
    for name in ("data.letor", "data.letor.gz"):
        write(bare, tmp_path / name, sparse=sparse)
        back = read(tmp_path / name, scattered="group", n_features=bare.n_features, index_base=1)
        without_ids = bare.document_ids is not None and not any(bare.document_ids)
        assert back.absent_value == 0  # of sparse text the last features may be missing
        assert_same(back, bare, apart_from=("absent_value", "document_ids") if without_ids else ("absent_value",))


@by_name(TABLES)
@FAST
@given(data=ranking_data())
def test_table(form: Format, data: Any, tmp_path: Path) -> None:
    for suffix in form.suffixes[:2]:
        path = tmp_path / f"table{suffix}"
        form.write(data, path)
        assert_same(form.read(path, num_threads=1), data)


@by_name([CSV, TSV])
@FAST
@given(data=ranking_data())
def test_text_table_without_pyarrow(form: Format, data: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path / "table"
        form.write(data, path)
        patch.setitem(sys.modules, "pyarrow", None)
        assert_same(form.read(path), data)
        form.write(data, path)
        assert_same(form.read(path), data)
    assert_same(form.read(path), data)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@FAST
@given(data=ranking_data())
def test_frame(library: str, data: Any) -> None:
    assert_same(from_frame(to_frame(data, library)), data)


@FAST
@given(data=ranking_data(words=True, n_features=0, ids=True))
def test_qrels(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "judgments.qrels"
    data = data.replace(document_weights=None, query_weights=None)
    QRELS.write(data, path)
    assert_same(QRELS.read(path), data)


@FAST
@given(data=ranking_data(words=True, ids=True), scores=st.data())
def test_run(data: Any, scores: Any, tmp_path: Path) -> None:
    values = scores.draw(
        st.lists(st.floats(allow_nan=False), min_size=data.n_documents, max_size=data.n_documents), "scores"
    )
    run = Run(data.qid, data.document_ids, np.array(values), tag="mine")
    path = tmp_path / "system.run.gz"
    write_run(run, path)
    back = read_run(path)
    assert back.query_ids.tolist() == run.query_ids.tolist()
    assert list(back.document_ids) == list(run.document_ids)
    assert back.scores.tobytes() == run.scores.tobytes()
    assert back.tag == "mine"


@FAST
@given(scores=st.lists(st.floats(allow_nan=False), min_size=1))
def test_scores(scores: list[float], tmp_path: Path) -> None:
    path = tmp_path / "model.scores"
    write_scores(scores, path)
    assert read_scores(path).tobytes() == np.array(scores).tobytes()


@FAST
@given(sizes=st.lists(st.integers(1, 4), min_size=1))
def test_sizes(sizes: list[int], tmp_path: Path) -> None:
    rows = sum(sizes)
    data = RankingData(np.zeros((rows, 1)), np.zeros(rows), sizes_to_qid(sizes, rows))
    path = tmp_path / "data.query"
    write_sizes(data, path)
    assert read_sizes(path).tolist() == sizes


@by_name(TABLES)
def test_pairs_have_no_place_in_a_table(form: Format, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no place for preference pairs"):
        form.write(with_everything(), tmp_path / "table")
    assert not list(tmp_path.iterdir())


@by_name(EVERY)
def test_no_file(form: Format, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent: there is no such file"):
        form.read(tmp_path / "absent")


@by_name(EVERY)
def test_directory(form: Format, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a directory"):
        form.read(tmp_path)


@by_name(EVERY)
def test_empty_file(form: Format, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty"):
        form.read(tmp_path / "empty")


@by_name(EVERY)
def test_rubbish(form: Format, tmp_path: Path) -> None:
    (tmp_path / "rubbish").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(FormatError, match=r"binary, not text|not of this format"):
        form.read(tmp_path / "rubbish")


@by_name(EVERY)
@FAST
@given(head=st.binary(max_size=200))
def test_any_bytes_never_crash(form: Format, head: bytes, tmp_path: Path) -> None:
    form.looks_like(head)
    path = tmp_path / "bytes"
    path.write_bytes(head)
    with contextlib.suppress(FormatError):
        form.read(path)


@by_name(TEXT)
def test_truncated_gzip(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(GOOD[form.name] * 20_000)[:-30])
    with pytest.raises(FormatError, match="damaged or cut short"):
        form.read(path)


@by_name(TEXT)
def test_bad_utf8_says_line_and_column(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "latin1"
    path.write_bytes(GOOD[form.name] + b"12 3\xff\n")
    with pytest.raises(FormatError, match="byte 0xff is not UTF-8; save the file as UTF-8") as caught:
        form.read(path)
    assert (caught.value.line, caught.value.column) == (2, 5)


def test_each_text_format_knows_its_own(tmp_path: Path) -> None:
    data = with_everything().replace(pairs=None)
    run = Run(data.qid, Strings.of(data.document_ids or []), np.arange(5.0))
    values = {"csv": data, "tsv": data, "qrels": data, "trec-run": run, "scores": [1.0, 2.0]}
    for form in TEXT:
        form.write(values[form.name], tmp_path / form.name)
        head = (tmp_path / form.name).read_bytes()
        assert [other.name for other in TEXT if other.looks_like(head)] == [form.name]
