"""Rules of questions and statements that are written, not learned: jobs, ages, farewells, the time before a date."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from memwarden import asked_spans, spans_in
from memwarden.recall.question import is_small_talk
from memwarden.statements.statement import clauses_of
from memwarden.statements.wording import (
    asks_what_somebody_does,
    parts_of_introduction,
    subjects_of,
    tells_age,
    tells_new_work,
    word_nameless,
)

NOW = datetime(2026, 11, 28)
ASKING = ("what", "where")


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
    assert tells_age(text, of_person=False)


@pytest.mark.parametrize(
    "text", ["I'm late, 34 minutes", "I'm done, 20 km today", "ich bin müde, 14 Stunden wach", "I am in Leeds"]
)
def test_other_numbers_do_not(text: str) -> None:
    assert not tells_age(text, of_person=True)


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
    ("question", "span"),
    [
        ("What must I do before December?", (date(2026, 11, 28), date(2026, 12, 1))),
        ("What do I have to do before Christmas?", (date(2026, 11, 28), date(2026, 12, 25))),
        ("Is the gym closed until 30 June?", (date(2026, 11, 28), date(2027, 6, 30))),
        ("Was muss ich vor Weihnachten erledigen?", (date(2026, 11, 28), date(2026, 12, 25))),
        ("Qu'est-ce que je dois faire avant décembre ?", (date(2026, 11, 28), date(2026, 12, 1))),
        ("¿Está cerrado el gimnasio hasta el 30 de junio?", (date(2026, 11, 28), date(2027, 6, 30))),
        ("What did I have to do before December?", (date(1970, 1, 1), date(2025, 11, 30))),
        ("Was the gym closed until 30 June?", (date(1970, 1, 1), date(2026, 6, 29))),
    ],
)
def test_what_has_to_be_and_what_is_closed_is_of_now(question: str, span: tuple[date, date]) -> None:
    found = max(asked_spans(question, NOW, since=date(2025, 1, 1)), key=lambda each: each.last)
    assert (found.first, found.last) == span


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("2026年前半は何をしていた？", {(date(2026, 1, 1), date(2026, 12, 31))}),
        ("2026年前半年我做了什么？", {(date(2026, 1, 1), date(2026, 12, 31))}),
        ("2026年前のことは？", set()),
        ("2年前に何をした？", {(date(2024, 1, 1), date(2024, 12, 31))}),
        (
            "12月までに何をしなければならない？",
            {(date(2025, 12, 1), date(2025, 12, 31)), (date(2026, 12, 1), date(2026, 12, 31))},
        ),
        (
            "ジムは6月30日まで閉まっていますか？",
            {(date(2025, 6, 30), date(2025, 6, 30)), (date(2026, 6, 30), date(2026, 6, 30))},
        ),
    ],
)
def test_the_half_of_a_year_is_not_so_many_years_ago(question: str, days: set[tuple[date, date]]) -> None:
    assert {(span.first, span.last) for span in asked_spans(question, NOW, since=date(2025, 1, 1))} == days


@pytest.mark.parametrize(
    ("question", "last"),
    [
        ("2026年3月1日から5日まで旅行した？", date(2026, 3, 5)),
        ("3月から6月まで何をしていた？", date(2026, 6, 30)),
        ("从3月到6月为止我做了什么？", date(2026, 6, 30)),
        ("去年6月前后我在哪里？", date(2025, 6, 30)),
        ("2026年3月3日前一天我做了什么？", date(2026, 3, 3)),
    ],
)
def test_a_range_and_days_beside_a_date_ask_of_no_earlier_time(question: str, last: date) -> None:
    spans = asked_spans(question, NOW, since=date(2024, 1, 1))
    assert last in {span.last for span in spans}
    assert all(span.first > date(1970, 1, 1) for span in spans)


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


@pytest.mark.parametrize(
    ("said", "worded"),
    [
        ("Where does Tom work?", "Where do I work?"),
        ("Ana is a roofer", "I'm a roofer"),
        ("she's a roofer now", "I'm a roofer now"),
        ("My sister Ana left the bank", "I left the bank"),
        ("Ana's first week was long", "my first week was long"),
        ("Ana's a roofer", "I'm a roofer"),
        ("Meine Schwester Anke arbeitet bei der Post", "ich arbeite bei der Post"),
        ("Mi hermana Lola es cartera", "soy cartera"),
        ("我老公陈磊在银行上班", "我在银行上班"),
        ("夫の大輔は大工です", "私は大工です"),
    ],
)
def test_a_clause_about_somebody_is_worded_as_that_person_says_it(said: str, worded: str) -> None:
    assert word_nameless(said, ASKING, asks=said.endswith("?")) == worded


@pytest.mark.parametrize(
    "said", ["I left the bank", "My sister is called Ana", "Ana and I moved to Cork", "Our dog Rex is old", "ok"]
)
def test_what_tells_of_whoever_speaks_or_names_somebody_keeps_its_words(said: str) -> None:
    assert word_nameless(said, (), asks=False) == said


def test_a_question_about_a_relation_keeps_its_words() -> None:
    assert word_nameless("What is my sister called?", ASKING, asks=True) == "What is my sister called?"


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("Hi, Orla here, 44, physiotherapist, living in Sligo.", ["I'm physiotherapist", "I'm living in Sligo."]),
        ("Hallo, ich bin Britta, 51, Optikerin aus Goslar", ["ich bin Optikerin", "ich bin aus Goslar"]),
        ("我叫陈芳，今年41岁，住在苏州，是护士", ["我住在苏州", "我是护士"]),
        (
            "I'm Nina, 31, a nurse at hospital St. Marien, living in Ulm.",
            [
                "I'm a nurse at hospital St. Marien",
                "I'm living in Ulm.",
            ],
        ),
        (
            "Ich bin Nina, 31, Krankenschwester im Hospital St. Marien.",
            ["ich bin Krankenschwester im Hospital St. Marien."],
        ),
        ("Soy Ana, enfermera en el hospital Sta. Fe.", ["soy enfermera en el hospital Sta. Fe."]),
        ("I'm Dr. Kolb and this is my dog.", []),
        ("The train is late, 41 minutes, again", []),
    ],
)
def test_an_introduction_is_read_part_by_part(said: str, parts: list[str]) -> None:
    assert [part.before + said[part.start : part.end] for part in parts_of_introduction(said)] == parts
    assert {said[part.start : part.end] for part in parts_of_introduction(said)} <= {c.text for c in clauses_of(said)}


@pytest.mark.parametrize(
    "said",
    ["My mother turned 70 on Sunday", "Mi padre tiene 71 años", "Ma mère a 66 ans", "母は63歳です", "Pau, 33, a cook"],
)
def test_the_age_of_others_is_told(said: str) -> None:
    assert tells_age(said, of_person=True)


def test_is_with_a_number_tells_an_age_of_a_person_alone() -> None:
    assert tells_age("my gran is 88", of_person=True)
    assert not tells_age("the fee is 88", of_person=False)


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("first week at the brewery done", True),
        ("erster Tag bei Kessler", True),
        ("premier jour chez Lorenz", True),
        ("今天是上班第一天", True),
        ("first day at primary school", False),
        ("first day at the beach", False),
    ],
)
def test_a_first_day_tells_of_new_work(said: str, holds: bool) -> None:
    assert tells_new_work(said) is holds


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ("Portuguese classes moved to Fridays", ("self",)),
        ("living in Ghent with my wife", ("relation:wife", "self")),
        ("我开高尔夫", ("self",)),
        ("我妹妹小雪是小学老师", ("name:小雪", "relation:sister")),
        ("陈磊从银行辞职了", ("name:陈磊",)),
        ("Meine Schwester Anke arbeitet bei der Post", ("name:anke", "relation:sister")),
    ],
)
def test_whom_a_clause_is_about(said: str, keys: tuple[str, ...]) -> None:
    assert subjects_of(said) == keys


@pytest.mark.parametrize(
    "said",
    [
        "I'm on 20 mg of citalopram",
        "I'm at 45 Elm Street",
        "This is chapter 12 of my novel",
        "I'm down 15 pounds",
        "I am at 80 percent",
    ],
)
def test_a_number_after_a_word_that_is_no_name_tells_no_age(said: str) -> None:
    assert not tells_age(said, of_person=False)
