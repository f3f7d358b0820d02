"""Rules of questions and statements that are written, not learned: jobs, ages, farewells, the time before a date."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from memwarden import asked_spans, spans_in
from memwarden.recall.question import is_small_talk
from memwarden.statements.statement import asks_what_somebody_does, introduces_with_age

NOW = datetime(2026, 11, 28)


@pytest.mark.parametrize(
    "question",
    [
        "What does Jo do?",
        "what does my sister do for a living now?",
        "Was macht Jule?",
        "¿Qué hace Inés?",
        "Que fait Anne ?",
        "Anne fait quoi dans la vie ?",
        "妹は何をしている？",
        "小雨是做什么的？",
    ],
)
def test_who_asks_what_somebody_does_asks_for_a_job(question: str) -> None:
    assert asks_what_somebody_does(question)


@pytest.mark.parametrize(
    "question",
    [
        "What does Jo do on Fridays to relax with all the people of the old choir?",
        "What do I do with the broken lamp?",
        "Was ist mein Beruf?",
        "Que mange Anne ?",
        "我住在哪里？",
    ],
)
def test_other_questions_do_not(question: str) -> None:
    assert not asks_what_somebody_does(question)


@pytest.mark.parametrize(
    "text",
    [
        "I'm Mia, 34, and I paint tiles.",
        "hey, soy wilmer, 29",
        "Ich bin die Magdalena, 34, aus Graz",
        "Je m'appelle Anouk, 26 ans",
        "我叫小林，28岁",
    ],
)
def test_an_introduction_tells_an_age(text: str) -> None:
    assert introduces_with_age(text)


@pytest.mark.parametrize(
    "text", ["I'm late, 34 minutes", "I'm done, 20 km today", "ich bin müde, 14 Stunden wach", "I am in Leeds"]
)
def test_other_numbers_do_not(text: str) -> None:
    assert not introduces_with_age(text)


@pytest.mark.parametrize(
    "text",
    [
        "cheers, that's me away to bed",
        "thanks, good night!",
        "listo parce gracias, descanse",
        "Merci ben, bonne nuit là!",
        "いつもありがとう、おやすみなさい。",
        "好的谢谢 晚安啦",
        "谢谢你，晚安",
        "danke dir, schlaf gut",
    ],
)
def test_farewells_ask_nothing(text: str) -> None:
    assert is_small_talk(text, [])


@pytest.mark.parametrize(
    "text", ["Thanks! And where do I live?", "谢谢，我住在哪里？", "when do I go to bed?", "gracias, ¿dónde vivo?"]
)
def test_thanks_with_a_question_ask_it(text: str) -> None:
    assert not is_small_talk(text, [])


@pytest.mark.parametrize(
    ("question", "last"),
    [
        ("Where did I live until 2026?", date(2025, 12, 31)),
        ("Where did I live before 2026?", date(2025, 12, 31)),
        ("When were my lessons before July?", date(2026, 6, 30)),
        ("Wo habe ich bis 2026 gewohnt?", date(2025, 12, 31)),
        ("Wo habe ich vor 2026 gewohnt?", date(2025, 12, 31)),
        ("¿Dónde vivía antes de junio?", date(2026, 5, 31)),
        ("Où j'habitais jusqu'en juin ?", date(2026, 5, 31)),
        ("2026年までどこに住んでいた？", date(2025, 12, 31)),
        ("6月之前我住在哪里？", date(2026, 5, 31)),
    ],
)
def test_until_and_before_ask_of_the_time_before(question: str, last: date) -> None:
    span = max(asked_spans(question, NOW, since=date(2024, 1, 1)), key=lambda each: each.last)
    assert (span.first, span.last, span.exact) == (date(1970, 1, 1), last, False)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What must I finish until Friday?", date(2026, 11, 27)),
        ("What was on the week before 20 July?", date(2026, 7, 13)),
    ],
)
def test_near_days_stay_themselves(question: str, first: date) -> None:
    (span,) = asked_spans(question, NOW)
    assert span.first == first


@pytest.mark.parametrize("text", ["Closed until 30 June", "The pool is closed until 30 June."])
def test_what_is_closed_until_a_day_ends_on_the_next(text: str) -> None:
    (span,) = spans_in(text, datetime(2025, 12, 2))
    assert (span.first, span.last) == (date(2025, 12, 2), date(2026, 6, 30))


@pytest.mark.parametrize("text", ["The pool was closed until 30 June.", "We worked until 30 June."])
def test_what_was_so_until_a_day_is_over(text: str) -> None:
    (span,) = spans_in(text, datetime(2025, 12, 2))
    assert span.last == date(2025, 6, 30)
