"""LETOR text: equal to the naive reader, exact in round trips, with errors that name file, line and column."""

from __future__ import annotations

import base64
import gzip
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import podium
from podium import _core
from podium.formats import letor
from podium.formats.letor import read_letor, write_letor

sys.path.insert(0, str(Path(__file__).parents[1]))
import naive_letor

ODDITIES = [
    base64.b64decode(line) for line in (Path(__file__).parents[1] / "golden" / "letor_oddities.txt").read_text().split()
]


def through_core(text: bytes, max_index: int) -> naive_letor.Naive:
    """Return what the core reads from the text, in the form of the naive reader."""
    naive = naive_letor.Naive()
    lines = 0
    for block in _core.parse_letor(text.removeprefix(b"\xef\xbb\xbf"), 0.0, max_index, True, True, 1):
        if block.fault:
            raise naive_letor.BadLineError(lines + block.fault_line + 1)
        lines += block.lines
        naive.labels += block.labels.tolist()
        for run in block.queries:
            naive.qids += [run.id] * run.rows
        if not block.has_qid:
            naive.qids += [None] * block.rows
        ends = [0, *block.comment_ends.tolist()] if len(block.comment_ends) else [0] * (block.rows + 1)
        naive.ids += [block.comments[a:b].decode() for a, b in itertools.pairwise(ends)]
        width = block.max_index + 1 if block.min_index <= block.max_index else 0
        features = np.empty((block.rows, width), np.float32)
        _core.fill_features([block], features, 0, 0, 0.0, 1)
        naive.rows += [dict(enumerate(row)) for row in features.tolist()]
    return naive


def outcome(parser, text: bytes, max_index: int) -> naive_letor.Naive | int:
    """Return what a parser reads, or the number of the line it refuses."""
    try:
        return parser(text, max_index)
    except naive_letor.BadLineError as bad:
        return bad.line


def assert_same(text: bytes, max_index: int = 4095) -> None:
    expected = outcome(naive_letor.parse, text, max_index)
    found = outcome(through_core, text, max_index)
    if isinstance(expected, int):
        assert found == expected, "both must refuse the same line"
        return
    assert (found.labels, found.qids, found.ids) == (expected.labels, expected.qids, expected.ids)
    for got, row in zip(found.rows, expected.rows, strict=True):
        dense = dict.fromkeys(got, 0.0) | row
        np.testing.assert_array_equal([got[k] for k in sorted(got)], [dense[k] for k in sorted(dense)])


@pytest.mark.parametrize("text", ODDITIES, ids=range(len(ODDITIES)))
def test_oddities_found_by_fuzzing_equal_the_naive_twin(text):
    assert_same(text)


number = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: repr(float(np.float32(x)))),
    st.from_regex(r"-?[0-9]{1,12}(\.[0-9]{0,12})?(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["nan", "NULL", "-0", "1e39", "inf", "1e-60", "", ".5", "5.", "+3", "0x1"]),
)
line = st.builds(
    lambda label, qid, entries, comment, space, end: f"{label}{space}{qid}{space.join(['', *entries])}{comment}{end}",
    st.sampled_from(["0", "1", "2.5", "-1", "nan", "", "x"]),
    st.sampled_from(["qid:1", "qid:1", "qid:b", "qid:", ""]),
    st.lists(
        st.builds("{}:{}".format, st.sampled_from(["1", "2", "3", "7", "0", "-1", "99999", ""]), number), max_size=5
    ),
    st.sampled_from(["", "#", " # docid = d1", "# two words ", " #docid=x y"]),
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(line, max_size=6).map("".join))
def test_random_lines_equal_the_naive_twin(text):
    assert_same(text.encode())


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_like_the_naive_twin(text):
    assert_same(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_every_float32_reads_back_from_its_shortest_decimal(values):
    expected = np.array(values, np.float32)
    text = "0 qid:1 " + " ".join(f"{i}:{v!s}" for i, v in enumerate(expected)) + "\n"
    row = through_core(text.encode(), 100).rows[0]
    assert np.array([row[i] for i in range(len(expected))], np.float32).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("decimal", "bits"),
    [
        # Just above, at and just below the middle of 1 and its successor: reading through a double would lose the tail.
        ("1.00000005960464477540", 0x3F800001),
        ("1.00000005960464477539", 0x3F800000),
        ("1.0000000596046447753906250", 0x3F800000),
        ("1.00000005960464477539062500000000000001", 0x3F800001),
        ("1.401298464324817e-45", 0x00000001),
        ("7.006492321624085e-46", 0x00000000),
        ("3.4028235e38", 0x7F7FFFFF),
        ("1e-400", 0x00000000),
        ("0.00000000000000000000000000000000000000000000000000000000001", 0x00000000),
        ("-0", 0x80000000),
        ("16777217", 0x4B800000),
        (f"{'9' * 30}e-30", 0x3F800000),
        (f"0.{'0' * 50}1e51", 0x3F800000),
        (f"0.{'0' * 50}1e5", 0x00000000),
    ],
)
def test_decimals_are_rounded_once(decimal, bits):
    row = through_core(f"0 qid:1 0:{decimal}\n".encode(), 100).rows[0]
    assert np.float32(row[0]).view(np.uint32) == bits


def write_lines(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def test_reads_sparse_lines_crlf_comments_and_missing_values(tmp_path):
    file = write_lines(
        tmp_path / "a.txt",
        "# header",
        "2 qid:7 1:0.5 3:NULL # docid = x9",
        "0 qid:7 2:1e-2",
        "",
        "1 qid:8 3:nan #docid = y extra = 1",
        end="\r\n",
    )
    data = podium.read(file)
    nan = np.nan
    np.testing.assert_array_equal(data.features, np.array([[0.5, 0, nan], [0, 0.01, 0], [0, 0, nan]], np.float32))
    assert data.labels.tolist() == [2, 0, 1]
    assert data.query_ids.tolist() == [7, 8]
    assert list(data.document_ids) == ["x9", "", "y"]


def test_absent_may_mean_missing(tmp_path):
    data = podium.read(write_lines(tmp_path / "a.txt", "1 qid:1 1:5", "0 qid:1 2:6"), absent="missing")
    np.testing.assert_array_equal(data.features, [[5, np.nan], [np.nan, 6]])


def test_index_base_is_found_or_given(tmp_path):
    zero = write_lines(tmp_path / "zero.txt", "1 qid:1 1:5", "0 qid:1 0:6")
    assert podium.read(zero).features.tolist() == [[0, 5], [6, 0]]
    one = write_lines(tmp_path / "one.txt", "1 qid:1 1:5", "0 qid:1 2:6")
    assert podium.read(one).features.tolist() == [[5, 0], [0, 6]]
    assert podium.read(one, index_base=0).features.tolist() == [[0, 5, 0], [0, 0, 6]]
    with pytest.raises(podium.FormatError, match="index_base=0"):
        podium.read(zero, index_base=1)


def test_query_ids_are_numbers_only_where_all_are(tmp_path):
    assert podium.read(write_lines(tmp_path / "a.txt", "1 qid:10 1:5", "0 qid:2 1:6")).query_ids.tolist() == [10, 2]
    assert podium.read(write_lines(tmp_path / "b.txt", "1 qid:01 1:5", "0 qid:2 1:6")).query_ids.tolist() == ["01", "2"]


def test_a_query_in_two_places_is_refused_or_grouped(tmp_path):
    file = write_lines(tmp_path / "a.txt", "1 qid:1 1:5", "2 qid:2 1:6", "3 qid:1 1:7")
    with pytest.raises(
        podium.FormatError, match=r"a.txt:3: query 1 begins again here; its first rows are at line 1.*scattered='group'"
    ):
        podium.read(file)
    data = podium.read(file, scattered="group")
    assert data.labels.tolist() == [1, 3, 2]
    assert data.to_caller_order(data.labels).tolist() == [1, 2, 3]


BAD_LINES = [
    ("x qid:1 1:5", 1, "'x', expected a label"),
    ("\x89PNG\x0d", 1, "expected a label"),
    ("1 qid: 1:5", 3, "no query id after"),
    ("1 1:5", 3, "every line must"),
    ("1 qid:1 1:5 qid:2", 13, "a query id where none was expected"),
    ("1 qid:1 1:5 2", 13, "without a colon"),
    ("1 qid:1 1:5 2:", 15, "the end of the line, expected a feature value"),
    ("1 qid:1 1:5 2:abc", 15, "'abc', expected a feature value"),
    ("1 qid:1 1:5 2:1.2.3", 15, "'1.2.3', expected a feature value"),
    ("1 qid:1 x:5", 9, "expected `index:value`"),
    ("1 qid:1 -1:5", 9, "negative"),
    ("1 qid:1 2147483648:5", 9, "larger than 16777215"),
    ("1 qid:1 99999999999999999999999:5", 9, "larger than"),
    ("1 qid:1 1:5 1:6", 13, "occurs twice"),
    ("1 qid:1 1:inf", 11, "infinite"),
    ("1 qid:1 1:1e39", 11, "too large for a 32-bit float"),
    (f"1 qid:1 1:{'9' * 60}e-4", 11, "too large for a 32-bit float"),
    ("nan qid:1 1:5", 1, "labels must be finite"),
    ("-inf qid:1 1:5", 1, "labels must be finite"),
    ("1e999 qid:1 1:5", 1, "labels must be finite"),
]


@pytest.mark.parametrize(("bad", "column", "message"), BAD_LINES, ids=[bad for bad, _, _ in BAD_LINES])
@pytest.mark.parametrize("zipped", [False, True])
def test_bad_lines_are_named_by_file_line_and_column(tmp_path, bad, column, message, zipped):
    text = f"# comment\n2 qid:1 1:1\n{bad}\n0 qid:1 1:2\n".encode()
    file = tmp_path / "bad.txt"
    file.write_bytes(gzip.compress(text) if zipped else text)
    with pytest.raises(podium.FormatError) as caught:
        podium.read(file, format="letor")
    assert (caught.value.line, caught.value.column) == (3, column)
    assert str(caught.value).startswith(f"{file}:3:{column}: ")
    assert message in str(caught.value)


def test_qid_must_be_on_every_line_or_on_none(tmp_path):
    with pytest.raises(podium.FormatError, match="either every line"):
        podium.read(write_lines(tmp_path / "a.txt", "1 1:5", "1 qid:1 1:5"))
    with pytest.raises(podium.FormatError, match=r"the lines have no query ids.*b.txt.query"):
        podium.read(write_lines(tmp_path / "b.txt", "1 1:5", "1 1:5"))


def test_side_file_of_sizes(tmp_path):
    file = write_lines(tmp_path / "a.txt", "1 1:5", "0 1:6", "2 1:7")
    write_lines(tmp_path / "a.txt.query", "1", "2")
    assert podium.read(file).query_offsets.tolist() == [0, 1, 3]
    write_lines(tmp_path / "other", "3")
    assert podium.read(file, sizes=tmp_path / "other").query_offsets.tolist() == [0, 3]
    write_lines(tmp_path / "a.txt.query", "1", "3")
    with pytest.raises(podium.FormatError, match="add up to 4 rows"):
        podium.read(file)


def test_empty_and_missing_files(tmp_path):
    (tmp_path / "empty.letor").write_bytes(b"")
    with pytest.raises(podium.FormatError, match="empty"):
        podium.read(tmp_path / "empty.letor")
    with pytest.raises(podium.FormatError, match="no documents"):
        podium.read(write_lines(tmp_path / "blank.letor", "", "# only a comment"))
    with pytest.raises(podium.FormatError, match="no such file"):
        podium.read(tmp_path / "nowhere.letor")
    (tmp_path / "none").mkdir()
    with pytest.raises(podium.FormatError, match="folder"):
        podium.read(tmp_path / "none", format="letor")


def test_damaged_gzip(tmp_path):
    whole = gzip.compress(b"1 qid:1 1:5\n" * 10000)
    (tmp_path / "cut.txt.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "rubbish.txt.gz").write_bytes(b"\x1f\x8b\x08\x00" + os.urandom(100))
    for name in ("cut.txt.gz", "rubbish.txt.gz"):
        with pytest.raises(podium.FormatError, match="damaged or cut short"):
            podium.read(tmp_path / name, format="letor")


def test_a_cut_last_line_is_noticed(tmp_path):
    file = tmp_path / "cut.txt"
    file.write_bytes(b"1 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:")
    with pytest.raises(podium.FormatError, match="expected a feature value"):
        podium.read(file)
    file.write_bytes(b"1 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:6")
    with pytest.raises(podium.FormatError, match=r"cut.txt:3: .*2 features, while all others have 3"):
        podium.read(file)
    file.write_bytes(b"1 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:6 3:7\n0 qid:1 1:5 2:6 3:8")
    assert podium.read(file).n_documents == 3


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (b"caf\xe9", "caf\u00e9"),
        (b"docid = \xe9t\xe9 inc = 1", "\u00e9t\u00e9"),
        (b"d\xc3\xb6c\xff", "d\u00f6c\u00ff"),
        (b"a\xc3", "a\u00c3"),
        (b"\xed\xa0\x80", "\u00ed\u00a0\u0080"),
    ],
)
def test_stray_bytes_in_a_comment_are_read_as_latin1(tmp_path, zipped, comment, expected):
    file = tmp_path / "latin.txt"
    text = b"# \xff\xfe\n1 qid:1 1:5 # plain\n0 qid:1 1:6 # " + comment + b"\n"
    file.write_bytes(gzip.compress(text) if zipped else text)
    assert list(podium.read(file).document_ids) == ["plain", expected]
    assert podium.read(file, document_ids=False).document_ids is None


def test_a_query_id_must_be_utf8(tmp_path):
    file = tmp_path / "latin.txt"
    file.write_bytes(b"1 qid:caf\xe9 1:5\n")
    with pytest.raises(podium.FormatError, match=r"latin.txt:1:7: found 'caf.*', which is not UTF-8"):
        podium.read(file)


def test_byte_order_mark(tmp_path):
    for text in (b"1 qid:1 1:5\n", b"# a comment\n1 qid:1 1:5\n"):
        (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + text)
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text))
        assert podium.read(tmp_path / "a.txt").labels.tolist() == [1]
        assert podium.read(tmp_path / "a.txt.gz").labels.tolist() == [1]


def test_files_of_a_fold_count_features_from_the_same_index(tmp_path):
    write_lines(tmp_path / "train.txt", "1 qid:1 0:1 1:2 2:3 3:4")
    write_lines(tmp_path / "vali.txt", "1 qid:2 2:5")
    write_lines(tmp_path / "test.txt", "1 qid:3 1:6 2:7 3:8")
    train, valid, test = podium.read_folds(tmp_path)
    assert [part.features.tolist() for part in (train, valid, test)] == [[[1, 2, 3, 4]], [[0, 0, 5, 0]], [[0, 6, 7, 8]]]


def test_sparse_text_keeps_the_number_of_features(tmp_path):
    for base in (0, 1):
        data = podium.RankingData([[0, 1, 0], [0, 2, 0]], [1, 0], [1, 1])
        write_letor(data, tmp_path / "a.txt", sparse=True, index_base=base)
        assert podium.read(tmp_path / "a.txt").features.tolist() == [[0, 1, 0], [0, 2, 0]]


@pytest.mark.parametrize("tail", range(1, 24))
def test_a_cut_last_line_is_noticed_wherever_a_block_ends(tmp_path, monkeypatch, tail):
    monkeypatch.setattr(letor, "LEAST_BLOCK_BYTES", 64)
    monkeypatch.setattr(letor, "MOST_BLOCK_BYTES", 64)
    text = "1 qid:1 1:5 2:6 3:7\n" * 20 + "0" * tail + " qid:1 1:5 2:6"
    (tmp_path / "cut.txt").write_text(text)
    with pytest.raises(podium.FormatError, match="looks cut short"):
        podium.read(tmp_path / "cut.txt")


def test_options_are_checked(tmp_path):
    file = write_lines(tmp_path / "a.txt", "1 qid:1 1:5")
    for options, message in (
        ({"absnt": "zero"}, "Did you mean 'absent'?"),
        ({"absent": "never"}, "must be one of 'zero', 'missing'"),
        ({"index_base": 2}, "must be one of 'auto', 0, 1"),
        ({"n_features": 5.5}, "whole number"),
        ({"max_features": 0}, "whole number from 1"),
        ({"num_threads": "x"}, "num_threads='x' must be"),
        ({"num_threads": 100_000}, "from 1 to 1024"),
    ):
        with pytest.raises(podium.ParameterError, match=message):
            podium.read(file, **options)
    with pytest.raises(podium.ParameterError, match="index_base=7 must be 0 or 1"):
        podium.write(podium.read(file), tmp_path / "b.txt", index_base=7)
    with pytest.raises(podium.FormatError, match="remove one of the two"):
        podium.read(file, sizes=tmp_path / "sizes")
    with pytest.raises(podium.FormatError, match="longer than 4096"):
        podium.read(write_lines(tmp_path / "long.txt", f"1 qid:{'x' * 5000} 1:5"))


def test_queries_whose_ids_print_the_same_are_refused(tmp_path):
    ids = np.array([1, 1, "1", "1"], object)
    with pytest.raises(podium.DataError, match="cannot tell them apart"):
        podium.write(podium.RankingData(np.ones((4, 1)), [1, 0, 1, 0], ids), tmp_path / "a.txt")


def random_data(seed: int, documents: int = 400, features: int = 7) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(documents, features)).astype(np.float32) * 10.0 ** rng.integers(-30, 30, (documents, features))
    X[rng.random(X.shape) < 0.3] = 0
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = np.sort(rng.integers(0, documents // 9, documents))
    ids = [("" if k % 7 == 0 else f"d{k}" if k % 3 else f"two words {k}") for k in range(documents)]
    return podium.RankingData(X, rng.normal(size=documents), qid, document_ids=ids)


def assert_equal(a: podium.RankingData, b: podium.RankingData) -> None:
    np.testing.assert_array_equal(a.features, b.features)
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.query_ids, b.query_ids)
    np.testing.assert_array_equal(a.query_offsets, b.query_offsets)
    assert a.document_ids == b.document_ids


@pytest.mark.parametrize("block_bytes", [64, 1000, 1 << 20])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip_is_exact_whatever_the_blocks(tmp_path, monkeypatch, block_bytes, name, sparse):
    monkeypatch.setattr(letor, "LEAST_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(letor, "MOST_BLOCK_BYTES", block_bytes)
    data = random_data(3)
    write_letor(data, tmp_path / name, sparse=sparse)
    for threads in (1, 2, 5):
        assert_equal(read_letor(tmp_path / name, num_threads=threads, n_features=data.n_features), data)


def test_rows_are_written_in_the_callers_order(tmp_path):
    data = podium.RankingData([[1], [2], [3]], [0, 1, 2], ["b", "a", "b"])
    write_letor(data, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text().splitlines() == ["0 qid:b 1:1", "1 qid:a 1:2", "2 qid:b 1:3"]


def test_what_letor_cannot_hold_is_refused(tmp_path):
    plain = podium.RankingData([[1.0]], [0], [1])
    for parts, message in (
        ({"document_weights": np.ones(1)}, "document_weights"),
        ({"query_ids": np.array(["a b"])}, "has a blank"),
        ({"document_ids": podium.data.Strings.of(["docid = 3"])}, "would not be read back"),
        ({"document_ids": podium.data.Strings.of([" x"])}, "would not be read back"),
    ):
        with pytest.raises(podium.DataError, match=message):
            write_letor(plain.replace(**parts), tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


def test_a_file_removed_or_cut_while_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "LEAST_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(letor, "MOST_BLOCK_BYTES", 1 << 12)
    file = tmp_path / "a.txt"
    lines = b"1 qid:1 1:5 2:6\n" * 20000

    def during(action):
        file.write_bytes(lines)
        calls = []

        def progress(done, total):
            if not calls:
                action()
            calls.append(done)

        return podium.read(file, format="letor", progress=progress, num_threads=1)

    assert during(file.unlink).n_documents == 20000
    with pytest.raises(podium.FormatError, match="became shorter"):
        during(lambda: os.truncate(file, 100))


def test_equals_scikit_learn_on_real_files(data_dir):
    for name in ("yandex/train.txt", "ohsumed/QueryLevelNorm/Fold1/vali.txt", "ohsumed/Feature-min/Fold2/testset.txt"):
        X, y, qid = load_svmlight_file(str(data_dir / name), query_id=True, dtype=np.float32)
        data = podium.read(data_dir / name)
        np.testing.assert_array_equal(data.features, X.toarray())
        np.testing.assert_array_equal(data.labels, y)
        np.testing.assert_array_equal(data.qid, qid)


def test_lightgbm_side_file_is_found(data_dir):
    data = podium.read(data_dir / "lightgbm-lambdarank" / "rank.train")
    assert (data.n_queries, data.n_documents, data.n_features) == (201, 3005, 300)


def test_a_high_index_among_few_documents_takes_no_more_than_it_means(tmp_path, monkeypatch):
    """Room for more documents than there are is set aside only if the system has it, and an error counts those there are."""
    path, allocate = tmp_path / "wide.txt", letor._allocate
    path.write_text("1 qid:1 1000000:1\n0 qid:1 2:1\n")
    monkeypatch.setattr(letor, "_allocate", lambda rows, columns: allocate(rows, columns) if rows <= 2 else None)
    assert podium.read(path).features.shape == (2, 1_000_000)
    monkeypatch.setattr(letor, "_allocate", lambda rows, columns: None)
    with pytest.raises(podium.DataError, match=r"wide.txt: 2 documents × 1000000 features take"):
        podium.read(path)


@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_labels_may_be_ignored(tmp_path, ending):
    text = b"qid:7 1:0.5 2:3 # docid = a\ngood qid:7 2:4\nnan qid:8\n2 qid:8 1:1\n"
    path = tmp_path / f"live.{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    data = podium.read(path, labels="ignore")
    assert data.labels.tolist() == [0, 0, 0, 0]
    assert data.qid.tolist() == [7, 7, 8, 8]
    assert data.features.tolist() == [[0.5, 3], [0, 4], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("good qid:85 1:2", "found 'good', expected a label"),
        ("nan qid:85 1:2", "the label is 'nan'; labels must be finite numbers"),
        ("qid:85 1:2", "found 'qid:85', expected a label"),
    ],
)
def test_a_line_with_a_query_id_is_letor_text(tmp_path, line, message):
    path = tmp_path / "file"
    path.write_text(line + "\n")
    with pytest.raises(podium.FormatError, match=message):
        podium.read(path)
