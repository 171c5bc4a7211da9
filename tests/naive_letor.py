"""A slow and simple reader of LETOR text, which the core's parser must equal."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

NUMBER = re.compile(rb"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


@dataclass
class Naive:
    labels: list[float] = field(default_factory=list)
    qids: list[str | None] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


class BadLineError(Exception):
    """The text is not LETOR; says the line, counted from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _float32(token: bytes) -> float:
    # NumPy reads decimals through the nearest double: exact here because the tests' oddities are short or checked apart.
    value = float(np.float32(token.decode()))
    if math.isinf(value):
        raise ValueError(token)
    return value


def _value(token: bytes) -> float:
    if re.fullmatch(rb"[-+]?(nan|null)", token, re.IGNORECASE):
        return math.nan
    if not NUMBER.fullmatch(token):
        raise ValueError(token)
    with np.errstate(over="ignore"):
        return _float32(token)


def _comment_id(comment: bytes) -> str:
    text = comment.strip(b" \t\r")
    match = re.match(rb"docid[ \t\r]*=[ \t\r]*([^ \t\r]+)", text)
    found = (match[1] if match else text).decode(errors="surrogateescape")
    return "".join(chr(ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c for c in found)


def _line(line: bytes, naive: Naive, max_index: int) -> None:
    match = re.match(rb"[ \t\r]*([^ \t\r#]*)[ \t\r]*(qid:[^ \t\r]*)?", line)
    assert match is not None
    label, qid = match[1], match[2]
    rest, hash_sign, comment = line[match.end() :].partition(b"#")
    if not label and not qid and not rest.strip(b" \t\r"):
        return
    if not NUMBER.fullmatch(label) or math.isinf(float(label)):
        raise ValueError(label)
    if qid is not None and line[match.start(2) - 1 : match.start(2)] not in (b" ", b"\t", b"\r"):
        raise ValueError(qid)
    if qid == b"qid:":
        raise ValueError(qid)
    row: dict[int, float] = {}
    for token in re.split(rb"[ \t\r]+", rest.strip(b" \t\r")) if rest.strip(b" \t\r") else []:
        index, colon, value = token.partition(b":")
        if not colon or not re.fullmatch(rb"\d+", index) or int(index) > max_index or int(index) in row:
            raise ValueError(token)
        row[int(index)] = _value(value)
    if naive.labels and (naive.qids[0] is None) != (qid is None):
        raise ValueError(line)
    document = _comment_id(comment) if hash_sign else ""
    naive.qids.append(None if qid is None else qid[4:].decode())
    naive.labels.append(float(label))
    naive.rows.append(row)
    naive.ids.append(document)


def parse(text: bytes, max_index: int = (1 << 24) - 1) -> Naive:
    naive = Naive()
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            _line(line, naive, max_index)
        except ValueError:
            raise BadLineError(number) from None
    return naive
