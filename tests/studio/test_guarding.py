"""Only the studio's own page may talk to the studio, and no request leads to code, files or markup."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from asking import HOST, KEY, Asker

from podium.studio.app import MOST_BODY_BYTES, PAGES
from podium.studio.guard import Guard
from podium.studio.server import accepted_hosts

POINT = {"preset": "two-documents", "scores": [0, 0], "force": "ranknet"}
PATH = "/studio/api/examine"


def send(asker: Asker, body: bytes | None = None, **changed: str | None):
    raw = json.dumps(POINT).encode() if body is None else body
    return asker.send("POST", PATH, asker.headers(**changed), raw)


def test_the_page_itself_is_answered(asker):
    assert send(asker).status == 200
    assert send(asker, origin=None, sec_fetch_site=None).status == 200  # a program with the key, such as curl
    assert send(asker, host="LOCALHOST:8090", origin="http://localhost:8090").status == 200
    assert send(asker, host="[::1]:8090", origin="http://[::1]:8090").status == 200


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"host": "studio.example.com"}, 421, "wrong_host"),  # a name that resolves to this machine
        ({"host": "studio.example.com:8090", "origin": "http://studio.example.com:8090"}, 421, "wrong_host"),
        ({"host": "127.0.0.1:8091"}, 421, "wrong_host"),
        ({"host": "127.0.0.1"}, 421, "wrong_host"),
        ({"host": "127.0.0.1.example.com:8090"}, 421, "wrong_host"),
        ({"host": ""}, 421, "wrong_host"),
        ({"host": None}, 421, "wrong_host"),
        ({"origin": "http://example.com"}, 403, "foreign_page"),
        ({"origin": "https://127.0.0.1:8090"}, 403, "foreign_page"),
        ({"origin": "http://127.0.0.1:9999"}, 403, "foreign_page"),
        ({"origin": "http://localhost:8090"}, 403, "foreign_page"),
        ({"origin": "null"}, 403, "foreign_page"),
        ({"origin": None, "sec_fetch_site": "cross-site"}, 403, "foreign_page"),
        ({"origin": None, "sec_fetch_site": "same-site"}, 403, "foreign_page"),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 403, "foreign_page"),
        ({"authorization": None}, 401, "unauthorized"),
        ({"authorization": f"Bearer {KEY}x"}, 401, "unauthorized"),
        ({"authorization": "Bearer "}, 401, "unauthorized"),
        ({"content_type": "text/plain"}, 415, "unknown_format"),  # what a form of another page can send
        ({"content_type": None}, 415, "unknown_format"),
    ],
)
def test_everything_else_is_refused(asker, changed, status, code):
    assert send(asker, **changed).refusal == (status, code)


def test_two_host_headers_are_refused(asker):
    fields = [*asker.headers(), ("host", "example.com")]
    assert asker.send("POST", PATH, fields, json.dumps(POINT).encode()).refusal == (421, "wrong_host")


def test_a_link_on_another_page_may_open_the_studio_but_shows_no_data(asker):
    fields = [("host", HOST), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]
    assert asker.send("GET", "/studio/", fields).status == 200
    assert asker.send("GET", "/studio/api/state", fields).refusal == (401, "unauthorized")


@pytest.mark.parametrize("path", ["state", "queries", "queries/0", "queries/0/move", "scene", "trainings/1"])
def test_every_question_needs_the_key(asker, path):
    reply = asker.send("GET", f"/studio/api/{path}", asker.headers(authorization=None))
    assert reply.refusal == (401, "unauthorized")


@pytest.mark.parametrize("path", ["examine", "descend", "laws", "trainings", "trainings/1/stop", "trainings/1/save"])
def test_every_action_needs_the_key(asker, path):
    reply = asker.send("POST", f"/studio/api/{path}", asker.headers(authorization=None), b"{}")
    assert reply.refusal == (401, "unauthorized")


def test_scoring_beside_the_studio_needs_the_key_and_the_host(asker):
    assert asker.send("GET", "/v1/models", asker.headers()).status == 200
    assert asker.send("GET", "/v1/models", asker.headers(authorization=None)).refusal == (401, "unauthorized")
    assert asker.send("GET", "/v1/models", asker.headers(host="x.com")).refusal == (421, "wrong_host")


def test_large_bodies_are_refused(asker):
    assert send(asker, b" " * (MOST_BODY_BYTES + 1)).refusal == (413, "too_large")


@pytest.mark.parametrize("kind", ["force", "metric"])
@pytest.mark.parametrize(
    "name",
    [
        "studio_attack:go",
        "lambdarank(studio_attack:go)",
        "structrank(topology='studio_attack:go')",
        "structrank(topology='studio_attack\u02d0go')",  # the letter that stands for a colon while names are read
        "structrank(noise_scale='studio_attack\u02d0go')",
        "studio_attack\uff1ago",
    ],
)
def test_names_never_lead_to_code(asker, tmp_path, monkeypatch, kind, name):
    (tmp_path / "studio_attack.py").write_text("def go(*given):\n    return 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for path in ("examine", "descend", "laws"):
        reply = asker.post(path, {**POINT, kind: name})
        assert reply.refusal == (422, f"invalid_{kind}")
    if kind == "metric":
        assert asker.get("queries", first="trees", metric=name).refusal == (422, "invalid_metric")
        begun = asker.post("trainings", {"ranker": "mart", "metric": name})
        assert begun.refusal == (422, "invalid_metric")
    assert "studio_attack" not in sys.modules


@pytest.mark.parametrize(
    "path",
    [
        "/studio/../app.py",
        "/studio/..%2fapp.py",
        "/studio/%2e%2e/app.py",
        "/studio//etc/passwd",
        "/studio/app.py",
        "/x",
    ],
)
def test_no_address_leads_to_a_file(asker, path):
    assert asker.send("GET", path, asker.headers()).refusal == (404, "not_found")


@pytest.mark.parametrize("name", [path.name for path in sorted(PAGES.iterdir())])
def test_every_file_of_the_page_is_served_with_its_type(asker, name):
    reply = asker.send("GET", f"/studio/{name}", [("host", HOST)])
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    assert reply.headers["content-type"].startswith(kinds[Path(name).suffix])
    assert reply.body == (PAGES / name).read_bytes()


def test_every_answer_protects_the_page(asker):
    for reply in (
        asker.send("GET", "/studio/", [("host", HOST)]),
        asker.get("state"),
        asker.get("nothing"),
        send(asker, host="x.com"),
    ):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"


def test_wrong_methods_are_refused(asker):
    assert asker.send("GET", PATH, asker.headers()).refusal == (405, "wrong_method")
    assert asker.send("POST", "/studio/", asker.headers(), b"{}").refusal == (405, "wrong_method")


def test_the_page_makes_no_markup_from_text_and_names_no_other_machine():
    for path in PAGES.iterdir():
        text = path.read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser", text
        )
        found = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert found <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=\"|style=\"", text) or path.suffix == ".js"


def test_any_ip_address_is_accepted_only_if_the_studio_listens_to_other_machines():
    calls: list[str] = []

    async def app(scope, receive, send) -> None:
        calls.append(scope["type"])

    async def ask(guard: Guard, host: str) -> None:
        async def send(message) -> None:
            pass

        await guard({"type": "http", "method": "GET", "headers": [(b"host", host.encode())]}, None, send)

    outside = Guard(app, ["studio:80"], any_address=True)
    for host, passes in (
        ("10.1.2.3:80", 1),
        ("[fe80::1]:80", 1),
        ("studio:80", 1),
        ("evil.com:80", 0),
        ("1.2.3.4.x:80", 0),
    ):
        calls.clear()
        asyncio.run(ask(outside, host))
        assert len(calls) == passes, host
    calls.clear()
    asyncio.run(ask(Guard(app, ["127.0.0.1:80"]), "10.1.2.3:80"))
    assert calls == []


@pytest.mark.parametrize(
    ("host", "port", "named", "accepted"),
    [
        ("127.0.0.1", 80, "127.0.0.1", True),  # browsers leave the port 80 out
        ("127.0.0.1", 80, "localhost:80", True),
        ("127.0.0.1", 8090, "127.0.0.1", False),
        ("0.0.0.0", 8090, "studio.example.org:8090", True),
        ("0.0.0.0", 8090, "studio:8090", True),
        ("127.0.0.1", 8090, "studio.example.org:8090", False),
    ],
)
def test_the_names_of_the_machine_and_the_usual_port(monkeypatch, host, port, named, accepted):
    monkeypatch.setattr("socket.gethostname", lambda: "studio")
    monkeypatch.setattr("socket.getfqdn", lambda: "studio.example.org")
    assert (named in accepted_hosts(host, port)) == accepted


def test_websockets_are_not_answered():
    async def app(scope, receive, send) -> None:
        raise AssertionError

    asyncio.run(Guard(app, ["x"])({"type": "websocket", "headers": []}, None, None))
