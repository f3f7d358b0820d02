"""L8: without the answer, confidence is lower. A block is empty for another subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from law_stores import each_store, texts_of, vocabulary

SIZE = 30


@each_store
def test_l8_without_the_answer_confidence_is_lower(
    language: str, seed: int, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    asked, kept = notes[:6], notes[6:]
    with_all, without = remembered([note.text for note in notes]), remembered([note.text for note in kept])
    wrong = []
    for note in asked:
        for ask in ("query", "context"):
            known, unknown = (getattr(me, ask)(note.question).confidence for me in (with_all, without))
            if unknown >= known:
                wrong.append(f"{ask} {known:.3f} {unknown:.3f} {note.question}")
    assert wrong == []


def test_an_unrelated_question_gets_an_empty_block(remembered: Callable[[Sequence[str]], Any]) -> None:
    me = remembered([note.text for note in vocabulary("en").notes(1, SIZE)])
    worlds = ("How many moons does Jupiter have?", "What is the boiling point of tungsten?", "Who wrote Faust?")
    assert [texts_of(me.context(world)) for world in worlds] == [[], [], []]


@pytest.mark.parametrize(
    ("language", "told", "question"),
    [
        ("en", "I'm Priya, I live in Leeds with my husband Tom.", "Who is my husband?"),
        ("de", "Ich wohne mit meinem Mitbewohner Jonas und zwei Katzen in Kiel.", "Wer ist mein Mitbewohner?"),
        ("es", "Vivo en Cádiz con mi marido Tomás y dos gatos.", "¿Quién es mi marido?"),
        ("fr", "J'habite à Lille avec mon mari Thomas et deux chats.", "Qui est mon mari ?"),
    ],
)
def test_a_statement_with_every_word_of_the_question_is_shown(
    language: str, told: str, question: str, remembered: Callable[[Sequence[str]], Any]
) -> None:
    others = [note.text for note in vocabulary(language).notes(2, SIZE)]
    assert texts_of(remembered([told, *others]).query(question))[0] == told


MINUTES = """Minutes of the house meeting, 14 October. Present: Odile, Marek, the Sørensens and the caretaker.
The lift will be out of service from the 3rd to the 9th of November while the motor is replaced. Deliveries for the \
upper floors can be left in the porter's room, which is open until seven.
Bicycles without a tag will be moved to the cellar at the end of the month. Bicycles with a yellow ribbon are given to \
the repair workshop on Mill Street, and nobody can claim them after that.
On Thursday the pipes are flushed, so there is no hot water between eight in the morning and two in the afternoon. The \
caretaker recommends filling a few bottles the evening before.
The roof terrace stays closed until the railing has passed inspection. Marek asked whether plants may stay there, and \
the answer was yes, if they stand on the north side.
The next meeting is on 11 January at half past \
six in the laundry room. Odile brings the keys."""


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("What happens to bicycles with a yellow ribbon?", "the repair workshop on Mill Street"),
        ("When is the lift out of service?", "from the 3rd to the 9th of November"),
        ("When is the next meeting?", "11 January"),
    ],
)
def test_a_sure_answer_in_a_long_text_is_shown(
    question: str, shown: str, remembered: Callable[[Sequence[str]], Any]
) -> None:
    me = remembered(
        [MINUTES, "I take my tea without sugar.", "My sister Ina lives in Bergen.", "I work at the harbour."]
    )
    assert shown in me.context(question).text
    assert shown in me.query(question).text
