"""What is known of a large namespace as a whole, so that a part of it can be scored as the whole would be.

A digest holds how common each word is, how long texts are, and the numbers of some rows, whole sessions of them, that
stand for all. How the signals of a question spread over the namespace is measured on those rows; words too rare to be
met among them enough have their spread in the digest. Digests are made now and then, in the background, of every row
but without vectors.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.recall.index.columns import Floats, Ints, Mask, TermIds, count_stems, flatten_terms
from memwarden.recall.index.rows import FoundRows
from memwarden.recall.index.view import Links, NamespaceView, derive_links
from memwarden.recall.question import Question
from memwarden.recall.rank.bm25 import K1, PSEUDO_MASS, B, find_word, idf
from memwarden.recall.rank.combine import PRIOR_ROWS, TYPICAL, Spread, measure_closeness, measure_spread
from memwarden.text.tokenizer import SURFACE_BIT

# So many rows stand for all, about: the deviation of a signal is told to within some hundredths.
SAMPLE_ROWS: Final = 4_000
# A word in this many sample rows is measured on them. Rarer words have their spread in the digest, which does not know
# how often they occur together with others. Measured: of 300 questions .957 of the exact ten with 3, .944 with 40.
MIN_MEASURED_ROWS: Final = 3
# Words that fewer rows hold are not in the digest: a search finds all of those rows, and counts them.
COUNTED: Final = 3


@dataclass(frozen=True)
class NamespaceDigest:
    """Statistics of a namespace at a revision, valid until a small part of it has changed.

    Attributes:
        rev: for which it was made. n: the last row then. alive: how many rows were active.
        sessions: how many sessions there were. mean_lengths: terms of a turn, a pair, a session.
        oldest, newest: when the first and the last turn were said, microseconds since 1970; None without turns.
        speakers: the names of those who speak. preset: of weights.
        sample: numbers of the rows that stand for all.
        terms: ids, ascending. rows_of, sessions_of: how many rows, sessions hold each.
        spread: (2, 3, terms): mean and mean square of tf/(tf + length part) over the rows, for turn, pair and session.
        rare: ids, ascending, of the terms that fewer rows hold than :data:`COUNTED`. Empty in a digest of an earlier
            release.
    """

    rev: int
    n: int
    alive: int
    sessions: int
    mean_lengths: tuple[float, float, float]
    oldest: int | None
    newest: int | None
    speakers: tuple[str, ...]
    preset: str
    sample: Ints
    terms: npt.NDArray[np.uint32]
    rows_of: npt.NDArray[np.int32]
    sessions_of: npt.NDArray[np.int32]
    spread: Floats
    rare: npt.NDArray[np.uint32]

    def holding(self, term: int, found: int) -> int:
        """Return how many memories hold a term; found: how many of those at hand do."""
        at = self._place(term)
        return min(found if at is None else max(found, int(self.rows_of[at])), self.alive)

    def holds(self, terms: TermIds) -> Mask:
        """Return which terms any memory holds."""
        return _is_among(terms, self.terms) | _is_among(terms, self.rare)

    def sessions_holding(self, term: int, found: int) -> int:
        """Return how many sessions hold a term."""
        at = self._place(term)
        return min(found if at is None else max(found, int(self.sessions_of[at])), self.sessions)

    def moments(self, term: int) -> npt.NDArray[np.float64]:
        """Return mean and mean square, for turn, pair and session: shape (2, 3)."""
        at = self._place(term)
        if at is None:
            return np.zeros((2, 3))
        return np.asarray(self.spread[:, :, at], np.float64)

    def reduce(self, sample: Ints, until: int) -> NamespaceDigest:
        """Return the digest of a part of the namespace, in which words are as common as in the whole.

        Args:
            sample: numbers of the sample's rows that are of the part. until: time of its last turn, microseconds.
        """
        share = len(sample) / max(len(self.sample), 1)
        return replace(
            self,
            alive=max(round(self.alive * share), len(sample)),
            sessions=max(round(self.sessions * share), 1),
            newest=None if self.newest is None else min(self.newest, until),
            sample=sample,
            rows_of=np.maximum(np.rint(self.rows_of * share), 1).astype(np.int32),
            sessions_of=np.maximum(np.rint(self.sessions_of * share), 1).astype(np.int32),
        )

    @cached_property
    def is_sampled(self) -> bool:
        """Whether the sample is less than the whole."""
        return len(self.sample) < self.alive

    @property
    def clock(self) -> tuple[int, int] | None:
        """When the first and the last turn were said; None without any."""
        return None if self.oldest is None or self.newest is None else (self.oldest, self.newest)

    @property
    def nbytes(self) -> int:
        return sum(int(getattr(self, name).nbytes) for name in _ARRAYS)

    def _place(self, term: int) -> int | None:
        at = int(self.terms.searchsorted(np.uint32(term)))
        return at if at < len(self.terms) and self.terms[at] == term else None

    def encode(self) -> bytes:
        """Return it as bytes, for :func:`decode_digest`."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        file = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        np.savez(file, plain=np.frombuffer(json.dumps(plain).encode(), np.uint8), **arrays)
        return file.getvalue()


_PLAIN: Final = ("rev", "n", "alive", "sessions", "mean_lengths", "oldest", "newest", "speakers", "preset")
_ARRAYS: Final = ("sample", "terms", "rows_of", "sessions_of", "spread", "rare")


def decode_digest(body: bytes) -> NamespaceDigest:
    """Return the digest of :meth:`NamespaceDigest.encode`. Raises ValueError or KeyError for anything else."""
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        plain = json.loads(arrays["plain"].tobytes())
        plain["mean_lengths"] = tuple(plain["mean_lengths"])
        plain["speakers"] = tuple(plain["speakers"])
        held: dict[str, Any] = {"rare": np.zeros(0, np.uint32)} | dict(arrays)
        return NamespaceDigest(**plain, **{name: held[name] for name in _ARRAYS})


def make_digest(
    rows: FoundRows, rev: int, session_gap: int, speakers: Sequence[str], preset: str, seed: int = 0
) -> NamespaceDigest:
    """Return the digest of a namespace. rows: every active row, in the order of writing. Takes seconds."""
    codes = encode_codes(rows.threads)
    in_thread = codes > 0
    links = derive_links(rows.n, codes, rows.said, rows.turn & in_thread, in_thread & ~rows.turn, session_gap)
    length = count_stems(rows.terms)
    has_previous = links.previous >= 0
    pair_length = length + np.where(has_previous, length[links.previous], np.float32(0))
    slot = np.where(links.session >= 0, links.session, links.sessions)
    session_length = np.bincount(slot, length, links.sessions + 1)[:-1].astype(np.float32)
    used = session_length > 0
    means = (_mean(length), _mean(pair_length), _mean(session_length[used]))
    ids, place, tf = flatten_terms(0, tuple(rows.terms))
    stems = ids < SURFACE_BIT  # surface forms only lead to rows; how common a word is tell the stems
    ids, place, tf = ids[stems], place[stems], tf[stems]
    names, terms = np.unique(ids, return_inverse=True)
    said = rows.said[rows.turn]
    alive = len(rows)
    spread = np.zeros((2, 3, len(names)), np.float64)
    spread[:, 0] = _moments(terms, tf, _part(length, means[0])[place], len(names), None)
    pairs = _pairs(terms, place, tf, links)
    spread[:, 1] = _moments(pairs[0], pairs[2], _part(pair_length, means[1])[pairs[1]], len(names), None)
    inside = links.session[place] >= 0
    docs = _sum_signals(terms[inside], links.session[place[inside]], tf[inside])
    size = np.bincount(links.session[links.session >= 0], minlength=links.sessions).astype(np.float64)
    part = _part(session_length, means[2])
    spread[:, 2] = _moments(docs[0], docs[2], part[docs[1]], len(names), size[docs[1]])
    rows_of = np.bincount(terms, minlength=len(names))
    kept = rows_of >= COUNTED
    return NamespaceDigest(
        rev=rev,
        n=int(rows.n[-1]) if alive else 0,
        alive=alive,
        sessions=int(np.count_nonzero(used)),
        mean_lengths=means,
        oldest=int(said.min()) if len(said) else None,
        newest=int(said.max()) if len(said) else None,
        speakers=tuple(speakers),
        preset=preset,
        sample=_sample(rows.n, links, random.Random(seed)),
        terms=names[kept].astype(np.uint32),
        rows_of=rows_of[kept].astype(np.int32),
        sessions_of=np.bincount(docs[0], minlength=len(names))[kept].astype(np.int32),
        spread=(spread[:, :, kept] / max(alive, 1)).astype(np.float32),
        rare=names[~kept].astype(np.uint32),
    )


class SampleMeasure(NamedTuple):
    """How a question is close to the rows that stand for a namespace.

    Attributes:
        common: the question with the words that the sample measures. rare: with the others.
        words: BM25 of the sample's rows by the common words. spread: of the signals over the sample.
    """

    common: Question
    rare: Question
    words: Floats
    spread: dict[str, Spread]


def measure_sample(question: Question, sample: NamespaceView, whole: NamespaceDigest) -> SampleMeasure:
    """Measure a question on the rows that stand for a namespace."""
    measured = [not whole.is_sampled or len(sample.postings(term)[0]) >= MIN_MEASURED_ROWS for term in question.terms]
    common, rare = question.keep_words(measured), question.keep_words([not is_measured for is_measured in measured])
    closeness = measure_closeness(common, sample)
    return SampleMeasure(common, rare, closeness.places["words"], measure_spread(closeness, sample))


def measure_question(
    question: Question,
    measured: SampleMeasure,
    sample: NamespaceView,
    whole: NamespaceDigest,
    candidates: NamespaceView,
    found: Floats,
    met: Mask,
) -> dict[str, Spread]:
    """Return how the signals of a question spread over the namespace.

    Few rows hold several words of a question, and those decide how far BM25 spreads. They are among the candidates, so
    that the candidates count for themselves. The sample stands for the other rows. The digest has the spread of words
    that are too rare for the sample.

    Args:
        sample: the rows that stand for the namespace. candidates: rows that a search found. found: their BM25.
        met: places of the sample that are among the candidates.
    """
    common, rare, words, spread = measured
    if not whole.is_sampled:
        return spread
    mass = _mass(question, whole) + PSEUDO_MASS
    # The sample's BM25 is a share of the mass of the words that it measures.
    share = (_mass(common, whole) + PSEUDO_MASS) / mass
    moments = _sum_rest(words * np.float32(share), ~met & sample.alive, whole, candidates.size)
    for word in zip(rare.terms, rare.idf_prior, strict=True):
        moments += _sum_rare(*word, question, whole, candidates) / (mass, mass**2)
    moments += (found.sum(dtype=np.float64), (found.astype(np.float64) ** 2).sum())
    mean, square = moments / whole.alive
    variance = max(square - mean**2, 0.0) + PRIOR_ROWS * TYPICAL["words"] ** 2 / whole.alive
    return {**spread, "words": Spread(float(mean), float(np.sqrt(variance)))}


def _sum_rest(values: Floats, others: Mask, whole: NamespaceDigest, candidates: int) -> npt.NDArray[np.float64]:
    """Return the sums of BM25 and of its square over the rows that are no candidates. others: those of the sample."""
    rest = values[others].astype(np.float64)
    rows = max(whole.alive - candidates, 0)
    return np.array([rest.sum(), (rest**2).sum()]) * (rows / max(len(rest), 1))


def _sum_rare(
    term: int, prior: float, question: Question, whole: NamespaceDigest, candidates: NamespaceView
) -> npt.NDArray[np.float64]:
    """Return the sums that a rare word adds over the rows that are no candidates, each of which holds it alone."""
    weight = idf(whole.alive, whole.holding(term, 0), prior)
    places, counts = find_word(candidates.postings, term, question.form_ids.get(term, ()))
    # As the digest counts: over whole texts.
    found = (counts / (counts + _part(candidates.length[places], whole.mean_lengths[0]))).astype(np.float64)
    total = whole.moments(term)[:, 0] * whole.alive
    rest: npt.NDArray[np.float64] = np.maximum(total - (found.sum(), (found**2).sum()), 0)
    return rest * (weight, weight**2)


def _is_among(terms: TermIds, known: TermIds) -> Mask:
    """Return which terms are among known ones, which are in ascending order."""
    if not len(known):
        return np.zeros(len(terms), np.bool_)
    return np.asarray(known[np.minimum(known.searchsorted(terms), len(known) - 1)] == terms, np.bool_)


def encode_codes(values: Sequence[str | None]) -> npt.NDArray[np.int32]:
    """Return a number for each text, the same for equal texts; 0 for None."""
    codes = {value: code for code, value in enumerate(dict.fromkeys((None, *values)))}
    return np.fromiter(map(codes.__getitem__, values), np.int32, len(values))


def _mass(question: Question, whole: NamespaceDigest) -> float:
    """Return the sum of the weights of a question's words."""
    words = zip(question.terms, question.idf_prior, strict=True)
    return sum(idf(whole.alive, whole.holding(term, 0), prior) for term, prior in words)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 1.0


def _part(length: Floats, mean: float) -> Floats:
    return np.asarray(K1 * (1 - B + B * length / max(mean, 1e-6)), np.float32)


def _moments(
    terms: npt.NDArray[Any], tf: Floats, part: Floats, size: int, times: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.float64]:
    """Sums of tf/(tf + part) and of its square a term; times: for how many rows each counts."""
    value = (tf / (tf + part)).astype(np.float64)
    first, second = (value, value**2) if times is None else (value * times, value**2 * times)
    return np.stack([np.bincount(terms, first, size), np.bincount(terms, second, size)])


def _pairs(
    terms: npt.NDArray[Any], place: npt.NDArray[Any], tf: Floats, links: Links
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Floats]:
    """(term, place, count) of what each row and the turn before it hold together."""
    after = np.full(len(links.previous), -1, np.int64)
    linked = np.flatnonzero(links.previous >= 0)
    after[links.previous[linked]] = linked
    following = after[place]
    has_one = following >= 0
    return _sum_signals(
        np.concatenate([terms, terms[has_one]]),
        np.concatenate([place.astype(np.int64), following[has_one]]),
        np.concatenate([tf, tf[has_one]]),
    )


def _sum_signals(
    terms: npt.NDArray[Any], place: npt.NDArray[Any], tf: Floats
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Floats]:
    """Each pair of a term and a place once, with the sum of its counts."""
    keys = (terms.astype(np.uint64) << np.uint64(32)) | place.astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if not len(keys):
        return terms[:0], place[:0].astype(np.int64), tf[:0]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sums = np.add.reduceat(tf[order], starts).astype(np.float32)
    keys = keys[starts]
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64), sums


def _sample(n: Ints, links: Links, chance: random.Random) -> Ints:
    """Numbers of rows: whole sessions drawn by lot, and as large a part of the rows outside of any."""
    if len(n) <= SAMPLE_ROWS:
        return n.copy()
    inside = links.session >= 0
    size = np.bincount(links.session[inside], minlength=links.sessions)
    drawn = chance.sample(range(links.sessions), links.sessions)
    share = SAMPLE_ROWS / len(n)
    most = share * int(inside.sum())
    taken = np.zeros(links.sessions + 1, np.bool_)
    held = 0
    for item in drawn:
        if held >= most:
            break
        if size[item] <= SAMPLE_ROWS // 4:  # an endless session would leave room for no other
            taken[item] = True
            held += int(size[item])
    chosen = taken[np.where(inside, links.session, links.sessions)]
    loose = np.flatnonzero(~inside if held else ~chosen)
    by_lot = chance.sample(
        loose.tolist(), min(len(loose), max(SAMPLE_ROWS - held, 0) if not held else round(share * len(loose)))
    )
    chosen[by_lot] = True
    return n[chosen]
