"""Counts what extraction keeps of labelled histories, and what it closes when that is outdated.

Each history is observed thread by thread through the public API and looked through to its end. A labelled fact is kept
when a memory that is no turn and no index card rests on a message that said it, and holds its value. A fact that was
outdated later is closed when every memory that keeps it has ended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from memwarden import Warden
from memwarden.errors import InvalidInput
from memwarden.records import CARD, Channel, Memory
from memwarden.surfaces.conversation_files import MAX_BYTES, read_json
from memwarden_bench.everyday import HistoryThread

# A memory holds a value when it has this share of its words.
VALUE_SHARE = 0.6
# A look through a thread leaves a few events of its model.
MAX_EVENTS = 100_000
# The worth of a fact: marginal, useful, must be remembered.
WORTHS = (1, 2, 3)
_SMALL = frozenset(
    "the a an of to in on at for and or is was with from by her his my our their user it that this der die das ein "
    "eine el la los las un una y de del en con".split()
)


class LabelledFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that a history tells.

    Attributes:
        value: what a memory of it has to hold. subject: whom it is about. said_in: ids of the messages that say it.
        valid_from, valid_to: days between which it is true. worth: see ``WORTHS``.
    """

    id: str
    statement: str
    value: str
    said_in: tuple[str, ...]
    subject: str = ""
    valid_from: str | None = None
    valid_to: str | None = None
    superseded_by: str | None = None
    worth: int = 2

    @property
    def outdated(self) -> bool:
        """Whether it is over at the history's end."""
        return self.valid_to is not None or self.superseded_by is not None


class LabelledHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A history with the facts that it tells. not_worth: ids of messages of which nothing should be kept."""

    id: str
    threads: tuple[HistoryThread, ...]
    facts: tuple[LabelledFact, ...]
    not_worth: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptFact:
    """What became of a labelled fact."""

    fact: LabelledFact
    kept: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class KeepFigures:
    """What was kept of histories.

    Attributes:
        kept: share of the facts of each worth. closed: share of the kept facts that are outdated.
        memories: how many were kept. junk: share of them that rest only on messages labelled as not worth keeping.
        messages, threads: how many there were. calls, tokens: of the model, where there is one.
    """

    kept: Mapping[int, float]
    closed: float
    memories: int
    junk: float
    messages: int
    threads: int
    calls: int
    tokens: int


def read_labelled(files: Iterable[Path]) -> list[LabelledHistory]:
    """Read histories with facts. Raises InvalidInput that says what is wrong and where."""
    found = []
    for file in files:
        try:
            found.append(msgspec.convert(read_json(file, MAX_BYTES), LabelledHistory))
        except msgspec.ValidationError as error:
            raise InvalidInput(f"{str(file)!r} is no history with labelled facts: {error}") from None
    return found


def holds_value(text: str, value: str) -> bool:
    """Whether a text holds a value, or most of its words."""
    low, wanted = text.lower(), set(_content_words(value))
    held = sum(word in low for word in wanted)
    return value.lower() in low or (bool(wanted) and held >= VALUE_SHARE * len(wanted))


def _content_words(text: str) -> list[str]:
    words = [word for word in re.findall(r"[\w'’.-]+", text.lower()) if word not in _SMALL]
    return words + [sign for sign in text if "\u3040" <= sign <= "\u9fff"]


def measure_kept(histories: Sequence[LabelledHistory], settings: Mapping[str, Any]) -> KeepFigures:
    """Observe histories, look them through, and count what was kept. settings: of the warden."""
    facts: list[KeptFact] = []
    kept_by: list[tuple[LabelledHistory, Sequence[frozenset[str]]]] = []
    calls = tokens = 0
    for history in histories:
        with TemporaryDirectory() as folder, Warden.open(f"sqlite:///{folder}/keep.db", dict(settings)) as warden:
            rests = _observe(warden, history)
            facts += [_judge(fact, rests) for fact in history.facts]
            kept_by.append((history, [sources for _, sources in rests]))
            me = warden.scope(user=history.id)
            spent = me.journal.events(node="episodic", op="model", limit=MAX_EVENTS)
            calls += sum(event.count for event in spent if event.reason == "asked")
            tokens += sum(event.count for event in spent if event.reason == "tokens")
    memories = sum(len(sources) for _, sources in kept_by)
    junk = sum(bool(one) and one <= {*history.not_worth} for history, sources in kept_by for one in sources)
    return KeepFigures(
        kept={worth: _share([item.kept for item in facts if item.fact.worth == worth]) for worth in WORTHS},
        closed=_share([item.closed for item in facts if item.kept and item.fact.outdated]),
        memories=memories,
        junk=junk / memories if memories else 0.0,
        messages=sum(len(thread.messages) for history in histories for thread in history.threads),
        threads=sum(len(history.threads) for history in histories),
        calls=calls,
        tokens=tokens,
    )


def keep_markdown(found: KeepFigures) -> str:
    """Return the figures as Markdown."""
    rows = [(f"kept, of worth {worth}", _figure(found.kept[worth])) for worth in sorted(WORTHS, reverse=True)]
    rows += [
        ("closed, of the kept that are outdated", _figure(found.closed)),
        ("memories", str(found.memories)),
        ("memories of 100 messages", f"{100 * found.memories / found.messages:.1f}"),
        ("junk", _figure(found.junk)),
        ("threads", str(found.threads)),
        ("questions to the model", str(found.calls)),
        ("tokens of 100 messages, where the endpoint counts them", f"{100 * found.tokens / found.messages:.0f}"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)])


def _figure(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.3f}"


def _observe(warden: Warden, history: LabelledHistory) -> list[tuple[Memory, frozenset[str]]]:
    """Return the memories that are kept of a history, each with the ids of its messages."""
    for thread in history.threads:
        me = warden.scope(user=history.id, thread=thread.id)
        me.observe([_as_observed(message) for message in thread.messages])
        me.extract_pending()
    me = warden.scope(user=history.id)
    ended = me.find({"valid_to": {"$gte": datetime.min.replace(year=2).isoformat() + "Z"}}, limit=100_000)
    there = {item.id: item for item in [*ended, *me.find(limit=100_000)]}.values()
    return [
        (item, frozenset(item.sources))
        for item in there
        if item.channel not in (Channel.TURN, Channel.STATE) and CARD not in item.tags
    ]


def _as_observed(message: Any) -> dict[str, Any]:
    given = {"id": message.id, "role": message.role, "content": message.content}
    return {**given, "created_at": message.created_at, **({"name": message.name} if message.name else {})}


def _judge(fact: LabelledFact, rests: Sequence[tuple[Memory, frozenset[str]]]) -> KeptFact:
    mine = [item for item, sources in rests if sources & {*fact.said_in} and holds_value(item.text, fact.value)]
    return KeptFact(fact, bool(mine), bool(mine) and all(item.valid_to is not None for item in mine))


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else float("nan")
