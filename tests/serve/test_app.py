"""The application as a part of another program: pages can be mounted on it, and the description is complete."""

from __future__ import annotations

import asyncio
from typing import Any

from running import X

import podium
from podium.serve.app import ServiceApp, create_app
from podium.serve.settings import ServiceSettings


async def call(app: ServiceApp, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": given}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_pages_can_be_mounted_beside_scoring(models):
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    settings = ServiceSettings.parse([str(models / "shop.podium")], reload_seconds=0.0, access_log=False)
    app = create_app(settings, pages={"/studio": page})

    async def talk() -> None:
        async with app.router.lifespan_context(app):
            assert await call(app, "GET", "/studio/queries") == (200, b"/studio/queries")
            status, body = await call(
                app, "POST", "/v1/models/shop/score", X.tobytes(), content_type="application/octet-stream"
            )
            assert status == 200
            assert body == podium.load_scorer(models / "shop.podium").scores(X).tobytes()

    asyncio.run(talk())


def test_the_description_names_every_address(models):
    app = create_app(ServiceSettings.parse([str(models / "shop.podium")]))
    paths = app.openapi()["paths"]
    assert set(paths) == {
        *("/healthz", "/readyz", "/metrics", "/v1/models", "/v1/models/{name}/score", "/v1/models/{name}/rank")
    }
    score = paths["/v1/models/{name}/score"]["post"]
    assert set(score["responses"]) == {"200", "400", "401", "404", "408", "413", "415", "422", "503"}
    assert all(operation.get("summary") for methods in paths.values() for operation in methods.values())
    app.endpoint.close()
    app.meter.close()


def test_an_app_of_other_pages_needs_no_model():
    app = create_app(ServiceSettings((), needs_models=False))
    assert app.registry.deployments == {}
    app.endpoint.close()
    app.meter.close()
