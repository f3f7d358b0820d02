"""Measures how often the same-fact rules close or merge a fact that is still true."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.api.blocking import Warden
from memwarden.errors import InvalidInput
from memwarden.models.wordllama import WordLlamaEmbedder
from memwarden.recall.nearby import is_near
from memwarden.remember.resolve.same_fact import judge
from memwarden.text.tokenizer import terms
from memwarden_bench.marks import grid, number


class Profile(NamedTuple):
    """Facts about a person or project, all true at once."""

    who: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A true fact that another true fact would have closed or merged."""

    who: str
    old: str
    new: str
    judged: str
    rule: str


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """The outcomes of facts that are all true at once. A share of nothing is NaN."""

    circumstances: Mapping[str, str]
    profiles: int
    pairs: int
    """Ordered pairs of facts of a profile."""
    near: int
    """Those that a store would compare, by `memwarden.recall.nearby.is_near`."""
    wrong: int
    """Near pairs that were judged "same" or "supersede"."""
    wrong_in_a_thousand: float
    lost: Mapping[str, int]
    """Profile -> facts that were closed or merged when all were remembered in sequence."""
    mistakes: Sequence[Mistake]


def read_profiles(file: Path) -> list[Profile]:
    """Read a JSON list of {"who", "facts"}. Raises InvalidInput for anything else."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file.name} cannot be read as JSON: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(f'{file.name} holds no list of profiles; a profile is {{"who": text, "facts": [texts]}}')
    return [_profile(row, place, file.name) for place, row in enumerate(rows)]


def _profile(row: object, place: int, name: str) -> Profile:
    if isinstance(row, dict):
        who, facts = row.get("who"), row.get("facts")
        if isinstance(who, str) and isinstance(facts, list) and all(isinstance(fact, str) and fact for fact in facts):
            return Profile(who, tuple(facts))
    raise InvalidInput(f'profile {place} of {name} is not {{"who": text, "facts": [texts]}}: {row!r:.200}')


def measure(profiles: Sequence[Profile], circumstances: Mapping[str, str]) -> ProfileReport:
    """Judge all ordered pairs that a store would compare, and remember every profile whole."""
    near = 0
    mistakes: list[Mistake] = []
    for profile in profiles:
        places = _near_places(profile.facts)
        near += len(places)
        for old, new in places:
            found = judge(profile.facts[old], profile.facts[new])
            if found.label in ("same", "supersede"):
                mistakes.append(Mistake(profile.who, profile.facts[old], profile.facts[new], found.label, found.rule))
    return ProfileReport(
        circumstances=circumstances,
        profiles=len(profiles),
        pairs=sum(len(profile.facts) * (len(profile.facts) - 1) for profile in profiles),
        near=near,
        wrong=len(mistakes),
        wrong_in_a_thousand=1000 * len(mistakes) / near if near else float("nan"),
        lost={f"{place}: {item.who}": _count_lost(item) for place, item in enumerate(profiles, 1)},
        mistakes=mistakes,
    )


def _near_places(facts: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of an older and a newer fact near enough to be compared."""
    vectors = WordLlamaEmbedder().embed(facts)
    words = [set(terms(fact)) for fact in facts]
    out: list[tuple[int, int]] = []
    for new in range(len(facts)):
        heard: npt.NDArray[np.float32] = np.array(
            [len(words[new] & other) / max(1, len(words[new])) for other in words], np.float32
        )
        close = is_near(heard, vectors @ vectors[new])
        out.extend((int(old), new) for old in np.flatnonzero(close) if old != new)
    return out


def _count_lost(profile: Profile) -> int:
    with Warden.open("memory://", config={}) as warden:
        me = warden.scope(user="somebody")
        results = [me.remember(fact).results[0] for fact in profile.facts]
        merged = sum(result.outcome == "merged" for result in results)
        return merged + sum(
            me.get(result).valid_to is not None for result in {result.id for result in results if result.id}
        )


def markdown(report: ProfileReport) -> str:
    """Return the whole report as Markdown."""
    return (
        "\n\n".join(
            [
                "# Facts that are all true at once",
                grid(("what", "value"), list(report.circumstances.items())),
                grid(
                    ("measure", "value"),
                    [
                        ("profiles", str(report.profiles)),
                        ("ordered pairs", str(report.pairs)),
                        ("near enough to be compared", str(report.near)),
                        ("closed or merged wrongly", str(report.wrong)),
                        ("in a thousand near pairs", number(report.wrong_in_a_thousand, 2)),
                        ("facts lost when remembered whole", str(sum(report.lost.values()))),
                        ("most of a single profile", str(max(report.lost.values(), default=0))),
                    ],
                ),
                grid(("profile", "facts lost"), [(who, str(lost)) for who, lost in report.lost.items()]),
                "\n".join(
                    f"- {mistake.who}, judged {mistake.judged} ({mistake.rule}): {mistake.old!r} / {mistake.new!r}"
                    for mistake in report.mistakes
                )
                or "None was judged wrongly.",
            ]
        )
        + "\n"
    )
