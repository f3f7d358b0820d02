"""Finds the stored memories nearest to a statement, to compare and link it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.models.products import project
from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import everyday_share, surface_of_stems
from memwarden.recall.rank.bm25 import PSEUDO_MASS, find_word, form_ids, idf
from memwarden.text.tokenizer import term_id, terms

Places = npt.NDArray[np.signedinteger[Any]]

# Neighbours that are compared with a statement.
MAX_NEIGHBOURS = 8
MIN_COSINE = 0.2
MIN_WORD_SHARE = 0.35
# Bounds below which a memory is no neighbour, by cosine or by shared words; the last applies without vectors. Names
# move a sentence far: two statements of where somebody lives can have a cosine of .3.
MIN_WORD_SHARE_ALONE = 0.25

# Copying a vector out of the index costs as much as multiplying this many in place.
COPY_COST = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """How near two statements have to be to have to do with each other: for words only, and by embedding model.

    The best of many places is high by chance, the more so the more places there are; ``growth`` takes that off, so
    that a score means the same in a store of ten memories and of ten thousand.

    Attributes:
        middle: the evidence, less the growth, at which the score is .5.
        slope: logits for each unit of evidence.
        growth: evidence that each e-fold of places brings by chance.
    """

    middle: float
    slope: float = 10.0
    growth: float = 0.04

    def logit(self, found: float, rows: int) -> float:
        """The logit that so much evidence, the best among so many rows, is no chance."""
        return self.slope * (found - self.growth * float(np.log(max(rows, 1))) - self.middle)


WORDS_SCALE: Final = Scale(middle=0.07)
# By model. Cosines of a model that was not measured only rank: whether there is an answer is told by words alone.
DENSE_SCALES: Final[Mapping[str, Scale]] = {
    "wordllama-l2-supercat-128": Scale(middle=0.33),
    # Of a question to a wrong store the best evidence grows by .053 (RealMem) and .062 (LoCoMo) an e-fold.
    "all-minilm-l6-v2-int8-128": Scale(middle=0.31, growth=0.05),
}

# No more logits than this are given to two statements.
MAX_LOGITS: Final = 3.0
# Weight of the share of words that two statements share, beside a cosine.
WORD_WEIGHT: Final = 0.7


def scale_of(model: str | None) -> Scale | None:
    """The scale of a model, or of the first of two side by side."""
    return DENSE_SCALES.get((model or "").partition("+")[0])


def score_pair(heard: float, cosine: float | None, rows: int, model: str | None) -> float:
    """Return how related two statements are, on the scale of questions and answers.

    heard: the share of the first's words that the second holds. rows: the number of rows searched.
    """
    dense = None if cosine is None else scale_of(model)
    scale = dense or WORDS_SCALE
    found = heard if dense is None or cosine is None else cosine + WORD_WEIGHT * heard
    logits = min(scale.logit(found, rows), MAX_LOGITS)
    return float(1 / (1 + np.exp(-max(logits, -60.0))))


class NearbyMemory(NamedTuple):
    """A neighbour of a statement.

    cosine: of the two vectors, None without vectors. score: relatedness, 0..1 on the calibrated scale of questions.
    """

    id: str
    cosine: float | None
    score: float


def find_nearby(
    index: NamespaceIndex,
    text: str,
    vector: bytes | None,
    allowed: Mask,
    *,
    model: str | None,
    most: int = MAX_NEIGHBOURS,
) -> list[NearbyMemory]:
    """Return at most ``most`` allowed memories near a statement, nearest first.

    Args:
        vector: the statement's vector as float16, as it is stored.
        model: name of the embedding model, for the scale.
    """
    places = np.flatnonzero(allowed)
    if not len(places):
        return []
    heard = _word_shares(index, text, places)
    cosine = _cosines(index, vector, places)
    evidence = heard if cosine is None else cosine + heard
    order = _best_places(evidence, index.order[places], most)
    close = is_near(heard, cosine)
    taken = [int(item) for item in order if close[item]]
    rows = len(places)
    return [
        NearbyMemory(
            index.columns.ids[places[item]],
            None if cosine is None else float(cosine[item]),
            score_pair(float(heard[item]), None if cosine is None else float(cosine[item]), rows, model),
        )
        for item in taken
    ]


def is_near(heard: Floats, cosine: Floats | None) -> Mask:
    """Return a mask of the statements worth comparing. heard: share of the statement's words that each holds."""
    if cosine is None:
        return np.asarray(heard >= MIN_WORD_SHARE_ALONE)
    return np.asarray((cosine >= MIN_COSINE) | (heard >= MIN_WORD_SHARE))


def _best_places(evidence: Floats, order: Places, most: int) -> Places:
    """Return the places of the greatest values, greatest first; ties in the order of writing."""
    if len(evidence) > most:
        least = np.partition(evidence, len(evidence) - most)[len(evidence) - most]
        candidates = np.flatnonzero(evidence >= least)
    else:
        candidates = np.arange(len(evidence))
    return candidates[np.lexsort((order[candidates], -evidence[candidates]))[:most]]


def _word_shares(index: NamespaceIndex, text: str, places: Places) -> Floats:
    """Return the idf-weighted share of the statement's words that each place holds."""
    held = np.zeros(index.size, np.float32)
    mass = PSEUDO_MASS
    stems = list(dict.fromkeys(terms(text)))
    for term, form in zip(stems, surface_of_stems(text, stems), strict=True):
        found, _ = find_word(index.postings, term_id(term), form_ids(term_id(term), form))
        rarity = idf(len(places), len(found), everyday_share(term))
        held[found] += np.float32(rarity)
        mass += rarity
    return np.asarray(held[places] / np.float32(mass), np.float32)


def _cosines(index: NamespaceIndex, vector: bytes | None, places: Places) -> Floats | None:
    width = index.dimensions
    if vector is None or width is None:
        return None
    asked = np.frombuffer(vector, dtype="<f2").astype(np.float32)
    if len(asked) > width:  # of two sides the first is compared
        asked = asked[:width]
        asked /= max(float(np.linalg.norm(asked)), 1e-6)
    passages = index.view.passages
    if len(places) * COPY_COST > index.size and passages.vectors is not None:
        return np.asarray(project(passages.vectors, asked)[passages.first[places]], np.float32)
    return project(index.vectors_of(places), asked)
