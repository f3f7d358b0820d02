"""What is certain of a person at a glance: facts, else quotations by topic."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Final, NamedTuple

from memwarden.categories import DEFAULT_CATEGORY
from memwarden.filters import Condition, Where
from memwarden.recall.answer.excerpt import one_line
from memwarden.recall.answer.frame import fit_to_show, frame_memory
from memwarden.recall.answer.gates import mask_without_cards
from memwarden.recall.answer.pack import ALWAYS_SHARE
from memwarden.recall.answer.render import by_clock_of
from memwarden.recall.answer.searches import QueryContext
from memwarden.recall.answer.select import rests_on_ended
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.rank.ranking import Ranking
from memwarden.records import (
    OVERVIEW_ID,
    QUOTATION,
    Channel,
    Memory,
    Overview,
    OverviewLine,
    RecallItem,
    Trust,
    Why,
    join_parts,
)
from memwarden.statements.lasting import (
    SINGLE,
    LastingWords,
    adds_no_claim,
    begins_with_phrase,
    confirms_beginning,
    corrects,
    describes,
    ends_alone,
    find_lasting,
    is_clear,
    is_context_over,
    is_replaced_by,
    needs_context,
    opens_alone,
    read_on,
    tells_change,
)
from memwarden.statements.named_relatives import PET, POST, NamedRelative, find_named_relatives
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import normalize_text
from memwarden.text.lexicon import LASTING_TOPICS
from memwarden.text.sentences import SentenceSpan, split_spans
from memwarden.text.tokenizer import TokenCounter, term_id, terms

# Maximum facts, and maximum turns, of a person that are read for an overview, newest first.
MAX_READ: Final = 600
# Maximum sentences of a speaker that are compared, newest first.
MAX_SENTENCES: Final = 800
# Maximum lines. The budget of tokens is the usual limit: 1,300 tokens hold about 60.
MAX_LINES: Final = 200
# Characters of a line.
MAX_WORDS: Final = 140
# Days. A younger fact that ended another is marked as changed.
LATELY_DAYS: Final = 45
# Topics of what several speakers may have in common, so that each may say that it changed.
_SHARED: Final = ("codes", "rules", "upcoming")
# Topics that the next sentences describe.
_DESCRIBED: Final = ("home", "things", "pets")
_NUMBER: Final = re.compile(r"\d")
_ASKS: Final = re.compile(r"[?？]")
# A letter of a script with spaces between words.
_SPACED: Final = re.compile(r"[^\W\d_\u0e00-\u0eff\u1000-\u109f\u2e80-\U0003ffff]")
# Channels of what was stated or extracted as a fact.
FACTS: Final = (Channel.SEMANTIC, Channel.EPISODIC)


class Line(NamedTuple):
    """A line before it is worded: a memory, what it says in a topic, whose words it quotes, and its sentence."""

    memory: Memory
    words: str
    topic: str
    owner: str = ""
    sentence: LastingWords | None = None


# Sentences of a speaker with their turns.
Sentences = Sequence[tuple[Memory, LastingWords]]


async def read_overview(
    ctx: QueryContext, told: Where, about: str | None, budget: int, count: TokenCounter, most: int | None = MAX_READ
) -> tuple[Overview, list[Memory]]:
    """Return an overview and the memories that it rests on.

    Facts that somebody stated or a model extracted come first, then quotations of what the person says of themselves
    in plain words, by topic. Nothing is concluded, and what is over or doubtful is left out.

    Args:
        told: what a memory fulfils that may be shown.
        about: a name or a relation, of which facts and quotations are left. None: the person.
        budget: tokens of the text. most: how many facts and how many turns are read, the newest; None for all.
    """
    index = ctx.index
    valid = index.valid(ctx.now)
    allowed = index.mask(told) & ~index.mask((Condition("role", "$eq", "assistant"),))
    allowed = allowed if valid is None else allowed & valid
    own = mask_without_cards(index, ())
    allowed = allowed if own is None else allowed & own
    of_facts = allowed & index.mask((Condition("channel", "$in", FACTS),))
    facts = _newest(index, of_facts if about is None else of_facts & _mentioning(index, about), most)
    # All turns are read, because a later turn takes a line back without the name.
    own_turns = _newest(index, allowed & index.view.turns, most)
    turns = [place for place in own_turns if not rests_on_ended(index, valid, own, place)]
    ids = [index.columns.ids[place] for place in (*facts, *turns)]
    stored = {memory.id: memory for memory in await ctx.read(ids)}
    shown = [stored[memory_id] for memory_id in ids if memory_id in stored]
    lines = await asyncio.to_thread(choose_lines, shown, ctx.now, about)
    overview = write_overview(lines, ctx.now, budget, count)
    return overview, [stored[memory_id] for memory_id in overview.sources]


def _newest(index: NamespaceIndex, allowed: Mask, most: int | None) -> list[int]:
    """Return allowed places, newest first, at most so many."""
    said = index.columns.number("created_at")
    places = [int(place) for place in allowed.nonzero()[0]]
    return sorted(places, key=lambda place: -int(said[place]))[:most]


def _mentioning(index: NamespaceIndex, about: str) -> Mask:
    """Mask of the memories that hold a name."""
    mask = index.mask(())
    for term in terms(about):
        held = mask & False
        held[index.postings(term_id(term))[0]] = True
        mask = mask & held
    return mask


def choose_lines(memories: Sequence[Memory], now: datetime, about: str | None) -> list[Line]:
    """Return the lines of an overview, what matters more first.

    memories: facts and turns. What will be true later is left out. Facts are ordered by pin, importance and age. Of
    what a turn says only sentences count in which its speaker says plainly what lasts, and that no later turn takes
    back. A text from outside is not certain.

    about: a name or a relation. The facts are about it already. Quotations must name it or have this speaker.
    """
    memories = join_parts(memory for memory in memories if memory.trust != Trust.EXTERNAL)
    memories = [memory for memory in memories if not _holds_later(memory, now)]
    facts = [memory for memory in memories if not _is_quoted(memory) and not _is_past(memory, now)]
    facts.sort(key=lambda memory: (not memory.pinned, -memory.importance, -memory.created_at.timestamp()))
    lines = [_read_fact(memory) for memory in facts]
    covered = {source for memory in facts for source in memory.sources}
    turns = [memory for memory in memories if _is_quoted(memory) and memory.id not in covered]
    lines, quoted = _keep_newest(lines, _quote(turns, now), turns)
    if about is not None:
        quoted = [line for line in quoted if _has_words(line.owner, about) or _has_words(line.words, about)]
    return [*lines, *quoted][:MAX_LINES]


def _holds_later(memory: Memory, now: datetime) -> bool:
    """Whether a memory will be true later. An appointment with a beginning and an end is known today."""
    return memory.valid_from is not None and memory.valid_from > now and memory.valid_to is None


def _is_quoted(memory: Memory) -> bool:
    """Whether sentences of a memory are quoted: of a turn, and of what stayed of a corrected turn."""
    return memory.channel == Channel.TURN or QUOTATION in memory.tags


def _has_words(text: str, about: str) -> bool:
    """Whether a text has the words of a name or a relation, in this order."""
    named = normalize_text(about)
    edges = (r"(?<!\w)", r"(?!\w)") if _SPACED.search(named) else ("", "")
    return bool(named) and re.search(re.escape(named).join(edges), normalize_text(text)) is not None


def _read_fact(memory: Memory) -> Line:
    """A line of a fact. A fact that is a sentence of the speaker in plain words has the topic of that."""
    said = find_lasting(memory.text, memory.since)
    sentence = said[0] if len(said) == 1 and said[0].text == memory.text.strip() else None
    topic = _topic_of(memory) or (sentence.topic if sentence is not None else "")
    return Line(memory, memory.text, topic, memory.name or "", sentence)


def _keep_newest(
    facts: Sequence[Line], quoted: Sequence[Line], turns: Sequence[Memory]
) -> tuple[list[Line], list[Line]]:
    """Leave out quotations that a newer fact of the same person takes back, and facts that a newer turn does.

    A fact is as new as the day since when it holds. quoted: of the turns.
    """
    names = {turn.name for turn in turns if turn.name}

    def is_same(fact: Line, name: str | None) -> bool:
        return fact.owner == (name or "") or (not fact.owner and len(names) < 2)

    kept = [
        fact
        for fact in facts
        if fact.memory.pinned
        or not (
            any(is_same(fact, line.owner) and _has_newer_home(fact, line) for line in quoted)
            or any(is_same(fact, turn.name) and _is_ended_by(fact, turn) for turn in turns)
        )
    ]
    left = [line for line in quoted if not any(is_same(fact, line.owner) and _takes_back(fact, line) for fact in facts)]
    return kept, left


def _has_newer_home(fact: Line, line: Line) -> bool:
    """Whether a fact and a newer quotation name two homes."""
    if fact.sentence is None or line.sentence is None or line.memory.since <= fact.memory.since:
        return False
    return _name_homes(fact.sentence, line.sentence)


def _is_ended_by(fact: Line, turn: Memory) -> bool:
    """Whether a turn after a fact says that its home or job is over, or that another is so now."""
    words = fact.sentence
    if words is None or words.topic not in SINGLE or turn.created_at <= max(fact.memory.created_at, fact.memory.since):
        return False
    said = find_lasting(turn.text, turn.created_at)
    return any(is_replaced_by(words, later) and ends_alone(words, later) for later in said)


def _takes_back(fact: Line, line: Line) -> bool:
    """Whether a fact takes back an older quotation. Two sentences about jobs may both be true."""
    if fact.sentence is None or line.sentence is None or fact.memory.since <= line.memory.since:
        return False
    if fact.topic == line.topic and line.topic in SINGLE:
        return _name_homes(line.sentence, fact.sentence)
    return is_replaced_by(line.sentence, fact.sentence)


def _name_homes(first: LastingWords, second: LastingWords) -> bool:
    """Whether both sentences name the place of a home: not "I live alone", "I live with two cats"."""
    return first.topic == second.topic == "home" and all(
        words.read.names or (words.content and not words.read.relations and not words.read.heads & words.content)
        for words in (first, second)
    )


def _topic_of(memory: Memory) -> str:
    return "" if memory.category == DEFAULT_CATEGORY else memory.category


def _is_past(memory: Memory, now: datetime) -> bool:
    """Whether a memory tells of an event whose last day is over."""
    if memory.channel != Channel.EPISODIC:
        return False
    days = [span.last for span in spans_in(memory.text, memory.created_at)]
    return (max(days) if days else memory.since.date()) < now.date()


def _quote(turns: Sequence[Memory], now: datetime) -> list[Line]:
    """What speakers say of themselves that lasts, by topic, newest first, and of days to come the next first."""
    names = {turn.name for turn in turns if turn.name}
    only = names.pop() if len(names) == 1 else ""
    by_speaker: dict[str, list[Memory]] = {}
    for turn in sorted(turns, key=lambda turn: turn.created_at, reverse=True):
        by_speaker.setdefault(turn.name or only, []).append(turn)
    sentences = {speaker_name: _read_sentences(said) for speaker_name, said in by_speaker.items()}
    lines = [
        line
        for speaker_name, said in by_speaker.items()
        for line in _quote_speaker(speaker_name, said, sentences[speaker_name], now)
    ]
    if len(sentences) > 1:
        lines = [line for line in lines if not _is_changed_by_others(line, sentences)]
    # Of the newest memory first, since sorting keeps the order of equals.
    lines.sort(key=lambda line: -line.memory.created_at.timestamp())
    return sorted(lines, key=lambda line: (LASTING_TOPICS.index(line.topic), _day_to_come(line)))


def _day_to_come(line: Line) -> date:
    """The day to come that a line names, so that the next day is first."""
    named = line.sentence.last_day if line.sentence is not None and line.topic == "upcoming" else None
    return named or date.min


def _read_sentences(turns: Sequence[Memory]) -> Sentences:
    """The sentences of a speaker, newest first. turns: newest first."""
    sentences: list[tuple[Memory, LastingWords]] = []
    for turn in turns:
        # What is older than the newest sentences cannot be compared with all that came later.
        if len(sentences) < MAX_SENTENCES:
            sentences.extend((turn, each) for each in reversed(find_lasting(turn.text, turn.created_at)))
    return sentences


def _quote_speaker(speaker_name: str, turns: Sequence[Memory], sentences: Sentences, now: datetime) -> list[Line]:
    """Quote a speaker. turns, sentences: newest first."""
    lines = [
        Line(turn, _quote_around(turn, said, sentences), words.topic, speaker_name, words)
        for number, (turn, said) in enumerate(sentences)
        if said.topic
        and len(said.text) <= MAX_WORDS
        and not _is_over(words := read_on(said, now.date()), now)
        and not _is_taken_back(words, sentences[:number])
        and not is_context_over(words, turn.text, (later for _, later in sentences[:number]))
    ]
    lines = [line for line in lines if _is_clear(line)]
    return [*lines, *_name_relatives(speaker_name, turns, sentences, lines)]


def _is_taken_back(words: LastingWords, later: Sentences) -> bool:
    """Whether any of the later sentences of a speaker takes a sentence back."""
    return any(
        is_replaced_by(words, other) and not confirms_beginning(words, other, turn.created_at.date())
        for turn, other in later
    )


def _is_clear(line: Line) -> bool:
    sentence = line.sentence
    if sentence is None:
        return True
    # "I start on Monday" and "I got the job" need the words that name the job.
    news = line.topic == "work" and (sentence.announces_job or "work" in sentence.begins)
    # Of an announced job the verb is part of the content.
    if news and len(sentence.core) <= sentence.announces_job and line.words == sentence.text:
        return False
    return is_clear(line.words, line.topic, sentence.read.language)


def _is_over(words: LastingWords, now: datetime) -> bool:
    """Whether the day to come that a sentence names is over."""
    return words.topic == "upcoming" and (words.last_day is None or words.last_day < now.date())


def _is_changed_by_others(line: Line, sentences: Mapping[str, Sentences]) -> bool:
    """Whether another speaker later said something of the same code, agreement or day to come."""
    words = line.sentence
    return (
        words is not None
        and words.topic in _SHARED
        and any(
            later.created_at > line.memory.created_at and is_replaced_by(words, other)
            for speaker_name, said in sentences.items()
            if speaker_name != line.owner
            for later, other in said
        )
    )


def _quote_around(turn: Memory, words: LastingWords, sentences: Sentences) -> str:
    """The sentence of a line, of what is in force and habits of an unnamed subject with the sentences around it.

    A thing or a pet has the sentences after it, which describe it: "We have a car. A blue Yaris."

    sentences: of the speaker.
    """
    spans = list(split_spans(turn.text, small_starts=True))
    place = next((place for place, span in enumerate(spans) if span.text == words.text), None)
    if place is None:
        return words.text
    described = words.topic in _DESCRIBED
    corrected = place + 1 < len(spans) and corrects(spans[place + 1].text, words.read.language)
    if not (described or corrected or needs_context(words)):
        return words.text
    later = [said for other, said in sentences if other.created_at > turn.created_at]

    def fits(added: SentenceSpan, start: int, end: int) -> bool:
        if words.topic == "home" and _completes_home(added.text, words, turn.created_at):
            return _fits(turn.text, added, start, end)
        if words.topic == "home" and added.start < spans[place].start:
            return False
        if described and not describes(added.text, words):
            return False
        return _fits(turn.text, added, start, end) and adds_no_claim(added.text, words.read.language, later)

    first, last = place, place + corrected
    extends = words.topic == "home" or (needs_context(words) and not begins_with_phrase(words))
    while first > 0 and extends and fits(spans[first - 1], spans[first - 1].start, spans[last].end):
        first -= 1
    while first < place and not opens_alone(spans[first].text, words):
        first += 1
    while last + 1 < len(spans) and fits(spans[last + 1], spans[first].start, spans[last + 1].end):
        last += 1
    return turn.text[spans[first].start : spans[last].end]


def _completes_home(text: str, words: LastingWords, at: datetime) -> bool:
    """Whether one of two sentences names the town and the other the house: "I moved to Ulm. My address is Gasse 3."."""
    numbered = [bool(_NUMBER.search(each)) for each in (text, words.text)]
    return numbered[0] != numbered[1] and any(said.topic == "home" for said in find_lasting(text, at))


def _fits(text: str, added: SentenceSpan, start: int, end: int) -> bool:
    """Whether a quotation of a turn may grow by a sentence: neither too long nor a question."""
    return end - start <= MAX_WORDS and not _ASKS.search(added.text) and "\n" not in text[start:end]


def _name_relatives(
    speaker_name: str,
    turns: Sequence[Memory],
    sentences: Sentences,
    lines: Sequence[Line],
) -> list[Line]:
    """Quote how a speaker names relatives and pets, of each the newest words. sentences, lines: of the speaker."""
    named: list[tuple[Memory, NamedRelative]] = []
    for turn in turns:
        for relative in find_named_relatives(turn.text):
            if not any(relative.is_replaced_by(newer) for _, newer in named):
                named.append((turn, relative))
    return [
        Line(turn, relative.text, _topic_of_relation(relative.relation), speaker_name)
        for turn, relative in named
        if not (relative.is_subject or any(relative.name in line.words.lower() for line in lines))
        and (not relative.is_distant or sum(_has_words(turn.text, relative.name) for turn in turns) > 1)
        and not any(relative.is_over(words) for later, words in sentences if later.created_at >= turn.created_at)
    ]


def _topic_of_relation(relation: str) -> str:
    if relation.startswith(POST):
        return "people"
    return "pets" if relation == PET else "family"


def write_overview(lines: Sequence[Line], now: datetime, budget: int, count: Callable[[str], int]) -> Overview:
    """Return as many lines as fit the budget. count: tokens of a text."""
    shown: list[OverviewLine] = []
    text = ""
    for line in lines:
        tried = [*shown, _word_line(line, now)]
        if count(joined := _join(tried)) <= budget:
            shown, text = tried, joined
    return Overview(text, count(text) if text else 0, tuple(shown))


def _word_line(line: Line, now: datetime) -> OverviewLine:
    memory = line.memory
    words = one_line(fit_to_show(memory, line.words))
    words = words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1].rstrip() + "…"
    changed = tells_change(line.words) and (now - memory.created_at).days <= LATELY_DAYS
    return OverviewLine(
        line.owner, line.topic, frame_memory(memory, words), by_clock_of(memory, memory.since), changed, memory.id
    )


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


def _label(line: OverviewLine) -> str:
    return f"{line.attribute}: " if line.attribute else ""


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
