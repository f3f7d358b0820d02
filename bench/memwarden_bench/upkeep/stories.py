"""Made-up statements about made-up people, of which none says quite what another says."""

from __future__ import annotations

import random
from typing import Final

PEOPLE: Final = ("Ana", "Tom", "Mia", "Ben", "Eva", "Jon", "Ida", "Max", "Lea", "Kai")
DOINGS: Final = (
    "keeps", "paints", "repairs", "collects", "sells", "photographs", "borrows", "polishes", "draws", "counts",
)  # fmt: skip
THINGS: Final = (
    "bees", "clocks", "kites", "maps", "boats", "stamps", "lamps", "violins", "tents", "coins", "shells", "bikes",
)  # fmt: skip
PLACES: Final = (
    "behind the barn", "in Graz", "at the harbour", "by the lake", "in the attic", "on the balcony", "near Oslo",
)  # fmt: skip


def tell_stories(number: int, seed: int, end: str) -> list[str]:
    """Return statements. end: what each ends in, with ``{}`` for its number."""
    chance = random.Random(seed)
    return [
        " ".join(map(chance.choice, (PEOPLE, DOINGS, THINGS, PLACES))) + end.format(each) + "."
        for each in range(number)
    ]
