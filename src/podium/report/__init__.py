"""Reports: one self-contained HTML page about one or several models on judged data.

The module itself can be called: `podium.report(model, data)` is `podium.report.make_report(model, data)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from podium.report.making import ModelReport, make_report

__all__ = ["ModelReport", "make_report"]


class _CallableModule(ModuleType):
    """Python sets `podium.report` to this module when it is imported, so the module takes the call."""

    __wrapped__ = staticmethod(make_report)  # for signatures and help

    def __call__(self, *given: Any, **options: Any) -> ModelReport:
        return make_report(*given, **options)


sys.modules[__name__].__class__ = _CallableModule
