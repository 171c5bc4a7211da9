"""The HTTP service, and a client for it. The service needs the extra `serve`; the client needs nothing."""

from podium.serve.client import Client, Ranking, ServiceError

__all__ = ["Client", "Ranking", "ServiceError"]
