"""Inject paraphrased duplicates and near-misses beside facts, consolidate, and count what was merged.

The facts are the statements about the user in RealMem's memories. A fifth of them gets a paraphrase, by rewriting that
was made without the judge's tables; beside them stand near-misses that differ in a number, a negation or a name.
Then the job runs day by day, and every merge is undone and compared. Run with the folder of the dialogues.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import memwarden.clock as clock
from memwarden import Warden

SEED = 11
SHARE = 0.2
NUMBERS = dict(zip("two three four five six seven eight nine ten".split(), range(2, 11), strict=True))
# Whole words and short phrases with another of the same meaning.
SYNONYMS = (
    ("wants to", "would like to"), ("lives in", "resides in"), ("kids", "children"), ("big", "large"),
    ("started", "began"), ("bought", "purchased"), ("works as", "is employed as"), ("about", "approximately"),
    ("because of", "due to"), ("needs to", "has to"), ("enjoys", "likes"), ("mom", "mother"), ("dad", "father"),
    ("apartment", "flat"), ("movie", "film"), ("is planning to", "plans to"), ("every day", "daily"),
    ("decided to", "chose to"), ("going to", "planning to"), ("job", "position"), ("begin", "start"),
)  # fmt: skip
CONTRACTIONS = (
    ("does not", "doesn't"), ("is not", "isn't"), ("did not", "didn't"), ("has not", "hasn't"), ("cannot", "can't"),
    ("do not", "don't"), ("was not", "wasn't"), ("are not", "aren't"),
)  # fmt: skip
_TAIL = re.compile(r"^(.*\S) ((?:on|in|since|at|during|for|after|before) [^,.;]{3,40})\.$")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")


class Injection(NamedTuple):
    """A text that was put beside a fact. kind: how it was made; a paraphrase shall be merged, any other must not."""

    fact: str
    text: str
    kind: str
    paraphrase: bool


def paraphrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield rewritings that say the same, each with its kind."""
    for pairs, kind in ((SYNONYMS, "synonym"), (CONTRACTIONS, "contraction")):
        for one, other in pairs:
            for here, there in ((one, other), (other, one)):
                changed = re.sub(rf"\b{here}\b", there, text, count=1)
                if changed != text:
                    yield changed, kind
    for word, number in NUMBERS.items():
        for here, there in ((word, str(number)), (str(number), word)):
            changed = re.sub(rf"(?<![\w.:/-]){here}(?![\w.:/%-])", there, text, count=1)
            if changed != text:
                yield changed, "number word"
    tail = _TAIL.match(text)
    if tail:
        head = f"the{tail[1][3:]}" if tail[1].startswith("The ") else tail[1]
        yield f"{tail[2][0].upper()}{tail[2][1:]}, {head}.", "order"


def near_misses(text: str, names: list[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield texts that say something else, each with its kind."""
    number = re.search(r"\b\d+\b", text)
    if number:
        yield f"{text[: number.start()]}{int(number[0]) + 1}{text[number.end() :]}", "number"
    for verb in ("is", "has", "was", "wants", "likes", "needs", "lives", "works", "enjoys"):
        if f" {verb} " in text and " not " not in text:
            plain = {"wants": "want", "likes": "like", "needs": "need", "lives": "live", "works": "work"}
            other = f"does not {plain.get(verb, 'enjoy')}" if verb in plain or verb == "enjoys" else f"{verb} not"
            yield text.replace(f" {verb} ", f" {other} ", 1), "negation"
            break
    name = _NAME.search(text)
    if name and len(names) > 1:
        other = chance.choice([item for item in names if item != name[0]])
        yield f"{text[: name.start()]}{other}{text[name.end() :]}", "entity"


def read_facts(files: list[Path], most: int) -> list[str]:
    """Return the statements about the user in RealMem's memories, a sentence each."""
    facts: dict[str, None] = {}
    for path in files:
        for session in json.loads(path.read_text())["dialogues"]:
            for memory in session["extracted_memory"]:
                for sentence in re.split(r"(?<=[.!?])\s+|\n+", str(memory["content"]).rpartition("】")[2]):
                    said = sentence.strip(" -*\n")
                    if 30 <= len(said) <= 200 and said.startswith("User ") and said.endswith("."):
                        facts[f"The user {said[5:]}"] = None
    return list(facts)[:most]


def inject(facts: list[str], chance: random.Random) -> list[Injection]:
    """Make paraphrases of a fifth of the facts, and near-misses."""
    names = sorted({name for text in facts for name in _NAME.findall(text)})
    made: list[Injection] = []
    able = [text for text in facts if next(paraphrases(text), None)]
    for text in chance.sample(able, min(len(able), round(SHARE * len(facts)))):
        other, kind = chance.choice(list(paraphrases(text)))
        made.append(Injection(text, other, kind, True))
    for text in facts:
        made += [
            Injection(text, other, kind, False) for other, kind in near_misses(text, names, chance) if other != text
        ]
    return made


def contents(me: Any) -> list[Any]:
    """Return all active facts without what an undo may change."""
    found = me.find({"channel": "semantic"}, limit=10_000)
    return sorted((replace(item, version=0, updated_at=item.created_at) for item in found), key=lambda item: item.id)


def measure(files: list[Path], most: int) -> dict[str, Any]:
    """Run it and return the figures."""
    chance = random.Random(SEED)
    facts = read_facts(files, most)
    made = inject(facts, chance)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/store.db"
        place: dict[str, Injection] = {}
        with Warden.open(url, {"merging": "off"}) as warden:
            me = warden.scope(user="u")
            of = {text: me.remember(text, category="activity").results[0].id for text in facts}
            for item in made:
                written = me.remember(item.text, category="activity").results[0]
                if written.id:
                    place[written.id] = item
        with Warden.open(url) as warden:
            me, real = warden.scope(user="u"), clock.now
            before, days, merged, ended = contents(me), 0, {}, 0
            seconds = []
            while days < 60:
                clock.now = lambda ahead=timedelta(days=days): real() + ahead
                begun = real()
                (run,) = warden.jobs.run("consolidate", user="u")
                seconds.append((real() - begun).total_seconds())
                for change in run.changes:
                    if change.verb == "merge":
                        merged[change.memory_id] = re.search(r"says the same as (\S+)", change.why)[1]
                    else:
                        ended += 1
                days += 1
                if run.reason != "pairs_of_the_day":
                    break
            right = sum(1 for goes, stays in merged.items() if _is_right(goes, stays, place, of))
            wrong = [
                (place[goes].kind if goes in place else "fact", goes, stays)
                for goes, stays in merged.items()
                if not _is_right(goes, stays, place, of) and not _known_twins(goes, stays, place, of)
            ]
            for entry in [item for item in me.journal.history(descending=True, limit=10_000) if item.actor == "upkeep"]:
                if entry.event in ("MERGE", "SUPERSEDE") and entry.new is not None:
                    me.journal.undo(entry.seq)
            same = contents(me) == before
            clock.now = real
    kinds = Counter(item.kind for item in place.values() if item.paraphrase)
    merged_kinds = Counter(place[goes].kind for goes in merged if goes in place and place[goes].paraphrase)
    paraphrased = sum(kinds.values())
    return {
        "facts": len(facts), "paraphrases": paraphrased, "near_misses": len(place) - paraphrased,
        "near_misses_by_kind": dict(Counter(item.kind for item in place.values() if not item.paraphrase)),
        "merged_share": round(right / max(1, paraphrased), 3),
        "merged_by_kind": {kind: [merged_kinds[kind], kinds[kind]] for kind in kinds},
        "false_merges": len(wrong), "wrong": wrong[:5], "ended": ended, "undo_byte_equal": same, "days": days,
        "seconds_a_run": round(max(seconds), 2),
    }  # fmt: skip


def _is_right(goes: str, stays: str, place: dict[str, Injection], of: dict[str, str | None]) -> bool:
    for one, other in ((goes, stays), (stays, goes)):
        if one in place and place[one].paraphrase and of.get(place[one].fact) == other:
            return True
    return False


def _known_twins(goes: str, stays: str, place: dict[str, Injection], of: dict[str, str | None]) -> bool:
    """Whether both are extracted facts, or paraphrases: what they say is RealMem's, and nobody labelled it."""
    return all(item not in place or place[item].paraphrase for item in (goes, stays))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="RealMem's dialogues")
    parser.add_argument("--most", type=int, default=600, help="facts at most")
    given = parser.parse_args()
    print(json.dumps(measure(given.files, given.most), indent=1))
