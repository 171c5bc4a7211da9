"""Counter-based random numbers: hashes of a seed, a query id and a position, so that nothing depends on the order of queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import ParameterError, is_integer

U64 = npt.NDArray[np.uint64]
MASK = 2**64 - 1


def splitmix64(values: U64) -> U64:
    """Apply the finalizer of SplitMix64, a bijection of 64-bit numbers in which every output bit depends on every input bit."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def splitmix64_of(value: int) -> int:
    """Return `splitmix64` of one number, without the cost of an array."""
    z = (value + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def query_hashes(query_ids: npt.NDArray[Any] | Iterable[Any], seed: int) -> U64:
    """Return one 64-bit number per query: BLAKE2 of the text of its id, keyed by the seed.

    The ids 7 and "7" have the same hash, so it does not matter whether a reader takes ids as numbers or as text. Only if both are
    in the data, as two queries, the type of the number is hashed too.
    """
    key = check_seed(seed).to_bytes(16, "little")
    ids = query_ids.tolist() if isinstance(query_ids, np.ndarray) else list(query_ids)
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest() for text in own_texts(ids))
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def own_texts(ids: list[Any]) -> list[str]:
    """Return the text of each id; different ids have different texts."""
    texts = [str(value) for value in ids]
    if len({type(value) for value in ids}) < 2:
        return texts
    types: dict[str, set[type]] = {}
    for value, text in zip(ids, texts, strict=True):
        types.setdefault(text, set()).add(type(value))
    return [
        text if isinstance(value, str) or len(types[text]) == 1 else f"{type(value).__name__} {text}"
        for value, text in zip(ids, texts, strict=True)
    ]


def unit_interval(hashes: U64) -> npt.NDArray[np.float64]:
    """Return numbers in [0, 1) made of the upper 53 bits of each hash."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def counter_uniform(seed: int, stream: int, count: int) -> npt.NDArray[np.float64]:
    """Return `count` numbers in [0, 1), each a function of the seed, the stream and its position alone."""
    start = splitmix64(splitmix64(np.array([check_seed(seed)], np.uint64)) ^ np.uint64(stream))
    return unit_interval(splitmix64(splitmix64(start ^ np.arange(count, dtype=np.uint64))))


def check_seed(seed: int) -> int:
    """Return the seed; raise a ParameterError unless it is a whole number from 0 to 2**64 - 1."""
    if not is_integer(seed) or not 0 <= seed < 2**64:
        raise ParameterError("seed", seed, "must be a whole number from 0 to 2**64 - 1")
    return int(seed)
