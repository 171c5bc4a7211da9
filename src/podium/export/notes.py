"""What a user should know about an exported file besides its scores."""

from __future__ import annotations

from collections.abc import Sequence

from podium.data import RankingData
from podium.data.categories import Categories
from podium.data.feature_names import feature_name
from podium.errors import short_list
from podium.export.changes import MISSING_AS_ZERO, Changes
from podium.export.format import ExportFormat
from podium.export.names import renaming
from podium.export.verifying import DATA_ROWS
from podium.models.trees import TreeModel
from podium.scoring import Scorer


def notes_of(scorer: Scorer, row: ExportFormat, changes: Changes, data: RankingData | None) -> list[str]:
    """Return the notes on a model in a format, whose scores were compared on this data."""
    notes = []
    if data is not None and data.n_documents > DATA_ROWS:
        notes.append(f"scores were compared on the first {DATA_ROWS:,} of {data.n_documents:,} documents")
    if renamed := renaming(scorer.feature_names, row.file_names(scorer.feature_names or ())):
        notes.append(renamed)
    if row.missing_since and isinstance(scorer.model, TreeModel) and MISSING_AS_ZERO not in changes.made:
        notes.append(f"missing values go where the trees send them since {row.missing_since}")
    notes += [*rounding_notes(row), *_category_notes(scorer, row)]
    if scorer.model.n_outputs > 1 and not row.gives_scores:
        notes.append(
            "the file gives several outputs per document; Podium's score is Σ p_k (2^k − 1) with p their softmax"
        )
    return notes


def rounding_notes(row: ExportFormat) -> list[str]:
    """Return what a user should know about the scores of a model that moves between Podium and a format."""
    if not row.compares_float64:
        return []
    return [
        f"scores are the same for float32 values; {row.name} compares float64 values, so that a number such as 46.62 can fall on the "
        f"other side of a threshold there: give {row.name} float32 values too, in training or when it scores"
    ]


def _category_notes(scorer: Scorer, row: ExportFormat) -> list[str]:
    """Return what the engine must be given as categories: codes or names, and which code is which name."""
    notes = []
    used = set(scorer.model.used_features.tolist())
    split = used & set(scorer.model.category_features.tolist())
    categories = scorer.categories or {}
    if split and row.category_names:
        names = short_list([feature_name(column, scorer.feature_names) for column in sorted(split)])
        notes.append(f"categories are compared as text, which the engine must hold as a string: {names}")
    elif split:
        notes.append(
            "categories are given as whole numbers; other values of a categorical feature may score differently"
        )
        named = [column for column in sorted(split) if categories.get(column) is not None]
        if named:
            notes.append(
                "the file holds the codes of categories, not their names, and the engine must be given codes: "
                f"{_listed(named, categories, scorer.feature_names)}"
            )
    numbers = sorted(used & scorer.number_categories.keys())
    if numbers:
        notes.append(
            "the model takes the codes of categories as numbers, and the engine must be given codes and not text: "
            f"{_listed(numbers, categories, scorer.feature_names)}"
        )
    return notes


def _listed(columns: Sequence[int], categories: Categories, names: Sequence[str] | None) -> str:
    """Return features with the codes of their categories: brand (acme = 0, globex = 1)."""
    texts = []
    for column in columns:
        codes = short_list([f"{name} = {code}" for code, name in enumerate(categories[column] or ())])
        texts.append(feature_name(column, names) + (f" ({codes})" if codes else ""))
    return short_list(texts)
