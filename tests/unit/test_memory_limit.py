"""A limit of memory: bins are kept in files, and the model is the same byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_tree_bytes import KINDS, TRAIN, VALID, ranker, saved

import podium
from podium.errors import ParameterError
from podium.memory import MemoryLimit, parse_bytes, scratch_folder
from podium.models import growing

LIMIT = "256M"


@pytest.mark.parametrize("kind", KINDS)
def test_bins_in_files_give_the_same_bytes(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(growing, "BIN_SAMPLE_DOCUMENTS", 200)
    monkeypatch.setattr(growing, "SHARED_BYTE_DOCUMENTS", 100)
    weighted = TRAIN.replace(document_weights=np.random.default_rng(3).random(TRAIN.n_documents))
    in_memory = saved(ranker(kind, early_stopping_rounds=5).fit(weighted, valid=VALID), tmp_path / "a")
    limited = ranker(kind, early_stopping_rounds=5, memory_limit=LIMIT).fit(weighted, valid=VALID)
    assert saved(limited, tmp_path / "b") == in_memory


def test_a_resumed_and_a_continued_training_give_the_same_bytes(tmp_path):
    first = ranker("forests", n_estimators=6).fit(TRAIN, valid=VALID)
    again = [
        ranker("forests", n_estimators=4, **more).fit(TRAIN, start_from=first) for more in ({}, {"memory_limit": LIMIT})
    ]
    assert saved(again[0], tmp_path / "a") == saved(again[1], tmp_path / "b")
    whole = saved(ranker("plain", n_estimators=12).fit(TRAIN, valid=VALID), tmp_path / "c")
    checkpoint = podium.Checkpoint(tmp_path / "checkpoint", 0)
    ranker("plain", n_estimators=5).fit(TRAIN, valid=VALID, checkpoint=checkpoint)
    resumed = ranker("plain", n_estimators=12, memory_limit=LIMIT).fit(TRAIN, valid=VALID, checkpoint=checkpoint)
    assert saved(resumed, tmp_path / "d") == whole


def test_files_of_bins_have_no_names(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert scratch_folder() == str(tmp_path)
    seen: list[list[str]] = []

    def look(row: Any) -> None:
        mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
        seen.append([*map(str, tmp_path.iterdir()), str(len(mapped))])

    ranker("rows by force", n_estimators=2, memory_limit=LIMIT).fit(TRAIN, valid=VALID, callbacks=look)
    # Columns and rows of the training documents, columns of the validation data, and the sampled rows.
    assert seen == [["4"], ["4"]]


def test_a_folder_that_takes_no_files_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: .*missing"):
        ranker("plain", memory_limit=LIMIT).fit(TRAIN)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("2G", 2 << 30),
        ("512m", 512 << 20),
        ("1.5 GiB", 3 << 29),
        ("300000K", 300_000 << 10),
        ("1TB", 1 << 40),
        (268435456, 256 << 20),
        ("268435456", 256 << 20),
    ],
)
def test_sizes(given, wanted):
    assert parse_bytes(given) == wanted


@pytest.mark.parametrize("given", ["", "2X", "-1G", "G", 1.5, True, None, "255M", 1 << 20, "2G2"])
def test_what_is_not_a_size(given):
    with pytest.raises(ValueError, match=r"is not a size|are fewer than"):
        parse_bytes(given)


def test_a_limit_that_documents_do_not_fit_into_is_refused_before_any_work():
    limit = MemoryLimit(1 << 30, "/nowhere")
    assert limit.for_histograms(7_000_000, 100) == 2**30 - 192 * 2**20 - 700_000_000
    with pytest.raises(ParameterError, match=r"1073741824 is too small for 10,000,000 documents.*memory_limit=1178M"):
        limit.for_histograms(10_000_000, 100)  # 192 MiB + 10⁹ bytes + 32 MiB = 1177.7 MiB
    with pytest.raises(ParameterError, match=r"268435456 is too small for 1,000,000 documents"):
        growing.TreeBooster(
            podium.models.TreesSpec(),
            podium.RankingData(np.zeros((1_000_000, 1), np.float32), np.zeros(1_000_000), np.arange(1_000_000) // 100),
            base=np.zeros(1),
            seed=0,
            num_threads=1,
            memory=MemoryLimit(256 << 20, "/nowhere"),
        )


@pytest.mark.parametrize("kind", [podium.RankNet, podium.RankSVM, podium.AdaRank, podium.PRank, podium.ListNet])
def test_rankers_that_keep_features_in_memory_refuse_a_limit(kind):
    with pytest.raises(ParameterError, match="memory_limit needs boosted trees"):
        kind(memory_limit="1G").fit(TRAIN)
    with pytest.raises(ParameterError, match="must be a size of at least 256M"):
        kind(memory_limit="1M").fit(TRAIN)


def test_the_limit_is_not_saved(tmp_path):
    fitted = podium.MART(n_estimators=2, memory_limit=LIMIT).fit(TRAIN)
    fitted.save(tmp_path / "m")
    assert podium.load(tmp_path / "m").memory_limit is None
    assert "memory_limit" not in fitted.resolved_
