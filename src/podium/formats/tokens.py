"""Text files of words in lines: the places of all words are found with array operations, and columns are read at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from podium.data import Strings
from podium.data.grouping import MAX_ID_LENGTH, check_query_ids
from podium.data.hashing import splitmix64
from podium.errors import DataError, FormatError, short_repr
from podium.formats.decimals import ids_from_texts
from podium.formats.opening import decode, read_bytes
from podium.kinds import is_number

Ints = npt.NDArray[np.int64]
NEWLINE, HASH = 10, 35
SPACE, TAB, RETURN = (np.uint8(ord(character)) for character in " \t\r")
LONGEST_NUMBER = 64  # bytes


class Tokens:
    """The words of a file, line by line. Blank lines are skipped, and with `comments` also lines that start with '#'.

    Attributes:
        first: The number of the first word of each line.
        count: The number of words of each line.
        line: The number of each line in the file, from 1.
    """

    def __init__(self, path: str | os.PathLike[str], *, comments: bool) -> None:
        self.path = path
        self.raw = read_bytes(path)
        self.bytes = np.frombuffer(self.raw, np.uint8)
        self._refuse_other_than_utf8()
        blank = np.ones(len(self.bytes) + 2, bool)
        blank[1:-1] = (self.bytes == SPACE) | (
            self.bytes - TAB <= RETURN - TAB
        )  # unsigned, so anything below TAB becomes large
        edges = np.flatnonzero(blank[1:] != blank[:-1])
        self.starts, self.ends = edges[0::2], edges[1::2]
        line_ends = np.flatnonzero(self.bytes == NEWLINE)
        line = np.searchsorted(line_ends, self.starts) if len(line_ends) else np.zeros(len(self.starts), np.int64)
        first = np.flatnonzero(np.diff(line, prepend=-1))
        count = np.diff(first, append=len(line))
        if comments:
            opens = np.append(0, line_ends + 1)[line[first]]
            kept = self.bytes[opens] != HASH
            first, count = first[kept], count[kept]
        self.first: Ints = first.astype(np.int64)
        self.count: Ints = count.astype(np.int64)
        self.line: Ints = line[first].astype(np.int64) + 1
        if not len(first):
            raise FormatError(path, "the file has only blank lines and comments")

    def __len__(self) -> int:
        return len(self.first)

    def require_words(self, least: int, most: int | None, form: str) -> None:
        """Check that every line has from `least` to `most` words; `form` shows a right one, such as 'query 0 document judgment'."""
        bad = (self.count < least) | (self.count > most if most is not None else False)
        if bad.any():
            row = int(np.argmax(bad))
            text = self._line_text(row)
            shown = text if len(text) <= 80 else text[:79] + "…"
            raise FormatError(
                self.path,
                f"the line has {self.count[row]} words, {shown!r}; it must read {form!r}",
                line=int(self.line[row]),
            )

    def texts(self, word: int) -> Strings:
        """Return the given word of each line."""
        starts, ends = self.starts[self.first + word], self.ends[self.first + word]
        bounds = np.stack([starts, ends], axis=1).reshape(-1)
        return Strings(bounds.astype(np.int64), self.bytes)[np.arange(0, 2 * len(starts), 2)]

    def query_ids(self, word: int) -> npt.NDArray[Any]:
        """Return the given word of each line, as int64 if all are written as integers, otherwise as text."""
        texts = self.texts(word)
        heads = np.flatnonzero(np.append(True, ~texts.repeats()))
        ids = list(texts[heads])
        try:
            check_query_ids(ids)
        except DataError:
            row = next(row for row, text in zip(heads.tolist(), ids, strict=True) if "\0" in text)
            self.fail(
                row, word, f"query id {short_repr(self.word(row, word))} holds a NUL character; write ids without it"
            )
        return np.repeat(ids_from_texts(ids), np.diff(heads, append=len(texts)))

    def numbers(self, word: int, what: str, *, finite: bool) -> npt.NDArray[np.float64]:
        """Return the given word of each line as a float64; NaN is refused, and with `finite` infinity too."""
        lengths = self.ends[self.first + word] - self.starts[self.first + word]
        if lengths.max() > LONGEST_NUMBER:
            self._bad_number(word, int(np.argmax(lengths)), what)
        fixed = self._fixed_width(word)
        if (fixed == ord("_")).any():  # Python would read 1_000 as a number
            self._bad_number(word, int(np.argmax((fixed == ord("_")).any(axis=1))), what)
        texts = fixed.view(f"S{fixed.shape[1]}")[:, 0]
        try:
            values: npt.NDArray[np.float64] = texts.astype(np.float64)
        except ValueError:
            self._bad_number(word, next(row for row, text in enumerate(texts.tolist()) if not is_number(text)), what)
        bad = ~np.isfinite(values) if finite else np.isnan(values)
        if bad.any():
            self._bad_number(word, int(np.argmax(bad)), what)
        return values

    def refuse_long(self, word: int, what: str) -> None:
        """Check that no such word is longer than an id may be, so that one alone cannot take all memory."""
        lengths = self.ends[self.first + word] - self.starts[self.first + word]
        row = int(np.argmax(lengths))
        if lengths[row] > MAX_ID_LENGTH:
            start = self.word(row, word)[:20]
            self.fail(
                row,
                word,
                f"{what} '{start}…' has {lengths[row]} bytes; at most {MAX_ID_LENGTH} are taken: shorten the id",
            )

    def refuse_duplicates(self, words: Sequence[int], what: str) -> None:
        """Check that no two lines have the same given words."""
        hashes = np.zeros(len(self), np.uint64)
        for word in words:
            self._hash_into(hashes, word)
        order = np.argsort(hashes, kind="stable")
        twins = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        for k in twins.tolist():
            here, there = sorted((int(order[k]), int(order[k + 1])))
            if [self.word(here, word) for word in words] == [self.word(there, word) for word in words]:
                names = " ".join(self.word(here, word) for word in words)
                raise FormatError(
                    self.path,
                    f"{what} {names!r} is in line {self.line[here]} already; remove one of the two",
                    line=int(self.line[there]),
                )

    def word(self, row: int, word: int) -> str:
        """Return one word of one line."""
        k = self.first[row] + word
        return self.raw[self.starts[k] : self.ends[k]].decode()

    def fail(self, row: int, word: int, message: str) -> NoReturn:
        """Raise a FormatError at a word."""
        start = int(self.starts[self.first[row] + word])
        opens = self.raw.rfind(b"\n", 0, start) + 1
        raise FormatError(self.path, message, line=int(self.line[row]), column=start - opens + 1)

    def _bad_number(self, word: int, row: int, what: str) -> NoReturn:
        self.fail(row, word, f"{what} is {self.word(row, word)[:80]!r}; it must be a number")

    def _hash_into(self, hashes: npt.NDArray[np.uint64], word: int) -> None:
        """Combine the given word of each line with its hash, 8 bytes at a time."""
        starts, ends = self.starts[self.first + word], self.ends[self.first + word]
        padded = np.append(self.bytes, np.zeros(8, np.uint8))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 8)
        rows: slice | Ints = slice(None)
        while len(starts):
            eight = windows[starts]
            eight[np.arange(8) >= (ends - starts)[:, None]] = 0
            hashes[rows] = splitmix64(hashes[rows] ^ eight.view("<u8")[:, 0])
            more = np.flatnonzero(ends - starts > 8)
            rows = more if isinstance(rows, slice) else rows[more]
            starts, ends = starts[more] + 8, ends[more]

    def _fixed_width(self, word: int) -> npt.NDArray[np.uint8]:
        """Return the given word of each line as bytes of one width, a multiple of 8, padded with zeros."""
        starts, ends = self.starts[self.first + word], self.ends[self.first + word]
        width = -(-int((ends - starts).max()) // 8) * 8
        padded = np.append(self.bytes, np.zeros(width, np.uint8))
        fixed = np.lib.stride_tricks.sliding_window_view(padded, width)[starts]
        fixed[np.arange(width) >= (ends - starts)[:, None]] = 0
        return fixed

    def _line_text(self, row: int) -> str:
        last = self.first[row] + self.count[row] - 1
        return self.raw[self.starts[self.first[row]] : self.ends[last]].decode()

    def _refuse_other_than_utf8(self) -> None:
        if self.raw.isascii():
            return
        try:
            self.raw.decode()
        except UnicodeDecodeError as error:
            opens = self.raw.rfind(b"\n", 0, error.start) + 1
            number = self.raw.count(b"\n", 0, error.start) + 1
            decode(self.path, self.raw[opens : error.start + 4], number)
            raise


def number_lines(path: str | os.PathLike[str], what: str) -> Tokens:
    """Return the lines of a file with one number per line; only the end of the file may be blank."""
    tokens = Tokens(path, comments=False)
    tokens.require_words(1, 1, what)
    gap = np.flatnonzero(tokens.line != np.arange(1, len(tokens) + 1))
    if gap.size:
        raise FormatError(path, f"the line is blank; give one {what} per line", line=int(gap[0]) + 1)
    return tokens
