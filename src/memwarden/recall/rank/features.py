"""Features of recall: how well each memory of a namespace answers a question.

A feature is a function ``(question, view) -> a float for each place``. :mod:`memwarden.recall.rank.score` names the
weights of the presets. Every constant is round, was picked by hand and stands below; nothing is fitted to a data set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.models.products import multiply
from memwarden.recall.index import columns
from memwarden.recall.index.columns import Counts, Floats, Ints, Mask, Rows
from memwarden.recall.index.view import NamespaceView, date_closeness
from memwarden.recall.question import (
    PSEUDO_MASS,
    Question,
    WordSignals,
    find_rows,
    first_term,
    idf,
    weigh_terms,
    word_signals,
)
from memwarden.statements.wording import relation_words
from memwarden.text.dates.calendar import day_number
from memwarden.text.tokenizer import index_ids, term_id, terms

TokenVectors = npt.NDArray[np.int8]

# So many of the best by words and vectors are looked at again.
MAX_CANDIDATES: Final = 100
# Weight of :func:`match_closeness` in the sum of z-scores: its spread over candidates is about .05.
MET: Final = 20.0

_ONE: Final = np.float32(1 / 127)


def best_matches(question: Floats, tokens: TokenVectors, starts: Ints, places: Ints) -> Floats:
    """Return each question piece's cosine to its nearest piece in each memory, (pieces, len(places)).

    It is -1 throughout for a memory without pieces and for place -1.

    Args:
        question: (pieces, 64) of unit length.
        tokens, starts: the pieces of all memories.
        places: the memories to look at.
    """
    best = np.full((len(question), len(places)), -1, np.float32)
    sizes = np.where(places >= 0, starts[places + 1] - starts[places], 0)
    filled = np.flatnonzero(sizes)
    if not len(filled) or not len(question):
        return best
    sizes = sizes[filled]
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(int(sizes.sum())) + np.repeat(starts[places[filled]] - begins, sizes)
    met = multiply(tokens[rows].astype(np.float32), question.T * _ONE)
    best[:, filled] = np.maximum.reduceat(met, begins, axis=0).T
    return best


def match_closeness(
    question: Floats, weights: Floats, tokens: TokenVectors, starts: Ints, places: Ints, previous: Ints
) -> Floats:
    """Return the weighted mean of the pieces' best matches in each memory or the turn before.

    Args:
        question: (pieces, 64) of unit length. weights: a weight for each piece, >= 0, not all 0. The root of the idf of
            the piece's word, .5 for a stop word or a sign.
        tokens, starts: the pieces of all memories.
        places: the memories to look at. previous: for each of them the turn before, or -1.
    """
    wanted, at = np.unique(np.concatenate([places, previous]), return_inverse=True)
    best = best_matches(question, tokens, starts, wanted)
    met = np.maximum(best[:, at[: len(places)]], best[:, at[len(places) :]])
    met[met < 0] = 0
    return np.asarray((weights / np.float32(weights.sum())) @ met, np.float32)


def lift_candidates(total: Floats, candidates: Ints, met: Floats) -> Floats:
    """Return the z-score sums with each candidate lifted by its closeness, the worst by 0."""
    total = total.copy()
    if len(met):
        total[candidates] += np.float32(MET) * (met - met.min())
    return total


Feature = Callable[[Question, NamespaceView], Floats]


class DenseSide(NamedTuple):
    """The vectors of one model with the question's own vector."""

    name: str
    asked: Floats
    vectors: Floats
    pair_norm: Floats | None
    session_norm: Floats | None


ASKS_ALIKE, NEEDED = 0.5, 0.6  # what asks for the same attribute; what a needed attribute adds for a request
MAX_STATED: Final = 1_000  # places whose statements are looked at


def _spread_over_rows(name: str, session: Floats, question: Question, view: NamespaceView) -> Floats:
    """Spread each session's value over its rows; rows without a session get the mean."""
    if not view.sessions:
        return view.nothing
    value = np.empty(view.sessions + 1, np.float32)
    value[:-1] = session
    value[-1] = session_mean(session, view) if question.measure is None else question.measure.session_means[name]
    return value[view.slot]


def session_mean(session: Floats, view: NamespaceView) -> float:
    """Return the mean of a value over the sessions with words."""
    used = session[view.session_length > 0]
    return float(np.add.reduce(used) / len(used)) if len(used) else 0.0


def word_signals_of(question: Question, view: NamespaceView) -> WordSignals:
    """Return what the question's words say of the places, worked out once."""
    if "words" not in question.memo:
        held = find_words(question, view)
        question.memo["words"] = word_signals(question.terms, weigh_words(question, view), view, held)
    found: WordSignals = question.memo["words"]
    return found


def weigh_words(question: Question, view: NamespaceView) -> Sequence[float]:
    """Return the idf of each word of the question, worked out once."""
    if "idf" not in question.memo:
        question.memo["idf"] = weigh_terms(question.terms, question.idf_prior, view, find_words(question, view))
    found: Sequence[float] = question.memo["idf"]
    return found


def find_words(question: Question, view: NamespaceView) -> Sequence[tuple[Rows, Counts]]:
    """Return which rows hold each word of the question and how often, looked up once."""
    if "rows" not in question.memo:
        question.memo["rows"] = find_rows(question.terms, view, question.form_ids)
    found: Sequence[tuple[Rows, Counts]] = question.memo["rows"]
    return found


def words_heard(question: Question, view: NamespaceView) -> Floats:
    """Share of the question's idf mass that the place and the turn before it cover."""
    return word_signals_of(question, view).heard


def heard_on_days(question: Question, view: NamespaceView) -> Floats:
    """The same, where the words of a date count as heard on its days: what was said on 5 May hardly says "5 May"."""
    heard = words_heard(question, view)
    dated = {term_id(stem) for span in question.asked_days for stem in terms(span.text)} & set(question.terms)
    if not dated:
        return heard
    masses = {
        term: idf(view.alive_count, len(view.postings(term)[0]), prior)
        for term, prior in zip(question.terms, question.idf_prior, strict=True)
    }
    whole = sum(masses.values()) + PSEUDO_MASS
    rest = [pair for pair in zip(question.terms, question.idf_prior, strict=True) if pair[0] not in dated]
    said = np.zeros(view.size, np.float32)
    if rest:
        kept, priors = zip(*rest, strict=True)
        found = find_rows(kept, view, question.form_ids)
        plain = word_signals(kept, weigh_terms(kept, priors, view, found), view, found).heard
        said = plain * np.float32(sum(masses[term] for term in kept) + PSEUDO_MASS)
    of_dates = np.float32(sum(masses[term] for term in dated))
    return np.maximum(heard, (said + of_dates * on_day(question, view)) / np.float32(whole))


def bm25_turn(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row alone."""
    return word_signals_of(question, view).turn


def bm25_pair(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row and the turn before it: a question and its answer are one document."""
    return word_signals_of(question, view).pair


def bm25_session(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row's whole session."""
    return _spread_over_rows("bm25_session", word_signals_of(question, view).session, question, view)


def leading(question: Question, view: NamespaceView) -> DenseSide | None:
    """The side whose model reads the question's language best; None to go by words alone."""
    if question.second is not None and view.second is not None and not question.english:
        return second_side(question, view)
    return first_side(question, view) or second_side(question, view)


def _lead(question: Question, view: NamespaceView) -> DenseSide | None:
    """The leading side, chosen once."""
    if "lead" not in question.memo:
        question.memo["lead"] = leading(question, view)
    found: DenseSide | None = question.memo["lead"]
    return found


def first_side(question: Question, view: NamespaceView) -> DenseSide | None:
    """The first vectors with the question's; None where either has none."""
    if question.vector is None or view.vectors is None:
        return None
    return DenseSide("first", question.vector, view.vectors, view.pair_norm, view.session_norm)


def second_side(question: Question, view: NamespaceView) -> DenseSide | None:
    """The multilingual vectors with the question's; None where either has none."""
    if question.second is None or view.second is None:
        return None
    side = view.second
    return DenseSide("second", question.second, side.vectors, side.pair_norm, side.session_norm)


def side_cosine(side: DenseSide | None, question: Question, view: NamespaceView) -> Floats:
    """Cosine of a side with every row: one matrix product; zeros without the side."""
    if side is None:
        return view.nothing
    if side.name == "second":
        return _second_products(question, view)[0]
    if side.name not in question.memo:
        question.memo[side.name] = view.passages.best(np.vecdot(side.vectors, side.asked))
    found: Floats = question.memo[side.name]
    return found


def cosine_turn(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the row, by the model that leads in the question's language."""
    return side_cosine(_lead(question, view), question, view)


def cosine_pair(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the row plus .7 of the turn before."""
    side = _lead(question, view)
    own = side_cosine(side, question, view)
    if side is None or side.pair_norm is None:
        return own
    return np.asarray((own + own[view.previous] * view.before_share) / side.pair_norm, np.float32)


def cosine_session(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the mean vector of the row's session, from the same matrix product."""
    side = _lead(question, view)
    if side is None or side.session_norm is None or not view.sessions:
        return view.nothing
    total = np.bincount(view.slot, side_cosine(side, question, view), view.sessions + 1)[:-1]
    question.memo["session_cosines"] = (total / side.session_norm).astype(np.float32)
    return _spread_over_rows("cosine_session", question.memo["session_cosines"], question, view)


def cosine_other(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the row, by the model that does not lead."""
    side = _lead(question, view)
    other = second_side(question, view) if side is not None and side.name == "first" else first_side(question, view)
    return side_cosine(other, question, view)


def adapted(question: Question, view: NamespaceView) -> Floats:
    """How near the row lies to what answers such a question (``recall/index/question_maps.npz``)."""
    if question.second is None or view.second is None:
        return view.nothing
    return _second_products(question, view)[1]


def _second_products(question: Question, view: NamespaceView) -> tuple[Floats, Floats]:
    """Both of what the multilingual vectors say, from a single pass over them."""
    assert question.second is not None
    assert view.second is not None
    if "second" not in question.memo:
        side = view.second
        both = columns.cosine_and_closeness(question.second, side.vectors, side.adapted_norm)
        question.memo["second"] = view.passages.best(both[0]), view.passages.best(both[1])
    found: tuple[Floats, Floats] = question.memo["second"]
    return found


def cosine_before(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the turn before, above the mean; 0 without any."""
    return _of_neighbour(view.previous, question, view)


def cosine_after(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the turn after, above the mean; 0 without any."""
    return _of_neighbour(view.following, question, view)


def _of_neighbour(neighbour: Ints, question: Question, view: NamespaceView) -> Floats:
    if not view.size:
        return np.zeros(0, np.float32)
    if "above_mean" not in question.memo:
        own = cosine_turn(question, view)
        seen = own if view.live is None else own[view.live]
        question.memo["above_mean"] = own - np.float32(np.add.reduce(seen) / np.float32(max(len(seen), 1)))
    above: Floats = question.memo["above_mean"]
    return np.where(neighbour >= 0, above[neighbour], np.float32(0))


def base(question: Question, view: NamespaceView) -> Floats:
    """Words and meaning together: the signals in deviations, by the weights of the view's preset.

    The means are left out: they move all places alike.
    """
    if "base" not in question.memo:
        names, weights, signals = list_signals(question, view)
        total = np.asarray((weights / _signal_deviations(names, signals, question, view)) @ signals, np.float32)
        if _has_piece_signals(question, view):
            total = _lift_by_pieces(question, view, total)
        # Two memories are always one deviation apart, however alike they are: in small stores z-scores say little.
        question.memo["base"] = total * view.caution
    found: Floats = question.memo["base"]
    return found


def _has_piece_signals(question: Question, view: NamespaceView) -> bool:
    """Whether word pieces are compared: in chats between people, in the language of the pieces' model.

    In what a person tells an assistant they bring up what repeats the question's words, above what answers it.
    """
    if question.pieces is None or view.pieces is None or "word_pieces" in question.left_out:
        return False
    return question.english and (question.preset or view.preset) == "chat"


def list_signals(question: Question, view: NamespaceView) -> tuple[list[str], Floats, Floats]:
    """The signals of which the base is made: their names, their weights and their values, a line each."""
    listed = SIGNALS["words" if _lead(question, view) is None else question.preset or view.preset]
    counted = [(part, weight) for part, weight in listed.items() if part.__name__ not in question.left_out]
    signals = np.stack([part(question, view) for part, _ in counted])
    return [part.__name__ for part, _ in counted], np.array([weight for _, weight in counted], np.float32), signals


# Weights in deviations, by preset, and for a question without vectors.
SIGNALS: Final[dict[str, dict[Feature, float]]] = {
    "chat": {
        bm25_pair: 0.4,
        bm25_session: 0.5,
        cosine_turn: 0.9,
        cosine_pair: 0.3,
        cosine_session: 0.4,
        cosine_other: 0.2,
        adapted: 0.4,
        cosine_before: 0.1,
        cosine_after: 0.4,
    },
    "assistant": {
        bm25_pair: 0.35,
        bm25_session: 0.25,
        cosine_turn: 0.5,
        cosine_pair: 0.3,
        cosine_session: 0.6,
        cosine_other: 0.2,
        adapted: 0.6,
        cosine_before: 0.1,
        cosine_after: 0.3,
    },
    "words": {bm25_turn: 1.0, bm25_pair: 1.0, bm25_session: 0.7},
}


def _lift_by_pieces(question: Question, view: NamespaceView, total: Floats) -> Floats:
    """Rescore the best places word piece by word piece."""
    assert question.pieces is not None
    assert view.pieces is not None
    open_places = np.flatnonzero(question.memo.get("allowed", view.alive) & ~view.chatter)
    if not len(open_places) or not len(question.pieces):
        return total
    best = open_places[np.argsort(-total[open_places], kind="stable")[:MAX_CANDIDATES]]
    by_word = {word: _piece_weight(word, view) for word in {*question.piece_words}}
    weights = np.array([by_word[word] for word in question.piece_words], np.float32)
    met = match_closeness(question.pieces, weights, view.pieces, view.piece_starts, best, view.previous[best])
    return lift_candidates(total, best, met)


def _piece_weight(word: str, view: NamespaceView) -> float:
    """The root of the idf of a piece's word; .5 for a stop word or a sign."""
    term, prior = first_term(word)
    if not prior:
        return 0.5
    holding = len(view.postings(term)[0])
    if view.whole is not None:
        holding = view.whole.holding(term, holding)
    return float(idf(view.alive_count, holding, prior) ** 0.5)


def _signal_deviations(names: Sequence[str], signals: Floats, question: Question, view: NamespaceView) -> Floats:
    if question.measure is not None:
        return np.array([question.measure.deviations[name] for name in names], np.float32)
    return deviation(variances(signals, view))


def deviation(variance: Floats) -> Floats:
    """Standard deviations; 1 where all are alike."""
    return np.asarray(np.where(variance > 1e-9, np.sqrt(np.maximum(variance, 1e-9)), 1), np.float32)


def variances(signals: Floats, view: NamespaceView) -> Floats:
    """Variance of each signal over the live places; 0 without any."""
    seen = signals if view.live is None else signals[:, view.live]
    places = seen.shape[1]
    if not places:
        return np.zeros(len(signals), np.float32)
    square = np.einsum("ij,ij->i", seen, seen) / places
    return np.asarray(square - (np.add.reduce(seen, axis=1) / places) ** 2, np.float32)


def said_by_named(question: Question, view: NamespaceView) -> Floats:
    """1 where the only partner named in the question speaks."""
    if len(question.speakers) != 1:
        return view.nothing
    return np.asarray(view.speaker == question.speakers[0], np.float32)


def says_when(question: Question, view: NamespaceView) -> Floats:
    """1 where a question of time meets a time word."""
    if not question.when:
        return view.nothing
    return view.has_time_word.astype(np.float32)


def on_day(question: Question, view: NamespaceView) -> Floats:
    """0..1 for days the question asks about ("last week"): said on them, or naming them."""
    if not question.asked_days:
        return view.nothing
    said = np.zeros(view.size, np.bool_)
    for span in question.asked_days:
        said |= (view.said_day >= day_number(span.first)) & (view.said_day <= day_number(span.last))
    named = date_closeness(view.day_places, view.days, view.size, question.asked_days)
    return np.maximum(said.astype(np.float32), named)


def stated(question: Question, view: NamespaceView) -> Floats:
    """How near a statement of the row lies to what is asked for: its meaning, its attribute, that it is stated."""
    if question.reading is None or view.statements is None:
        return view.nothing
    if "stated" not in question.memo:
        found = view.statements.evidence(question.reading, view.size, _best_by_base(question, view))
        # "Braga." tells what "Where do you live?" asks.
        attribute, sure = view.with_answers(found.attribute), view.with_answers(found.sure, found.attribute)
        alike = np.where(found.attribute >= ASKS_ALIKE, found.similarity, np.float32(-1))
        similarity, known = view.with_answers(found.similarity, alike), view.with_answers(found.known)
        question.memo.update(attribute=attribute, sure=sure, similarity=similarity)
        near = similarity + np.float32(0.2) * found.states + np.float32(0.3) * attribute
        # What a request needs lies not near to its words.
        near += np.float32(NEEDED * question.reading.is_request) * sure
        # A row without statements is unknown, not far: it stands where the mean does.
        near = np.where(known, near - np.float32(near[known].mean() if known.any() else 0), np.float32(0))
        question.memo["stated"] = near * view.caution
    value: Floats = question.memo["stated"]
    return value


def attribute_told(question: Question, view: NamespaceView) -> Floats | None:
    """How much the row tells the attribute that is asked for, 0..1; None where statements are not read."""
    if question.reading is None or view.statements is None:
        return None
    stated(question, view)
    found: Floats = question.memo["attribute"]
    return found


def _best_by_base(question: Question, view: NamespaceView) -> Ints | None:
    """The places among which statements decide: in a large namespace looking at all takes longer than the rest."""
    if view.size <= MAX_STATED:
        return None
    return np.argpartition(-base(question, view), MAX_STATED)[:MAX_STATED]


def only_asks(question: Question, view: NamespaceView) -> Floats:
    """1 where the row asks something and says little else, .4 where it asks something: questions hold fewer answers."""
    return view.only_asks


def from_person(question: Question, view: NamespaceView) -> Floats:
    """1 where a person speaks: an assistant mostly repeats what it was told."""
    return view.from_person


def says_much(question: Question, view: NamespaceView) -> Floats:
    """How much the row says, as a logarithm of its length; in a small store it hardly counts."""
    return view.says_much


def newness(question: Question, view: NamespaceView) -> Floats:
    """0..1: what was said later replaces what was said before; in a small store it hardly counts."""
    return view.newness


def related(question: Question, view: NamespaceView) -> Floats:
    """The largest strength x (base of the other end - own base) of its relations to what may be in the answer.

    It brings a memory nearer to a better memory that it belongs to. Without the difference, facts that are alike would
    lift each other over a turn that answers better and has no relations.
    """
    value = np.zeros(view.size, np.float32)
    if view.related is not None:
        own = base(question, view)
        lent = view.related.strengths * (own[view.related.others] - own[view.related.owners])
        if "allowed" in question.memo:
            lent *= question.memo["allowed"][view.related.others]
        value[view.related.places] = np.maximum(np.maximum.reduceat(lent, view.related.starts), 0)
    return value


def recent(question: Question, view: NamespaceView) -> Floats:
    """exp(-sessions since / 30); nothing for rows without a session."""
    return view.recency


# In longer histories an attribute is told in passing too often for that.
MAX_SURE_ROWS: Final = 100
_SINCE: Final = re.compile(
    r"\b(?:since|after|seit|nach|desde|tras|depuis|après)\b(?:\s+(?:the|el|le|dem))?\s*$", re.IGNORECASE
)
_DAY: Final = 86_400_000_000


def moment_of(question: Question, view: NamespaceView, allowed: Mask) -> int | None:
    """The end of the days of which a question asks what held, where something was said later; else None."""
    if not question.asked_days or question.reading is None or question.reading.when in ("why", "when"):
        return None
    last = max(question.asked_days, key=lambda span: span.last)
    before, _, _ = question.text.partition(last.text)
    # "Since May" asks about the time after.
    moment = (day_number(last.last) + 1) * _DAY - 1
    return None if _SINCE.search(before) or not (view.said_local[allowed] > moment).any() else moment


def value_told(question: Question, view: NamespaceView) -> Floats | None:
    """How surely, and how likely, each place tells what is asked for; None where that is not known."""
    told, reading = attribute_told(question, view), question.reading
    if told is None or reading is None or reading.when == "why" or reading.is_request:
        return None
    if view.alive_count >= MAX_SURE_ROWS:
        return None
    both = np.stack([question.memo["sure"], told])
    # Where a dog is asked about, what tells of a cat tells another value.
    for other in _alike_relations(reading.relation) if reading.relation else ():
        for every, ids in _ids_of_relation(other):
            for term in ids if every is any or len(ids) == 1 else ():
                both[:, view.postings(term)[0]] = 0
    return both


_UNSPACED: Final = 0x2E80


_RELATION_GROUPS: Final = (
    frozenset({"dog", "cat"}),
    frozenset({"sister", "brother"}),
    frozenset({"mother", "father", "uncle", "aunt", "grandmother", "grandfather"}),
    frozenset({"son", "daughter", "nephew", "niece", "cousin"}),
)


def _alike_relations(relation: str) -> tuple[str, ...]:
    """Return the relations for which this is easily taken: where a cat was told of, a dog would get its name."""
    return tuple(sorted(other for group in _RELATION_GROUPS if relation in group for other in group - {relation}))


def asks_of_nobody(question: Question, view: NamespaceView, allowed: Mask) -> bool:
    """Whether a question asks about a relation of whoever asks whom no allowed place mentions, though another like it.

    Words cannot prove that nobody is there: a Labrador is a dog, and who got engaged has a partner. So what was found
    is doubted only where it may belong to another relation, as the name of a cat when a dog is asked about.
    """
    relation = None if question.reading is None else question.reading.relation
    if relation is None or _mentions(relation, view, allowed):
        return False
    return any(_mentions(other, view, allowed) for other in _alike_relations(relation))


def ids_around_relation(relation: str) -> list[int]:
    """Return the term ids of a relation's words, and of those of relations like it."""
    return [
        term for name in (relation, *_alike_relations(relation)) for _, ids in _ids_of_relation(name) for term in ids
    ]


def _mentions(relation: str, view: NamespaceView, allowed: Mask) -> bool:
    return any(every(_is_held(term, view, allowed) for term in ids) for every, ids in _ids_of_relation(relation))


@cache
def _ids_of_relation(relation: str) -> tuple[tuple[Callable[[Iterable[bool]], bool], tuple[int, ...]], ...]:
    """The term ids of each word: of a script without blanks all its parts, else its stem or the form that is said."""
    words = relation_words(relation)
    return tuple((any if word.isascii() or ord(word[0]) < _UNSPACED else all, tuple(index_ids(word))) for word in words)


def _is_held(term: int, view: NamespaceView, allowed: Mask) -> bool:
    rows = view.postings(term)[0]
    return bool(allowed[rows].any()) or (view.whole is not None and view.whole.holding(term, len(rows)) > 0)
