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


@pytest.mark.parametrize("parts", ["2+2+1", (2, 2, 1)])
def test_parts_are_trained_on_validated_on_and_tested_on(parts):
    result = podium.cross_validate(podium.RankNet(epochs=4, learning_rate=0.1), DATA, parts=parts, seed=2)
    dealt = [set(DATA.query_ids[fold.queries]) for fold in result.folds]
    assert sorted(len(part) for part in dealt) == [4, 4, 5, 5, 5]
    assert len(set.union(*dealt)) == 23
    ids = DATA.query_ids
    for k, fold in enumerate(result.folds):
        valid = dealt[(k + 1) % 5] | dealt[(k + 2) % 5]
        train = dealt[(k + 3) % 5] | dealt[(k + 4) % 5]
        held = [DATA.select([q for q in range(23) if ids[q] in part]) for part in (train, valid)]
        assert (fold.n_train, fold.n_valid) == (len(train), len(valid))
        alone = podium.RankNet(epochs=4, learning_rate=0.1).fit(held[0], valid=held[1])
        tested = DATA.select(fold.queries)
        np.testing.assert_array_equal(fold.ranker.predict(tested), alone.predict(tested))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": "2+2"}, "parts='2\\+2' must be three numbers of folds"),
        ({"parts": "2+2+2"}, "the last of them 1"),
        ({"parts": "a+b+1"}, "write '2\\+2\\+1'"),
        ({"parts": (0, 2, 1)}, "must be three numbers of folds"),
        ({"parts": 5}, "must be three numbers of folds"),
        ({"parts": "2+2+1", "folds": 4}, "folds=4 is not the sum of parts='2\\+2\\+1'"),
        ({"parts": "2+2+1", "valid_share": 0.2}, "valid_share=0.2 cannot be combined with parts="),
    ],
)
def test_parts_that_are_refused(options, message):
    with pytest.raises(podium.ParameterError, match=message):
        podium.cross_validate(podium.RankNet(epochs=1), DATA, **options)


def test_the_given_ranker_is_not_changed_and_bad_input_is_refused():
    ranker = podium.RankNet(epochs=1)
    podium.cross_validate(ranker, DATA, folds=2)
    assert not hasattr(ranker, "model_")
    with pytest.raises(podium.ParameterError, match="valid_share=1 must lie between 0 and 1"):
        podium.cross_validate(ranker, DATA, valid_share=1)
    with pytest.raises(podium.DataError, match="24 folds of 23 queries"):
        podium.cross_validate(ranker, DATA, folds=24)


def test_ctrl_c_raises_keyboard_interrupt():
    def interrupt(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        podium.cross_validate(podium.RankNet(), DATA, callbacks=[interrupt])
