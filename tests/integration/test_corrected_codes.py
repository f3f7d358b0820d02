"""A message that takes a code back ends the message that gave it, with the answer that repeats it."""

from __future__ import annotations

import pytest

from memwarden import AsyncWarden, Warden

GIVEN = {
    "en": ("The front door code is 2580.", "What is the front door code?"),
    "de": ("Der Code der Haustür ist 2580.", "Wie ist der Code der Haustür?"),
    "es": ("El código de la puerta es 2580.", "¿Cuál es el código de la puerta?"),
    "fr": ("Le code de la porte est 2580.", "Quel est le code de la porte ?"),
}
CORRECTED = [
    ("en", "sorry, I said 2580: it is 2850"),
    ("en", "The front door code is not 2580 but 2850."),
    ("de", "Ich hab dir 2580 gesagt: es ist 2850."),
    ("de", "Der Code der Haustür ist nicht 2580, sondern 2850."),
    ("es", "Antes te dije 2580 para la puerta: es 2850."),
    ("es", "El código de la puerta no es 2580 sino 2850."),
    ("fr", "Je t'ai dit 2580 : c'est 2850."),
    ("fr", "Le code de la porte n'est pas 2580 mais 2850."),
]
OTHERS = [
    "I told you 2580 for the garage: it is 2850.",
    "The garage code is not 2580 but 2850.",
    "Maybe I said 2580: it is 2850",
    "Did I say 2580? Is it not 2850?",
    "The front door code is 2580, the one of the garage 2850.",
]


def turn(text: str, day: int, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text, "created_at": f"2026-01-{day:02d}T10:00:00Z"}


@pytest.mark.parametrize(("language", "correction"), CORRECTED)
def test_a_code_taken_back_answers_no_question(language: str, correction: str) -> None:
    given, question = GIVEN[language]
    right = given.replace("2580", "2850")
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="ana", thread="talk")
        me.observe([turn(given, 5), turn("Noted, 2580.", 5, "assistant")])
        (told,) = me.observe([turn(correction, 9)]).results
        assert "corrects message" in told.reason
        later = warden.scope(user="ana", thread="later")
        found = [item.memory.text for item in later.query(question).items]
        assert {given, "Noted, 2580."}.isdisjoint(found)
        assert found[0] in (right, correction)
        assert later.context(question).items[0].memory.text in (right, correction)
        assert {memory.text for memory in me.find()} == {right, correction}


@pytest.mark.parametrize("other", OTHERS)
def test_another_code_a_doubt_and_a_question_end_nothing(other: str) -> None:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="talk")
        (given,) = me.observe([turn(GIVEN["en"][0], 5)]).results
        me.observe([turn(other, 9)])
        assert me.get(str(given.id)).valid_to is None


async def test_the_rest_stays_and_one_undo_takes_the_correction_back(embedded_url: str) -> None:
    async with AsyncWarden.open(embedded_url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="talk")
        said = [turn("I keep bees. The front door code is 2580.", 5), turn("Noted: 2580.", 5, "assistant")]
        (given, noted) = (await me.observe(said)).results
        correction = turn("sorry, I said 2580: it is 2850", 9)
        rev = (await me.observe([correction])).rev
        assert {memory.text for memory in await me.find()} == {
            "I keep bees.", "The front door code is 2850.", correction["content"],
        }  # fmt: skip
        await me.journal.undo(rev)
        restored = [await me.get(str(each.id)) for each in (given, noted)]
        assert [memory.valid_to for memory in restored] == [None, None]
        # The same message again corrects nothing a second time.
        await me.observe([*said, correction])
        assert (await me.get(str(given.id))).valid_to is None


async def test_others_and_the_assistant_correct_nothing(embedded_url: str) -> None:
    async with AsyncWarden.open(embedded_url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="talk")
        (given,) = (await me.observe([turn(GIVEN["en"][0], 5)])).results
        await me.observe([turn(CORRECTED[1][1], 6, "assistant")])
        await me.observe([{**turn(CORRECTED[1][1], 7), "name": "Ben"}])
        await warden.scope(user="ben", thread="talk").observe([turn(CORRECTED[1][1], 8)])
        assert (await me.get(str(given.id))).valid_to is None
