"""Measure what extraction keeps of conversations: how much, and whether it leads back to what mattered.

``python tests/evaluation/measure_extraction.py FILE...``

RealMem: for every gold memory, the items ranked by BM25 against its text: does one of the first five cite the turn
that it was drawn from? Facts and cards together, facts alone, and whole exchanges word for word. A personal turn or
noise: the area under the curve. All files: items a turn and milliseconds a turn.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extraction_data import Talk, idf_of, raw_sessions, read_talks

from memwarden.remember.extract.rules.exchange import extract_exchange
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.text.tokenizer import terms

TOP = 5


class BM25:
    """Okapi BM25 (k1 1.2, b .75) over a few thousand texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        held = [Counter(terms(text)) for text in texts]
        lengths = [sum(item.values()) for item in held]
        mean = statistics.fmean(lengths) if lengths else 1.0
        self.postings: dict[str, list[tuple[int, float]]] = {}
        for place, (counts, length) in enumerate(zip(held, lengths, strict=True)):
            for term, times in counts.items():
                weight = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / (mean or 1.0)))
                self.postings.setdefault(term, []).append((place, weight))

    def best(self, query: str, most: int) -> list[int]:
        """The places of the best texts, best first."""
        scores: Counter[int] = Counter()
        for term in set(terms(query)):
            found = self.postings.get(term, [])
            weight = math.log(1 + (self.size - len(found) + 0.5) / (len(found) + 0.5))
            for place, times in found:
                scores[place] += weight * times  # type: ignore[assignment]
        return [place for place, _ in scores.most_common(most)]


def cited(documents: Sequence[tuple[str, frozenset[str]]], gold: Sequence[tuple[str, str]]) -> float:
    """The share of gold (text, turn) whose turn the five best documents (text, turns) cite."""
    index = BM25([text for text, _ in documents])
    hits = sum(any(turn in documents[place][1] for place in index.best(text, TOP)) for text, turn in gold)
    return hits / max(len(gold), 1)


def gold_of(sessions: Sequence[dict[str, Any]], talk: Talk) -> list[tuple[str, str]]:
    """(text of a gold memory, id of the turn that it was drawn from); those that name no turn are left out."""
    by_text = {(turn.id.split("/")[0], turn.text.strip()): turn.id for exchange in talk.exchanges for turn in exchange}
    found = []
    for session in sessions:
        for memory in session["extracted_memory"]:
            turn = by_text.get((session["session_uuid"], memory["source_content_snapshot"].strip()))
            if turn is not None:
                found.append((memory["content"], turn))
    return found


def report(path: Path) -> list[dict[str, Any]]:
    """Figures of every conversation of a file."""
    rows = []
    for talk in read_talks(path):
        items = [fact for kept in talk.kept for fact in kept.facts]
        facts = [item for item in items if item.tier == "fact"]
        cards = [kept.card for kept in talk.kept if kept.card is not None]
        row: dict[str, Any] = {
            "name": talk.name,
            "turns": talk.turns,
            "facts": len(facts),
            "candidates": len(items) - len(facts),
            "cards": len(cards),
            "ms": milliseconds_a_turn(talk),
        }
        if not talk.two_person:
            sessions = raw_sessions(path)
            gold = gold_of(sessions, talk)
            whole = [
                ("\n".join(turn.text for turn in exchange), frozenset(turn.id for turn in exchange))
                for exchange in talk.exchanges
            ]
            row["gold"] = len(gold)
            row["facts and cards"] = cited([(fact.text, frozenset(fact.sources)) for fact in (*facts, *cards)], gold)
            row["facts alone"] = cited([(fact.text, frozenset(fact.sources)) for fact in facts], gold)
            row["facts and candidates"] = cited([(item.text, frozenset(item.sources)) for item in items], gold)
            row["word for word"] = cited(whole, gold)
            row["personal AUC"] = personal_auc(sessions)
        rows.append(row)
    return rows


def personal_auc(sessions: Sequence[dict[str, Any]]) -> float:
    """The share of pairs of a personal turn and one of noise that the gate ranks right."""
    scored: dict[bool, list[float]] = {True: [], False: []}
    for session in sessions:
        for turn in session["dialogue_turns"]:
            if turn["speaker"] == "User" and turn["content"].strip():
                scored[not session["session_identifier"].startswith("Enhanced")].append(
                    judge_worth(turn["content"]).personal
                )
    right = sum((item > two) + 0.5 * (item == two) for item in scored[True] for two in scored[False])
    return right / max(len(scored[True]) * len(scored[False]), 1)


def milliseconds_a_turn(talk: Talk) -> float:
    """The median over exchanges of the processor time that one turn takes, the gate's cache empty."""
    idf = idf_of([turn.text for exchange in talk.exchanges for turn in exchange])
    judge_worth.cache_clear()
    taken = []
    for exchange in talk.exchanges:
        at = exchange[0].created_at
        assert at is not None
        begin = time.process_time()
        extract_exchange(exchange, two_person=talk.two_person, said_at=at, idf=idf)
        taken.append((time.process_time() - begin) * 1_000 / len(exchange))
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args().files:
        for row in report(path):
            shown = (
                f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
            print(", ".join(shown))  # noqa: T201


if __name__ == "__main__":
    main()
