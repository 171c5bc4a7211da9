"""Forces, descent and laws: the numbers are those of Podium's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from asking import Asker

import podium
from podium.forces import FORCES
from podium.studio.presets import COST_OF_LIFTING, presets

WTA = "winner-takes-all-1000"
FIVE = "five-levels"
MOVED = [name for name, each in FORCES.items() if each.outputs == "one"]


def scene_data(name: str) -> podium.RankingData:
    scene = presets()[name]
    return podium.RankingData(np.zeros((len(scene.labels), 1)), scene.labels, np.zeros(len(scene.labels)))


def ask(asker: Asker, path: str, **changed: object):
    scores = presets()[FIVE].scores.tolist()
    return asker.post(path, {"preset": FIVE, "scores": scores, "force": "ranknet", "metric": "ndcg@10", **changed})


@pytest.mark.parametrize("name", MOVED)
def test_every_offered_force_gives_the_numbers_of_the_library(asker, name):
    force = podium.force(FORCES[name].example)
    data, scores = scene_data(FIVE), np.array([0.3, -1, 2, 0.5, 0, 1.5, -0.2, 0.1, 0.9, -2])
    found = ask(asker, "examine", force=str(force), scores=scores.tolist(), metric="ndcg@5").json
    more = {"parameters": force.own_values(data)} if force.definition.has_thresholds else {}
    assert found["force"] == force(scores, data, **more)[0].tolist()
    assert found["sum_of_forces"] == pytest.approx(sum(found["force"]), abs=1e-12)
    assert found["cost"] == (force.cost(scores, data, **more)[0] if force.has_cost else None)
    values = podium.evaluate(scores, data, ["ndcg@5", "wta", "ndcg", "pairwise_error"]).mean
    assert [found[key] for key in ("value", "wta", "ndcg", "pairwise_error")] == list(values.values())
    assert found["ranks"] == (np.argsort(np.argsort(-scores, kind="stable")) + 1).tolist()
    assert found["scores"] == scores.tolist()


def test_every_offered_setting_can_be_changed(asker):
    offered = {each["name"]: each for each in asker.get("state").json["forces"]}
    other = {"flag": lambda value, _: not value, "choice": lambda value, words: repr(words[-1])}
    for name, each in offered.items():
        for setting in each["settings"]:
            change = other.get(setting["kind"], lambda value, _: 2 if value == 1 else (value or 0) + 0.25)
            value = change(setting["default"], setting["choices"])
            value = round(value + 0.5) if setting["kind"] == "integer" else value
            first = FORCES[name].example.removeprefix(name).strip("()")
            inside = [part for part in (first, f"{setting['name']}={value}") if part]
            text = f"{name}({', '.join(inside)})"
            reply = ask(asker, "examine", force=text)
            assert reply.status == 200, (text, reply.body)


def test_a_query_of_the_data_starts_at_its_standing(asker):
    scene = asker.get("scene", query=3, ranking="trees").json
    scores = asker.workspace.ranking("trees").scores[24:32]
    assert scene["scores"] == pytest.approx(((scores - scores.mean()) / scores.std()).tolist(), rel=1e-12)
    assert scene["labels"] == asker.workspace.data.labels[24:32].tolist()
    assert scene["names"] == [f"doc-{k}" for k in range(24, 32)]
    body = {"query": 3, "ranking": "trees", "scores": scene["scores"], "force": "lambdarank(ndcg@10)"}
    found = asker.post("examine", body).json
    data = asker.workspace.data.select([3])
    assert found["force"] == podium.force("lambdarank(ndcg@10)")(scene["scores"], data)[0].tolist()


def test_documents_move_freely_by_rate_times_force(asker):
    scores = presets()[FIVE].scores
    points = ask(asker, "descend", rate=0.3, steps=3).json["points"]
    assert len(points) == 3
    for point in points:
        scores = scores + 0.3 * podium.force("ranknet")(scores, scene_data(FIVE))[0]
        assert point["scores"] == scores.tolist()
        assert point["force"] == podium.force("ranknet")(scores, scene_data(FIVE))[0].tolist()


def test_documents_move_as_gradient_descent_moves_a_linear_model(asker):
    """The scores of s = X w after a step of w by rate · Xᵀλ."""
    scene = presets()[FIVE]
    X, weights = scene.basis, np.zeros(3)
    for point in ask(asker, "descend", rate=0.1, steps=4, movement="linear").json["points"]:
        force = podium.force("ranknet")(scene.scores + X @ weights, scene_data(FIVE))[0]
        weights = weights + 0.1 * X.T @ force
        assert point["scores"] == pytest.approx((scene.scores + X @ weights).tolist(), rel=1e-12, abs=1e-12)


def test_pairwise_error_falls_while_the_winner_is_lost(asker):
    """The source's example: D1 falls from rank 1 to 2 and D2 rises from 1000 to 3, which is 996 errors fewer."""
    scene = asker.get("scene", preset=WTA).json
    assert (scene["force"], scene["movement"], scene["labels"][:3]) == ("ranknet", "linear", [1, 1, 0])
    body = {"preset": WTA, "scores": scene["scores"], "force": "ranknet", "metric": "wta"}
    before = asker.post("examine", body).json
    assert (before["ranks"][:2], before["wta"], before["pairwise_error"] * 1996) == ([1, 1000], 1, 998)
    way = {**body, "movement": "linear", "rate": scene["rate"], "steps": 100}
    points = asker.post("descend", way).json["points"]
    after = points[-1]
    assert (after["ranks"][:2], after["wta"]) == ([2, 3], 0)
    assert after["pairwise_error"] * 1996 == pytest.approx(2)
    moved = np.array(after["scores"]) - scene["scores"]
    assert moved[0] == pytest.approx(-COST_OF_LIFTING * moved[1])
    assert not moved[2:].any()
    kept = asker.post("descend", {**way, "force": "lambdarank(wta)", "rate": 0.5}).json["points"]
    assert {point["wta"] for point in kept} == {1}


@pytest.mark.parametrize(
    ("preset", "documents", "before", "after"),
    [("winner-takes-all", 30, 0.7369, 0.6934), ("winner-takes-all-1000", 1000, 0.6747, 0.6934)],
)
def test_ndcg_falls_in_the_short_example_and_rises_in_the_long_one(asker, preset, documents, before, after):
    """Ranks 1 and n give a DCG of 1 + 1 / log2(n + 1), ranks 2 and 3 give 1 / log2(3) + 1 / 2; NDCG@10 sees no rank n."""
    best = 1 + 1 / np.log2(3)
    assert (1 + 1 / np.log2(documents + 1)) / best == pytest.approx(before, abs=5e-5)
    assert (1 / np.log2(3) + 0.5) / best == pytest.approx(after, abs=5e-5)
    scene = asker.get("scene", preset=preset).json
    body = {"preset": preset, "scores": scene["scores"], "force": "ranknet", "metric": "ndcg@10"}
    start = asker.post("examine", body).json
    way = {**body, "movement": "linear", "rate": scene["rate"], "steps": 100}
    end = asker.post("descend", way).json["points"][-1]
    assert end["ranks"][:2] == [2, 3]
    assert (start["ndcg"], end["ndcg"]) == pytest.approx((before, after), abs=5e-5)
    assert (start["value"], end["value"]) == pytest.approx((1 / best, after), abs=5e-5)


@pytest.mark.parametrize("force", ["ranknet", "lambdarank(ndcg@10)", "squared"])
def test_laws_are_those_of_the_library(asker, force):
    scene = presets()["two-documents"]
    found = asker.post(
        "laws", {"preset": "two-documents", "scores": [0.5, 0.25], "force": force, "metric": "ndcg@10"}
    ).json
    here = podium.laws(force, metric="ndcg@10", points=[([0.5, 0.25], scene.labels)], draws=0)
    assert found["here"] == here.to_dict()
    assert found["anywhere"] == podium.laws(force, metric="ndcg@10").to_dict()
    assert found["here"]["lists"] == 1


def test_the_laws_of_a_long_query_are_tested_elsewhere_only(asker):
    scores = presets()[WTA].scores.tolist()
    found = asker.post("laws", {"preset": WTA, "scores": scores, "force": "ranknet"}).json
    assert found["here"] is None
    assert found["anywhere"]["broken"] == []


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"force": "no_force"}, 422, "invalid_request"),
        ({"force": "ranknet(sigma=-1)"}, 422, "invalid_request"),
        ({"force": "lambdarank"}, 422, "invalid_request"),
        ({"force": "multiclass"}, 422, "unsuitable_force"),
        ({"force": "(" * 200}, 422, "invalid_request"),
        ({"force": "x" * 301}, 422, "invalid_body"),
        ({"metric": "ndcg@0"}, 422, "invalid_request"),
        ({"scores": [0.0]}, 422, "wrong_length"),
        ({"scores": [None] * 10}, 422, "invalid_body"),
        ({"scores": [1e7] * 10}, 422, "invalid_body"),
        ({"preset": "no such"}, 404, "unknown_preset"),
        ({"preset": "", "query": 10**6}, 404, "unknown_query"),
        ({"preset": "", "ranking": "no such"}, 404, "unknown_ranking"),
        ({"round": -1}, 422, "invalid_body"),
        ({"more": 1}, 422, "invalid_body"),
    ],
)
@pytest.mark.parametrize("path", ["examine", "descend", "laws"])
def test_bad_points_are_refused_with_a_sentence(asker, path, changed, status, code):
    assert ask(asker, path, **changed).refusal == (status, code)


@pytest.mark.parametrize(
    "changed", [{"rate": 0}, {"rate": 1e5}, {"steps": 0}, {"steps": 201}, {"movement": "sideways"}]
)
def test_bad_descents_are_refused_with_a_sentence(asker, changed):
    assert ask(asker, "descend", **changed).refusal == (422, "invalid_body")


def test_scores_that_run_away_are_refused_and_not_answered(asker):
    """Squared error with a step that is too large: the distance grows by a factor of 98 in each step."""
    assert ask(asker, "descend", force="squared", rate=99, steps=200).refusal == (422, "diverged")


def test_long_descents_end_early(asker, monkeypatch):
    monkeypatch.setattr("podium.studio.scenes.MOST_DESCENT_SECONDS", -1.0)
    assert len(ask(asker, "descend", steps=200).json["points"]) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b"\xff\xfe", b'{"scores": NaN}'])
def test_bodies_that_are_not_json_are_refused(asker, body):
    assert asker.post("examine", body).refusal[0] in (400, 422)
