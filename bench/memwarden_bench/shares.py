"""Simulates projects in which tasks need their three tiers unequally; measures learned shares of the token budget."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from memwarden import Warden
from memwarden.tiers import ContextPackage, ContextRequest, MemoryConfig, Task
from memwarden.tiers.backend import ContextItem
from memwarden.tiers.budget import TIERS, ContextPolicy
from memwarden_bench.marks import grid

DEFAULT_SEEDS: Final = tuple(range(100, 120))
CONTEXTS: Final = 60
"""Contexts of a project. The first third is for learning alone, and is not measured."""
BUDGET: Final = 800
ITEMS: Final[Mapping[str, int]] = {"task": 40, "project": 60, "global": 30}
"""Items of each tier: more than fit into any share."""
NEEDS: Final = 6
"""Items that the answer to a context needs."""
STEEPNESS: Final = 0.7
"""How much likelier an important item is needed than an unimportant item of its tier (Zipf's exponent)."""
WORDS: Final = [
    "".join(parts) for parts in product("bdfgklmnprstvz", "aeiou", ("l", "m", "n", "r", "sk", "tt"), "aeio")
]
"""Invented words, so that no two items say the same by chance."""


@dataclass(frozen=True, slots=True)
class SharesRow:
    """A simulated project: the part of the injected tokens that was of use, and of the needs that were met.

    needed: how much of what is needed lies in each tier. split: the learned shares at the end.
    """

    seed: int
    needed: Mapping[str, float]
    usual: float
    learned: float
    usual_met: float
    learned_met: float
    split: Mapping[str, float]


class _World:
    """A project that is simulated: what lies where, and what each answer needs."""

    def __init__(self, seed: int, even: bool) -> None:
        self._chance = random.Random(seed)
        drawn = (0.4, 0.4, 0.2) if even else [self._chance.gammavariate(1.0, 1.0) for _ in TIERS]
        self.needed = {tier: part / sum(drawn) for tier, part in zip(TIERS, drawn, strict=True)}
        self.texts = {tier: [self._say() for _ in range(ITEMS[tier])] for tier in TIERS}

    def _say(self) -> str:
        first, second, third, fourth, fifth, sixth = self._chance.sample(WORDS, 6)
        return f"The {first} {second} {third} is with the {fourth} of the {fifth}, or {sixth}."

    def draw_needs(self) -> list[str]:
        """Return the texts that the next answer needs."""
        tiers = self._chance.choices(TIERS, [self.needed[tier] for tier in TIERS], k=NEEDS)
        return list(dict.fromkeys(self._draw(self.texts[tier]) for tier in tiers))

    def _draw(self, texts: Sequence[str]) -> str:
        weights = [(place + 1) ** -STEEPNESS for place in range(len(texts))]
        return self._chance.choices(texts, weights)[0]

    def fill(self, warden: Warden) -> None:
        """Store what is known, the first of each tier as the most important."""
        for tier, path in zip(TIERS, ("task/work", "project/plant", "global"), strict=True):
            backend = warden.backend(path)
            for place, text in enumerate(self.texts[tier]):
                importance = 1 - place / ITEMS[tier]
                backend.add(ContextItem(f"{tier}-{place}", "note", importance=importance, payload={"text": text}))


def simulate(seed: int, contexts: int = CONTEXTS, *, even: bool = False) -> SharesRow:
    """Return what a project gains from learned shares. even: whether its needs lie as the usual shares do."""
    usual, usual_met, _ = _work(seed, contexts, learned=False, even=even)
    learned, learned_met, last = _work(seed, contexts, learned=True, even=even)
    whole = sum(last.allotted.values())
    split = {tier: last.allotted[tier] / whole for tier in TIERS}
    return SharesRow(seed, _World(seed, even).needed, usual, learned, usual_met, learned_met, split)


def _work(seed: int, contexts: int, *, learned: bool, even: bool) -> tuple[float, float, ContextPackage]:
    """Build and answer the contexts of a project; return the part of use, the part of needs met, the last context."""
    world, task = _World(seed, even), Task("work", {"project_id": "plant"})
    config = MemoryConfig(ContextPolicy(learned_shares=learned))
    given = used = met = needed = 0
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        world.fill(warden)
        assembler = warden.tiers.assembler(memory_config=config)
        for number in range(contexts):
            package = assembler.build_context(task, ContextRequest(BUDGET))
            needs = world.draw_needs()
            hit = [item for item in package.included if (item.item.payload or {}).get("text") in needs]
            # An answer repeats what it rests on, as far as it was given, and is judged by its words.
            answer = " ".join(str(item.item.payload["text"]) for item in hit) or "I do not know."
            assembler.record_uses(task, package, answer=answer)
            if number >= contexts // 3:
                given += sum(item.tokens for item in package.included)
                used += sum(item.tokens for item in hit)
                met, needed = met + len(hit), needed + len(needs)
    return used / given, met / needed, package


def measure_shares(seeds: Sequence[int], contexts: int, tick: Callable[[str], None]) -> list[SharesRow]:
    """Simulate a project for each seed."""
    rows = []
    for seed in seeds:
        rows.append(simulate(seed, contexts))
        tick(f"seed {seed}")
    return rows


def mean_gain(rows: Sequence[SharesRow]) -> float:
    """Return by how much learned shares raise the part of the injected tokens that is of use, over all projects."""
    return sum(row.learned for row in rows) / sum(row.usual for row in rows) - 1


def shares_markdown(rows: Sequence[SharesRow]) -> str:
    """Return the report."""
    head = ("seed", "needs lie in", "of use, 40/40/20", "of use, learned", "needs met", "needs met, learned", "learned")
    cells = [
        (
            str(row.seed), _split(row.needed), f"{row.usual:.1%}", f"{row.learned:.1%}", f"{row.usual_met:.0%}",
            f"{row.learned_met:.0%}", _split(row.split),
        )
        for row in rows
    ]  # fmt: skip
    better = sum(row.learned > row.usual for row in rows)
    least = min(share for row in rows for share in row.split.values())
    said = (
        f"Learned shares raise the part of the injected tokens that is of use by {mean_gain(rows):.1%} over "
        f"{len(rows)} projects; {better} of them gain. The smallest share of a tier is {least:.1%}."
    )
    return "\n\n".join(("# Learned shares of the token budget", said, grid(head, cells)))


def _split(parts: Mapping[str, float]) -> str:
    return " / ".join(f"{parts[tier]:.0%}" for tier in TIERS)
