"""L10: derived facts hide no answer, a question never becomes a fact, and a quotation changes no answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from law_stores import DEFAULTS, each_store, told, vocabulary
from memwarden import Warden


@pytest.mark.soak
@each_store
def test_l10_what_is_derived_hides_no_answer_and_a_question_is_no_fact(language: str, seed: int) -> None:
    notes = vocabulary(language).notes(seed, 14)
    questions = [note.question for note in notes[10:]]
    config = {**DEFAULTS, "extraction": "every_turn"}
    with told([*(note.text for note in notes[:10]), *questions], config=config) as me:
        derived = [memory for memory in me.find() if memory.channel != "turn"]
        asked = {memory.id for memory in me.find() if memory.text in questions}
        assert not [memory.text for memory in derived if asked & set(memory.sources)]
        for note in notes[:10]:
            items = me.query(note.question, top_k=3, threshold=0.0).items
            turns = {memory.id for memory in me.find() if memory.text == note.text}
            assert any(turns & {item.id, *item.sources} for item in items), note.question


def _answers(warden: Warden, questions: Sequence[str]) -> list[tuple[float, list[tuple[str, float]]]]:
    me = warden.scope(user="ann", thread="asking")
    answers = [answer for question in questions for answer in (me.query(question, top_k=5), me.context(question))]
    return [(answer.confidence, [(item.memory.text, item.score) for item in answer.items]) for answer in answers]


@each_store
def test_l10_extraction_without_a_model_changes_no_answer(language: str, seed: int) -> None:
    notes = vocabulary(language).notes(seed, 9)
    answers = []
    for extraction in ("off", "every_turn"):
        with Warden.open("memory://", {**DEFAULTS, "extraction": extraction}) as warden:
            for place, note in enumerate(notes):
                warden.scope(user="ann", thread=f"t{place // 4}").observe(note.text)
            kept = warden.scope(user="ann").find({"channel": "semantic"}, limit=100)
            answers.append((len(kept), _answers(warden, [note.question for note in notes[:5]])))
    (none, before), (some, after) = answers
    assert none == 0 < some
    for (sure, items), (still_sure, same) in zip(before, after, strict=True):
        assert still_sure == pytest.approx(sure, abs=1e-4)
        assert [text for text, _ in same] == [text for text, _ in items]
        assert [score for _, score in same] == pytest.approx([score for _, score in items], abs=1e-4)


def test_l10_what_is_derived_of_a_reply_leaves_it_in_the_item_of_its_question() -> None:
    talk = [
        {"role": "user", "name": "Maud", "content": "Are you two still going to Corsica in August?"},
        {"role": "user", "name": "Ida", "content": "No, we booked the ferry to Split for the 8th of August."},
    ]
    shown = []
    for extraction in ("off", "every_turn"):
        with Warden.open("memory://", {"embedder": "none", "extraction": extraction}) as warden:
            warden.scope(user="ann", thread="t1").observe(talk)
            me = warden.scope(user="ann", thread="t2")
            assert bool(me.find({"channel": {"$ne": "turn"}})) == (extraction != "off")
            items = me.query("Does Ida still go to Corsica in August?", threshold=0.0).items
            shown.append([(item.text, len(item.sources)) for item in items])
    assert shown[0] == shown[1]
    assert shown[0][0][1] == 2
