"""Charts of training, evaluation and explanation, drawn by Altair (extra `plots`).

Every function of a chart returns an Altair chart: show it in a notebook, change it, or write it with `save` as SVG, PNG or
HTML, without a network. `chart.data` is the pandas DataFrame that is drawn.

    learning_curve(runs, *, metric=None, by="epoch")
    importance(ranker, data=None, *, kind="gain", top=20, …)
    metric_at_k(systems, data, *, metric="ndcg", k=10, …)
    query_differences(systems, data, *, metric="ndcg@10", …)
    score_distribution(system, data, *, bins=40, within_query=False)

A system is a trained ranker, a scorer, or an array of scores in the caller's row order. Altair is imported when a function is
first used, so that `import podium.plots` is fast and works without the extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.plots.evaluations import metric_at_k, query_differences, score_distribution
    from podium.plots.importances import importance
    from podium.plots.learning import learning_curve
    from podium.plots.output import beside, javascript, save, to_html, to_png, to_spec, to_svg
    from podium.plots.theme import dark_style

_MODULES: dict[str, tuple[str, ...]] = {
    "evaluations": ("metric_at_k", "query_differences", "score_distribution"),
    "importances": ("importance",),
    "learning": ("learning_curve",),
    "output": ("beside", "javascript", "save", "to_html", "to_png", "to_spec", "to_svg"),
    "theme": ("dark_style",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "beside",
    "dark_style",
    "importance",
    "javascript",
    "learning_curve",
    "metric_at_k",
    "query_differences",
    "save",
    "score_distribution",
    "to_html",
    "to_png",
    "to_spec",
    "to_svg",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'podium.plots' has no attribute {name!r}")
    value = getattr(import_module(f"podium.plots.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
