"""Date F1 on generated when-sentences: at least .9 in all, in each language and at each granularity."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import date
from pathlib import Path

from memwarden.text.dates.recognizer import spans_in

sys.path.insert(0, str(Path(__file__).parent))

from when_sentences import Case, cases

SEED = 20_240_229
FLOOR = 0.9


def fits(found: tuple[date, date], gold: tuple[date, date], size: str) -> bool:
    """The same days; "two weeks ago" is any span of up to nine days around that day."""
    if size == "week" and gold[0] == gold[1]:
        return found[0] <= gold[0] <= found[1] and (found[1] - found[0]).days < 9
    return found == gold


def score(chosen: list[Case]) -> tuple[float, float, float, list[str]]:
    """Precision, recall, F1 over spans, and the sentences that went wrong."""
    count: Counter[str] = Counter()
    wrong = []
    for case in chosen:
        found = [(span.first, span.last) for span in spans_in(case.text, case.said)]
        right = sum(any(fits(item, gold, case.size) for item in found) for gold in case.days)
        count += Counter(found=len(found), gold=len(case.days), right=right)
        if right < len(case.days) or len(found) > right:
            wrong.append(f"{case.said:%a %Y-%m-%d} {case.text!r}: {case.days} but {found}")
    precision, recall = count["right"] / max(count["found"], 1), count["right"] / max(count["gold"], 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9), wrong


def groups() -> dict[str, list[Case]]:
    everything = list(cases(SEED))
    found = {"all": everything}
    for case in everything:
        if case.days:
            found.setdefault(f"size {case.size}", []).append(case)
            found.setdefault(f"language {case.language}", []).append(case)
    return found


def test_generated_sentences_are_dated() -> None:
    found = groups()
    assert len(found["all"]) >= 200
    scores = {name: score(chosen) for name, chosen in found.items()}
    assert {name: item[2] for name, item in scores.items() if item[2] < FLOOR} == {}


def test_words_that_look_like_time_name_no_days() -> None:
    _, _, _, wrong = score([case for case in groups()["all"] if not case.days])
    assert wrong == []


if __name__ == "__main__":
    for name, chosen in groups().items():
        precision, recall, f1, wrong = score(chosen)
        print(f"{name:16s} n={len(chosen):4d} precision={precision:.3f} recall={recall:.3f} F1={f1:.3f}")  # noqa: T201
        if name == "all":
            print(*wrong, sep="\n")  # noqa: T201
