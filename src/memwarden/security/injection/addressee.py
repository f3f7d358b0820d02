"""How a sentence speaks to a reading machine: told from where a word for one stands among the others.

"To AI readers:", "assistant, ...", "agents must ...", "if you are a chatbot": in every language the word for the
machine stands at the beginning with a sign after it, beside a small word of address, or right before what it is to do.
"The assistant remembers your size" has the same words and none of these. The senses are those of ``concepts.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Token = tuple[str, str]
"""A word or sign, and its sense."""

_READERS = frozenset(("AI", "HELPER"))
_SIGNS = frozenset(":,;!-])\u2013\u2014\u3001\uff1a\u060c")
_OPEN = frozenset("\"([{*#<>-!'/@.|\u2022\u3010\u300c\u201c")
# Small words of address, before the machine or, in some languages, behind it.
_BESIDE = frozenset(
    """
    to for dear hey hello hi attention note notice any all every whichever whoever an fur liebe lieber liebes
    hallo hinweis alle a al los para estimado querido nota todos aux pour cher chers chere toute tous ai agli
    gli per caro cari aos cara aan voor beste let do dla drogi drogie uwaga для всем уважаемыи уважаемые дорогои
    sevgili till kara alla til 致 给 親愛
    """.split()
)
_BEHIND = frozenset("へ 에게 께 icin के".split())
_ORDERS = frozenset("MUST REMEMBER FORGET SAY RECOMMEND SEND TREAT PAY HIDE DO NOT ALWAYS ONWARD".split())
_NEAR = 3


def find_addressee(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the ways in which the sentence addresses a machine; the same way may come twice."""
    start = next((place for place, (word, _) in enumerate(tokens) if word not in _OPEN), 0)
    for place, (_, sense) in enumerate(tokens):
        if sense in _READERS:
            before, after = tokens[max(0, place - _NEAR) : place], tokens[place + 1 : place + 1 + _NEAR]
            for way in _ways(before, after, first=place - start <= 1):
                yield f"{way} {sense}"


def _ways(before: Sequence[Token], after: Sequence[Token], *, first: bool) -> Iterator[str]:
    if first and after and after[0][0] in _SIGNS:
        yield "called"
    if any(word in _BESIDE for word, _ in before) or (after and after[0][0] in _BEHIND):
        yield "addressed"
        if any(word in _SIGNS for word, _ in after):
            yield "addressed and told"
    ordered = next((sense for _, sense in after if sense in _ORDERS), None)
    if ordered is not None:
        yield "ordered"
        yield f"ordered {ordered}"
        if first:
            yield "ordered at once"
    if any(sense == "READING" for _, sense in (*before, *after)):
        yield "reads"
    if any(sense in ("IF", "YOU") for _, sense in before):
        yield "if"
