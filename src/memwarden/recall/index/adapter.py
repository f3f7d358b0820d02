"""Two linear maps over the multilingual vectors that bring a question near the statements that answer it.

They were fitted on the corpus of attributes (docs/why/recall.md): "where do I live?" lies far from "got the keys for
the flat in Porto" as a sentence, and near to it as a question to a statement.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memwarden.recall.index.view import Floats


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


def closeness(asked: Floats, vectors: Floats, norms: Floats) -> Floats:
    """Return the cosine between the mapped question and each mapped vector."""
    mapped = asked @ maps().asked
    mapped /= max(float(np.linalg.norm(mapped)), 1e-6)
    return np.asarray((vectors @ (maps().said @ mapped)) / norms, np.float32)


def personal(asked: Floats) -> float:
    """Return the logit that a question asks about somebody's life rather than about the world."""
    learned = maps().personal
    return float(asked @ learned[:-1] + learned[-1])
