"""Time in questions, at the default bar: what was said on, or speaks of, the days that a question asks about."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memwarden import Warden, clock

CONFIG = {"embedder": "auto"}
TALK = [
    ("Ana", "2023-05-08", "We went to the aquarium yesterday."),
    ("Ben", "2023-05-08", "Next month we will paint the boat."),
    ("Ana", "2023-06-20", "The dentist was kind."),
    ("Ben", "2023-07-02", "Two weeks ago we lost the keys of the cellar."),
    ("Ana", "2023-07-02", "Grandpa came over."),
    ("Ben", "2023-09-14", "The concert was loud."),
    ("Ana", "2023-09-15", "My new bike is red."),
]


def pair(warden: Warden, talk: list[tuple[str, str, str]]) -> None:
    for number, (name, day, text) in enumerate(talk):
        warden.scope(user="pair", thread=day).observe(
            {"role": "user", "name": name, "content": text, "id": f"m{number}", "created_at": day}
        )


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("What did they do on 7 May 2023?", "m0"),
        ("What happened on May 7th?", "m0"),
        ("What did Ben plan for June 2023?", "m1"),
        ("What happened in the middle of June 2023?", "m3"),
        ("What was there yesterday?", "m5"),  # the day before the last turn of this old conversation
        ("What did they do in July?", "m4"),
    ],
)
def test_days_of_the_question_find_what_was_said_on_them_or_speaks_of_them(
    warden: Warden, question: str, source: str
) -> None:
    pair(warden, TALK)
    result = warden.scope(user="pair").query(question, top_k=3)
    assert source in [source for item in result.items for source in item.sources]
    item = next(item for item in result.items if item.sources == (source,))
    assert next(part.value for part in item.why.features if part.name == "on_day") > 0


def test_in_a_conversation_that_goes_on_last_week_is_told_from_now(warden: Warden) -> None:
    def ago(**length: float) -> str:
        return (clock.now() - timedelta(**length)).isoformat()

    pair(
        warden,
        [("Ana", ago(days=30), "I met Ida."), ("Ben", ago(days=1), "I met Ole."), ("Ana", ago(days=0), "I met Kari.")],
    )
    (item, *_) = warden.scope(user="pair").query("Who was met yesterday?").items
    assert item.memory.text == "I met Ole."


def test_dates_at_the_ends_of_time_break_nothing(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    for who, moment in (("We", datetime(1, 1, 1)), ("They", datetime(9999, 12, 31, 23, 59, 59))):
        me.observe({"role": "user", "content": f"{who} left yesterday and return next week.", "created_at": moment})
    assert len(me.query("Who left last year?").items) == 2
