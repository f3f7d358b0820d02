"""A store moves to another embedding model while it answers: each answer is made by one model, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from memwarden import AsyncWarden, BoundScope, Warden
from memwarden.api.scope import AsyncScope
from memwarden.errors import Conflict, InvalidConfig, InvalidInput, ModelUnavailable
from memwarden.models import choice
from memwarden.models.choice import make_embedder
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals
from memwarden.recall.index.namespace_index import NamespaceIndexes
from memwarden.recall.large.search import join_surroundings
from memwarden.records import Signals
from memwarden.settings import Settings
from memwarden.stores.shared.search import SearchableStore
from memwarden.stores.transfer.pages import About
from memwarden.surfaces.cli.main import run
from memwarden.upkeep.reembedding import ReembeddingTick

TALK = (
    "My beagle is called Rolf and eats too much.",
    "The bus to the harbour leaves at nine.",
    "My sister plays the cello in Graz.",
    "We painted the kitchen yellow last spring.",
    "I take my coffee without sugar.",
    "The dentist moved to the second floor.",
)
QUESTION = "Which pet does she own?"
WORDLLAMA, MINILM = 2 * 128, 2 * 384
# What ends the pieces of a row that holds vectors of a second model.
SECOND = b"\xf7mw2nd\x01\x00"
Scores = list[tuple[str, float]]


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


async def scores(scope: AsyncScope, question: str = QUESTION) -> Scores:
    found = await scope.query(question, threshold=0.0, top_k=4, since_rev=0)
    return [(item.text, item.score) for item in found.items]


async def widths(warden: AsyncWarden, user: str = "ana") -> set[int]:
    rows = (await warden.store.scan(warden.scope(user=user).who.namespace)).rows
    return {len(row.vector or b"") for row in rows}


async def _has_widths(warden: AsyncWarden, wanted: set[int]) -> bool:
    return await widths(warden) == wanted


async def scores_with(embedder: str, *more: str) -> Scores:
    """The scores of a store that was written with an embedder from the beginning."""
    async with AsyncWarden.open("memory://", {"embedder": embedder}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        for text in more:
            await me.observe(said(text))
        return await scores(me)


def same(found: Scores, expected: Scores) -> bool:
    return [text for text, _ in found] == [text for text, _ in expected] and np.allclose(
        [score for _, score in found], [score for _, score in expected], atol=2e-3
    )


async def until(asked: Callable[[], object]) -> None:
    """Wait until something is so: for processes that go over to another model in their own time."""
    for _ in range(600):
        if await asked():  # type: ignore[misc]
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never came about")


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that several processes use at once."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'store.db'}"


async def test_a_store_answers_as_the_old_model_does_until_it_answers_as_the_new(url: str) -> None:
    old, new = await scores_with("wordllama"), await scores_with("minilm")
    assert not same(old, new)
    async with AsyncWarden.open(url, {"embedder": "wordllama"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        assert same(await scores(me), old)
        head, history = await warden.store.head(me.who.namespace), await me.journal.history()
        tried = await warden.jobs.reembed("minilm", dry_run=True)
        assert (tried.rows, tried.lacking, tried.made, tried.moved) == (6, 6, 0, False)
        assert await widths(warden) == {WORDLLAMA}
        ticks: list[ReembeddingTick] = []
        moved = await warden.jobs.reembed("minilm", progress=ticks.append)
        assert (moved.rows, moved.made, moved.moved) == (6, 6, True)
        assert [(tick.step, tick.done, tick.rows) for tick in ticks] == [("make", 6, 6), ("tidy", 6, 6)]
        await until(lambda: _answers(me, new))
        assert await widths(warden) == {MINILM}
        assert (await warden.store.head(me.who.namespace)).rev == head.rev
        assert await me.journal.history() == history
        events = await me.journal.events(node="worker", op="job")
        assert {(event.reason, event.count) for event in events} == {("reembed:make", 6), ("reembed:tidy", 6)}
        assert (await warden.jobs.reembed("minilm")).made == 0
        # What is said from now on is of the new model, too.
        await me.observe(said("Her parrot is called Coco."))
        await me.query(QUESTION)
        assert await widths(warden) == {MINILM}


async def _answers(scope: AsyncScope, expected: Scores) -> bool:
    return same(await scores(scope), expected)


class BreaksOff(Exception):
    pass


async def test_a_move_that_was_broken_off_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwarden.upkeep.reembedding.PAGE_ROWS", 2)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    old, new = await scores_with("wordllama"), await scores_with("minilm")
    async with AsyncWarden.open(url, {"embedder": "wordllama"}) as warden:
        await warden.scope(user="ana", thread="t").observe(said(*TALK))
        await warden.scope(user="bob").observe(said("I keep bees."))

        def break_off(tick: ReembeddingTick) -> None:
            raise BreaksOff

        with pytest.raises(BreaksOff):
            await warden.jobs.reembed("minilm", progress=break_off)
        assert (await warden.jobs.reembed("minilm", dry_run=True)).lacking == 1
    async with AsyncWarden.open(url) as warden:  # who comes meanwhile is answered by the old model
        assert same(await scores(warden.scope(user="ana", thread="t")), old)

        def break_off_later(tick: ReembeddingTick) -> None:
            if tick.step == "tidy":
                raise BreaksOff

        with pytest.raises(BreaksOff):
            await warden.jobs.reembed("minilm", progress=break_off_later)
    async with AsyncWarden.open(url, {"embedder": "auto"}) as warden:  # and later by the new
        assert same(await scores(warden.scope(user="ana", thread="t")), new)
        moved = await warden.jobs.reembed("minilm")
        assert (moved.made, moved.moved) == (0, True)
        assert await widths(warden) | await widths(warden, "bob") == {MINILM}


async def test_a_process_that_serves_goes_over_and_what_it_wrote_in_between_is_made_anew(shared_url: str) -> None:
    late = "Rolf the beagle barks at night."
    old, new = await scores_with("wordllama"), await scores_with("minilm")
    async with AsyncWarden.open(shared_url, {"embedder": "wordllama"}) as serving:
        me = serving.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        seen = [await scores(me)]
        async with AsyncWarden.open(shared_url, follow_store=True) as other:
            await other.jobs.reembed("minilm")
        while not same(seen[-1], new) and len(seen) < 600:
            seen.append(await scores(me))
            await asyncio.sleep(0.05)
        assert all(same(found, old) or same(found, new) for found in seen)
        assert same(seen[0], old)
        assert same(seen[-1], new)
    async with AsyncWarden.open(shared_url, follow_store=True) as moved:
        mine = moved.scope(user="ana", thread="t")
        await mine.query(QUESTION)
        async with AsyncWarden.open(shared_url, follow_store=True) as other:
            await other.jobs.reembed("wordllama")
        await mine.observe(said(late))  # with the model of before
        expected = await scores_with("wordllama", late)
        await until(lambda: _answers(mine, expected))
        await until(lambda: _has_widths(moved, {WORDLLAMA}))


async def test_a_process_follows_a_store_that_is_moved_on_while_it_goes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url, going_over, moved_on = f"sqlite:///{tmp_path / 'store.db'}", threading.Event(), threading.Event()
    expected = await scores_with("wordllama")

    def load_slowly(settings: Settings, bound: str, *, follow: bool) -> Embedder | None:
        if bound.startswith("all-minilm"):
            going_over.set()
            assert moved_on.wait(600)
        return make_embedder(settings, bound, follow=follow)

    caplog.set_level(logging.INFO, "memwarden.api.services")
    async with AsyncWarden.open(url, {"embedder": "wordllama"}) as serving:
        me = serving.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        assert same(await scores(me), expected)
        async with AsyncWarden.open(url, follow_store=True) as other:
            await other.jobs.reembed("minilm")
            monkeypatch.setattr("memwarden.api.services.make_embedder", load_slowly)
            await me.query(QUESTION)  # which notices the move
            assert await asyncio.to_thread(going_over.wait, 60)
            await other.jobs.reembed("wordllama")
        moved_on.set()
        await until(lambda: _is_told(caplog, "'wordllama-l2-supercat-128'; it answers from now on"))
        assert same(await scores(me), expected)
        await me.observe(said("Her parrot is called Coco."))
        assert await widths(serving) == {WORDLLAMA}


async def _is_told(caplog: pytest.LogCaptureFixture, what: str) -> bool:
    return any(what in record.getMessage() for record in caplog.records)


async def test_of_two_moves_at_once_one_is_refused_and_the_other_stands(shared_url: str) -> None:
    expected = await scores_with("minilm")
    async with AsyncWarden.open(shared_url, {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))

        async def move_to_minilm() -> None:
            async with AsyncWarden.open(shared_url, follow_store=True) as other:
                await other.jobs.reembed("minilm")

        def move_first(tick: ReembeddingTick) -> None:
            faster = threading.Thread(target=asyncio.run, args=(move_to_minilm(),))
            faster.start()
            faster.join()

        with pytest.raises(Conflict, match=r"moved to 'all-minilm.*' meanwhile, not to 'wordllama"):
            await warden.jobs.reembed("wordllama", progress=move_first)
    async with AsyncWarden.open(shared_url, follow_store=True) as warden:
        me = warden.scope(user="ana", thread="t")
        assert same(await scores(me), expected)
        if isinstance(warden.store, SearchableStore):  # nobody holds up its search indexes any more
            assert await warden.store.make_search(me.who.namespace, 384)
            assert await warden.store.drop_search(me.who.namespace)
        # Whoever was refused may begin again, now from the model that the other chose.
        assert (await warden.jobs.reembed("wordllama")).moved
        assert await widths(warden) == {WORDLLAMA}


async def test_what_is_written_during_a_move_is_moved_too(tmp_path: Path) -> None:
    url, late = f"sqlite:///{tmp_path / 'store.db'}", "Rolf the beagle barks at night."
    async with AsyncWarden.open(url, {"embedder": "wordllama"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        writes: list[asyncio.Task[object]] = []

        def write(tick: ReembeddingTick) -> None:
            if not writes:
                writes.append(asyncio.get_running_loop().create_task(me.observe(said(late))))

        await warden.jobs.reembed("minilm", progress=write)
        await asyncio.gather(*writes)
        expected = await scores_with("minilm", late)
        await until(lambda: _answers(me, expected))
        assert await widths(warden) == {MINILM}


async def test_a_model_that_does_not_answer_leaves_the_store_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        name, dimensions, english_only, ready = "silent", 3, False, True

        def embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
            raise ModelUnavailable("the endpoint is down")

    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'store.db'}", {"embedder": "wordllama"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        before = await scores(me)
        with monkeypatch.context() as patch:
            patch.setattr(choice, "make_local", lambda choice: Silent())
            with pytest.raises(ModelUnavailable, match="silent"):
                await warden.jobs.reembed("minilm")
            patch.setattr(Silent, "dimensions", 128)
            with pytest.raises(InvalidInput, match="128 numbers"):
                await warden.jobs.reembed("minilm")
        assert same(await scores(me), before)
        with pytest.raises(InvalidInput, match="embedders are: auto, "):
            await warden.jobs.reembed("gpt")
        with pytest.raises(InvalidConfig, match="embedding_model"):
            await warden.jobs.reembed("openai")
        with pytest.raises(InvalidInput, match="rows_a_second"):
            await warden.jobs.reembed("minilm", rows_a_second=0)
        assert await widths(warden) == {WORDLLAMA}


async def test_no_more_vectors_are_made_a_second_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    sleep = asyncio.sleep

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        await sleep(0)

    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'store.db'}", {"embedder": "wordllama"}) as warden:
        await warden.scope(user="ana").observe(said(*TALK))
        monkeypatch.setattr("memwarden.upkeep.reembedding.asyncio.sleep", rest)
        await warden.jobs.reembed("minilm", rows_a_second=0.1)
    assert max(rests) > 30  # 6 rows are a minute's worth


async def test_a_move_rests_after_each_page_as_long_as_the_page_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    sleep = asyncio.sleep

    def make_slowly(*words: Any) -> list[Signals]:
        time.sleep(0.3)
        return make_signals(*words)

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        await sleep(0)

    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'store.db'}", {"embedder": "none"}) as warden:
        await warden.scope(user="ana").observe(said(*TALK))
        monkeypatch.setattr("memwarden.upkeep.reembedding.make_signals", make_slowly)
        monkeypatch.setattr("memwarden.upkeep.reembedding.asyncio.sleep", rest)
        await warden.jobs.reembed("wordllama")
    assert 0.3 <= max(rests) <= 1


async def test_a_look_at_a_move_that_ends_meanwhile_tells_that_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def move() -> None:
        async with AsyncWarden.open(url) as other:
            await other.jobs.reembed("wordllama")

    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        await warden.scope(user="ana").observe(said(*TALK))
        about, moves = warden.store.about, [move]

        async def move_after() -> About:
            found = await about()
            if moves:
                await asyncio.to_thread(asyncio.run, moves.pop()())
            return found

        monkeypatch.setattr(warden.store, "about", move_after)
        seen = await warden.jobs.reembed("wordllama", dry_run=True)
    assert (seen.moved, seen.rows, seen.lacking) == (True, 6, 0)


@pytest.mark.parametrize(("source", "target", "width"), [("wordllama", "minilm", 768), ("minilm", "wordllama", 256)])
async def test_a_large_namespace_is_searched_by_the_new_model(
    postgres_url: str, source: str, target: str, width: int
) -> None:
    many = [f"Person {number} keeps {number + 2} hens behind the house." for number in range(60)]
    settings = {"embedder": source, "search_above": 40}
    first = await _first_answer(target, many)
    async with AsyncWarden.open(postgres_url, settings) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK, *many))
        await until(lambda: _is_searched(warden, me))
    async with AsyncWarden.open(postgres_url, settings) as warden:  # it never held the namespace in memory
        me = warden.scope(user="ana", thread="t")
        before = await scores(me)
        async with AsyncWarden.open(postgres_url, settings, follow_store=True) as other:

            def break_off(tick: ReembeddingTick) -> None:
                raise BreaksOff

            with pytest.raises(BreaksOff):
                await other.jobs.reembed(target, progress=break_off)
            assert await scores(me) == before
            await other.jobs.reembed(target)
        await until(lambda: _answers_first(me, first))
        assert await widths(warden) == {width}
        await until(lambda: _is_searched(warden, me))
        await until(lambda: _answers_first(me, first))  # on a busy machine a question is not encoded in time


async def _first_answer(embedder: str, many: list[str]) -> list[str]:
    async with AsyncWarden.open("memory://", {"embedder": embedder}) as plain:
        mine = plain.scope(user="ana", thread="t")
        await mine.observe(said(*TALK, *many))
        return [text for text, _ in (await scores(mine))[:1]]


async def _is_searched(warden: AsyncWarden, scope: AsyncScope) -> bool:
    await scope.query(QUESTION)
    return (await warden.store.standing(scope.who.namespace)).digest is not None  # type: ignore[attr-defined]


async def _answers_first(scope: AsyncScope, expected: list[str]) -> bool:
    return [text for text, _ in (await scores(scope))[:1]] == expected


def test_the_command_moves_a_store_and_says_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Warden.open(url, {"embedder": "wordllama"}) as warden:
        me: BoundScope = warden.scope(user="ana")
        me.remember("Ana keeps bees.")
        me.remember("Ana sails.")
    assert run(["reembed", "minilm", "--dry-run", "--db", url]) == 0
    assert "0 of 2 memories have vectors of all-minilm" in capsys.readouterr().out
    assert run(["reembed", "minilm", "--db", url]) == 0
    assert "answers with all-minilm-l6-v2-int8-128: 2 memories, 2 vectors made." in capsys.readouterr().out
    assert run(["reembed", "minilm", "--dry-run", "--db", url, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["moved"], told["lacking"], told["rows"]) == (True, 0, 2)
    assert run(["reembed", "none", "--db", url]) == 2
    assert "no embedder 'none' to move to" in capsys.readouterr().err


async def test_rows_that_a_search_reads_during_a_move_are_of_the_old_model(tmp_path: Path) -> None:
    def break_off(tick: ReembeddingTick) -> None:
        raise BreaksOff

    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'store.db'}", {"embedder": "wordllama"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe(said(*TALK))
        with pytest.raises(BreaksOff):
            await warden.jobs.reembed("minilm", progress=break_off)
        rows = (await warden.store.scan(me.who.namespace)).rows
        assert any((row.pieces or b"").endswith(SECOND) for row in rows)
        model = (await warden.store.about()).model
        indexes = NamespaceIndexes(warden.store, session_gap_hours=4, dimensions=128, max_bytes=1, model=str(model))
        found, read = join_surroundings([(row, True) for row in rows], indexes.of_model)
        assert found.vectors.shape == (len(rows), WORDLLAMA // 2)
        assert len(read) == len(rows)
        assert {len(row.vector or b"") for row in read.values()} == {WORDLLAMA}
        assert not any((row.pieces or b"").endswith(SECOND) for row in read.values())
