"""Answers made shorter without a model keep what matters (D2): ours here, RealMem's where ``MEMWARDEN_DATA`` says."""

from __future__ import annotations

import os
import statistics
import sys
from itertools import islice
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measure_summaries import answers_in, details_of, is_in, measured

DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
LEAST = 0.7
ANSWERS = 200

PLAN = """That sounds like a lovely way to spend the time, and I am glad that you asked! Let us go through it slowly.

**Day 1** – You land in Porto at 9:40 on 12 April 2026. The bus 601 takes you to Casa da Rua; Inês Duarte has the key.
It is worth walking along the river afterwards, since the light is soft and the crowds are gone by then.
**Day 2** – The boat to Pinhão leaves at 8:15 and costs 85 euros each. Bring something warm to wear, and take your time.
There is no need to book anything else that day, and if you are tired you can simply stay where you are.
**Day 3** – Lunch with Tomás at Cantinho; the table is for four people at half past one, and he will pay.
Then there is nothing more to do than to rest, and to think of how nice it all was, before you go home again.
I hope that this gives you a good idea of how it could be. Tell me whether you would like to change any of it!
"""


def test_a_plan_keeps_its_names_numbers_and_dates() -> None:
    told = measured([PLAN])
    assert told.answers == 1
    assert told.longest <= 500
    assert told.there.total() >= 20
    assert told.share >= LEAST


def test_the_measure_sees_what_is_lost() -> None:
    details = details_of(PLAN)
    assert {("names", "Inês"), ("numbers", "9:40"), ("dates", "12 april 2026")} <= details
    assert not [detail for detail in details if is_in(detail, "Nothing of it.")]
    assert measured([PLAN.upper().lower()]).there["names"] == 0


@pytest.mark.skipif(not REALMEM, reason="RealMem is not here; MEMWARDEN_DATA names its folder")
def test_realmem_answers_keep_70_percent() -> None:
    long_ones = [item for path in REALMEM for item in answers_in(path) if is_long(item)]
    told = measured(islice(long_ones, 0, None, len(long_ones) // ANSWERS))
    assert told.answers >= ANSWERS
    assert told.longest <= 500
    assert told.share >= LEAST
    assert statistics.fmean(told.shares) >= LEAST


def is_long(answer: str) -> bool:
    return len(answer.encode()) > 750
