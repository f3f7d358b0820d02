"""The forms in which texts name days, one line each; ``docs/reference/time.md`` lists them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from memwarden.recall.index.view import date_closeness, unpack_spans
from memwarden.text.dates.calendar import DaySpan, easter, holiday
from memwarden.text.dates.recognizer import asked_spans, decode, encode, may_name_days, spans_in

FRIDAY = datetime(2023, 6, 9, 19, 55)


def days(text: str, said: datetime = FRIDAY, language: str | None = None) -> list[str]:
    """The spans of a text as "first..last", or as one day."""
    return [
        str(span.first) if span.first == span.last else f"{span.first}..{span.last}"
        for span in spans_in(text, said, language)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met her on May 8th", ["2023-05-08"]),
        ("I will meet her on May 8th", ["2024-05-08"]),
        ("I went there in May", ["2023-05-01..2023-05-31"]),
        ("the 5/8 share, but on 5/8 we moved", ["2023-05-08"]),
        ("We arrived Saturday, March 26th", ["2022-03-26"]),
        ("I met him on the 15th", ["2023-05-15"]),
        ("I will see him on the 15th", ["2023-06-15"]),
        ("she was here on Tuesday, the 6th", ["2023-06-06"]),
        ("the weekend before 20 July", ["2023-07-15..2023-07-16"]),
        ("two weekends before July 17, 2023", ["2023-07-08..2023-07-09"]),
        ("the last Friday of May", ["2023-05-26"]),
        ("the first week of last month", ["2023-05-01..2023-05-07"]),
        ("in the second quarter of 2024", ["2024-04-01..2024-06-30"]),
        ("Q3 2024", ["2024-07-01..2024-09-30"]),
        ("in winter 2022", ["2022-12-01..2023-02-28"]),
        ("the spring of last year", ["2022-03-01..2022-05-31"]),
        ("from Friday to Monday", ["2023-06-09..2023-06-12"]),
        ("from November to February 2023", ["2022-11-01..2023-02-28"]),
        ("between Christmas and New Year's Day", ["2022-12-25..2023-01-01"]),
        ("2019-2021", ["2019-01-01..2021-12-31"]),
        ("back in the nineties", ["1990-01-01..1999-12-31"]),
        ("Thanksgiving 2023", ["2023-11-23"]),
        ("earlier this week", ["2023-06-05..2023-06-09"]),
        ("I will call until Sunday", ["2023-06-09..2023-06-11"]),
        ("over the weekend I was ill", ["2023-06-03..2023-06-04"]),
        ("two Sundays ago", ["2023-05-28"]),
        ("last Fri I ran", ["2023-06-02"]),
        ("I have had it for three years now", ["2020-01-01..2020-12-31"]),
        ("I've been playing the violin for about four months", ["2023-02-01..2023-02-28"]),
        ("It has been raining for a few days", ["2023-06-04..2023-06-07"]),
        ("She has been ill for just under a week now", ["2023-05-30..2023-06-05"]),
        ("They had been sad for three months", []),
        ("I have been to Rome for two weeks", []),
        ("I have been busy. We rented it for two weeks", []),
        ("He was part of our family for ten years", []),
        ("We have been here for two hours now", []),
        ("I've been away for the first two weeks now", []),
        ("I have not slept for two weeks", []),
        ("I haven't seen her in six months", []),
        ("I finished it in two days", []),
        ("You may march in the sun. This may help", []),
        ("The party is on 29 march. Bring cake", ["2024-03-29"]),
        ("It was before 4 dec. Yes", ["2022-12-04"]),
        ("Of the 12, only 3 may come. Bring cake", []),
        ("All 29 march together. It rains", []),
        ("every Friday, on Fridays, each summer", []),
        ("on the 15th floor for the 2nd time", []),
        ("it cost $2022 and weighed 1999 pounds", []),
        ("on 30 February 2023", []),
    ],
)
def test_english_forms(text: str, expected: list[str]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Am 8. Mai war ich da, übernächste Woche nicht", ["2023-05-08", "2023-06-19..2023-06-25"]),
        ("der Freitag vor dem 15. Juli 2023", ["2023-07-14"]),
        ("vom 3. bis 7. Mai waren wir weg", ["2023-05-03..2023-05-07"]),
        ("letztes Jahr im Mai", ["2022-05-01..2022-05-31"]),
        ("heute Morgen, morgen, guten Morgen", ["2023-06-09", "2023-06-10"]),
        ("du 3 au 7 mai 2022 nous étions là", ["2022-05-03..2022-05-07"]),
        ("l'été dernier, aujourd'hui, lundi prochain", ["2022-06-01..2022-08-31", "2023-06-09", "2023-06-12"]),
        ("del 3 al 7 de mayo de 2022", ["2022-05-03..2022-05-07"]),
        ("el lunes que viene, pasado mañana", ["2023-06-12", "2023-06-11"]),
        (
            "先週の金曜日、去年の夏、5月3日から7日まで",
            ["2023-06-02", "2022-06-01..2022-08-31", "2023-05-03..2023-05-07"],
        ),
        ("十二月二十五日，上周末，三个月前", ["2022-12-25", "2023-06-03..2023-06-04", "2023-03-01..2023-03-31"]),
    ],
)
def test_other_languages(text: str, expected: list[str]) -> None:
    assert days(text) == expected


def test_the_order_of_numbers_is_the_languages() -> None:
    assert days("on 8/5/2023") == ["2023-08-05"]
    assert days("on 25/5/2023") == ["2023-05-25"]
    assert days("am 8.5.2023 war ich dort") == ["2023-05-08"]
    assert days("le 8/5/2023 nous étions là") == ["2023-05-08"]
    assert days("8/5/2023", language="es") == ["2023-05-08"]


def test_vague_times_are_marked() -> None:
    said = {
        span.text: span.exact for span in spans_in("three days ago, a few weeks ago, mid-May, the other day", FRIDAY)
    }
    assert said == {"three days ago": True, "a few weeks ago": False, "mid-May": False, "other day": False}


def test_days_outside_the_calendar_are_left_out() -> None:
    assert days("yesterday", datetime(1, 1, 1)) == []
    assert days("next year, in 9000 years", datetime(9999, 12, 31)) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ana do last week?", ["2023-05-29..2023-06-04"]),
        ("What does Ana do in August?", ["2022-08-01..2022-08-31"]),
        ("What will Ana do in August?", ["2023-08-01..2023-08-31"]),
        ("When did Ana go camping?", []),
        ("What year did Ana start to surf?", []),
        ("When did Ana go camping in June?", ["2023-06-01..2023-06-30"]),
    ],
)
def test_what_a_question_asks_about(question: str, expected: list[str]) -> None:
    assert [
        str(asked_span.first) if asked_span.first == asked_span.last else f"{asked_span.first}..{asked_span.last}"
        for asked_span in asked_spans(question, FRIDAY)
    ] == expected


def test_a_question_without_a_year_asks_about_each_year_since() -> None:
    asked = asked_spans("What did Ana do in May?", FRIDAY, since=date(2021, 9, 1))
    assert [span.first for span in asked] == [date(2021, 5, 1), date(2022, 5, 1), date(2023, 5, 1)]
    assert len(asked_spans("What did Ana do in May 2022?", FRIDAY, since=date(2021, 9, 1))) == 1


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("Where are we going in June?", [2022, 2023, 2024]),
        ("what's planned for June?", [2022, 2023, 2024]),
        ("What will we do in June?", [2022, 2023, 2024]),
        ("Wohin fahren wir im Juni?", [2022, 2023, 2024]),
        ("¿adónde vamos en junio?", [2022, 2023, 2024]),
        ("On part où en juin ?", [2022, 2023, 2024]),
        ("Where did we go in June?", [2022, 2023]),
        ("Wo waren wir im Juni?", [2022, 2023]),
        ("¿dónde estuvimos en junio?", [2022, 2023]),
        ("Où étais-tu en juin ?", [2022, 2023]),
        ("Was haben wir im Juni vor?", [2022, 2023, 2024]),
        ("Bin ich im Juni in Bern?", [2022, 2023, 2024]),
        ("Was haben wir im Juni gemacht?", [2022, 2023]),
        ("Wohin sind wir im Juni gefahren?", [2022, 2023]),
        ("¿adónde viajamos en junio?", [2022, 2023, 2024]),
        ("¿he de viajar en junio?", [2022, 2023, 2024]),
        ("¿qué hemos hecho en junio?", [2022, 2023]),
        ("Qu'ai-je en juin ?", [2022, 2023, 2024]),
        ("Où sommes-nous allés en juin ?", [2022, 2023]),
        ("Cosa abbiamo in programma a giugno?", [2022, 2023, 2024]),
        ("Cosa abbiamo fatto a giugno?", [2022, 2023]),
        ("6月の予定は？", [2022, 2023, 2024]),
        ("6月に私たちはどこへ行きますか？", [2022, 2023, 2024]),
        ("6月に何をしましたか？", [2022, 2023]),
        ("6月はどこにいたの？", [2022, 2023]),
        ("六月有什么安排？", [2022, 2023, 2024]),
        ("我们6月去哪里？", [2022, 2023, 2024]),
        ("我们6月去了哪里？", [2022, 2023]),
        ("你6月去过哪里？", [2022, 2023]),
    ],
)
def test_a_month_of_a_question_that_is_not_of_the_past_may_lie_ahead(question: str, years: list[int]) -> None:
    spans = asked_spans(question, datetime(2023, 11, 3, tzinfo=UTC), since=date(2022, 1, 9))
    assert [span.first for span in spans] == [date(year, 6, 1) for year in years]


def test_at_most_four_spans_are_stored_the_narrowest() -> None:
    spans = spans_in("in 2020, in 2021, yesterday, today, tomorrow and next week", FRIDAY)
    assert [last - first for first, last in decode(encode(spans))] == sorted(
        last - first for first, last in decode(encode(spans))
    )
    assert len(encode(spans)) == 32
    assert encode(()) == b""


def test_rows_that_meet_what_is_asked() -> None:
    asked = [DaySpan(date(2023, 5, 1), date(2023, 5, 31), "", True)]
    rows = ["I went there yesterday", "nothing", "since 2016", "last month", "next year"]
    places, numbers = unpack_spans(encode(spans_in(row, FRIDAY)) for row in rows)
    shares = date_closeness(places, numbers, len(rows), asked)
    assert (shares > 0).tolist() == [False, False, True, True, False]
    assert shares[3] == 1
    assert 0 < shares[2] < 0.02
    assert not date_closeness(places, numbers, len(rows), []).any()
    assert unpack_spans([b"", b""])[1].shape == (0, 2)
    assert date_closeness(*unpack_spans([]), 0, asked).dtype == np.float32


def test_the_gate() -> None:
    assert not may_name_days("That's awesome! I'm sure you feel great, knowing your 3 students do so well.")
    assert may_name_days("see you tomorrow")
    assert may_name_days("yesterday…")
    assert may_name_days("2023-05-08")


def test_holidays() -> None:
    assert [easter(year) for year in (2000, 2019, 2024, 2038)] == [
        date(2000, 4, 23), date(2019, 4, 21), date(2024, 3, 31), date(2038, 4, 25)]  # fmt: skip
    assert holiday("memorial", 2023) == date(2023, 5, 29)
    assert holiday("good_friday", 2023) == date(2023, 4, 7)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("I booked a flight to Lisbon for 14 February.", "2027-02-14"),
        ("I booked the flight on 14 February.", "2026-02-14"),
        ("Ich habe einen Flug für den 14. Februar gebucht.", "2027-02-14"),
        ("J'ai réservé un billet pour le 14 février.", "2027-02-14"),
        ("He reservado un hotel para el 14 de febrero.", "2027-02-14"),
        ("Our wedding is on 14 February.", "2027-02-14"),
        ("Unsere Hochzeit ist am 14. Februar.", "2027-02-14"),
        ("Dad is in hospital until Friday.", "2026-03-06"),
        ("I waited until Friday.", "2026-02-27"),
        ("Es war am 14. Februar.", "2026-02-14"),
    ],
)
def test_what_was_booked_or_is_on_a_day_lies_ahead(said: str, day: str) -> None:
    (span,) = spans_in(said, datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert span.last.isoformat() == day


@pytest.mark.parametrize("text", ["3.{}", "{}/2/2024", "2024-{}-02", "CVE-{}-1", "v1.{}.0", "{} days ago"])
def test_thousands_of_digits_are_no_day(text: str) -> None:
    assert spans_in(text.format("9" * 5_000), datetime(2026, 3, 4, tzinfo=UTC)) == ()
