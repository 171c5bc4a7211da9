"""Trainings in the studio give the models and the rows that Python gives, stop, and are saved where the studio was told to."""

from __future__ import annotations

import numpy as np
import pytest
from asking import Asker

import podium
from podium.data.splits import query_folds
from podium.studio.ranker_forms import MOST_ROUNDS
from podium.studio.trainings import free_path, split_queries

SETTINGS = {"n_estimators": 6, "num_leaves": 4, "learning_rate": 0.2}


def start(trainer: Asker, ranker: str = "lambdamart", settings: object = None, **more: object):
    given = SETTINGS if settings is None else settings
    return trainer.post("trainings", {"ranker": ranker, "metric": "ndcg@10", "settings": given, **more})


def ended(shown) -> bool:
    return shown["state"] != "running"


def test_a_training_is_the_one_that_python_makes(trainer):
    begun = start(trainer).json
    assert (begun["id"], begun["ranker"], begun["max_rounds"], begun["unit"]) == (1, "lambdamart", 6, "round")
    shown = trainer.follow(1, ended)
    assert (shown["state"], shown["message"], shown["rounds"]) == ("finished", "", 6)
    data = trainer.workspace.data
    train, valid = (data.select(numbers) for numbers in query_folds(data, 5)[0])
    ranker = podium.LambdaMART(metric="ndcg@10", num_threads=1, **SETTINGS).fit(train, valid=valid)
    assert [(row["round"], row["train"], row["valid"]) for row in shown["rows"]] == [
        (row.epoch, row.train, row.valid) for row in ranker.log_
    ]
    assert shown["best_round"] == ranker.best_epoch_
    assert (shown["train_queries"], shown["valid_queries"]) == (16, 4)
    assert shown["model"] == "lambdamart (training 1)"
    assert "lambdamart (training 1)" in trainer.get("state").json["rankings"]
    assert trainer.get("state").json["training"] == 1
    scores = trainer.workspace.ranking("lambdamart (training 1)").scores
    assert (scores == ranker.predict(data)).all()
    number = shown["watchable"][-1]["number"]
    assert shown["watchable"][-1]["title"] == f"query q{number}"
    ranking = trainer.get("trainings/1", query=number, since=4).json
    assert [row["round"] for row in ranking["rows"]] == [5, 6]
    assert ranking["ranking"]["query"] == number
    assert ranking["ranking"]["scores"] == scores[trainer.workspace.rows(number)].tolist()
    order = np.argsort(-scores[trainer.workspace.rows(number)], kind="stable")
    assert [ranking["ranking"]["ranks"][k] for k in order] == list(range(1, 9))


def test_means_leave_out_the_queries_that_a_model_was_trained_on(trainer):
    trainer.workspace.add(
        "given", podium.RankSVM(num_threads=1).fit(podium.split(trainer.workspace.data, (0.5, 0.5))[0])
    )
    start(trainer)
    name = trainer.follow(1, ended)["model"]
    data = trainer.workspace.data
    train, valid = query_folds(data, 5)[0]
    found = trainer.get("queries", first="given", second=name).json
    for key, ranking in (("first", "given"), ("second", name)):
        values = podium.evaluate(trainer.workspace.ranking(ranking).scores, data, "ndcg@10").per_query["ndcg@10"]
        assert found[f"{key}_mean"] == pytest.approx(values[valid].mean(), rel=1e-12)
    assert found["over"].startswith(f"over the 4 queries on which {name} was not trained")
    assert [row["number"] for row in found["queries"] if row["trained_on"]] == train.tolist()
    assert trainer.get(f"queries/{train[0]}", first="given", second=name).json["trained_on"] == [name]
    assert trainer.get(f"queries/{valid[0]}", first="given", second=name).json["trained_on"] == []
    alone = trainer.get("queries", first="given").json
    assert alone["over"] == ""
    assert not any(row["trained_on"] for row in alone["queries"])


def test_a_model_trained_on_the_very_data_is_marked(trainer):
    data = trainer.workspace.data
    trainer.workspace.add("same", podium.RankSVM(num_threads=1).fit(data))
    found = trainer.get("queries", first="same").json
    assert found["over"].startswith("over all queries; same was trained on them")
    assert found["first_mean"] is not None
    assert all(row["trained_on"] for row in found["queries"])


def test_an_empty_field_stands_for_none_where_the_setting_may_be_none(trainer):
    offered = {each["name"]: each for each in trainer.get("state").json["rankers"]}["lambdamart"]["settings"]
    stopping = {each["name"]: each for each in offered}["early_stopping_rounds"]
    assert stopping["empty_is_none"]
    assert stopping["description"].endswith("Empty means: never stop early.")
    assert not any("None" in each["description"] for each in offered)
    start(trainer, settings={**SETTINGS, "early_stopping_rounds": None})
    assert trainer.follow(1, ended)["rounds"] == SETTINGS["n_estimators"]


def test_a_training_is_stopped_saved_and_never_written_over(trainer):
    assert trainer.post("trainings/1/save").refusal == (404, "unknown_training")
    begun = start(trainer, settings={**SETTINGS, "n_estimators": MOST_ROUNDS}, pause=0.05).json
    shown = trainer.follow(begun["id"], lambda shown: shown["rounds"] >= 2)
    assert shown["ranking"] is not None
    assert start(trainer).refusal == (409, "busy")
    assert trainer.post("trainings/1/save").refusal == (409, "not_trained")
    assert trainer.post("trainings/1/stop").status == 200
    shown = trainer.follow(1, ended)
    assert shown["state"] == "stopped"
    assert 2 <= shown["rounds"] < MOST_ROUNDS
    assert not trainer.folder.exists()
    assert trainer.post("trainings/1/save").json == {"saved_as": "lambdamart-1.podium"}
    assert trainer.post("trainings/1/save").json == {"saved_as": "lambdamart-1.podium"}
    loaded = podium.load(trainer.folder / "lambdamart-1.podium")
    assert (loaded.predict(trainer.workspace.data) == trainer.workspace.ranking("lambdamart (training 1)").scores).all()
    start(trainer)
    trainer.follow(2, ended)
    assert trainer.post("trainings/2/save").json == {"saved_as": "lambdamart-2.podium"}
    assert sorted(path.name for path in trainer.folder.iterdir()) == ["lambdamart-1.podium", "lambdamart-2.podium"]


def test_only_the_best_documents_of_a_watched_query_are_sent(trainer, monkeypatch):
    monkeypatch.setattr("podium.studio.trainings.MOST_WATCHED", 3)
    start(trainer)
    ranking = trainer.follow(1, ended)["ranking"]
    rows = trainer.workspace.rows(ranking["query"])
    scores, labels = (
        trainer.workspace.ranking("lambdamart (training 1)").scores[rows],
        trainer.workspace.data.labels[rows],
    )
    best = sorted(np.argsort(-scores, kind="stable")[:3].tolist())
    assert ranking["documents"] == best
    assert ranking["names"] == [trainer.workspace.data.document_ids[rows.start + k] for k in best]
    assert (ranking["scores"], ranking["labels"]) == (scores[best].tolist(), labels[best].tolist())
    assert sorted(ranking["ranks"]) == [1, 2, 3]
    assert (ranking["n_documents"], ranking["levels"]) == (8, sorted(set(labels.tolist())))


def test_a_training_that_reaches_the_limit_of_time_says_so(trainer, monkeypatch):
    monkeypatch.setattr("podium.studio.trainings.MOST_SECONDS", -60.0)
    start(trainer)
    shown = trainer.follow(1, ended)
    assert (shown["state"], shown["rounds"]) == ("stopped", 1)
    assert shown["message"] == "It reached the limit of -1 minutes; its best round so far is kept."
    assert shown["model"] == "lambdamart (training 1)"


@pytest.mark.parametrize(
    ("ranker", "settings", "code"),
    [
        ("no_ranker", {}, "unknown_ranker"),
        ("../lambdamart", {}, "unknown_ranker"),
        ("lambdamart", {"n_estimators": 0}, "invalid_request"),
        ("lambdamart", {"n_estimators": "many"}, "invalid_request"),
        ("lambdamart", {"n_estimators": "os:system"}, "invalid_setting"),
        ("lambdamart", {"learning_rate": -1}, "invalid_request"),
        ("lambdamart", {"n_estimators": MOST_ROUNDS + 1}, "too_many_rounds"),
        ("lambdamart", {"num_threads": 4}, "unknown_setting"),
        ("lambdamart", {"metric": "os:system"}, "unknown_setting"),
        ("lambdamart", {"target": "os:system"}, "unknown_setting"),
    ],
)
def test_settings_that_do_not_fit_are_refused(trainer, ranker, settings, code):
    assert start(trainer, ranker, settings).refusal == (422, code)
    assert trainer.get("trainings/1").refusal == (404, "unknown_training")


def test_a_training_that_fails_says_why(trainer):
    data = trainer.workspace.data
    trainer.workspace.data = data.replace(labels=data.labels + 0.5)
    start(trainer, "ordinal", {"epochs": 5})
    shown = trainer.follow(1, ended)
    assert shown["state"] == "failed"
    assert "labels must be whole levels" in shown["message"]
    assert trainer.post("trainings/1/save").refusal == (409, "not_trained")


def test_a_folder_that_cannot_be_written_is_named(trainer):
    trainer.folder.write_text("a file")
    start(trainer)
    trainer.follow(1, ended)
    assert trainer.post("trainings/1/save").refusal == (409, "not_saved")
    assert trainer.folder.read_text() == "a file"


@pytest.mark.parametrize("pause", [-1, 6, "long"])
def test_pauses_are_limited(trainer, pause):
    assert start(trainer, pause=pause).refusal == (422, "invalid_body")


class Listener:
    """Keeps what a callback of training receives."""

    def __init__(self) -> None:
        self.scores: list[np.ndarray] = []
        self.rows: list[podium.Epoch] = []

    def __call__(self, row: podium.Epoch) -> None:
        self.rows.append(row)

    def receive_scores(self, scores: np.ndarray) -> None:
        self.scores.append(scores.copy())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LambdaMART", {"n_estimators": 4}),
        ("MART", {"n_estimators": 4}),
        ("RankNet", {"epochs": 3}),
        ("AdaRank", {"n_estimators": 3}),
        ("RankBoost", {"n_estimators": 3}),
        ("StructRank", {"epochs": 2}),
        ("RankProp", {"epochs": 3}),
        ("OrdinalRegression", {"epochs": 3}),
    ],
)
def test_a_callback_receives_the_scores_that_each_epoch_is_judged_by(asker, name, settings):
    data = asker.workspace.data.replace(feature_names=None)
    train, valid = (data.select(numbers) for numbers in query_folds(data, 5)[0])
    listener = Listener()
    features = np.nan_to_num(train.features), np.nan_to_num(valid.features)
    ranker = getattr(podium, name)(metric="ndcg@10", num_threads=1, **settings)
    ranker.fit(train.replace(features=features[0]), valid=valid.replace(features=features[1]), callbacks=listener)
    assert len(listener.scores) == len(listener.rows) > 0
    for scores, row in zip(listener.scores, listener.rows, strict=True):
        assert podium.evaluate(scores, valid, "ndcg@10").mean["ndcg@10"] == pytest.approx(row.valid, rel=1e-12)


def test_few_queries_are_all_trained_on_and_large_data_is_cut(monkeypatch):
    data = podium.synthetic.polynomial(queries=4, documents=3, features=2, seed=0)
    train, valid = split_queries(data)
    assert (train.tolist(), valid.tolist()) == ([0, 1, 2, 3], [])
    monkeypatch.setattr("podium.studio.trainings.MOST_TRAINING_DOCUMENTS", 30)
    data = podium.synthetic.polynomial(queries=50, documents=5, features=2, seed=0)
    train, valid = split_queries(data)
    assert (len(train), len(valid)) == (6, 1)
    assert not set(train) & set(valid)


def test_a_free_path_is_one_that_does_not_exist(tmp_path):
    (tmp_path / "mart-1.podium").touch()
    assert free_path(tmp_path, "mart") == tmp_path / "mart-2.podium"
