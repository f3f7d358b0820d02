"""Inject paraphrased duplicates and near-misses beside facts, consolidate, and count what was merged.

The facts are the statements about the user in RealMem's memories. A fifth of them gets a paraphrase, by rewriting that
was made without the judge's tables; beside them stand near-misses that differ in a number, a negation or a name.
Then the job runs day by day, and every merge is undone and compared.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from memwarden import BoundScope, Warden, clock
from memwarden.errors import InvalidInput
from memwarden.records import Memory
from memwarden.surfaces.conversation_files import MAX_BYTES, read_json
from memwarden_bench.marks import grid, number
from memwarden_bench.replay import Tick
from memwarden_bench.upkeep.gates import Gate, tell_gates

SEED: Final = 11
SHARE: Final = 0.2
MAX_DAYS: Final = 60
# Of the paraphrases so many have to be merged, and so many near-misses have to be there to say that none was.
MIN_MERGED: Final = 0.6
MIN_NEAR_MISSES: Final = 200
USER: Final = "u"
NUMBERS: Final = dict(zip("two three four five six seven eight nine ten".split(), range(2, 11), strict=True))
# Whole words and short phrases with another of the same meaning.
SYNONYMS: Final = (
    ("wants to", "would like to"), ("lives in", "resides in"), ("kids", "children"), ("big", "large"),
    ("started", "began"), ("bought", "purchased"), ("works as", "is employed as"), ("about", "approximately"),
    ("because of", "due to"), ("needs to", "has to"), ("enjoys", "likes"), ("mom", "mother"), ("dad", "father"),
    ("apartment", "flat"), ("movie", "film"), ("is planning to", "plans to"), ("every day", "daily"),
    ("decided to", "chose to"), ("going to", "planning to"), ("job", "position"), ("begin", "start"),
)  # fmt: skip
CONTRACTIONS: Final = (
    ("does not", "doesn't"), ("is not", "isn't"), ("did not", "didn't"), ("has not", "hasn't"), ("cannot", "can't"),
    ("do not", "don't"), ("was not", "wasn't"), ("are not", "aren't"),
)  # fmt: skip
_TAIL: Final = re.compile(r"^(.*\S) ((?:on|in|since|at|during|for|after|before) [^,.;]{3,40})\.$")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_STAYS: Final = re.compile(r"says the same as (\S+)")


class Injection(NamedTuple):
    """A text that was put beside a fact. kind: how it was made; a paraphrase shall be merged, any other must not."""

    fact: str
    text: str
    kind: str
    paraphrase: bool


@dataclass(frozen=True, slots=True)
class DuplicatesReport:
    """What was merged.

    Attributes:
        paraphrases, merged: by kind. near_misses: by kind. wrong: kinds and ids of near-misses that were merged.
        ended: facts that a newer one replaced. undone: whether everything was as before, to the byte, when undone.
        days: until nothing was left to do. slowest: run, in seconds.
    """

    circumstances: Mapping[str, str]
    facts: int
    paraphrases: Mapping[str, int]
    merged: Mapping[str, int]
    near_misses: Mapping[str, int]
    wrong: Sequence[tuple[str, str, str]]
    ended: int
    undone: bool
    days: int
    slowest: float

    @property
    def gates(self) -> list[Gate]:
        """What has to be reached."""
        share = sum(self.merged.values()) / max(1, sum(self.paraphrases.values()))
        return [
            Gate("share of the paraphrases that were merged", share, "at least", MIN_MERGED),
            Gate("near-misses that were merged", len(self.wrong), "at most", 0),
            Gate("near-misses of numbers, negations and names", sum(self.near_misses.values()), "at least",
                 MIN_NEAR_MISSES),
            Gate("equal to the byte after undoing", self.undone, "at least", 1),
        ]  # fmt: skip


# --- making


def paraphrases(text: str) -> Iterator[tuple[str, str]]:
    """Yield rewritings that say the same, each with its kind."""
    for pairs, kind in ((SYNONYMS, "synonym"), (CONTRACTIONS, "contraction")):
        for one, other in pairs:
            for here, there in ((one, other), (other, one)):
                changed = re.sub(rf"\b{here}\b", there, text, count=1)
                if changed != text:
                    yield changed, kind
    for word, value in NUMBERS.items():
        for here, there in ((word, str(value)), (str(value), word)):
            changed = re.sub(rf"(?<![\w.:/-]){here}(?![\w.:/%-])", there, text, count=1)
            if changed != text:
                yield changed, "number word"
    tail = _TAIL.match(text)
    if tail:
        head = f"the{tail[1][3:]}" if tail[1].startswith("The ") else tail[1]
        yield f"{tail[2][0].upper()}{tail[2][1:]}, {head}.", "order"


def near_misses(text: str, names: Sequence[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield texts that say something else, each with its kind."""
    figure = re.search(r"\b\d+\b", text)
    if figure:
        yield f"{text[: figure.start()]}{int(figure[0]) + 1}{text[figure.end() :]}", "number"
    for verb in ("is", "has", "was", "wants", "likes", "needs", "lives", "works", "enjoys"):
        if f" {verb} " in text and " not " not in text:
            plain = {"wants": "want", "likes": "like", "needs": "need", "lives": "live", "works": "work"}
            other = f"does not {plain.get(verb, 'enjoy')}" if verb in plain or verb == "enjoys" else f"{verb} not"
            yield text.replace(f" {verb} ", f" {other} ", 1), "negation"
            break
    name = _NAME.search(text)
    if name and len(names) > 1:
        other = chance.choice([item for item in names if item != name[0]])
        yield f"{text[: name.start()]}{other}{text[name.end() :]}", "name"


def read_facts(files: Sequence[Path], most: int) -> list[str]:
    """Return the statements about the user in RealMem's memories, a sentence each. Raises InvalidInput."""
    facts: dict[str, None] = {}
    for file in files:
        content = read_json(file, MAX_BYTES)
        if not isinstance(content, Mapping) or "dialogues" not in content:
            raise InvalidInput(f"{str(file)!r} is none of RealMem's dialogues: it has no 'dialogues' with memories")
        for session in content["dialogues"]:
            for memory in session.get("extracted_memory", ()):
                for sentence in re.split(r"(?<=[.!?])\s+|\n+", str(memory["content"]).rpartition("】")[2]):
                    said = sentence.strip(" -*\n")
                    if 30 <= len(said) <= 200 and said.startswith("User ") and said.endswith("."):
                        facts[f"The user {said[5:]}"] = None
    if not facts:
        raise InvalidInput("these files hold no statements about the user")
    return list(facts)[:most]


def inject(facts: Sequence[str], chance: random.Random) -> list[Injection]:
    """Make paraphrases of a fifth of the facts, and near-misses."""
    names = sorted({name for text in facts for name in _NAME.findall(text)})
    made: list[Injection] = []
    known = frozenset(facts)
    able = [text for text in facts if next(paraphrases(text), None)]
    for text in chance.sample(able, min(len(able), round(SHARE * len(facts)))):
        other, kind = chance.choice(list(paraphrases(text)))
        made.append(Injection(text, other, kind, True))
    for text in facts:
        misses = near_misses(text, names, chance)
        made += [Injection(text, other, kind, False) for other, kind in misses if other not in known]
    return made


# --- measuring


class _Stored(NamedTuple):
    """What lies in the store: the injections by id, and the id of each fact."""

    injected: Mapping[str, Injection]
    facts: Mapping[str, str | None]

    def is_right(self, goes: str, stays: str) -> bool:
        """Whether a paraphrase and its fact were merged."""
        return any(
            one in self.injected
            and self.injected[one].paraphrase
            and self.facts.get(self.injected[one].fact) == other
            for one, other in ((goes, stays), (stays, goes))
        )  # fmt: skip

    def is_wrong(self, goes: str, stays: str) -> bool:
        """Whether a near-miss was merged. Of two facts of RealMem nobody labelled whether they say the same."""
        near = any(item in self.injected and not self.injected[item].paraphrase for item in (goes, stays))
        return near and not self.is_right(goes, stays)

    def kind(self, goes: str, stays: str) -> str:
        """The kind of the injection among two memories."""
        return next(self.injected[item].kind for item in (goes, stays) if item in self.injected)


def store_all(url: str, facts: Sequence[str], made: Sequence[Injection], settings: Mapping[str, Any]) -> _Stored:
    """Remember facts and injections as another program would have, without merging."""
    with Warden.open(url, {**settings, "merging": "off"}) as warden:
        me = warden.scope(user=USER)
        ids = {text: me.remember(text, category="activity").results[0].id for text in facts}
        written = [(me.remember(item.text, category="activity").results[0].id, item) for item in made]
    return _Stored({memory_id: item for memory_id, item in written if memory_id}, ids)


def contents(me: BoundScope) -> list[Memory]:
    """Return all active facts without what an undo may change."""
    found = me.find({"channel": "semantic"}, limit=10_000)
    return sorted((replace(item, version=0, updated_at=item.created_at) for item in found), key=lambda item: item.id)


class _Days(NamedTuple):
    merged: Mapping[str, str]
    ended: int
    seconds: Sequence[float]


def consolidate_by_day(warden: Warden, tick: Tick) -> _Days:
    """Run the job day by day until it says that nothing is left."""
    merged: dict[str, str] = {}
    seconds: list[float] = []
    ended, real = 0, clock.now
    try:
        for day in range(MAX_DAYS):
            clock.now = lambda ahead=timedelta(days=day): real() + ahead  # type: ignore[misc]
            begun = time.perf_counter()
            (run,) = warden.jobs.run("consolidate", user=USER)
            seconds.append(time.perf_counter() - begun)
            for change in run.changes:
                if change.verb == "merge":
                    merged[change.memory_id] = _STAYS.search(change.why)[1]  # type: ignore[index]
                else:
                    ended += 1
            tick(f"day {day + 1}")
            if not run.reason:
                break
    finally:
        clock.now = real
    return _Days(merged, ended, seconds)


def undo_all(me: BoundScope) -> None:
    """Take back every change of the job, the latest first."""
    entries = [item for item in me.journal.history(descending=True, limit=10_000) if item.actor == "upkeep"]
    for entry in entries:
        if entry.event in ("MERGE", "SUPERSEDE") and entry.new is not None:
            me.journal.undo(entry.seq)


def measure_duplicates(
    files: Sequence[Path],
    most: int,
    settings: Mapping[str, Any],
    circumstances: Mapping[str, str],
    tick: Tick = lambda what: None,
) -> DuplicatesReport:
    """Inject, consolidate and undo. most: facts at most."""
    facts = read_facts(files, most)
    made = inject(facts, random.Random(SEED))
    with tempfile.TemporaryDirectory(prefix="memwarden-bench-") as folder:
        url = f"sqlite:///{folder}/store.db"
        stored = store_all(url, facts, made, settings)
        tick("written")
        with Warden.open(url, settings) as warden:
            me = warden.scope(user=USER)
            before = contents(me)
            days = consolidate_by_day(warden, tick)
            undo_all(me)
            undone = json.dumps([repr(item) for item in contents(me)]) == json.dumps([repr(item) for item in before])
    pairs = list(days.merged.items())
    injected = stored.injected.values()
    return DuplicatesReport(
        circumstances,
        len(facts),
        dict(Counter(item.kind for item in injected if item.paraphrase)),
        dict(Counter(stored.kind(*pair) for pair in pairs if stored.is_right(*pair))),
        dict(Counter(item.kind for item in injected if not item.paraphrase)),
        [(stored.kind(*pair), *pair) for pair in pairs if stored.is_wrong(*pair)],
        days.ended,
        undone,
        len(days.seconds),
        max(days.seconds),
    )


def duplicates_markdown(report: DuplicatesReport) -> str:
    """Return the report."""
    rows = [
        (kind, str(report.merged.get(kind, 0)), str(count)) for kind, count in sorted(report.paraphrases.items())
    ]  # fmt: skip
    misses = ", ".join(f"{count} {kind}" for kind, count in sorted(report.near_misses.items()))
    parts = [
        "# Paraphrased duplicates",
        grid(("what", "value"), list(report.circumstances.items())),
        f"{report.facts:,} facts, {sum(report.paraphrases.values())} paraphrases, near-misses: {misses}. "
        f"{report.ended} facts were ended by a newer fact. {report.days} days, the slowest run "
        f"{number(report.slowest, 1)} s.",
        grid(("paraphrase", "merged", "of"), rows),
        *(f"Merged wrongly ({kind}): {goes} into {stays}" for kind, goes, stays in report.wrong[:10]),
        tell_gates(report.gates),
    ]
    return "\n\n".join(parts) + "\n"
