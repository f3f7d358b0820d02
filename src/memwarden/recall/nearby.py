"""Finds the stored memories nearest to a statement, to compare and link it with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.models.products import project
from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import PSEUDO_MASS, everyday_share, find_word, form_ids, idf, surface_of_stems
from memwarden.recall.rank.calibration import score_pair
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
