"""Cache-stable prompts begin with the last one, and hold all that system_append would show (F6).

The demo's history, and RealMem where ``MEMWARDEN_DATA`` says.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measure_stable import Run, chats, measured

import memwarden
from memwarden.conversation.settings import ChatSettings
from memwarden.surfaces.conversation_files import Conversation, read_conversations

HISTORY = Path(memwarden.__file__).parent / "surfaces/cli/demo/history.json"
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
TURNS = 50
STABLE = ChatSettings(use_memory=True, memory_injection_mode="cache_stable", memory_extraction_mode="on_save")
APPEND = replace(STABLE, memory_injection_mode="system_append")


async def both(conversation: Conversation, threshold: float, **config: str) -> tuple[Run, Run]:
    first, last = next(iter(chats(conversation, TURNS, 1)))
    made = [
        await measured(conversation, first, last, TURNS, replace(item, memory_search_threshold=threshold), **config)
        for item in (STABLE, APPEND)
    ]
    return made[0], made[1]


@pytest.mark.soak
async def test_fifty_turns_of_the_demo() -> None:
    # Nearly all of these fifty messages tell or chat and ask for nothing: below the bar of answers, so that memories
    # come and go in the prompts.
    stable, append = await both(read_conversations(HISTORY)[0], 0.4, embedder="none")
    assert stable.turns == append.turns == TURNS
    assert sum(map(bool, append.shown)) >= 10
    assert stable.of_this >= 0.95
    assert stable.of_last == 1
    assert append.of_this < 0.7
    assert all(shown <= ours for shown, ours in zip(append.shown, stable.shown, strict=True))


@pytest.mark.slow
@pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
@pytest.mark.parametrize("path", REALMEM, ids=lambda path: path.name.split("_")[0])
async def test_fifty_turns_of_realmem(path: Path) -> None:
    stable, append = await both(read_conversations(path)[0], 0.7)
    assert stable.of_this >= 0.95
    assert sum(stable.sessions) >= sum(append.sessions) > 0
    assert sum(stable.evidence) >= sum(append.evidence)
