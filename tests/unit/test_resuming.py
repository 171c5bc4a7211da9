"""Resuming from a checkpoint: finished trainings and changed limits; and validation data with other features."""

from __future__ import annotations

import pytest

import podium

DATA = podium.synthetic.network(queries=12, documents=8, features=4, levels=3, seed=2)


@pytest.mark.parametrize(
    "ranker", [podium.RankSVM(), podium.RankSVM(loss="squared_hinge"), podium.KernelRankNet(epochs=15)], ids=str
)
def test_a_training_that_had_ended_gives_the_same_bytes_again(ranker, tmp_path):
    ranker.fit(DATA, checkpoint=tmp_path / "c").save(tmp_path / "first")
    ranker.fit(DATA, checkpoint=tmp_path / "c").save(tmp_path / "again")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_checkpoint_past_the_last_epoch_is_refused(tmp_path):
    podium.RankNet(epochs=5).fit(DATA, checkpoint=tmp_path / "c")
    expected = pytest.raises(
        podium.ParameterError, match=r"after epoch 5, and training is to end after epoch 3; remove"
    )
    with expected as raised:
        podium.RankNet(epochs=3).fit(DATA, checkpoint=tmp_path / "c")
    assert (raised.value.parameter, raised.value.value) == ("checkpoint", str(tmp_path / "c"))
    more = podium.RankNet(epochs=8).fit(DATA, checkpoint=tmp_path / "c")
    assert more.log_[-1].train == podium.RankNet(epochs=8).fit(DATA).log_[-1].train


def test_a_loaded_ranksvm_knows_its_c(tmp_path):
    podium.RankSVM(C=(0.01, 100.0)).fit(DATA, valid=DATA).save(tmp_path / "m")
    assert podium.load(tmp_path / "m").C_ in (0.01, 100.0)


def test_validation_data_with_other_features_is_refused():
    named = DATA.replace(feature_names=["a", "b", "c", "d"])
    with pytest.raises(podium.DataError, match="the validation data has no feature 'd'"):
        podium.RankNet(epochs=1).fit(named, valid=DATA.replace(feature_names=["b", "a", "c", "x"]))
