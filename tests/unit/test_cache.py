"""The binary cache: exact round trips, memory mapping, streaming, and checks of damaged files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import safetensors.numpy

import podium
from podium.formats import letor
from podium.formats.cache import convert_letor, read_cache, write_cache
from podium.formats.letor import read_letor
from podium.formats.letor_rows import LetorOptions

# Converts with the address space that the interpreter and NumPy take, and some room.
LIMITED = """
import pathlib, resource, sys, tempfile
import podium
with tempfile.TemporaryDirectory() as folder:  # loads what a conversion needs, and starts its threads
    tiny = pathlib.Path(folder, "tiny.txt")
    tiny.write_text("1 qid:1 1:0.5\\n0 qid:1 1:0.25\\n")
    podium.convert(tiny, pathlib.Path(folder, "tiny.podium-data"), num_threads=2)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {room},) * 2)
podium.convert(sys.argv[1], sys.argv[2], num_threads=2)
"""


def full_data() -> podium.RankingData:
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(7, 3)), [0, 1, np.nan, 1, 0, 0, 1]]).astype(np.float32)
    X[2, 1] = np.nan
    return podium.RankingData(
        X,
        rng.normal(size=7),
        ["ü", "b", "ü", "b", "b", "c", "c"],
        document_ids=["", "α", "b", "c", "d", "e", "f"],
        document_weights=np.arange(7),
        query_weights={"ü": 1, "b": 2.5, "c": 0},
        pairs=podium.Pairs.of([0, 1], [2, 3], [0.5, 1]),
        feature_names=["x", "y", "z", "brand"],
        categorical_features={"brand": ["acme", "bolt"]},
    )


def assert_same(a: podium.RankingData, b: podium.RankingData) -> None:
    for name in podium.RankingData.PARTS:
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
            assert left.dtype == right.dtype
        else:
            assert left == right


def test_round_trip_keeps_every_part(tmp_path):
    data = full_data()
    write_cache(data, tmp_path / "a.podium-data")
    assert_same(podium.read(tmp_path / "a.podium-data"), data)


@pytest.mark.parametrize(
    "categories", [{"x": ["b", "a"]}, ["y"], {"z": ["only"], "x": None, "y": ["p", "q", "r"]}, {"x": [], "y": ["p"]}]
)
def test_categories_are_kept(tmp_path, categories):
    data = full_data()
    codes = np.where([True, False, False, False], np.nan, np.zeros_like(data.features))
    data = data.replace(features=codes, categorical_features=categories)
    write_cache(data, tmp_path / "a.podium-data")
    assert_same(podium.read(tmp_path / "a.podium-data"), data)


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_what_sparse_text_leaves_out_is_remembered(tmp_path, absent):
    (tmp_path / "a.letor").write_text("1 qid:1 1:5\n0 qid:1 2:6\n")
    data = podium.read(tmp_path / "a.letor", absent=absent)
    podium.convert(tmp_path / "a.letor", tmp_path / "streamed.podium-data", read_options={"absent": absent})
    podium.write(data, tmp_path / "written.podium-data")
    for name in ("streamed", "written"):
        again = podium.read(tmp_path / f"{name}.podium-data").absent_value
        np.testing.assert_equal(again, {"zero": 0.0, "missing": np.nan}[absent])


@pytest.mark.parametrize("features", [0, 1, 2, 3])
def test_arrays_are_aligned_whatever_the_shape(tmp_path, features):
    data = podium.RankingData(np.ones((3, features)), [1, 2, 3], [1, 1, 2])
    write_cache(data, tmp_path / "a.podium-data")
    back = read_cache(tmp_path / "a.podium-data")
    assert_same(back, data)
    assert back.labels.flags.aligned
    assert back.query_offsets.flags.aligned


def test_safetensors_reads_it_too(tmp_path):
    data = full_data()
    write_cache(data, tmp_path / "a.podium-data")
    tensors = safetensors.numpy.load_file(tmp_path / "a.podium-data")
    np.testing.assert_array_equal(tensors["features"], data.features)
    np.testing.assert_array_equal(tensors["labels"], data.labels)


def test_what_is_read_cannot_be_written_to(tmp_path):
    write_cache(full_data(), tmp_path / "a.podium-data")
    with pytest.raises(ValueError, match="read-only"):
        read_cache(tmp_path / "a.podium-data").features[0, 0] = 1


@pytest.mark.parametrize("keep", [0, 4, 100, 4096, 4100, -1])
def test_a_cut_file_is_refused(tmp_path, keep):
    file = tmp_path / "a.podium-data"
    write_cache(full_data(), file)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(podium.FormatError, match=r"cut short|damaged"):
        read_cache(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["__metadata__"].update(version="99"), "version 99"),
        (lambda h: h["__metadata__"].update(kind="model"), "not of 'podium-data'"),
        (lambda h: h.pop("__metadata__"), "damaged"),
        (lambda h: h.pop("labels"), "damaged"),
        (lambda h: h["labels"].update(dtype="X9"), "damaged"),
        (lambda h: h["labels"].update(shape=[3]), "damaged"),
        (lambda h: h.pop("categories.counts"), "damaged"),
        (lambda h: h.update({"categories.columns": h["query_offsets"]}), "categories do not add up"),
        (lambda h: h["features"].update(shape=[28, 1]), "damaged"),
        (lambda h: h["labels"].update(data_offsets=[0, 10**12]), "damaged"),
        (lambda h: h["query_offsets"].update(data_offsets=h["row_order"]["data_offsets"], shape=[7]), "damaged"),
    ],
)
def test_a_damaged_header_is_refused(tmp_path, change, message):
    file = tmp_path / "a.podium-data"
    write_cache(full_data(), file)
    raw = file.read_bytes()
    header = json.loads(raw[8:4096])
    change(header)
    file.write_bytes(raw[:8] + json.dumps(header).encode().ljust(4088) + raw[4096:])
    with pytest.raises(podium.FormatError, match=message):
        read_cache(file)


@pytest.mark.parametrize("name", ["document_ids", "query_ids", "feature_names"])
@pytest.mark.parametrize("change", ["fall", "begin late", "end early", "pass the end"])
def test_offsets_of_texts_that_do_not_add_up_are_refused(tmp_path, name, change):
    """A text that ends before it begins would be read as empty, and the next would repeat its bytes."""
    file = tmp_path / "a.podium-data"
    write_cache(full_data(), file)
    raw = bytearray(file.read_bytes())
    begin, end = json.loads(raw[8:4096])[f"{name}.offsets"]["data_offsets"]
    offsets = np.frombuffer(raw[4096 + begin : 4096 + end], np.int64).copy()
    if change == "fall":
        offsets[1] = offsets[2] + 1
    else:
        offsets[{"begin late": 0}.get(change, -1)] += -1 if change == "end early" else 1
    raw[4096 + begin : 4096 + end] = offsets.tobytes()
    file.write_bytes(raw)
    with pytest.raises(podium.FormatError, match=f"damaged \\({name} does not add up\\)"):
        read_cache(file)


def test_random_damage_is_refused_or_harmless(tmp_path):
    """Whichever bytes are changed, reading gives consistent data or a FormatError."""
    file = tmp_path / "a.podium-data"
    write_cache(full_data(), file)
    whole = file.read_bytes()
    used = [k for k in range(len(whole)) if k < 1400 or k >= 4096]
    rng, refused = np.random.default_rng(0), 0
    for _ in range(1500):
        damaged = bytearray(whole)
        for k in rng.choice(used, rng.integers(1, 4)):
            damaged[k] = rng.integers(256)
        file.write_bytes(damaged)
        try:
            data = read_cache(file)
        except podium.FormatError:
            refused += 1
            continue
        assert len(data.to_caller_order(data.labels)) == data.n_documents
        assert data.select([0]).n_queries == 1
    assert 500 < refused < 1500


@pytest.mark.parametrize(
    "header",
    [b"[]", b'{"__metadata__":"x"}', b'{"__metadata__":{"kind":"podium-data","version":"1"},"labels":[]}', b"[" * 3000],
)
def test_odd_headers_are_refused(tmp_path, header):
    (tmp_path / "a.podium-data").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 64)
    with pytest.raises(podium.FormatError, match=r"damaged|not a Podium"):
        read_cache(tmp_path / "a.podium-data")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.podium-data").write_bytes(b"\x89PNG\r\n\x1a\n" * 100)
    with pytest.raises(podium.FormatError, match="not a Podium data cache"):
        read_cache(tmp_path / "a.podium-data")


@pytest.mark.parametrize("block_bytes", [32, 200, 1 << 20])
def test_streaming_equals_reading_and_writing(tmp_path, monkeypatch, block_bytes):
    """This includes later blocks with more features, or with index 0."""
    monkeypatch.setattr(letor, "LEAST_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(letor, "MOST_BLOCK_BYTES", block_bytes)
    texts = {
        "growing": "".join(
            f"{k % 3} qid:{k // 5} " + " ".join(f"{i}:{i + k / 7}" for i in range(1, k + 2, 2)) + f" # d{k}\n"
            for k in range(40)
        ),
        "late zero": "".join(f"1 qid:{k // 5} {0 if k > 20 else 3}:{k}\n" for k in range(40)),
        "no features": "1 qid:1\n" * 9,
        "no features at first": "# comment\n" * 50 + "1 qid:1\n" * 9 + "1 qid:1 7:1\n",
    }
    for text in texts.values():
        (tmp_path / "a.txt").write_text(text)
        for absent in ("zero", "missing"):
            convert_letor(tmp_path / "a.txt", tmp_path / "streamed.podium-data", LetorOptions(absent), num_threads=2)
            write_cache(read_letor(tmp_path / "a.txt", absent=absent), tmp_path / "whole.podium-data")
            assert (tmp_path / "streamed.podium-data").read_bytes() == (tmp_path / "whole.podium-data").read_bytes()


def test_a_bad_line_leaves_no_file_behind(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:5\n" * 1000 + "1 qid:1 oops\n")
    with pytest.raises(podium.FormatError, match=":1001:9:"):
        podium.convert(tmp_path / "a.txt", tmp_path / "a.podium-data")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_sparse_text_streams_too(tmp_path):
    """Wide rows are written a few at a time, in a process without room for all of them."""
    rng = np.random.default_rng(0)
    with (tmp_path / "wide.txt").open("w") as file:
        for k in range(1500):
            columns = np.sort(rng.choice(50_000, 5, replace=False)) + 1
            file.write(f"{k % 3} qid:{k // 10} " + " ".join(f"{c}:{c % 7 + 1}" for c in columns) + "\n")
        file.write("1 qid:last 50000:1\n")
    script = LIMITED.format(room=160 << 20)
    command = [sys.executable, "-c", script, tmp_path / "wide.txt", tmp_path / "wide.podium-data"]
    subprocess.run(command, check=True, env={"MALLOC_ARENA_MAX": "1", "PATH": ""})
    data = read_cache(tmp_path / "wide.podium-data")
    assert data.features.shape == (1501, 50_000)
    assert (data.features[:-1] != 0).sum() == 7500


def test_a_mistyped_index_does_not_ask_for_all_memory(tmp_path):
    (tmp_path / "typo.txt").write_text("1 qid:1 1:5\n" * 200 + "1 qid:1 16000000:5\n")
    for act in (podium.read, lambda path: podium.convert(path, tmp_path / "typo.podium-data")):
        with pytest.raises(
            podium.FormatError, match=r"index 16000000 would make 201 documents take 12.0 GiB.*n_features=16000000"
        ):
            act(tmp_path / "typo.txt")


def test_a_file_three_times_the_memory_limit_is_converted(tmp_path):
    """The process may have no more address space than the interpreter with NumPy takes plus 128 MiB; about 60 are enough."""
    row = " ".join(f"{i}:0.{i:02d}{'1234567890' * 3}" for i in range(1, 41))
    chunk = "".join(f"{k % 5} qid:{{q}}{k // 100} {row}\n" for k in range(1000))
    source, target = tmp_path / "big.txt", tmp_path / "big.podium-data"
    with source.open("w") as file:
        for q in range(10**9):
            file.write(chunk.format(q=q))
            if file.tell() > 3 * (128 << 20):
                break
    subprocess.run(
        [sys.executable, "-c", LIMITED.format(room=128 << 20), source, target],
        check=True,
        env={"MALLOC_ARENA_MAX": "1", "PATH": ""},
    )
    data = read_cache(target)
    assert data.n_features == 40
    assert data.n_documents == 1000 * (q + 1)
    np.testing.assert_array_equal(data.features[0], data.features[-1])


@pytest.fixture
def large(tmp_path):
    """A cache of many pages."""
    data = podium.synthetic.network(queries=40, documents=50, features=40, seed=0)
    podium.write(data, tmp_path / "large.podium-data")
    return tmp_path / "large.podium-data", data.features.copy()


@pytest.mark.parametrize("use", ["numpy", "a kernel", "training"])
def test_a_cache_that_becomes_shorter_while_it_is_mapped_is_an_error(large, use):
    path, _ = large
    data = podium.read(path)
    ranker = podium.RankNet(epochs=3, hidden=(4,))
    model = podium.RankNet(epochs=1).fit(data) if use == "a kernel" else None
    os.truncate(path, 8192)

    def act():
        if use == "numpy":
            data.features.sum()
        elif model is not None:
            model.predict(data)
        else:
            ranker.fit(data)
        return

    with pytest.raises(podium.FormatError, match=rf"{path}: became shorter while it was in use"):
        act()


def test_each_mapping_is_watched_for_as_long_as_it_lives(large):
    path, features = large
    kept = podium.read(path).features[-1:]
    for _ in range(5000):  # more than can be watched at once
        podium.read(path)
    np.testing.assert_array_equal(kept[0], features[-1])
    os.truncate(path, 8192)
    with pytest.raises(podium.FormatError, match="became shorter"):
        kept.sum()


def test_too_many_mappings_are_read_instead(large):
    path, features = large
    held = [podium.read(path) for _ in range(4100)]
    os.truncate(path, 8192)
    np.testing.assert_array_equal(held[-1].features, features)
    with pytest.raises(podium.FormatError, match="became shorter"):
        held[0].features.sum()


def test_other_threads_read_instead_of_mapping(large):
    path, features = large
    found = []
    thread = threading.Thread(target=lambda: found.append(podium.read(path)))
    thread.start()
    thread.join()
    os.truncate(path, 8192)
    np.testing.assert_array_equal(found[0].features, features)


@pytest.mark.parametrize("how", ["os.kill(os.getpid(), signal.SIGBUS)", "pages[5000]"])
def test_bus_errors_of_others_still_end_the_process(large, how):
    path, _ = large
    script = f"""
import faulthandler, mmap, os, signal, sys, podium
data = podium.read(sys.argv[1])
with open(sys.argv[1] + "-other", "wb+") as file:
    file.truncate(8192)
    pages = mmap.mmap(file.fileno(), 8192)
    file.truncate(0)
    {how}
"""
    ended = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert ended.returncode == -signal.SIGBUS
