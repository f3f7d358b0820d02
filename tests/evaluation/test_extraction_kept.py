"""What extraction keeps of the conversations that lie where ``MEMWARDEN_DATA`` says; without them nothing is measured.

The rules and weights were made with three of RealMem's people; the other two were looked at only at the end. Whether a
kept fact is faithful and worth keeping is judged by readers: ``docs/why/extraction.md``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from extraction_data import Talk, raw_sessions, read_talks
from locomo_when import labels
from measure_extraction import cited, gold_of, personal_auc

from memwarden.remember.extract.model import find_faults
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.surfaces.conversation_files import read_conversations
from memwarden.text.tokenizer import terms

DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
LOCOMO = DATA / "locomo" / "locomo_dev.json"
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
APART = [path for path in REALMEM if path.name.startswith(("Adeleke_Okonjo", "Lin_Wanyu"))]
GOLD_CONTRADICTS_ITS_EVIDENCE = {(0, 5), (4, 6)}
"""Conversation and question. The evidence says last Saturday, or last week in July; the answers a Sunday, and June."""
needs_realmem = pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
needs_locomo = pytest.mark.skipif(not LOCOMO.is_file(), reason="LoCoMo is not part of the project; set MEMWARDEN_DATA")


@pytest.fixture(scope="module")
def replayed() -> dict[Path, Talk]:
    """RealMem's conversations with what is kept of each."""
    return {path: read_talks(path)[0] for path in REALMEM}


@needs_realmem
@pytest.mark.slow
def test_facts_and_cards_lead_to_the_source_of_half_of_the_gold(replayed: dict[Path, Talk]) -> None:
    shares = []
    for path, talk in replayed.items():
        items = [fact for kept in talk.kept for fact in (*kept.facts, *([kept.card] if kept.card else []))]
        gold = gold_of(raw_sessions(path), talk)
        shares.append(cited([(item.text, frozenset(item.sources)) for item in items], gold))
    assert sum(shares) / len(shares) >= 0.50


@needs_realmem
def test_a_personal_turn_is_told_from_noise_where_nothing_was_tuned() -> None:
    assert len(APART) == 2
    assert min(personal_auc(raw_sessions(path)) for path in APART) >= 0.93


@needs_realmem
@pytest.mark.slow
def test_what_is_kept_passes_its_own_checks_and_its_caps(replayed: dict[Path, Talk]) -> None:
    for talk in replayed.values():
        for exchange, kept in zip(talk.exchanges, talk.kept, strict=True):
            items = (*kept.facts, *kept.candidates, *([kept.card] if kept.card else []))
            assert [item.text for item in items if find_faults(item.text)] == []
            for turn in exchange:
                own = [fact for fact in (*kept.facts, *kept.candidates) if turn.id in fact.sources]
                assert len(own) <= 3
    assert sum(len(kept.facts) for talk in replayed.values() for kept in talk.kept) >= 60


@needs_locomo
def test_days_are_those_of_the_gold() -> None:
    right, looked_at = days_against_gold()
    assert looked_at >= 25
    assert right / looked_at >= 0.95


def days_against_gold() -> tuple[int, int]:
    """Of the items that answer a when-question of LoCoMo, how many name its day; and how many there are.

    An item answers a question if it rests on its evidence and has two of its words. What is asked in weeks or months is
    right when it has a day in common.
    """
    raw: list[dict[str, Any]] = json.loads(LOCOMO.read_text(encoding="utf-8"))
    talks = read_talks(LOCOMO)
    right = looked_at = 0
    for conversation, number, size, spans in labels():
        question = raw[conversation]["qa"][number]
        if (conversation, number) in GOLD_CONTRADICTS_ITS_EVIDENCE:
            continue
        for kept in talks[conversation].kept:
            for item in (*kept.facts, *kept.candidates):
                about = len(set(terms(item.text)) & set(terms(question["question"])))
                if not item.dates or about < 3 or item.sources[0].split("/")[-1] not in question["evidence"]:
                    continue
                looked_at += 1
                right += any(
                    (days == span if size == "day" else days[0] <= span[1] and days[1] >= span[0])
                    for days in item.dates
                    for span in spans
                )
    return right, looked_at


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


if __name__ == "__main__":
    print(days_against_gold())  # noqa: T201
