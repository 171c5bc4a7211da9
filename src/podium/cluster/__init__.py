"""Engines: where work runs, in this process or on a Ray cluster. The network is Ray's; no protocol here is our own."""

from podium.cluster.engines import ENGINES, Engine, Local, Ray, engine
from podium.cluster.session import connect
from podium.cluster.tasks import run_tasks

__all__ = ["ENGINES", "Engine", "Local", "Ray", "connect", "engine", "run_tasks"]
