"""Podium: learning to rank, where a ranker is a force × a function class × a schedule, judged by a metric."""

__version__ = "0.1.0"  # above the imports, because saved models say which Podium wrote them

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.data import Pairs, RankingData, Run, describe, folds, normalize, sample_unlabeled, split, synthetic
from podium.errors import DataError, FormatError, MissingExtraError, OutputError, ParameterError, PodiumError
from podium.evaluation import Comparison, Evaluation, compare, evaluate
from podium.forces import Force, Verdict, custom_force, force, force_picture, laws
from podium.formats import convert, from_frame, read, read_all_folds, read_folds, read_scores, to_frame, write
from podium.metrics import Metric, custom_metric, metric

if TYPE_CHECKING:
    import podium.posteriors as posteriors
    from podium.rankers import (
        MART,
        OAPBPM,
        CrossValidation,
        KernelRankNet,
        LambdaMART,
        LambdaRank,
        ListMLE,
        ListNet,
        OrdinalRegression,
        PermutationImportance,
        PRank,
        QuadraticPRank,
        RankBoost,
        Ranker,
        RankNet,
        RankProp,
        RankSVM,
        Reason,
        StructRank,
        Tuning,
        Why,
        cross_validate,
        load,
        permutation_importance,
        tune,
        why,
    )
    from podium.training import Checkpoint, Epoch

__all__ = [  # noqa: RUF022 (sorted as Python sorts)
    "Checkpoint",
    "Comparison",
    "CrossValidation",
    "DataError",
    "Epoch",
    "Evaluation",
    "Force",
    "FormatError",
    "KernelRankNet",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "MART",
    "Metric",
    "MissingExtraError",
    "OAPBPM",
    "OrdinalRegression",
    "OutputError",
    "PRank",
    "Pairs",
    "ParameterError",
    "PermutationImportance",
    "PodiumError",
    "QuadraticPRank",
    "RankBoost",
    "RankNet",
    "RankProp",
    "RankSVM",
    "Ranker",
    "RankingData",
    "Reason",
    "Run",
    "StructRank",
    "Tuning",
    "Verdict",
    "Why",
    "compare",
    "convert",
    "cross_validate",
    "custom_force",
    "custom_metric",
    "describe",
    "evaluate",
    "folds",
    "force",
    "force_picture",
    "from_frame",
    "laws",
    "load",
    "metric",
    "normalize",
    "permutation_importance",
    "posteriors",
    "read",
    "read_all_folds",
    "read_folds",
    "read_scores",
    "sample_unlabeled",
    "split",
    "synthetic",
    "to_frame",
    "tune",
    "why",
    "write",
]


def __getattr__(name: str) -> Any:
    """Rankers, training and posteriors are imported when asked for: they bring scikit-learn and SciPy along."""
    if name == "posteriors":
        return import_module("podium.posteriors")
    if name in ("Checkpoint", "Epoch"):
        return getattr(import_module("podium.training"), name)
    if name in __all__:
        return getattr(import_module("podium.rankers"), name)
    raise AttributeError(f"module 'podium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
