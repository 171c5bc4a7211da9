"""Who may talk to the studio: this page, under the studio's own address. Everything else is refused before it is read.

A page of another site can send requests to a server on this machine. Under its own name it is refused by the check of the
Origin. If it lets its name resolve to this machine (DNS rebinding), it is refused by the check of the Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from podium.serve.problems import problem_body

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
OWN_SITES = (b"same-origin", b"none")  # Sec-Fetch-Site of the page itself, and of an address that a person opens


class Guard:
    """An application that passes requests on if they come from its own page, and adds headers that protect the page.

    Args:
        app: The application.
        hosts: The values of the Host header that are accepted, as in 127.0.0.1:8090.
        any_address: Whether any IP address is accepted as well. No site can pretend to have one as its name.
    """

    def __init__(self, app: Application, hosts: Iterable[str], *, any_address: bool = False) -> None:
        self.app, self._any_address = app, any_address
        self._hosts = frozenset(host.lower().encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_protected(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, receive, send_protected)
            return
        status, code, words = refusal
        body = problem_body(code, words)
        fields = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send_protected({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return status, code and sentence for a request that is refused."""
        hosts = [value.strip().lower() for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._knows(hosts[0]):
            return 421, "wrong_host", "this address is not one of the studio's; open the address that it printed"
        headers = dict(scope["headers"])
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        opens = headers.get(b"sec-fetch-mode") == b"navigate" and scope["method"] == "GET"
        foreign = origin is not None and origin.strip().lower() != b"http://" + hosts[0]
        if foreign or (site is not None and site not in OWN_SITES and not opens):
            return 403, "foreign_page", "requests from other pages are refused; use the studio's own page"
        return None

    def _knows(self, host: bytes) -> bool:
        if host in self._hosts:
            return True
        if not self._any_address:
            return False
        name = host.decode("latin-1")
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
