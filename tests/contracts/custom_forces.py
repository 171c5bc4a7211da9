"""Forces as users write them: one function of one query, with plain loops that Numba can compile."""

from __future__ import annotations

import numpy as np

import podium


def ranknet_cost(scores, labels):
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                total += np.logaddexp(0.0, scores[j] - scores[i])
    return total


@podium.custom_force(cost=ranknet_cost)
def ranknet(scores, labels):
    """The built-in force of the same name, written in Python."""
    force, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                rho = 0.5 - 0.5 * np.tanh((scores[i] - scores[j]) / 2)
                bend = rho * (1 - rho)
                force[i] += rho
                force[j] -= rho
                curvature[i] += bend
                curvature[j] += bend
    return force, curvature


def squared(scores, labels):
    return labels - scores, np.ones(len(scores))


def squared_cost(scores, labels):
    return 0.5 * ((labels - scores) ** 2).sum()


def raises_on_high_scores(scores, labels):
    if scores.max() > 2:
        raise LookupError("no score may pass 2")
    return labels - scores, np.ones(len(scores))


def uses_what_numba_lacks(scores, labels):
    return np.array([{"a": [label]}["a"][0] for label in labels]) - scores, np.asarray(
        [1.0 for _ in scores], dtype=object
    )


def writes_into_what_it_gets(scores, labels):
    scores -= labels
    return -scores, np.ones(len(scores))


NOT_A_FORCE = 3
BUILT_IN = podium.force("hinge")


def next_label(labels, i):
    return labels[i + 1]


def past_the_end(scores, labels):
    force = np.zeros(len(scores))
    for i in range(len(scores)):
        force[i] = labels[i + 1] - labels[i]
    return force, np.ones(len(scores))


def writes_past_the_end(scores, labels):
    force = np.zeros(len(scores))
    for i in range(len(scores)):
        force[i + 1] = labels[i]
    return force, np.ones(len(scores))


def past_the_end_cost(scores, labels):
    total = 0.0
    for i in range(len(scores)):
        total += labels[i + 1]
    return total


def leaves(scores, labels):
    raise SystemExit(0)
