"""Files are told apart by their content, so DATA may stand before or after the models and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.kinds import FOREIGN_MODELS, KINDS, kind_of

DATA_KINDS = frozenset(("cache", "parquet", "arrow", "letor", "csv", "tsv", "qrels"))
RANKING_KINDS = FOREIGN_MODELS | {"model", "scores", "trec-run"}


def data_and_rankings(data: Path, rankings: Sequence[str], *, data_first: bool) -> tuple[Path, list[str]]:
    """Return the data and the words [NAME=]FILE of rankings, exchanged if the data was given among the rankings.

    That is so if the file in the place of the data holds a ranking, and exactly one of the others holds data. The rankings
    keep their order. No file is opened if the names of all rankings end as those of models, scores or runs do.

    Args:
        data: the file in the place of the data.
        rankings: the words in the places of the rankings.
        data_first: whether the place of the data is before those of the rankings.
    """
    words = list(rankings)
    if all(map(_is_named_as_ranking, words)) or _kind(data) not in RANKING_KINDS:
        return data, words
    places = [place for place, word in enumerate(words) if _kind(Path(word)) in DATA_KINDS]
    if len(places) != 1:
        return data, words
    found = Path(words.pop(places[0]))
    return found, [str(data), *words] if data_first else [*words, str(data)]


def model_and_data(model: Path, data: Path) -> tuple[Path, Path]:
    """Return a model, or another ranking, and the data, exchanged if they were given the other way round."""
    found, (ranking,) = data_and_rankings(data, [str(model)], data_first=False)
    return Path(ranking), found


def _is_named_as_ranking(word: str) -> bool:
    return any(KINDS[name].suffixes and KINDS[name].fits_name(word) for name in RANKING_KINDS)


def _kind(path: Path) -> str | None:
    """Return the kind of a file; None if it cannot be read, which is reported by whoever reads it."""
    try:
        return kind_of(path) if path.is_file() else None
    except OSError:
        return None
