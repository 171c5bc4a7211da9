"""Whatever is sent to the studio, it answers with a status below 500."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([0, 1, -1, 2**63, 1e308, 0.5])
WORDS = st.text(max_size=8) | st.sampled_from(
    [
        "ranknet",
        "lambdarank(map)",
        "ndcg@10",
        "five-levels",
        "two-documents",
        "free",
        "linear",
        "trees",
        "mart",
        "",
        "ndcg@1e9",
    ]
)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS, lambda inner: st.lists(inner, max_size=4), max_leaves=8
)
FIELDS = ("scores", "force", "metric", "preset", "query", "ranking", "round", "movement", "rate", "steps")
SCORES = st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=10) | st.lists(NUMBERS, max_size=3)
BODIES = st.fixed_dictionaries({}, optional={**dict.fromkeys(FIELDS, VALUES | WORDS), "scores": SCORES | VALUES})


def below_500(reply: Any) -> None:
    assert reply.status < 500, reply.body
    if reply.status != 200:
        assert reply.refusal[0] == reply.status


@settings(max_examples=150)
@given(path=st.sampled_from(["examine", "descend", "laws"]), body=BODIES, plausible=st.booleans())
def test_points(asker, path, body, plausible):
    if plausible:
        body = {"preset": "five-levels", "force": "ranknet", "scores": [0.5] * 10, **body}
    below_500(asker.post(path, json.dumps(body).encode()))


@settings(max_examples=100)
@given(
    path=st.sampled_from(["queries", "queries/0", "queries/1/move", "scene", "trainings/1", "trainings/99999"]),
    parameters=st.dictionaries(
        st.sampled_from(["first", "second", "metric", "search", "order", "offset", "document", "query", "since"]),
        WORDS | NUMBERS.map(str),
        max_size=4,
    ),
)
def test_addresses(asker, path, parameters):
    below_500(asker.get(path, **parameters))


@settings(max_examples=60)
@given(raw=st.binary(max_size=60), path=st.sampled_from(["examine", "descend", "laws", "trainings"]))
def test_bytes(asker, raw, path):
    below_500(asker.post(path, raw))


@settings(max_examples=60)
@given(ranker=WORDS, metric=WORDS, chosen=st.dictionaries(WORDS, VALUES, max_size=3), pause=VALUES)
def test_trainings_that_do_not_begin(asker, ranker, metric, chosen, pause):
    body = {"ranker": ranker, "metric": metric, "settings": {**chosen, "no such setting": 1}, "pause": pause}
    reply = asker.post("trainings", body)
    assert 400 <= reply.refusal[0] < 500
