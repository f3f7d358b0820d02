"""The current value stands above the value that it replaced, at default weights with the multilingual model."""

from __future__ import annotations

from memwarden import Warden

SAID = [
    ("I live in Ghent.", "2025-03-01"),
    ("My dentist is Dr Moser.", "2025-04-01"),
    ("The neighbours' party went on until three.", "2025-05-01"),
    ("We got the keys for our flat in Porto, we live here now.", "2025-09-01"),
]


def test_of_more_items_than_are_wanted_the_outdated_goes() -> None:
    rents = [
        ("The rent for the workshop is 400 a month.", "2025-01-10"),
        ("Rent for the workshop goes up to 450 a month.", "2025-04-10"),
        ("The rent of the workshop is 480 a month from now on.", "2025-08-10"),
    ]
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me = warden.scope(user="nora", thread="t")
        me.observe([{"role": "user", "content": text, "created_at": at} for text, at in [*SAID, *rents]])
        shown = [item.text for item in me.query("how much is the rent for the workshop?", top_k=2).items]
        assert "480" in shown[0]
        assert len(shown) == 2
        assert not any("400" in text for text in shown)


def test_a_long_list_stays_best_first() -> None:
    """Of dozens of turns that are all about the same, the newest is not the best."""
    with Warden.open("memory://", config={"embedder": "auto"}) as warden:
        me = warden.scope(user="ana", thread="garden")
        me.observe([{"role": "user", "content": "The copper kettle for the garden party is in the shed."}])
        talk = [{"role": "user", "content": f"We talked about garden party {number} again."} for number in range(60)]
        me.observe(talk)
        deep = me.query(
            "Where is the copper kettle for the garden party?", top_k=200, threshold=0.0, budget_tokens=None
        )
        assert len(deep.items) >= 50
        assert "copper kettle" in deep.items[0].text


def test_of_turns_of_one_time_the_best_stands_first() -> None:
    """Messages without a time have the time at which they came: none of them is newer."""
    texts = [
        "Dr Moser is my dentist.",
        "The dentist by the station closed.",
        "I was afraid of the dentist as a child.",
        "My dentist moved the appointment.",
    ]
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me = warden.scope(user="nora", thread="t")
        me.observe([{"role": "user", "content": text} for text in texts])
        shown = me.query("Was I afraid of the dentist?", top_k=4).items
        assert "afraid" in shown[0].text
