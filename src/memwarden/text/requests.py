"""Requests to remember something, at the beginning of a text."""

from __future__ import annotations

import re
from functools import cache

from memwarden.text.lexicon import either_of


def cut_request(text: str, *, clauses: bool = False) -> str | None:
    """Return a text after its request to remember it. None without a request.

    clauses: whether clauses count that have another order of words than a sentence, as in German after "dass".
    """
    request = _request(clauses).match(text)
    return None if request is None else text[request.end() :]


@cache
def _request(clauses: bool) -> re.Pattern[str]:
    asks = either_of(["remember_that", "remember_clause"] if clauses else ["remember_that"])
    return re.compile(rf"\s*(?:(?:{either_of(['please'])}),?\s+)?(?:{asks})\s+(?=\S)", re.IGNORECASE)
