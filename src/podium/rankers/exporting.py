"""Writing a ranker's model in the format of another library or engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from podium.data import RankingData
from podium.scoring import Scorer

if TYPE_CHECKING:
    from podium.export import ExportReport


class ExportMixin:
    """What a ranker needs to be exported."""

    scorer_: Scorer

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        allow: Iterable[str] = (),
        data: RankingData | None = None,
        **options: Any,
    ) -> ExportReport:
        """Write the model in another format, such as lightgbm, xgboost, onnx, elasticsearch, solr or vespa.

        The file is read back and scored by the target's own runtime, or by an evaluator of its rules, before it is written: on
        values exactly on thresholds and next to them, on missing, tiny and huge ones, and on `data`. If a score differs by more
        than rounding explains, nothing is written.

        Args:
            path: The file to write.
            format: Name of the format; `podium export --help` lists them.
            allow: Changes that the export may make where the format cannot hold the model, such as "missing-as-zero".
            data: Documents to compare scores on as well.
            options: Options of the format: `name`, `features`, `opset`, `trees_as`.

        Returns:
            How the scores of the file compare with the model's.
        """
        check_is_fitted(self, "scorer_")
        from podium.export import export_model

        return export_model(self.scorer_, path, format=format, allow=allow, data=data, **options)
