"""What kind of answer the words of a question ask for."""

from __future__ import annotations

import pytest

from memwarden.text.question_words import (
    only_asks,
    opens_as_question,
    read_question_words,
    statement_before_question,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When did I move?", "time"),
        ("Why did I sell the car?", "reason"),
        ("Warum habe ich das Auto verkauft?", "reason"),
        ("Which instruments have I played so far?", "several"),
        ("Where did I use to live?", "past"),
        ("Do I have a dog?", "whether"),
        ("Habe ich einen Schlüssel?", "whether"),
    ],
)
def test_a_question_asks_for_one_kind_of_answer(text: str, kind: str) -> None:
    assert getattr(read_question_words(text), kind)


def test_a_plain_question_asks_for_no_kind() -> None:
    assert not any(read_question_words("What is my dog called?"))


@pytest.mark.parametrize("text", ["Where do I live?", "where do i live", "Wo wohne ich?", "Is it on?", "我住在哪里？"])
def test_a_question_opens_as_one(text: str) -> None:
    assert opens_as_question(text)


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("Where do I live?", True),
        ("Hi! Where do I live?", True),
        ("I moved to Bern. Where do I live?", False),
        ("Where is it, 12 Oak Street?", False),
        ("I live here.", False),
    ],
)
def test_a_text_that_states_something_does_not_only_ask(text: str, alone: bool) -> None:
    assert only_asks(text) == alone


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("I'm vegan, what can I cook?", "I'm vegan"),
        ("We live in Lugo, so could you suggest a school?", "We live in Lugo"),
        ("vivimos en Lugo, ¿hay un colegio?", "vivimos en Lugo"),
        ("盛岡に住んでいます、近くにジムはありますか？", "盛岡に住んでいます"),
        ("¿vivo en Lugo, y dónde está?", ""),
        ("can I say I'm vegan, or what?", ""),
        ("what if I'm vegan?", ""),
        ("I'm vegan?", ""),
    ],
)
def test_a_statement_before_a_question_is_cut(sentence: str, stated: str) -> None:
    assert statement_before_question(sentence) == stated
