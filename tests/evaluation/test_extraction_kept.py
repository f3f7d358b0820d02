"""What extraction keeps of the conversations that lie where ``MEMWARDEN_DATA`` says; without them nothing is measured.

The rules and weights were made with three of RealMem's people; the other two were looked at only at the end. Whether a
kept fact is faithful and worth keeping is judged by readers: ``docs/why/extraction.md``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from extraction_data import Talk, raw_sessions, read_talks
from measure_extraction import cited, gold_of, personal_auc

from memwarden.remember.extract.model import find_faults
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.surfaces.conversation_files import read_conversations

DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
LOCOMO = DATA / "locomo" / "locomo_dev.json"
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
APART = [path for path in REALMEM if path.name.startswith(("Adeleke_Okonjo", "Lin_Wanyu"))]
needs_realmem = pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
needs_locomo = pytest.mark.skipif(not LOCOMO.is_file(), reason="LoCoMo is not part of the project; set MEMWARDEN_DATA")


@pytest.fixture(scope="module")
def replayed() -> dict[Path, Talk]:
    """RealMem's conversations with what is kept of each."""
    return {path: read_talks(path)[0] for path in REALMEM}


@needs_realmem
@pytest.mark.slow
def test_cards_lead_to_the_source_of_half_of_the_gold(replayed: dict[Path, Talk]) -> None:
    shares = []
    for path, talk in replayed.items():
        items = [kept.card for kept in talk.kept if kept.card]
        gold = gold_of(raw_sessions(path), talk)
        shares.append(cited([(item.text, frozenset(item.sources)) for item in items], gold))
    assert sum(shares) / len(shares) >= 0.50


@needs_realmem
def test_a_personal_turn_is_told_from_noise_where_nothing_was_tuned() -> None:
    assert len(APART) == 2
    assert min(personal_auc(raw_sessions(path)) for path in APART) >= 0.93


@needs_realmem
@pytest.mark.slow
def test_cards_pass_the_checks_of_what_is_kept(replayed: dict[Path, Talk]) -> None:
    for talk in replayed.values():
        cards = [kept.card for kept in talk.kept if kept.card]
        assert [card.text for card in cards if find_faults(card.text)] == []
        assert len(cards) >= 60


@needs_locomo
def test_turns_that_questions_ask_for_are_of_more_note() -> None:
    scored: dict[bool, list[float]] = {True: [], False: []}
    for conversation in read_conversations(LOCOMO, captions=False):
        gold = {key for question in conversation.questions for key in question.gold_turns}
        for session in conversation.sessions:
            for row in session.messages:
                asked = any(key.thread == session.thread and key.id == row["id"] for key in gold)
                scored[asked].append(judge_worth(row["content"]).note)
    pairs = [(item > two) + 0.5 * (item == two) for item in scored[True] for two in scored[False]]
    assert sum(pairs) / len(pairs) >= 0.75
