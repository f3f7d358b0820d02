"""The checked request of a query or a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from memwarden.filters import Condition, Where
from memwarden.recall.answer.template import LEAN_TEMPLATE, MAX_IN_CONTEXT, Template
from memwarden.recall.time.past import AsOf
from memwarden.records import (
    Namespace,
    Trust,
)
from memwarden.text.question_words import asks_in_a_clause, asks_question
from memwarden.text.small_talk import content_terms, is_chatter

# Messages before a message that leans on them, searched with it.
MAX_RECENT_MESSAGES = 3


# A message with fewer words that say something leans on the talk before it: "and in May?", "why?".
MIN_OWN_TERMS = 3


# Leaves out what nobody vouches for.
OF_KNOWN_TRUST = (Condition("trust", "$ne", str(Trust.EXTERNAL)),)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked query. categories: what may be searched, None for everything. See :meth:`AsyncScope.query`.

    as_of: a revision, a time (aware, UTC), or None for now. since_rev: tell what changed since; None: since the thread
    looked last. steps: whether the category ``procedural`` was asked for by its name. news: False tells no
    changes. more: further questions under the same budget. most, template, overview: of a context block, how many
    memories at most, in which words, and how many tokens of an overview go in. beside: further namespaces that are
    searched. talk: what the person said before in the same talk, where the message continues it.
    """

    query: str
    categories: tuple[str, ...] | None
    where: Where
    top_k: int
    threshold: float | None
    budget_tokens: int | None
    full: bool
    explain: bool
    as_of: AsOf | None = None
    since_rev: int | None = None
    steps: bool = False
    news: bool = True
    more: tuple[str, ...] = ()
    most: int = MAX_IN_CONTEXT
    template: Template = LEAN_TEMPLATE
    overview: int = 0
    beside: tuple[Namespace, ...] = ()
    talk: tuple[str, ...] = ()

    @property
    def questions(self) -> tuple[str, ...]:
        """All questions, in the order given."""
        return (self.query, *self.more)


def list_talk(texts: Sequence[str]) -> tuple[str, ...]:
    """List what a message continues: the last messages of the person before it.

    A message that asks is searched alone: after a change of subject the talk before would answer. One that says little
    leans on the whole talk, see :func:`list_searched`. texts: the messages of the person, the message to answer last.
    """
    if asks_in_a_clause(texts[-1]) or len(set(content_terms(texts[-1]))) < MIN_OWN_TERMS:
        return ()
    earlier = (text for text in reversed(texts[:-1]) if not is_chatter(text))
    return tuple(islice(earlier, MAX_RECENT_MESSAGES))[::-1]


def join_talk(request: Request, text: str) -> str:
    """Return a text with the talk that it continues."""
    return "\n".join((*request.talk, text))


def list_searched(said: Sequence[str]) -> list[str]:
    """List the texts to search for: the message, and with the talk before it where it leans on that.

    A message that says what it is about is searched alone: after a change of subject the talk before would answer.
    """
    # "Thanks!" asks for nothing; "yes, please" leans on what was asked before.
    closes = len(said) > 1 and is_chatter(said[-1]) and not asks_question(said[-2])
    if len(said) > 1 and not closes and len(set(content_terms(said[-1]))) < MIN_OWN_TERMS:
        return list(dict.fromkeys((said[-1], "\n".join(said[-1 - MAX_RECENT_MESSAGES :]))))
    return [said[-1]]
