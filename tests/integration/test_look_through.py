"""From turns to facts, through the public API: what is kept, once, from the mark on, by rules or by a model."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.concurrency import optimistic
from memwarden.errors import ModelUnavailable, Stale, StoreUnavailable
from memwarden.models.protocols import ChatModel
from memwarden.records import Batch, Memory, MemoryState, Receipt
from memwarden.remember.extract import by_model as by_model_module
from memwarden.remember.extract import extractor as extract
from memwarden.remember.extract.by_model import SYSTEM
from memwarden.remember.extract.model import is_foreign
from memwarden.runtime import extraction
from memwarden.testing import get_runtime, get_store
from memwarden.testing.scripted import ScriptedModel

MIA = "My daughter Mia is allergic to peanuts and I need ideas for snacks."
NURSE = "I work as a nurse at St Mary's hospital in Porto."
LISBON = "I'm planning to move to Lisbon in March 2027."
HOME = "I live in Berlin."
PAUL = "My son Paul has been allergic to walnuts for years."


def talk(*said: str) -> list[dict[str, Any]]:
    """What somebody said, each answered."""
    return [
        {"role": role, "content": text}
        for item in said
        for role, text in (("user", item), ("assistant", "All right, let me think about that."))
    ]


def numbered(messages: list[dict[str, Any]], first: int = 1) -> list[dict[str, Any]]:
    """Messages with ids m1, m2 and so on, which a model names as its sources."""
    return [message | {"id": f"m{number}"} for number, message in enumerate(messages, first)]


CONFIG = {"extraction": "every_turn"}


def quoted(said: str, day: str) -> str:
    """The fact that quotes what a user said on a day."""
    return f'The user, {day}: "{said}"'


@pytest.fixture(autouse=True)
def _default_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is read with the default model is quoted."""
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")


@pytest.fixture
def url(embedded_url: str) -> str:
    return embedded_url


async def facts(me: AsyncScope) -> list[Memory]:
    return await me.find({"channel": "semantic"}, order_by="written", descending=False)


async def cards(me: AsyncScope) -> list[Memory]:
    return await me.find({"tags": ["card"]}, order_by="written", descending=False)


async def test_what_was_said_becomes_facts_that_name_their_turns(me: AsyncScope) -> None:
    result = await me.observe(talk(MIA))
    turn = result.results[0].id
    found = {fact.text: fact for fact in await facts(me)}
    assert [text.partition(": ")[2] for text in found] == [f'"{MIA}"']
    assert all(item.sources == (turn,) and item.thread_id == "t1" for item in found.values())
    assert all((item.actor_id, item.trust) == ("memwarden", "person") for item in found.values())
    answer = await me.query("What is Mia allergic to?")
    assert MIA in answer.items[0].text
    shown = {item.id for item in answer.items}
    assert len(shown & {turn, *(item.id for item in found.values())}) == 1  # the same words stand there once


async def test_chatter_gives_nothing(me: AsyncScope) -> None:
    await me.observe(talk("Hello!", "Thanks, that sounds great.", "Can you write me a poem about the sea?"))
    assert await facts(me) == []


async def test_the_assistants_words_are_nobodys_facts(me: AsyncScope) -> None:
    await me.observe([{"role": "assistant", "content": "My daughter Mia is allergic to peanuts."}])
    assert await facts(me) == []


async def test_what_a_model_draws_from_the_assistants_words_replaces_nothing_that_a_person_said() -> None:
    told = {"text": "Ana lives in Lisbon.", "sources": ["a1"]}
    model = ScriptedModel(by_model(told, summary="A page said that Ana lives in Lisbon."))
    async with AsyncWarden.open("memory://", {"extraction": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.remember("Ana lives in Porto.")
        await me.observe(
            [
                {"role": "user", "content": NURSE},
                {"role": "assistant", "content": "According to that page, Ana lives in Lisbon.", "id": "a1"},
            ]
        )
        await me.extract_pending()
        now = {fact.text: fact for fact in await facts(me)}
        assert now["Ana lives in Porto."].valid_to is None
        assert now["Ana lives in Lisbon."].trust == "assistant"
        assert [card.trust for card in await cards(me)] == ["assistant"]  # it shows the words of both
        await me.remember("Ana lives in Braga.")  # a person corrects both
        now = {fact.text: fact for fact in await facts(me)}
        assert not {"Ana lives in Porto.", "Ana lives in Lisbon."} & now.keys()


async def test_what_is_extracted_is_signed_as_its_turn_is() -> None:
    async with AsyncWarden.open("memory://", {"extraction": "off"}) as warden:
        planner, executor = (warden.scope(user="ana", thread="t1", agent=item) for item in ("planner", "executor"))
        told = "Remember how to deploy the app: 1. Stop the queue. 2. Run the migration."
        await executor.observe([{"role": "user", "content": told}])
        await planner.extract_pending()
        (kept,) = await executor.find({"channel": "procedural"})
        assert (kept.agent_id, kept.user_id) == ("executor", "ana")


async def test_what_a_person_is_stands_in_the_profile_and_an_unrelated_question_gets_nothing(me: AsyncScope) -> None:
    await me.observe(talk(NURSE))
    assert "profile" in [fact.category for fact in await facts(me)]
    assert not (await me.query("How do the rings of Saturn stay in place?")).items


async def test_an_exchange_gets_one_card_that_is_asked_for(me: AsyncScope) -> None:
    await me.observe(talk(MIA))
    (card,) = await cards(me)
    assert card.channel == "episodic"
    assert len(card.sources) == 2
    answer = await me.query("What about Mia, peanuts and snacks?", top_k=10, threshold=0.0, explain=True)
    assert card.id not in [item.id for item in answer.items]
    assert {cut.gate for cut in answer.cut if cut.id == card.id} == {"card"}
    asked = await me.query("What about Mia, peanuts and snacks?", filters={"channel": "episodic"}, threshold=0.0)
    assert card.id in [item.id for item in asked.items]
    assert not [bullet for bullet in (await me.journal.delta(0)).bullets if "discussed" in bullet]


async def test_the_answer_may_come_later(me: AsyncScope) -> None:
    first, second = talk(MIA)
    await me.observe([first])
    assert len(await facts(me)) >= 1
    assert await cards(me) == []
    before = await facts(me)
    await me.observe([second])
    assert await facts(me) == before
    assert len(await cards(me)) == 1


async def test_nothing_is_kept_twice(me: AsyncScope) -> None:
    messages = talk(MIA, NURSE)
    await me.observe(messages)
    before, cut = await facts(me), await cards(me)
    await me.observe(messages)
    assert (await me.extract_pending()).results == ()
    again = await me.extract_pending(again=True)
    assert {result.outcome for result in again.results} <= {"merged", "created", "proposed"}
    assert [fact.text for fact in await facts(me)] == [item.text for item in before]
    assert await cards(me) == cut


async def test_what_is_looked_at_again_is_told_by_the_ids_that_it_has(me: AsyncScope) -> None:
    steps = "Remember how to deploy the app: 1. Stop the queue. 2. Run the migration."
    await me.observe(talk(MIA, steps))
    known = {card.id for card in (*await cards(me), *await me.find({"channel": "procedural"}))}
    again = (await me.extract_pending(again=True)).results
    assert {item.id for item in again if item.reason == "already stored"} == known
    assert all([await get_store(me).get(me.who.namespace, [str(item.id)], removed=True) for item in again])


CHANGED = [
    ("I live in Berlin.", "I moved to Hamburg."),
    ("I'm allergic to nuts.", "I'm no longer allergic to nuts."),
]
"""What somebody says in January, and in May, when it is over."""
UNCHANGED = [
    ("I live in Berlin.", "My sister Ida moved to Hamburg."),
    ("I live in Berlin.", "I moved the piano to Hamburg."),
    ("I grew up in Berlin.", "I moved to Hamburg."),
    ("I'm allergic to nuts.", "My daughter Mia is not allergic to nuts."),
    ("I'm allergic to nuts and eggs.", "I'm not allergic to nuts after all."),
    ("I have asthma.", "I don't have diabetes after all."),
    ("I work at Siemens.", "I quit my job at Bosch."),
]
"""The same, where nothing is over."""


async def _told(before: str, after: str) -> dict[str, bool]:
    """The facts of two talks, and whether each is over."""
    async with AsyncWarden.open("memory://", {"extraction": "every_turn"}) as warden:
        for thread, said, at in (("t1", before, "2026-01-10T09:00Z"), ("t2", after, "2026-05-10T09:00Z")):
            turn = {"role": "user", "content": said, "created_at": at}
            await warden.scope(user="ana", thread=thread).observe([turn])
        me = warden.scope(user="ana")
        found = await get_store(me).find(me.who.namespace, limit=100)
        assert not (await me.audit()).findings
        return {
            item.text: item.valid_to is not None for item in found if item.channel != "turn" and "card" not in item.tags
        }


@pytest.mark.parametrize(("before", "after"), CHANGED)
async def test_a_change_that_was_told_closes_what_it_ends(before: str, after: str) -> None:
    assert await _told(before, after) == {
        quoted(before, "10 January 2026"): True,
        quoted(after, "10 May 2026"): False,
    }


@pytest.mark.parametrize(("before", "after"), UNCHANGED)
async def test_what_a_change_does_not_end_stays(before: str, after: str) -> None:
    told = await _told(before, after)
    assert told
    assert not any(told.values()), told


async def test_what_happened_is_not_merged_with_what_is_so_and_an_audit_finds_what_was_missed() -> None:
    async with AsyncWarden.open("memory://", {"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        (old,) = (await me.remember("Ana lives in Berlin.", created_at="2026-01-10")).results
        (new,) = (await me.remember("Ana moved to Hamburg.", channel="episodic", created_at="2026-05-10")).results
        await me.remember("Ana lives in Berlin.", channel="episodic", created_at="2026-01-11")
        (found,) = [finding for finding in (await me.audit()).findings if old.id in finding.ids]
        assert (found.kind, found.ids) == ("contradiction", (old.id, new.id))


async def test_periodic_waits_for_enough_turns() -> None:
    async with AsyncWarden.open("memory://", {"extraction": "periodic", "extraction_turns": 4}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(talk(MIA))
        assert await facts(me) == []
        await me.observe(talk(NURSE))
        assert len(await facts(me)) == 2


async def test_off_waits_to_be_asked() -> None:
    async with AsyncWarden.open("memory://", {"extraction": "off"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(talk(MIA, NURSE))
        assert await facts(me) == []
        told = await me.extract_pending()
        assert [str(result.outcome) for result in told.results].count("created") >= 2
        assert len(await facts(me)) >= 2


async def test_a_day_has_its_limit_and_the_rest_waits() -> None:
    async with AsyncWarden.open("memory://", {"facts_a_day": 2, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([turn | {"created_at": MONDAY} for turn in talk(MIA, NURSE, HOME)])
        assert len(await facts(me)) == 2
        (waiting,) = await get_store(me).find(me.who.namespace, state=MemoryState.CANDIDATE)
        assert waiting.purge_at is not None


async def test_two_processes_look_through_a_thread_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    off = {"extraction": "off"}
    async with AsyncWarden.open(url, off) as item, AsyncWarden.open(url, off) as two:
        mine, theirs = (each.scope(user="ana", thread="t1") for each in (item, two))
        await mine.observe(talk(MIA, NURSE, PAUL))
        await asyncio.gather(mine.extract_pending(), theirs.extract_pending())
        texts = [memory.text for memory in await facts(mine)]
        assert len(texts) == len(set(texts)) == 3
        assert len(await cards(mine)) == 3
        journal = await item.store.journal(mine.who.namespace, turns=False)
        assert not [entry for entry in journal if entry.event == "MERGE"]


async def test_two_threads_that_say_the_same_at_once_leave_one_fact(url: str) -> None:
    """Whoever comes second decides again: what was new to it may be known by now."""
    async with AsyncWarden.open(url, {"extraction": "off"}) as item:
        scopes = [item.scope(user="ana", thread=f"t{number}") for number in range(6)]
        for each in scopes:
            await each.observe(talk(MIA))
        await asyncio.gather(*(each.extract_pending() for each in scopes))
        texts = [memory.text for memory in await facts(scopes[0])]
        assert sorted(texts) == sorted(set(texts))
        assert any(MIA in text for text in texts)
        assert len(await cards(scopes[0])) == len(scopes)


async def test_a_look_that_is_always_too_late_costs_no_turn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncWarden.open("memory://", {"extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        apply = warden.store.apply

        async def changed_by_somebody(batch: Batch) -> Receipt:
            if batch.extracted is not None:
                raise Stale("somebody was faster")
            return await apply(batch)

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(warden.store, "apply", changed_by_somebody)
            meanwhile.setattr(optimistic, "MAX_SECONDS", 0.01)
            result = await me.observe(talk(MIA))
            assert [item.outcome for item in result.results] == ["created", "created"]
            assert "other writers kept changing" in caplog.text
            with pytest.raises(StoreUnavailable, match="try again later"):
                await me.extract_pending()
        await me.observe(talk("Thanks!"))
        assert await facts(me)


async def test_a_category_that_somebody_chose_gives_way_to_no_guess(me: AsyncScope) -> None:
    text = "The user works as a nurse at St Mary's hospital in Porto."
    (mine,) = (await me.remember(text, category="tasks")).results
    await me.observe(talk(NURSE))
    assert {(fact.id == mine.id, fact.category) for fact in await facts(me)} == {(True, "tasks"), (False, "profile")}


async def test_facts_are_judged_like_everything_that_is_stated(me: AsyncScope) -> None:
    """A quotation is judged by the words that it quotes."""
    (mine,) = (await me.remember(NURSE)).results
    await me.observe(talk(NURSE))
    assert [fact.id for fact in await facts(me)] == [mine.id]


def by_model(*found: dict[str, Any], **more: Any) -> str:
    listed = [{"sources": ["m1"], "category": "tasks", "importance": 7, **item} for item in found]
    return json.dumps({"facts": listed, "ended": [], "summary": None, **more})


async def with_model(model: ChatModel, *said: str) -> list[Memory]:
    async with AsyncWarden.open("memory://", {"extraction": "every_turn"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(numbered(talk(*said)))
        await me.extract_pending()
        return await facts(me)


async def test_a_model_reads_the_exchange_in_place_of_the_rules() -> None:
    model = ScriptedModel(by_model({"text": "Mia, the user's daughter, must not eat peanuts."}))
    (fact,) = await with_model(model, MIA)
    assert (fact.text, fact.category, fact.importance) == (
        "Mia, the user's daughter, must not eat peanuts.", "tasks", 0.7,
    )  # fmt: skip
    assert fact.sources == ("m1",)
    title, *lines, asked = model.asked[0].prompt.splitlines()
    assert title == "Messages:"
    assert [(line["id"], line["by"]) for line in map(json.loads, lines)] == [("m1", "user"), ("m2", "assistant")]
    assert json.loads(lines[0])["text"] == MIA
    assert asked == "Write what the messages m1 tell that is not known yet, one by one."  # what is last is done first
    assert "never instructions" in model.asked[0].system


@pytest.mark.parametrize(
    "garbage",
    [
        ["no JSON", "still none"],
        ['{"facts": "none"}', '{"facts": [{"text": "x"}]}'],
        [by_model({"text": "x", "sources": ["m9"]}), by_model({"text": "x", "sources": "m1"})],
        [RuntimeError("theirs")],
        ['{"facts": [{"text": "The user', "[]"],
        ["Natürlich! Ich behalte, dass Mia allergisch ist.", "もちろんです。"],
        [by_model({"text": "Die Tochter der Nutzerin ist gegen Erdnüsse allergisch."})] * 2,
        [by_model({"text": "用户的女儿米娅对花生过敏。"})] * 2,
        ["[" * 100_000, '{"facts": ' * 1_000],
    ],
)
async def test_a_model_that_fails_costs_nothing(garbage: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    """Nothing but a line in the log: the rules take over, and the turns are there anyhow."""
    model = ScriptedModel(*garbage)
    assert [MIA in item.text for item in await with_model(model, MIA)] == [True]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert len(model.asked) <= 2


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (['{"facts": [{"te'] * 2, "chat_model_garbage"),
        ([by_model({"text": "用户的女儿米娅对花生过敏。"})] * 2, "chat_model_garbage"),
        ([ModelUnavailable("down")], "chat_model_unavailable"),
        ([RuntimeError("theirs")], "chat_model_broken"),
    ],
)
async def test_a_model_that_fails_leaves_an_event(garbage: list[Any], reason: str) -> None:
    async with AsyncWarden.open("memory://", {"extraction": "off"}, chat_model=ScriptedModel(*garbage)) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(talk(MIA))
        await me.extract_pending()
        events = await me.journal.events(op="model", descending=False)
        told = [(event.node, event.status, event.reason) for event in events]
        assert told == [("episodic", "ok", "asked")] * len(garbage) + [("episodic", "error", reason)]


async def test_turns_wait_for_a_model_that_does_not_answer() -> None:
    """The rules know nothing of Swedish: had they read the turn, it would be lost to the model."""
    model = ScriptedModel(ModelUnavailable("down"), by_model({"text": "Klockan i hallen är femton år gammal."}))
    async with AsyncWarden.open("memory://", {"extraction": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(numbered([{"role": "user", "content": "Klockan i hallen är femton år gammal nu."}]))
        assert (await me.extract_pending()).results == ()
        assert await facts(me) == []
        await me.extract_pending()
        assert [fact.text for fact in await facts(me)] == ["Klockan i hallen är femton år gammal."]


async def test_after_three_looks_without_an_answer_the_rules_read_what_waits() -> None:
    model = ScriptedModel()
    async with AsyncWarden.open("memory://", {"extraction": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(talk(MIA))
        for _ in range(3):
            await me.extract_pending()
            assert await facts(me) == []
        await me.extract_pending()
        assert [MIA in fact.text for fact in await facts(me)] == [True]
        assert sum(call.system == SYSTEM for call in model.asked) == 3


class Late:
    """Stands for a remote model that takes longer than it may."""

    name = "late"

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        time.sleep(2)
        return by_model({"text": "Much too late for Mia."})


async def test_what_a_model_says_too_late_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(by_model_module, "answer_seconds", lambda tokens: 0.05)
    assert await with_model(Late(), MIA) == []
    assert "longer than 0.05 seconds" in caplog.text


class Slow:
    """Stands for a remote model that answers when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked = 0

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        self.asked += 1
        assert self.let.wait(100)
        sources = [json.loads(line)["id"] for line in prompt.splitlines() if '"by": "user"' in line]
        return by_model({"text": f"The user's daughter is called Mia{' and sings' * self.asked}.", "sources": sources})


async def test_nobody_who_hands_turns_over_waits_for_a_model() -> None:
    model = Slow()
    async with AsyncWarden.open("memory://", {"extraction": "every_turn"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        for said in (MIA, NURSE, LISBON):  # all of it is stored while the first question waits
            assert {result.outcome for result in (await me.observe(talk(said))).results} == {"created"}
        assert len(await me.find({"channel": "turn"})) == 6
        assert await facts(me) == []
        model.let.set()
        await me.extract_pending()
        # What came meanwhile was read at once, and every turn once.
        assert len(await facts(me)) == model.asked <= 2
        assert len({source for fact in await facts(me) for source in fact.sources}) == 3


async def test_a_model_that_is_late_when_the_store_closes_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(extraction, "CLOSE_SECONDS", 0.05)
    url, settings, model = f"sqlite:///{tmp_path / 'm.db'}", {"extraction": "every_turn"}, Slow()
    async with AsyncWarden.open(url, settings, chat_model=model) as warden:
        await warden.scope(user="ana", thread="t1").observe(talk(MIA))
    model.let.set()
    assert "1 threads are looked through another time" in caplog.text
    async with AsyncWarden.open(url, settings, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        assert await facts(me) == []
        await me.extract_pending()
        assert len(await facts(me)) == 1


async def test_a_look_beside_the_calls_that_fails_is_put_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(by_model({"text": "The user's daughter is called Mia."}))
    async with AsyncWarden.open("memory://", {"extraction": "every_turn"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        extractor, failed = get_runtime(me).services.extractor, asyncio.Event()

        async def broken(scope: Any, *, again: bool) -> Any:
            failed.set()
            raise StoreUnavailable("no disk")

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(extractor, "look_through", broken)
            await me.observe(numbered(talk(MIA)))
            await failed.wait()
        await me.extract_pending()
        assert "no disk" in caplog.text
        assert [fact.text for fact in await facts(me)] == ["The user's daughter is called Mia."]


async def test_an_answer_is_repaired_once() -> None:
    model = ScriptedModel('{"facts": [{"te', by_model({"text": "The user's daughter is called Mia."}))
    assert [item.text for item in await with_model(model, MIA)] == ["The user's daughter is called Mia."]
    assert "Your last answer could not be used" in model.asked[1].prompt


@pytest.mark.parametrize("category", ["nonsense", "state", "in-prompt", "procedural", "", "x" * 500, None, 7, ["a"]])
async def test_a_category_that_nobody_declared_or_that_is_not_for_facts_is_not_taken(category: Any) -> None:
    told = by_model({"text": "The user's daughter is called Mia.", "category": category})
    assert [item.category for item in await with_model(ScriptedModel(told), MIA)] == ["activity"]


@pytest.mark.parametrize(
    ("given", "stored"), [(7, 0.7), (0.4, 0.4), (99, 1.0), (-3, 0.0), ("high", 0.5), (True, 0.5), (None, 0.5)]
)
async def test_an_importance_is_brought_to_its_scale(given: Any, stored: float) -> None:
    told = by_model({"text": "The user's daughter is called Mia.", "importance": given})
    assert [item.importance for item in await with_model(ScriptedModel(told), MIA)] == [stored]


async def test_a_turn_gives_three_facts_at_most_whatever_a_model_says() -> None:
    told = by_model(
        *({"text": f"The user's cousin {name} lives in Oslo."} for name in ("Ida", "Tom", "Eva", "Jo", "Al"))
    )
    assert len(await with_model(ScriptedModel(told), f"{MIA} {FAMILY}")) == 3


COUSINS = [f"The user's cousin {name} lives in Oslo." for name in ("Ida", "Tom", "Eva")]
FAMILY = "By the way, my cousins Ida, Tom, Eva, Jo and Al live in Oslo."
MONDAY, TUESDAY = "2026-03-02T09:00:00Z", "2026-03-03T09:00:00Z"


def exchange(number: int, text: str, at: str) -> list[dict[str, Any]]:
    return [message | {"created_at": at} for message in numbered(talk(f"{text} {FAMILY}"), number)]


async def test_a_day_is_the_day_on_which_it_was_said() -> None:
    """A whole import is observed on a single day, and was said on many."""
    told = [
        by_model(*({"text": text, "sources": [f"m{source}"]} for text in (COUSINS[at], f"{COUSINS[at][:-1]} gladly.")))
        for at, source in enumerate((1, 3, 5))
    ]
    settings = {"facts_a_day": 2, "extraction": "off", "merging": "off"}
    async with AsyncWarden.open("memory://", settings, chat_model=ScriptedModel(*told)) as warden:
        me = warden.scope(user="ana", thread="t1")
        for number, said, at in ((1, MIA, MONDAY), (3, NURSE, TUESDAY), (5, LISBON, TUESDAY)):
            await me.observe(exchange(number, said, at))
            await me.extract_pending()
        assert [fact.created_at.day for fact in await facts(me)] == [2, 2, 3, 3]


async def test_of_a_full_day_no_model_is_asked_and_what_the_rules_find_waits() -> None:
    model = ScriptedModel(*[by_model(*({"text": text} for text in COUSINS))] * 9)
    async with AsyncWarden.open("memory://", {"facts_a_day": 2, "extraction": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(exchange(1, MIA, MONDAY))
        await me.extract_pending()
        assert [fact.text for fact in await facts(me)] == COUSINS[:2]
        waiting = await warden.store.find(me.who.namespace, state=MemoryState.CANDIDATE)
        assert [item.text for item in waiting] == COUSINS[2:]
        for number, said in ((3, NURSE), (5, LISBON)):
            await me.observe(exchange(number, said, MONDAY))
            await me.extract_pending()
        assert sum(item.system == SYSTEM for item in model.asked) == 1
        assert await get_runtime(me).services.extractor.waiting(me.who) == 0
        assert [fact.text for fact in await facts(me)] == COUSINS[:2]
        texts = [item.text for item in await warden.store.find(me.who.namespace, state=MemoryState.CANDIDATE)]
        assert any(NURSE in text for text in texts)


async def test_what_is_merged_takes_nothing_of_a_day() -> None:
    boat = "The user has a red sailing boat."
    again = [by_model({"text": COUSINS[0], "sources": [f"m{number}"]}) for number in (1, 3, 5, 7)]
    model = ScriptedModel(*again, by_model({"text": boat, "sources": ["m9"]}))
    settings = {"facts_a_day": 2, "extraction": "off"}
    async with AsyncWarden.open("memory://", settings, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        for number, said in zip(
            (1, 3, 5, 7, 9),
            (MIA, NURSE, MIA + " Again.", NURSE + " Again.", LISBON + " On a red sailing boat."),
            strict=True,
        ):
            await me.observe(exchange(number, said, MONDAY))
            await me.extract_pending()
        assert [fact.text for fact in await facts(me)] == [COUSINS[0], boat]
        assert len(model.asked) == 5


def turns_of_two(number: int) -> list[dict[str, Any]]:
    """What two people say to each other."""
    return [
        {"role": "user", "name": ("Ana", "Ben")[at % 2], "content": f"I bought house {at} in Porto with my sister."}
        for at in range(number)
    ]


def turns_of_an_agent(number: int) -> list[dict[str, Any]]:
    """What a user says to an assistant, which answers twice now and then."""
    turns = []
    for at in range(number // 2):
        turns += talk(f"I bought house {at} in Porto with my sister.")
        if at % 3 == 0:
            turns.append({"role": "assistant", "content": f"House {at} in Porto sounds like a lovely place."})
    return turns


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(turns_of_two(23), id="two people"),
        pytest.param(turns_of_an_agent(23), id="an assistant", marks=pytest.mark.soak),
    ],
)
async def test_a_log_that_is_worked_off_later_gives_what_it_gave_turn_by_turn(
    turns: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kept(at_once: int, at_a_time: int) -> list[tuple[str, ...]]:
        monkeypatch.setattr(extract, "MAX_TURNS", at_a_time)
        settings = {"extraction": "off", "preset": "chat" if "name" in turns[0] else "assistant"}
        async with AsyncWarden.open("memory://", settings) as warden:
            me = warden.scope(user="ana", thread="t1")
            for begin in range(0, len(turns), at_once):
                await me.observe([turn | {"id": f"m{begin + at}"} for at, turn in enumerate(turns[begin:][:at_once])])
                if at_once < len(turns):
                    await me.extract_pending()
            await me.extract_pending()
            return sorted(card.sources for card in await cards(me))

    live = await kept(1, 200)
    assert len(live) >= 5
    for at_once, at_a_time in ((len(turns), 200), (len(turns), 6), (len(turns), 5), (3, 200)):
        assert await kept(at_once, at_a_time) == live


@pytest.mark.parametrize(
    ("fact", "said", "foreign"),
    [
        ("The user's daughter Mia is allergic to peanuts.", MIA, False),
        ("Die Tochter ist gegen Erdnüsse allergisch und das ist schlimm.", MIA, True),
        ("L'utilisateur travaille dans un hôpital et il est à Porto.", NURSE, True),
        ("用户的女儿米娅对花生过敏。", MIA, True),
        ("The user lives in Lisbon.", "Ich wohne in Lissabon und das ist nicht weit vom Meer.", True),
        ("Die Nutzerin wohnt in Lissabon, nicht weit vom Meer.", "Ich wohne in Lissabon, nicht weit vom Meer.", False),
        ("ミアはピーナッツアレルギーです。", "娘のミアはピーナッツアレルギーなんです。", False),
        ("Mia: Erdnussallergie.", MIA, False),  # too short to tell
    ],
)
def test_a_fact_keeps_the_language_in_which_it_was_said(fact: str, said: str, foreign: bool) -> None:
    assert is_foreign(fact, said) == foreign


async def test_what_a_model_says_is_checked_and_capped() -> None:
    told = [
        {"text": "She is allergic to peanuts and it is bad."},
        {"text": "The user " + "x" * 300},
        {"text": ""},
        {"text": "The user's daughter is called Mia."},
        {"text": "Mia is allergic to peanuts."},
        {"text": "Mia needs ideas for snacks and she takes some to school."},
        {"text": "This is one too many for Mia."},
    ]
    model = ScriptedModel(by_model(*told))
    async with AsyncWarden.open("memory://", {"extraction": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(numbered(talk(MIA)))
        await me.extract_pending()
        assert [fact.text for fact in await facts(me)] == [told[at]["text"] for at in (3, 4, 5)]
        refused = {event.reason: event.count for event in await me.journal.events(op="classify", status="skipped")}
        assert refused == {"item_wording": 1, "item_too_long": 1, "item_without_text": 1, "items_of_a_turn": 1}


@pytest.mark.parametrize("said", ["Den är stor nu.", "Thanks!", "my dentist is dr. okafor now"])
async def test_no_rule_stands_before_a_model(said: str) -> None:
    """What the rules see in a turn says little of its worth, least of all in other languages."""
    model = ScriptedModel(by_model())
    assert await with_model(model, said) == []
    assert len(model.asked) == 1
