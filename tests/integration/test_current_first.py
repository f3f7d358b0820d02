"""The current value stands above the value that it replaced, at default weights with the multilingual model."""

from __future__ import annotations

from memwarden import Warden

SAID = [
    ("I live in Ghent.", "2025-03-01"),
    ("My dentist is Dr Moser.", "2025-04-01"),
    ("The neighbours' party went on until three.", "2025-05-01"),
    ("We got the keys for our flat in Porto, we live here now.", "2025-09-01"),
]


def test_an_outdated_home_stands_below_the_current_home() -> None:
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me = warden.scope(user="nora", thread="t")
        me.observe([{"role": "user", "content": text, "created_at": at} for text, at in SAID])
        # Asked at once: the question waits for the vectors of what was said just before.
        shown = [item.text for item in me.query("what's my home town", threshold=0, top_k=10).items]
        assert "Porto" in shown[0]
        assert any("Ghent" in text for text in shown[1:])
