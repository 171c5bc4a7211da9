"""Every file that Podium writes is recognized by its content, not by its name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import podium
from podium.data import Run
from podium.formats import FORMATS
from podium.kinds import HEAD_BYTES, KINDS, kind_of

DATA = podium.RankingData([[1.0], [2.0]], [1, 0], [1, 1], document_ids=["a", "b"])
RUN = Run([1, 1], ["a", "b"], [2.0, 1.0])


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognized_and_can_be_written_again(tmp_path, name):
    holds = FORMATS[name].holds
    value = DATA if holds == "data" else RUN if holds == "run" else [1.0, 2.0]
    path = tmp_path / "a"
    for _ in range(2):
        podium.write(value, path, format=name)
        assert kind_of(path) == name
    assert name in KINDS


@pytest.mark.parametrize("name", ["letor", "csv", "tsv", "qrels", "trec-run", "scores"])
def test_compressed_text_is_recognized(tmp_path, name):
    holds = FORMATS[name].holds
    podium.write(DATA if holds == "data" else RUN if holds == "run" else [1.0], tmp_path / "a.gz", format=name)
    assert kind_of(tmp_path / "a.gz") == name


def test_tables_with_odd_headers_can_be_written_again(tmp_path):
    wide = podium.RankingData(np.ones((2, 30_000)), [1, 0], [1, 1])
    odd = podium.RankingData(np.ones((2, 3)), [1, 0], [1, 1], feature_names=["1", "line\nbreak", 'quo"te,'])
    for number, data in enumerate((wide, odd)):
        for _ in range(2):
            podium.write(data, tmp_path / f"{number}.csv")
        assert kind_of(tmp_path / f"{number}.csv") == "csv"
    assert (tmp_path / "0.csv").stat().st_size > 2 * HEAD_BYTES


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        (b"a,b 0 c,d 1\ne,f 0 g,h 2\n", {"x": "csv", "x.csv": "csv", "x.qrels": "qrels", "x.qrels.gz": "qrels"}),
        (b"a\tb 0 c 1\n", {"x": "tsv", "x.tsv": "tsv"}),
        (b"qid\tndcg\n1\t0.5\n", {"x": "per-query", "x.tsv": "per-query", "x.txt": "per-query"}),
        (b"1 0 a 1\n", {"x": "qrels", "x.csv": "qrels", "x.txt": "qrels"}),
        (b"1\n2\n", {"x": "scores", "x.qrels": "scores"}),
    ],
)
def test_the_name_decides_what_fits_several_kinds(tmp_path, content, kinds):
    for name, kind in kinds.items():
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        assert kind_of(tmp_path / name) == kind, name


def test_judgments_of_odd_names_can_be_written_again(tmp_path):
    odd = podium.RankingData(np.zeros((2, 0)), [1, 0], ["a,b", "c,d"], document_ids=["e,f", "g,h"])
    for _ in range(2):
        podium.write(odd, tmp_path / "odd.qrels")
    assert podium.read(tmp_path / "odd.qrels").query_ids.tolist() == ["a,b", "c,d"]


def test_arrow_streams_are_recognized(tmp_path):
    table = podium.to_frame(DATA, "pyarrow")
    with pa.ipc.new_stream(tmp_path / "a", table.schema) as writer:
        writer.write_table(table)
    assert kind_of(tmp_path / "a") == "arrow"
    assert podium.read(tmp_path / "a").n_documents == 2


def test_models_checkpoints_and_studies_are_recognized(tmp_path):
    named = DATA.replace(feature_names=["a long name " * 10_000])
    podium.RankNet(epochs=1).fit(named, checkpoint=tmp_path / "checkpoint").save(tmp_path / "model")
    assert kind_of(tmp_path / "model") == "model"
    assert kind_of(tmp_path / "checkpoint") == "checkpoint"
    ranges = {"learning_rate": [0.1]}
    podium.tune(podium.RankNet(epochs=1), DATA, valid=DATA, ranges=ranges, study=tmp_path / "study")
    assert kind_of(tmp_path / "study") == "study"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", None),
        (b"# Notes\n\nsome words, more words\n", None),
        (b"\0" * 100, None),
        (b"\xff" * 100, None),
        (gzip.compress(b"1 qid:1 1:2\n" * 9000)[:-50], "letor"),
        (gzip.compress(b"1 qid:1 1:2\n")[:-10], None),
        (b"qid\tndcg@10\tmap\n1\t0.5\t1.0\n", "per-query"),
        (b"qid\tlabel\tf0\n1\t0.5\t1.0\n", "tsv"),
        (b"label,qid,f0\n1,1,1.0\n", "csv"),
        (json.dumps({"data": "a", "ranker": "RankNet", "parameters": {}}).encode() + b"\n", "log"),
        (b'{"a": 1, "b": 2}\n', None),
        (b"[" * 100_000, None),
        (b"{" * 100_000, None),
        ((10**9).to_bytes(8, "little") + b'{"__metadata__"', None),
        (b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x"\n "y">\n<svg xmlns="z">', "svg"),
        (b"<html><svg></svg></html>", None),
        (b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="Podium">', "html"),
        (b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="others">', None),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "png"),
    ],
    ids=range(19),
)
def test_other_content(tmp_path, content, kind):
    (tmp_path / "a").write_bytes(content)
    assert kind_of(tmp_path / "a") == kind


@pytest.mark.parametrize("seconds", [0, 0x2C2C2C2C, 0x09090909, 0x2C092C09])
def test_the_time_in_a_damaged_gzip_header_does_not_look_like_a_table(tmp_path, seconds):
    (tmp_path / "a").write_bytes(gzip.compress(b"1 qid:1 1:2\n", mtime=seconds)[:-10])
    assert kind_of(tmp_path / "a") is None


def test_reports_of_papers_are_recognized():
    for folder in (Path(__file__).parents[2] / "docs" / "reproduced").glob("*/"):
        assert kind_of(folder / "results.json") == "papers-results"
        assert kind_of(folder / "report.md") == "papers-report"
        assert {kind_of(path) for path in folder.glob("*.svg")} <= {"svg"}
