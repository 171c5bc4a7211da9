"""The packages of the extra `plots`: Altair for charts, pandas for the data behind them, and vl-convert for files."""

from __future__ import annotations

from podium.errors import MissingExtraError

try:
    import altair as alt
    import pandas as pd
    import vl_convert
except ImportError as error:
    raise MissingExtraError(f"{error.name} is not installed; pip install 'podium[plots]'") from None

__all__ = ["alt", "pd", "vl_convert"]
