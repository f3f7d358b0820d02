"""Measures what each part of recall is worth: everyday questions, asked with a part switched off in turn.

Histories are observed once, with everything on. No setting switches a part off: this module puts something idle in
place of a function or a table of memwarden while a question is asked, and the real thing back afterwards.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from memwarden import Warden
from memwarden.recall import question as questions
from memwarden.recall import recall
from memwarden.recall.answer import gates, searches
from memwarden.recall.index.encode import QuestionEncoder
from memwarden.recall.rank import adjustments, combine
from memwarden.statements.reader import StatementReader
from memwarden_bench.everyday import (
    CONTEXT,
    DEFAULT_BUDGET,
    QUERY,
    EverydayFigures,
    History,
    HistoryThread,
    JudgedText,
    MemwardenWay,
    figures,
    judge_shown,
    replay_history,
)
from memwarden_bench.marks import grid, number
from memwarden_bench.replay import Tick

EVERYTHING: Final = "nothing: all parts"

Replacement = tuple[Any, str, Any]
"""Where something stands, its name there, and what takes its place."""


def _without(*signals: str) -> Sequence[Replacement]:
    """The weights of ranking without some signals."""
    closeness = {
        kind: {name: 0.0 if name in signals else weight for name, weight in weights.items()}
        for kind, weights in combine.CLOSENESS.items()
    }
    shape = {name: 0.0 if name in signals else weight for name, weight in combine.SHAPE.items()}
    long = {name: weight for name, weight in combine.OF_LONG_TEXTS.items() if name not in signals}
    assistant = 0.0 if "assistant" in signals else combine.ASSISTANT
    return (
        (combine, "CLOSENESS", closeness),
        (combine, "SHAPE", shape),
        (combine, "OF_LONG_TEXTS", long),
        (combine, "ASSISTANT", assistant),
    )


def _without_adjustment(name: str) -> Replacement:
    kept = tuple(each for each in adjustments.ADJUSTMENTS if each.name != name)
    return adjustments, "ADJUSTMENTS", kept


async def _no_vectors(_encoder: QuestionEncoder, *_asked: object) -> None:
    return None


def _idle(given: Any) -> Callable[..., Any]:
    """Return a function that always returns the same."""
    return lambda *_args, **_named: given


PARTS: Final[Mapping[str, Sequence[Replacement]]] = {
    EVERYTHING: (),
    "what a question asks for": ((StatementReader, "question", _idle(None)),),
    "the current value first": (_without_adjustment("newer says the same"),),
    "a statement once, questions no answers": (
        (recall, "fold_repeats", _idle(None)),
        (gates, "unanswering_flags", _idle(0)),
    ),
    "refusing": ((searches, "SUBJECT_THRESHOLD", 0.0),),
    "words": _without("words", "around"),
    "maps from questions to answers": _without("answering", "before", "after"),
    "MiniLM": _without("first", "pieces"),
    "word pieces": _without("pieces"),
    "shape of a message": _without("assistant", "asks", "length"),
    "turns around": _without("around", "before", "after"),
    "dates": (
        (questions, "asked_spans", _idle(())),
        (questions, "find_dates", _idle(())),
        (questions, "asks_time", _idle(False)),
    ),
    "the embedder": ((QuestionEncoder, "encode", _no_vectors),),
}
"""What is put in the place of what, by the part that is switched off."""


@contextmanager
def switch_off(part: str) -> Iterator[None]:
    """Switch a part off for the block."""
    with ExitStack() as stack:
        for place, name, idle in PARTS[part]:
            stack.enter_context(patch.object(place, name, idle))
        yield


@dataclass(frozen=True, slots=True)
class AblationRow:
    """The figures of a way without a part."""

    without: str
    way: str
    figures: EverydayFigures


@dataclass(frozen=True, slots=True)
class AblationReport:
    """The results of an ablation."""

    circumstances: Mapping[str, str]
    budget: int
    rows: Sequence[AblationRow]


@contextmanager
def open_told(history: History, budget: int) -> Iterator[tuple[MemwardenWay, dict[str, MemwardenWay]]]:
    """Open a store: a way that hears a history, and by the part that is switched off a way that asks it."""
    with TemporaryDirectory(prefix="memwarden-bench-") as folder, ExitStack() as stack:
        warden = stack.enter_context(Warden.open(f"sqlite:///{Path(folder) / 'ablation.db'}"))
        told = MemwardenWay(warden, history.id, budget, defaultdict(list), Counter())
        yield told, {part: told.twin(f"-{number}") for number, part in enumerate(PARTS)}


def measure_parts(
    histories: Sequence[History], budget: int = DEFAULT_BUDGET, *, tick: Tick = lambda what: None
) -> list[AblationRow]:
    """Ask every question of every history with all parts, and without each in turn."""
    judged: dict[tuple[str, str], list[JudgedText]] = defaultdict(list)
    for history in histories:
        with open_told(history, budget) as (told, ways):
            for event in replay_history(history):
                if isinstance(event, HistoryThread):
                    told.hear(event)
                    continue
                for part, way in ways.items():
                    with switch_off(part):
                        for name, shown in way.answer(event):
                            judged[part, name].append(judge_shown(history, event, name, shown))
                tick(f"{history.id}: question")
    return [AblationRow(part, way, figures(texts)) for (part, way), texts in judged.items() if way in (CONTEXT, QUERY)]


def ablation_markdown(report: AblationReport) -> str:
    """Return an ablation as Markdown: a table for each way."""
    parts = [
        "# What each part is worth",
        grid(("what", "value"), list(report.circumstances.items())),
        "Each line is the same histories and questions without a part. No setting does that: the benchmark puts "
        "something idle in its place in the code while a question is asked. Histories are observed with everything on. "
        f"Blocks have {report.budget:,} tokens; the figures are those of `bench everyday`.",
    ]
    for way in (CONTEXT, QUERY):
        rows = [row for row in report.rows if row.way == way]
        whole = next(row.figures.right.mean for row in rows if row.without == EVERYTHING)
        parts += [f"## {way}", _grid(rows, whole)]
    return "\n\n".join(parts) + "\n"


def _grid(rows: Sequence[AblationRow], whole: float) -> str:
    lines = [
        (
            row.without,
            number(row.figures.right.mean),
            f"{row.figures.right.mean - whole:+.3f}",
            *map(number, (row.figures.answer, row.figures.stale, row.figures.off_topic, row.figures.unknown)),
            *map(number, (row.figures.auc, row.figures.tokens)),
        )
        for row in rows
    ]
    heads = ("without", "right", "change", "answer", "stale", "off_topic", "unknown", "auc", "tokens")
    return grid(heads, lines)
