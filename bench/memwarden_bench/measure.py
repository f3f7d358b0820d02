"""Runs ``bench quality``: every variant and every peer on the same questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memwarden import Warden
from memwarden.settings import FEATURES
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion, read_conversations, with_questions
from memwarden_bench import metrics, quality
from memwarden_bench.peers import PEERS, PeerAnswer, ask_peer
from memwarden_bench.quality import Abstention, Figures
from memwarden_bench.replay import (
    ADVERSARIAL,
    Answer,
    JudgedQuestion,
    Replay,
    Tick,
    Variant,
    replay,
    sample,
    swap_names,
    without_gold,
)
from memwarden_bench.report import PeerFigures

VARIANTS = (
    Variant("words", {"embedder": "none"}),
    Variant("wordllama", {"embedder": "wordllama"}),
    *(Variant(f"without {name}", {"embedder": "wordllama", "leave_out": (name,)}) for name in FEATURES),
)
"""What ``--ablate`` compares: both ways of recall, and the default without each part of its score."""

LEFT_OUT_LAYOUTS = ("RealMem", "memwarden")
"""Where a store is also asked without the sessions that answer. A store for each question is slow: not everywhere."""


FOREIGN = "asked in another conversation, its partners named"


@dataclass(frozen=True, slots=True)
class Source:
    """The conversations of a file."""

    label: str
    conversations: tuple[Conversation, ...]

    @property
    def layout(self) -> str:
        """The layout of the file."""
        return self.conversations[0].layout

    @property
    def questions(self) -> int:
        """The number of questions."""
        return sum(len(conversation.questions) for conversation in self.conversations)


def read_sources(
    files: Iterable[Path], *, questions: Path | None = None, captions: bool = True, limit: int = 0
) -> list[Source]:
    """Read files. ``questions`` belong to the first of them; ``limit``: questions a conversation, evenly spread."""
    sources: list[Source] = []
    for file in files:
        conversations = list(read_conversations(file, captions=captions))
        if questions is not None and not sources:
            conversations[0] = with_questions(conversations[0], questions)
        cut = (
            replace(conversation, questions=tuple(sample(conversation.questions, limit)))
            for conversation in conversations
        )
        sources.append(Source(file.name, tuple(cut)))
    return sources


def run_variant(
    sources: Sequence[Source], variant: Variant, *, left_out: int = 0, tick: Tick = lambda what: None
) -> list[Figures]:
    """Measure a variant: a row for each file, and for each layout with several files.

    ``left_out``: how many questions a conversation are also asked of a store without the sessions that answer them.
    """
    replays = {source.label: _replays(source, sources, variant, tick) for source in sources}
    judged = {source.label: _left_out(source, replays[source.label], variant, left_out, tick) for source in sources}
    rows = []
    for label, group in groups(sources):
        mine = [replay for source in group for replay in replays[source.label]]
        everything = [replay for source in sources for replay in replays[source.label]]
        rows.append(
            quality.figures(label, mine, _abstentions(mine, everything, [judged[item.label] for item in group]))
        )
    return rows


def run_peer(sources: Sequence[Source], name: str, tick: Tick = lambda what: None) -> list[PeerFigures]:
    """Measure a peer on the same rows."""
    answers = {
        source.label: [item for talk in source.conversations for item in ask_peer(PEERS[name](), talk, tick)]
        for source in sources
    }
    return [
        _peer_figures(label, group[0].layout, name, [answer for source in group for answer in answers[source.label]])
        for label, group in groups(sources)
    ]


def groups(sources: Sequence[Source]) -> Iterator[tuple[str, list[Source]]]:
    """Yield the rows: each file, then each layout that has several files."""
    for source in sources:
        yield source.label, [source]
    for layout in dict.fromkeys(source.layout for source in sources):
        same = [source for source in sources if source.layout == layout]
        if len(same) > 1:
            yield f"all {layout}", same


def _replays(source: Source, sources: Sequence[Source], variant: Variant, tick: Tick) -> list[Replay]:
    ring = [conversation for other in sources if other.layout == source.layout for conversation in other.conversations]
    found = []
    with (
        TemporaryDirectory(prefix="memwarden-bench-") as folder,
        Warden.open(f"sqlite:///{Path(folder) / 'bench.db'}", config=variant.config) as warden,
    ):
        for conversation in source.conversations:
            before = ring[ring.index(conversation) - 1]
            foreign = _headline(before.questions) if len(ring) > 1 else []
            astray = [swap_names(question, before.people, conversation.people) for question in foreign]
            found.append(replay(conversation, warden, astray, tick))
    return found


def _left_out(
    source: Source, replays: Sequence[Replay], variant: Variant, most: int, tick: Tick
) -> tuple[list[Answer], list[JudgedQuestion]]:
    """Ask a sample of questions, and again in stores without their gold sessions."""
    with_gold: list[Answer] = []
    without: list[JudgedQuestion] = []
    if most and source.layout in LEFT_OUT_LAYOUTS:
        for replay in replays:
            asked = sample(replay.conversation.questions, most)
            answers = {answer.question: answer for answer in replay.answers}
            with_gold.extend(answers[question] for question in asked)
            without.extend(without_gold(replay.conversation, asked, variant.config, tick))
    return with_gold, without


def _abstentions(
    mine: Sequence[Replay], everything: Sequence[Replay], left_out: Sequence[tuple[list[Answer], list[JudgedQuestion]]]
) -> Mapping[str, Abstention]:
    found = {}
    without = [item for _, judged in left_out for item in judged]
    if without:
        answers = [item for answered, _ in left_out for item in answered]
        found["its sessions were left out"] = quality.abstain(answers, without)
    ring = [item for item in everything if item.conversation.layout == mine[0].conversation.layout]
    if len(ring) > 1:
        astray = [item for replayed in mine for item in ring[(ring.index(replayed) + 1) % len(ring)].astray]
        answers = [
            answer for replayed in mine for answer in replayed.answers if answer.question.category != ADVERSARIAL
        ]
        if astray and answers:
            found[FOREIGN] = quality.abstain(answers, astray)
            for dated, label in ((True, "with a date"), (False, "without a date")):
                parted = (
                    [item for item in answers if item.dated is dated],
                    [item for item in astray if item.dated is dated],
                )
                if all(parted):
                    found[f"{FOREIGN}, {label}"] = quality.abstain(*parted)
    return found


def _headline(questions: Iterable[LabelledQuestion]) -> list[LabelledQuestion]:
    return [question for question in questions if question.category != ADVERSARIAL]


def _peer_figures(label: str, layout: str, name: str, answers: Sequence[PeerAnswer]) -> PeerFigures:
    headline = [answer for answer in answers if answer.question.category != ADVERSARIAL]
    seconds = [answer.seconds * 1_000 for answer in answers]
    p50, p95 = metrics.percentile(seconds, 0.5), metrics.percentile(seconds, 0.95)
    blocks = quality.block_table(headline)
    return PeerFigures(
        label, layout, name, quality.turn_table(headline), quality.session_table(headline), blocks, p50, p95
    )
