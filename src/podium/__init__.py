"""Podium: learning to rank, where a ranker is a force × a function class × a schedule, judged by a metric.

Each name is imported on first access, so that `import podium` is fast and a service loads only what it uses.
"""

from importlib import import_module
from typing import Any

from podium.ranker_table import RANKER_MODULES

_MODULES: dict[str, tuple[str, ...]] = {
    "data": ("Pairs", "RankingData", "Run", "describe", "folds", "normalize", "sample_unlabeled", "split", "synthetic"),
    "errors": (
        "ClusterError",
        "DataError",
        "FormatError",
        "MissingExtraError",
        "OutputError",
        "ParameterError",
        "PodiumError",
    ),
    "evaluation": ("Comparison", "Evaluation", "compare", "evaluate"),
    "explaining": ("PermutationImportance", "Reason", "Why", "permutation_importance", "why"),
    "forces": ("Force", "Verdict", "custom_force", "force", "laws", "regularized"),
    "formats": (
        "convert",
        "from_frame",
        "read",
        "read_all_folds",
        "read_folds",
        "read_scores",
        "to_frame",
        "write",
        "write_shards",
    ),
    "metrics": ("Metric", "custom_metric", "metric"),
    "rankers": (
        *RANKER_MODULES,
        "CrossValidation",
        "ImportedRanker",
        "Ranker",
        "Tuning",
        "cross_validate",
        "from_catboost",
        "from_lightgbm",
        "from_ranklib",
        "from_xgboost",
        "load",
        "tune",
    ),
    "training": ("Checkpoint", "Epoch"),
    "plots": (),
    "report": ("ModelReport",),
    "posteriors": (),
    "scoring": ("Scorer", "load_scorer"),
    "serve": (),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(["plots", "posteriors", "report", "serve", *_HOMES])


def __getattr__(name: str) -> Any:
    """Return a public name, a module of public names or the version; each is imported or looked up on first access."""
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("podium")
        return globals()[name]
    if name in _MODULES:
        return import_module(f"podium.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    value = getattr(import_module(f"podium.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
