"""Currency: the chance that a text states the later value of what an earlier text states, and its use in the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memwarden.models.products import multiply
from memwarden.recall.evidence.weights import MAX_LOGIT
from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank.combine import LEADING, Combination
from memwarden.recall.rank.shape import plainness_of
from memwarden.recall.rank.speakers import tells_of_others
from memwarden.text.question_words import opens_as_question

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Best places, each of which another text may pass.
MAX_PASSED: Final = 5
# Best places among which that text is.
MAX_PASSING: Final = 120
# Least cosine of two texts that are compared at all.
MIN_COSINE: Final = 0.2
# Chance below which a pair does not count.
MIN_CHANCE: Final = 0.02
# Chance from which a text passes another, whatever the difference of their scores.
MIN_SURE: Final = 0.6
# Least share of the asked attribute at which a text tells it.
MIN_TOLD: Final = 0.6
# Maximum rows of a store in which a text that tells a change of the asked attribute surely states the later value.
MAX_SURE_ROWS: Final = 100
# Maximum terms of a text that replaces another one. A longer one says several things.
MAX_TERMS: Final = 40
# Maximum places beyond the best that tell the attribute.
MAX_TELLING: Final = 20
# Maximum terms of a text of which few others can be another value in a small store. A longer one says several things.
MAX_PLAIN_TERMS: Final = 15
# Rows at which a store counts as small.
SMALL_ROWS: Final = 20.0
# Lead of a text that surely states the later value.
LEAD: Final = 1.0


class Pairs(NamedTuple):
    """Pairs of related texts.

    Attributes:
        passed, passing: places of each pair. The passing text is the later one by the times that count.
        signals: values of each pair by name.
    """

    passed: Ints
    passing: Ints
    signals: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Compared:
    """Places that are compared: ``passed`` are the best few, ``passing`` the best many, both best first."""

    passed: Ints
    passing: Ints


def best_places(total: Floats, allowed: Mask, most: int) -> Ints:
    """Return the best allowed places, best first."""
    places = np.flatnonzero(allowed)
    if len(places) > most:
        places = places[np.argpartition(-total[places], most - 1)[:most]]
    return places[np.argsort(-total[places], kind="stable")]


def says_one_thing(view: NamespaceView, places: Ints) -> Mask:
    """Return which texts are short enough to say one thing."""
    return np.asarray(view.length[places] <= MAX_TERMS, np.bool_)


def choose_compared(total: Floats, allowed: Mask) -> Compared:
    """Return the places that are compared for a question. total: score of each place."""
    best = best_places(total, allowed, MAX_PASSING)
    return Compared(best[:MAX_PASSED], best)


def find_pairs(
    question: Question, view: NamespaceView, combined: Combination, compared: Compared, times: Ints
) -> Pairs | None:
    """Return the pairs of related texts; None without vectors.

    times: of each place. In a question for what held before, the earlier text is the later one by these times.
    """
    leads = "second" if combined.closeness.kind in ("both", "multilingual") else "first"
    sides = {"first": view.passages.vectors, "second": view.passages.second}
    if sides[leads] is None or combined.closeness.kind == "words":
        return None
    told, best = combined.told, len(compared.passed)
    others = compared.passing[best:]
    # Of three values that tell what is asked for, the last passes the second, wherever that is.
    older = np.concatenate([compared.passed, others[told[others] >= MIN_TOLD][:MAX_TELLING]])
    cosines = {name: _cosines(view, vectors, older, compared.passing) for name, vectors in sides.items()}
    follows = times[compared.passing][None] > times[older][:, None]
    both_tell = np.minimum(told[older][:, None], told[compared.passing][None]) >= MIN_TOLD
    follows &= ~_is_said_again(question, combined, older)[:, None]
    near = (cosines[leads] >= MIN_COSINE) & (np.arange(len(older)) < best)[:, None]
    rows, columns = np.nonzero((near | both_tell) & follows)
    passed, passing = older[rows], compared.passing[columns]
    alike = {name: values[rows, columns] for name, values in cosines.items()}
    return Pairs(passed, passing, _measure(question, view, combined, told, passed, passing, alike))


def _measure(
    question: Question,
    view: NamespaceView,
    combined: Combination,
    told: Floats,
    passed: Ints,
    passing: Ints,
    alike: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Return the signals of pairs by name.

    Args:
        told: how much each place tells the attribute that is asked for.
        alike: cosine of each pair by the first and the multilingual model.
    """
    nothing = np.zeros(len(passing), np.float32)
    of_change = view.nothing if view.statements is None else view.statements.share_change(view.size)
    values = {part.name: part.values * np.float32(part.weight) for part in combined.parts}
    newer = np.where(view.since[passing] >= view.since[passed], passing, passed)
    session = view.session
    told_both = np.minimum(told[passed], told[passing])
    announced = view.announces_change[newer].astype(np.float32)
    says_now = view.says_now[newer].astype(np.float32)
    plain = (view.length[passing] <= MAX_PLAIN_TERMS) & ~view.says_doubt[passing]
    small = plain * np.float32(SMALL_ROWS / (view.alive_count + SMALL_ROWS))
    return {
        "constant": nothing + 1,
        "second": alike["second"],
        "first": alike["first"] if question.english else nothing,
        "told_before": told[passed],
        "told_after": told[passing],
        "told_both": told_both,
        "changes": announced,
        "now": says_now,
        "stated_change": of_change[newer],
        "stated_told": of_change[newer] * told_both**2,
        # In a small store of plain statements few texts can be another value of the same.
        "small": small,
        "small_change": small * of_change[newer],
        "small_second": small * alike["second"],
        "small_told": small * np.maximum(announced, says_now) * told_both,
        "assistant": 1 - view.from_person[passing],
        "asks": view.asks_question[passing].astype(np.float32),
        "same_talk": ((session[passed] == session[passing]) & (session[passing] >= 0)).astype(np.float32),
        "leading": values.get(LEADING[combined.closeness.kind], view.nothing)[passing],
        "words": values.get("words", view.nothing)[passing],
        "told_change": _tells_change(view, combined, passed, passing, told_both) * (alike["second"] >= MIN_COSINE),
    }


def _is_said_again(question: Question, combined: Combination, places: Ints) -> Mask:
    """Return which places hold most words of a message that asks nothing: a statement finds itself first."""
    if opens_as_question(question.text):
        return np.zeros(len(places), np.bool_)
    own = combined.closeness.words.own
    return np.asarray((own[places] >= own.max(initial=0.0)) & (own[places] > 0), np.bool_)


def _tells_change(view: NamespaceView, combined: Combination, passed: Ints, passing: Ints, told_both: Floats) -> Floats:
    """Return 1 where a person tells what is asked for twice, and either text says that it changed or holds now, else 0.

    So it does if both have a ``valid_from``, or if a turn is followed by what was remembered. Then the later one holds
    every such word of the question. Thus "my daughter Ida" does not follow "my daughter Mia".
    In a long history an attribute is told in passing too often for that, unless its texts are plain statements.
    """
    trust = 1.0 if view.alive_count <= MAX_SURE_ROWS else plainness_of(view, view.alive)
    says, dated = view.announces_change | view.says_now, view.since != view.created_at
    held = combined.closeness.words.held
    as_much = (held[:, passing] | ~held[:, passed]).all(axis=0)
    stated = (dated[passed] & dated[passing]) | (view.turns[passed] & view.kept[passing])
    told = says[passed] | says[passing] | (stated & as_much)
    told &= ~view.asks_question[passing] & (told_both >= MIN_TOLD)
    told &= ~view.says_doubt[passing]
    told &= (view.from_person[passing] > 0) & (view.length[passing] <= MAX_PLAIN_TERMS)
    return np.asarray(told.astype(np.float32) * np.float32(trust), np.float32)


def _cosines(view: NamespaceView, vectors: Floats | None, ones: Ints, others: Ints) -> Floats:
    """Return the cosine of each of some places with each of others, by their first passages; 0 without vectors."""
    if vectors is None:
        return np.zeros((len(ones), len(others)), np.float32)
    starts = view.passages.starts
    return multiply(vectors[starts[ones]], vectors[starts[others]].T)


def judge_pairs(question: Question, view: NamespaceView, pairs: Pairs, weights: Mapping[str, float]) -> Floats:
    """Return for each pair how far the passing text counts as another value of what the other states, 0..1.

    A text that announces a change, or says that something holds now, counts in any case where both tell the attribute
    that is asked for. Texts about different people do not count, nor does a later text that says several things, or one
    that is about somebody else than the question.
    """
    logits = sum(weight * pairs.signals[name] for name, weight in weights.items())
    fitted = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    chances = np.asarray(np.maximum(fitted, pairs.signals["told_change"]), np.float32)
    chances[(chances < MIN_CHANCE) | ~says_one_thing(view, pairs.passing)] = 0
    if view.statements is None:
        return chances
    counted = np.flatnonzero(chances)
    passed, passing = pairs.passed[counted], pairs.passing[counted]
    apart = view.statements.are_apart(passed, passing)
    others = tells_of_others(question, view)
    if others is not None:  # "Ines is my boss" and "I'm under Birgit now" are both of the person who asks
        apart = others[passing] if question.asks_of_self else others[passing] | apart
    chances[counted[apart]] = 0
    return chances


def raise_by_pairs(total: Floats, pairs: Pairs, chances: Floats, times: Ints) -> Floats:
    """Raise places towards, or above, better ones whose value they replace, by chance x (difference + lead).

    What surely replaces another passes it, whatever the difference.
    """
    raised = total.copy()
    counted = np.flatnonzero(chances)
    # In the order of time, so that the last of three values passes the second where that has passed the first.
    for number in counted[np.argsort(times[pairs.passing[counted]], kind="stable")].tolist():
        passed, passing, chance = pairs.passed[number], pairs.passing[number], chances[number]
        gap = raised[passed] - total[passing] + np.float32(LEAD)
        if gap > 0:
            value = raised[passed] + chance * np.float32(LEAD) if chance >= MIN_SURE else total[passing] + chance * gap
            raised[passing] = max(raised[passing], value)
    return raised
