"""SIGKILL while turns are looked through: extraction goes on by its mark, nothing is lost, nothing is kept twice (F7).

A talk of two users in two threads each is observed with extraction on. A model in place of a remote one answers, with
failures or without. The process is killed at named points of the extractor and of the write path, at system calls and
at random instants. After each kill the store must hold, entry by entry and byte by byte, what the same talk leads to
undisturbed, up to the last call that was answered or a batch after it; in the end also every card, source and mark.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from extract_child import AROUND, LABELS, MODEL, MOVE_MARK
from extract_replay import WAYS, kinds, observed_then_looked_through, settings, undisturbed, whole
from replay import USERS
from test_replay_kill import SYSTEM_CALLS, Site, killed_at, synced_before_told

from memwarden import AsyncWarden

_CHILD = Path(__file__).with_name("extract_child.py")
TOGETHER = 40
"""So many exchanges are looked through by two processes at once."""
Nursery = subprocess.Popen[str]


@pytest.fixture(scope="module")
def talks() -> dict[str, dict[str, Any]]:
    """By way and user: what undisturbed becomes of the calls, and of everything in the end."""

    class Talks(dict[str, dict[str, Any]]):
        def __missing__(self, way: str) -> dict[str, Any]:
            self[way] = {user: asyncio.run(undisturbed(user, way)) for user in USERS}
            return self[way]

    return Talks()


@pytest.fixture(scope="module")
def pickled(talks: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("talks")

    class Files(dict[str, Path]):
        def __missing__(self, way: str) -> Path:
            self[way] = folder / way
            self[way].write_bytes(pickle.dumps({user: told for user, (told, _) in talks[way].items()}))
            return self[way]

    return Files()


@pytest.fixture(scope="module")
def nurseries(pickled: dict[str, Path]) -> Iterator[dict[str, list[Nursery]]]:
    """For each way processes that have everything imported and do each job in a fork: two for the steady one.

    Those of a way start with its first test.
    """

    class Nurseries(dict[str, list[Nursery]]):
        def __missing__(self, way: str) -> list[Nursery]:
            command = [sys.executable, str(_CHILD), str(pickled[way])]
            self[way] = [
                stack.enter_context(
                    subprocess.Popen(
                        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                    )
                )
                for _ in range(2 if way == "steady" else 1)
            ]
            return self[way]

    with ExitStack() as stack:
        opened = Nurseries()
        yield opened
        for item in (nursery for nurseries in opened.values() for nursery in nurseries):
            assert item.stdin is not None
            item.stdin.close()


class Talk(Site):
    """A store, what was acknowledged, and what the talk leads to."""

    def __init__(self, folder: Path, nurseries: dict[str, list[Nursery]], talks: Any, way: str) -> None:
        self.held = {user: held for user, (_, held) in talks[way].items()}
        super().__init__(folder, nurseries[way][0], {user: told for user, (told, _) in talks[way].items()})
        self.way = way

    def job(self, **job: Any) -> str:
        return super().job(**{"way": self.way, **job})

    def finish(self) -> None:
        """Go on to the end, and hold everything against the talk that was never disturbed."""
        assert self.run() == 0
        assert self.damage() == ""
        assert asyncio.run(held_by(self.url, USERS)) == self.held


async def held_by(url: str, users: Any) -> dict[str, Any]:
    """Everything that users' namespaces hold."""
    async with AsyncWarden.open(url, settings("off")) as warden:
        return {user: await whole(warden.scope(user=user)) for user in users}


@pytest.fixture
def steady(tmp_path: Path, nurseries: dict[str, list[Nursery]], talks: Any) -> Talk:
    return Talk(tmp_path, nurseries, talks, "steady")


@pytest.fixture
def failing(tmp_path: Path, nurseries: dict[str, list[Nursery]], talks: Any) -> Talk:
    return Talk(tmp_path, nurseries, talks, "failing")


def kill_everywhere(talk: Talk, labels: Any, seed: int, most: int, instants: int) -> set[str]:
    """Kill at each of the points and at so many instants; return the points where it died."""
    chance, died = random.Random(seed), set[str]()
    points = list(labels)
    chance.shuffle(points)
    for label in points:
        code = talk.run(at=label, nth=chance.randint(2, most))
        assert code in (0, -signal.SIGKILL), "the talk itself failed"
        if code:
            died.add(label)
        assert talk.damage() == "", f"killed at {label!r}"
    for _ in range(instants):
        assert talk.run(after=0.1 + chance.random() / 4) in (0, -signal.SIGKILL)
        assert talk.damage() == ""
    return died


@pytest.mark.parametrize("way", [WAYS[0], *(pytest.param(way, marks=pytest.mark.soak) for way in WAYS[1:])])
def test_there_is_much_to_lose(talks: Any, way: str) -> None:
    """The talk has every kind of thing that could be lost or doubled."""
    for _, held in talks[way].values():
        counts = kinds(held)
        for what in ("active semantic", "active episodic", "SUPERSEDE", "LINK"):
            assert counts.get(what, 0) >= 2, (what, counts)


def test_looking_again_while_the_model_is_away_changes_nothing() -> None:
    """What is found depends on the calls alone, not on how often kills make them again."""
    once, thrice = (asyncio.run(undisturbed("ben", "failing", 16, times)) for times in (1, 3))
    assert once == thrice


@pytest.mark.parametrize("labels", [LABELS[::2], pytest.param(LABELS, marks=pytest.mark.soak)], ids=["half", "all"])
def test_kills_all_over_an_extraction(steady: Talk, labels: tuple[str, ...]) -> None:
    died = kill_everywhere(steady, labels, seed=5, most=3, instants=2)
    assert died == set(labels)
    assert len(died) >= 10
    before = steady.acknowledged()
    assert min(before.values()) > 0
    steady.finish()


@pytest.mark.soak
def test_kills_while_a_model_is_asked(failing: Talk) -> None:
    died = kill_everywhere(failing, (*MODEL, MOVE_MARK, "before what is kept", "commit"), 6, 9, instants=1)
    assert died >= {*MODEL, MOVE_MARK}
    failing.finish()


@pytest.mark.soak
def test_kills_until_the_talk_is_over(steady: Talk, failing: Talk, tmp_path: Path) -> None:
    for seed in range(5):
        for talk, labels in ((steady, LABELS), (failing, (*MODEL, *LABELS))):
            talk.file, talk.acks = tmp_path / f"{talk.way}{seed}.db", tmp_path / f"{talk.way}{seed}.acks"
            while min(talk.acknowledged().values()) < len(talk.wanted[USERS[0]].answers):
                kill_everywhere(talk, labels, seed, most=60, instants=6)
            talk.finish()


@pytest.mark.soak
@pytest.mark.parametrize(("call", "nth"), list(zip(SYSTEM_CALLS, (31, 13), strict=True)))
def test_kills_at_system_calls(steady: Talk, pickled: dict[str, Path], tmp_path: Path, call: str, nth: int) -> None:
    child = [sys.executable, str(_CHILD), str(pickled["steady"])]
    last = killed_at(call, nth, [*child, steady.job()], tmp_path)
    assert "memory.db" in last
    assert steady.damage() == "", last


@pytest.mark.parametrize(("fault", "label"), [("mark later", "between"), ("mark first", "between")])
def test_the_harness_finds_a_mark_that_is_moved_apart(steady: Talk, fault: str, label: str) -> None:
    assert steady.run(at=label, nth=6, users=["ana"], fault=fault) == -signal.SIGKILL
    again = steady.run(calls=40, users=["ana"])
    assert again == 1 or steady.damage() != "", "what was kept twice, or not at all, was not seen"


def test_the_harness_finds_a_store_without_transactions(steady: Talk) -> None:
    assert steady.run(at=MOVE_MARK, nth=6, users=["ana"], fault="no transaction") == -signal.SIGKILL
    again = steady.run(calls=40, users=["ana"])
    assert again == 1 or steady.damage() != "", "a batch without its mark was not seen"


@pytest.mark.parametrize("fault", [None, pytest.param("no sync", marks=pytest.mark.soak)])
def test_what_is_kept_is_synced_before_it_is_told(
    steady: Talk, pickled: dict[str, Path], tmp_path: Path, fault: str | None
) -> None:
    job = steady.job(calls=6, users=["ana"], fault=fault)
    assert synced_before_told([sys.executable, str(_CHILD), str(pickled["steady"]), job], tmp_path, 6) == (
        fault is None
    )


def test_two_processes_look_through_the_same_threads(
    steady: Talk, nurseries: dict[str, list[Nursery]], talks: Any
) -> None:
    """Both are killed again and again; what is kept is what one of them alone would have kept."""
    stops, held = zip(*(asyncio.run(observed_then_looked_through(user, TOGETHER)) for user in USERS), strict=True)
    assert steady.run(way="off", calls=TOGETHER) == 0
    chance, both = random.Random(2), nurseries["steady"]
    for most in (0.35, 0.35, None):
        for nursery in both:
            after = {} if most is None else {"after": 0.1 + chance.random() * (most - 0.1)}
            assert nursery.stdin is not None
            nursery.stdin.write(steady.job(look=True, **after) + "\n")
            nursery.stdin.flush()
        for nursery in both:
            assert nursery.stdout is not None
            assert int(nursery.stdout.readline()) in ((0,) if most is None else (0, -signal.SIGKILL))
        found = asyncio.run(held_by(steady.url, USERS))
        for number, user in enumerate(USERS):
            entries = found[user][0].entries
            assert len(entries) in stops[number], f"{user} stands at {len(entries)}, between two batches"
            assert entries == held[number][0].entries[: len(entries)]
    assert found == dict(zip(USERS, held, strict=True))


@pytest.mark.soak
def test_kills_on_postgres(steady: Talk, postgres_url: str) -> None:
    steady.database = postgres_url
    died = kill_everywhere(steady, AROUND, seed=8, most=9, instants=2)
    assert died == set(AROUND)
    assert steady.run(calls=max(steady.acknowledged().values()) + 10) == 0
    assert steady.damage() == ""


@pytest.mark.soak
def test_kills_at_twenty_points_with_a_model(failing: Talk) -> None:
    died = kill_everywhere(failing, LABELS, seed=7, most=9, instants=5)
    assert len(died) >= 20
    failing.finish()
