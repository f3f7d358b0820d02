"""SIGKILL while two processes drive dialogues through the whole pipeline: exchanges and their order are exact (C7, D7).

Each exchange looks for memories, puts them in, stores the question, passes a stream on, stores the answer, looks the
thread through and takes the exchange into the session. Both processes serve the same users, and after a kill a dialogue
may go on in the other one. After each kill every thread and every session must hold what the same dialogue leads to
undisturbed, up to the last exchange that was acknowledged or within the next one; in the end all of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from test_replay_kill import synced_before_told
from turn_child import AROUND, LABELS, acknowledged, stage_of
from turn_talk import SETTINGS, Becomes, Dialogue, digest_of, our_dialogues, realmem_dialogues, turns_of, undisturbed

from memwarden import AsyncWarden
from memwarden.conversation.settings import ChatSettings
from told import Told, check_steps, check_store, replay

_CHILD = Path(__file__).with_name("turn_child.py")
PROCESSES = 2
OURS: dict[str, Any] = {"memory_extraction_mode": "every_turn", "memory_search_threshold": 0.3}
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
SOME = (*AROUND, "keep version", "commit", "committed, not answered")
"""The soak kills at every point."""
KILLS = 60
"""So many processes are killed over RealMem."""
Nursery = subprocess.Popen[str]


@pytest.fixture(scope="module")
def ours() -> tuple[list[Dialogue], dict[str, Becomes]]:
    dialogues = our_dialogues(4, 10)
    return dialogues, asyncio.run(undisturbed(dialogues, ChatSettings(use_memory=True, **OURS)))


@pytest.fixture(scope="module")
def pickled(ours: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("turns") / "dialogues"
    file.write_bytes(pickle.dumps(ours[0]))
    return file


@pytest.fixture(scope="module")
def nurseries(pickled: Path) -> Iterator[list[Nursery]]:
    with ExitStack() as stack:
        yield opened(stack, pickled)


def opened(stack: ExitStack, dialogues: Path) -> list[Nursery]:
    """Two processes that have everything imported and do each job in a fork."""
    command = [sys.executable, str(_CHILD), str(dialogues)]
    found = [
        stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for _ in range(PROCESSES)
    ]
    for item in found:
        assert item.stdin is not None
        stack.callback(item.stdin.close)
    return found


class Talks:
    """A file, what was acknowledged, and what the dialogues lead to. died: where processes were killed, how often."""

    def __init__(
        self, folder: Path, nurseries: list[Nursery], dialogues: Sequence[Dialogue], wanted: dict[str, Becomes],
        **settings: Any,
    ) -> None:  # fmt: skip
        self.file = folder / "memory.db"
        self.died: Counter[str] = Counter()
        self._folder = folder
        self._nurseries = nurseries
        self.dialogues = dialogues
        self._wanted = wanted
        self._settings = settings
        self._swapped = False
        self._over = set[str]()  # what was whole is looked at again in the end

    def job(self, number: int, **job: Any) -> str:
        """What a process is to do. Who serves which dialogue changes with each round."""
        own = (number + self._swapped) % PROCESSES
        files = {
            "file": str(self.file),
            "acks": str(self._folder / f"{number}.acks"),
            "stage": str(self._stage(number)),
        }
        return json.dumps({**files, "serves": [own, PROCESSES], "settings": self._settings, **job})

    def run(self, *jobs: dict[str, Any]) -> list[int]:
        """Let the processes go on at once, each with what is told to it; how they ended."""
        started = list(zip(self._nurseries, jobs, strict=False))
        for number, (nursery, job) in enumerate(started):
            assert nursery.stdin is not None
            nursery.stdin.write(self.job(number, **job) + "\n")
            nursery.stdin.flush()
        codes = []
        for number, (nursery, job) in enumerate(started):
            assert nursery.stdout is not None
            codes.append(int(nursery.stdout.readline()))
            if codes[-1] == -signal.SIGKILL:
                self.died[job.get("at") or stage_of(self._stage(number))] += 1
        self._swapped = not self._swapped
        return codes

    def acknowledged(self) -> dict[str, int]:
        """How many exchanges of each thread were acknowledged."""
        return acknowledged(self._folder.glob("*.acks"))

    def damage(self) -> str:
        """What is wrong with the file, or nothing."""
        if not self.file.exists():
            return ""
        try:
            asyncio.run(self._examine())
        except AssertionError as error:
            return f"{error}"[:2_000] or "it is damaged"
        return ""

    def begin_anew(self) -> None:
        """Forget everything."""
        self._over.clear()
        for item in (*self._folder.glob("*.acks"), *self._folder.glob(f"{self.file.name}*")):
            item.unlink()

    def finish(self) -> None:
        """Go on to the end; then everything is there, once."""
        assert self.run({}, {}) == [0] * PROCESSES
        self._over.clear()
        assert self.damage() == ""
        assert self.acknowledged() == {dialogue.thread: len(dialogue.said) for dialogue in self.dialogues}

    async def _examine(self) -> None:
        done = self.acknowledged()
        async with AsyncWarden.open(f"sqlite:///{self.file}", SETTINGS) as warden:
            for dialogue in self.dialogues:
                if dialogue.thread in self._over:
                    continue
                me, should = warden.scope(user=dialogue.user, thread=dialogue.thread), self._wanted[dialogue.thread]
                least = done.get(dialogue.thread, 0)
                most, digest = min(least + 1, len(dialogue.said)), await digest_of(me)
                assert digest in should.sessions[least : most + 1], f"the session {dialogue.thread} is another one"
                taken_in = should.sessions.index(digest, least)
                turns = await turns_of(me)
                assert turns == should.turns[: len(turns)], f"the thread {dialogue.thread} holds something else"
                assert 2 * taken_in <= len(turns) <= 2 * most, (
                    f"{dialogue.thread}: {len(turns)} turns, {taken_in} exchanges"
                )
                if least == len(dialogue.said):
                    self._over.add(dialogue.thread)
            for user in {dialogue.user for dialogue in self.dialogues}:
                namespace = warden.scope(user=user).who.namespace
                journal, states = await warden.store.journal(namespace, limit=10**6), [Told()]
                replay(journal, states)
                check_steps(journal)
                await check_store(warden.store, namespace, states[-1])

    def _stage(self, number: int) -> Path:
        return self._folder / f"{number}.stage"


@pytest.fixture
def talks(tmp_path: Path, nurseries: list[Nursery], ours: Any) -> Talks:
    return Talks(tmp_path, nurseries, *ours, **OURS)


def test_undisturbed_everything_is_stored_as_it_was_said(ours: Any) -> None:
    dialogues, becomes = ours
    for dialogue in dialogues:
        said = [words for pair in dialogue.said for words in zip(("user", "assistant"), pair, strict=True)]
        assert list(becomes[dialogue.thread].turns) == said
        assert len(set(becomes[dialogue.thread].sessions)) == len(dialogue.said) + 1


def test_kills_all_over_the_pipeline(talks: Talks) -> None:
    kill_at(talks, SOME, random.Random(5), most=3)
    assert set(SOME) <= talks.died.keys()
    talks.finish()


def kill_at(talks: Talks, points: Sequence[str], chance: random.Random, most: int) -> None:
    """Kill both processes at once, each at another of the points; look at what is kept each time."""
    points = chance.sample(points, len(points))
    for pair in zip(points[::2], points[1::2], strict=True):
        codes = talks.run(*({"at": point, "nth": chance.randint(1, most)} for point in pair))
        assert set(codes) <= {0, -signal.SIGKILL}, "a process failed by itself; its error stands above"
        assert talks.damage() == "", f"killed at {pair}"


@pytest.mark.soak
def test_kills_at_every_point_of_the_pipeline(talks: Talks) -> None:
    for seed in range(5):
        talks.begin_anew()
        kill_at(talks, LABELS, random.Random(seed), most=3)
        talks.finish()
    assert set(LABELS) <= talks.died.keys()


@pytest.mark.soak
@pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
def test_realmem_whole_under_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogues = realmem_dialogues(REALMEM)
    wanted = asyncio.run(undisturbed(dialogues, ChatSettings(use_memory=True)))
    (tmp_path / "dialogues").write_bytes(pickle.dumps(dialogues))
    chance = random.Random(7)
    with ExitStack() as stack:
        talks = Talks(tmp_path, opened(stack, tmp_path / "dialogues"), dialogues, wanted)
        while talks.died.total() < KILLS:
            jobs: list[dict[str, Any]] = [{"after": chance.uniform(1, 8)}, {"after": chance.uniform(1, 8)}]
            assert set(talks.run(*jobs)) <= {0, -signal.SIGKILL}
            assert talks.damage() == ""
        talks.finish()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{sum(len(dialogue.said) for dialogue in dialogues):,} exchanges; killed at {dict(talks.died)}\n"
        )
    assert len(talks.died) >= 6, "the instants were not spread over the pipeline"


def test_the_harness_finds_a_store_without_transactions(talks: Talks) -> None:
    assert talks.run({"at": "insert journal", "nth": 8, "fault": "no transaction"}) == [-signal.SIGKILL]
    assert talks.damage() != "" or 1 in talks.run({}, {}) or talks.damage() != ""


@pytest.mark.soak
def test_the_harness_finds_answers_that_come_too_early(talks: Talks) -> None:
    """An exchange is told when its session is written; one of these commits is that, and does not come to be."""
    dying = {"serves": [0, len(talks.dialogues)], "fault": "answers before commit", "at": "commit", "pause": 0.5}
    found = ""
    for nth in [*range(5, 25)] * 2:  # which commit it is depends on when threads run
        talks.begin_anew()
        assert talks.run({**dying, "nth": nth}) in ([-signal.SIGKILL], [0])  # all is done after fewer commits
        if found := talks.damage():
            break
    assert found != ""


@pytest.mark.parametrize("fault", [None, pytest.param("no sync", marks=pytest.mark.soak)])
def test_an_exchange_is_synced_before_it_is_told(
    talks: Talks, pickled: Path, tmp_path: Path, fault: str | None
) -> None:
    """In a process that serves one dialogue, so that nobody else writes while it is told."""
    job = json.loads(talks.job(0, exchanges=3, fault=fault, serves=[0, len(talks.dialogues)]))
    job |= {"acks": str(tmp_path / "acks")}
    child = [sys.executable, str(_CHILD), str(pickled), json.dumps(job)]
    assert synced_before_told(child, tmp_path, 3) == (fault is None)
