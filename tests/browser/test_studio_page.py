"""The studio in a browser: every number on the page is the one that the interface returns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from watching import CEILING_MS, DESKTOP, PHONE, Watcher

import podium
from studio_process import OpenStudio, studio_process

D1, D2 = 0, 1  # the relevant documents of the example
READINGS = ("cost", "value", "wta", "ndcg", "pairwise_error", "sum_of_forces")
HOSTILE = "<img src=x onerror=alert(1)>"
SCENES = {"forces": ("five-levels", 2), "winner": ("winner-takes-all", 7)}  # examples, and steps until the picture
READY = ".forces[data-pending='0'] .laws li"


@pytest.fixture(scope="module")
def studio(watcher: Watcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStudio]:
    """`podium studio` without data."""
    with studio_process(tmp_path_factory.mktemp("studio")) as found:
        yield found


def until(page: Any, expression: str) -> None:
    """Wait until an expression is true on the page. The page's policy forbids playwright's own way to do it."""
    for _ in range(CEILING_MS // 20):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{expression} did not come true")


def quiet(page: Any) -> None:
    """Wait until all requests of the page about forces have been answered."""
    page.wait_for_selector(READY)


def document(page: Any, k: int) -> Any:
    return page.locator(f".stage g.document[data-document='{k}']")


def shown(page: Any) -> dict[str, Any]:
    """The numbers that the page about forces shows."""
    return page.evaluate(
        """() => {
          const all = [...document.querySelectorAll('.stage g.document')].sort((a, b) => a.dataset.document - b.dataset.document);
          const number = (text) => (text === '' ? null : Number(text));
          const found = { scores: all.map((each) => Number(each.dataset.score)), force: all.map((each) => Number(each.dataset.force)),
            ranks: all.map((each) => Number(each.dataset.rank)), arrows: all.map((each) => each.querySelector('.arrow').getAttribute('class')) };
          for (const each of document.querySelectorAll('dd[data-value-of]')) found[each.dataset.valueOf] = number(each.dataset.value);
          return found;
        }"""
    )


def check_numbers(page: Any, studio: OpenStudio, force: str, metric: str, round: int = 0) -> dict[str, Any]:
    """Compare everything that the page shows with what the interface says about the same scores."""
    found = shown(page)
    body = {"preset": "winner-takes-all", "scores": found["scores"], "force": force, "metric": metric, "round": round}
    wanted = studio.ask("examine", body)
    for name in ("scores", "force", "ranks", *READINGS):
        assert found[name] == wanted[name], name
    for arrow, push in zip(found["arrows"], found["force"], strict=True):
        assert arrow == f"arrow {'up' if push >= 0 else 'down'}"
    return found


def test_a_document_is_dragged_by_mouse_and_everything_follows(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        before = check_numbers(page, studio, "ranknet", "ndcg@10")
        assert before["ranks"][:2] == [1, 30]
        box = document(page, D2).locator(".point").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 6):
            page.mouse.move(x, y - 30 * step)
        until(page, f"document.querySelector('[data-document=\"{D2}\"]').dataset.rank < 20")  # while it is held
        page.mouse.up()
        quiet(page)
        after = check_numbers(page, studio, "ranknet", "ndcg@10")
        assert after["scores"][D2] > before["scores"][D2] + 1
        assert after["pairwise_error"] < before["pairwise_error"]
        assert [a == b for a, b in zip(after["scores"], before["scores"], strict=True)].count(False) == 1
        assert document(page, D2).locator(".arrow").get_attribute("d").startswith("M")


def test_a_document_is_moved_by_touch_on_a_phone(watcher, studio):
    with watcher.page(PHONE, touch=True) as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        before = shown(page)
        document(page, D2).scroll_into_view_if_needed()
        box = document(page, D2).locator(".point").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch = page.context.new_cdp_session(page)
        for kind, moved in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchEnd", None)):
            points = [] if moved is None else [{"x": x, "y": y - moved}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        until(page, f"document.querySelector('[data-document=\"{D2}\"]').dataset.rank < 30")
        quiet(page)
        after = check_numbers(page, studio, "ranknet", "ndcg@10")
        assert after["scores"][D2] > before["scores"][D2]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_documents_are_moved_by_keyboard(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        document(page, D1).focus()
        for key, rank in (("End", 30), ("Home", 1), ("PageDown", 2)):
            page.keyboard.press(key)
            until(page, f"document.querySelector('[data-document=\"{D1}\"]').dataset.rank == {rank}")
            quiet(page)
            check_numbers(page, studio, "ranknet", "ndcg@10")
        before = shown(page)["scores"][D1]
        page.keyboard.press("ArrowUp")
        until(page, f"Number(document.querySelector('[data-document=\"{D1}\"]').dataset.score) > {before}")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.document") == str(D2)
        text = document(page, D2).get_attribute("aria-valuetext")
        assert re.fullmatch(r"score −2.50, rank \d+ of 30, label 1, force \+[\d.]+", text)


def test_forces_metrics_parameters_and_laws_are_chosen(watcher, studio):
    with watcher.page() as watched:
        watched.expected = "status of 422"  # Chromium logs refused requests
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_label("Force", exact=True).select_option("regularized")
        page.get_by_label("Force inside", exact=True).select_option("lambdarank")
        page.get_by_label("Metric", exact=True).fill("map")
        page.get_by_label("Metric", exact=True).press("Tab")
        page.get_by_text("Parameters of the force").click()
        page.get_by_label("sigma", exact=True).fill("2")
        page.get_by_label("sigma", exact=True).press("Tab")
        name = "regularized(lambdarank(map, sigma=2))"
        until(page, f"document.querySelector('.force-name').textContent === '{name}'")
        quiet(page)
        found = check_numbers(page, studio, name, "map")
        assert found["cost"] is None
        body = {"preset": "winner-takes-all", "scores": found["scores"], "force": name, "metric": "map"}
        wanted = studio.ask("laws", body)
        for law, finding in wanted["anywhere"]["laws"].items():
            text = page.locator(f".laws li[data-law='{law}']").inner_text()
            assert f"random lists: {'no violation' if finding['holds'] else 'broken'}" in text
            assert f"here: {'holds' if wanted['here']['laws'][law]['holds'] else 'broken'}" in text
        page.get_by_label("Metric", exact=True).fill("no_metric")
        page.get_by_label("Metric", exact=True).press("Tab")
        page.get_by_role("alert").get_by_text("unknown metric 'no_metric'").wait_for()


class Held:
    """Holds the requests of a page to one part of the interface until they are let go."""

    def __init__(self, page: Any, path: str) -> None:
        self.page, self.path = page, path
        self.waiting: list[Any] = []
        self.released = False
        page.route(f"**/studio/api/{path}", lambda route: self._hold(route))

    def _hold(self, route: Any) -> None:
        if self.released:
            route.continue_()
        else:
            self.waiting.append(route)

    def wait(self) -> None:
        """Wait until a request is held."""
        for _ in range(CEILING_MS // 20):
            if self.waiting:
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"the page did not ask for {self.path}")

    def pass_one(self) -> None:
        """Let the oldest request go."""
        self.wait()
        self.waiting.pop(0).continue_()

    def release(self) -> None:
        """Let all requests go, these and those that come."""
        self.released = True
        while self.waiting:
            self.waiting.pop(0).continue_()


def test_moves_are_kept_while_an_answer_is_awaited(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        before = shown(page)["scores"]
        unit = (max(before) - min(before)) * 1.16 / 100  # the edges are 8 % beyond the scores on both sides
        held = Held(page, "examine")
        document(page, D2).focus()
        for _ in range(10):
            page.keyboard.press("ArrowUp")
        held.wait()
        held.release()
        quiet(page)
        after = check_numbers(page, studio, "ranknet", "ndcg@10")
        assert after["scores"][D2] == pytest.approx(before[D2] + 10 * unit, rel=1e-9)


def test_a_document_stays_where_it_is_dropped_before_the_answer(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        before = shown(page)["scores"]
        held = Held(page, "examine")
        box = document(page, D2).locator(".point").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 6):
            page.mouse.move(x, y - 30 * step)
        page.mouse.up()
        held.wait()
        dropped = shown(page)["scores"]
        assert dropped[D2] > before[D2] + 1
        held.release()
        quiet(page)
        assert check_numbers(page, studio, "ranknet", "ndcg@10")["scores"] == dropped


@pytest.mark.parametrize("preset", ["five-levels", "winner-takes-all"], ids=["another query", "reset"])
def test_a_step_of_a_query_that_was_left_is_not_shown(watcher, studio, preset):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        held = Held(page, "descend")
        page.get_by_role("button", name="Step").click()
        held.wait()
        with page.expect_response(lambda answer: f"scene?preset={preset}" in answer.url):
            if preset == "five-levels":
                page.get_by_label("Query", exact=True).select_option(f"preset:{preset}")
            else:
                page.get_by_role("button", name="Reset").click()
        scores = studio.ask("scene", preset=preset)["scores"]
        until(page, f"document.querySelectorAll('.stage g.document').length === {len(scores)}")
        until(page, "document.querySelector('.forces').dataset.pending === '1'")  # the step alone
        held.release()
        quiet(page)
        assert shown(page)["scores"] == scores
        assert page.locator(".forces .status").inner_text() == ""


def test_play_after_a_pause_makes_one_step_at_a_time(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        start = shown(page)["scores"]
        held = Held(page, "descend")
        page.get_by_role("button", name="Play").click()
        held.wait()
        page.locator(".forces .buttons .primary").click()  # pauses
        page.locator(".forces .buttons .primary").click()  # plays again
        for _ in range(4):
            held.pass_one()
        held.wait()
        pause(page)
        held.release()
        quiet(page)
        steps = step_number(page)
        assert steps == 5
        rate = float(page.get_by_label("Step size", exact=True).input_value())
        body = {"preset": "winner-takes-all", "scores": start, "force": "ranknet", "movement": "linear"}
        points = studio.ask("descend", {**body, "rate": rate, "steps": steps, "metric": "ndcg@10"})["points"]
        assert shown(page)["scores"] == points[-1]["scores"]


def pause(page: Any) -> None:
    """End the play, unless it has ended by itself."""
    page.evaluate("[...document.querySelectorAll('button')].find((each) => each.textContent === 'Pause')?.click()")
    page.get_by_role("button", name="Play").wait_for()


def step_number(page: Any) -> int:
    found = re.match(r"Step (\d+)", page.locator(".forces .status").inner_text())
    return 0 if found is None else int(found[1])


def step_once(page: Any) -> None:
    """Press the button and wait until the step has been made and judged."""
    after = step_number(page) + 1
    page.get_by_role("button", name="Step").click()
    page.locator(".forces .status").get_by_text(re.compile(rf"^Step {after}\b")).wait_for()
    quiet(page)


def test_descent_is_played_until_the_winner_is_lost(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        start = shown(page)
        step_once(page)
        page.get_by_role("button", name="Play").click()
        until(page, "document.querySelector('dd[data-value-of=wta]').dataset.value === '0'")
        pause(page)
        quiet(page)
        while shown(page)["ranks"][D2] > 3:
            step_once(page)
        steps = step_number(page)
        rate = float(page.get_by_label("Step size", exact=True).input_value())
        body = {"preset": "winner-takes-all", "scores": start["scores"], "force": "ranknet", "movement": "linear"}
        points = studio.ask("descend", {**body, "rate": rate, "steps": steps, "metric": "ndcg@10"})["points"]
        found = check_numbers(page, studio, "ranknet", "ndcg@10", round=steps)
        assert found["scores"] == points[-1]["scores"]
        assert (start["wta"], found["wta"]) == (1, 0)
        assert found["ranks"][:2] == [2, 3]
        assert found["pairwise_error"] < start["pairwise_error"] / 10
        label = page.locator(".forces svg.chart").get_attribute("aria-label")
        assert label.startswith("WTA, NDCG and pairwise error by step. Last values: WTA 0, NDCG 0.6934")
        page.get_by_role("button", name="Reset").click()
        until(page, f"document.querySelector('[data-document=\"{D2}\"]').dataset.rank == 30")
        quiet(page)
        assert shown(page)["scores"] == start["scores"]


def test_a_query_is_picked_and_its_moves_are_explained(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_role("link", name="Queries").click()
        page.get_by_label("Sort by", exact=True).select_option("loss")
        listed = studio.ask("queries", first="ranksvm", second="lambdamart", order="loss")["queries"]
        third = listed[2]
        until(page, f"document.querySelectorAll('.list button.link')[2]?.textContent === '{third['id']}'")
        page.locator(".list button.link").nth(2).click()
        page.get_by_role("heading", name=f"Query {third['id']}", exact=True).wait_for()
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        query = studio.ask(f"queries/{third['number']}", first="ranksvm", second="lambdamart")
        for each in query["documents"]:
            label = page.locator(f".slopes g[data-document='{each['document']}']").get_attribute("aria-label")
            assert label == (
                f"document {each['name']}, label {each['label']:g}, rank {each['first_rank']}, then {each['second_rank']}"
            )
        chosen = query["documents"][4]["document"]
        page.locator(f".slopes g[data-document='{chosen}']").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=f"Document {query['documents'][4]['name']}", exact=True).wait_for()
        move = studio.ask(f"queries/{third['number']}/move", first="ranksvm", second="lambdamart", document=chosen)
        rows = page.locator(".why tr[data-feature]")
        found = [(row.get_attribute("data-feature"), float(row.get_attribute("data-difference"))) for row in rows.all()]
        assert found == [(reason["feature"], reason["difference"]) for reason in move["reasons"]]
        page.get_by_label("Search for an id", exact=True).fill(third["id"])
        until(page, f"document.querySelector('.list button.link').textContent.includes('{third['id']}')")
        page.wait_for_selector(".queries[data-pending='0']")  # else the link could be drawn again under the mouse
        page.get_by_role("link", name="Move them by forces").click()
        page.locator(".stage g.document").first.wait_for()
        quiet(page)
        assert page.get_by_label("Query", exact=True).input_value() == "query"
        assert page.get_by_label(re.compile("Query, from 0")).input_value() == str(third["number"])


def wait_for_last_training(page: Any, studio: OpenStudio) -> int:
    """Wait until the page knows that the last training has ended, and return its number; 0 if there was none."""
    before = studio.ask("state")["training"] or 0
    if before:  # the page follows it, and cannot start another before
        until(page, f"document.querySelector('.training').dataset.training == {before}")
        page.wait_for_selector(".training:not([data-state='running'])")
    return before


def start_training(page: Any, studio: OpenStudio) -> None:
    """Press the button and wait until the page follows the new training."""
    before = wait_for_last_training(page, studio)
    page.get_by_role("button", name="Start").click()
    until(page, f"Number(document.querySelector('.training').dataset.training) > {before}")


def test_a_training_is_started_watched_stopped_and_saved(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_role("link", name="Training").click()
        page.get_by_label("n_estimators", exact=True).fill("2000")
        page.get_by_label("Pause after each round", exact=True).fill("0.1")
        start_training(page, studio)
        until(page, "Number(document.querySelector('.training').dataset.rounds) >= 3")
        assert page.locator(".training").get_attribute("data-state") == "running"
        ladder = "[...document.querySelectorAll('.ladder li')].map((each) => each.innerText)"
        rounds, first = page.evaluate(f"[document.querySelector('.training').dataset.rounds, {ladder}]")
        until(page, f"Number(document.querySelector('.training').dataset.rounds) > {rounds}")
        assert page.evaluate(ladder) != first  # the watched query is ranked by other scores
        page.get_by_role("button", name="Stop").click()
        page.wait_for_selector(".training[data-state='stopped']")
        number = studio.ask("state")["training"]
        course = studio.ask(f"trainings/{number}")
        assert course["state"] == "stopped"
        kept = course["rows"][course["best_round"] - 1]
        label = page.locator(".training svg.chart").get_attribute("aria-label")
        assert label == (
            f"ndcg@10 by round. Kept: round {kept['round']}: training {kept['train']:.4f}, validation {kept['valid']:.4f}"
        )
        page.get_by_role("button", name="Save the model").click()
        page.get_by_text(re.compile(r"Saved as lambdamart-\d+\.podium in studio-models\.")).wait_for()
        saved = studio.folder / "studio-models" / studio.ask(f"trainings/{number}")["saved_as"]
        assert podium.load(saved).best_epoch_ == course["best_round"]
        page.get_by_role("link", name="Queries").click()
        page.get_by_label("Second ranking", exact=True).select_option(course["model"])
        page.get_by_text(f"on which {course['model']} was not trained").wait_for()
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        listed = studio.ask("queries", first="ranksvm", second=course["model"], order="gain")
        shown_means = page.locator(".list .note").first.inner_text()
        assert (
            f"{listed['first_mean']:.4f} by the first ranking, {listed['second_mean']:.4f} by the second" in shown_means
        )
        marked = page.locator(".list tr:has(span[title='trained on']) button").evaluate_all(
            "(all) => all.map((each) => Number(each.dataset.query))"
        )
        assert marked == [row["number"] for row in listed["queries"] if row["trained_on"]]
        assert len(marked) > 0
        assert page.locator(".list tr.chosen").count() == 1


def test_a_training_is_followed_after_a_busy_answer(watcher, studio):
    with watcher.page() as watched:
        watched.expected = "status of 503"  # Chromium logs refused requests
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_role("link", name="Training").click()
        page.get_by_label("n_estimators", exact=True).fill("5")
        wait_for_last_training(page, studio)
        refusal = {"error": {"code": "busy", "message": "The studio is busy."}}
        page.route(
            re.compile(r"/studio/api/trainings/\d+\?"),
            lambda route: route.fulfill(status=503, json=refusal),
            times=1,
        )
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector(".training[data-state='finished'][data-rounds='5']")
        assert page.get_by_text("The studio is busy.").count() == 0


def test_without_the_key_nothing_is_shown(watcher, studio):
    with watcher.page() as watched:
        watched.page.goto(studio.url)
        watched.page.get_by_text("This page needs the key of the studio.").wait_for()
        assert watched.page.locator("#about").inner_text() == ""


def test_hostile_names_are_shown_as_text(watcher, tmp_path):
    data = podium.synthetic.polynomial(queries=6, documents=4, features=2, seed=1)
    ids = [f"{HOSTILE}{k}" for k in range(data.n_documents)]
    names = [HOSTILE, "<script>alert(2)</script>"]
    queries = [f"<b onclick=alert(3)>{k}" for k in data.qid]
    data = podium.RankingData(data.features, data.labels, queries, document_ids=ids, feature_names=names)
    podium.write(data, tmp_path / "hostile.csv")
    podium.RankSVM().fit(data).save(tmp_path / "shop.podium")
    with studio_process(tmp_path, "hostile.csv", "shop.podium") as hostile, watcher.page() as watched:
        page = watched.page
        page.on("dialog", lambda dialog: watched.faults.append(f"dialog: {dialog.message}"))
        page.goto(hostile.page)
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        assert page.locator(".list button.link").first.inner_text().startswith("<b onclick=alert(3)>")
        assert page.locator(".why h2").inner_text().startswith(f"Document {HOSTILE}")
        assert HOSTILE in page.locator(".why tr[data-feature] th").all_inner_texts()
        page.get_by_role("link", name="Move them by forces").click()
        quiet(page)
        assert page.evaluate("document.querySelectorAll('main img, main script, main b').length") == 0


def test_a_query_of_one_document_and_a_long_one(watcher, tmp_path):
    rng = np.random.default_rng(1)
    sizes = [300, 1, 20]
    data = podium.RankingData(rng.normal(size=(321, 2)), rng.integers(0, 2, 321), np.repeat([0, 1, 2], sizes))
    podium.write(data, tmp_path / "data.csv")
    for name, seen in (("a", data.features[:, 0]), ("b", data.features[:, 1])):
        podium.RankSVM(num_threads=1).fit(data.replace(labels=(seen > 0).astype(float))).save(
            tmp_path / f"{name}.podium"
        )
    with studio_process(tmp_path, "data.csv", "a.podium", "b.podium") as opened, watcher.page() as watched:
        page = watched.page
        page.goto(opened.page)
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        page.locator(".list button[data-query='0']").click()
        page.get_by_role("heading", name="Query 0", exact=True).wait_for()
        page.wait_for_selector(".queries[data-pending='0']")
        second = page.locator(".slopes g.document").evaluate_all(
            "(all) => all.map((each) => Number(/then (\\d+)$/.exec(each.getAttribute('aria-label'))[1]))"
        )
        assert set(range(1, 41)) <= set(second)
        page.get_by_text(f"The picture shows the best 40 of each ranking: {len(second)} of 300 documents.").wait_for()
        places = page.locator(".slopes .names text").evaluate_all(
            "(all) => all.map((each) => `${each.getAttribute('x')} ${each.getAttribute('y')}`)"
        )
        assert len(places) == len(set(places)) == 160  # 40 ranks and names on each side; none is written over another
        page.locator(".list button[data-query='1']").click()
        page.get_by_role("heading", name="Query 1", exact=True).wait_for()
        page.wait_for_selector(".queries[data-pending='0']")
        page.get_by_role("link", name="Move them by forces").click()
        page.locator(".stage g.document").wait_for()
        quiet(page)
        document(page, 0).focus()
        for key in ("Home", "End"):
            page.keyboard.press(key)
        assert shown(page)["scores"] == [0]
        page.keyboard.press("ArrowUp")
        until(page, "Number(document.querySelector('[data-document=\"0\"]').dataset.score) > 0")
        quiet(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_ids_and_ranks_can_be_read_in_the_picture(watcher, tmp_path, size):
    """Ids that begin alike stay distinct, and no text leaves the picture."""
    data = podium.synthetic.polynomial(queries=5, documents=12, features=3, seed=2)
    ids = [f"sku-220-{k:04d}" for k in range(data.n_documents)]
    queries = [f"query {220 + k}" for k in data.qid]
    data = podium.RankingData(data.features, data.labels, queries, document_ids=ids)
    podium.write(data, tmp_path / "shop.csv")
    for name, column in (("a", 0), ("b", 1)):
        labels = (data.features[:, column] > 0).astype(float)
        podium.RankSVM(num_threads=1).fit(data.replace(labels=labels)).save(tmp_path / f"{name}.podium")
    with studio_process(tmp_path, "shop.csv", "a.podium", "b.podium") as opened, watcher.page(size) as watched:
        page = watched.page
        page.goto(opened.page)
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        assert page.locator(".detail h2").inner_text().startswith("Query 22")
        for part, wanted in ((".name", 24), (".rank-of", 24)):
            texts = page.locator(f".slopes .names {part}").evaluate_all(
                """(all) => { const box = document.querySelector('.slopes').getBoundingClientRect();
                  return all.map((each) => { const own = each.getBoundingClientRect();
                    return [each.firstChild.textContent, own.left >= box.left - 1 && own.right <= box.right + 1]; }); }"""
            )
            assert len(texts) == wanted
            assert all(inside for _, inside in texts), texts
            assert len({text for text, _ in texts}) == wanted // 2, texts
        page.get_by_role("link", name="Training").click()
        page.get_by_role("button", name="Start").click()
        watched_query = page.get_by_label("Watched query")
        watched_query.locator("option").first.wait_for(state="attached")
        page.get_by_role("button", name="Stop").click()
        page.wait_for_selector(".training:not([data-state='running'])")
        titles = [each["title"] for each in opened.ask("trainings/1")["watchable"]]
        assert watched_query.locator("option").all_inner_texts() == titles
        assert titles[0].startswith("query 22")


def test_the_choices_stay_from_one_query_of_the_data_to_another(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_label("Query", exact=True).select_option("query")
        until(page, "document.querySelector('.force-name').textContent === 'lambdarank(ndcg@10)'")
        page.get_by_label("Force", exact=True).select_option("listnet")
        page.get_by_label("Step size", exact=True).fill("0.7")
        with page.expect_response(lambda answer: "scene?query=3" in answer.url):
            page.get_by_label(re.compile("Query, from 0")).fill("3")
            page.get_by_label(re.compile("Query, from 0")).press("Tab")
        quiet(page)
        assert page.locator(".force-name").inner_text() == "listnet"
        assert page.get_by_label("Step size", exact=True).input_value() == "0.7"
        with page.expect_response(lambda answer: "scene?preset=five-levels" in answer.url):
            page.get_by_label("Query", exact=True).select_option("preset:five-levels")
        until(page, "document.querySelector('.force-name').textContent !== 'listnet'")


def test_another_ranking_shows_a_query_of_the_list(watcher, studio):
    with watcher.page() as watched:
        page = watched.page
        page.goto(studio.page)
        quiet(page)
        page.get_by_role("link", name="Queries").click()
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        page.get_by_label("Sort by", exact=True).select_option("worst")
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        page.get_by_label("First ranking", exact=True).select_option("order of the data")
        listed = studio.ask("queries", first="order of the data", second="lambdamart", order="worst")["queries"]
        until(page, f"document.querySelector('.list button.link')?.textContent === '{listed[0]['id']}'")
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        chosen = page.locator(".list tr.chosen button")
        assert chosen.count() == 1
        page.get_by_role("heading", name=f"Query {chosen.inner_text()}", exact=True).wait_for()
        assert page.evaluate(
            """() => { const row = document.querySelector('.list tr.chosen').getBoundingClientRect();
              const place = document.querySelector('.list .scroll').getBoundingClientRect();
              return row.top >= place.top - 1 && row.bottom <= place.bottom + 1; }"""
        )


def open_page(page: Any, studio: OpenStudio, name: str) -> None:
    """Open a page and bring it into a state that is worth a picture."""
    page.goto(studio.page)
    quiet(page)
    if name in SCENES:
        scene, steps = SCENES[name]
        page.get_by_label("Query", exact=True).select_option(f"preset:{scene}")
        quiet(page)
        for _ in range(steps):
            step_once(page)
        return
    page.get_by_role("link", name=name.capitalize()).click()
    if name == "queries":
        page.wait_for_selector(".queries[data-pending='0'] .why h2")
        return
    page.wait_for_selector(".training form")
    if not page.evaluate("document.querySelector('.training details').open"):
        page.get_by_text("Settings", exact=True).click()
    page.get_by_label("Pause after each round", exact=True).fill("0")
    page.get_by_label("n_estimators", exact=True).fill("80")
    start_training(page, studio)
    page.wait_for_selector(".training[data-state='finished']")
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["queries", "forces", "winner", "training"])
def test_every_page_is_accessible_and_makes_a_picture(watcher, studio, name, size, dark):
    with watcher.page(size, dark=dark, bypass_csp=True) as watched:
        open_page(watched.page, studio, name)
        assert watched.accessibility_faults() == []
        assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        watched.page.evaluate("document.activeElement.blur()")
        watched.picture(f"studio-{name}-{'phone' if size == PHONE else 'desktop'}-{'dark' if dark else 'light'}")
