"""Sample what extraction keeps, for a reader who labels it without knowing the rules.

``python tests/evaluation/sample_extraction.py --realmem FILE... --locomo FILE --out FILE [--seed N]``

Writes ``[{"id", "text", "turn_texts", "kind"}]`` in random order: up to 120 facts of RealMem, 80 of LoCoMo, and 80
cards and candidates, as evenly from the conversations as they have them. A second file beside it, ``NAME.key.json``,
says for each id from which conversation, of which tier and frame it is; whoever labels does not get that one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extraction_data import Said, Talk, read_talks

from memwarden.remember.extract.records import ExtractedItem

FACTS_OF_ASSISTANT, FACTS_OF_TWO, OTHERS = 120, 80, 80

Found = tuple[Talk, ExtractedItem, tuple[Said, ...]]


def found_in(talk: Talk, tiers: Sequence[str]) -> list[Found]:
    """The items of a conversation that are of some tiers, each with the turns that it cites."""
    found: list[Found] = []
    for exchange, kept in zip(talk.exchanges, talk.kept, strict=True):
        for item in (*kept.facts, *([kept.card] if kept.card else [])):
            if item.tier in tiers:
                found.append((talk, item, tuple(turn for turn in exchange if turn.id in item.sources)))
    return found


def evenly(groups: Sequence[list[Found]], most: int, chance: random.Random) -> list[Found]:
    """Up to ``most`` items, taken in turn from shuffled groups; no text twice."""
    queues = [chance.sample(group, len(group)) for group in groups]
    taken: list[Found] = []
    texts: set[tuple[str, str]] = set()
    while len(taken) < most and any(queues):
        for queue in queues:
            if queue and len(taken) < most and (key := ((item := queue.pop())[0].name, item[1].text)) not in texts:
                texts.add(key)
                taken.append(item)
    return taken


def rows(taken: Sequence[Found]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the reader sees of each item, and what the key says of it."""
    seen, key = [], {}
    for number, (talk, item, turns) in enumerate(taken, 1):
        identity = f"i{number:03d}"
        said = [
            {"speaker": turn.name or turn.role, "date": f"{turn.created_at:%Y-%m-%d (%A)}", "text": turn.text}
            for turn in turns
        ]
        kind = "card" if item.tier == "card" else "statement"
        seen.append({"id": identity, "text": item.text, "turn_texts": said, "kind": kind})
        key[identity] = {"talk": talk.name, "tier": item.tier, "sources": item.sources}
    return seen, key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--realmem", nargs="+", type=Path, required=True)
    parser.add_argument("--locomo", nargs="+", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--key", type=Path, help="where the key goes; beside --out if not given")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    assistants = [talk for path in given.realmem for talk in read_talks(path)]
    pairs = [talk for path in given.locomo for talk in read_talks(path)]
    facts = evenly([found_in(talk, ("fact",)) for talk in assistants], FACTS_OF_ASSISTANT, chance)
    facts += evenly([found_in(talk, ("fact",)) for talk in pairs], FACTS_OF_TWO, chance)
    groups = [found_in(talk, (tier,)) for talk in (*assistants, *pairs) for tier in ("card", "candidate")]
    others = evenly(groups, OTHERS, chance)
    seen, key = rows(chance.sample(taken := facts + others, len(taken)))
    given.out.write_text(json.dumps(seen, indent=1, ensure_ascii=False), encoding="utf-8")
    beside = given.key or given.out.with_suffix(".key.json")
    beside.write_text(json.dumps(key, indent=1, ensure_ascii=False), encoding="utf-8")
    print(f"{len(seen)} items: {len(facts)} facts, {len(others)} cards and candidates; key in {beside}")  # noqa: T201


if __name__ == "__main__":
    main()
