"""Large namespaces on PostgreSQL: searched in the database, scored as if all of it were in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import errors

from memwarden import AsyncWarden, clock
from memwarden.errors import StoreUnavailable
from memwarden.recall.large import registry, search, statistics
from memwarden.recall.large.registry import LargeNamespaces
from memwarden.recall.large.search import Reach
from memwarden.recall.rank import ranking
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.postgres.citus import has_citus
from memwarden.stores.postgres.search import index_names
from memwarden.stores.shared.search import SearchableStore
from memwarden.testing import get_runtime
from memwarden_bench import sentences

ABOVE = 300
HERE = Namespace("default", "user/ana")
MESSAGES = [{"role": "user", "content": "Who sings in a choir?"}]
QUESTIONS = sentences.questions(12)


@asynccontextmanager
async def opened(url: str, above: int = ABOVE, **config: Any) -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open(url, config={"search_above": above, **config}) as warden:
        yield warden


@asynccontextmanager
async def exactly(url: str, **config: Any) -> AsyncIterator[AsyncWarden]:
    """A warden that reads every namespace into memory."""
    async with opened(url, **config) as warden:
        larges(warden).store = None
        yield warden


def larges(warden: AsyncWarden) -> LargeNamespaces:
    return get_runtime(warden).services.larges


def searching(warden: AsyncWarden) -> SearchableStore:
    assert isinstance(warden.store, SearchableStore)
    return warden.store


async def fill(warden: AsyncWarden, turns: int, user: str = "ana") -> None:
    for thread, messages in sentences.threads(sentences.turns(turns)):
        await warden.scope(user=user, thread=thread).observe(messages)


async def made_ready(warden: AsyncWarden, user: str = "ana") -> None:
    """Ask once, which begins the making, and wait for it."""
    await warden.scope(user=user).query("What about the canoe?")
    await larges(warden).wait_idle()
    assert await larges(warden).ready(Namespace("default", f"user/{user}"))


def indexes(url: str) -> dict[str, bool]:
    """The indexes of single namespaces, and whether they are whole."""
    with psycopg.connect(url) as db:
        found = db.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname LIKE 'search\\_%'"
        )
        return dict(found.fetchall())


@pytest.fixture(scope="module")
def large(new_database: Callable[[], str]) -> str:
    """The URL of a database with one namespace of 600 turns, ready to be searched, and another user's memories."""
    url = new_database()

    async def make() -> None:
        async with opened(url) as warden:
            await fill(warden, 600)
            await warden.scope(user="ana").remember("Ana is allergic to peanuts.", category="profile")
            await warden.scope(user="ana").remember("Tomas sings in the choir of Bristol.", category="interests")
            await warden.scope(user="bob").remember("Bob keeps a canoe in Oslo.")
            await made_ready(warden)

    asyncio.run(make())
    return url


async def test_a_namespace_below_the_threshold_needs_nothing(new_database: Callable[[], str]) -> None:
    url = new_database()
    async with opened(url, above=10_000) as warden:
        await fill(warden, 40)
        assert (await warden.scope(user="ana").query("Who has a canoe?", threshold=0)).items
        await larges(warden).wait_idle()
        assert await larges(warden).ready(HERE) is None
    assert indexes(url) == {}
    with psycopg.connect(url) as db:
        assert db.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone() is None


@pytest.mark.parametrize("embedder", ["wordllama", "none"])
async def test_where_all_rows_are_found_scores_are_those_of_the_index_in_memory(
    new_database: Callable[[], str], embedder: str
) -> None:
    url = new_database()
    async with opened(url, embedder=embedder) as warden, exactly(url, embedder=embedder) as exact:
        larges(warden).reach = Reach(newest=1_000, finalists=1_000)
        await fill(warden, 400)
        await made_ready(warden)
        for question in QUESTIONS:
            found = await warden.scope(user="ana").query(question, top_k=10, threshold=0)
            wanted = await exact.scope(user="ana").query(question, top_k=10, threshold=0)
            assert [item.id for item in found.items] == [item.id for item in wanted.items]
            assert [item.score for item in found.items] == pytest.approx(
                [item.score for item in wanted.items], abs=1e-5
            )
            assert found.confidence == pytest.approx(wanted.confidence, abs=1e-5)
            assert (found.text, found.rev, found.relevant) == (wanted.text, wanted.rev, wanted.relevant)
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_a_word_that_the_sample_does_not_hold_is_found(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a namespace of over 4,000 rows the digest has a sample, which lacks rare words."""
    monkeypatch.setattr(statistics, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(statistics, "MIN_MEASURED_ROWS", 2)
    async with opened(new_database()) as warden:
        await fill(warden, 400)
        await warden.scope(user="ana").remember("Wilma keeps axolotls behind the lighthouse.")
        await made_ready(warden)
        large = await larges(warden).ready(HERE)
        assert large is not None
        assert large.whole.is_sampled
        found = await warden.scope(user="ana").query("Who keeps axolotls in a canoe?", threshold=0)
        assert found.items[0].memory.text == "Wilma keeps axolotls behind the lighthouse."


async def test_words_of_a_long_message_spread_as_in_the_whole_namespace(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most of its words are rare, and rows that hold one of them hold others, too."""
    monkeypatch.setattr(statistics, "SAMPLE_ROWS", 150)
    url, spreads = new_database(), dict[str, list[float]](searched=[], whole=[])

    def note(module: Any, name: str, kind: str) -> None:
        measure = getattr(module, name)

        def measure_and_note(*asked: Any) -> Any:
            found = measure(*asked)
            spreads[kind].append(found["words"].deviation)
            return found

        monkeypatch.setattr(module, name, measure_and_note)

    turns = [turn["content"] for turn in sentences.turns(450)]
    messages = [" ".join(turns[first : first + 5]) for first in range(0, 450, 45)]
    async with opened(url) as warden, exactly(url) as exact:
        await fill(warden, 450)
        await made_ready(warden)
        note(search, "measure_question", "searched")
        for message in messages:
            await warden.scope(user="ana").query(message)
        note(ranking, "measure_spread", "whole")
        for message in messages:
            await exact.scope(user="ana").query(message)
    ratios = [found / whole for found, whole in zip(spreads["searched"], spreads["whole"], strict=True)]
    assert len(ratios) >= 10
    assert 0.9 < sum(ratios) / len(ratios) < 1.1


async def test_metadata_is_filtered_by_the_database(large: str) -> None:
    async with opened(large) as warden:
        ana = warden.scope(user="ana")
        written = await ana.remember("The canoe of Tomas leaks since May.", metadata={"project": "boats", "year": 2024})
        found = await ana.query("Whose canoe leaks?", filters={"metadata.project": "boats"}, threshold=0)
        assert [item.id for item in found.items] == [written.results[0].id]
        none = {"metadata": {"project": "boats", "year": {"$gt": 2024}}}
        assert not (await ana.query("Whose canoe leaks?", filters=none, threshold=0)).items
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_the_second_process_searches_too(large: str) -> None:
    """Without making anything, and without reading the namespace into memory."""
    async with opened(large, above=10**6) as warden:
        found = await warden.scope(user="ana").query("Who sings in a choir?", threshold=0)
        assert "Tomas sings in the choir of Bristol." in [item.memory.text for item in found.items]
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_what_is_written_changed_or_forgotten_shows_in_the_next_answer(new_database: Callable[[], str]) -> None:
    url = new_database()
    async with opened(url) as entry, opened(url) as other:
        await fill(entry, 320)
        await made_ready(entry)
        me, you = entry.scope(user="ana"), other.scope(user="ana")
        larges(other).reach = larges(entry).reach = Reach(newest=1)  # only the search finds it

        async def answered(question: str) -> list[str]:
            found = await you.query(question, top_k=3, threshold=0)
            assert get_runtime(other).services.indexes.held(HERE) is None
            return [item.memory.text for item in found.items]

        written = await me.remember("Wilma keeps bees in a hive behind the lighthouse.")
        await me.observe([{"role": "user", "content": "Later things."}])
        assert "Wilma keeps bees in a hive behind the lighthouse." in await answered("Where does Wilma keep bees?")
        await me.update(str(written.results[0].id), text="Wilma keeps goats in a shed behind the windmill.")
        assert "Wilma keeps goats in a shed behind the windmill." in await answered("Who has goats at the windmill?")
        assert not [text for text in await answered("Who keeps bees in a hive?") if "bees" in text]
        await me.forget(str(written.results[0].id))
        assert not [text for text in await answered("Who has goats at the windmill?") if "goats" in text]
        # More than a row of an index may hold.
        tags = [f"{number:064x}" for number in range(120)]
        await me.remember("Otto carves spoons of cherry wood.", tags=tags)
        assert "Otto carves spoons of cherry wood." in await answered("What does Otto carve?")


@pytest.mark.parametrize(
    ("agent", "filters"),
    [
        (None, {"thread_id": "t3"}),
        (None, {"category": ["interests", "profile"]}),
        (None, {"channel": "turn", "name": "Mara", "created_at": {"$lt": "2024-01-03T00:00:00Z"}}),
        ("planner", None),
        ("stylist", {"importance": {"$gte": 0.1}}),
    ],
)
async def test_filters_and_allowlists_hold_in_the_database(
    large: str, agent: str | None, filters: dict[str, Any] | None
) -> None:
    async with opened(large) as warden, exactly(large) as exact:
        larges(warden).reach = Reach(near=20, holding=20, newest=20, seeds=4)
        for question in (*QUESTIONS[:4], "What is Ana allergic to?"):
            asked: dict[str, Any] = {"filters": filters, "top_k": 10, "threshold": 0, "budget_tokens": 4000}
            found = await warden.scope(user="ana", agent=agent).query(question, **asked)
            wanted = await exact.scope(user="ana", agent=agent).query(question, **asked)
            best = {item.id for item in wanted.items}
            assert len(found.items) == len(wanted.items)
            assert len(best.intersection(item.id for item in found.items)) >= 0.6 * len(best)
            every = await exact.scope(user="ana", agent=agent).find(filters, limit=1_000)
            assert {item.id for item in found.items} <= {item.id for item in every}


STATED = (
    "Mara lives in Bergen.",
    "Mara lives in Bergen.",
    "Mara's rent is 900 euros.",
    "Mara has a red kettle.",
    "Mara lives in Turin now.",
    "Mara's rent is 950 euros.",
    "Mara kept a canoe in Bristol in May.",
)


@pytest.mark.parametrize("most", [2_000, 2])
async def test_statements_are_resolved_without_the_whole_namespace(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Outcomes are those of a namespace in memory, also where all statements are more than are read."""
    monkeypatch.setattr(registry, "MAX_COMPARED", most)
    url = new_database()
    async with opened(url) as warden, exactly(url) as exact:
        await fill(warden, 320)
        await fill(exact, 320, "bob")
        await made_ready(warden)
        outcomes = []
        for me in (warden.scope(user="ana"), exact.scope(user="bob")):
            results = [(await me.remember(text)).results[0] for text in STATED]
            updated = await me.update(str(results[3].id), text="Mara has a blue kettle from Turin.")
            stated = await me.find({"channel": "semantic"})
            memories = sorted((memory.text, memory.valid_to is None) for memory in stated)
            outcomes.append(([result.outcome for result in results], updated.results[0].outcome, memories))
        assert outcomes[0] == outcomes[1]
        assert set(outcomes[0][0]) >= {"created", "merged", "superseded"}
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_an_overview_reads_the_newest_turns_without_statements(new_database: Callable[[], str]) -> None:
    """No model reads statements here. A later turn takes a line back, and what speakers say of themselves is theirs."""
    url = new_database()
    said = (
        ("Mara", "I live in Ghent."),
        ("Mara", "I am allergic to walnuts."),
        ("Joel", "I work at the harbour office."),
        ("Joel", "My sister Ines plays the cello."),
        ("Mara", "I don't live in Ghent any more, I live in Porto now."),
    )
    async with opened(url) as warden, exactly(url) as exact:
        await fill(warden, 320)
        me = warden.scope(user="ana", thread="lives")
        at = [f"2026-01-0{day}T10:00:00Z" for day in range(1, 6)]
        await me.observe(
            [
                {"role": "user", "name": name, "content": text, "created_at": moment}
                for (name, text), moment in zip(said, at, strict=True)
            ]
        )
        await made_ready(warden)
        for about in (None, "Mara", "Joel", "Ines", "Nobody"):
            found, wanted = [await each.scope(user="ana").overview(about) for each in (warden, exact)]
            assert found == wanted
            assert ("walnuts" in found.text) == (about in (None, "Mara"))
            assert "Ghent." not in found.text
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_an_audit_reads_the_newest_alone(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    async with opened(url, merging="off") as warden, exactly(url) as exact:
        await fill(warden, 320)
        for text in STATED:
            await warden.scope(user="ana").remember(text)
        await made_ready(warden)
        for limit in (10, 10_000):
            found, wanted = [await each.scope(user="ana").audit(limit=limit) for each in (warden, exact)]
            assert found == wanted
        assert {finding.kind for finding in found.findings} >= {"duplicate", "contradiction"}
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_a_prompts_memories_are_recognised_without_the_whole_namespace(large: str) -> None:
    async with opened(large) as warden:
        me = warden.scope(user="ana", thread="pasted")
        said = "- I recall: Ana is allergic to peanuts.\nWhat shall we cook?"
        before = await warden.store.count(HERE)
        await me.observe([{"role": "user", "content": said}])
        (turn,) = await me.find({"thread_id": "pasted"})
        assert turn.text == "What shall we cook?"
        assert await warden.store.count(HERE) == before + 1
        assert get_runtime(warden).services.indexes.held(HERE) is None


async def test_memories_that_are_always_there_are_there(large: str) -> None:
    async with opened(large) as warden:
        found = await warden.scope(user="ana").query("How much was the red kettle?")
        assert "Ana is allergic to peanuts." in [item.memory.text for item in found.items]


async def test_explain_names_the_gates_of_what_was_looked_at(large: str) -> None:
    async with opened(large) as warden:
        found = await warden.scope(user="ana").query(QUESTIONS[0], filters={"thread_id": "t3"}, explain=True)
        assert "filter" in {cut.gate for cut in found.cut}


async def test_a_question_does_not_answer_itself(large: str) -> None:
    async with opened(large) as warden:
        me = warden.scope(user="ana")
        (said,) = [item.text for item in await me.find({"channel": "turn", "thread_id": "t7"}, limit=1)]
        again = await me.query(said, top_k=5, threshold=0, explain=True)
        assert said not in [item.memory.text for item in again.items]
        assert "echo" in {cut.gate for cut in again.cut}


async def test_context_delta_and_the_past_of_a_large_namespace(large: str) -> None:
    async with opened(large) as warden, exactly(large) as exact:
        me, same = warden.scope(user="ana", thread="new"), exact.scope(user="ana", thread="new")
        block, wanted = [await item.context(MESSAGES) for item in (me, same)]
        assert "Tomas sings in the choir of Bristol." in block.text
        assert block.rev == wanted.rev
        assert await me.journal.delta(since_rev=0) == await same.journal.delta(since_rev=0)
        past, known = await me.query(QUESTIONS[0], as_of=300), await same.query(QUESTIONS[0], as_of=300)
        assert [item.id for item in past.items] == [item.id for item in known.items]


# Making and dropping


async def test_indexes_are_made_when_it_grows_and_dropped_when_it_shrinks(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    async with opened(url) as warden:
        await fill(warden, 320)
        await made_ready(warden)
        assert indexes(url) == dict.fromkeys(index_names(HERE), True)
        ids = [item.id for item in await warden.scope(user="ana").find(limit=100)]
        for item in ids[:50]:
            await warden.scope(user="ana").forget(item)
        await larges(warden).renew(searching(warden), HERE)  # 270 are left: fewer than 300, but not by much
        assert indexes(url) == dict.fromkeys(index_names(HERE), True)
        for entry in ids[50:]:
            await warden.scope(user="ana").forget(entry)
        await larges(warden).wait_idle()  # a look of its own, begun before the last was forgotten, would write again
        await larges(warden).renew(searching(warden), HERE)
        assert indexes(url) == {}
        made: list[Namespace] = []
        make_search = searching(warden).make_search

        async def note_and_make(namespace: Namespace, dimensions: int | None) -> bool:
            made.append(namespace)
            return await make_search(namespace, dimensions)

        monkeypatch.setattr(searching(warden), "make_search", note_and_make)
        assert await larges(warden).ready(HERE) is None
        await larges(warden).wait_idle()
        assert made == [], "what shrank is not made ready again, though 320 were written"
        assert (await warden.scope(user="ana").query(QUESTIONS[0], threshold=0)).items
        await larges(warden).wait_idle()
        assert indexes(url) == {}
        with psycopg.connect(url) as db:
            assert db.execute("SELECT count(*) FROM memwarden.vectors").fetchone() == (0,)


async def test_a_digest_is_taken_anew_when_much_has_changed(new_database: Callable[[], str]) -> None:
    url = new_database()
    async with opened(url) as warden:
        await fill(warden, 320)
        await made_ready(warden)
        before = await searching(warden).standing(HERE)
        await fill_again(warden, 1_100)
        await warden.scope(user="ana").query(QUESTIONS[0])  # notices it
        await larges(warden).wait_idle()
        after = await searching(warden).standing(HERE)
        assert (after.rows, after.digest) == (1_420, 1_420)
        assert before.digest == 320


async def fill_again(warden: AsyncWarden, turns: int) -> None:
    for thread, messages in sentences.threads(sentences.turns(turns, seed=9)):
        await warden.scope(user="ana", thread=f"again-{thread}").observe(
            [{**message, "id": f"again-{message['id']}"} for message in messages]
        )


async def test_a_build_that_waits_too_long_says_so(new_database: Callable[[], str]) -> None:
    url = new_database()
    store = PostgresStore(url, statement_seconds=0.3)
    async with opened(url, above=10**6) as warden:
        await store.open()
        await fill(warden, 5)
        with psycopg.connect(url) as other:
            other.execute("SELECT FROM memwarden.namespaces FOR UPDATE")
            with pytest.raises(StoreUnavailable, match="did not answer within the time-out"):
                await store.make_search(HERE, 128)
        assert await store.make_search(HERE, 128) is True
    await store.close()


async def test_nobody_waits_for_a_build_and_a_killed_one_is_made_anew(new_database: Callable[[], str]) -> None:
    url = new_database()
    store, other = PostgresStore(url), PostgresStore(url)
    async with opened(url, above=10**6) as warden:
        await store.open()
        await other.open()
        await fill(warden, 60)
        with psycopg.connect(url) as old, psycopg.connect(url, autocommit=True) as watch:
            old.execute("LOCK memwarden.memories IN ROW EXCLUSIVE MODE")  # as a writer does: every build waits for him
            making = asyncio.create_task(store.make_search(HERE, 128))
            pids = await asyncio.to_thread(until_found, watch, BUILDING)
            written = await warden.scope(user="ana").remember("Nobody waits for an index.")
            assert written.results[0].id
            assert await other.make_search(HERE, 128) is False  # one is enough
            watch.execute("SELECT pg_terminate_backend(%s::int)", pids[0])
            with pytest.raises(StoreUnavailable):
                await making
        assert False in indexes(url).values()
        assert await other.make_search(HERE, 128) is True
        assert indexes(url) == dict.fromkeys(index_names(HERE), True)
        with psycopg.connect(url) as db:  # what was written in between has its vector too
            assert db.execute("SELECT count(*) FROM memwarden.vectors").fetchone() == (61,)
        await store.close()
        await other.close()


BUILDING = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'
    AND wait_event_type = 'Lock'
"""


def until_found(db: psycopg.Connection[Any], sql: str) -> list[Any]:
    """Ask until there is something, for ten seconds at most."""
    for _ in range(1_000):
        if found := db.execute(sql.encode()).fetchall():
            return found
        time.sleep(0.01)
    raise AssertionError("there was nothing in ten seconds")


async def test_a_build_ends_with_its_process(new_database: Callable[[], str]) -> None:
    url = new_database()
    async with opened(url) as warden:
        await fill(warden, 320)
        with psycopg.connect(url) as old, psycopg.connect(url, autocommit=True) as watch:
            old.execute("LOCK memwarden.memories IN ROW EXCLUSIVE MODE")
            await warden.scope(user="ana").query(QUESTIONS[0])
            await asyncio.to_thread(until_found, watch, BUILDING)
            await warden.close()
            assert not watch.execute(BUILDING).fetchall()


@pytest.fixture
def login(large: str, new_database: Callable[[], str]) -> Callable[[str], str]:
    """Returns the URL of a database for a login that owns nothing."""

    def of(url: str) -> str:
        with psycopg.connect(url, autocommit=True) as db:
            if db.execute("SELECT FROM pg_roles WHERE rolname = 'memwarden_test_guest'").fetchone() is None:
                db.execute("CREATE ROLE memwarden_test_guest LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app")
        parts = urlsplit(url)
        netloc = f"memwarden_test_guest:a-secret@{parts.netloc.rpartition('@')[2]}"
        return parts._replace(netloc=netloc).geturl()

    return of


async def test_who_may_not_make_indexes_answers_from_memory_and_says_so(
    new_database: Callable[[], str], login: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    url = new_database()
    async with opened(url, above=10**6) as owner:
        await fill(owner, 320)
    async with opened(login(url)) as guest:
        assert (await guest.scope(user="ana").query(QUESTIONS[0], threshold=0)).items
        await larges(guest).wait_idle()
        assert (await guest.scope(user="ana").query(QUESTIONS[1], threshold=0)).items
        assert await larges(guest).ready(HERE) is None
    assert "query it once with the owner's login" in caplog.text or "CREATE EXTENSION vector" in caplog.text
    async with opened(url) as owner:
        await made_ready(owner)
    async with opened(login(url)) as guest:  # searching needs no rights of an owner
        assert (await guest.scope(user="ana").query(QUESTIONS[0], threshold=0)).items
        assert get_runtime(guest).services.indexes.held(HERE) is None


# The wall


def as_app(url: str, tenant: str | None, namespace: str | None, role: str = "memwarden_app") -> psycopg.Connection[Any]:
    db = psycopg.connect(url)
    db.execute(f"SET LOCAL ROLE {role}".encode())
    for name, value in (("tenant", tenant), ("namespace", namespace)):
        if value is not None:
            db.execute("SELECT set_config(%s, %s, true)", [f"memwarden.{name}", value])
    return db


def every_word(url: str) -> str:
    with psycopg.connect(url) as db:
        found = db.execute("SELECT DISTINCT lexeme FROM memwarden.signals, unnest(memwarden.words(terms))").fetchall()
    return " | ".join(word for (word,) in found)


# Of this release and of the one before. The first has places in a table, of which Citus has several.
FUNCTIONS = ("memwarden.places_with(%s, 100000)", "memwarden.rows_with(%s, 100000) AS found(n)")


def functions(db: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Return the functions that find words in a database."""
    return FUNCTIONS[1:] if has_citus(db) else FUNCTIONS


@pytest.mark.parametrize(
    ("tenant", "namespace"),
    [(None, None), ("", ""), ("default", None), (None, "user/ana"), ("default", ""), ("%", "%"), ("zz", "user/ana"),
     ("default' OR 'a' = 'a", "user/ana"), ("default", "user/zz")],
)  # fmt: skip
async def test_the_function_finds_nothing_without_its_namespace(
    large: str, tenant: str | None, namespace: str | None
) -> None:
    with as_app(large, tenant, namespace) as db:
        for function in functions(db):
            assert db.execute(f"SELECT n FROM {function}".encode(), [every_word(large)]).fetchall() == []


async def test_the_function_finds_the_rows_of_one_namespace_alone(large: str) -> None:
    with as_app(large, "default", "user/bob") as db:
        for function in functions(db):
            assert db.execute(f"SELECT n FROM {function}".encode(), [every_word(large)]).fetchall() == [(1,)]
        db.commit()
        assert db.execute("SELECT current_setting('memwarden.tenant', true)").fetchone() == ("",)
    for function in FUNCTIONS:
        with as_app(large, "default", "user/bob") as db, pytest.raises(errors.SyntaxError):
            db.execute(f"SELECT n FROM {function}".encode(), ["a') OR true --"])


@pytest.mark.parametrize("bound", [(None, None), ("default", None), ("default", "user/bob"), ("zz", "user/ana")])
async def test_what_rests_on_turns_is_found_in_one_namespace_alone(
    large: str, bound: tuple[str | None, str | None]
) -> None:
    async with opened(large) as warden:
        ana = warden.scope(user="ana", thread="resting")
        (turn,) = (await ana.observe([{"role": "user", "content": "The kayak is in the shed."}])).results
        await ana.remember("Ana's kayak is in the shed.", sources=[str(turn.id)])
    resting = "SELECT memwarden.rows_resting(ARRAY(SELECT generate_series(1, 100000)::bigint))"
    with as_app(large, "default", "user/ana") as db:
        assert db.execute(resting.encode()).fetchall()
    with as_app(large, *bound) as db:
        assert db.execute(resting.encode()).fetchall() == []


async def test_a_purged_fact_covers_its_turn_in_a_large_namespace(large: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(large) as warden:
        ana = warden.scope(user="ana", thread="piano")
        (turn,) = (await ana.observe([{"role": "user", "content": "My grand piano is tuned in Graz."}])).results
        (fact,) = (await ana.remember("Ana's grand piano is tuned in Graz.", sources=[str(turn.id)])).results
        await ana.forget(str(fact.id))
        later = clock.now() + timedelta(days=31)
        monkeypatch.setattr(clock, "now", lambda: later)
        (run,) = await warden.jobs.run("expire", user="ana")
        assert ("purge", fact.id) in {(change.verb, change.memory_id) for change in run.changes}
        await made_ready(warden)
        found = await ana.query("Where is my grand piano tuned?", threshold=0, explain=True)
        assert turn.id not in {item.id for item in found.items}
        assert ("ended", turn.id) in {(cut.gate, cut.id) for cut in found.cut}


async def test_the_searching_role_reads_words_and_sources_and_nothing_else(large: str) -> None:
    for forbidden in ("SELECT vector FROM memwarden.signals", "SELECT * FROM memwarden.memories",
                      "SELECT text FROM memwarden.memories", "SELECT * FROM memwarden.vectors",
                      "SELECT * FROM memwarden.digests",
                      "UPDATE memwarden.signals SET flags = 1", "CREATE TABLE memwarden.mine (x int)"):  # fmt: skip
        with (
            as_app(large, "default", "user/ana", "memwarden_search") as db,
            pytest.raises(errors.InsufficientPrivilege),
        ):
            db.execute(forbidden.encode())
    with as_app(large, "default", "user/ana") as db:
        assert db.execute("SELECT pg_has_role('memwarden_search', 'MEMBER')").fetchone() == (False,)
    with psycopg.connect(large) as db:
        granted = "SELECT proacl::text FROM pg_proc WHERE proname IN ('rows_with', 'places_with')"
        assert db.execute(granted.encode()).fetchall() == 2 * [
            ("{memwarden_search=X/memwarden_search,memwarden_app=X/memwarden_search}",)
        ]


@pytest.mark.parametrize("table", ["vectors", "digests"])
async def test_row_security_holds_in_what_a_search_needs(large: str, table: str) -> None:
    for tenant, namespace in ((None, None), ("default", "user/bob"), ("zz", "user/ana")):
        with as_app(large, tenant, namespace) as db:
            assert db.execute(f"SELECT count(*) FROM memwarden.{table}".encode()).fetchone() == (0,)
            assert db.execute(f"DELETE FROM memwarden.{table}".encode()).rowcount == 0
    with as_app(large, "default", "user/bob") as db, pytest.raises(errors.InsufficientPrivilege):
        db.execute("INSERT INTO memwarden.digests VALUES ('default', 'user/ana2', 1, '')")
