"""What was learned of questions and what answers them: maps over the multilingual vectors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats


class QuestionMaps(NamedTuple):
    """What was learned of questions and statements.

    Attributes:
        asked, said: (512, 512): for a question and for what was said.
        personal: (513,): how much a question asks about somebody's life rather than about the world; the last is the
            constant.
    """

    asked: Floats
    said: Floats
    personal: Floats


@cache
def maps() -> QuestionMaps:
    """Return the maps that lie beside this module; loaded at first use (1 MB)."""
    with np.load(Path(__file__).with_name("question_maps.npz")) as stored:
        return QuestionMaps(*(stored[name].astype(np.float32) for name in QuestionMaps._fields))


def said_norms(vectors: Floats) -> Floats:
    """Return the length of each mapped vector, so that no mapped vectors have to be kept."""
    return np.asarray(np.maximum(np.linalg.norm(vectors @ maps().said, axis=1), 1e-6), np.float32)


# Vectors that two questions are held against while they are in the processor's cache: reading them takes the time.
HELD_ROWS: Final = 256


def cosine_and_closeness(asked: Floats, vectors: Floats, norms: Floats) -> tuple[Floats, Floats]:
    """Return the question's product with each vector, and the cosine of the mapped question and mapped vectors."""
    mapped = asked @ maps().asked
    mapped /= max(float(np.linalg.norm(mapped)), 1e-6)
    mapped = maps().said @ mapped
    near, adapted = np.empty((2, len(vectors)), np.float32)
    for start in range(0, len(vectors), HELD_ROWS):
        held = vectors[start : start + HELD_ROWS]
        np.matmul(held, asked, out=near[start : start + HELD_ROWS])
        np.matmul(held, mapped, out=adapted[start : start + HELD_ROWS])
    return near, adapted / norms


def personal(asked: Floats) -> float:
    """Return the logit that a question asks about somebody's life rather than about the world."""
    return float(asked @ maps().personal[:-1] + maps().personal[-1])
