"""What of the candidates goes into an answer, by rules that need no index: budget, repeats, what is searched for."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden.recall.answer import excerpt, gates
from memwarden.recall.answer import request as requests
from memwarden.recall.answer.request import Request
from memwarden.recall.evidence.answer import is_unsure


def request(**fields: Any) -> Request:
    given = {"categories": None, "where": (), "top_k": 3, "threshold": None, "budget_tokens": 500}
    return Request("Where?", **{**given, "full": False, "explain": False, **fields})


@pytest.mark.parametrize(
    ("said", "searched"),
    [
        (["Where is the meeting?"], ["Where is the meeting?"]),
        (["Where does Ana live?", "and now?"], ["and now?", "Where does Ana live?\nand now?"]),
        (["The weather is fine.", "Which dentist did Ana see in Porto?"], ["Which dentist did Ana see in Porto?"]),
        (["why?", "why?"], ["why?", "why?\nwhy?"]),
    ],
)
def test_a_message_that_leans_on_the_talk_is_searched_with_it(said: list[str], searched: list[str]) -> None:
    assert requests.list_searched(said) == searched


def test_a_statement_continues_what_the_person_said_before() -> None:
    party, dress = "We plan a party in May.", "What should I wear there?"
    assert requests.list_talk([party, "Thanks!", "It will be a special evening with music and dancing."]) == (party,)
    assert requests.list_talk([party, dress]) == ()  # a question is searched alone
    assert requests.list_talk([party, "ok, something else, how do I repot a palm tree"]) == ()
    assert requests.list_talk([party, "In May."]) == ()  # leans on the whole talk
    assert requests.list_talk(["It will be a special evening with music and dancing."]) == ()


def test_words_are_alike_whatever_their_case_and_space() -> None:
    assert excerpt.normalize_text(" Where  IS\nthe Straße? ") == excerpt.normalize_text("where is the STRASSE?")


def test_only_a_message_that_says_much_makes_a_search_worth_while() -> None:
    long = "Compare the passport office, dentist appointment, ferry tickets, garden fence and piano lessons."
    assert is_unsure(0.5, False, long)
    assert not is_unsure(0.5, True, long)
    assert not is_unsure(0.34, False, long)
    assert not is_unsure(0.5, False, "In markdown?")


@pytest.mark.parametrize(
    ("fields", "by_channel", "excluded"),
    [
        ({}, False, [("channel", "procedural"), ("channel", "state"), ("category", "in-prompt")]),
        ({"steps": True}, False, [("channel", "state"), ("category", "in-prompt")]),
        ({}, True, [("channel", "procedural"), ("category", "in-prompt")]),
    ],
)
def test_what_is_left_out_unless_it_is_asked_for(
    fields: dict[str, Any], by_channel: bool, excluded: list[tuple[str, str]]
) -> None:
    from memwarden.testing.examples import START

    *channels, valid = gates.default_conditions(request(**fields), by_channel, START)
    assert [(item.field, item.value) for item in channels] == excluded
    assert (valid.field, valid.value) == ("valid_to", START)
