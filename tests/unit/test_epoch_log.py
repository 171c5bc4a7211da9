"""The log grows by one row per epoch in constant time, and earlier states of it stay as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import podium
from podium.training.progress import Epoch, EpochLog

TRAIN = podium.synthetic.network(queries=6, documents=8, features=4, hidden=3, seed=0)


def row(number: int) -> Epoch:
    return Epoch(epoch=number, train=None, valid=None, cost=None, learning_rate=1.0, restart=0, best=False, seconds=0.0)


def test_a_longer_log_shares_its_rows_and_leaves_the_shorter_one_alone() -> None:
    rows = [row(number) for number in range(1, 6)]
    logs = [EpochLog()]
    for each in rows:
        logs.append(logs[-1].appended(each))
    for length, log in enumerate(logs):
        assert len(log) == length
        assert list(log) == rows[:length]
        assert log[:] == rows[:length]
        assert log[-2:] == rows[:length][-2:]
    assert logs[-1][-1] is rows[-1]
    with pytest.raises(IndexError):
        logs[2][2]
    assert len({id(log._rows) for log in logs}) == 1, "rows were copied"


def test_two_logs_that_continue_one_do_not_mix() -> None:
    first = EpochLog([row(1)])
    one, other = first.appended(row(2)), first.appended(row(3))
    assert [[each.epoch for each in log] for log in (first, one, other)] == [[1], [1, 2], [1, 3]]


def test_a_round_of_boosting_reads_no_earlier_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long trainings would slow down if every round went through the whole log."""
    read = []
    plain = EpochLog.__iter__

    def counted(log: EpochLog) -> Iterator[Epoch]:
        read.append(len(log))
        return plain(log)

    monkeypatch.setattr(EpochLog, "__iter__", counted)
    made = podium.LambdaMART(n_estimators=30, early_stopping_rounds=None, metric="ndcg@5").fit(TRAIN, valid=TRAIN)
    assert len(made.log_) == 30
    assert read == [30], "only the finished log is gone through"
