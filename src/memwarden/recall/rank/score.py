"""Scores: presets of feature weights, and the calibrated 0..1 scale that decides "nothing relevant"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index import columns
from memwarden.recall.index.columns import REPLACES, Floats, Ints, Mask, StatementTable
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.question import PSEUDO_MASS, Question
from memwarden.recall.rank import features
from memwarden.recall.rank.calibration import (
    CHANCE_OF_SEVERAL,
    CHANCES,
    CHANCES_OF_SPEAKER,
    EVENED,
    EVIDENCE,
    ITEMS_FOR_HALF,
    ITEMS_LIKE_BLOCK,
    MIN_REQUEST,
    SHARING_OF_SPEAKER,
    WORD_WEIGHT,
    WORDS_SCALE,
    SignalWeights,
    Told,
    chance_where_read,
    lift_scores,
    rank_by_days,
    read_share,
    scale_of,
    tell_request,
    weigh_held_words,
)
from memwarden.recall.rank.features import Feature
from memwarden.recall.rank.sure_values import find_sure
from memwarden.recall.time.past import order_values
from memwarden.records import Feature as Explained
from memwarden.settings import DEFAULT_THRESHOLD
from memwarden.statements.reader import QuestionReading
from memwarden.text.question_words import read_question_words
from memwarden.text.small_talk import content_terms
from memwarden.text.tokenizer import term_id, terms

MAX_LOGIT = 60.0
# More evidence for an answer than this tells nothing more of a single memory.
MAX_ITEM_EVIDENCE = 2.0


class Calibration(NamedTuple):
    """Weights of a kind of embedder and a language.

    Attributes:
        item: of what speaks for a single memory. shown: of what speaks for the whole answer.
        score: from the answer's logit and the distance to the best ranked memory to an item's logit.
    """

    item: SignalWeights
    shown: SignalWeights
    score: SignalWeights


@cache
def _stored() -> Mapping[str, Mapping[str, SignalWeights]]:
    found: Mapping[str, Mapping[str, SignalWeights]] = json.loads(
        Path(__file__).with_name("evidence.json").read_text(encoding="utf-8")
    )
    return found


def kind_of(question: Question, view: NamespaceView, model: str | None) -> str:
    """Name the calibration that suits the vectors at hand."""
    side = features.leading(question, view)
    if side is None:
        return "words"
    if question.second is not None and view.second is not None:
        first = "minilm" if (model or "").startswith("all-minilm") else "wordllama"
        return f"{first}+multilingual:{'english' if question.english else 'other'}"
    known = {"all-minilm": "minilm", "wordllama": "wordllama"}
    return next((name for start, name in known.items() if (model or "").startswith(start)), "words")


def calibration(kind: str) -> Calibration:
    """Return the weights of a kind."""
    stored = _stored()[kind]
    return Calibration(stored["item"], stored["shown"], stored["score"])


def item_signals(question: Question, view: NamespaceView) -> dict[str, Floats]:
    """What speaks for each place, by name; for a short answer, what speaks for the question before it."""
    found = {
        "lead": features.cosine_turn(question, view),
        "other": features.cosine_other(question, view),
        "adapted": features.adapted(question, view),
        "own": features.word_signals_of(question, view).own,
    }
    if len(view.short_answers):
        found = {name: view.with_answers(values) for name, values in found.items()}
    return {**found, "asks": view.short_questions.astype(np.float32)}


def item_logits(weights: SignalWeights, signals: Mapping[str, Floats], size: int, rows: int) -> Floats:
    """Logits that each place bears on the question. rows: among how many it was found."""
    total = np.empty(size, np.float32)
    total[:] = weights["constant"] + weights["rows"] * np.log(rows + 1)
    for name, values in signals.items():
        if weights.get(name):
            total += np.float32(weights[name]) * values
    return total


def shown_signals(
    question: Question, view: NamespaceView, signals: Mapping[str, Floats], logits: Floats, allowed: Mask, rows: int
) -> dict[str, float]:
    """What speaks for an answer among the allowed places, by name."""
    best = {name: _most(values, allowed) for name, values in signals.items() if name != "asks"}
    length = float(np.add.reduce(view.length[allowed]) / np.float32(np.count_nonzero(allowed)))
    plain = plainness(length)
    return {
        "constant": 1.0,
        "item": _most(logits, allowed),
        "rows": float(np.log(rows + 1)),
        **best,
        "length": length,
        "plain": plain,
        "lacking": 0.0 if plain < MIN_PLAIN else plain * _lacking(question, signals, view, allowed, rows),
        "unseen": _unseen(question, view, allowed),
        "personal": 0.0 if question.second is None else columns.personal(question.second),
        "self": float(question.asks_of_self),
        "named": float(question.names_somebody),
        "detail": float(np.log(len(question.terms) + 1)),
    }


def _most(values: Floats, allowed: Mask) -> float:
    """The greatest value of the allowed places; there are some."""
    return float(np.maximum.reduce(values, where=allowed, initial=-np.inf))


# Among fewer memories than this a lesser closeness is told from chance.
FEW = 20
MIN_PLAIN = 1e-3
# So near lies a plain statement that answers, by the cosines of all models and half of the words.
NEAR = 0.915
# What a shared name adds to that without being an answer.
NAME = 0.54
# NEAR where statements are read: then the share of the attribute that is told counts with the cosines.
NEAR_WITH_ATTRIBUTE = 1.065


def _unseen(question: Question, view: NamespaceView, allowed: Mask) -> float:
    """Return the share of the question's words, rare words weighing more, that no allowed place holds."""
    mass = missing = 0.0
    found_words = features.find_words(question, view)
    weights = features.weigh_words(question, view)
    dated = {term_id(stem) for span in question.asked_days for stem in terms(span.text)}
    for term, weight, (rows, _) in zip(question.terms, weights, found_words, strict=True):
        if term in dated:  # days are met by days, not by words
            continue
        mass += weight
        if not len(rows) or not allowed[rows].any():
            held_elsewhere = view.whole is not None and view.whole.holding(term, len(rows))
            missing += 0.0 if held_elsewhere else weight
    return missing / (mass + PSEUDO_MASS)


def _lacking(question: Question, signals: Mapping[str, Floats], view: NamespaceView, allowed: Mask, rows: int) -> float:
    """How much is lacking until a plain statement would answer."""
    named = float(question.names_somebody)
    # "Who is Tom?": whatever tells of him answers.
    if named and len(question.terms) == 1 and (signals["own"][allowed] > 0).any():
        return 0.0
    told = features.attribute_told(question, view)
    wanted = (NEAR if told is None else NEAR_WITH_ATTRIBUTE) + NAME * named
    wanted -= 0.1 * max(0.0, float(np.log(FEW / rows)))
    return max(0.0, wanted - _together(signals, told, np.flatnonzero(allowed), named))


def _together(signals: Mapping[str, Floats], told: Floats | None, places: Ints, named: float) -> float:
    """The most that all cosines, half of the words and the told attribute say for a single place.

    A shared name is no evidence.
    """
    total = signals["lead"][places] + signals["other"][places] + signals["adapted"][places]
    total = total + np.float32(0.5 * (1 - named)) * signals["own"][places] - np.float32(2) * signals["asks"][places]
    return float((total if told is None else total + told[places]).max())


def logit(weights: SignalWeights, signals: Mapping[str, float]) -> float:
    """The logit that what is shown holds the answer."""
    found = sum(weight * signals[name] for name, weight in weights.items() if name in signals)
    return min(max(found, -MAX_LOGIT), MAX_LOGIT)


def chance(logits: Floats) -> Floats:
    """Logits as chances, 0..1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT))), np.float32)


# Of the places only the best are compared: what stands below them is in no answer.
MAX_EXAMINED: Final = 24
# So much worse, on the scale of ranking, the later text may suit the question; else it is about another matter.
MAX_GAP: Final = 1.5
# So far an outdated text goes below what replaced it: a few places, so that it takes none of three items.
STEP: Final = 1.0
PAST_STEP: Final = 0.1


def demote_outdated(
    view: NamespaceView,
    logits: Floats,
    allowed: Mask,
    *,
    past: bool = False,
    moment: int | None = None,
) -> Floats:
    """Return the logits with each outdated place below the place that replaced it.

    logits: that each place bears on the question. past: whether the question is about the past: then what replaced it
    stands just below the outdated place. moment: a time asked about, in microseconds: what was said later had not
    replaced anything then.
    """
    if moment is not None and not past:
        said = view.said_local <= moment
        logits = demote_outdated(view, logits, allowed & said)
        return demote_outdated(view, logits, allowed, past=True)
    table = view.statements
    if table is None or not len(table):
        return logits
    places = best_places(logits, allowed)
    times = view.created_at[places]
    later_replaces = find_replacements(table, places, times)
    replaces = later_replaces.T if past else later_replaces
    replaced: Mask = np.any(replaces, axis=0)
    found = logits.copy()
    # The oldest first: what was replaced twice ends below both.
    order = np.argsort(-times if past else times, kind="stable")
    for line in order[replaced[order]].tolist():
        place = places[line]
        better = [
            places[other]
            for other in np.flatnonzero(replaces[:, line]).tolist()
            if logits[places[other]] >= logits[place] - MAX_GAP
        ]
        if better:
            step = PAST_STEP if past else STEP
            found[place] = min(float(found[place]), min(float(found[other]) for other in better) - step)
    return found


# Of so many places it is kept which replaces which: 64 KB. To find it out takes a tenth of a hot query.
MAX_KNOWN_PLACES: Final = 256
_NO, _YES = 1, 2


def find_replacements(table: StatementTable, places: Sequence[int], times: Ints) -> Mask:
    """Return whether the text at a place replaces that at another, as ``StatementTable.replacement_scores``.

    What a place states and when it was said never changes: the table keeps what was found of two early places.
    """
    if max(places, default=0) >= MAX_KNOWN_PLACES:
        return np.asarray(table.replacement_scores(places, times) >= REPLACES, np.bool_)
    if not len(table.replacements):
        table.replacements = np.zeros((MAX_KNOWN_PLACES, MAX_KNOWN_PLACES), np.int8)
    pairs = np.ix_(places, places)
    known = table.replacements[pairs]
    if not known.all():
        known = np.where(table.replacement_scores(places, times) >= REPLACES, _YES, _NO)
        table.replacements[pairs] = known
    return np.asarray(known == _YES, np.bool_)


def best_places(logits: Floats, allowed: Mask) -> Sequence[int]:
    """Return the best allowed places, best first."""
    open_places = np.flatnonzero(allowed)
    if len(open_places) > MAX_EXAMINED:
        least = len(open_places) - MAX_EXAMINED
        open_places = open_places[np.argpartition(logits[open_places], least)[least:]]
    order = np.argsort(-logits[open_places], kind="stable")
    found: list[int] = open_places[order].tolist()
    return found


Preset = Mapping[Feature, float]

# Small boost for what is related to an answer; the setting ``relation_weight`` overrides it.
RELATION_WEIGHT: Final = 0.10

# Weight of the days that a question about the past names.
PAST_DAY_WEIGHT: Final = 2.0
# Weight of what statements say; a deviation of it is about .15.
STATED: Final = 5.0

# Weights for people talking to each other, and for somebody talking to an assistant.
PRESETS: Final[Mapping[str, Preset]] = {
    "chat": {
        features.base: 1.0,
        features.words_heard: 2.0,
        features.stated: STATED,
        features.from_person: 1.0,
        features.says_much: 0.7,
        features.newness: 0.8,
        features.only_asks: -1.5,
        features.said_by_named: 1.4,
        features.says_when: 0.2,
        features.on_day: 1.2,
        features.related: RELATION_WEIGHT,
    },
    "assistant": {
        features.base: 1.0,
        features.stated: STATED,
        features.from_person: 1.2,
        features.says_much: 1.8,
        features.newness: 2.0,
        features.recent: 1.0,
        features.only_asks: -1.8,
        features.said_by_named: 0.7,
        features.on_day: 0.8,
        features.related: RELATION_WEIGHT,
    },
}


# Logits at the middle of a scale: there an answer is just given.
AT_MIDDLE: Final = 0.35
# No more logits than this are given to an answer, however many words it shares with the question.
MAX_TOLD: Final = 4.0


@dataclass(frozen=True)
class Ranking:
    """The scores of a view's places for a question.

    Attributes:
        scores: the chance that a place bears on the question, 0..1, one a place, in the order of ranking.
        confidence: the chance that a block holds the answer, which decides; 0 if nothing may be shown. evidence: logit.
        preset: the name of the weights. parts: each feature's name, values and weight.
        half: of endlessly many items so many hold the answer half as often.
        moment: the end of the past days of which it asks what held, in microseconds; None for now and for no days.
        by_name: whether somebody who speaks here is asked about, by name.
        leaders: in a small store, the places that surely tell what is asked for, first the value that is wanted.
        floor: what scores less helps less than it costs, where few memories are there.
    """

    scores: Floats
    confidence: float
    preset: str
    parts: tuple[tuple[str, Floats, float], ...] = ()
    half: float = ITEMS_FOR_HALF
    moment: int | None = None
    leaders: tuple[int, ...] = ()
    floor: float = 0.0
    evidence: float = -MAX_LOGIT
    by_name: bool = False

    @cached_property
    def weights(self) -> Weights:
        """Name and weight of each feature."""
        return tuple((name, weight) for name, _, weight in self.parts)

    def confidence_of(self, items: int, sharing: int = 0) -> float:
        """The chance that so many of the best items hold the answer. sharing: memories that share one item more."""
        share = items + sharing * (SHARING_OF_SPEAKER if self.by_name else 1)
        share = share / (share + self.half) * (ITEMS_LIKE_BLOCK + self.half) / ITEMS_LIKE_BLOCK
        found = self.confidence * min(share, 1.0)
        evened = EVENED * (self.half - ITEMS_FOR_HALF + 1) if sharing else 0.0
        return found + evened * (CHANCE_OF_SEVERAL - found)

    def values(self, place: int) -> tuple[float, ...]:
        """Return the value of each feature for a place."""
        return tuple([values.item(place) for _, values, _ in self.parts])


Weights = tuple[tuple[str, float], ...]


def explain_features(weights: Weights, values: Sequence[float]) -> tuple[Explained, ...]:
    """Return each feature's value and weight, the largest contribution first."""
    parts = [Explained(name, value, weight) for (name, weight), value in zip(weights, values, strict=True)]
    return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))


def begin_ranking(question: Question, view: NamespaceView) -> None:
    """Work out, and leave with the question, what its ranking needs of its words and its multilingual vector alone.

    So it can be done while another model still reads the question.
    """
    features.word_signals_of(question, view)
    features.adapted(question, view)
    if view.size <= features.MAX_STATED:  # else the best by all vectors are looked at
        features.stated(question, view)


def rank(
    question: Question,
    view: NamespaceView,
    allowed: Mask,
    *,
    preset: str = "auto",
    model: str | None = None,
    relation_weight: float = RELATION_WEIGHT,
    among: int | None = None,
) -> Ranking:
    """Score every place of a view.

    Args:
        allowed: the places that may be in the answer; the others only lend context.
        preset: a name of :data:`PRESETS`, or ``auto`` to choose by who speaks in the namespace.
        model: name of the embedding model.
        relation_weight: weight of :func:`memwarden.recall.rank.features.related`, which counts where there are
        relations. among: how many places of the whole namespace are allowed, when the view is only a part of it.
    """
    preset = view.preset if preset == "auto" else preset
    rows = int(np.count_nonzero(allowed))
    weights = _weigh_time(PRESETS[preset], question).items()
    if rows and among is not None:
        rows = max(rows, among)
    if not rows:
        return Ranking(np.zeros(view.size, np.float32), 0.0, preset)
    if preset != view.preset:
        question = replace(question, preset=preset)
    question.memo["allowed"] = allowed
    parts = tuple(
        (feature.__name__, feature(question, view), relation_weight if feature is features.related else weight)
        for feature, weight in weights
        if feature.__name__ not in question.left_out and (feature is not features.related or view.related is not None)
    )
    total = np.zeros(view.size, np.float32)
    for _, values, weight in parts:
        if values is not view.nothing:
            total += np.float32(weight) * values
    if question.small_talk:
        return Ranking(np.zeros(view.size, np.float32), 0.0, preset, parts)
    kind = kind_of(question, view, model)
    learned = calibration(kind)
    signals = item_signals(question, view)
    known = {name: values for name, values in signals.items() if values is not view.nothing}
    logits = item_logits(learned.item, known, view.size, rows)
    shown = shown_signals(question, view, signals, logits, allowed, rows)
    found = logit(learned.shown, shown)
    if question.reading is not None and "sure" in question.memo and rows >= features.MAX_SURE_ROWS:
        found -= question.reading.doubt(_most(question.memo["sure"], allowed))
    if features.asks_of_nobody(question, view, allowed):
        found = min(found - NEVER_MENTIONED, -NEVER_MENTIONED / 2)
    told = _told_of_partner(question, view, allowed, rows, model)
    if told is not None:
        # Among short plain facts the attribute itself can be told, where the multilingual side knows it.
        plain = "lacking" in learned.shown and shown["plain"] > 0.5
        found = max(told, found) if plain else told
    # The current value first: what was replaced stands below what replaced it.
    moment = features.moment_of(question, view, allowed)
    total = demote_outdated(view, total, allowed, past=question.asks_past, moment=moment)
    leaders = find_leaders(question, view, allowed, total, moment)
    total = put_in_front(total, allowed, leaders)
    if question.of_days:
        found, total = rank_by_days(question, view, allowed, total)
    below = np.maximum(float(total[allowed].max()) - total, 0)
    of_answer = Told(found, float(np.interp(found, EVIDENCE, CHANCES if told is None else CHANCES_OF_SPEAKER)))
    if told is not None:
        of_answer = of_answer._replace(half=ITEMS_FOR_HALF - 1)
    elif len(question.text) >= MIN_REQUEST:
        of_answer = tell_request(question, view, allowed, kind, of_answer, shown)
    evidence = min(of_answer.evidence, MAX_ITEM_EVIDENCE)
    of_item = learned.score["constant"] + learned.score["shown"] * evidence - learned.score["below"] * below
    confidence = of_answer.chance
    read = 0.0 if view.worded is None else read_share(question, view, allowed, kind)
    if read and confidence >= DEFAULT_THRESHOLD:
        where_read = chance_where_read(question, view, allowed, known, (found, shown["own"]))
        confidence += read * (where_read - confidence)
    # Of a request's sessions much bears on it, as do a fact and its turn where a model has read.
    lifted = max(read, of_answer.request)
    scores = lift_scores(chance(of_item), lifted) if lifted else chance(of_item)
    floor = 0.0 if question.of_days else floor_of(float(scores[allowed].max()), rows, question.reading, bool(leaders))
    by_name = told is not None
    return Ranking(
        scores, confidence, preset, parts, of_answer.half, moment, leaders, floor, of_answer.evidence, by_name
    )


# How far in front of the others what surely tells the value stands, and each before the next.
LEAD: Final = 0.5
LEAD_STEP: Final = 0.1
# A question for a time is answered by what lies nearest.
MAX_WHEN_GAP: Final = 1.5


def find_leaders(
    question: Question, view: NamespaceView, allowed: Mask, total: Floats, moment: int | None
) -> tuple[int, ...]:
    """Return the places that surely tell what is asked for, the wanted value first."""
    both, reading = features.value_told(question, view), question.reading
    if both is None or reading is None or question.of_days or (reading.many and question.asked_days):
        return ()
    # "Was I afraid of the dentist?" asks for no dentist.
    if reading.when == "past" and read_question_words(question.text).whether:
        return ()
    least = float(total[allowed].max()) - MAX_WHEN_GAP if reading.when == "when" else -np.inf
    single = reading.asks_for_single
    # What an assistant says back, or only asks, is nobody's value, however like it that sounds: "Welcome home!"
    tells = allowed & (features.from_person(question, view) > 0) & (features.only_asks(question, view) < 1)
    open_total = np.where((tells if single else allowed) & (total >= least), total, np.float32(-np.inf))
    places = np.flatnonzero(find_sure(both, open_total, view.created_at, later=single))
    newest: list[int] = places[np.lexsort((-total[places], -view.created_at[places]))].tolist()
    if moment is not None:
        ordered = [place for place in newest if view.said_local[place] <= moment]
    elif reading.when == "past" and len(newest) < 2:
        return ()  # it may be the present value that is told
    elif reading.when == "past" and single:
        ordered = order_values(question.text, newest, partial(weigh_held_words, question, view))
    else:
        ordered = newest
    return tuple(ordered)


def put_in_front(total: Floats, allowed: Mask, leaders: Sequence[int]) -> Floats:
    """Return the ranking with the leaders in front, in their order."""
    if not leaders:
        return total
    found = total.copy()
    top = float(total[allowed].max()) + LEAD + LEAD_STEP * len(leaders)
    found[list(leaders)] = top - LEAD_STEP * np.arange(len(leaders), dtype=np.float32)
    return found


# So many logits less where the asker's own sister is asked about, and nothing that may be shown mentions one.
NEVER_MENTIONED: Final = 3.0


# Among few memories what scores less than a share of the best helps less than it costs; among MANY the share is 0.
SOME_MEMORIES: Final = 40
MANY: Final = 140
FLOOR_SHARE: Final = 0.45
# The same where the very value is told, and of a list, parts of which lie farther.
TOLD_FLOOR_SHARE: Final = 0.65
LIST_FLOOR_SHARE: Final = 0.33


def floor_of(best: float, rows: int, reading: QuestionReading | None, is_told: bool) -> float:
    """The score below which a memory helps less than it costs. is_told: whether the very value is told."""
    is_told = is_told and reading is not None and reading.asks_for_single
    is_list = reading is not None and reading.when == "list"
    share = TOLD_FLOOR_SHARE if is_told else LIST_FLOOR_SHARE if is_list else FLOOR_SHARE
    return best * share * min(max((MANY - rows) / (MANY - SOME_MEMORIES), 0.0), 1.0)


# Memories of fewer words are plain statements, which lie near to a question for them.
PLAIN_TERMS = 5.0


def plainness(length: float) -> float:
    """How far memories of so many words are short plain statements, 0..1."""
    return 1.0 / (1.0 + float(np.exp(min(2 * (length - PLAIN_TERMS), 50.0))))


def _weigh_time(preset: Preset, question: Question) -> Preset:
    """The weights for a question: who asks about the past is not answered by the newest."""
    if not question.asks_past:
        return preset
    return {**preset, features.newness: 0.0, features.recent: 0.0, features.on_day: PAST_DAY_WEIGHT}


def _told_of_partner(
    question: Question, view: NamespaceView, allowed: Mask, rows: int, model: str | None
) -> float | None:
    """The logit that somebody who speaks here told what a question by name asks; None for other questions.

    Such a question is about a life in whatever words, so that only the evidence tells: words and meaning of one memory
    together. For a question about oneself the memory is more complete than any evidence of it is clear.
    """
    if not question.speakers or question.asks_of_self or not question.english:
        return None
    scale = scale_of(model) if features.first_side(question, view) else WORDS_SCALE
    if scale is None:
        return None
    heard = features.heard_on_days(question, view)
    near = features.cosine_pair(question, view) + np.float32(WORD_WEIGHT) * heard if scale is not WORDS_SCALE else heard
    return min(scale.logit(float(near[allowed].max()), rows) + AT_MIDDLE, MAX_TOLD)


# A message of fewer words that say something leans on the talk before it, which is in the prompt: "in markdown?".
MIN_WORDS = 8


def is_unsure(confidence: float, relevant: bool, message: str) -> bool:
    """Whether a search may find for a message what its block does not hold.

    So it is when nothing relevant was put in although the store reaches the bar of a query: a block is put in unasked
    and therefore asks for more. Below that bar a search finds nothing either.
    """
    if relevant or confidence < DEFAULT_THRESHOLD:
        return False
    return len(set(content_terms(message))) >= MIN_WORDS
