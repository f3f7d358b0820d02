"""A message that asks nothing continues its talk. A question is searched alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from law_stores import each_store, texts_of, vocabulary
from memwarden.recall.answer.request import list_talk

SIZE = 30
# Says nothing of its subject.
VAGUE = {
    "en": "This time I really want everything about it to be perfect and well arranged.",
    "de": "Diesmal soll daran wirklich alles richtig stimmen, das wünsche ich mir.",
    "es": "Esta vez quiero de verdad que todo quede perfecto y bonito.",
    "fr": "Cette fois je veux vraiment que tout soit parfait et réussi.",
    "ja": "今回は本当に全部うまくいくようにしたいと思っています。",
    "zh": "这一次我真的希望一切都能顺利完成。",
}


def talk_about(question: str, *later: str) -> list[dict[str, str]]:
    said = [question, *(text for each in later for text in ("I see.", each))]
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(said)]


def best_of(me: Any, talk: list[dict[str, str]]) -> str | None:
    """Return the text of the item with the highest score, if there is one."""
    items = sorted(me.context(talk).items, key=lambda item: -item.score)
    return items[0].text if items else None


@each_store
def test_a_statement_recalls_what_its_talk_is_about(
    language: str, seed: int, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    me = remembered([note.text for note in notes])
    right = [note for note in notes[:12] if best_of(me, talk_about(note.question, VAGUE[language])) == note.text]
    # Of the 22 seeds of make soak one or two have 8, the others more.
    assert len(right) >= 8, [note.question for note in notes[:12] if note not in right]


# Speaks of another person than the talk before.
ELSEWHERE = {
    "en": "Something else: I met {} yesterday, and we had a long walk together.",
    "de": "Was anderes: gestern habe ich {} getroffen, und wir sind lange spazieren gegangen.",
    "es": "Otra cosa: ayer vi a {} y dimos un paseo largo juntos.",
}


@pytest.mark.parametrize("language", ELSEWHERE)
def test_a_statement_about_somebody_else_recalls_that_one(
    language: str, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(5, SIZE)
    me = remembered([note.text for note in notes])
    right = 0
    for before, now in zip(notes[:12], notes[12:24], strict=True):
        best = best_of(me, talk_about(before.question, ELSEWHERE[language].format(now.subject)))
        right += best is not None and now.subject.split()[-1] in best
    assert right >= 10


@each_store
def test_a_question_after_a_talk_about_something_else_is_searched_alone(
    language: str, seed: int, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    me = remembered([note.text for note in notes])
    for one, other in zip(notes[:6], notes[6:12], strict=True):
        alone = me.context(other.question)
        after = me.context(talk_about(one.question, VAGUE[language], other.question))
        assert texts_of(after) == texts_of(alone)
        assert after.confidence == pytest.approx(alone.confidence)


@pytest.mark.parametrize("vague", VAGUE.values())
def test_the_vague_messages_continue_a_talk(vague: str) -> None:
    assert list_talk(["We plan a party in May.", vague])


def test_the_passage_is_shown_that_the_talk_is_about(remembered: Callable[[Sequence[str]], Any]) -> None:
    barn = "The barn for the surprise party costs three hundred euros, and Mia brings the lanterns. " * 6
    teeth = "The dentist said that my teeth feel right this time, with everything like before. " * 6
    me = remembered([barn + teeth, "I bought new boots for the mountains.", "The bus was late on Monday."])
    said = "It should feel like a real celebration, with everything right this time."
    items = me.context(talk_about("We plan a surprise party in the barn.", said)).items
    (party,) = (item for item in items if "lanterns" in item.text)
    assert {"surprise", "party", "barn"} <= set(party.why.words)


def test_thanks_after_a_talk_get_an_empty_block(remembered: Callable[[Sequence[str]], Any]) -> None:
    note = vocabulary("en").notes(1, SIZE)[0]
    me = remembered([each.text for each in vocabulary("en").notes(1, SIZE)])
    assert texts_of(me.context(talk_about(note.question, "Thanks a lot!"))) == []
