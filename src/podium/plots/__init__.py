"""Charts of training, evaluation and explanation, drawn by Altair (extra `plots`).

Every function of a chart returns an Altair chart: show it in a notebook, change it, or write it with `save` as SVG, PNG or
HTML, without a network. `chart.data` is the pandas DataFrame that is drawn.

    learning_curve(runs, *, metric=None, by="epoch")
    importance(ranker, data=None, *, kind=None, top=20, …)
    metric_at_k(systems, data, *, metric="ndcg", k=10, …)
    query_differences(systems, data, *, metric="ndcg@10", …)
    score_distribution(system, data, *, bins=40, within_query=False)
    pair_calibration(system, data, *, sigma=None, bins=10, …)
    waterfall(ranker, data, *, document, query=None, top=10)
    why(found, *, top=10)
    beeswarm(ranker, data, *, top=15, max_documents=300, seed=0)
    partial_dependence(ranker, data, feature, *, query=None, curves=30, points=40, seed=0)
    tree(ranker, number=1, *, max_depth=None)
    force_gap(forces, *, reach=4.0)
    force_field(force, *, metric=None)

A system is a trained ranker, a scorer, or an array of scores in the caller's row order. Altair is imported when a function is
first used, so that `import podium.plots` is fast and works without the extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.plots.attributions import beeswarm, waterfall, why
    from podium.plots.calibration import pair_calibration
    from podium.plots.dependence import partial_dependence
    from podium.plots.evaluations import metric_at_k, query_differences, score_distribution
    from podium.plots.force_charts import force_field, force_gap
    from podium.plots.importances import importance
    from podium.plots.learning import learning_curve
    from podium.plots.output import beside, javascript, save, to_html, to_png, to_spec, to_svg
    from podium.plots.theme import dark_style
    from podium.plots.trees import tree

_MODULES: dict[str, tuple[str, ...]] = {
    "attributions": ("beeswarm", "waterfall", "why"),
    "calibration": ("pair_calibration",),
    "dependence": ("partial_dependence",),
    "evaluations": ("metric_at_k", "query_differences", "score_distribution"),
    "force_charts": ("force_field", "force_gap"),
    "importances": ("importance",),
    "learning": ("learning_curve",),
    "output": ("beside", "javascript", "save", "to_html", "to_png", "to_spec", "to_svg"),
    "theme": ("dark_style",),
    "trees": ("tree",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "beeswarm",
    "beside",
    "dark_style",
    "force_field",
    "force_gap",
    "importance",
    "javascript",
    "learning_curve",
    "metric_at_k",
    "pair_calibration",
    "partial_dependence",
    "query_differences",
    "save",
    "score_distribution",
    "to_html",
    "to_png",
    "to_spec",
    "to_svg",
    "tree",
    "waterfall",
    "why",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'podium.plots' has no attribute {name!r}")
    value = getattr(import_module(f"podium.plots.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
