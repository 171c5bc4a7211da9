"""The studio as an application: its pages and its JSON interface. `podium.serve` mounts it beside scoring."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response

from podium import __version__
from podium.errors import PodiumError
from podium.serve.endpoint import unauthorized
from podium.serve.keys import ApiKeys, key_of
from podium.serve.problems import RequestError, problem_body
from podium.studio import bodies
from podium.studio.catalog import describe_studio
from podium.studio.moves import explain_move
from podium.studio.presets import presets
from podium.studio.queries import list_queries, show_query
from podium.studio.ranker_forms import MOST_ROUNDS
from podium.studio.scenes import Scene, descend, examine, laws_anywhere, laws_here, query_scene, show_scene
from podium.studio.trainings import Trainings
from podium.studio.workspace import LoadedRanking, Workspace

PAGES = Path(__file__).parent / "pages"
TYPES = {
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
MOST_BODY_BYTES = 256 * 1024
WORKING_THREADS = 2
MOST_WAITING = 64  # requests that wait for a thread


class Studio:
    """The state of a studio: its data, its trainings, and the threads that compute answers.

    Args:
        workspace: The data and its rankings.
        folder: Where trained models are saved; it is created with the first one.
        keys: The keys of which every request to the interface needs one.
        start: The page that is shown first: "queries", "forces" or "training".
        num_threads: How many threads train; all cores by default.
    """

    def __init__(
        self,
        workspace: Workspace,
        folder: Path,
        keys: ApiKeys,
        *,
        start: str = "forces",
        num_threads: int | None = None,
    ) -> None:
        self.workspace, self.keys, self.start = workspace, keys, start
        self.trainings = Trainings(workspace, folder, num_threads=num_threads)
        self._pool = ThreadPoolExecutor(WORKING_THREADS, thread_name_prefix="studio")
        self._waiting = 0

    async def answer(self, compute: Callable[[], Any]) -> Response:
        """Compute an answer in a thread and return it as JSON."""
        if self._waiting >= MOST_WAITING:
            raise RequestError(503, "busy", "too many requests are being handled; try again", ((b"retry-after", b"1"),))
        self._waiting += 1
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._pool, compute)
        finally:
            self._waiting -= 1
        return Response(msgspec.json.encode(found), media_type="application/json")

    def rankings(self, first: str, second: str) -> tuple[LoadedRanking, LoadedRanking | None]:
        """Return one or two rankings by name."""
        return self.workspace.ranking(first), self.workspace.ranking(second) if second else None

    def scene(self, given: bodies.SceneRequest | bodies.PointRequest) -> Scene:
        """Return the query that a request wants to move."""
        if given.preset:
            found = presets().get(given.preset)
            if found is None:
                known = ", ".join(presets())
                raise RequestError(404, "unknown_preset", f"there is no example of this name; there are {known}")
            return found
        start = self.workspace.ranking(given.ranking or self.workspace.rankings[0].name)
        return query_scene(self.workspace, given.query, start)

    def close(self) -> None:
        """Stop the training and the threads."""
        self.trainings.close()
        self._pool.shutdown(wait=True)


def create_studio(studio: Studio) -> FastAPI:
    """Return the application of a studio."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_problems(app)
    _add_queries(app, studio)
    _add_forces(app, studio)
    _add_trainings(app, studio)
    _add_files(app)
    return app


async def _body(request: Request) -> bytes:
    """Return the body of a request that is JSON and not too large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, "unknown_format", "the header Content-Type must be application/json")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY_BYTES:
            raise RequestError(413, "too_large", f"the body may have at most {MOST_BODY_BYTES:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _checked(studio: Studio, request: Request) -> None:
    if not studio.keys.accept(key_of(dict(request.scope["headers"]))):
        raise unauthorized()


def _add_queries(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/state")
    async def state(request: Request) -> Response:
        _checked(studio, request)
        latest = studio.trainings.latest()
        return await studio.answer(
            lambda: describe_studio(
                studio.workspace,
                version=__version__,
                start=studio.start,
                folder=str(studio.trainings.folder),
                most_rounds=MOST_ROUNDS,
                training=None if latest is None else latest.number,
            )
        )

    @app.get("/api/queries")
    async def queries(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_parameters(request.query_params, bodies.ListRequest)
        first, second = studio.rankings(given.first, given.second)
        judged_by = bodies.named_metric(given.metric)
        return await studio.answer(
            lambda: list_queries(
                studio.workspace,
                first,
                second,
                judged_by,
                search=given.search,
                order=given.order,
                offset=given.offset,
            )
        )

    @app.get("/api/queries/{number:int}")
    async def query(request: Request, number: int) -> Response:
        _checked(studio, request)
        given = bodies.read_parameters(request.query_params, bodies.ShowRequest)
        first, second = studio.rankings(given.first, given.second)
        judged_by = bodies.named_metric(given.metric)
        return await studio.answer(lambda: show_query(studio.workspace, number, first, second, judged_by))

    @app.get("/api/queries/{number:int}/move")
    async def move(request: Request, number: int) -> Response:
        _checked(studio, request)
        given = bodies.read_parameters(request.query_params, bodies.ShowRequest)
        first, second = studio.rankings(given.first, given.second)
        return await studio.answer(lambda: explain_move(studio.workspace, number, given.document, first, second))


def _add_forces(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/scene")
    async def scene(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_parameters(request.query_params, bodies.SceneRequest)
        return await studio.answer(lambda: show_scene(studio.scene(given)))

    @app.post("/api/examine")
    async def examine_point(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_body(await _body(request), bodies.PointRequest)
        force, judged_by = bodies.named_force(given.force), bodies.named_metric(given.metric)

        def compute() -> Any:
            held = studio.scene(given)
            return examine(
                held, bodies.read_scores(given.scores, len(held.labels)), force, judged_by, round=given.round
            )

        return await studio.answer(compute)

    @app.post("/api/descend")
    async def descend_from(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_body(await _body(request), bodies.DescentRequest)
        force, judged_by = bodies.named_force(given.force), bodies.named_metric(given.metric)

        def compute() -> Any:
            held = studio.scene(given)
            scores = bodies.read_scores(given.scores, len(held.labels))
            options: Any = {"movement": given.movement, "rate": given.rate, "steps": given.steps, "round": given.round}
            return {"points": descend(held, scores, force, judged_by, **options)}

        return await studio.answer(compute)

    @app.post("/api/laws")
    async def laws_of(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_body(await _body(request), bodies.PointRequest)
        force, judged_by = bodies.named_force(given.force), bodies.named_metric(given.metric)

        def compute() -> Any:
            held = studio.scene(given)
            scores = bodies.read_scores(given.scores, len(held.labels))
            return {"here": laws_here(held, scores, force, judged_by), "anywhere": laws_anywhere(force, judged_by)}

        return await studio.answer(compute)


def _add_trainings(app: FastAPI, studio: Studio) -> None:
    @app.post("/api/trainings")
    async def start(request: Request) -> Response:
        _checked(studio, request)
        given = bodies.read_body(await _body(request), bodies.TrainRequest)
        metric = str(bodies.named_metric(given.metric))
        return await studio.answer(
            lambda: studio.trainings.start(given.ranker, given.settings, metric, given.pause).show()
        )

    @app.get("/api/trainings/{number:int}")
    async def follow(request: Request, number: int) -> Response:
        _checked(studio, request)
        given = bodies.read_parameters(request.query_params, bodies.FollowRequest)
        return await studio.answer(lambda: studio.trainings.find(number).show(given.since, given.query))

    @app.post("/api/trainings/{number:int}/stop")
    async def stop(request: Request, number: int) -> Response:
        _checked(studio, request)
        training = studio.trainings.find(number)
        training.stop()
        return await studio.answer(training.show)

    @app.post("/api/trainings/{number:int}/save")
    async def save(request: Request, number: int) -> Response:
        _checked(studio, request)
        training = studio.trainings.find(number)
        return await studio.answer(lambda: {"saved_as": training.save(studio.trainings.folder)})


def _add_files(app: FastAPI) -> None:
    """Add the pages. They are read once, so that no request leads to the file system."""
    files = {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in PAGES.iterdir() if path.suffix in TYPES}

    @app.get("/")
    async def index() -> Response:
        body, kind = files["index.html"]
        return Response(body, media_type=kind)

    @app.get("/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            raise RequestError(404, "not_found", "there is nothing at this address; the studio begins at /studio/")
        body, kind = files[name]
        return Response(body, media_type=kind)


def _add_problems(app: FastAPI) -> None:
    def answer(status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Response:
        fields = {name.decode(): value.decode() for name, value in headers}
        return Response(body, status, fields, "application/json")

    @app.exception_handler(RequestError)
    async def problem(request: Request, error: RequestError) -> Response:
        return answer(error.status, error.body(), error.headers)

    @app.exception_handler(PodiumError)
    async def refused(request: Request, error: PodiumError) -> Response:
        return answer(422, problem_body("invalid_request", str(error)))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return answer(500, problem_body("internal_error", "the studio failed to answer; its log says where"))

    @app.exception_handler(404)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return answer(404, problem_body("not_found", "there is nothing at this address; the studio begins at /studio/"))

    @app.exception_handler(405)
    async def wrong_method(request: Request, error: HTTPException) -> Response:
        return answer(405, problem_body("wrong_method", "this address takes another method"))
