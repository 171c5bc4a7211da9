"""The verdict on a force: one finding per law, in words, with a counterexample if the law is broken."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.forces.force import Force
from podium.forces.force_data import Floats
from podium.metrics import Metric


@dataclass(frozen=True)
class Counterexample:
    """One query at which a law is broken: its labels, scores and forces, and how they break it."""

    labels: Floats
    scores: Floats
    force: Floats
    words: str

    def __str__(self) -> str:
        return f"labels {row(self.labels)}, scores {row(self.scores)}, forces {row(self.force)}: {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """Return the counterexample as plain lists."""
        lists = {name: getattr(self, name).tolist() for name in ("labels", "scores", "force")}
        return {**lists, "words": self.words}


@dataclass(frozen=True)
class Finding:
    """The finding about one law: whether it holds at every point that was examined, and the evidence."""

    law: str
    statement: str
    holds: bool
    words: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    counterexample: Counterexample | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values; an infinite number becomes None."""
        numbers = {name: value if math.isfinite(value) else None for name, value in self.numbers.items()}
        found = None if self.counterexample is None else self.counterexample.to_dict()
        return {
            "holds": self.holds,
            "statement": self.statement,
            "words": self.words,
            **numbers,
            "counterexample": found,
        }


@dataclass(frozen=True, repr=False)
class Verdict:
    """The findings about a force. `print` shows them in words; `verdict["momentum"]` is one finding.

    Attributes:
        force: the force.
        metric: the metric that it should not worsen.
        n_lists: number of random lists that were tested.
        seed: their seed.
        findings: by law, whether it holds, with a counterexample if it does not.
    """

    force: Force
    metric: Metric
    n_lists: int
    seed: int
    findings: Mapping[str, Finding]

    def __getitem__(self, law: str) -> Finding:
        return self.findings[law]

    @property
    def broken(self) -> tuple[str, ...]:
        """The laws that do not hold."""
        return tuple(law for law, finding in self.findings.items() if not finding.holds)

    @property
    def alpha(self) -> float:
        """The smallest α for which subtracting α·s_i from each force makes it convex at every point tested; may be infinite."""
        return float(self.findings["convex"].numbers["alpha"])

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, for JSON."""
        return {
            "force": str(self.force),
            "metric": str(self.metric),
            "lists": self.n_lists,
            "seed": self.seed,
            "broken": list(self.broken),
            "laws": {law: finding.to_dict() for law, finding in self.findings.items()},
        }

    def __repr__(self) -> str:
        lines = [f"The laws of {self.force}, at {self.n_lists} lists (seed {self.seed})"]
        for finding in self.findings.values():
            lines += ["", f"{'holds ' if finding.holds else 'BROKEN'}  {finding.law}: {finding.statement}"]
            found = [finding.words]
            found += [f"For example {finding.counterexample}."] * (finding.counterexample is not None)
            for text in found:
                lines += textwrap.wrap(text, 108, initial_indent=" " * 8, subsequent_indent=" " * 8)
        return "\n".join(lines)


def number(value: float) -> str:
    """Return a number as sentences show it."""
    return f"{value:.3g}".replace("-", "−")


def row(values: Floats) -> str:
    """Return the numbers of documents as sentences show them; several outputs of a document are in brackets."""
    if np.ndim(values) == 2:
        return " ".join(f"[{row(part)}]" for part in values)
    return " ".join(number(value) for value in values)
