"""Whether a text carries orders for an assistant: for what comes from tools, pages, documents and imports.

Without a language model and without I/O but for reading its own tables once. A hit is a reason to quarantine a text
that nobody vouches for, never to doubt what a person says in a turn of their own. What is caught and what cannot be:
``docs/why/quarantine.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from memwarden.security.injection import classifier, known_attacks, markup, obfuscation, quotations, redact

_LONGEST_EVIDENCE = 200
# So far over the line a text is held back although its other sentences could be shown; and so far it has to lie by the
# quotations that it announces as examples. Not out of reach: an attacker can announce an example as well.
_FAR_OVER = 1.0


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is suspicious about a text: the kinds, in alphabetical order, and of the first finding the words.

    True if there is anything. Kinds: ``classic`` (an order that everybody knows), ``wording`` (it reads like an order
    to an assistant), ``role`` (fake tags of roles), ``tool`` (a tool call as text), ``image`` (an image that carries
    data off), ``hidden`` (invisible or encoded orders).
    """

    kinds: tuple[str, ...]
    evidence: str

    def __bool__(self) -> bool:
        return bool(self.kinds)


def suspicion(text: str) -> Suspicion:
    """Judge a text that nobody vouches for. Never raises for a text."""
    plain = quotations.without_mentions(text)
    found = _open(plain)
    if not found and plain != text:
        found = _worded("wording", obfuscation.fold(text), _FAR_OVER)
    concealed = obfuscation.invisible(text)
    if concealed is not None:
        found.append(("hidden", concealed))
    if not found:
        found += [("hidden", evidence) for inner in obfuscation.decoded(plain) for _, evidence in _open(inner)[:1]]
    return Suspicion(
        tuple(sorted({kind for kind, _ in found})), found[0][1][:_LONGEST_EVIDENCE].strip() if found else ""
    )


def fit_for_prompt(text: str) -> str:
    """What of a text that nobody vouches for may stand in a prompt: without the sentences that read like orders.

    Of a text that would be held back, and was let in by somebody's word, nothing but the mark when what is left is
    suspicious, too. Never raises for a text.
    """
    rest = redact.without_orders(text)
    return redact.LEFT_OUT if suspicion(text) and (rest == text or suspicion(rest)) else rest


def _open(text: str) -> list[tuple[str, str]]:
    """What can be read in the text as it stands or under a disguise: kinds and words."""
    folded = obfuscation.fold(text)
    # What can be shown without its orders is not held back for a little.
    line = _FAR_OVER if redact.without_orders(text) != text else classifier.lower_line()
    found = [
        *known_attacks.find(folded),
        *_worded("wording", folded, line),
        *markup.find(quotations.without_fences(text)),
    ]
    for reading in obfuscation.disguised(text, folded):
        found += _worded("hidden", reading) if not found else []
    return found


def _worded(kind: str, folded: str, far: float = 0.0) -> list[tuple[str, str]]:
    judged = classifier.judge(folded)
    return [(kind, judged.words)] if judged.over > far else []
