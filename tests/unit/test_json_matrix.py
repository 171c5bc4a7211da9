"""The core's reader of JSON matrices against Python's own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import _core

NO_FAULT, SYNTAX, NOT_A_NUMBER, TOO_LARGE, WIDTH, TOO_MANY_ROWS = range(6)


def read(text: bytes, columns: int, max_rows: int = 100):
    return _core.parse_json_matrix(text, columns, max_rows, 0)


def naive(text: str) -> np.ndarray:
    rows = json.loads(text)
    return np.array([[np.nan if v is None else v for v in row] for row in rows], np.float64).astype(np.float32)


small = st.floats(-(2.0**120), 2.0**120)
numbers = st.one_of(
    st.none(), small, st.integers(-(10**25), 10**25), st.floats(width=32, allow_nan=False, allow_infinity=False)
)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_numbers_are_those_that_python_reads(rows):
    text = json.dumps(rows)
    values, count, end, fault, _, _ = read(text.encode(), len(rows[0]))
    assert (count, end, fault) == (len(rows), len(text), NO_FAULT)
    np.testing.assert_array_equal(values.reshape(count, -1), naive(text))


digits = st.text("0123456789", min_size=1, max_size=24)
whole = st.one_of(st.just("0"), st.from_regex(r"[1-9][0-9]{0,22}", fullmatch=True))


@given(st.sampled_from(["", "-"]), whole, st.one_of(st.none(), digits), st.one_of(st.none(), st.integers(-50, 10)))
def test_any_spelling_of_a_number_is_read_as_python_reads_it(sign, integer, fraction, power):
    text = f"[[{sign}{integer}{'' if fraction is None else '.' + fraction}{'' if power is None else f'e{power}'}]]"
    values, _, _, fault, _, _ = read(text.encode(), 1)
    assert fault == NO_FAULT
    np.testing.assert_array_equal(values.reshape(1, 1), naive(text))


@given(st.integers(0, 2**31 - 2**23 - 2).filter(lambda bits: bits >> 23 != 0))
def test_midpoints_between_floats_are_rounded_as_python_does(bits):
    low, high = np.array([bits, bits + 1], np.uint32).view(np.float32).astype(float)
    for value in (low, (low + high) / 2, np.nextafter((low + high) / 2, high), np.nextafter((low + high) / 2, low)):
        text = json.dumps([[float(value)]])
        assert read(text.encode(), 1)[0][0] == np.float32(json.loads(text)[0][0])


@pytest.mark.parametrize(
    ("text", "fault", "place"),
    [
        ("", SYNTAX, (0, 0)),
        ("[", SYNTAX, (0, 0)),
        ("[1, 2]", SYNTAX, (0, 0)),
        ("[[1, 2]", SYNTAX, None),
        ("[[1, 2],]", SYNTAX, None),
        ("[[1, 2,]]", WIDTH, (0, 3)),
        ("[[1,]]", NOT_A_NUMBER, (0, 1)),
        ("[[1, 2], [3, 4.]]", SYNTAX, (1, 1)),
        ("[[1, 02]]", SYNTAX, (0, 1)),
        ("[[1, .5]]", NOT_A_NUMBER, (0, 1)),
        ("[[1, +5]]", NOT_A_NUMBER, (0, 1)),
        ("[[1, 2e]]", SYNTAX, (0, 1)),
        ("[[1, -]]", NOT_A_NUMBER, (0, 1)),
        ("[[1, NaN]]", NOT_A_NUMBER, (0, 1)),
        ("[[nul, 1]]", NOT_A_NUMBER, (0, 0)),
        ('[[1, "2"]]', NOT_A_NUMBER, (0, 1)),
        ("[[1, 2], [3, 1e39]]", TOO_LARGE, (1, 1)),
        ("[[1, 2], [3, -1e400]]", TOO_LARGE, (1, 1)),
        ("[[1, 2], [3]]", WIDTH, (1, 1)),
        ("[[1, 2], [3, 4, 5, 6]]", WIDTH, (1, 3)),
        ("[[1, 2], [3, 4], [5, 6], [7, 8]]", TOO_MANY_ROWS, None),
    ],
)
def test_faults_say_where_they_are(text, fault, place):
    *_, found, row, column = read(text.encode(), 2, max_rows=3)
    assert found == fault
    assert place is None or (row, column) == place


def test_the_array_may_stand_inside_a_text():
    values, rows, end, fault, _, _ = _core.parse_json_matrix(b'{"x": [[1], [2]], "y": 3}', 1, 9, 6)
    assert (values.tolist(), rows, fault) == ([1.0, 2.0], 2, NO_FAULT)
    assert end == len(b'{"x": [[1], [2]]')
    assert read(b" [ ] ", 3)[1:4] == (0, 4, NO_FAULT)
    with pytest.raises(IndexError):
        _core.parse_json_matrix(b"[]", 1, 1, 3)
