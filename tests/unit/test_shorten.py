"""Texts made shorter without a model: within the limit in bytes, no character split, names and numbers first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden.agent.shorten import cut, details, shorten_text, size

ALSO = "Also: "

ANSWER = (
    "Thank you so much for asking, this is a wonderful question and I am really happy to help you with it today. "
    "There are many things that one could think about when one plans something of this kind, and all matter. "
    "The train of Marta Kowalska leaves Gdynia at 7:45 am on 14 March 2026 from platform 3. "
    "It is always a good idea to be early, to have something to drink with you, and to dress in warm layers. "
    "The hotel Baltic Inn costs $129 a night, breakfast included. "
    "Please do not hesitate to come back whenever there is anything else that I could possibly do for you here. "
    "I hope that this is helpful, and that the journey will be a pleasant one for everybody who comes along."
)
FACTS = ("Marta Kowalska", "Gdynia", "7:45", "14 March 2026", "Baltic Inn", "$129")


def test_what_fits_stays_as_it_is() -> None:
    assert shorten_text("**Bold** as it was.", 100) == "**Bold** as it was."


def test_sentences_with_names_numbers_and_dates_are_preferred_and_stay_whole() -> None:
    short = shorten_text(ANSWER, 250)
    assert size(short) <= 250
    assert all(fact in short for fact in FACTS)
    assert "from platform 3." in short
    assert "wonderful question" not in short


def test_details_of_sentences_that_do_not_fit_follow_in_a_line() -> None:
    short = shorten_text(ANSWER, 150)
    assert size(short) <= 150
    assert ALSO in short
    assert all(fact in short for fact in FACTS)


def test_what_was_made_shorter_can_be_made_shorter_again() -> None:
    once = shorten_text(ANSWER, 150)
    again = shorten_text(once, 140)
    assert again.count(ALSO) == 1
    assert sum(fact in again for fact in FACTS) >= 4


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("We met Ana Ruiz in New York City on 3 May 2024.", {"Ana Ruiz", "New York City", "3 May 2024"}),
        ("It took 2,500 steps and 45% of the day.", {"2,500", "45%"}),
        ("The first word is no name.", set()),
        ("I think that NASA is meant.", {"NASA"}),
        ("내일 서울에서 10시에 만나요.", {"10"}),
    ],
)
def test_details(sentence: str, expected: set[str]) -> None:
    assert expected <= set(details(sentence))
    assert expected or not set(details(sentence))


@pytest.mark.parametrize("sign", ["a", "é", "語", "👩‍👩‍👧"])
@pytest.mark.parametrize("limit", [*range(30, 40), 500])
def test_no_character_is_split(sign: str, limit: int) -> None:
    short = shorten_text(sign * 1000, limit)
    assert size(short) <= limit
    assert short.encode("utf-8").decode("utf-8") == short
    assert (sign * 1000).startswith(short)
    assert short


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=600), st.integers(40, 300))
def test_any_text_is_within_its_limit(text: str, limit: int) -> None:
    short = shorten_text(text, limit)
    assert size(short) <= limit
    assert short == text or size(text) > limit


def test_a_cut_is_at_the_end_of_a_word() -> None:
    assert cut("one two three", 9) == "one two"
    assert cut("one two three", 7) == "one two"
    assert cut("onetwothree", 4) == "onet"


CODE = "```python\ndef clear(cache):\n    for key in list(cache):\n        del cache[key]\n    return 42\n```"
WITH_CODE = f"This clears the cache of Marta Kowalska in Gdynia.\n\n{CODE}\n\nIt is good to rest now and then. " + (
    "Restart the server on 14 March 2026. Nobody knows why that helps, and yet it always has, as far as we remember. "
)


@pytest.mark.parametrize("limit", range(60, 320, 7))
def test_code_is_kept_as_it_stands_or_left_out(limit: int) -> None:
    short = shorten_text(WITH_CODE, limit)
    assert size(short) <= limit
    assert CODE in short or not any(part in short for part in ("```", "def clear", "del cache", "return"))


def test_code_that_fits_beside_the_details_is_kept() -> None:
    short = shorten_text(WITH_CODE, 270)
    assert f"\n{CODE}\n" in short
    assert "Restart the server on 14 March 2026." in short


@pytest.mark.parametrize("code", [CODE, CODE.removesuffix("```"), CODE.replace("```", "~~~")])
def test_code_alone_that_does_not_fit_is_left_out(code: str) -> None:
    assert shorten_text(code, 60) == "(code left out)"


def test_what_is_said_twice_is_kept_once() -> None:
    short = shorten_text(
        "The Baltic Inn costs $129. " * 20 + "**The Baltic Inn costs $129!** Breakfast is at 7. " * 20, 200
    )
    assert short == "The Baltic Inn costs $129. Breakfast is at 7."
