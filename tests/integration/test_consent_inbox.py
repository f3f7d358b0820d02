"""The consent inbox fills itself from what a person said, and nothing but the person's word decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden import AsyncWarden
from memwarden.records import UserContext

SAID = [
    ("My pronouns are they/them.", "pronouns", "they/them"),
    ("Please keep answers short.", "tone", "short"),
    ("Call me Bo.", "preferred_name", "Bo"),
    ("Hi, my name is Mary Ann!", "preferred_name", "Mary Ann"),
    ("I moved to Lisbon last week.", "city", "Lisbon"),
    ("From now on, please answer in German.", "language", "German"),
    ("Could you keep your answers brief?", "tone", "brief"),
    ("Nenn mich bitte Jo.", "preferred_name", "Jo"),
    ("Ich wohne jetzt in Köln.", "city", "Köln"),
    ("Halte deine Antworten bitte kurz.", "tone", "short"),
    ("Duz mich bitte.", "tone", "informal"),
    ("Llámame Paco.", "preferred_name", "Paco"),
    ("Mis pronombres son ella/elle.", "pronouns", "ella/elle"),
    ("Respuestas cortas, por favor.", "tone", "short"),
    ("Appelle-moi Léa.", "preferred_name", "Léa"),
    ("J'habite à Lyon.", "city", "Lyon"),
    ("Réponses courtes, s'il te plaît.", "tone", "short"),
    ("Mi chiamo Enzo.", "preferred_name", "Enzo"),
    ("Moro em Lisboa.", "city", "Lisboa"),
    ("Ik woon in Utrecht.", "city", "Utrecht"),
    ("Mów mi Ola.", "preferred_name", "Ola"),
    ("Зови меня Катя.", "preferred_name", "Катя"),
    ("叫我小明。", "preferred_name", "小明"),
    ("日本語で答えてください", "language", "日本語"),
]
NOT_SAID = [
    "Did I tell you my name is Bo?",
    "My brother says call me Al.",
    "My sister lives in Oslo, and I used to live in Paris.",
    "If I lived in Rome, I'd eat more.",
    "Translate 'My name is Bo' into French.",
    "Call me tomorrow, or call me Monday.",
    "I live in fear of spiders. I moved to the next room.",
    "Do not call me Bob. I don't live in Bern.",
    "I use TCP/IP and red/green.",
    "I'd like to live in Rome.",
]


@pytest.mark.parametrize(("said", "field", "value"), SAID)
async def test_what_a_person_said_waits_in_the_inbox_and_changes_nothing(said: str, field: str, value: str) -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        (turn,) = (await me.observe([{"role": "user", "content": said}])).results
        (waiting,) = await me.consent.proposals()
        assert (waiting.field, waiting.value, waiting.state, waiting.sources) == (field, value, "pending", (turn.id,))
        assert await me.consent.user_context() == UserContext()
        assert [item.id for item in await me.consent.proposals()] == [waiting.id]


@pytest.mark.parametrize("said", NOT_SAID)
async def test_what_is_no_statement_about_oneself_is_proposed_to_nobody(said: str) -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": said}])
        assert await me.consent.proposals(None) == []


async def test_only_the_persons_own_recent_turns_speak(url: str) -> None:
    old = datetime.now(UTC) - timedelta(days=8)
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(
            [
                {"role": "user", "content": "Call me Zed.", "created_at": old},
                {"role": "assistant", "content": "Call me Hal."},
                {"role": "user", "name": "Ben", "content": "Call me Ben."},
            ]
        )
        await me.remember("Call me Eve.", source="https://example.org/page")
        assert await me.consent.proposals(None) == []
        await me.observe([{"role": "user", "name": "Ana", "content": "Call me Bo. I live in Bern."}])
        await me.observe([{"role": "user", "content": "By the way, I moved to Rome."}])
        told = {(item.field, item.value) for item in await me.consent.proposals()}
        assert told == {("preferred_name", "Bo"), ("city", "Rome")}


async def test_the_person_decides_and_what_was_decided_is_not_asked_again(url: str) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": "My pronouns are they/them. I live in Bern."}])
        await me.observe([{"role": "assistant", "content": "Shall I remember that your pronouns are they/them?"}])
        answer = (await me.observe([{"role": "user", "content": "Yes, please."}])).results[0]
        assert answer.id is not None
        (decided,) = await me.consent.acknowledge(answer.id)
        assert (decided.field, decided.state, decided.way) == ("pronouns", "approved", "chat")
        (city,) = await me.consent.proposals()
        assert (await me.consent.decide(city.id, False)).state == "declined"
        assert await me.consent.proposals() == []
        context = await me.consent.user_context()
        assert (context.pronouns, context.city) == ("they/them", None)
        journal = await me.journal.history(descending=True, limit=20)
        assert not any("they/them" in str(entry.meta) for entry in journal)


async def test_a_tone_that_was_asked_for_twice_holds() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": "Please keep answers short."}])
        await me.observe([{"role": "user", "content": "That was long. Short answers, please."}])
        assert await me.consent.proposals() == []
        assert (await me.consent.user_context()).tone == "short"


@pytest.mark.parametrize(
    ("first", "second", "goal"),
    [
        (
            "My goal is to run a marathon.",
            "As I said, it's late. My goal this year is to run a marathon!",
            "run a marathon",
        ),
        ("Mein Ziel ist es, Klavier zu lernen.", "Mein Ziel ist Klavier zu lernen.", "Klavier zu lernen"),
        ("Mi objetivo es correr un maratón.", "Mi objetivo es correr un maratón", "correr un maratón"),
        ("Mon objectif est de courir.", "mon objectif est de courir !", "courir"),
        ("私の目標は英検一級です。", "私の目標は英検一級", "英検一級"),
        ("我的目标是跑马拉松。", "我的目标是跑马拉松", "跑马拉松"),
    ],
)
async def test_a_goal_that_was_named_twice_holds_and_can_be_taken_back(first: str, second: str, goal: str) -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": first}])
        assert [(item.field, item.value) for item in await me.consent.proposals()] == [("goals_add", goal)]
        assert (await me.consent.user_context()).goals == ()
        await me.observe([{"role": "user", "content": second}])
        assert await me.consent.proposals() == []
        assert (await me.consent.user_context()).goals == (goal,)
        assert "applied" in [item.state for item in await me.consent.proposals(None)]
        (made,) = [entry for entry in await me.journal.history() if entry.memory_id == "user-context"]
        await me.journal.undo(made.seq)
        assert await me.consent.proposals() == []
        assert (await me.consent.user_context()).goals == ()


@pytest.mark.parametrize(
    "said",
    ["My sister's goal is to run a marathon.", "Is my goal to run a marathon?", "The goal is to win.", "My goal is to"],
)
async def test_what_is_no_goal_of_the_person_is_not_proposed(said: str) -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": said}])
        assert await me.consent.proposals() == []


async def test_what_is_derived_of_it_is_a_candidate_until_the_person_decides() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "auto", "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        for said in ("I am allergic to peanuts.", "I live in Bern. I am allergic to walnuts."):
            await me.observe([{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}])
        found = await me.find({"channel": ["semantic", "episodic"]})
        facts = [memory.text for memory in found if memory.tags != ("card",)]
        assert any("peanuts" in text for text in facts)
        assert not any("Bern" in text for text in facts)
        assert any("Bern" in item.memory.text for item in await me.review.pending("candidate"))
        assert ("city", "Bern") in {(item.field, item.value) for item in await me.consent.proposals()}
