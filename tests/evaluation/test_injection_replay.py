"""A chat with injection on stores nothing twice (F8): the demo's history, and RealMem where ``MEMWARDEN_DATA`` says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measure_injection import TURNS, at_most, growth

import memwarden
from memwarden.surfaces.conversation_files import read_conversations

HISTORY = Path(memwarden.__file__).parent / "surfaces/cli/demo/history.json"
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
MOST = 0.01


@pytest.mark.soak
async def test_what_was_put_into_prompts_is_not_stored_again() -> None:
    sessions = at_most(read_conversations(HISTORY)[0], 80)
    told = await growth(sessions, extraction="every_turn", embedder="none")
    assert told.injected.blocks >= 20
    assert told.memories < MOST
    assert told.lines < MOST
    assert abs(told.stored) < MOST
    assert told.injected.restated == 0


async def test_without_the_guard_it_would_be() -> None:
    sessions = at_most(read_conversations(HISTORY)[0], 40)
    told = await growth(sessions, guard=False, embedder="none")
    assert told.lines > 10 * MOST
    assert told.injected.restated > 0


@pytest.mark.slow
@pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
@pytest.mark.parametrize("path", REALMEM, ids=lambda path: path.name.split("_")[0])
async def test_five_hundred_turns_of_realmem(path: Path) -> None:
    told = await growth(at_most(read_conversations(path)[0], TURNS), extraction="every_turn")
    assert told.injected.blocks >= TURNS // 3
    assert told.memories < MOST
    assert told.lines < MOST
    assert told.injected.restated == 0
