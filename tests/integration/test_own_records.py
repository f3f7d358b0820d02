"""What memwarden writes down for itself is in no answer, also in a scope without an agent."""

from __future__ import annotations

from typing import Any

from memwarden import ChatSettings, Warden


def test_records_of_prompts_are_no_answers() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me: Any = warden.scope(user="mies", thread="t1")
        me.observe([{"role": "user", "content": "I live in Utrecht, near the canal."}])
        settings = ChatSettings(use_memory=True, memory_injection_mode="cache_stable")
        with me.turn([{"role": "user", "content": "Where do I live?"}], settings) as turn:
            turn.record_response("In Utrecht.")
        (record,) = me.find({"channel": "state"})  # it is there, for who asks for it
        elsewhere: Any = warden.scope(user="mies", thread="t2")
        asked = "What is in the prompts of t1?"
        found = elsewhere.query(asked, threshold=0, top_k=50, explain=True)
        assert found.items
        block = elsewhere.context([{"role": "user", "content": asked}], threshold=0)
        assert record.id not in {entry.id for entry in (*found.items, *found.cut, *block.items, *elsewhere.find())}
