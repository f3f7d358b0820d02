"""L10: derived facts hide no answer, and a question never becomes a fact."""

from __future__ import annotations

import pytest

from law_stores import DEFAULTS, each_store, told, vocabulary

pytestmark = pytest.mark.soak


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
