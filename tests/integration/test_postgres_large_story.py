"""A large namespace answers a story as a small one does: current values, facts for turns, the past, old rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from memwarden import AsyncWarden
from memwarden.records import Namespace
from memwarden.testing import get_runtime
from memwarden_bench import sentences

HERE = Namespace("default", "user/nora")
# From so many memories on it is searched in the database; else it is an index in memory.
SIZES = pytest.mark.parametrize("above", [50, 10**6], ids=["large", "small"])
SAID = [
    ("m1", "I live in Ghent.", "2023-03-01"),
    ("m2", "My dentist is Dr Moser.", "2023-04-01"),
    ("m3", "i work at the bakery on Kell Street", "2023-05-01"),
    ("m4", "We got the keys for our flat in Porto, we live here now.", "2024-09-01"),
    ("m5", "i work at the harbour office now, up on the third floor beside the customs desk", "2024-10-01"),
    ("m6", "My sister Ines plays the cello.", "2024-10-03"),
]


def opened(url: str, above: int) -> AsyncWarden:
    return AsyncWarden.open(url, config={"search_above": above, "embedder": "auto", "extraction": "off"})


async def made_ready(warden: AsyncWarden) -> None:
    larges, filler = get_runtime(warden).services.larges, get_runtime(warden).services.filler
    assert filler is not None
    await filler.wait(None, None)
    await warden.scope(user="nora").query("What about the canoe?")
    await larges.wait_idle()
    assert await larges.ready(HERE)


async def tell(url: str) -> None:
    async with opened(url, 50) as warden:
        for thread, messages in sentences.threads(sentences.turns(60)):
            await warden.scope(user="nora", thread=thread).observe(messages)
        me = warden.scope(user="nora", thread="told")
        turns = await me.observe(
            [{"role": "user", "id": key, "content": text, "created_at": at} for key, text, at in SAID]
        )
        ids = [str(result.id) for result in turns.results]
        # Without an assistant it would be a chat among people, in which nothing replaces anything.
        await me.observe([{"role": "assistant", "content": "Noted.", "created_at": "2024-10-04"}])
        elsewhere = warden.scope(user="nora", thread="elsewhere")
        # By the memory's id, from another thread, and by the caller's id in the same thread.
        await elsewhere.remember("Nora's dentist is Dr Moser.", sources=[ids[1]], created_at="2023-04-01")
        await me.remember(
            "Nora works at the bakery on Kell Street.",
            sources=["m3"],
            created_at="2023-05-01",
            expires_at="2024-10-01",
        )
        await elsewhere.remember("Nora works at the harbour office.", sources=[ids[4]], created_at="2024-10-01")
        (fact,) = (await me.remember("Nora's sister Ines plays the cello.", sources=["m6"])).results
        await me.forget(str(fact.id))
        await made_ready(warden)


@pytest.fixture(scope="module")
def told(new_database: Callable[[], str]) -> str:
    """The URL of a database in which a namespace with a story is ready to be searched."""
    url = new_database()
    asyncio.run(tell(url))
    return url


async def shown(warden: AsyncWarden, question: str, **asked: Any) -> tuple[list[str], list[str]]:
    """The texts of an answer and of a block, asked from a thread that said nothing."""
    me = warden.scope(user="nora", thread="later")
    found = await me.query(question, **asked)
    block = await me.context([{"role": "user", "content": question}])
    return [item.memory.text for item in found.items], [item.memory.text for item in block.items]


def is_searched(warden: AsyncWarden) -> bool:
    return get_runtime(warden).services.indexes.held(HERE) is None


@asynccontextmanager
async def open_at(url: str, above: int) -> AsyncIterator[AsyncWarden]:
    async with opened(url, above) as warden:
        if above > 1_000:
            get_runtime(warden).services.larges.store = None
        yield warden


@SIZES
async def test_the_current_value_stands_above_what_it_replaced(told: str, above: int) -> None:
    async with open_at(told, above) as warden:
        found, block = await shown(warden, "what's my home town?", threshold=0, top_k=10)
        assert "Porto" in next(text for text in found if "Porto" in text or "Ghent" in text)
        places = [text for text in block if "Porto" in text or "Ghent" in text]
        assert "Porto" in places[0]
        assert is_searched(warden) == (above == 50)


async def test_an_overview_of_a_large_namespace_reads_no_more_than_its_statements(told: str) -> None:
    async with open_at(told, 10**6) as small:
        whole = [await small.scope(user="nora").overview(about) for about in (None, "Ines", "sister", "Nobody")]
    async with open_at(told, 50) as warden:
        part = [await warden.scope(user="nora").overview(about) for about in (None, "Ines", "sister", "Nobody")]
        assert is_searched(warden)
    assert [each.text for each in part] == [each.text for each in whole]
    assert "Porto" in part[0].text
    assert "Ghent" not in part[0].text


async def test_an_overview_of_a_large_namespace_knows_what_was_just_said_and_nothing_that_is_over(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    async with opened(url, 50) as warden:
        for thread, messages in sentences.threads(sentences.turns(60)):
            await warden.scope(user="nora", thread=thread).observe(messages)
        me = warden.scope(user="nora", thread="told")
        await me.remember("I live in Ghent.", created_at="2023-03-01")
        for number in range(1, 10):
            at, end = f"2023-04-{number:02}", f"2023-05-{number:02}"
            await me.remember(f"I live in Porto, at number {number}.", created_at=at, expires_at=end)
        await made_ready(warden)
        assert "Ghent" in (await me.overview()).text
        await me.observe([{"role": "user", "content": "I live in Cork."}])
        assert "Cork" in (await me.overview()).text
        assert is_searched(warden)


@SIZES
async def test_an_earlier_question_of_the_talk_opens_no_past(told: str, above: int) -> None:
    said = ["Where did I work before, and when?", "The new office at the harbour feels much better for everybody."]
    async with open_at(told, above) as warden:
        block = await warden.scope(user="nora", thread="later").context([{"role": "user", "content": t} for t in said])
        texts = [item.memory.text for item in block.items]
        assert "Nora works at the harbour office." in texts
        assert "Nora works at the bakery on Kell Street." not in texts


@SIZES
async def test_a_fact_covers_its_turn_from_any_thread(told: str, above: int) -> None:
    async with open_at(told, above) as warden:
        found, block = await shown(warden, "who is my dentist?")
        assert "Nora's dentist is Dr Moser." in found
        assert "Nora's dentist is Dr Moser." in block
        assert "My dentist is Dr Moser." not in (*found, *block)


@SIZES
async def test_what_is_over_or_forgotten_covers_its_turn_too(told: str, above: int) -> None:
    async with open_at(told, above) as warden:
        found, block = await shown(warden, "where do I work?", top_k=10)
        assert any("harbour office" in text for text in found)
        assert not [text for text in (*found, *block) if "bakery" in text]
        found, block = await shown(warden, "what does my sister play?", top_k=10)
        assert not [text for text in (*found, *block) if "cello" in text]


@SIZES
async def test_a_question_about_the_past_gets_the_past(told: str, above: int) -> None:
    async with open_at(told, above) as warden:
        found, block = await shown(warden, "where did I work before?")
        assert "Nora works at the bakery on Kell Street." in found
        assert "Nora works at the bakery on Kell Street." in block


async def test_scores_are_those_of_a_small_namespace(told: str) -> None:
    async with open_at(told, 50) as large, open_at(told, 10**6) as small:
        for question in ("where do I live?", "who is my dentist?", "where did I work before?", *sentences.questions(4)):
            answers = [
                await warden.scope(user="nora").query(question, threshold=0, top_k=5) for warden in (large, small)
            ]
            found, wanted = ([item.memory.text for item in answer.items] for answer in answers)
            assert found[0] == wanted[0]
            assert len(set(found) & set(wanted)) >= 4  # of equally bad items either may be last
            assert answers[0].confidence == pytest.approx(answers[1].confidence, abs=0.02)


async def test_an_upgrade_makes_what_an_earlier_release_did_not(told: str) -> None:
    """Vectors and statements of old rows, and the index over what rests on turns."""
    with psycopg.connect(told) as db:
        db.execute("UPDATE memwarden.signals SET statements = NULL")
        turns = "SELECT n FROM memwarden.memories WHERE channel = 'turn' AND n % 2 = 0"
        db.execute(f"UPDATE memwarden.signals SET vector = NULL WHERE n IN ({turns})".encode())
        like = "relname LIKE 'search\\_sources%' OR relname LIKE 'search\\_rows%'"
        named = [name for (name,) in db.execute(f"SELECT relname FROM pg_class WHERE {like}".encode())]
        assert len(named) == 2
        for name in named:
            db.execute(f"DROP INDEX memwarden.{name}".encode())
    async with opened(told, 50) as warden:
        await made_ready(warden)
        found, _ = await shown(warden, "what's my home town?", threshold=0, top_k=10)
        assert "Porto" in next(text for text in found if "Porto" in text or "Ghent" in text)
    with psycopg.connect(told) as db:
        lacking = "SELECT count(*) FROM memwarden.signals s JOIN memwarden.memories m USING (tenant, namespace, n) "
        assert db.execute(
            f"{lacking} WHERE state = 'active' AND (statements IS NULL OR vector IS NULL)".encode()
        ).fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM pg_class WHERE relname = ANY(%s)", [named]).fetchone() == (2,)


@SIZES
async def test_a_goal_gets_the_saved_state_that_it_needs(told: str, above: int) -> None:
    async with open_at(told, above) as warden:
        me = warden.scope(user="nora")
        for key, value in (
            ("bakery_shifts", ["Monday"]),
            ("cello_repairs", ["new strings"]),
            ("tax_papers", ["a.pdf"]),
        ):
            await me.state.save(key, value)
        assert await me.overseer().relevant("When is my next shift at the bakery?") == {"bakery_shifts": ["Monday"]}
        assert await me.overseer().relevant("How many moons has Jupiter?") == {}
        assert len(await me.state.find_for_goal("Anything at all", bar=0.0, most=40)) == 3
