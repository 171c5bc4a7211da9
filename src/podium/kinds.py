"""What a file holds, recognized by its first bytes, so that no output replaces a file of another kind."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import mmap
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import podium.model_kinds as models

HEAD_BYTES = 1 << 16
LARGEST_HEADER = 1 << 30
GZIP_MAGIC = b"\x1f\x8b"
METADATA_KEY = "podium"
CHECKPOINT_KIND = "podium checkpoint 1"
STUDY_NAME = "podium study 2"  # of the one study that an Optuna journal of podium tune holds
CACHE_KIND = "podium-data"
MANIFEST_KIND = "podium shards"
LETOR_LINE = re.compile(rb"([^\s,;]+\s+)?qid:\S+(\s|$)|[-+.0-9eE]+\s+\d+:\S+(\s|$)")


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: Name of a format, or of something else that Podium writes.
        noun: What a file of this kind is called in messages.
        looks_like: Returns whether a file that begins with these (decompressed) bytes is of this kind.
        suffixes: How the names of such files end; text may be compressed and end in .gz besides.
    """

    name: str
    noun: str
    looks_like: Callable[[bytes], bool]
    suffixes: tuple[str, ...] = ()

    def fits_name(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a file's name ends as those of this kind do."""
        return Path(path).name.lower().removesuffix(".gz").endswith(self.suffixes)


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the name of a file's kind, a key of `KINDS`; None if the file is of no kind that Podium writes."""
    return recognize(path, read_start(path))


def recognize(path: str | os.PathLike[str], head: bytes) -> str | None:
    """Return the kind of a file that begins with these bytes; if they fit several kinds, the name of the file decides."""
    fitting = [kind for kind in KINDS.values() if kind.looks_like(head)]
    named = [kind for kind in fitting if kind.fits_name(path)]
    return next((kind.name for kind in named or fitting), None)


def read_start(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a file, decompressed by `start_of`; none if its gzip stream is damaged.

    Compressed bytes are never taken for text: the time in a gzip header may hold a comma, and the file would look like CSV.
    """
    with Path(path).open("rb") as file:
        try:
            return start_of(file)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return b""


def start_of(file: IO[bytes]) -> bytes:
    """Return the first bytes of an open file: the whole header of a safetensors file, otherwise 64 KiB, decompressed."""
    head = file.read(HEAD_BYTES)
    if head.startswith(GZIP_MAGIC):
        file.seek(0)
        return gzip.GzipFile(fileobj=file).read(HEAD_BYTES)
    if _is_safetensors(head) and _header_bytes(head) <= LARGEST_HEADER:
        head += file.read(max(0, 8 + _header_bytes(head) - len(head)))
    return head


def podium_header(head: bytes | mmap.mmap) -> dict[str, Any] | None:
    """Return the JSON header of a model or a checkpoint; None if the bytes do not begin with one."""
    try:
        header = json.loads(json.loads(head[8 : 8 + _header_bytes(head)])["__metadata__"][METADATA_KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _header_bytes(head: bytes | mmap.mmap) -> int:
    return int.from_bytes(head[:8], "little")


def _is_safetensors(head: bytes) -> bool:
    return head[8:9] == b"{"


def _is_model(head: bytes) -> bool:
    return _is_safetensors(head) and "format" in (podium_header(head) or {})


def _is_checkpoint(head: bytes) -> bool:
    return _is_safetensors(head) and (podium_header(head) or {}).get("kind") == CHECKPOINT_KIND


def looks_like_cache(head: bytes) -> bool:
    """Recognize Podium's binary cache of judged data."""
    return f'"kind":"{CACHE_KIND}"'.encode() in head[:256]


def looks_like_parquet(head: bytes) -> bool:
    """Recognize Parquet."""
    return head.startswith(b"PAR1")


def looks_like_arrow(head: bytes) -> bool:
    """Recognize an Arrow IPC file, or a stream, which begins with the length of its first message."""
    is_stream = head.startswith(b"\xff\xff\xff\xff") and 0 < int.from_bytes(head[4:8], "little") < LARGEST_HEADER
    return head.startswith(b"ARROW1") or is_stream


def _first_json_line(head: bytes) -> dict[str, Any]:
    try:
        first = json.loads(head.split(b"\n", 1)[0]) if head.startswith(b"{") else None
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def _is_study(head: bytes) -> bool:
    return _first_json_line(head).get("study_name") == STUDY_NAME


def _is_training_log(head: bytes) -> bool:
    return {"ranker", "parameters"} <= _first_json_line(head).keys()


def _is_manifest(head: bytes) -> bool:
    return re.match(rb'\{\s*"kind": "' + MANIFEST_KIND.encode(), head) is not None


def _is_svg(head: bytes) -> bool:
    return re.match(rb"\s*(<\?xml[^>]*>\s*)?(<!DOCTYPE svg[^>]*>\s*)?<svg\b", head) is not None


def _is_png(head: bytes) -> bool:
    return head.startswith(b"\x89PNG\r\n\x1a\n")


def _is_podium_page(head: bytes) -> bool:
    """Recognize HTML pages that Podium wrote; pages of others are never written over."""
    return (
        re.match(rb'<!DOCTYPE html>\s*<html\b[^>]*>\s*<head>\s*<meta name="generator" content="Podium\b', head)
        is not None
    )


def _is_papers_results(head: bytes) -> bool:
    return re.match(rb'\{\s*"name": "[^"]*",\s*"paper": "', head) is not None


def _is_papers_cell(head: bytes) -> bool:
    return re.match(rb'\{\s*"settings": \{.*\},\s*"seconds": ', head) is not None


def _is_papers_report(head: bytes) -> bool:
    return head.startswith(b"# ") and b" of one core in all." in head


def _is_per_query_table(head: bytes) -> bool:
    cells = head.split(b"\n", 1)[0].split(b"\t")
    return cells[0] == b"qid" and len(cells) > 1 and b"label" not in cells


def looks_like_letor(head: bytes) -> bool:
    """Recognize LETOR text: the first line that is not blank or a comment reads `[label] qid:x …` or `number index:value …`."""
    lines = (line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return LETOR_LINE.match(first) is not None


def looks_like_csv(head: bytes) -> bool:
    """Recognize comma-separated values with a header of names."""
    return _looks_delimited(head, ",")


def looks_like_tsv(head: bytes) -> bool:
    """Recognize tab-separated values with a header of names."""
    return _looks_delimited(head, "\t")


def _looks_delimited(head: bytes, delimiter: str) -> bool:
    whole = head[: head.rfind(b"\n") + 1] or head if len(head) >= HEAD_BYTES else head
    text = io.StringIO(whole.decode(errors="replace"), newline="")
    try:
        names, *first = itertools.islice(csv.reader(text, delimiter=delimiter), 2)
    except (csv.Error, ValueError):
        return False
    has_roles = "label" in names or "qid" in names
    is_header = all(map(_is_column_name, names)) and not head.startswith((b"{", b"[", b"<"))
    if len(names) < 2 or not (has_roles or is_header):
        return False
    return all(len(cells) == len(names) for cells in first)


def _is_column_name(text: str) -> bool:
    return "qid:" not in text and ("_" in text or not is_number(text))


def is_number(text: str | bytes) -> bool:
    """Return whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _words_by_line(head: bytes) -> list[list[bytes]]:
    lines = head.split(b"\n")[: -1 if b"\n" in head else None]
    return [line.split() for line in lines if line.strip() and not line.startswith(b"#")]


def looks_like_qrels(head: bytes) -> bool:
    """Recognize TREC judgments: `query 0 document judgment`."""
    rows = _words_by_line(head)
    return bool(rows) and all(len(row) == 4 and is_number(row[3]) and b":" not in row[1] for row in rows)


def looks_like_run(head: bytes) -> bool:
    """Recognize a TREC run: `query Q0 document rank score tag`."""
    rows = _words_by_line(head)
    return bool(rows) and all(len(row) >= 6 and is_number(row[3]) and is_number(row[4]) for row in rows)


def looks_like_scores(head: bytes) -> bool:
    """Recognize one number per line."""
    lines = head.rstrip(b"\r\n").split(b"\n")
    lines = lines[:-1] if len(head) >= HEAD_BYTES else lines
    try:
        return bool(lines) and all(len(line.split()) == 1 and float(line) == float(line) for line in lines)
    except ValueError:
        return False


# The first kind that recognizes a file names it, so the loosest come last.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("model", "a Podium model", _is_model, (".podium",)),
        Kind("checkpoint", "a checkpoint of a training", _is_checkpoint),
        Kind("cache", "judged data (podium-data)", looks_like_cache, (".podium-data",)),
        Kind("parquet", "a Parquet table", looks_like_parquet, (".parquet", ".pq")),
        Kind("arrow", "an Arrow table", looks_like_arrow, (".arrow", ".feather", ".ipc")),
        Kind("shards", "a manifest of shards", _is_manifest),
        Kind("study", "a study of podium tune", _is_study),
        Kind("log", "a training log", _is_training_log),
        Kind("svg", "an SVG picture", _is_svg, (".svg",)),
        Kind("png", "a PNG picture", _is_png, (".png",)),
        Kind("html", "an HTML page of Podium", _is_podium_page, (".html",)),
        Kind("papers-results", "results of podium papers", _is_papers_results),
        Kind("papers-cell", "a cell of podium papers", _is_papers_cell),
        Kind("papers-report", "a report of podium papers", _is_papers_report),
        Kind("lightgbm", "a LightGBM model", models.looks_like_lightgbm),
        Kind("xgboost", "an XGBoost model", models.looks_like_xgboost),
        Kind("xgboost-dump", "a dump of XGBoost", models.looks_like_xgboost_dump),
        Kind(
            "catboost", "a CatBoost model", lambda head: models.looks_like_catboost(head) or models.looks_like_cbm(head)
        ),
        Kind("ranklib", "a RankLib model", models.looks_like_ranklib),
        Kind("ltr-plugin", "a model for Elasticsearch or OpenSearch", models.looks_like_ltr_plugin),
        Kind("solr", "a model for Solr", models.looks_like_solr),
        Kind("vespa", "a model for Vespa", models.looks_like_vespa),
        Kind("onnx", "an ONNX model", models.looks_like_onnx),
        Kind("treelite", "a treelite model", models.looks_like_treelite),
        Kind("letor", "judged data (LETOR text)", looks_like_letor, (".letor", ".svm", ".svmlight", ".libsvm")),
        Kind("per-query", "a table of metrics by query", _is_per_query_table, (".tsv",)),
        Kind("csv", "a CSV table", looks_like_csv, (".csv",)),
        Kind("tsv", "a TSV table", looks_like_tsv, (".tsv",)),
        Kind("qrels", "TREC judgments", looks_like_qrels, (".qrels", ".qrel")),
        Kind("trec-run", "a TREC run", looks_like_run, (".run", ".trec")),
        Kind("scores", "a file of scores", looks_like_scores, (".scores", ".score")),
    )
}

# Kinds of models that other libraries and engines read or write.
FOREIGN_MODELS = frozenset(
    (
        *("lightgbm", "xgboost", "xgboost-dump", "catboost", "ranklib"),
        *("ltr-plugin", "solr", "vespa", "onnx", "treelite"),
    )
)
