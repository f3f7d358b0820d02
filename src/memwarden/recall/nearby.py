"""The stored memories nearest to a statement: whom to compare it with, and what to link it to (B2, B16)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.view import Floats
from memwarden.recall.query_analysis import everyday_share
from memwarden.recall.rank.score import pair_score
from memwarden.recall.rank.word_signals import PSEUDO_MASS, idf
from memwarden.text.tokenizer import term_id, terms

Places = npt.NDArray[np.signedinteger[Any]]

MOST = 8
"""So many neighbours are looked at."""
LEAST_COSINE = 0.2
LEAST_HEARD = 0.35
LEAST_HEARD_ALONE = 0.25
"""What is further off in meaning and shares fewer words is no neighbour. Names move a sentence far: two statements of
where somebody lives can have a cosine of .3. Without vectors the words alone tell, by the last of the three."""

COPYING = 8
"""To take a vector out of the index costs as much as to multiply so many where they are."""


class Near(NamedTuple):
    """A neighbour of a statement.

    cosine: of the two vectors, None without vectors. score: how much they have to do with each other, 0..1 on the
    calibrated scale of questions and answers.
    """

    id: str
    cosine: float | None
    score: float


def nearby(
    index: NamespaceIndex,
    text: str,
    vector: bytes | None,
    allowed: Mask,
    *,
    model: str | None,
    most: int = MOST,
) -> list[Near]:
    """Return at most ``most`` of the allowed memories that are near to a statement, nearest first.

    Args:
        vector: the statement's vector as float16, as it is stored.
        model: name of the embedding model, for the scale.
    """
    places = np.flatnonzero(allowed)
    if not len(places):
        return []
    heard = _heard(index, text, places)
    cosine = _cosines(index, vector, places)
    evidence = heard if cosine is None else cosine + heard
    order = _first(evidence, index.order[places], most)
    close = is_near(heard, cosine)
    taken = [int(item) for item in order if close[item]]
    rows = len(places)
    return [
        Near(
            index.columns.ids[places[item]],
            None if cosine is None else float(cosine[item]),
            pair_score(float(heard[item]), None if cosine is None else float(cosine[item]), rows, model),
        )
        for item in taken
    ]


def is_near(heard: Floats, cosine: Floats | None) -> Mask:
    """Which statements are worth comparing. heard: the share of the one's words that each holds."""
    if cosine is None:
        return np.asarray(heard >= LEAST_HEARD_ALONE)
    return np.asarray((cosine >= LEAST_COSINE) | (heard >= LEAST_HEARD))


def _first(evidence: Floats, order: Places, most: int) -> Places:
    """The places of the greatest values, greatest first; equal ones in the order of writing."""
    if len(evidence) > most:
        least = np.partition(evidence, len(evidence) - most)[len(evidence) - most]
        candidates = np.flatnonzero(evidence >= least)
    else:
        candidates = np.arange(len(evidence))
    return candidates[np.lexsort((order[candidates], -evidence[candidates]))[:most]]


def _heard(index: NamespaceIndex, text: str, places: Places) -> Floats:
    """The share of the statement's words, weighed by how rare they are, that each place has too."""
    held = np.zeros(index.size, np.float32)
    mass = PSEUDO_MASS
    for term in dict.fromkeys(terms(text)):
        found, _ = index.postings(term_id(term))
        rarity = idf(len(places), len(found), everyday_share(term))
        held[found] += np.float32(rarity)
        mass += rarity
    return np.asarray(held[places] / np.float32(mass), np.float32)


def _cosines(index: NamespaceIndex, vector: bytes | None, places: Places) -> Floats | None:
    if vector is None or index.vectors is None:
        return None
    asked = np.frombuffer(vector, dtype="<f2").astype(np.float32)
    if len(places) * COPYING > index.size:
        return np.asarray((index.vectors @ asked)[places], np.float32)
    return np.asarray(index.vectors[places] @ asked, np.float32)
