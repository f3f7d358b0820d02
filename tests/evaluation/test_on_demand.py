"""A search on demand is used in few turns, at hardly less evidence (B11): RealMem where ``MEMWARDEN_DATA`` says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measure_on_demand import replayed

import memwarden
from memwarden.surfaces.conversation_files import read_conversations
from memwarden_bench.metrics import mean, percentile

HISTORY = Path(memwarden.__file__).parent / "surfaces/cli/demo/history.json"
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))


async def test_every_turn_of_a_chat_is_counted() -> None:
    (talk,) = read_conversations(HISTORY)
    told = await replayed(talk, sessions=6)
    said = [message for session in talk.sessions[:6] for message in session.messages if message["role"] == "user"]
    assert told.turns == len(told.confidences) == len(said)
    assert told.offered == len(told.searched) <= told.turns / 5
    assert sum(relevant for _, relevant in told.confidences) + told.offered <= told.turns


@pytest.mark.slow
@pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
@pytest.mark.parametrize("path", REALMEM, ids=lambda path: path.name.split("_")[0])
async def test_few_turns_of_realmem_search(path: Path) -> None:
    (talk,) = read_conversations(path)
    told = await replayed(talk)
    assert told.rate < 0.11  # .10 over all five
    alone, gated, always = (mean(question) for question in list(zip(*told.questions, strict=True))[1:])
    assert alone < gated
    assert gated > always - 0.03
    assert percentile(told.searched, 0.5) < 200  # the median: the machine may be busy
