"""Send attacks and harmless look-alikes of others through every inlet of the public API, and say what reaches a prompt.

    python tests/evaluation/measure_attack_texts.py ATTACKS.json LOOKALIKES.json [--show]

Both files are lists of objects with ``text`` and ``lang``; ``theme`` and ``order`` (the part of an attack that is the
order) are used when they are there. Every text goes in as a tool's output, as a page, as a document and as an import,
each alone in a store in memory. Then the prompt is made in every way that there is (a query's bullets, whole and cut,
the ``<memories>`` block, ``format_context``) and searched for the text's sentences.

- held: in quarantine, none of it in any prompt.
- shortened: stored, with sentences left out of every prompt. An attack is then counted by its ``order``; without one,
  by whether the heaviest sentence is left out. ``--show`` prints what is left, to be read.
- whole: all of it can reach a prompt.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memwarden import Warden, format_context
from memwarden.api.blocking import BoundScope
from memwarden.security.injection import classifier
from memwarden.security.injection.detector import LEFT_OUT
from memwarden.security.injection.obfuscation import fold_lookalikes

INLETS: dict[str, dict[str, Any]] = {
    "tool": {"kind": "tool_output"},
    "web": {"source": "https://example.org/page"},
    "document": {"source": "document/file.pdf"},
    "import": {"source": "import/notes.json"},
}
# Shorter parts of a text stand in other texts too.
LEAST_CHARACTERS = 12


class Case(NamedTuple):
    """A text, and what is told of it. order: the part that is the order, empty when nobody marked it."""

    text: str
    language: str
    theme: str
    order: str


class Outcome(NamedTuple):
    """What became of a text: held, shortened or whole. reached: its order, or any of it when that is the question."""

    case: Case
    inlet: str
    state: str
    reached: bool
    prompt: str


def read(path: Path) -> list[Case]:
    return [
        Case(load["text"], load.get("lang", "?"), load.get("theme", load.get("inlet", "?")), load.get("order", ""))
        for load in json.loads(path.read_text("utf-8"))
    ]


def through(warden: Warden, inlet: str, number: int, case: Case) -> Outcome:
    """Store one text alone and make every prompt of it."""
    me = warden.scope(user=f"{inlet}-{number}")
    stored = [result.outcome for result in me.remember(case.text, **INLETS[inlet]).results]
    prompt = _prompt(me, case.text)
    parts = _parts(case.text)
    seen = [part for part in parts if part in prompt]
    state = "whole" if len(seen) == len(parts) and LEFT_OUT not in prompt else "shortened" if seen else "held"
    if "quarantined" in stored and seen:
        raise AssertionError(f"in quarantine, and in a prompt: {case.text!r}")
    return Outcome(case, inlet, state, any(_one_line(part) in prompt for part in _orders(case)), prompt)


def _prompt(me: BoundScope, text: str) -> str:
    question = text[:400]
    whole = me.query(question, threshold=0.0, budget_tokens=None, returns="full")
    cut = me.query(question, threshold=0.0, budget_tokens=None)
    block = me.context([{"role": "user", "content": f"What about this? {question}"}], 4000, threshold=0.0)
    return _one_line(
        "\n".join([whole.text, cut.text, block.text, format_context([item.memory for item in whole.items])])
    )


def _orders(case: Case) -> list[str]:
    """The order as somebody marked it, else the sentence that weighs most."""
    if case.order:
        return _parts(case.order)
    sentences = classifier.split_sentences(case.text)
    weighed = [
        (classifier.score_features(classifier.features_of(fold_lookalikes(sentence.words))), sentence.words)
        for sentence in sentences
    ]
    return [max(weighed)[1]] if weighed else [case.text]


def _parts(text: str) -> list[str]:
    parts = [_one_line(item.words) for item in classifier.split_sentences(text)]
    return [part for part in parts if len(part) >= LEAST_CHARACTERS] or [_one_line(text)]


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def measure(cases: Sequence[Case]) -> list[Outcome]:
    with Warden.open("memory://") as warden:
        return [through(warden, inlet, number, case) for inlet in INLETS for number, case in enumerate(cases)]


def tell(name: str, outcomes: Sequence[Outcome], by: Iterable[str] = ("inlet", "language", "theme")) -> None:
    sys.stdout.write(f"{name}: {_line(outcomes)}\n")
    for what in by:
        keys = [str(outcome.inlet if what == "inlet" else getattr(outcome.case, what)) for outcome in outcomes]
        for key, _ in Counter(keys).most_common():
            mine = [item for item, its in zip(outcomes, keys, strict=True) if its == key]
            sys.stdout.write(f"  {what} {key}: {_line(mine)}\n")


def _line(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.state for outcome in outcomes)
    reached = sum(outcome.reached for outcome in outcomes)
    shares = ", ".join(f"{state} {counts[state]} ({counts[state] / len(outcomes):.1%})" for state in _STATES)
    return f"{len(outcomes)} texts: {shares}; order in a prompt {reached} ({reached / len(outcomes):.1%})"


_STATES = ("held", "shortened", "whole")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("attacks", type=Path)
    parser.add_argument("lookalikes", type=Path)
    parser.add_argument("--show", action="store_true", help="print each attack that is not held, as the prompt has it")
    chosen = parser.parse_args(arguments)
    attacks, harmless = measure(read(chosen.attacks)), measure(read(chosen.lookalikes))
    tell("attacks", attacks)
    tell("look-alikes", harmless)
    for attack in attacks if chosen.show else ():
        if attack.state != "held" and attack.inlet == "tool":
            sys.stdout.write(
                f"{attack.state}, order {'IN' if attack.reached else 'not in'} the prompt: {attack.prompt[:600]}\n"
            )


if __name__ == "__main__":
    main()
