"""Literals are read as Python reads them, and what is no literal is refused."""

from __future__ import annotations

import ast
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.literals import read_literal
from podium.names import split_name

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
KEYS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


@given(VALUES)
def test_what_python_prints_is_read_back(value):
    read = read_literal(repr(value))
    assert read == value
    assert repr(read) == repr(value)  # also the types, and the sign of zero


@given(st.text(alphabet="0123456789_.eExXjb+-'\"\\nNu()[]{},: Tru", max_size=12))
@example("1,")
@example("(1)")
@example("((1,), [2,])")
@example("0x1_f")
@example("010")
@example("1__0")
@example("'\\x41'")
@example("{1: 2,}")
def test_whatever_is_read_is_what_python_reads(text):
    try:
        value = read_literal(text)
    except ValueError:
        return
    try:
        expected = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        assert text.strip().lower() in ("true", "false", "none") or "{" in text or "true" in text.lower()
        return
    assert repr(value) == repr(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "()()",
        "1 2",
        "[1",
        "1]",
        "(",
        "'a",
        "'a' 'b'",
        "a",
        "[a]",
        "1+1",
        "nan",
        "{1}",
        "{1: 2",
        "{[]: 1}",
        "'\\q'",
        ",",
        "--1",
    ],
)
def test_no_literal_is_refused(text):
    with pytest.raises(ValueError, match=r"literal|comma|mapping|escape|brackets"):
        read_literal(text)


def test_deep_brackets_are_refused():
    assert read_literal("[" * 50 + "]" * 50)
    with pytest.raises(ValueError, match="too many brackets"):
        read_literal("[" * 51 + "]" * 51)
    with pytest.raises(ValueError, match=r"literal|comma|mapping|escape|brackets"):
        read_literal("(" * 100_000)


def test_words_may_have_any_case_and_infinity_is_written_as_a_large_number():
    assert read_literal("(TRUE, False, none)") == (True, False, None)
    assert read_literal("1e999") == math.inf


@pytest.mark.parametrize(
    ("text", "first", "settings"),
    [
        ("x", (), {}),
        ("x()", (), {}),
        ("x(1, 2,)", ("1", "2"), {}),
        ("x(y(1, a=2)@10, b=3)", ("y(1, a=2)@10",), {"b": 3}),
        ("x('a,b)', c=\"d,(\")", ("'a,b)'",), {"c": "d,("}),
        (
            "x(a=[1, (2, 3)], b=word, c=package.module:function)",
            (),
            {"a": [1, (2, 3)], "b": "word", "c": "package.module:function"},
        ),
        ("x({'a': 1}, 'it\\'s', b=NONE)", ("{'a': 1}", "'it\\'s'"), {"b": None}),
    ],
)
def test_arguments_of_a_name(text, first, settings):
    name = split_name(text, "thing", "x")
    assert (name.first, name.settings) == (first, settings)


@pytest.mark.parametrize(
    "inside", [",", "1,,2", "a=1, 2", "a=1, a=2", "*a", "**a", "a=", "a=b=c", "a==1", "(", ")(", "'", "a=b@10"]
)
def test_arguments_that_cannot_be_read(inside):
    with pytest.raises(ValueError, match="cannot be read"):
        split_name(f"x({inside})", "thing", "x")
