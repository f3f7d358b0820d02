"""Stated memories: what remember keeps, refuses and lets be found again."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import InvalidInput, NotFound


def test_a_fact_keeps_every_field(warden: Warden) -> None:
    me = warden.scope(user="ana", agent="supervisor", thread="t1")
    me.remember(
        "Ana decided to take the job in Bergen.",
        channel="episodic",
        category="goals",
        importance=0.8,
        tags=["work", "move", "work"],
        pinned=True,
        source="thread/t1",
        sources=["m1", "m2"],
        summary="Job in Bergen",
        context="Over dinner with Ida",
        characters=["Ana", "Ida"],
        created_at="2026-03-01",
        valid_from="2026-04-01",
    )
    (fact,) = me.find({"channel": "episodic"})
    assert (fact.kind, fact.category, fact.importance, fact.tags) == ("decision", "goals", 0.8, ("work", "move"))
    assert (fact.pinned, fact.source, fact.sources, fact.summary) == (True, "thread/t1", ("m1", "m2"), "Job in Bergen")
    assert (fact.context, fact.characters, fact.agent_id) == ("Over dinner with Ida", ("Ana", "Ida"), "supervisor")
    assert fact.created_at.isoformat() == "2026-03-01T00:00:00+00:00"
    assert fact.valid_from is not None
    assert fact.valid_from.isoformat() == "2026-04-01T00:00:00+00:00"
    assert me.get(fact.id) == fact


@pytest.mark.parametrize("text", ["hello", "Thanks!", "hi there", "ok thanks", "👍", "good morning", "bye bye"])
def test_a_greeting_or_thanks_alone_is_never_remembered_nor_recalled(warden: Warden, text: str) -> None:
    me = warden.scope(user="ana")
    (result,) = me.remember(text).results
    assert (result.id, result.outcome) == (None, "rejected")
    assert result.reason
    me.observe({"role": "user", "content": text})
    assert not me.query(text)
    assert me.query("What did Ana say?", threshold=0.0, top_k=10).items == ()


def test_a_long_message_that_contains_thanks_still_can_be(warden: Warden) -> None:
    me = warden.scope(user="ana")
    text = "Hello and thanks for the tip! We booked the cabin in Lofoten for the second week of July."
    assert me.remember(text).results[0].outcome == "created"
    assert me.query("Which cabin did we book?").items[0].memory.text == text


def test_several_texts_and_messages_become_a_memory_each(warden: Warden) -> None:
    me = warden.scope(user="ana")
    result = me.remember(["Ana has a dog.", {"role": "user", "name": "Ana", "content": "I drive a van.", "id": "m9"}])
    assert [item.outcome for item in result.results] == ["created", "created"]
    dog, van = (me.get(str(item.id)) for item in result.results)
    assert (dog.text, dog.role, dog.sources) == ("Ana has a dog.", None, ())
    assert (van.text, van.role, van.name, van.sources) == ("I drive a van.", "user", "Ana", ("m9",))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"text_or_messages": ""}, "empty"),
        ({"text_or_messages": []}, "nothing to remember"),
        ({"text_or_messages": 5}, "must be text"),
        ({"text_or_messages": {"role": "user", "content": None, "tool_calls": [1]}}, "no words"),
        ({"channel": "turn"}, "use observe for turns"),
        ({"channel": "memory"}, "channel is semantic, "),
        ({"kind": "rumour"}, "kind is unknown, .* or pattern, not"),
        ({"category": "gossip"}, "unknown category 'gossip'"),
        ({"importance": 3}, "from 0 to 1"),
        ({"importance": True}, "from 0 to 1"),
        ({"tags": "work"}, "tags is a list"),
        ({"tags": [""]}, r"tags\[0\]"),
        ({"pinned": "yes"}, "pinned is True or False"),
        ({"valid_from": "soon"}, "valid_from is a datetime"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(warden: Warden, arguments: Any, says: str) -> None:
    me = warden.scope(user="ana")
    with pytest.raises(InvalidInput, match=says):
        me.remember(**{"text_or_messages": "Ana has a dog.", **arguments})
    assert me.find() == []


def test_search_by_tag_and_by_conversation(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    me.remember("Ana has a dog.", tags=["pets"])
    me.remember("Ana drives a van.", tags=["car"])
    warden.scope(user="ana", thread="t2").observe({"role": "user", "content": "I sold the van."})
    assert [item.text for item in me.find({"tags": ["pets", "garden"]})] == ["Ana has a dog."]
    assert [item.text for item in me.find({"thread_id": "t2"})] == ["I sold the van."]


def test_what_is_forgotten_is_in_no_answer(warden: Warden) -> None:
    me = warden.scope(user="ana")
    kept, gone = (
        result.id for result in me.remember(["Ana has a dog called Rex.", "Ana has a cat called Mio."]).results
    )
    assert me.query("What is the cat called?").items[0].id == gone
    result = me.forget(str(gone))
    assert [item.outcome for item in result.results] == ["deleted"]
    assert [item.id for item in me.find()] == [kept]
    assert gone not in [item.id for item in me.query("What is the cat called?", threshold=0.0, top_k=10).items]
    with pytest.raises(NotFound, match=str(gone)):
        me.get(str(gone))


def test_forgetting_an_unknown_id_forgets_nothing(warden: Warden) -> None:
    me = warden.scope(user="ana")
    (known,) = me.remember("Ana has a dog.").results
    with pytest.raises(NotFound, match="nonsense"):
        me.forget([str(known.id), "nonsense"])
    assert len(me.find()) == 1
    with pytest.raises(NotFound):
        warden.scope(user="ben").forget(str(known.id))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that Ana keeps bees.", "Ana keeps bees."),
        ("please remember that the gate is locked at nine.", "The gate is locked at nine."),
        ("Note: the boiler was serviced in May.", "The boiler was serviced in May."),
        ("Recuerda que la puerta es roja.", "La puerta es roja."),
        ("Remember that", "Remember that"),
        ("Remember the milk that Ana wants.", "Remember the milk that Ana wants."),
        ("Ana said: remember that bees sting.", "Ana said: remember that bees sting."),
    ],
)
def test_a_request_to_remember_is_not_remembered(said: str, kept: str) -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        (stated,) = me.remember(said).results
        assert me.get(str(stated.id)).text == kept


@pytest.mark.parametrize(
    ("home", "moved"),
    [
        ("Tom lives in Hull.", "Tom moved to Amsterdam in 2015."),
        ("I work at Lidl.", "I started at Bosch in 2012."),
        ("Ich wohne in Kiel.", "Ich bin 2011 nach Bonn gezogen."),
        ("Vivo en Lugo.", "Me mudé a Vigo en 2008."),
        ("J'habite à Lyon.", "J'ai déménagé à Nice en 2010."),
    ],
)
def test_a_change_of_a_past_year_ends_nothing(warden: Warden, home: str, moved: str) -> None:
    me = warden.scope(user="u")
    me.remember(home)
    me.remember(moved)
    assert {memory.text for memory in me.find()} == {home, moved}


def test_a_change_of_a_later_year_ends_the_older_value(warden: Warden) -> None:
    me = warden.scope(user="u")
    me.remember("Tom lives in Hull.", created_at="2014-03-01")
    me.remember("Tom moved to Amsterdam in 2015.")
    assert [memory.text for memory in me.find()] == ["Tom moved to Amsterdam in 2015."]
