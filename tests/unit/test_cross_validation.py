from __future__ import annotations

import numpy as np
import pytest

import podium

DATA = podium.synthetic.network(queries=23, documents=6, features=4, seed=3)


def test_every_query_is_scored_by_a_ranker_that_never_saw_it():
    result = podium.cross_validate(podium.ListNet(epochs=2), DATA, folds=4, seed=5)
    assert sorted(np.concatenate([fold.queries for fold in result.folds])) == list(range(23))
    for fold, (train, test) in zip(result.folds, podium.folds(DATA, 4, seed=5), strict=True):
        alone = podium.ListNet(epochs=2).fit(train)
        expected = alone.predict(test)
        np.testing.assert_array_equal(fold.ranker.predict(test), expected)
        rows = np.isin(DATA.document_queries, fold.queries)
        np.testing.assert_array_equal(DATA.from_caller_order(result.scores)[rows], test.from_caller_order(expected))
        assert fold.evaluation.mean["ndcg@10"] == podium.evaluate(expected, test, "ndcg@10").mean["ndcg@10"]
    whole = podium.evaluate(result.scores, DATA, "ndcg@10")
    assert result.evaluation.mean["ndcg@10"] == whole.mean["ndcg@10"]
    assert result.evaluation.interval["ndcg@10"] == whole.interval["ndcg@10"]


@pytest.mark.filterwarnings("ignore:the solver stopped after")
def test_rows_in_any_order_give_the_same_scores():
    order = np.random.default_rng(0).permutation(DATA.n_documents)
    ids = DATA.query_ids[DATA.document_queries]
    plain = podium.RankingData(DATA.features, DATA.labels, ids)
    mixed = podium.RankingData(DATA.features[order], DATA.labels[order], ids[order])
    ranker = podium.RankSVM(epochs=5)
    first, second = (podium.cross_validate(ranker, data, folds=3) for data in (plain, mixed))
    assert second.evaluation.mean["ndcg@10"] == pytest.approx(first.evaluation.mean["ndcg@10"], abs=1e-3)
    np.testing.assert_allclose(second.scores, first.scores[order], atol=1e-6)


def test_a_share_is_set_apart_for_validation():
    seen = []
    result = podium.cross_validate(
        podium.RankNet(epochs=3), DATA, folds=3, valid_share=0.25, metrics=["map", "ndcg@5"], callbacks=[seen.append]
    )
    assert all(row.valid is not None for row in seen)
    assert [(fold.n_train, fold.n_valid, len(fold.queries)) for fold in result.folds] == [
        (11, 4, 8),
        (11, 4, 8),
        (12, 4, 7),
    ]
    assert list(result.evaluation.mean) == ["map", "ndcg@5"]
    assert "fold 3: map 0." in str(result)
    assert result.to_dict()["all"]["n_queries"] == 23


def test_the_ranker_given_is_not_touched_and_bad_input_is_refused():
    ranker = podium.RankNet(epochs=1)
    podium.cross_validate(ranker, DATA, folds=2)
    assert not hasattr(ranker, "model_")
    with pytest.raises(podium.ParameterError, match="valid_share=1 must lie between 0 and 1"):
        podium.cross_validate(ranker, DATA, valid_share=1)
    with pytest.raises(podium.DataError, match="24 folds of 23 queries"):
        podium.cross_validate(ranker, DATA, folds=24)


def test_ctrl_c_is_raised():
    def interrupt(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        podium.cross_validate(podium.RankNet(), DATA, callbacks=[interrupt])
