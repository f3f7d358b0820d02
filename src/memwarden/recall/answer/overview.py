"""What several memories say in one item: a person at a glance, by attribute, or what else answers a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.filters import Condition, Where
from memwarden.recall.answer.excerpt import one_line
from memwarden.recall.answer.frame import fit_to_show, frame_memory
from memwarden.recall.answer.gates import mask_without_cards
from memwarden.recall.answer.pack import ALWAYS_SHARE
from memwarden.recall.answer.render import by_clock_of
from memwarden.recall.answer.searches import QueryContext
from memwarden.recall.answer.select import rests_on_ended
from memwarden.recall.index.columns import Mask, TableRow
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.rank.ranking import Ranking
from memwarden.records import OVERVIEW_ID, Channel, Memory, Overview, OverviewLine, RecallItem, Trust, Why
from memwarden.statements.reader import StatementWeights, load_weights
from memwarden.statements.statement import MAX_CHARACTERS, NONE, SORTS
from memwarden.statements.wording import SELF, may_name_place
from memwarden.text.flags import UNANSWERING
from memwarden.text.tokenizer import TokenCounter, term_id, terms

# The chance that a clause states the attribute, from which on it is told.
MIN_CHANCE: Final = 0.45
# What is less sure, from here on, stands below all that is sure, in its own words alone.
MIN_UNSURE: Final = 0.15
# A later change or end of a value counts although it is less sure than the value: "sold it today!".
MIN_CHANGE: Final = 0.2
# What only names somebody stands last.
MENTIONED: Final = 0.01
# A value is told by the newest statement that is nearly as sure as the surest of its attribute.
NEAR_BEST: Final = 0.7
# A shorter fragment ("in April") says little without what stood before it; a full-width sign counts as two.
MIN_SIGNS: Final = 12
# Of an attribute that holds several values at once the newest are told.
MAX_VALUES: Final = 3
# Characters of a value.
MAX_WORDS: Final = 90
MAX_LINES: Final = 60
# What has been said again and again matters more: each further statement of an attribute raises it by this share.
MENTION_SHARE: Final = 0.15
MAX_MENTIONS: Final = 5
# A change that is younger is marked as new.
LATELY_DAYS: Final = 45


# Who is called so with a name is the partner, and so surely.
PARTNERS: Final = ("relation:partner", "relation:wife", "relation:husband")
PARTNER: Final = "partner's name"
PARTNER_CHANCE: Final = 0.8
# Nearly everybody has one, so that an end of it is a move: "moved in yesterday" names no place, the line before does.
HOME: Final = "home city"


class Value(NamedTuple):
    """A statement that may stand in an overview.

    Attributes:
        owner: whose value. rank: what matters more stands higher. name: the value, where the words tell more than it.
    """

    owner: str
    attribute: str
    row: TableRow
    rank: float
    name: str = ""


def open_values(
    index: NamespaceIndex,
    allowed: Mask,
    about: str | None,
    weights: StatementWeights,
    is_ended: Callable[[int], bool] = lambda place: False,
) -> list[Value]:
    """Return the open values of a person by the statements at allowed places, what matters most first.

    about: a name or a relation ("sister"); None for those who speak. is_ended: whether a turn says what is over.
    """
    chains: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
    unsure: list[tuple[str, str, TableRow]] = []
    read = index.statements.rows(allowed, MIN_UNSURE)
    about = about or _only_known(read)
    speakers = [name.title() for name in index.view.speakers]
    if about is None:
        # "My wife Ana is a vet" says who the wife is, whatever else it tells.
        for each in index.statements.rows_about(allowed, PARTNERS):
            if any(key.startswith("name:") for key in each.subjects) and not is_ended(each.place):
                partner = each._replace(chance=PARTNER_CHANCE, sort=SORTS.index("state"))
                chains[speakers[0] if len(speakers) == 1 else "", PARTNER].append(partner)
    for row in read:
        owner = _owner(row.subjects, about, speakers)
        attribute = weights.name(row.code)
        if owner is None or attribute == NONE or row.end - row.start < MIN_SIGNS // 2 or is_ended(row.place):
            continue
        if row.chance >= (MIN_CHANCE if SORTS[row.sort] == "state" else MIN_CHANGE):
            chains[owner, attribute].append(row)
        else:
            unsure.append((owner, attribute, row))
    said = index.columns.number("created_at")
    many = {name for name, flag in zip(weights.attributes, weights.many, strict=True) if flag}
    _end_kin(chains, weights, said)
    found: list[Value] = []
    for (owner, attribute), rows in chains.items():
        rows.sort(key=lambda row: (int(said[row.place]), row.chance))
        surest = max(row.chance for row in rows)
        rows = [row for row in rows if row.chance >= NEAR_BEST * surest or SORTS[row.sort] != "state"]
        mentions = min(len({row.place for row in rows}), MAX_MENTIONS)
        rank = surest * (1 + MENTION_SHARE * mentions)
        found += [
            Value(owner, attribute, row, rank, _name_of_partner(row, attribute))
            for row in (_homes(rows) if attribute == HOME else _still_open(rows, attribute in many))
        ]
    kin = dict(zip(weights.attributes, weights.kin.tolist(), strict=True))
    newest: dict[tuple[str, str | int], int] = {}
    for (owner, attribute), rows in chains.items():
        for key in (attribute, kin[attribute] or attribute):
            newest[owner, key] = max(newest.get((owner, key), -1), *(int(said[row.place]) for row in rows))
    told = {value.row.place for value in found}
    # An unsure value that is older than a sure one of its attribute may be over.
    found += [
        Value(owner, "", row, row.chance)
        for owner, attribute, row in unsure
        if row.place not in told and said[row.place] > newest.get((owner, kin[attribute] or attribute), -1)
    ]
    if about is not None:
        told = {value.row.place for value in found}
        places = [place for place in _mentions(index, allowed, about) if place not in told and not is_ended(place)]
        found += [Value(about, "", _whole_text(place), MENTIONED) for place in places[: -MAX_VALUES - 1 : -1]]
    return sorted(found, key=lambda value: (-value.rank, value.owner, value.attribute))[:MAX_LINES]


def _name_of_partner(row: TableRow, attribute: str) -> str:
    """The name alone: what else is told beside it may be over."""
    if attribute != PARTNER or not any(key in PARTNERS for key in row.subjects):
        return ""
    return next((key.partition(":")[2] for key in row.subjects if key.startswith("name:")), "")


def _end_kin(
    chains: dict[tuple[str, str], list[TableRow]], weights: StatementWeights, said: npt.NDArray[np.int64]
) -> None:
    """Take out what a later change of a kin attribute ended: who has a new employer has another job, too."""
    kin = dict(zip(weights.attributes, weights.kin.tolist(), strict=True))
    ends: dict[tuple[str, int], tuple[int, int]] = {}
    for (owner, attribute), rows in chains.items():
        for row in rows:
            if kin[attribute] and SORTS[row.sort] != "state" and row.chance >= MIN_CHANCE:
                at = (int(said[row.place]), row.place)
                ends[owner, kin[attribute]] = max(ends.get((owner, kin[attribute]), at), at)
    for (owner, attribute), rows in list(chains.items()):
        least = ends.get((owner, kin[attribute]), (0, 0))
        if kept := [row for row in rows if (int(said[row.place]), row.place) >= least]:
            chains[owner, attribute] = kept
        else:
            del chains[owner, attribute]


def _only_known(rows: Sequence[TableRow]) -> str | None:
    """The name that is told most of, where nobody speaks of themselves: facts that were written in the third person."""
    if any(SELF in row.subjects for row in rows):
        return None
    names = Counter(key.partition(":")[2] for row in rows for key in row.subjects if key.startswith("name:"))
    return names.most_common(1)[0][0].title() if names else None


def _mentions(index: NamespaceIndex, allowed: Mask, about: str) -> list[int]:
    """The places that name somebody and tell something, oldest first."""
    names = [set(index.postings(term_id(term))[0].tolist()) for term in terms(about)]
    places = set[int].intersection(*names) if names else set()
    tells = allowed & ((index.flags & UNANSWERING) == 0)
    said = index.columns.number("created_at")
    return sorted((place for place in places if tells[place]), key=lambda place: int(said[place]))


def _whole_text(place: int) -> TableRow:
    return TableRow(place, 0, MENTIONED, SORTS.index("state"), (), 0, MAX_CHARACTERS)


def _still_open(rows: Sequence[TableRow], many: bool) -> list[TableRow]:
    """The newest value of a chain, or its last few where several hold at once; nothing after an end."""
    found: dict[int, TableRow] = {}
    for row in rows:
        if SORTS[row.sort] == "end":
            found.clear()
        elif many:
            found[row.place] = row
        else:
            found = {row.place: row}
    return list(found.values())[-MAX_VALUES:]


def _homes(rows: Sequence[TableRow]) -> list[TableRow]:
    """What was said last of a home, the newest first; of these those count that stand after the last named place."""
    newest = {row.place: row for row in rows[::-1]}
    return list(newest.values())[:MAX_VALUES]


def _owner(subjects: Sequence[str], about: str | None, speakers: Sequence[str]) -> str | None:
    """Whose value it is: "" for a speaker without a name; None for somebody who is not asked about.

    speakers: who speaks by name; where a single person does, what is said without a name is that person's.
    """
    if about is not None:
        wanted = about.casefold()
        return about if f"name:{wanted}" in subjects or f"relation:{wanted}" in subjects else None
    if SELF not in subjects:
        return None
    # "Aino and I moved" has a name that speaks nowhere.
    named = (name for name in speakers if f"name:{name.casefold()}" in subjects)
    return next(named, speakers[0] if len(speakers) == 1 else "")


def write_overview(
    values: Sequence[Value],
    memories: Mapping[int, Memory],
    now: datetime,
    budget: int,
    count: Callable[[str], int],
) -> Overview:
    """Return as many values as fit the budget, as lines that name their sources.

    memories: those of the values, by place; values without are left out. count: tokens of a text.
    """
    lines: list[OverviewLine] = []
    told: dict[int, list[tuple[int, int]]] = {}
    housed: set[str] = set()
    text = ""
    for value in values:
        memory = memories.get(value.row.place)
        if memory is None:
            continue
        value = _narrow_to_name(value, memory.text)
        row = value.row
        if value.attribute == HOME and value.owner in housed:
            continue
        if _width(memory.text[row.start : row.end]) < MIN_SIGNS and not value.name:
            if len(memory.text) > MAX_WORDS:
                continue
            row = row._replace(start=0, end=len(memory.text))
            value = value._replace(row=row)
        if any(start <= row.start and row.end <= end for start, end in told.get(row.place, ())):
            continue  # its words stand in a line above
        line = _line(value, memory, now)
        tried = _join([*lines, line])
        if count(tried) > budget:
            continue
        lines.append(line)
        told.setdefault(row.place, []).append((row.start, row.end))
        if value.attribute == HOME and may_name_place(memory.text[row.start : row.end]):
            housed.add(value.owner)
        text = tried
    return Overview(text, count(text) if text else 0, tuple(lines))


def _narrow_to_name(value: Value, text: str) -> Value:
    start = text.lower().find(value.name, value.row.start) if value.name else -1
    if start < 0:
        return value._replace(name="")
    return value._replace(row=value.row._replace(start=start, end=start + len(value.name)))


async def read_overview(
    ctx: QueryContext, told: Where, about: str | None, budget: int, count: TokenCounter
) -> tuple[Overview, list[Memory]]:
    """Return an overview and the memories that it rests on. told: what a memory fulfils that may be told."""
    index = ctx.index
    of_model = index.mask((Condition("role", "$eq", "assistant"),))
    valid = index.valid(ctx.now)
    allowed = index.mask(told) & ~of_model
    allowed = allowed if valid is None else allowed & valid
    # Index cards and quotations only stand in for turns: "allergic, nuts, far" is no value, and a turn is told once.
    own = mask_without_cards(index, ())
    allowed = allowed if own is None else allowed & own
    is_ended = cache(partial(rests_on_ended, index, valid, own))
    values = open_values(index, allowed, about, load_weights(), is_ended)
    ids = {value.row.place: index.columns.ids[value.row.place] for value in values}
    stored = {memory.id: memory for memory in await ctx.read(list(dict.fromkeys(ids.values())))}
    memories = {place: stored[memory_id] for place, memory_id in ids.items() if memory_id in stored}
    found = write_overview(values, memories, ctx.now, budget, count)
    return found, [stored[memory_id] for memory_id in found.sources]


async def find_overview_item(
    ctx: QueryContext,
    told: Where,
    ranking: Ranking,
    budgets: tuple[int | None, int],
    count: TokenCounter,
) -> tuple[list[RecallItem], list[Memory], dict[str, tuple[str, ...]]]:
    """Return the overview as an item of a block, what it rests on, and by id what it makes superfluous.

    budgets: the tokens of the block, and those that are wanted for the overview.
    """
    whole, wanted = budgets
    budget = wanted if whole is None else min(wanted, int(whole * ALWAYS_SHARE))
    if not ctx.follows or budget < 1:  # a part of a large namespace does not know all that is open
        return [], [], {}
    overview, memories = await read_overview(ctx, told, None, budget, count)
    if not overview:
        return [], [], {}
    places = [place for memory in memories if (place := ctx.index.place(memory.id)) is not None]
    score = max((float(ranking.scores[place]) for place in places if place < len(ranking.scores)), default=0.0)
    note = "an overview of open values, which the request asked for"
    item = make_overview_item(word_overview(overview), memories, ctx.now, score, note)
    return [item], memories, {memory.id: (item.id,) for memory in memories if tells_whole(overview, memory)}


def word_overview(overview: Overview) -> str:
    """Return an overview as a single line."""
    owners = {line.about for line in overview.lines}
    told = [
        f"{f'{line.about}, ' if len(owners) > 1 and line.about else ''}{_label(line)}{line.value}"
        for line in overview.lines
    ]
    return f"At a glance: {'; '.join(told)}"


def make_overview_item(text: str, memories: Sequence[Memory], now: datetime, score: float, note: str) -> RecallItem:
    """Return what several memories say as an item of an answer; it is trusted as the least of them is."""
    sources = tuple(memory.id for memory in memories)
    trusts = list(Trust)
    # Its words are framed already, line by line.
    memory = Memory(
        id=OVERVIEW_ID,
        namespace=memories[0].namespace,
        text=text,
        created_at=now,
        updated_at=now,
        channel=Channel.INSIGHT,
        sources=sources,
        trust=max((memory.trust for memory in memories), key=lambda trust: trusts.index(Trust(trust))),
    )
    return RecallItem(
        id=OVERVIEW_ID,
        text=text,
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=score,
        sources=sources,
        created_at=now,
        explain=partial(Why, note=note),
        memory=memory,
    )


def tells_whole(overview: Overview, memory: Memory) -> bool:
    """Whether the overview says all that a memory says."""
    said = one_line(memory.text)
    return any(line.source == memory.id and len(line.value) >= len(said) for line in overview.lines)


def _line(value: Value, memory: Memory, now: datetime) -> OverviewLine:
    words = one_line(fit_to_show(memory, memory.text[value.row.start : value.row.end]))
    label, _, rest = words.partition(": ")
    words = rest if rest and label.casefold() == value.attribute else words  # "project budget: Budget is 15k"
    words = words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1].rstrip() + "…"
    words = frame_memory(memory, words)
    changed = SORTS[value.row.sort] == "change" and (now - memory.created_at).days <= LATELY_DAYS
    return OverviewLine(value.owner, value.attribute, words, by_clock_of(memory, memory.created_at), changed, memory.id)


def _label(line: OverviewLine) -> str:
    return f"{line.attribute}: " if line.attribute else ""


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)


def _join(lines: Sequence[OverviewLine]) -> str:
    """The lines under the name of whom they are about."""
    owners = list(dict.fromkeys(line.about for line in lines))
    parts: list[str] = []
    for owner in owners:
        if owner:
            parts.append(f"{owner}:")
        parts += [
            f"- {_label(line)}{line.value} ({'new, ' if line.changed else ''}{line.said_at:%b %Y})"
            for line in lines
            if line.about == owner
        ]
    return "\n".join(parts)
