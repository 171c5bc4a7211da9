"""Metrics as a user writes them; those of a built-in name are the same as the built-in ones."""

from __future__ import annotations

import math
import sys

import numpy as np

import podium


def dcg(scores, labels):
    total = 0.0
    for rank in range(len(labels)):
        total += (2.0 ** labels[rank] - 1) / np.log2(rank + 2.0)
    return total


def mrr(scores, labels):
    for rank in range(len(labels)):
        if labels[rank] >= 1:
            return 1.0 / (rank + 1)
    return 0.0


def pairwise_error(scores, labels):
    wrong, pairs = 0.0, 0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                pairs += 1
                if scores[i] < scores[j]:
                    wrong += 1
                elif scores[i] == scores[j]:
                    wrong += 0.5
    return wrong / pairs if pairs > 0 else 0.0


def recall_of_two(scores, labels):
    relevant = np.sum(labels >= 1)
    return np.sum(labels[:2] >= 1) / relevant if relevant > 0 else math.nan


@podium.custom_metric(name="top label", bounds=(0, 4))
def top(scores, labels):
    return labels[0]


lower = podium.custom_metric(pairwise_error, higher_is_better=False)
NUMBER = 5


def gives_text(scores, labels):
    return "high"


def gives_infinity(scores, labels):
    return math.inf


def fails(scores, labels):
    raise ValueError("no such luck")


def leaves(scores, labels):
    sys.exit(0)


def past_the_end(scores, labels):
    total = 0.0
    for i in range(len(scores)):
        total += labels[i + 1]
    return total
