"""Every rule that reads text takes time at most in proportion to its length, whatever the text repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memwarden.agent import overseer, relevance
from memwarden.recall import question
from memwarden.recall.answer import render
from memwarden.remember.extract.rules import clauses, confidence, dating, gate, patterns, rejections, third_person
from memwarden.remember.ingest import intake
from memwarden.remember.resolve import told_context
from memwarden.remember.resolve.same_fact import rules as same_fact
from memwarden.security import injection, secrets
from memwarden.statements import reader
from memwarden.statements import reader as statement_features
from memwarden.statements import statement as statement_clauses
from memwarden.text import language, tokenizer
from memwarden.text.dates import recognizer
from memwarden.text.tokenizer import make_text_signals

pytestmark = pytest.mark.apart

NOW = datetime(2026, 5, 8, tzinfo=UTC)
PARTNERS = ["Ana", "Ben May"]

RULES: dict[str, Callable[[str], Any]] = {
    "dates": lambda text: recognizer.spans_in(text, NOW),
    "German dates": lambda text: recognizer.spans_in(text, NOW, "de"),
    "French dates": lambda text: recognizer.spans_in(text, NOW, "fr"),
    "Spanish dates": lambda text: recognizer.spans_in(text, NOW, "es"),
    "asked dates": lambda text: recognizer.asked_spans(text, NOW),
    "asked dates of years": lambda text: recognizer.asked_spans(text, NOW, since=NOW.replace(year=2021).date()),
    "calendar dates": question.find_dates,
    "months": question.names_month,
    "when": question.is_when_question,
    "partners": lambda text: question.partner_names(text, PARTNERS),
    "pronouns of partners": lambda text: question.to_pronouns(text, PARTNERS),
    "question terms": lambda text: question.question_terms(text, PARTNERS),
    "small talk": lambda text: question.is_small_talk(text, PARTNERS),
    "language": language.language_of,
    "evidence of language": language.read_evidence,
    "Latin script": language.is_latin,
    "terms": tokenizer.terms,
    "index terms": tokenizer.index_ids,
    "surface forms": tokenizer.surface_forms,
    "flags": tokenizer.flags,
    "signals": lambda text: make_text_signals(text, NOW),
    "orders": injection.find_suspicion,
    "orders in prompts": injection.redact_for_prompt,
    "secrets": lambda text: secrets.redact(text, strict=True),
    "own context": intake.strip_context,
    "signs of own context": intake.holds_context,
    "sentences of an answer": lambda text: render.split_with_terms(text, tokenizer.terms),
    "words for the user context": told_context.find_told_context,
    "a line": render.one_line,
    "escaping": render.clean_text,
    "quotations": lambda text: render.frame_external(text, text),
    "shown names": render.shown_name,
    "sentences of facts": clauses.split_turn,
    "plain text": clauses.plain_text,
    "somebody's words": clauses.is_somebodys_words,
    "clauses of statements": statement_clauses.clauses_of,
    "words of statements": statement_features.words_of,
    "subjects": lambda text: reader.names_in(text),
    "goals": relevance.read_goal,
    "general goals": relevance.asks_generally,
    "plain words": relevance.plain_words,
    "saved results": lambda text: overseer.decide_saving("search", {"text": text}, "find it"),
}
SENTENCE_RULES: dict[str, Callable[[str], Any]] = {
    "openers": clauses.drop_openers,
    "clauses": lambda text: [clauses.split_clauses(each.text) for each in clauses.split_turn(text)],
    "contractions": clauses.write_out_contractions,
    "leads": clauses.split_lead,
    "talk about talk": confidence.is_about_the_talk,
    "dates of facts": lambda text: dating.resolve_dates(text, NOW),
    "worth": gate.judge_worth,
    "frames": patterns.match_frame,
    "presuppositions": lambda text: patterns.find_presuppositions(text, "Ana"),
    "undertakings": patterns.find_undertaking,
    "pointers": third_person.has_outside_pointer,
    "dropped pointers": third_person.drop_pointers,
    "loose ends": third_person.drop_loose_end,
    "rejected sentences": lambda text: rejections.reject_sentence(text, False),
    "rejected clauses": lambda text: rejections.reject_clause(text, two_person=True),
    "relevance": gate.find_features,
    "relevance of notes": gate.find_note_features,
    "names": confidence.names_in,
    "vague words": confidence.is_vague,
    "moods": confidence.is_mood,
    "bare nouns": confidence.has_bare_noun,
    "third person": lambda text: third_person.to_third_person(text, "Ana", two_person=True),
    "same fact": lambda text: same_fact.judge(text, f"{text} not"),
}
"""These read turns of at most 1,500 characters: longer turns are no words of a person's own."""
HOSTILE = (
    "may 5 ", "may ", "5 5 ", "since ", "last week of the first week of ", "early ", "the first of the ", "on the ",
    "2026-05-08 ", "for 3 years ", "been for two years now ", "mai ", "lundi ", "hace ", "5月", "去年の", "一",
    "a", "a ", "a.", "a. ", "A", "Ana ", "I ", "1", "1 ", "1.", "9" * 16 + " ", " ", "\n", "\n ", ".", "-", "- ", "'",
    '"', '"a', "(", "([{<", "((a) ", ")]}>", "<", "<memories>", "</memories> ", "<|", "[INST]", "`", "```", "\\u0041",
    "%41", "&#65;", "QUJD", "4a ", "a b ", "a-", "a_", "a'", "a:b@", "://a:", "https://a.b/?q=", "![a](", "<img src=",
    "-----BEGIN PRIVATE KEY-----", "sess=", "password is ", "password", "password:", "key=", "token ", "my ", "abc ",
    "pin 1", "\u200b", "a\u200b", "\u202e", "é", "ß", "İ", "ﷺ", "你", "你好。", "\u0301", "\U0001f3f4",
    "Summary: a\n", "1. a\n   ", "and ", "that ", "who ", ", ", ";", "if ", "is ", "not ", "do not ", "ignore all ",
    '{"a": ', "[", '"tool": ', "system: ", "action: a\n", "said ", "\t", "0x",
    "door 1234 ", "wifi key: ", "rot13 a ", "reversed ", "aA1",
)  # fmt: skip
MAX_FACTOR = 2.5
"""Ten times the text may take ten times as long and this much more: caches fill, and clocks are coarse."""
UNMEASURABLE = 0.01
DOUBTFUL_FACTOR = 1.3
MAX_SENTENCE_SECONDS = 0.25


def seconds(rule: Callable[[str], Any], text: str) -> float:
    began = time.process_time()
    rule(text)
    return time.process_time() - began


def repeat(part: str, length: int) -> str:
    return (part * (length // len(part) + 1))[:length]


def growth_of(rule: Callable[[str], Any], part: str, longest: int) -> float:
    """The least growth of up to three measurements: a busy machine makes some of them longer, none shorter."""
    least = growth_once(rule, part, longest, 0)
    for longer in (1, 2):  # another text each time, which no cache knows
        if least > MAX_FACTOR:
            least = min(least, growth_once(rule, part, longest, longer))
    return least


def growth_once(rule: Callable[[str], Any], part: str, longest: int, longer: int) -> float:
    """How much more than in proportion a longer text takes; 0 where it is too quick to tell.

    The longest is read where that is quick or its tenth took more than ten times as long as its hundredth.
    """
    shortest = seconds(rule, repeat(part, longest // 100 + longer))
    short = seconds(rule, repeat(part, longest // 10 + longer))
    factor = short / max(shortest, UNMEASURABLE / 10) / 10
    if short > 10 * UNMEASURABLE and factor > MAX_FACTOR:
        return factor  # the long text would take minutes
    if short > UNMEASURABLE and factor < DOUBTFUL_FACTOR:
        return factor
    long = seconds(rule, repeat(part, longest + longer))
    return 0.0 if long < 10 * UNMEASURABLE else long / max(short, UNMEASURABLE) / 10


@pytest.mark.parametrize("longest", [30_000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", RULES)
def test_time_grows_with_the_length_at_most(name: str, longest: int) -> None:
    rule = RULES[name]
    rule("Ana moved to Bern in May 2023. I like it.")  # tables are read
    slow = {}
    for part in HOSTILE:
        factor = growth_of(rule, part, longest)
        if factor > MAX_FACTOR:
            slow[part] = round(factor, 1)
    assert not slow


@pytest.mark.parametrize("name", SENTENCE_RULES)
def test_a_rule_for_sentences_reads_the_longest_turn_at_once(name: str) -> None:
    rule = SENTENCE_RULES[name]
    rule("Ana moved to Bern in May 2023. I like it.")

    def is_slow(part: str) -> bool:  # a rule that is slow is slow each time
        return all(seconds(rule, repeat(part, 1_500 - less)) > MAX_SENTENCE_SECONDS for less in range(3))

    slow = {part for part in HOSTILE if is_slow(part)}
    assert not slow
