"""The file under models and checkpoints: arrays at their places in the file, of their shapes, under one checksum."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as safetensors_load

import podium
from podium.artifact import tensors
from podium.artifact.tensors import arrays_of, read_bytes, write_tensors
from podium.kinds import podium_header

ARRAYS = {
    "matrix": np.arange(6, dtype=np.float64).reshape(2, 3),
    "bytes": np.array([7, 8, 9], np.uint8),
    "empty": np.empty((0, 4), np.float32),
    "flags": np.array([True, False]),
}
HEADER = {"format": 2, "words": "ü \ud800"}


def written(path: Path, arrays: dict[str, np.ndarray] = ARRAYS) -> bytes:
    write_tensors(path, "model", HEADER, arrays)
    return path.read_bytes()


def crafted(entries: dict[str, Any], data: bytes, header: dict[str, Any]) -> bytes:
    """Return a file with these entries, whatever they say."""
    text = json.dumps({"__metadata__": {"podium": json.dumps(header)}, **entries}).encode()
    return len(text).to_bytes(8, "little") + text + data


def changed(raw: bytes, name: str, **changes: Any) -> bytes:
    """Return a file with one entry of its table changed, at the same size."""
    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    table[name] = {**table[name], **changes}
    text = json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + raw[8 + length :]


def read(raw: bytes) -> dict[str, np.ndarray] | None:
    header = podium_header(raw)
    assert header is not None
    return arrays_of(raw, header)


@pytest.mark.parametrize("own_pages", [False, True])
def test_arrays_come_back_with_their_types_and_shapes(tmp_path: Path, monkeypatch: Any, own_pages: bool) -> None:
    raw = written(tmp_path / "a")
    monkeypatch.setattr(tensors, "OWN_PAGES_BYTES", len(raw) if own_pages else len(raw) + 1)
    buffer = read_bytes(tmp_path / "a")
    assert isinstance(buffer, bytes) != own_pages
    header = podium_header(buffer)
    assert header is not None
    assert {name: header[name] for name in HEADER} == HEADER
    found = arrays_of(buffer, header)
    assert found is not None
    assert set(found) == set(safetensors_load(raw))
    for name, value in ARRAYS.items():
        assert (found[name].dtype, found[name].shape, found[name].tolist()) == (
            value.dtype,
            value.shape,
            value.tolist(),
        )
        assert found[name].flags.aligned


def test_a_file_does_not_depend_on_the_order_or_memory_of_its_arrays(tmp_path: Path) -> None:
    others = {name: np.asfortranarray(ARRAYS[name]) for name in sorted(ARRAYS, reverse=True)}
    assert written(tmp_path / "a") == written(tmp_path / "b", others)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [3, 2]},  # the size is the same, and the checksum covers the shape
        {"shape": [-2, -3]},
        {"shape": [2, 2]},
        {"shape": [2, 4]},
        {"shape": "23"},
        {"shape": None},
        {"dtype": "I64"},
        {"dtype": "F32"},
        {"dtype": "F128"},
        {"dtype": None},
        {"data_offsets": [0, 48, 96]},
        {"data_offsets": None},
    ],
    ids=str,
)
def test_an_entry_that_was_changed_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    raw = written(tmp_path / "a")
    assert read(raw) is not None
    assert read(changed(raw, "matrix", **changes)) is None


@pytest.mark.parametrize("move", [(-8, 0), (0, 8), (-8, -8), (8, 8), (8, 0), (10**30, 10**30), (1, 1)], ids=str)
def test_an_array_at_another_place_is_refused(tmp_path: Path, move: tuple[int, int]) -> None:
    raw = written(tmp_path / "a", {"matrix": ARRAYS["matrix"]})
    assert read(changed(raw, "matrix", data_offsets=[0, 48])) is not None
    assert read(changed(raw, "matrix", data_offsets=[move[0], 48 + move[1]])) is None


def test_bytes_outside_of_all_arrays_are_refused(tmp_path: Path) -> None:
    raw = written(tmp_path / "a")
    for other in (raw + b"\0", raw[:-1], raw + raw[-16:]):
        assert read(other) is None


def test_a_renamed_or_missing_array_is_refused(tmp_path: Path) -> None:
    raw = written(tmp_path / "a", {"one": np.zeros(2), "two": np.zeros(2)})
    assert read(raw) is not None
    assert read(raw.replace(b'"two"', b'"six"')) is None
    assert read(raw.replace(b'"two":', b'"one":')) is None


@pytest.mark.parametrize("entry", [[], None, 3, "x", {}, {"dtype": "F64"}], ids=str)
def test_an_entry_that_is_no_entry_is_refused(entry: Any) -> None:
    assert read(crafted({"a": entry}, b"", {"format": 2, "sha256": "0" * 64})) is None


def test_arrays_that_lie_at_odd_addresses_are_copied(tmp_path: Path) -> None:
    """Other programs may write files whose header does not end at a multiple of eight bytes."""
    raw = written(tmp_path / "a", {"matrix": ARRAYS["matrix"]})
    length = int.from_bytes(raw[:8], "little")
    for blanks in range(1, 9):
        moved = (length + blanks).to_bytes(8, "little") + raw[8 : 8 + length] + b" " * blanks + raw[8 + length :]
        found = read(moved)
        assert found is not None
        assert found["matrix"].flags.aligned
        assert found["matrix"].tolist() == ARRAYS["matrix"].tolist()


@pytest.mark.parametrize("missing", [1, 100])
def test_a_large_file_that_becomes_shorter_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: Any, missing: int
) -> None:
    raw = written(tmp_path / "a")
    monkeypatch.setattr(tensors, "OWN_PAGES_BYTES", 0)
    assert read_bytes(tmp_path / "a")[:] == raw
    monkeypatch.setattr(tensors.os, "fstat", lambda _: SimpleNamespace(st_size=len(raw) + missing))
    assert len(read_bytes(tmp_path / "a")) == 0
    with pytest.raises(podium.FormatError, match="is not a Podium model, or is damaged"):
        podium.load(tmp_path / "a")


def test_a_file_that_the_system_gives_piece_by_piece_is_read_to_its_end(tmp_path: Path) -> None:
    raw = written(tmp_path / "a")

    class Slow:
        def __init__(self, descriptor: int) -> None:
            self.descriptor = descriptor

        def readinto(self, room: memoryview) -> int:
            piece = os.read(self.descriptor, min(7, len(room)))
            room[: len(piece)] = piece
            return len(piece)

    pages = mmap.mmap(-1, len(raw))
    with (tmp_path / "a").open("rb") as file:
        assert tensors._fill(Slow(file.fileno()), pages) == len(raw)  # type: ignore[arg-type]
    assert pages[:] == raw


def test_a_header_holds_only_numbers_that_json_has(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_tensors(tmp_path / "a.podium", "model", {"best": float("nan")}, {"weights": np.ones(2)})
    assert list(tmp_path.iterdir()) == []
